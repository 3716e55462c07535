//! The options of the load generator: its threads and its driver.

use std::fmt;

use crate::cpu::CpuSource;

/// The load generator of a run. It has no influence on the operations.
#[derive(Clone, Debug, PartialEq)]
pub struct Generator {
    /// Worker threads, 1 to [`THREADS_MAX`](crate::bounds::THREADS_MAX). Each runs
    /// its share of the clients. A load point uses no more threads than its clients
    /// need.
    pub threads: u32,
    /// Whether each worker thread stays on one CPU.
    pub pinning: Pinning,
    /// Maximum number of sessions to set up per second, over all threads, 1 to
    /// [`SETUP_RATE_MAX`](crate::bounds::SETUP_RATE_MAX). With `None` the server
    /// alone limits it.
    pub setup_rate: Option<u32>,
    /// The driver that sends the operations.
    pub driver: DriverKind,
    /// Source of the server's CPU time.
    pub server_cpu: CpuSource,
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
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnknownDriver;

impl std::error::Error for UnknownDriver {}

impl fmt::Display for UnknownDriver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = DriverKind::ALL.iter().map(|kind| kind.name()).collect();
        write!(f, "expected one of {}", names.join(", "))
    }
}
