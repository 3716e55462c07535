//! Converts the completion of a request into the answer that the loop records.
//!
//! All bodies are decoded, even if their contents are not used. A malformed answer is a
//! protocol violation, not a completed operation.

use smbench_protocol::cifs::command::create::CifsCreated;
use smbench_protocol::cifs::command::decode_empty;
use smbench_protocol::cifs::header::CifsCommand;
use smbench_protocol::cifs::{CifsCompletion, FileNumber};
use smbench_protocol::command::create::OplockLevel;
use smbench_protocol::{DecodeError, NtStatus};

use super::group::CifsPlace;
use crate::drivers::driver::{Answer, Extent};

/// An answer, and the completion that it was made of.
pub(crate) struct CifsAnswered<'a, 'd> {
    pub(super) answer: Answer<'a>,
    pub(super) done: &'d CifsCompletion<'d>,
}

/// An open that was created, and its oplock.
pub(super) type CreatedOpen = (FileNumber, OplockLevel);

/// Converts a completion into an answer. Also returns the open that it created.
#[inline]
pub(super) fn of<'a>(
    done: &CifsCompletion<'a>,
) -> Result<(Answer<'a>, Option<CreatedOpen>), DecodeError> {
    let bare = Answer::bare(done.tag, Extent::Final, done.status);
    match done.status {
        NtStatus::SUCCESS => {}
        NtStatus::NETWORK_SESSION_EXPIRED => {
            let extent = Extent::Expired;
            return Ok((Answer { extent, ..bare }, None));
        }
        _ => return Ok((bare, None)),
    }
    let answer = match done.command {
        CifsCommand::ReadAndX => {
            let read = done.read()?;
            Answer {
                moved: read.length,
                data: read.data,
                ..bare
            }
        }
        CifsCommand::WriteAndX => Answer {
            moved: done.write()?,
            ..bare
        },
        CifsCommand::NtCreateAndX => {
            let created = CifsCreated::decode(done.message())?;
            return Ok((bare, Some((created.file, created.oplock))));
        }
        CifsCommand::Transaction2 | CifsCommand::NtTransact => {
            done.transaction()?;
            bare
        }
        _ => {
            decode_empty(done.message())?;
            bare
        }
    };
    Ok((answer, None))
}

/// Keeps in a place what its requests created.
pub(super) fn keep(
    done: &CifsCompletion<'_>,
    created: Option<CreatedOpen>,
    place: &mut CifsPlace,
) -> Result<(), DecodeError> {
    if let Some(walked) = &mut place.walked
        && done.status != NtStatus::SUCCESS
        && done.status != NtStatus::NETWORK_SESSION_EXPIRED
    {
        walked.refused(done.status);
    }
    match done.command {
        CifsCommand::NtCreateAndX => {
            if let Some((file, _)) = created {
                place.open = file;
            }
        }
        CifsCommand::TreeConnectAndX if done.status == NtStatus::SUCCESS => {
            place.tree = done.tree()?;
        }
        _ => {}
    }
    Ok(())
}
