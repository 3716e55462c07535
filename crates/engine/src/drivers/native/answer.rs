//! Converts the completion of a request into the answer that the loop records.
//!
//! All bodies are decoded, even if their contents are not used. A malformed answer
//! is a protocol violation, not a completed operation.

use smbench_protocol::command::bodyless::EmptyResponse;
use smbench_protocol::command::change_notify::ChangeNotifyResponse;
use smbench_protocol::command::close::CloseResponse;
use smbench_protocol::command::create::{CreateResponse, OplockLevel};
use smbench_protocol::command::ioctl::copy_chunk::CopyChunkResponse;
use smbench_protocol::command::ioctl::{IoctlResponse, fsctl};
use smbench_protocol::command::lock::LockResponse;
use smbench_protocol::command::query_directory::QueryDirectoryResponse;
use smbench_protocol::command::query_info::QueryInfoResponse;
use smbench_protocol::command::set_info::SetInfoResponse;
use smbench_protocol::header::Command;
use smbench_protocol::{Completion, DecodeError, FileId, NtStatus};

use super::state::SlotObjects;
use crate::drivers::driver::{Answer, Extent};
use crate::drivers::walking::WalkFault;

/// Converts a completion into an answer, and keeps the open that it created in
/// `place`. Returns `None` if the session has expired and further answers of the
/// same frame follow.
pub(crate) fn of<'a>(
    done: &Completion<'a>,
    mut place: Option<&mut SlotObjects>,
) -> Result<Option<Answer<'a>>, WalkFault> {
    let mut extent = Extent::Final;
    let mut expired = done.status == NtStatus::NETWORK_SESSION_EXPIRED;
    if let Some(place) = &mut place {
        if place.due > 1 {
            place.due -= 1;
            extent = Extent::Part;
        }
        // If one request of a frame was answered with an expired session, the whole
        // frame counts as expired.
        expired |= place.expired;
        place.expired = expired && extent == Extent::Part;
    }
    if expired && extent == Extent::Final {
        extent = Extent::Expired;
    }
    let answer = answer(done, extent, place)?;
    Ok((!expired || extent == Extent::Expired).then_some(answer))
}

fn answer<'a>(
    done: &Completion<'a>,
    extent: Extent,
    place: Option<&mut SlotObjects>,
) -> Result<Answer<'a>, WalkFault> {
    let bare = Answer::bare(done.tag, extent, done.status);
    if done.status != NtStatus::SUCCESS {
        if let Some(walked) = place.and_then(|place| place.walked.as_mut())
            && extent != Extent::Expired
        {
            walked.refused(done.status);
        }
        return Ok(bare);
    }
    match done.command {
        Command::Read => {
            let read = done.read()?;
            return Ok(Answer {
                moved: read.length,
                data: read.data,
                ..bare
            });
        }
        Command::Write => {
            let moved = done.write()?.count;
            return Ok(Answer { moved, ..bare });
        }
        Command::Create => {
            let created = CreateResponse::decode(done.message())?;
            if let Some(place) = place {
                place.open = created.file_id;
                place.level = created.oplock_level;
            }
        }
        Command::Close => {
            ignore(CloseResponse::decode(done.message())?);
            if let Some(place) = place {
                place.open = FileId::default();
                place.level = OplockLevel::None;
            }
        }
        Command::Lock => ignore(LockResponse::decode(done.message())?),
        Command::QueryInfo => ignore(QueryInfoResponse::decode(done.message())?),
        Command::SetInfo => ignore(SetInfoResponse::decode(done.message())?),
        Command::QueryDirectory => {
            let listed = QueryDirectoryResponse::decode(done.message())?;
            if let Some(place) = place
                && let Some(class) = place.lists
            {
                let moved = match &mut place.walked {
                    Some(walked) => walked.note(listed.entries(class))?,
                    None => listed.count_names(class)?,
                };
                return Ok(Answer { moved, ..bare });
            }
        }
        Command::ChangeNotify => ignore(ChangeNotifyResponse::decode(done.message())?),
        Command::Ioctl => {
            let moved = copied(&IoctlResponse::decode(done.message())?)?;
            return Ok(Answer { moved, ..bare });
        }
        Command::TreeConnect => {
            let tree = done.tree()?;
            if let Some(place) = place {
                place.tree = tree;
            }
        }
        Command::Flush | Command::Echo | Command::TreeDisconnect => {
            ignore(EmptyResponse::decode(done.message())?);
        }
        _ => {}
    }
    Ok(bare)
}

/// Ignores a decoded body; only its format was checked.
fn ignore<T: Copy>(_: T) {}

/// Returns the number of bytes that the server copied; 0 for other requests.
fn copied(response: &IoctlResponse<'_>) -> Result<u32, DecodeError> {
    match response.code {
        fsctl::FSCTL_SRV_COPYCHUNK => Ok(CopyChunkResponse::decode(response.output)?.total_bytes),
        _ => Ok(0),
    }
}
