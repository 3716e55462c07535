//! The load generator: its options, its threads and its driver.

use std::fmt;
use std::time::{Duration, SystemTime};

use serde::{Deserialize, Deserializer};
use thiserror::Error;

use crate::bounds::{SETUP_RATE_MAX, THREADS_MAX};
use crate::cpu::{CounterSource, CpuSource};
use crate::hooks::PointHooks;
use crate::options::{duration, from_text, options};
use crate::part::{ClientPart, ClientRange, PartRecords};

options! {
    /// The options of the load generator as written.
    GeneratorSpec {
        /// Worker threads, 1 to [`THREADS_MAX`]. When
        /// absent, the number of CPUs that this process may use.
        threads: u32,
        /// Whether each worker thread stays on one CPU; `true` or `false` in a file.
        #[serde(deserialize_with = "pinning")]
        #[written(String)]
        pin_threads: Pinning,
        /// Maximum number of sessions to set up per second, over all threads, 1 to
        /// [`SETUP_RATE_MAX`]. When absent, the server
        /// alone limits it.
        setup_rate: u32,
        /// The driver that sends the operations, such as `native`.
        #[serde(deserialize_with = "from_text::<DriverKind, _>")]
        #[written(String)]
        driver: DriverKind,
        /// How long each load point waits at most until the server's CPU and disks are quiet.
        #[serde(deserialize_with = "duration")]
        #[written(String)]
        until_quiet: Duration,
    }
    never in a file {
        /// Shell command before each load point. Files are passed on, so they have none.
        before_point: String,
        /// Shell command after each load point.
        after_point: String,
        /// Limit of each of these commands.
        hook_limit: Duration,
        /// Source of the server's CPU time. It depends on the server.
        server_cpu: CpuSource,
        /// Whether TCP's counters are read at both ends of a window.
        tcp: TcpCounters,
        /// Source of the server's counters of its own requests.
        server_counters: CounterSource,
        /// The clients that this process carries, such as `0..500/1000`; all when absent.
        client_range: ClientRange,
        /// When the load begins; when the sessions are set up, if absent.
        begin_at: SystemTime,
    }
}

fn pinning<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Pinning>, D::Error> {
    Ok(Some(if bool::deserialize(deserializer)? {
        Pinning::Pinned
    } else {
        Pinning::Free
    }))
}

/// The load generator of a run. It has no influence on the operations.
#[derive(Clone, Debug, PartialEq)]
pub struct Generator {
    /// Worker threads, 1 to [`THREADS_MAX`]. Each runs its share of the clients. A
    /// load point uses no more threads than its clients need.
    pub threads: u32,
    /// Whether each worker thread stays on one CPU.
    pub pinning: Pinning,
    /// Maximum number of sessions to set up per second, over all threads, 1 to
    /// [`SETUP_RATE_MAX`]. With `None` the server alone limits it.
    pub setup_rate: Option<u32>,
    /// The driver that sends the operations.
    pub driver: DriverKind,
    /// Source of the server's CPU time.
    pub server_cpu: CpuSource,
    /// Whether TCP's counters are read at both ends of a window.
    pub tcp: TcpCounters,
    /// Source of the server's counters of its own requests.
    pub server_counters: CounterSource,
    /// The clients that this process carries.
    pub part: ClientPart,
    /// Whether the measurements of the part are kept for themselves.
    pub parts: PartRecords,
    /// When the load of the only load point begins. With `None` it begins when the sessions
    /// are set up.
    pub begin_at: Option<SystemTime>,
    /// What is done around each load point. On several hosts, the first one does it.
    pub hooks: PointHooks,
}

/// A number of the generator that is out of bounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum GeneratorProblem {
    /// The number of threads is out of bounds.
    #[error("threads is {0}: give 1 to {THREADS_MAX}")]
    Threads(u32),
    /// The number of sessions per second is out of bounds.
    #[error("setup_rate is {0}: give 1 to {SETUP_RATE_MAX} sessions per second")]
    SetupRate(u32),
}

impl Generator {
    /// Fills in the defaults. `cores` is the default number of threads.
    pub(crate) fn of(written: GeneratorSpec, cores: u32) -> Self {
        Self {
            threads: written.threads.unwrap_or(cores.clamp(1, THREADS_MAX)),
            pinning: written.pin_threads.unwrap_or_default(),
            setup_rate: written.setup_rate,
            driver: written.driver.unwrap_or_default(),
            server_cpu: written.server_cpu.unwrap_or_default(),
            tcp: written.tcp.unwrap_or_default(),
            server_counters: written.server_counters.unwrap_or_default(),
            part: written
                .client_range
                .map_or(ClientPart::All, ClientPart::Range),
            parts: match written.client_range {
                Some(_) => PartRecords::Kept,
                None => PartRecords::Merged,
            },
            begin_at: written.begin_at,
            hooks: PointHooks {
                before: written.before_point,
                after: written.after_point,
                limit: written.hook_limit.unwrap_or(PointHooks::default().limit),
                until_quiet: written.until_quiet,
            },
        }
    }

    /// Finds the first number out of bounds. The error names its option.
    pub(crate) fn check(&self) -> Result<(), (&'static str, GeneratorProblem)> {
        let Self {
            threads,
            setup_rate,
            ..
        } = *self;
        if !(1..=THREADS_MAX).contains(&threads) {
            return Err(("threads", GeneratorProblem::Threads(threads)));
        }
        match setup_rate {
            Some(rate) if !(1..=SETUP_RATE_MAX).contains(&rate) => {
                Err(("setup_rate", GeneratorProblem::SetupRate(rate)))
            }
            _ => Ok(()),
        }
    }
}

/// The CPUs that worker threads run on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Pinning {
    /// On any CPU, as the system decides.
    #[default]
    Free,
    /// Thread i on the i-th CPU that this process may use, starting again at the
    /// first.
    Pinned,
}

/// Whether TCP's counters of the connections to the server are read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TcpCounters {
    /// They are not read.
    #[default]
    Off,
    /// They are read when a window opens and when it closes.
    Read,
}

/// A client implementation that sends operations. Only the drivers of this build
/// are listed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DriverKind {
    /// smbench's own client.
    #[default]
    Native,
    /// The full client smb-rs (crate `smb`). It is slower than smbench's own client
    /// and independent of it, and therefore a cross-check and a yardstick.
    #[cfg(feature = "smb-rs")]
    SmbRs,
}

impl DriverKind {
    /// Every driver of this build.
    pub const ALL: &'static [Self] = &[
        Self::Native,
        #[cfg(feature = "smb-rs")]
        Self::SmbRs,
    ];

    /// Returns the name that users write and result documents contain.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Native => "native",
            #[cfg(feature = "smb-rs")]
            Self::SmbRs => "smb-rs",
        }
    }

    /// Whether the driver signs even if [`crate::sessions::Mode::Auto`] and the server do not
    /// require it.
    #[must_use]
    pub const fn always_signs(self) -> bool {
        match self {
            Self::Native => false,
            #[cfg(feature = "smb-rs")]
            Self::SmbRs => true,
        }
    }
}

impl fmt::Display for DriverKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl std::str::FromStr for DriverKind {
    type Err = UnknownDriver;

    fn from_str(text: &str) -> Result<Self, UnknownDriver> {
        let named = |kind: &&Self| kind.name() == text;
        Self::ALL.iter().find(named).copied().ok_or(UnknownDriver)
    }
}

/// The text does not name a driver of this build.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error(
    "expected one of {}",
    DriverKind::ALL.iter().map(|kind| kind.name()).collect::<Vec<_>>().join(", ")
)]
pub struct UnknownDriver;
