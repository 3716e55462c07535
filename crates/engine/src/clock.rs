//! The one place that reads the clock.
//!
//! All instants in the engine are [`Nanos`] since this process first asked.
//! Everything else takes time as an argument, so pacing and windows are plain
//! functions that tests call with invented times.

use std::ops::{Add, Sub};
use std::sync::OnceLock;
use std::time::{Duration, Instant, SystemTime};

use rustix::time::{ClockId, clock_gettime};

/// A monotonic instant, or the distance between two, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Nanos(pub u64);

impl Nanos {
    /// Later than any instant of a run.
    pub const MAX: Self = Self(u64::MAX);

    /// The distance to an `earlier` instant; zero when it is not earlier.
    #[must_use]
    pub const fn since(self, earlier: Self) -> Self {
        Self(self.0.saturating_sub(earlier.0))
    }

    /// Seconds as a float.
    #[must_use]
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e9
    }
}

impl From<Duration> for Nanos {
    fn from(duration: Duration) -> Self {
        Self(u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX))
    }
}

impl From<Nanos> for Duration {
    fn from(nanos: Nanos) -> Self {
        Self::from_nanos(nanos.0)
    }
}

impl Add for Nanos {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl Sub for Nanos {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        self.since(other)
    }
}

/// Where the count begins.
struct Origin {
    /// Of the monotonic clock, in nanoseconds.
    monotonic: u64,
    /// The same for timers: read after it, so that none fires before its instant.
    instant: Instant,
}

fn origin() -> &'static Origin {
    static ORIGIN: OnceLock<Origin> = OnceLock::new();
    ORIGIN.get_or_init(|| Origin {
        monotonic: monotonic(),
        instant: Instant::now(),
    })
}

/// The monotonic clock, asked without the arithmetic of [`Instant`] and [`Duration`]: a
/// load asks whenever it wakes up.
fn monotonic() -> u64 {
    let time = clock_gettime(ClockId::Monotonic);
    time.tv_sec.cast_unsigned() * 1_000_000_000 + time.tv_nsec.cast_unsigned()
}

/// Now, on the monotonic clock.
#[must_use]
pub fn now() -> Nanos {
    let origin = origin().monotonic;
    Nanos(monotonic().saturating_sub(origin))
}

/// Now, on the wall clock: for names and records, never for measuring.
#[must_use]
pub fn wall() -> SystemTime {
    SystemTime::now()
}

/// The tokio instant that corresponds to `at`, for timers.
pub(crate) fn timer(at: Nanos) -> tokio::time::Instant {
    let far = Duration::from_secs(86_400 * 365);
    tokio::time::Instant::from_std(origin().instant + Duration::from(at).min(far))
}
