//! Operations of the workspace on files and directories, one request at a time.

use smbench_protocol::command::create::{CreateRequest, access, options};
use smbench_protocol::command::query_info::{
    InfoType, QueryInfoRequest, QueryInfoResponse, file_system_class,
};
use smbench_protocol::directory::{self, Entry};
use smbench_protocol::header::Command;
use smbench_protocol::{FileId, NtStatus};

use crate::smb::session::{Session, SessionError, StepFailure};

const LISTING_LEN: u32 = 64 * 1024;
/// Maximum number of answers to one listing.
const LISTING_ANSWERS_MAX: u32 = 10_000;
/// Maximum number of names in one listing: far more than a run makes, and some
/// hundred MiB of memory.
const LISTING_NAMES_MAX: usize = 1_000_000;

/// Type of the entry to delete.
#[derive(Clone, Copy)]
pub(super) enum EntryKind {
    File,
    Directory,
}

/// Deletes a name. Succeeds if the name is gone already, and leaves it to a later
/// try if another open holds it.
pub(super) async fn delete(
    session: &mut Session,
    path: &str,
    kind: EntryKind,
) -> Result<(), SessionError> {
    let doing = format!("delete '{path}'");
    let kind = match kind {
        EntryKind::File => options::FILE_NON_DIRECTORY_FILE,
        EntryKind::Directory => options::FILE_DIRECTORY_FILE,
    };
    let request = CreateRequest {
        options: kind | options::FILE_DELETE_ON_CLOSE,
        ..CreateRequest::open(path, access::DELETE)
    };
    let opened = session.create(&doing, &request).await;
    match opened {
        Ok(opened) => session.close(&doing, opened.file_id).await,
        Err(error) => match error.status() {
            Some(
                NtStatus::OBJECT_NAME_NOT_FOUND
                | NtStatus::DELETE_PENDING
                | NtStatus::SHARING_VIOLATION
                | NtStatus::DIRECTORY_NOT_EMPTY,
            ) => Ok(()),
            _ => Err(error),
        },
    }
}

/// Returns the entries of a directory, without `.` and `..`.
pub(super) async fn list(session: &mut Session, path: &str) -> Result<Vec<Entry>, SessionError> {
    let doing = if path.is_empty() {
        "list the share".to_owned()
    } else {
        format!("list directory '{path}'")
    };
    let request = CreateRequest {
        options: options::FILE_DIRECTORY_FILE,
        ..CreateRequest::open(path, access::FILE_LIST_DIRECTORY | access::SYNCHRONIZE)
    };
    let id = session.create(&doing, &request).await?.file_id;
    let len = LISTING_LEN.min(session.connection.negotiated().max_transact);
    let mut entries = Vec::new();
    for _ in 0..LISTING_ANSWERS_MAX {
        let reply = session
            .call(&doing, Command::QueryDirectory, len, |out| {
                directory::encode_request(id, len, out);
            })
            .await?;
        match reply.status {
            NtStatus::SUCCESS => {
                let some = directory::decode_response(&reply.message)
                    .map_err(|error| session.malformed(&doing, error))?;
                entries.extend(some);
                if entries.len() > LISTING_NAMES_MAX {
                    break;
                }
            }
            NtStatus::NO_MORE_FILES | NtStatus::NO_SUCH_FILE => {
                session.close(&doing, id).await?;
                return Ok(entries);
            }
            status => return Err(session.refused(&doing, status)),
        }
    }
    Err(session.failed_on_share(&doing, StepFailure::EndlessListing))
}

/// Returns `directory\\name`, or just the name below the share's root.
pub(crate) fn join(directory: &str, name: &str) -> String {
    if directory.is_empty() {
        name.to_owned()
    } else {
        format!(r"{directory}\{name}")
    }
}

/// Returns the bytes free for this user at the place of `file`; `None` if the
/// server refuses the query.
async fn free_bytes(session: &mut Session, file: FileId) -> Result<Option<u64>, SessionError> {
    const DOING: &str = "ask how much space is free";
    let request = QueryInfoRequest {
        info_type: InfoType::FileSystem,
        class: file_system_class::FILE_FS_FULL_SIZE_INFORMATION,
        output_length: 32,
        additional: 0,
        file_id: file,
    };
    let reply = session
        .call(DOING, Command::QueryInfo, 0, |out| request.encode(out))
        .await?;
    if reply.status != NtStatus::SUCCESS {
        return Ok(None);
    }
    let answer = QueryInfoResponse::decode(&reply.message)
        .map_err(|error| session.malformed(DOING, error))?;
    Ok(caller_available(answer.data))
}

/// Returns the bytes free for this user on the share.
pub(crate) async fn free_bytes_at_root(session: &mut Session) -> Result<Option<u64>, SessionError> {
    free_bytes_in(session, "").await
}

/// Returns the bytes free for this user in a directory; the empty path is the
/// share's root.
pub(super) async fn free_bytes_in(
    session: &mut Session,
    path: &str,
) -> Result<Option<u64>, SessionError> {
    let doing = match path {
        "" => "open the share's root".to_owned(),
        path => format!("open directory '{path}'"),
    };
    let request = CreateRequest {
        options: options::FILE_DIRECTORY_FILE,
        ..CreateRequest::open(path, access::FILE_READ_ATTRIBUTES)
    };
    let directory = session.create(&doing, &request).await?.file_id;
    let free = free_bytes(session, directory).await?;
    session.close(&doing, directory).await?;
    Ok(free)
}

/// Returns CallerAvailableAllocationUnits times the unit (MS-FSCC 2.5.4), in bytes.
fn caller_available(data: &[u8]) -> Option<u64> {
    let u64_at = |at: usize| Some(u64::from_le_bytes(*data.get(at..)?.first_chunk()?));
    let u32_at = |at: usize| Some(u32::from_le_bytes(*data.get(at..)?.first_chunk()?));
    let unit = u64::from(u32_at(24)?) * u64::from(u32_at(28)?);
    u64_at(8)?.checked_mul(unit)
}
