//! What the operating system says of this process: CPU, memory, descriptors.

use std::time::Duration;

use nix::sys::resource::{Resource, UsageWho, getrlimit, getrusage, setrlimit};
use nix::sys::time::TimeValLike;

/// Descriptors a run needs besides its sockets: files, pipes, epoll, timers.
const OTHER_DESCRIPTORS: u64 = 64;
/// Descriptors of one tokio runtime: epoll, its wake-up, signals.
const DESCRIPTORS_PER_THREAD: u64 = 8;

/// CPU time and memory of this process since it started.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Usage {
    pub(crate) cpu_user: Duration,
    pub(crate) cpu_system: Duration,
    pub(crate) max_rss_bytes: u64,
}

/// Reads it (getrusage(2), all threads).
pub(crate) fn usage() -> Usage {
    let Ok(usage) = getrusage(UsageWho::RUSAGE_SELF) else {
        unreachable!("getrusage(RUSAGE_SELF) takes no argument that could be wrong");
    };
    let duration = |time: nix::sys::time::TimeVal| {
        Duration::from_micros(u64::try_from(time.num_microseconds()).unwrap_or(0))
    };
    Usage {
        cpu_user: duration(usage.user_time()),
        cpu_system: duration(usage.system_time()),
        // Linux counts ru_maxrss in KiB.
        max_rss_bytes: u64::try_from(usage.max_rss()).unwrap_or(0) * 1024,
    }
}

/// Makes sure that `sockets` and the event loops of `threads` can be open at
/// once, raising the soft limit to the hard one if need be; the hard limit when
/// that is not enough.
pub(crate) fn reserve_descriptors(sockets: u64, threads: u64) -> Result<(), u64> {
    let needed = sockets + threads * DESCRIPTORS_PER_THREAD + OTHER_DESCRIPTORS;
    let Ok((soft, hard)) = getrlimit(Resource::RLIMIT_NOFILE) else {
        // Unknown; the sockets themselves will tell.
        return Ok(());
    };
    if soft >= needed {
        return Ok(());
    }
    if hard < needed || setrlimit(Resource::RLIMIT_NOFILE, hard, hard).is_err() {
        return Err(hard);
    }
    Ok(())
}
