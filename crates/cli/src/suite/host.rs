//! A server of a suite: where it is, or how it is set up, and what it is known
//! to do on a FLUSH.

use std::path::Path;

use smbench_engine::server_cpu::CpuSource;
use smbench_engine::spec::RunOptions;
use smbench_engine::storage::Storage;
use smbench_engine::target::{Secret, Target};
use smbench_lab::{SambaOptions, ScratchSamba};
use smbench_report::doc::StorageDoc;
use smbench_report::study::StudyServerDoc;
use smbench_report::{Disclosure, FlushDoc};

use super::client;
use crate::failure::Failure;
use crate::password::Sources;
use crate::request;

/// A server of a suite.
#[derive(Debug)]
pub(super) struct Host {
    pub(super) name: String,
    pub(super) flush: FlushDoc,
    /// What a reader must be told, as the suite says.
    pub(super) notes: Vec<String>,
    pub(super) kind: HostKind,
    /// Where its CPU time is looked up.
    pub(super) cpu: CpuSource,
    /// What its clients do otherwise than the suite says.
    pub(super) run: RunOptions,
    /// Whether the command line named it.
    pub(super) named: bool,
}

/// Where a server comes from.
#[derive(Debug)]
pub(super) enum HostKind {
    /// It is there already.
    Given(Box<Account>),
    /// A scratch Samba, set up for each pass, with these lines in `smb.conf`.
    Samba { lines: Vec<String> },
}

/// A server that is there already, and who asks.
#[derive(Debug)]
pub(super) struct Account {
    /// Has no password until it was asked for.
    pub(super) target: Target,
    pub(super) sources: Sources,
}

/// A server that runs.
pub(super) struct Standing {
    pub(super) target: Target,
    pub(super) disclosure: Disclosure,
    /// The server itself, where it was set up here; it ends with this.
    pub(super) samba: Option<ScratchSamba>,
}

impl Host {
    /// Finds out the password, perhaps by asking.
    pub(super) fn ask(&mut self) -> Result<(), Failure> {
        if let HostKind::Given(account) = &mut self.kind {
            account.target.password = account.sources.password(&account.target)?;
        }
        Ok(())
    }

    /// Its place in the study.
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
            client: client::lines(&self.run),
        }
    }

    /// Sets it up where it is not there already.
    ///
    /// `claimed` is told the folder of a server that is about to be set up, so that
    /// it can be removed should this process be killed.
    pub(super) fn stand(
        &self,
        claimed: impl FnOnce(&Path) -> Result<(), Failure>,
    ) -> Result<Standing, Failure> {
        match &self.kind {
            HostKind::Given(account) => {
                let target = &account.target;
                let mut disclosure = request::disclosure(self.flush);
                disclosure.notes.extend(self.notes.iter().cloned());
                Ok(Standing {
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
                Ok(Standing {
                    target,
                    disclosure,
                    samba: Some(samba),
                })
            }
        }
    }

    /// Where it is, as far as anything can be left there by a run that died.
    pub(super) fn given(&self) -> Option<&Target> {
        match &self.kind {
            HostKind::Given(account) => Some(&account.target),
            HostKind::Samba { .. } => None,
        }
    }
}

/// What a scratch Samba is, for a reader; above all on what it stores.
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

/// What a Samba does on a FLUSH that has these lines in the global section of
/// its `smb.conf` (smb.conf(5), `strict sync`).
pub(super) fn samba_policy(lines: &[String]) -> FlushDoc {
    // As shipped since 4.7.
    let mut policy = FlushDoc::Honours;
    for line in lines {
        let Some((name, value)) = line.split_once('=') else {
            continue;
        };
        // Samba minds neither case nor blanks in names.
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
            // Whatever these bring.
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
