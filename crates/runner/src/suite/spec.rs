//! A suite as written, before any check: TOML, like profiles.
//!
//! ```toml
//! name = "nas-or-samba"        # the file's name when absent
//! title = "Our NAS and Samba"  # title of the report
//! clients = "1,4..60:4"        # load points
//! passes = 2
//! profiles = ["file-server", "./ours.toml"]
//! events = ["at 5s: drop 100%"] # what is done at instants of each window
//! [run]                        # as in a profile; overrides all profiles
//! duration = "10m"
//! [transfers]                  # generates a profile for each size and mode
//! sizes = ["4KiB", "64KiB"]
//! modes = ["transmit", "receive", "duplex"]
//! [[find]]                     # a search for a limit of each server
//! name = "log-ons"
//! kind = "logons"              # or "rate", "clients", "sessions"
//! until = "failed >= 1%"
//! [[servers]]
//! name = "NAS"
//! url = "smb://ann@nas/bench"
//! password_env = "NAS_PASSWORD"
//! flush = "honours"
//! [servers.run]                # options of its clients that override [run]
//! oplock = "batch"
//! [[servers]]
//! name = "Samba"
//! samba = ["strict sync = no"] # a scratch Samba with these lines in smb.conf
//! smbd = "/opt/samba/sbin/smbd" # the smbd to start; the installed one when absent
//! nodes = 2                    # so many smbd over one folder, each at an address of its own
//! [[comparisons]]
//! title = "NAS over Samba"
//! kind = "change"              # the default; or "scaling"
//! baseline = "Samba"           # the first server when absent
//! servers = ["NAS", "Samba"]
//! ```
//!
//! Unknown keys are errors. Paths are relative to the suite's file. No password
//! may be in the file.

mod find;

use std::collections::HashSet;
use std::fmt;
use std::path::PathBuf;

use schemars::JsonSchema;
use serde::Deserialize;
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserializer, Error, MapAccess, Visitor};
use smbench_model::event::{EventAction, PlannedEvent};
use smbench_model::lists::clients::ClientList;
use smbench_model::spec::RunOptions;
use smbench_model::units::Size;
use smbench_report::study::{ComparisonKind, TransferMode};
use smbench_report::{FlushDoc, WritePolicyDoc};

pub(super) use find::FindEntry;

/// A suite as written.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SuiteSpec {
    /// Name for folders; the file's name when absent.
    pub(super) name: Option<String>,
    /// Title of the report; the name when absent.
    pub(super) title: Option<String>,
    /// Purpose of the suite, in a line.
    pub(super) description: Option<String>,
    /// Load points, the same for all profiles.
    pub(super) clients: Option<ClientList>,
    /// Passes over the load points on each server; 1 when absent.
    pub(super) passes: Option<u32>,
    /// Sizes and directions from which profiles are generated; these run first.
    pub(super) transfers: Option<TransfersEntry>,
    /// Profiles; the default one when absent, unless there are transfers or searches.
    #[schemars(with = "Vec<ProfileForm>")]
    pub(super) profiles: Vec<ProfileEntry>,
    /// Searches for limits; these run last.
    pub(super) find: Vec<FindEntry>,
    /// Whether loadfile lines without a meaning here are left out and counted.
    /// Otherwise they are errors.
    pub(super) skip_unknown: bool,
    /// What is done at instants of each window. A file is passed on, so it runs no command.
    #[serde(deserialize_with = "events")]
    #[schemars(with = "Vec<String>")]
    pub(super) events: Vec<PlannedEvent>,
    /// Options that override those of the profiles.
    pub(super) run: RunOptions,
    /// Servers to measure.
    pub(super) servers: Vec<ServerEntry>,
    /// Settings of sessions. Each server is measured with each, and compared with itself
    /// under the first.
    pub(super) settings: Vec<SettingEntry>,
    /// Comparisons that the study asks for.
    pub(super) comparisons: Vec<ComparisonEntry>,
}

/// One `[[settings]]` table.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct SettingEntry {
    /// Name in tables.
    pub(super) name: String,
    /// Options of sessions.
    #[serde(default)]
    pub(super) run: RunOptions,
}

/// A profile by its name or path, and its options in this suite.
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

/// A profile with options, as a TOML table.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ProfileTable {
    /// Name or path.
    profile: String,
    /// Options in this suite.
    #[serde(default)]
    run: RunOptions,
}

/// What a suite may have for a profile.
#[derive(JsonSchema)]
#[serde(untagged)]
#[expect(dead_code, reason = "only its schema is needed")]
enum ProfileForm {
    Name(String),
    Table(Box<ProfileTable>),
}

impl<'de> Deserialize<'de> for ProfileEntry {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
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
                let ProfileTable { profile, run } =
                    ProfileTable::deserialize(MapAccessDeserializer::new(map))?;
                Ok(ProfileEntry { profile, run })
            }
        }

        deserializer.deserialize_any(EntryVisitor)
    }
}

/// The `[transfers]` table: each size in each mode, sequential and without delay.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(super) struct TransfersEntry {
    /// Bytes per request.
    pub(super) sizes: Vec<Size>,
    /// Directions; all three when absent.
    pub(super) modes: Vec<TransferMode>,
    /// Bytes of each client's file; at least the size of a request. 1 MiB when
    /// absent.
    pub(super) file_size: Option<Size>,
}

/// One `[[servers]]` table: `url`, or `samba` or `smbd`, and the keys that belong to it.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(super) struct ServerEntry {
    /// Name in tables.
    pub(super) name: String,
    /// URL of an existing server, without a password.
    pub(super) url: Option<String>,
    /// Lines for the global section of a scratch Samba's `smb.conf`.
    pub(super) samba: Option<Vec<String>>,
    /// The smbd of a scratch Samba, or a program that runs one.
    pub(super) smbd: Option<PathBuf>,
    /// How many smbd of a scratch Samba serve one folder, each at an address of its own. Clients
    /// that come back try them in turn. 1 when absent.
    pub(super) nodes: Option<u8>,
    /// Notes for readers, one sentence each.
    pub(super) notes: Vec<String>,
    /// Flush policy. For a scratch Samba it is known.
    pub(super) flush: Option<FlushDoc>,
    /// Whether each WRITE waits for stable storage. For a scratch Samba it is known.
    pub(super) write: Option<WritePolicyDoc>,
    /// Whether the server is left out if the command line names servers.
    pub(super) unless_named: bool,
    /// Name of the environment variable with the password.
    pub(super) password_env: Option<String>,
    /// Log-on option with the meaning of the same option of `run`, like the next
    /// keys.
    pub(super) password_file: Option<PathBuf>,
    pub(super) authentication_file: Option<PathBuf>,
    pub(super) auth: Option<String>,
    pub(super) keytab: Option<PathBuf>,
    pub(super) ccache: Option<PathBuf>,
    pub(super) realm: Option<String>,
    pub(super) kdc: Option<String>,
    pub(super) service_principal: Option<String>,
    pub(super) server_metrics: Option<String>,
    /// Options of this server's clients that override `[run]`.
    pub(super) run: RunOptions,
}

/// One `[[comparisons]]` table.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ComparisonEntry {
    /// Title in a report.
    pub(super) title: String,
    /// Kind of comparison; [`ComparisonKind::Gain`] is refused, with the text to write
    /// instead.
    #[serde(default, deserialize_with = "kind")]
    #[schemars(with = "String")]
    pub(super) kind: ComparisonKind,
    /// The server that the others are compared with; the first when absent.
    pub(super) baseline: Option<String>,
    /// Names of servers, or [`NAMED`] for those of the command line. All servers
    /// when absent.
    pub(super) servers: Option<Vec<String>>,
    /// Restriction to servers with this flush policy.
    pub(super) flush: Option<FlushDoc>,
}

/// Reads events. One with a command is an error.
fn events<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<PlannedEvent>, D::Error> {
    let texts = Vec::<String>::deserialize(deserializer)?;
    let event = |text: &String| {
        let event: PlannedEvent = text.parse().map_err(Error::custom)?;
        match event.action {
            EventAction::Exec(_) => Err(Error::custom(format!(
                "`{text}` runs a command, which a suite never does: give it on the command line"
            ))),
            _ => Ok(event),
        }
    };
    texts.iter().map(event).collect()
}

/// Reads the kind of a comparison. An error lists only kinds that are not refused
/// later.
fn kind<'de, D: Deserializer<'de>>(deserializer: D) -> Result<ComparisonKind, D::Error> {
    match &*String::deserialize(deserializer)? {
        "change" | "tuning" => Ok(ComparisonKind::Change),
        "scaling" => Ok(ComparisonKind::Scaling),
        "gain" => Ok(ComparisonKind::Gain),
        other => Err(Error::unknown_variant(other, &["change", "scaling"])),
    }
}

/// Placeholder for the servers that the command line names.
pub(super) const NAMED: &str = "--server";

/// Returns the first name that occurs twice, ignoring case.
pub(super) fn twice(names: &[String]) -> Option<&str> {
    let mut seen = HashSet::new();
    let mut names = names.iter();
    let second = names.find(|name| !seen.insert(name.to_lowercase()));
    second.map(String::as_str)
}
