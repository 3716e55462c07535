//! Facts of a server that smbench has started: its software, its storage and its flush
//! policy. `lab` passes them on to the command that uses the server. Not here: facts that
//! the server itself reports.

use std::{env, io};

use serde::{Deserialize, Serialize};
use smbench_engine::storage::Storage;
use smbench_lab::ScratchSamba;
use smbench_model::target::Target;
use smbench_report::doc::{BUILT_IN_NOTE, StorageDoc};
use smbench_report::{Disclosure, FlushDoc};

/// The variable by which `lab` describes its server to a command.
pub(crate) const VARIABLE: &str = "SMBENCH_LAB";

/// Facts of a server that smbench has started.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct LabFacts {
    /// The URL of the share, without a password.
    url: String,
    flush: FlushDoc,
    software: Option<String>,
    storage: Option<StorageDoc>,
    /// Describes the server for readers.
    note: String,
}

impl LabFacts {
    pub(crate) fn of_samba(samba: &ScratchSamba, lines: &[String]) -> Self {
        let storage = Storage::of(&samba.data_dir());
        Self {
            url: samba.url(),
            flush: samba_policy(lines),
            software: samba.version(),
            note: scratch_note(lines, storage.as_ref()),
            storage: storage.map(|storage| StorageDoc {
                in_memory: storage.is_memory(),
                filesystem: storage.filesystem,
                source: storage.source,
            }),
        }
    }

    pub(crate) fn of_embedded(url: String) -> Self {
        Self {
            url,
            // Its files are in memory, so it just answers a FLUSH.
            flush: FlushDoc::Ignores,
            software: None,
            storage: None,
            note: BUILT_IN_NOTE.to_owned(),
        }
    }

    /// Returns the facts of `target` if `lab` has started it for this command.
    pub(crate) fn of_environment(target: &Target) -> Option<Self> {
        Self::of_variable(&env::var(VARIABLE).ok()?, target)
    }

    fn of_variable(text: &str, target: &Target) -> Option<Self> {
        let facts: Self = serde_json::from_str(text).ok()?;
        let (known, _) = Target::parse(&facts.url).ok()?;
        let share = |of: &Target| (of.host.clone(), of.port, of.share.clone());
        (share(&known) == share(target)).then_some(facts)
    }

    pub(crate) fn flush(&self) -> FlushDoc {
        self.flush
    }

    /// Returns the value of [`VARIABLE`].
    pub(crate) fn to_variable(&self) -> io::Result<String> {
        Ok(serde_json::to_string(self)?)
    }

    /// Adds the facts, but keeps a flush policy that the user has stated.
    pub(crate) fn add_to(self, disclosure: &mut Disclosure) {
        if disclosure.flush == FlushDoc::Unknown {
            disclosure.flush = self.flush;
        }
        disclosure.software = self.software;
        disclosure.storage = self.storage;
        disclosure.notes.push(self.note);
    }
}

/// Describes a scratch Samba for readers, and especially its storage.
fn scratch_note(lines: &[String], storage: Option<&Storage>) -> String {
    let storage = match storage {
        Some(storage) if storage.is_memory() => {
            format!("in memory ({storage}), where a flush costs nothing")
        }
        Some(storage) => format!("on {storage}"),
        None => "on an unknown file system".to_owned(),
    };
    let lines = match lines {
        [] => "with default settings".to_owned(),
        lines => format!("with {}", lines.join("; ")),
    };
    format!("a scratch Samba {lines}, its share {storage}")
}

/// Returns the flush policy of a Samba with these lines in the global section of
/// its `smb.conf` (smb.conf(5), `strict sync`).
pub(crate) fn samba_policy(lines: &[String]) -> FlushDoc {
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
    fn facts_are_those_of_the_server_that_the_lab_started() {
        let facts = LabFacts::of_embedded("smb://smbench@127.0.0.1:4455/bench".to_owned());
        let text = facts.to_variable().unwrap();
        let found = |url: &str| LabFacts::of_variable(&text, &Target::parse(url).unwrap().0);
        assert_eq!(
            found("smb://127.0.0.1:4455/bench/folder"),
            Some(facts.clone())
        );
        for other in ["smb://127.0.0.1:4456/bench", "smb://127.0.0.1:4455/other"] {
            assert_eq!(found(other), None, "{other}");
        }
        let mut disclosure = Disclosure::default();
        facts.clone().add_to(&mut disclosure);
        assert_eq!(disclosure.flush, FlushDoc::Ignores);
        let mut stated = Disclosure {
            flush: FlushDoc::Honours,
            ..Disclosure::default()
        };
        facts.add_to(&mut stated);
        assert_eq!(stated.flush, FlushDoc::Honours);
    }

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
