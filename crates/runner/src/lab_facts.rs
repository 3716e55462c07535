//! Facts of a server that smbench has started: its software, its storage, and what it does
//! before it answers a FLUSH or a WRITE. `lab` passes them on to the command that uses the
//! server. Not here: facts that the server itself reports.

use std::path::{Path, PathBuf};
use std::{env, io};

use serde::{Deserialize, Serialize};
use smbench_engine::storage::Storage;
use smbench_lab::ScratchSamba;
use smbench_model::target::Target;
use smbench_report::doc::{BUILT_IN_NOTE, BuildDoc, StorageDoc};
use smbench_report::{Disclosure, FactSource, FlushDoc, WriteDoc, WritePolicyDoc};

/// The variable by which `lab` describes its server to a command.
pub const VARIABLE: &str = "SMBENCH_LAB";

/// What a server does before it answers a FLUSH or a WRITE, as far as it is known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Durability {
    /// Whether a FLUSH writes to stable storage.
    pub flush: FlushDoc,
    /// Whether a WRITE waits for stable storage.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub write: Option<WriteDoc>,
}

impl Durability {
    /// The built-in server. Its files are in memory, so it just answers a FLUSH.
    pub const EMBEDDED: Self = Self {
        flush: FlushDoc::Ignores,
        write: Some(WriteDoc {
            policy: WritePolicyDoc::Buffers,
            source: FactSource::Known,
        }),
    };

    /// Returns the policies that the user has stated.
    pub fn given(flush: Option<FlushDoc>, write: Option<WritePolicyDoc>) -> Self {
        Self {
            flush: flush.unwrap_or_default(),
            write: write.map(|policy| WriteDoc {
                policy,
                source: FactSource::Given,
            }),
        }
    }

    /// Adds policies that the user has not stated.
    pub fn or(self, other: Self) -> Self {
        Self {
            flush: match self.flush {
                FlushDoc::Unknown => other.flush,
                stated => stated,
            },
            write: self.write.or(other.write),
        }
    }
}

/// Facts of a server that smbench has started.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LabFacts {
    /// The URL of the share, without a password.
    url: String,
    #[serde(flatten)]
    durability: Durability,
    software: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    build: Option<BuildDoc>,
    storage: Option<StorageDoc>,
    /// Describes the server for readers.
    note: String,
}

impl LabFacts {
    /// Returns the facts of a scratch Samba with these lines in its global section.
    pub fn of_samba(samba: &ScratchSamba, lines: &[String]) -> Self {
        let storage = Storage::of(&samba.data_dir());
        Self {
            url: samba.url(),
            durability: samba_policies(lines),
            software: samba.version(),
            build: samba.build().map(|build| BuildDoc {
                program: build.program.display().to_string(),
                options: build.options,
            }),
            note: scratch_note(lines, storage.as_ref()),
            storage: storage.map(|storage| StorageDoc {
                in_memory: storage.is_memory(),
                filesystem: storage.filesystem,
                source: storage.source,
            }),
        }
    }

    /// Returns the facts of the built-in server at this URL.
    pub fn of_embedded(url: String) -> Self {
        Self {
            url,
            durability: Durability::EMBEDDED,
            software: None,
            build: None,
            storage: None,
            note: BUILT_IN_NOTE.to_owned(),
        }
    }

    /// Returns the facts of `target` if `lab` has started it for this command.
    pub fn of_environment(target: &Target) -> Option<Self> {
        Self::of_variable(&env::var(VARIABLE).ok()?, target)
    }

    fn of_variable(text: &str, target: &Target) -> Option<Self> {
        let facts: Self = serde_json::from_str(text).ok()?;
        let (known, _) = Target::parse(&facts.url).ok()?;
        let share = |of: &Target| (of.host.clone(), of.port, of.share.clone());
        (share(&known) == share(target)).then_some(facts)
    }

    /// Returns what the server does before it answers.
    pub fn durability(&self) -> Durability {
        self.durability
    }

    /// Returns the value of [`VARIABLE`].
    pub fn to_variable(&self) -> io::Result<String> {
        Ok(serde_json::to_string(self)?)
    }

    /// Adds the facts, but keeps policies that the user has stated.
    pub fn add_to(self, disclosure: &mut Disclosure) {
        let Disclosure { flush, write, .. } = *disclosure;
        let known = Durability { flush, write }.or(self.durability);
        (disclosure.flush, disclosure.write) = (known.flush, known.write);
        disclosure.software = self.software;
        disclosure.build = self.build;
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

/// Returns the policies of a Samba with these lines in the global section of its
/// `smb.conf` (smb.conf(5), `strict sync` and `sync always`). They are unknown if a line
/// can set any option.
pub fn samba_policies(lines: &[String]) -> Durability {
    // The defaults since 4.7.
    let (mut strict_sync, mut sync_always) = (Some(true), Some(false));
    for line in lines {
        let Some((name, value)) = line.split_once('=') else {
            continue;
        };
        // Samba ignores case and blanks in names.
        let name: String = name.split_whitespace().collect::<String>().to_lowercase();
        match name.as_str() {
            "strictsync" => strict_sync = boolean(value),
            "syncalways" => sync_always = boolean(value),
            "include" | "copy" | "configfile" | "registryshares" | "vfsobjects" | "vfsobject" => {
                return Durability::default();
            }
            _ => {}
        }
    }
    let write = match (strict_sync, sync_always) {
        // `sync always` has no effect without `strict sync`.
        (Some(false), _) | (_, Some(false)) => Some(WritePolicyDoc::Buffers),
        (Some(true), Some(true)) => Some(WritePolicyDoc::Waits),
        (None, _) | (_, None) => None,
    };
    Durability {
        flush: match strict_sync {
            Some(true) => FlushDoc::Honours,
            Some(false) => FlushDoc::Ignores,
            None => FlushDoc::Unknown,
        },
        write: write.map(|policy| WriteDoc {
            policy,
            source: FactSource::Known,
        }),
    }
}

fn boolean(value: &str) -> Option<bool> {
    match value.trim().to_lowercase().as_str() {
        "yes" | "true" | "1" | "on" => Some(true),
        "no" | "false" | "0" | "off" => Some(false),
        _ => None,
    }
}

/// Returns a path that was written with `~/` for the home folder, which a shell does not
/// replace within a word.
pub fn smbd_path(written: &Path) -> PathBuf {
    let home = env::var_os("HOME");
    match (written.strip_prefix("~"), home) {
        (Ok(rest), Some(home)) => Path::new(&home).join(rest),
        _ => written.to_owned(),
    }
}

/// Parses one assignment. Comments, sections and continued lines are errors,
/// because smbd would accept them silently (smb.conf(5)).
pub fn parse_option(line: &str) -> Result<String, &'static str> {
    let name = line.split_once('=').map_or("", |(name, _)| name.trim());
    let is_other = name.is_empty() || name.starts_with(['#', ';', '[']);
    let continues = line.contains(['\n', '\r']) || line.trim_end().ends_with('\\');
    if is_other || continues {
        Err("expected one line NAME = VALUE")
    } else {
        Ok(line.to_owned())
    }
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
        assert_eq!(disclosure.write, Durability::EMBEDDED.write);
        let given = Durability::given(Some(FlushDoc::Honours), Some(WritePolicyDoc::Waits));
        let mut stated = Disclosure {
            flush: given.flush,
            write: given.write,
            ..Disclosure::default()
        };
        facts.add_to(&mut stated);
        assert_eq!((stated.flush, stated.write), (given.flush, given.write));
    }

    #[test]
    fn what_a_samba_does_on_a_flush_and_a_write_follows_from_its_lines() {
        use FlushDoc::{Honours, Ignores, Unknown};
        use WritePolicyDoc::{Buffers, Waits};
        for (lines, flush, write) in [
            (&[][..], Honours, Some(Buffers)),
            (&["max open files = 99"], Honours, Some(Buffers)),
            (&["strict sync = no"], Ignores, Some(Buffers)),
            (&["Strict  SYNC=No"], Ignores, Some(Buffers)),
            (&["strictsync = 0"], Ignores, Some(Buffers)),
            (
                &["strict sync = no", "strict sync = yes"],
                Honours,
                Some(Buffers),
            ),
            (&["strict sync = maybe"], Unknown, Some(Buffers)),
            (&["strict sync = maybe", "sync always = yes"], Unknown, None),
            (
                &["strict sync = yes", "sync always = yes"],
                Honours,
                Some(Waits),
            ),
            (&["Sync Always = 1"], Honours, Some(Waits)),
            (&["sync always = maybe"], Honours, None),
            (
                &["strict sync = no", "sync always = yes"],
                Ignores,
                Some(Buffers),
            ),
            // What happens to the blocks of a longer file is another matter.
            (&["strict allocate = yes"], Honours, Some(Buffers)),
            (
                &["vfs objects = io_uring", "strict sync = no"],
                Unknown,
                None,
            ),
            (&["strict sync = no", "include = /etc/x"], Unknown, None),
        ] {
            let lines: Vec<_> = lines.iter().map(|&line| line.to_owned()).collect();
            let found = samba_policies(&lines);
            let policy = found.write.map(|write| write.policy);
            assert_eq!((found.flush, policy), (flush, write), "{lines:?}");
        }
    }

    #[test]
    fn an_option_of_smbd_is_one_assignment() {
        assert_eq!(
            parse_option("strict sync = no").unwrap(),
            "strict sync = no"
        );
        for line in [
            "strict sync",
            "= no",
            "# strict sync = no",
            "; strict sync = no",
            "[x] a = b",
            "a = b\n[x]",
            "a = b \\ ",
        ] {
            parse_option(line).unwrap_err();
        }
    }
}
