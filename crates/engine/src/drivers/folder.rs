//! The paths of a run's files and directories by number. Nothing else in a driver knows where
//! they are.
//!
//! Not here: paths that are encoded before the load, which are those of a client's own files
//! ([`super::prepare::file_paths`]) and of scratch names.

use std::fmt;

use smbench_model::action::{MissingName, TreeRoot};
use smbench_model::files::FileSet;
use smbench_protocol::command::WireName;

use super::site::Site;
use crate::smb::session::SessionError;

/// Makes paths, one at a time. It allocates nothing after the first ones, and little before: most
/// mixes need none of them.
pub(super) struct NumberedPaths {
    /// Directory of what this run makes.
    own: String,
    /// Directory of the files of the set.
    files_in: String,
    files: FileSet,
    path: String,
    name: WireName,
}

impl NumberedPaths {
    /// Makes the paths of a run.
    pub(super) fn of(site: &Site) -> Result<Self, SessionError> {
        let mut new = Self {
            own: site.directory.clone(),
            files_in: site.files_in.clone(),
            files: site.plan.only().workload.files.clone(),
            path: String::new(),
            name: WireName::every(),
        };
        // The longest of all names.
        new.write_in(Home::Run, |files, path| {
            files.append_copy_name(u32::MAX, u32::MAX, path)
        });
        let longest = std::mem::take(&mut new.path);
        match WireName::every().set(&longest) {
            Ok(()) => Ok(new),
            Err(_) => Err(SessionError::Path {
                doing: format!("make '{longest}'"),
            }),
        }
    }

    /// Returns the path of directory `number` of the set.
    pub(super) fn directory(&mut self, number: u32) -> &WireName {
        self.write_in(Home::Files, |files, path| {
            files.append_directory(number, path)
        });
        if self.path.ends_with('\\') {
            self.path.pop();
        }
        self.encoded()
    }

    /// Returns the path of a file of the set.
    pub(super) fn file(&mut self, client: u32, number: u32) -> &WireName {
        self.write_in(Home::Files, |files, path| {
            files.append_name(client, number, path)
        });
        self.encoded()
    }

    /// Returns the path of a file that a client copies to the server.
    pub(super) fn copy(&mut self, client: u32, number: u32) -> &WireName {
        self.write_in(Home::Run, |files, path| {
            files.append_copy_name(client, number, path)
        });
        self.encoded()
    }

    /// Returns the path of a name that no file has, in a directory or beside a file of the set.
    pub(super) fn missing_name(
        &mut self,
        name: &MissingName,
        client: u32,
        number: u32,
    ) -> &WireName {
        match name {
            MissingName::InDirectory(name) => {
                self.write_in(Home::Files, |files, path| {
                    files.append_directory(number, path)
                });
                if !self.path.ends_with('\\') {
                    self.path.push('\\');
                }
                self.path.push_str(name);
            }
            MissingName::OfFile { before, after } => {
                self.write_in(Home::Files, |files, path| {
                    files.append_name(client, number, path)
                });
                let at = self.path.rfind('\\').map_or(0, |separator| separator + 1);
                self.path.insert_str(at, before);
                self.path.push_str(after);
            }
        }
        self.encoded()
    }

    /// Returns a path that never exists, below the directory of the files or of the target.
    pub(super) fn missing(&mut self, root: TreeRoot, client: u32, number: u32) -> &WireName {
        match root {
            TreeRoot::Files => self.write_in(Home::Files, |files, path| {
                files.append_missing_name(client, number, path)
            }),
            TreeRoot::Target => {
                self.path.clear();
                self.path.push_str(&self.own);
                // It begins with the name of the run's directory, so no other file has it.
                self.path.push('-');
                FileSet::append_missing_file(client, number, &mut self.path)
                    .unwrap_or_else(|_| unreachable!("a string takes any text"));
            }
        }
        self.encoded()
    }

    /// Writes a path below a directory.
    fn write_in(&mut self, home: Home, append: impl FnOnce(&FileSet, &mut String) -> fmt::Result) {
        let directory = match home {
            Home::Run => &self.own,
            Home::Files => &self.files_in,
        };
        self.path.clear();
        self.path.push_str(directory);
        self.path.push('\\');
        append(&self.files, &mut self.path)
            .unwrap_or_else(|_| unreachable!("a string takes any text"));
    }

    fn encoded(&mut self) -> &WireName {
        let Ok(()) = self.name.set(&self.path) else {
            unreachable!("the longest path fits");
        };
        &self.name
    }
}

/// The directory in which a path begins.
#[derive(Clone, Copy)]
enum Home {
    /// That of what the run makes.
    Run,
    /// That of the files of the set.
    Files,
}
