//! A server of a suite: its address or its configuration, and its flush policy.
//!
//! A scratch Samba lives for one pass, so that no pass starts with the caches of
//! another. Its folder is noted before anything runs in it. If the suite is killed,
//! the next invocation ends the server and removes the folder. On a tmpfs even an
//! honoured flush writes nothing, so tables name the storage. If the storage or the
//! release of Samba has changed since the study began, nothing more is measured for
//! that server.

use std::path::Path;

use smbench_engine::storage::Storage;
use smbench_lab::{SambaOptions, ScratchSamba};
use smbench_model::cpu::CpuSource;
use smbench_model::spec::SessionsSpec;
use smbench_model::target::{Secret, Target};
use smbench_report::doc::StorageDoc;
use smbench_report::study::StudyServerDoc;
use smbench_report::{Disclosure, FlushDoc};

use crate::failure::Failure;
use crate::request::{self, GivenServer};

/// A server of a suite.
#[derive(Debug)]
pub(super) struct Host {
    pub(super) name: String,
    pub(super) flush: FlushDoc,
    /// Notes of the suite for readers.
    pub(super) notes: Vec<String>,
    pub(super) kind: HostKind,
    /// Source of the server's CPU time.
    pub(super) cpu: CpuSource,
    /// Options of its sessions that differ from those of the suite.
    pub(super) run: SessionsSpec,
    /// Whether the command line named the server.
    pub(super) named: bool,
}

/// Origin of a server.
#[derive(Debug)]
pub(super) enum HostKind {
    /// An existing server.
    Given(Box<GivenServer>),
    /// A scratch Samba that is started for each pass, with these lines in
    /// `smb.conf`.
    Samba { lines: Vec<String> },
}

/// A running server.
pub(super) struct StartedServer {
    pub(super) target: Target,
    pub(super) disclosure: Disclosure,
    /// The scratch Samba, if there is one; dropping it ends the server.
    pub(super) samba: Option<ScratchSamba>,
}

impl Host {
    /// Finds the password, with a prompt if necessary.
    pub(super) fn ask(&mut self) -> Result<(), Failure> {
        if let HostKind::Given(server) = &mut self.kind {
            server.target = server.with_password()?;
        }
        Ok(())
    }

    /// Returns the server's entry in the study.
    pub(super) fn doc(&self) -> StudyServerDoc {
        let (url, settings) = match &self.kind {
            HostKind::Given(account) => (Some(account.target.redacted()), Vec::new()),
            HostKind::Samba { lines } => (None, lines.clone()),
        };
        StudyServerDoc {
            name: self.name.clone(),
            url,
            notes: self.notes.clone(),
            settings,
            client: self.run.lines(),
        }
    }

    /// Starts the server unless it exists.
    ///
    /// Before a server is started, `claimed` is called with its folder. So the
    /// folder can be removed if this process is killed.
    pub(super) fn start(
        &self,
        claimed: impl FnOnce(&Path) -> Result<(), Failure>,
    ) -> Result<StartedServer, Failure> {
        match &self.kind {
            HostKind::Given(account) => {
                let target = &account.target;
                let mut disclosure = request::disclosure(self.flush);
                disclosure.notes.extend(self.notes.iter().cloned());
                Ok(StartedServer {
                    target: target.clone(),
                    disclosure,
                    samba: None,
                })
            }
            HostKind::Samba { lines } => {
                let samba = ScratchSamba::prepare(SambaOptions {
                    extra_global: lines.clone(),
                    ..SambaOptions::default()
                })?;
                claimed(samba.root())?;
                let samba = samba.start()?;
                let (mut target, _) = Target::parse(&samba.url())?;
                target.password = Secret::new(samba.password());
                let mut disclosure = request::disclosure(self.flush);
                let storage = Storage::of(&samba.data_dir());
                disclosure.notes.push(scratch_note(lines, storage.as_ref()));
                disclosure.software = samba.version();
                disclosure.storage = storage.as_ref().map(|storage| StorageDoc {
                    filesystem: storage.filesystem.clone(),
                    source: storage.source.clone(),
                    in_memory: storage.is_memory(),
                });
                disclosure.notes.extend(self.notes.iter().cloned());
                Ok(StartedServer {
                    target,
                    disclosure,
                    samba: Some(samba),
                })
            }
        }
    }

    /// Returns the target, if a killed run could leave files there.
    pub(super) fn given(&self) -> Option<&Target> {
        match &self.kind {
            HostKind::Given(account) => Some(&account.target),
            HostKind::Samba { .. } => None,
        }
    }
}

/// Describes a scratch Samba for readers, and especially its storage.
fn scratch_note(lines: &[String], storage: Option<&Storage>) -> String {
    let storage = match storage {
        Some(storage) if storage.is_memory() => {
            format!("in memory ({storage}), where a flush costs nothing")
        }
        Some(storage) => format!("on {storage}"),
        None => "on a file system that cannot be told".to_owned(),
    };
    let lines = match lines {
        [] => "as it ships".to_owned(),
        lines => format!("with {}", lines.join("; ")),
    };
    format!("a scratch Samba {lines}, its share {storage}")
}

/// Returns the flush policy of a Samba with these lines in the global section of
/// its `smb.conf` (smb.conf(5), `strict sync`).
pub(super) fn samba_policy(lines: &[String]) -> FlushDoc {
    // The default since 4.7.
    let mut policy = FlushDoc::Honours;
    for line in lines {
        let Some((name, value)) = line.split_once('=') else {
            continue;
        };
        // Samba ignores case and blanks in names.
        let name: String = name.split_whitespace().collect::<String>().to_lowercase();
        let value = value.trim().to_lowercase();
        match name.as_str() {
            "strictsync" => {
                policy = match value.as_str() {
                    "yes" | "true" | "1" | "on" => FlushDoc::Honours,
                    "no" | "false" | "0" | "off" => FlushDoc::Ignores,
                    _ => FlushDoc::Unknown,
                }
            }
            // These can set any option.
            "include" | "copy" | "configfile" | "registryshares" | "vfsobjects" | "vfsobject" => {
                return FlushDoc::Unknown;
            }
            _ => {}
        }
    }
    policy
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_samba_does_on_a_flush_follows_from_its_lines() {
        for (lines, policy) in [
            (&[][..], FlushDoc::Honours),
            (&["max open files = 99"], FlushDoc::Honours),
            (&["strict sync = no"], FlushDoc::Ignores),
            (&["Strict  SYNC=No"], FlushDoc::Ignores),
            (&["strictsync = 0"], FlushDoc::Ignores),
            (
                &["strict sync = no", "strict sync = yes"],
                FlushDoc::Honours,
            ),
            (&["strict sync = maybe"], FlushDoc::Unknown),
            (
                &["vfs objects = io_uring", "strict sync = no"],
                FlushDoc::Unknown,
            ),
            (&["strict sync = no", "include = /etc/x"], FlushDoc::Unknown),
        ] {
            let lines: Vec<_> = lines.iter().map(|&line| line.to_owned()).collect();
            assert_eq!(samba_policy(&lines), policy, "{lines:?}");
        }
    }
}
