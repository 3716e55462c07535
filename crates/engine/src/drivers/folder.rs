//! The paths of a run's files and directories by number. Nothing else in a driver knows where
//! they are.
//!
//! Not here: paths that are encoded before the load, which are those of a client's own files
//! ([`super::prepare::file_paths`]) and of scratch names.

use smbench_model::files::FileSet;
use smbench_protocol::command::WireName;

use super::site::Site;
use crate::smb::session::SessionError;

/// Makes paths, one at a time. It allocates nothing after the first ones.
pub(super) struct NumberedPaths {
    root: String,
    files: FileSet,
    path: String,
    name: WireName,
}

impl NumberedPaths {
    /// Makes the paths of a run.
    pub(super) fn of(site: &Site) -> Result<Self, SessionError> {
        let mut new = Self {
            root: site.directory.clone(),
            files: site.plan.only().workload.files,
            path: String::new(),
            name: WireName::every(),
        };
        // The longest of all names.
        new.write(|files, path| files.append_copy_name(u32::MAX, u32::MAX, path));
        match new.name.set(&new.path) {
            Ok(()) => Ok(new),
            Err(_) => Err(SessionError::Path {
                doing: format!("make '{}'", new.path),
            }),
        }
    }

    /// Returns the path of directory `number`. A set of files has one.
    pub(super) fn directory(&mut self, _number: u32) -> &WireName {
        self.path.clear();
        self.path.push_str(&self.root);
        self.encoded()
    }

    /// Returns the path of a file of the set.
    pub(super) fn file(&mut self, client: u32, number: u32) -> &WireName {
        self.write(|files, path| files.append_name(client, number, path));
        self.encoded()
    }

    /// Returns the path of a file that a client copies to the server.
    pub(super) fn copy(&mut self, client: u32, number: u32) -> &WireName {
        self.write(|files, path| files.append_copy_name(client, number, path));
        self.encoded()
    }

    /// Returns a path that never exists.
    pub(super) fn missing(&mut self, client: u32, number: u32) -> &WireName {
        self.write(|files, path| files.append_missing_name(client, number, path));
        self.encoded()
    }

    fn write(&mut self, append: impl FnOnce(&FileSet, &mut String)) {
        self.path.clear();
        self.path.push_str(&self.root);
        self.path.push('\\');
        append(&self.files, &mut self.path);
    }

    fn encoded(&mut self) -> &WireName {
        let Ok(()) = self.name.set(&self.path) else {
            unreachable!("the longest path fits");
        };
        &self.name
    }
}
