//! What was written: a profile file and the options of a command line, before
//! anyone has judged it.
//!
//! Everything is optional here and anything may be wrong; only
//! [`Plan::resolve`](crate::plan::Plan::resolve) decides. A profile is TOML:
//!
//! ```toml
//! name = "file-server"
//! description = "what it is for"
//! read_percent = 80
//! split = "requests"           # or "clients": each only reads or only writes
//! access = "random"            # or "sequential"
//! flush_every_writes = 100     # absent is never
//! [files]
//! scope = "private"            # or "shared"
//! count = 1                    # per client, or in all when shared
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
//! A mix of any commands takes the place of `read_percent`:
//!
//! ```toml
//! [[operations]]               # weights sum to 100
//! op = "query_info"
//! class = "basic"
//! weight = 100
//! ```
//!
//! So does an access pattern as Iometer has them ([`crate::plan::pattern`]):
//!
//! ```toml
//! [[pattern]]                  # weights sum to 100
//! size = "4KiB"
//! weight = 60                  # percent of the bursts
//! reads = 80                   # percent of its requests
//! random = 100                 # likewise
//! delay = "10ms"               # before each burst; none when absent
//! burst = 5                    # requests; 1 when absent
//! align = "4KiB"               # of places; 512 bytes when absent or 0
//! reply = 0                    # bytes in the other direction; none when absent
//! ```
//!
//! Reading files and finding built-in profiles is [`crate::profile`]'s.

mod operation;
mod pattern;

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use serde::Deserialize;
use serde::de::{DeserializeOwned, Deserializer, Error as _};
use smbench_protocol::{CipherList, DialectRange, SigningAlgorithm};

use crate::clients::ClientList;
use crate::netbench::Variant;
use crate::plan::{
    Access, Caching, DriverKind, Mode, Pinning, Ramp, Rate, Scope, Spacing, Split, Timing, Verify,
};
use crate::server_cpu::CpuSource;
use crate::sources::SourceList;
use crate::units::{Size, parse_duration};

pub use operation::{OpName, OperationSpec};
pub use pattern::PatternSpec;

/// A profile as written.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Spec {
    /// What results call it; the file's name when absent.
    pub name: Option<String>,
    /// What it is for, in a line.
    pub description: Option<String>,
    /// Share of reads among reads and writes, 0 to 100. Needed unless there
    /// are operations.
    pub read_percent: Option<f64>,
    /// Whether each client reads and writes (`requests`, when absent), or
    /// `read_percent` of the `clients` read and the others write.
    pub split: Option<Split>,
    /// Order of offsets; random when absent.
    pub access: Option<Access>,
    /// A FLUSH after every this many writes of a client; absent is never.
    pub flush_every_writes: Option<u32>,
    /// The files worked on.
    pub files: FilesSpec,
    /// The mix of request sizes. Needed where requests have a size.
    pub sizes: Vec<SizeSpec>,
    /// A mix of any commands, instead of reads and writes alone.
    pub operations: Vec<OperationSpec>,
    /// Lines of an access pattern, instead of either.
    pub pattern: Vec<PatternSpec>,
    /// What office clients do, instead of any: `without-cache` or `oplocks`.
    pub netbench: Option<Variant>,
    /// Defaults for options that the command line leaves out.
    pub run: RunOptions,
}

/// The `[files]` table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct FilesSpec {
    /// Private when absent.
    pub scope: Option<Scope>,
    /// 1 when absent.
    pub count: Option<u32>,
    /// 1 MiB when absent.
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

/// How to run a workload: the `[run]` table of a profile, and the options of a
/// command line, which go before it. What is in neither has a default.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct RunOptions {
    /// Clients at each load point, each 1 to
    /// [`CLIENTS_MAX`](crate::clients::CLIENTS_MAX); 1, 4, 8 and 16 when absent.
    pub clients: Option<ClientList>,
    /// Requests each client keeps in flight, or has at most where a rate or a think
    /// time is given, 1 to [`OUTSTANDING_MAX`](crate::plan::OUTSTANDING_MAX); 1 when
    /// absent, and always in a replay.
    pub outstanding: Option<u32>,
    /// Operations per second, such as `5000` or `50/client`, instead of a closed
    /// loop, [`RATE_MIN`](crate::plan::RATE_MIN) to
    /// [`RATE_MAX`](crate::plan::RATE_MAX); a closed loop when absent.
    pub rate: Option<Rate>,
    /// How those are spaced: `constant`, when absent, or `poisson`.
    pub arrivals: Option<Spacing>,
    /// Mean time between the end of an operation and the next one, at most
    /// [`THINK_TIME_MAX`](crate::plan::THINK_TIME_MAX); none when absent.
    #[serde(deserialize_with = "duration")]
    pub think_time: Option<Duration>,
    /// How think times vary: `fixed`, when absent, or `exponential`.
    pub think_distribution: Option<Spacing>,
    /// When operations of a replay begin: `fast`, when absent, or `recorded`.
    pub timing: Option<Timing>,
    /// How often each client goes through what it replays, after which the load
    /// point ends: at least once; when absent over and over, until the window and the
    /// ramp-down are over.
    pub loops: Option<u32>,
    /// How clients begin: `full`, when absent, or `linear`, for which there must be a
    /// ramp-up.
    pub ramp: Option<Ramp>,
    /// Length of the measured window, more than 0 and at most
    /// [`PERIOD_MAX`](crate::plan::PERIOD_MAX); 3 s when absent. With `loops`, and in a
    /// `fileio` test, only a limit; 1 h when absent.
    #[serde(deserialize_with = "duration")]
    pub duration: Option<Duration>,
    /// Time under load before the window: at full load, or, with `ramp` linear, while
    /// clients join. At most [`PERIOD_MAX`](crate::plan::PERIOD_MAX); 1 s when absent,
    /// but none with `loops` and in a `fileio` test.
    #[serde(deserialize_with = "duration")]
    pub ramp_up: Option<Duration>,
    /// Time at full load after the window, at most
    /// [`PERIOD_MAX`](crate::plan::PERIOD_MAX); 500 ms when absent, but none with
    /// `loops` and in a `fileio` test.
    #[serde(deserialize_with = "duration")]
    pub ramp_down: Option<Duration>,
    /// Passes over the series of load points, 1 to
    /// [`REPEAT_MAX`](crate::plan::REPEAT_MAX); 1 when absent.
    pub repeat: Option<u32>,
    /// Seed of every random choice, any number; 1 when absent.
    pub seed: Option<u64>,
    /// Worker threads, 1 to [`THREADS_MAX`](crate::plan::THREADS_MAX); when absent as
    /// many as this process may use CPUs.
    pub threads: Option<u32>,
    /// Whether each worker thread stays on a CPU of its own; `true` or `false`
    /// in a file.
    #[serde(deserialize_with = "pinning")]
    pub pin_threads: Option<Pinning>,
    /// Sessions set up per second at most, over all threads, 1 to
    /// [`SETUP_RATE_MAX`](crate::plan::SETUP_RATE_MAX); when absent as fast as the
    /// server lets them in.
    pub setup_rate: Option<u32>,
    /// The client that carries the operations out, such as `native`.
    #[serde(deserialize_with = "from_text::<DriverKind, _>")]
    pub driver: Option<DriverKind>,
    /// What opens of files ask to be allowed to cache, such as `batch` or
    /// `lease-rh`.
    #[serde(deserialize_with = "from_text::<Caching, _>")]
    pub oplock: Option<Caching>,
    /// Dialects to offer, such as `3.1.1` or `2.1..3.0.2`.
    #[serde(deserialize_with = "from_text::<DialectRange, _>")]
    pub dialect: Option<DialectRange>,
    /// Message signing.
    pub sign: Option<Mode>,
    /// The one algorithm to sign with, such as `aes-128-cmac`.
    #[serde(deserialize_with = "from_text::<SigningAlgorithm, _>")]
    pub signing_algorithm: Option<SigningAlgorithm>,
    /// Message encryption.
    pub encrypt: Option<Mode>,
    /// Ciphers to offer, such as `aes-128-gcm,aes-128-ccm`.
    #[serde(deserialize_with = "from_text::<CipherList, _>")]
    pub cipher: Option<CipherList>,
    /// Sessions, one for each client, on each connection, 1 to
    /// [`SESSIONS_PER_CONNECTION_MAX`](crate::plan::SESSIONS_PER_CONNECTION_MAX); 1 when
    /// absent.
    pub sessions_per_connection: Option<u32>,
    /// Connections that each session uses at a time, 1 to
    /// [`CONNECTIONS_PER_SESSION_MAX`](crate::plan::CONNECTIONS_PER_SESSION_MAX), of which
    /// more than 1 need SMB 3.0 or newer; 1 when absent.
    pub connections_per_session: Option<u32>,
    /// The most credits each connection holds and uses, 1 to
    /// [`MAX_CREDIT_TARGET`](smbench_protocol::credit::MAX_CREDIT_TARGET), but no fewer
    /// than the costliest operation takes at once; when absent as many as its requests
    /// in flight need.
    pub credits: Option<u16>,
    /// Local addresses to connect from, such as `192.0.2.10-192.0.2.20`.
    pub source_ip: Option<SourceList>,
    /// Whether contents are checked; `true` or `false` in a file.
    #[serde(deserialize_with = "verify")]
    pub verify: Option<Verify>,
    /// Bytes in each file, instead of what `[files]` says. Only a command line
    /// can give it: a file has one place for each thing.
    #[serde(skip)]
    pub file_size: Option<Size>,
    /// Where CPU time of the server is looked up. It goes with the server, so
    /// only a command line can give it.
    #[serde(skip)]
    pub server_cpu: Option<CpuSource>,
}

impl RunOptions {
    /// These options, and those of `fallback` where these say nothing.
    #[must_use]
    pub fn or(self, fallback: Self) -> Self {
        Self {
            clients: self.clients.or(fallback.clients),
            outstanding: self.outstanding.or(fallback.outstanding),
            // One load model takes the place of another as a whole.
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
    /// Reads a profile's TOML.
    ///
    /// # Errors
    /// When it is not TOML, or holds a key or a kind of value that no profile
    /// has.
    pub fn parse(text: &str) -> Result<Self, SyntaxError> {
        parse(text)
    }
}

/// Reads TOML, of a profile or of anything else that is written likewise.
///
/// # Errors
/// When it is not TOML, or not what `T` is read from.
pub fn parse<T: DeserializeOwned>(text: &str) -> Result<T, SyntaxError> {
    toml::from_str(text).map_err(|error| SyntaxError::new(text, &error))
}

/// Where and why a text is not what it should be.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}, column {column}: {message}")]
pub struct SyntaxError {
    /// From 1.
    pub line: usize,
    /// In characters, from 1.
    pub column: usize,
    /// One line, without its place.
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
