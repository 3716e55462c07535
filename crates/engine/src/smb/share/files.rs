//! Operations of the workspace on files and directories, one request at a time.

use std::collections::HashSet;

use smbench_protocol::NtStatus;
use smbench_protocol::command::create::{CreateRequest, Disposition, access, options};
use smbench_protocol::directory::Entry;

use crate::smb::calls::{EntryKind, FileCalls};
use crate::smb::session::SessionError;

/// Deletes a name. Succeeds if the name is gone already, or if the server can have no such
/// name. Leaves it to a later try if another open holds it.
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
                NtStatus::DELETE_PENDING
                | NtStatus::SHARING_VIOLATION
                | NtStatus::DIRECTORY_NOT_EMPTY,
            ) => Ok(()),
            Some(status) if status.leads_nowhere() || status.refuses_name() => Ok(()),
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

/// Returns the entries of a directory as [`list`] does, with our names in our spelling.
pub(super) async fn list_respelled(
    session: &mut impl FileCalls,
    path: &str,
    is_ours: impl Fn(&str) -> bool,
) -> Result<Vec<Entry>, SessionError> {
    let mut entries = list(session, path).await?;
    respell(session, path, &mut entries, is_ours).await?;
    Ok(entries)
}

/// Gives entries of a directory that are ours our spelling, in lower case. A server that
/// ignores case may list `C00001-F000.DAT` for `c00001-f000.dat`. On a case-sensitive
/// server, another spelling is another file, and keeps its name. `is_ours` judges a name in
/// lower case.
pub(super) async fn respell(
    session: &mut impl FileCalls,
    path: &str,
    entries: &mut [Entry],
    is_ours: impl Fn(&str) -> bool,
) -> Result<(), SessionError> {
    let respelled = |entry: &Entry| {
        let name = entry.name.to_ascii_lowercase();
        (name != entry.name && is_ours(&name)).then_some(name)
    };
    let first = entries
        .iter()
        .find_map(|entry| Some((join(path, &respelled(entry)?), join(path, &entry.name))));
    let Some((ours, listed)) = first else {
        return Ok(());
    };
    let mut spellings = HashSet::new();
    let is_unique = |entry: &Entry| spellings.insert(entry.name.to_ascii_lowercase());
    if entries.iter().all(is_unique) && is_same_file(session, &ours, &listed).await? {
        for entry in entries {
            if let Some(name) = respelled(entry) {
                entry.name = name;
            }
        }
    }
    Ok(())
}

/// Returns whether the server finds the entry `listed` by the spelling `ours` too. Returns
/// true for an entry that was removed after it was listed.
async fn is_same_file(
    session: &mut impl FileCalls,
    ours: &str,
    listed: &str,
) -> Result<bool, SessionError> {
    Ok(exists(session, ours).await? || !exists(session, listed).await?)
}

async fn exists(session: &mut impl FileCalls, path: &str) -> Result<bool, SessionError> {
    let doing = format!("open '{path}'");
    let request = CreateRequest::open(path, access::FILE_READ_ATTRIBUTES);
    match session.open_file(&doing, &request).await {
        Ok(file) => {
            session.close_file(&doing, file).await?;
            Ok(true)
        }
        Err(error) => match error.status() {
            // With any other status, the server has the name, and refuses to open it.
            Some(status) => Ok(!status.leads_nowhere()),
            None => Err(error),
        },
    }
}

/// Returns the CREATE of a file to write to.
pub(super) const fn to_write(path: &str, disposition: Disposition) -> CreateRequest<'_> {
    CreateRequest {
        disposition,
        options: options::FILE_NON_DIRECTORY_FILE,
        ..CreateRequest::open(path, access::FILE_WRITE_DATA | access::FILE_APPEND_DATA)
    }
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
