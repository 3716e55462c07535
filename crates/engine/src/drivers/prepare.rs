//! What every driver does before the load: names, rights and entries that must exist.

use std::ops::Range;

use smbench_model::action::{
    Action, CreateParameters, CreateSubject, QueryClass, SetClass, dialect_needed,
};
use smbench_model::files::{FileSet, ScratchName};
use smbench_model::kind::OpKind;
use smbench_protocol::command::WireName;
use smbench_protocol::command::create::{CreateRequest, Disposition, access, options};
use smbench_protocol::{Dialect, FileId};

use super::site::Site;
use crate::smb::calls::FileCalls;
use crate::smb::session::SessionError;

/// Returns the path of the share for a TREE_CONNECT; empty if no action sends one. `path`
/// makes it of the names of server and share.
pub(super) fn share(
    site: &Site,
    path: impl Fn(&str, &str) -> String,
) -> Result<WireName, SessionError> {
    let target = &site.endpoint.target;
    let path = if site.mix.actions().contains(&Action::TreeConnect) {
        path(target.server_name(), &target.share)
    } else {
        String::new()
    };
    WireName::new(&path).map_err(|_| SessionError::Path {
        doing: format!("connect to '{path}'"),
    })
}

/// Returns whether an action is a single request that needs no state.
pub(super) fn is_plain(action: &Action) -> bool {
    matches!(
        action.first(),
        OpKind::Read | OpKind::Write | OpKind::Flush | OpKind::FinalFlush
    )
}

/// Returns the entries that must exist because an action opens or overwrites them.
/// The second value is the create option for the kind of the entry.
pub(super) fn kept(actions: &[Action]) -> impl Iterator<Item = (ScratchName, u32)> {
    let opens = |wanted: CreateSubject| {
        actions.iter().any(|action| {
            matches!(
                action,
                Action::Create(CreateParameters {
                    subject,
                    disposition: Disposition::Open | Disposition::Overwrite,
                    ..
                }) if *subject == wanted
            ) || *action == Action::SaveOffice && wanted == CreateSubject::ScratchFile
        })
    };
    [
        (
            CreateSubject::ScratchFile,
            ScratchName::KeptFile,
            options::FILE_NON_DIRECTORY_FILE,
        ),
        (
            CreateSubject::ScratchDirectory,
            ScratchName::KeptDirectory,
            options::FILE_DIRECTORY_FILE,
        ),
    ]
    .into_iter()
    .filter(move |(subject, ..)| opens(*subject))
    .map(|(_, name, kind)| (name, kind))
}

/// Creates the entries that must exist.
pub(super) async fn make_kept(
    actions: &[Action],
    paths: &[String],
    session: &mut impl FileCalls,
) -> Result<(), SessionError> {
    for (name, kind) in kept(actions) {
        let path = paths[name as usize].as_str();
        let doing = format!("make '{path}'");
        let request = CreateRequest {
            disposition: Disposition::OpenIf,
            options: kind,
            ..CreateRequest::open(path, access::FILE_READ_ATTRIBUTES)
        };
        let made = session.open_file(&doing, &request).await?;
        session.close_file(&doing, made).await?;
    }
    Ok(())
}

/// Opens a directory, to list and to watch it.
pub(super) async fn open_directory(
    session: &mut impl FileCalls,
    path: &str,
) -> Result<FileId, SessionError> {
    let request = CreateRequest {
        options: options::FILE_DIRECTORY_FILE,
        ..CreateRequest::open(
            path,
            access::FILE_LIST_DIRECTORY | access::FILE_READ_ATTRIBUTES | access::SYNCHRONIZE,
        )
    };
    let doing = format!("open directory '{path}'");
    session.open_file(&doing, &request).await
}

/// Returns the rights for the files held open.
pub(super) fn held_access(actions: &[Action]) -> u32 {
    let mut rights = access::FILE_READ_DATA | access::FILE_READ_ATTRIBUTES | access::SYNCHRONIZE;
    for action in actions {
        rights |= match action {
            // If an open has only one of these two rights, a server may look up the
            // size of the file on every write. FLUSH needs one of them as well
            // (MS-SMB2 3.3.5.11).
            Action::Write { .. } | Action::WriteFlush | Action::Flush | Action::FinalFlush => {
                access::FILE_WRITE_DATA | access::FILE_APPEND_DATA
            }
            Action::QueryInfo {
                class: QueryClass::Security,
            } => access::READ_CONTROL,
            Action::SetInfo { class } => set_access(*class),
            _ => 0,
        };
    }
    rights
}

/// Returns the right that a change needs (MS-SMB2 3.3.5.21.1, 3.3.5.21.3).
pub(super) const fn set_access(class: SetClass) -> u32 {
    match class {
        SetClass::Basic => access::FILE_WRITE_ATTRIBUTES,
        SetClass::Allocation | SetClass::EndOfFile => access::FILE_WRITE_DATA,
        SetClass::Rename | SetClass::Delete => access::DELETE,
        SetClass::Security => access::WRITE_DAC,
    }
}

/// Refuses commands that the negotiated dialect does not have.
pub(super) fn check_dialect(
    actions: &[Action],
    dialect: Dialect,
    share: impl Fn() -> String,
) -> Result<(), SessionError> {
    for action in actions {
        if let Some(need) = dialect_needed(action)
            && !(need.has)(dialect)
        {
            return Err(SessionError::NotInDialect {
                what: need.what,
                needs: need.needs,
                dialect,
                at: share(),
            });
        }
    }
    Ok(())
}

pub(super) fn path(site: &Site, name: &str) -> String {
    format!(r"{}\{name}", site.directory)
}

/// Returns the path of a client's file.
pub(super) fn file_path(site: &Site, client: u32, file: u32) -> String {
    format!(r"{}\{}", site.files_in, site.plan.file_name(client, file))
}

/// Returns the numbers of the files that clients hold open during the load; none if no action
/// works on an open file.
pub(super) fn held_files(site: &Site) -> Range<u32> {
    if site.mix.actions().iter().any(Action::holds_file) {
        0..site.plan.only().workload.files.count
    } else {
        0..0
    }
}

/// The path of one file of a client at a time, encoded for a request. Paths are made when they
/// are needed, so that no client stores one for each of its files.
pub(super) struct FilePath {
    client: u32,
    path: WireName,
    /// Bytes of the path before the name.
    stem: usize,
    /// File that the path leads to.
    file: u32,
}

impl FilePath {
    pub(super) fn new(site: &Site, client: u32) -> Result<Self, SessionError> {
        let file = 0;
        let text = file_path(site, client, file);
        let name = |text: &str| {
            WireName::new(text).map_err(|_| SessionError::Path {
                doing: format!("open '{text}'"),
            })
        };
        Ok(Self {
            client,
            stem: name(&format!(r"{}\", site.files_in))?.as_bytes().len(),
            path: name(&text)?,
            file,
        })
    }

    /// Returns the path of a file.
    pub(super) fn of(&mut self, files: &FileSet, file: u32) -> &WireName {
        if self.file != file {
            self.path.truncate(self.stem);
            files
                .append_name(self.client, file, &mut self.path)
                .unwrap_or_else(|_| unreachable!("the plan bounds the length of names"));
            self.file = file;
        }
        &self.path
    }
}

pub(super) fn wire_names(paths: &[String]) -> Result<Box<[WireName]>, SessionError> {
    let encode = |path: &String| {
        WireName::new(path).map_err(|_| SessionError::Path {
            doing: format!("open '{path}'"),
        })
    };
    paths.iter().map(encode).collect()
}
