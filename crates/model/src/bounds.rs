//! The largest numbers of a plan.

use std::time::Duration;

/// The largest number of requests that a client may keep in flight.
pub const OUTSTANDING_MAX: u32 = 1024;
/// How many times as fast as recorded a replay may be at most.
pub const SPEED_MAX: f64 = 1000.0;

/// The largest operation in bytes. One that is larger than a request of its server is split.
pub const OPERATION_BYTES_MAX: u64 = 1 << 30;

/// The largest request in bytes: the largest MaxReadSize and MaxWriteSize that SMB
/// servers are known to grant. The server under test may grant less.
pub const REQUEST_BYTES_MAX: u64 = 8 << 20;

/// The largest number of files of one client, or of shared files.
pub const FILES_MAX: u32 = 10_000_000;

/// The largest number of files that a client holds open.
pub const HELD_FILES_MAX: u32 = 10_000;

/// The shortest window.
pub const DURATION_MIN: Duration = Duration::from_millis(1);
/// The longest window or ramp.
pub const PERIOD_MAX: Duration = Duration::from_secs(30 * 86_400);

/// The largest number of worker threads.
pub const THREADS_MAX: u32 = 1024;

/// The largest set-up rate of a plan, in sessions per second. A higher rate would
/// be the same as no limit.
pub const SETUP_RATE_MAX: u32 = 1_000_000;

/// The largest number of passes over the load points.
pub const REPEAT_MAX: u32 = 1000;

/// The largest number of request sizes in a mix.
pub const SIZES_MAX: usize = 1000;

/// The largest number of operations in a mix.
pub const OPERATIONS_MAX: usize = 100;

/// Memory limit of verification in bytes: enough for 85 GiB of files.
pub(crate) const VERIFY_MEMORY_MAX: u64 = 4 << 30;
/// The largest number of intervals of a load point. A longer window, in seconds,
/// has longer intervals of whole seconds.
pub const INTERVALS_MAX: u32 = 3600;
