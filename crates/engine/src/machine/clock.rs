//! The one place that reads the clock.
//!
//! All instants in the engine are [`Nanos`] since this process first read the
//! clock. All other modules take time as an argument. Pacing and windows are
//! therefore plain functions, which tests call with invented times.

use std::sync::OnceLock;
use std::time::{Duration, Instant, SystemTime};

use rustix::time::{ClockId, clock_gettime};
use smbench_model::Nanos;

/// The instant from which [`Nanos`] are counted.
struct ClockOrigin {
    /// The reading of the monotonic clock at the origin, in nanoseconds.
    monotonic: u64,
    /// The same origin for tokio's timers. It is read after `monotonic`, so that no
    /// timer fires before its instant.
    instant: Instant,
}

fn origin() -> &'static ClockOrigin {
    static ORIGIN: OnceLock<ClockOrigin> = OnceLock::new();
    ORIGIN.get_or_init(|| ClockOrigin {
        monotonic: monotonic(),
        instant: Instant::now(),
    })
}

/// Reads the monotonic clock in nanoseconds. It avoids the arithmetic of
/// [`Instant`] and [`Duration`], because a worker reads the clock at every wake-up.
fn monotonic() -> u64 {
    let time = clock_gettime(ClockId::Monotonic);
    time.tv_sec.cast_unsigned() * 1_000_000_000 + time.tv_nsec.cast_unsigned()
}

/// Returns the current instant of the monotonic clock.
#[must_use]
pub fn now() -> Nanos {
    let origin = origin().monotonic;
    Nanos(monotonic().saturating_sub(origin))
}

/// Returns the time of the wall clock, for names and records. It must not be used
/// to measure.
#[must_use]
pub fn wall() -> SystemTime {
    SystemTime::now()
}

/// Returns the time of the wall clock at an instant, as the wall clock counts now.
pub(crate) fn wall_at(at: Nanos) -> SystemTime {
    let (now, wall) = (now(), wall());
    if at > now {
        wall + Duration::from(at - now)
    } else {
        wall - Duration::from(now - at)
    }
}

/// Returns the tokio instant that corresponds to `at`, for timers.
pub(crate) fn timer(at: Nanos) -> tokio::time::Instant {
    let far = Duration::from_secs(86_400 * 365);
    tokio::time::Instant::from_std(origin().instant + Duration::from(at).min(far))
}
