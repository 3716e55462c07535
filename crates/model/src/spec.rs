//! The spec of a run as written: a profile file and the options of a command line.
//!
//! Everything is optional here, and any value may be wrong. Only
//! [`Plan::resolve`](crate::plan::Plan::resolve) validates it. A profile is TOML:
//!
//! ```toml
//! name = "file-server"
//! description = "what it is for"
//! read_percent = 80
//! split = "requests"           # or "clients": each only reads or only writes
//! access = "random"            # or "sequential"
//! flush_every_writes = 100     # never when absent
//! [files]
//! scope = "private"            # or "shared"
//! count = 1                    # per client; in total when shared
//! size = "1MiB"
//! [[sizes]]                    # weights sum to 100
//! size = "4KiB"
//! weight = 100
//! [run]                        # defaults that command-line options override
//! clients = "1,4..60:4"
//! outstanding = 1
//! duration = "30s"
//! ```
//!
//! A mix of any commands replaces `read_percent`:
//!
//! ```toml
//! [[operations]]               # weights sum to 100
//! op = "query_info"
//! class = "basic"
//! weight = 100
//! ```
//!
//! An access pattern as in Iometer ([`crate::access`]) replaces it too:
//!
//! ```toml
//! [[pattern]]                  # weights sum to 100
//! size = "4KiB"
//! weight = 60                  # percent of the bursts
//! reads = 80                   # percent of its requests
//! random = 100                 # percent of its requests
//! delay = "10ms"               # before each burst; none when absent
//! burst = 5                    # requests; 1 when absent
//! align = "4KiB"               # of offsets; 512 bytes when absent or 0
//! reply = 0                    # bytes in the other direction; none when absent
//! ```
//!
//! Not here: built-in profiles ([`crate::profile`]) and reading files.

mod operation;
mod pattern;

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use serde::Deserialize;
use serde::de::{DeserializeOwned, Deserializer, Error as _};
use smbench_protocol::{CipherList, DialectRange, SigningAlgorithm};

use crate::access::{Access, Split};
use crate::contents::Verify;
use crate::cpu::CpuSource;
use crate::files::Scope;
use crate::generator::{DriverKind, Pinning};
use crate::lists::clients::ClientList;
use crate::lists::sources::SourceList;
use crate::load::{Ramp, Rate, Spacing};
use crate::sessions::{Caching, Mode};
use crate::units::{Size, parse_duration};
use crate::workload::{NetbenchCapture, Timing};
pub use operation::{OpName, OperationSpec};
pub use pattern::PatternSpec;

/// A profile as written.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Spec {
    /// The name that results use; the file's name when absent.
    pub name: Option<String>,
    /// The purpose of the profile, in one line.
    pub description: Option<String>,
    /// Share of reads among reads and writes, 0 to 100. Required unless there are
    /// operations.
    pub read_percent: Option<f64>,
    /// How reads and writes are divided; `requests` when absent. With `requests`
    /// each client does both. With `clients`, `read_percent` of the clients read
    /// and the others write.
    pub split: Option<Split>,
    /// Order of offsets; random when absent.
    pub access: Option<Access>,
    /// Number of a client's writes after which it sends a FLUSH; never when absent.
    pub flush_every_writes: Option<u32>,
    /// The files worked on.
    pub files: FilesSpec,
    /// The mix of request sizes. Required where requests have a size.
    pub sizes: Vec<SizeSpec>,
    /// A mix of any commands. It replaces plain reads and writes.
    pub operations: Vec<OperationSpec>,
    /// The lines of an access pattern. They replace `read_percent` and
    /// `operations`.
    pub pattern: Vec<PatternSpec>,
    /// An office workload, `without-cache` or `oplocks`. It replaces every other
    /// description of requests.
    pub netbench: Option<NetbenchCapture>,
    /// Defaults for options that are missing on the command line.
    pub run: RunOptions,
}

/// The `[files]` table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct FilesSpec {
    /// Who works on a file; `private` when absent.
    pub scope: Option<Scope>,
    /// Files per client, or in total when shared; 1 when absent.
    pub count: Option<u32>,
    /// Bytes in each file; 1 MiB when absent.
    pub size: Option<Size>,
}

/// One `[[sizes]]` table.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SizeSpec {
    /// Bytes per request.
    pub size: Size,
    /// Percent of the requests.
    pub weight: f64,
}

/// How to run a workload: the `[run]` table of a profile, or the options of a
/// command line. Options of the command line have priority. An option that is in
/// neither has a default.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct RunOptions {
    /// Clients at each load point, each 1 to
    /// [`CLIENTS_MAX`](crate::lists::clients::CLIENTS_MAX); 1, 4, 8 and 16 when absent.
    pub clients: Option<ClientList>,
    /// Requests that each client keeps in flight, 1 to
    /// [`OUTSTANDING_MAX`](crate::bounds::OUTSTANDING_MAX); 1 when absent. With a
    /// rate or a think time it is a maximum. In a replay it is always 1.
    pub outstanding: Option<u32>,
    /// Operations per second, such as `5000` or `50/client`, from
    /// [`RATE_MIN`](crate::load::RATE_MIN) to [`RATE_MAX`](crate::load::RATE_MAX).
    /// A closed loop when absent.
    pub rate: Option<Rate>,
    /// How arrivals at a rate are spaced: `constant` (when absent) or `poisson`.
    pub arrivals: Option<Spacing>,
    /// Mean time between the end of an operation and the next one, at most
    /// [`THINK_TIME_MAX`](crate::load::THINK_TIME_MAX); none when absent.
    #[serde(deserialize_with = "duration")]
    pub think_time: Option<Duration>,
    /// How think times vary: `fixed` (when absent) or `exponential`.
    pub think_distribution: Option<Spacing>,
    /// When operations of a replay begin: `fast` (when absent) or `recorded`.
    pub timing: Option<Timing>,
    /// How often each client replays the recording, at least once. The load point
    /// then ends. When absent, clients repeat it until the window and the ramp-down
    /// are over.
    pub loops: Option<u32>,
    /// How clients begin: `full` (when absent) or `linear`, which requires a
    /// ramp-up.
    pub ramp: Option<Ramp>,
    /// Length of the measured window, more than 0 and at most
    /// [`PERIOD_MAX`](crate::bounds::PERIOD_MAX); 3 s when absent. With `loops` and
    /// in a `fileio` test it is only a limit, and 1 h when absent.
    #[serde(deserialize_with = "duration")]
    pub duration: Option<Duration>,
    /// Time under load before the window, at most
    /// [`PERIOD_MAX`](crate::bounds::PERIOD_MAX). With a linear `ramp` clients join
    /// in it. Otherwise the load is full. When absent it is 1 s, but 0 with `loops`
    /// and in a `fileio` test.
    #[serde(deserialize_with = "duration")]
    pub ramp_up: Option<Duration>,
    /// Time at full load after the window, at most
    /// [`PERIOD_MAX`](crate::bounds::PERIOD_MAX). When absent it is 500 ms, but 0
    /// with `loops` and in a `fileio` test.
    #[serde(deserialize_with = "duration")]
    pub ramp_down: Option<Duration>,
    /// Passes over the series of load points, 1 to
    /// [`REPEAT_MAX`](crate::bounds::REPEAT_MAX); 1 when absent.
    pub repeat: Option<u32>,
    /// Seed of every random choice, any number; 1 when absent.
    pub seed: Option<u64>,
    /// Worker threads, 1 to [`THREADS_MAX`](crate::bounds::THREADS_MAX). When absent,
    /// the number of CPUs that this process may use.
    pub threads: Option<u32>,
    /// Whether each worker thread stays on one CPU; `true` or `false` in a file.
    #[serde(deserialize_with = "pinning")]
    pub pin_threads: Option<Pinning>,
    /// Maximum number of sessions to set up per second, over all threads, 1 to
    /// [`SETUP_RATE_MAX`](crate::bounds::SETUP_RATE_MAX). When absent, the server
    /// alone limits it.
    pub setup_rate: Option<u32>,
    /// The driver that sends the operations, such as `native`.
    #[serde(deserialize_with = "from_text::<DriverKind, _>")]
    pub driver: Option<DriverKind>,
    /// The caching that opens of files ask for, such as `batch` or `lease-rh`.
    #[serde(deserialize_with = "from_text::<Caching, _>")]
    pub oplock: Option<Caching>,
    /// Dialects to offer, such as `3.1.1` or `2.1..3.0.2`.
    #[serde(deserialize_with = "from_text::<DialectRange, _>")]
    pub dialect: Option<DialectRange>,
    /// Message signing.
    pub sign: Option<Mode>,
    /// The only algorithm to sign with, such as `aes-128-cmac`.
    #[serde(deserialize_with = "from_text::<SigningAlgorithm, _>")]
    pub signing_algorithm: Option<SigningAlgorithm>,
    /// Message encryption.
    pub encrypt: Option<Mode>,
    /// Ciphers to offer, such as `aes-128-gcm,aes-128-ccm`.
    #[serde(deserialize_with = "from_text::<CipherList, _>")]
    pub cipher: Option<CipherList>,
    /// Sessions on each connection, one for each client, 1 to
    /// [`SESSIONS_PER_CONNECTION_MAX`](crate::sessions::SESSIONS_PER_CONNECTION_MAX); 1
    /// when absent.
    pub sessions_per_connection: Option<u32>,
    /// Connections that each session uses at the same time, 1 to
    /// [`CONNECTIONS_PER_SESSION_MAX`](crate::sessions::CONNECTIONS_PER_SESSION_MAX); 1
    /// when absent. More than 1 requires SMB 3.0 or newer.
    pub connections_per_session: Option<u32>,
    /// Maximum number of credits that each connection holds and uses, 1 to
    /// [`MAX_CREDIT_TARGET`](smbench_protocol::credit::MAX_CREDIT_TARGET). It must
    /// cover the costliest operation. When absent, the number that the requests in
    /// flight need.
    pub credits: Option<u16>,
    /// Local addresses to connect from, such as `192.0.2.10-192.0.2.20`.
    pub source_ip: Option<SourceList>,
    /// Whether data is verified; `true` or `false` in a file.
    #[serde(deserialize_with = "verify")]
    pub verify: Option<Verify>,
    /// Bytes in each file; overrides `[files]`. Only a command line can give it,
    /// because a profile has `[files]` for it.
    #[serde(skip)]
    pub file_size: Option<Size>,
    /// Source of the server's CPU time. Only a command line can give it, because it
    /// depends on the server.
    #[serde(skip)]
    pub server_cpu: Option<CpuSource>,
}

impl RunOptions {
    /// Merges two sets of options. Values of `fallback` fill those that are missing
    /// here.
    #[must_use]
    pub fn or(self, fallback: Self) -> Self {
        Self {
            clients: self.clients.or(fallback.clients),
            outstanding: self.outstanding.or(fallback.outstanding),
            // One load model replaces another as a whole.
            rate: self.rate.or(match self.think_time {
                Some(_) => None,
                None => fallback.rate,
            }),
            arrivals: self.arrivals.or(match self.think_time {
                Some(_) => None,
                None => fallback.arrivals,
            }),
            think_time: self.think_time.or(match self.rate {
                Some(_) => None,
                None => fallback.think_time,
            }),
            think_distribution: self.think_distribution.or(match self.rate {
                Some(_) => None,
                None => fallback.think_distribution,
            }),
            timing: self.timing.or(fallback.timing),
            loops: self.loops.or(fallback.loops),
            ramp: self.ramp.or(fallback.ramp),
            duration: self.duration.or(fallback.duration),
            ramp_up: self.ramp_up.or(fallback.ramp_up),
            ramp_down: self.ramp_down.or(fallback.ramp_down),
            repeat: self.repeat.or(fallback.repeat),
            seed: self.seed.or(fallback.seed),
            threads: self.threads.or(fallback.threads),
            pin_threads: self.pin_threads.or(fallback.pin_threads),
            setup_rate: self.setup_rate.or(fallback.setup_rate),
            driver: self.driver.or(fallback.driver),
            oplock: self.oplock.or(fallback.oplock),
            dialect: self.dialect.or(fallback.dialect),
            sign: self.sign.or(fallback.sign),
            signing_algorithm: self.signing_algorithm.or(fallback.signing_algorithm),
            encrypt: self.encrypt.or(fallback.encrypt),
            cipher: self.cipher.or(fallback.cipher),
            sessions_per_connection: self
                .sessions_per_connection
                .or(fallback.sessions_per_connection),
            connections_per_session: self
                .connections_per_session
                .or(fallback.connections_per_session),
            credits: self.credits.or(fallback.credits),
            source_ip: self.source_ip.or(fallback.source_ip),
            verify: self.verify.or(fallback.verify),
            file_size: self.file_size.or(fallback.file_size),
            server_cpu: self.server_cpu.or(fallback.server_cpu),
        }
    }
}

fn duration<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Duration>, D::Error> {
    let text = String::deserialize(deserializer)?;
    parse_duration(&text).map(Some).map_err(D::Error::custom)
}

fn from_text<'de, T, D>(deserializer: D) -> Result<Option<T>, D::Error>
where
    T: FromStr<Err: fmt::Display>,
    D: Deserializer<'de>,
{
    let text = String::deserialize(deserializer)?;
    text.parse().map(Some).map_err(D::Error::custom)
}

fn verify<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Verify>, D::Error> {
    Ok(Some(match bool::deserialize(deserializer)? {
        true => Verify::ReadBack,
        false => Verify::Off,
    }))
}

fn pinning<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Pinning>, D::Error> {
    Ok(Some(match bool::deserialize(deserializer)? {
        true => Pinning::Pinned,
        false => Pinning::Free,
    }))
}

impl Spec {
    /// Parses the TOML of a profile.
    ///
    /// # Errors
    /// When the text is not TOML, or contains a key or a type of value that no
    /// profile has.
    pub fn parse(text: &str) -> Result<Self, SyntaxError> {
        parse(text)
    }
}

/// Parses TOML, of a profile or of another file of the same style.
///
/// # Errors
/// When the text is not TOML, or does not fit `T`.
pub fn parse<T: DeserializeOwned>(text: &str) -> Result<T, SyntaxError> {
    toml::from_str(text).map_err(|error| SyntaxError::new(text, &error))
}

/// The place and the reason of a syntax error.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}, column {column}: {message}")]
pub struct SyntaxError {
    /// Line, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
    /// One line of text, without the place.
    pub message: String,
}

impl SyntaxError {
    fn new(text: &str, error: &toml::de::Error) -> Self {
        let at = error.span().map_or(0, |span| span.start).min(text.len());
        let before = String::from_utf8_lossy(&text.as_bytes()[..at]);
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        Self {
            line: before.matches('\n').count() + 1,
            column: before[line_start..].chars().count() + 1,
            message: error.message().trim().replace('\n', "; "),
        }
    }
}

#[cfg(test)]
mod tests;
