//! Operations of the workspace on files and directories, one request at a time.

use smbench_protocol::NtStatus;
use smbench_protocol::directory::Entry;

use crate::smb::calls::{EntryKind, FileCalls};
use crate::smb::session::SessionError;

/// Deletes a name. Succeeds if the name is gone already, and leaves it to a later
/// try if another open holds it.
pub(super) async fn delete(
    session: &mut impl FileCalls,
    path: &str,
    kind: EntryKind,
) -> Result<(), SessionError> {
    let doing = format!("delete '{path}'");
    match session.delete_entry(&doing, path, kind).await {
        Ok(()) => Ok(()),
        Err(error) => match error.status() {
            Some(
                NtStatus::OBJECT_NAME_NOT_FOUND
                | NtStatus::NO_SUCH_FILE
                | NtStatus::DELETE_PENDING
                | NtStatus::SHARING_VIOLATION
                | NtStatus::DIRECTORY_NOT_EMPTY,
            ) => Ok(()),
            _ => Err(error),
        },
    }
}

/// Returns the entries of a directory, without `.` and `..`. The empty path is the share's
/// root.
pub(super) async fn list(
    session: &mut impl FileCalls,
    path: &str,
) -> Result<Vec<Entry>, SessionError> {
    let doing = match path {
        "" => "list the share".to_owned(),
        path => format!("list directory '{path}'"),
    };
    session.list(&doing, path).await
}

/// Returns `directory\\name`, or just the name below the share's root.
pub(crate) fn join(directory: &str, name: &str) -> String {
    if directory.is_empty() {
        name.to_owned()
    } else {
        format!(r"{directory}\{name}")
    }
}

/// Returns the bytes free for this user on the share.
pub(crate) async fn free_bytes_at_root(
    session: &mut impl FileCalls,
) -> Result<Option<u64>, SessionError> {
    free_bytes_in(session, "").await
}

/// Returns the bytes free for this user in a directory; the empty path is the
/// share's root.
pub(super) async fn free_bytes_in(
    session: &mut impl FileCalls,
    path: &str,
) -> Result<Option<u64>, SessionError> {
    let doing = match path {
        "" => "open the share's root".to_owned(),
        path => format!("open directory '{path}'"),
    };
    session.free_bytes(&doing, path).await
}
