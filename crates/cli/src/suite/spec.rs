//! A suite as it is written, before anyone has judged it: TOML, like profiles.
//!
//! ```toml
//! name = "nas-or-samba"        # the file's name when absent
//! title = "Our NAS and Samba"  # what a report calls it
//! clients = "1,4..60:4"        # load points
//! passes = 2
//! profiles = ["file-server", "./ours.toml"]
//! [run]                        # as in a profile, for all of them
//! duration = "10m"
//! [transfers]                  # profiles made of each size in each mode
//! sizes = ["4KiB", "64KiB"]
//! modes = ["transmit", "receive", "duplex"]
//! [[servers]]
//! name = "NAS"
//! url = "smb://ann@nas/bench"
//! password_env = "NAS_PASSWORD"
//! flush = "honours"
//! [servers.run]                # what its clients ask for, where others do not
//! oplock = "batch"
//! [[servers]]
//! name = "Samba"
//! samba = ["strict sync = no"] # a scratch Samba with these lines in smb.conf
//! [[comparisons]]
//! title = "NAS over Samba"
//! kind = "change"              # the default; or "scaling"
//! baseline = "Samba"           # the first server when absent
//! servers = ["NAS", "Samba"]
//! ```
//!
//! Unknown keys are errors. Paths are relative to the suite's file. No password
//! is ever in it.

use std::fmt;
use std::path::PathBuf;

use serde::Deserialize;
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserializer, Error, MapAccess, Visitor};
use smbench_engine::clients::ClientList;
use smbench_engine::spec::RunOptions;
use smbench_engine::units::Size;
use smbench_report::FlushDoc;
use smbench_report::study::{ComparisonKind, TransferMode};

/// A suite as written.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct SuiteSpec {
    /// What folders are called after; the file's name when absent.
    pub(super) name: Option<String>,
    /// What a report calls it; the name when absent.
    pub(super) title: Option<String>,
    /// What it is for, in a line.
    pub(super) description: Option<String>,
    /// Load points, the same for all profiles.
    pub(super) clients: Option<ClientList>,
    /// Passes over them on each server; 1 when absent.
    pub(super) passes: Option<u32>,
    /// Profiles that are made of sizes and directions; they come first.
    pub(super) transfers: Option<TransfersEntry>,
    /// Profiles; the default one when absent, unless there are transfers.
    pub(super) profiles: Vec<ProfileEntry>,
    /// Whether lines of loadfiles that mean nothing here are left out, and
    /// counted; otherwise they are errors.
    pub(super) skip_unknown: bool,
    /// How they run, where it is otherwise than they say themselves.
    pub(super) run: RunOptions,
    /// What is measured.
    pub(super) servers: Vec<ServerEntry>,
    /// What the study is about.
    pub(super) comparisons: Vec<ComparisonEntry>,
}

/// A profile by its name or path, and what of it is otherwise in this suite.
#[derive(Debug)]
pub(super) struct ProfileEntry {
    pub(super) profile: String,
    pub(super) run: RunOptions,
}

impl ProfileEntry {
    pub(super) fn named(profile: &str) -> Self {
        Self {
            profile: profile.to_owned(),
            run: RunOptions::default(),
        }
    }
}

impl<'de> Deserialize<'de> for ProfileEntry {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        /// The table form.
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Table {
            profile: String,
            #[serde(default)]
            run: RunOptions,
        }

        struct EntryVisitor;

        impl<'de> Visitor<'de> for EntryVisitor {
            type Value = ProfileEntry;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a profile's name or path, or a table with `profile` and `run`")
            }

            fn visit_str<E: Error>(self, name: &str) -> Result<ProfileEntry, E> {
                Ok(ProfileEntry::named(name))
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<ProfileEntry, A::Error> {
                let Table { profile, run } = Table::deserialize(MapAccessDeserializer::new(map))?;
                Ok(ProfileEntry { profile, run })
            }
        }

        deserializer.deserialize_any(EntryVisitor)
    }
}

/// The `[transfers]` table: each size in each mode, sequential and without delay.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct TransfersEntry {
    /// Bytes per request.
    pub(super) sizes: Vec<Size>,
    /// All three when absent.
    pub(super) modes: Vec<TransferMode>,
    /// Bytes of each client's file, or those of a request where that is larger;
    /// 1 MiB when absent.
    pub(super) file_size: Option<Size>,
}

/// One `[[servers]]` table: `url` or `samba`, and what goes with it.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct ServerEntry {
    /// What tables call it.
    pub(super) name: String,
    /// A server that is there already; without a password.
    pub(super) url: Option<String>,
    /// A scratch Samba, with these lines in the global section of `smb.conf`.
    pub(super) samba: Option<Vec<String>>,
    /// What a reader must be told, one sentence each.
    pub(super) notes: Vec<String>,
    /// What it does on a FLUSH. Known of a scratch Samba.
    pub(super) flush: Option<FlushDoc>,
    /// Whether it is left out where the command line names servers.
    pub(super) unless_named: bool,
    /// The environment variable that holds the password.
    pub(super) password_env: Option<String>,
    /// As the options of `run` of these names.
    pub(super) password_file: Option<PathBuf>,
    pub(super) authentication_file: Option<PathBuf>,
    pub(super) auth: Option<String>,
    pub(super) keytab: Option<PathBuf>,
    pub(super) ccache: Option<PathBuf>,
    pub(super) realm: Option<String>,
    pub(super) kdc: Option<String>,
    pub(super) service_principal: Option<String>,
    pub(super) server_metrics: Option<String>,
    /// What clients of this one do otherwise than `[run]` says.
    pub(super) run: RunOptions,
}

/// One `[[comparisons]]` table.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ComparisonEntry {
    /// What a report calls it.
    pub(super) title: String,
    /// How servers are compared; [`ComparisonKind::Gain`] is refused.
    #[serde(default)]
    pub(super) kind: ComparisonKind,
    /// The server that the others are compared with; the first when absent.
    pub(super) baseline: Option<String>,
    /// Names of servers, or [`NAMED`] for those of the command line; all of them
    /// when absent.
    pub(super) servers: Option<Vec<String>>,
    /// Only those of this policy.
    pub(super) flush: Option<FlushDoc>,
}

/// What stands for the servers that the command line names.
pub(super) const NAMED: &str = "--server";
