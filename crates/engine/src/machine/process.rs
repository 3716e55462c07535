//! This process as the operating system sees it: CPU, memory, descriptors.

use std::time::Duration;

use nix::sched::{CpuSet, sched_getaffinity, sched_setaffinity};
use nix::sys::resource::{RLIM_INFINITY, Resource, UsageWho, getrlimit, getrusage, setrlimit};
use nix::sys::time::{TimeVal, TimeValLike};
use nix::unistd::Pid;

use crate::machine::capacity::ResourceLeft;

/// Descriptors that a run needs in addition to its sockets and runtimes: files,
/// pipes, epoll, timers.
const OTHER_DESCRIPTORS: u64 = 64;
/// Descriptors of a thread of the load: those of its tokio runtime (epoll, its wake-up, signals),
/// and of its load (epoll, its bell, two timers).
const DESCRIPTORS_PER_THREAD: u64 = 12;

/// CPU time and memory of this process since it started.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Usage {
    pub(crate) cpu: CpuTime,
    pub(crate) max_rss_bytes: u64,
    /// CPU time of this machine, used by any process.
    pub(crate) machine: Option<MachineTime>,
}

/// Time of all CPUs of this machine, in the system's ticks since it started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct MachineTime {
    busy: u64,
    total: u64,
}

impl MachineTime {
    /// Reads the first line of /proc/stat (proc(5)): user, nice, system, idle,
    /// iowait, and the rest up to steal. Steal is the time that a hypervisor gave
    /// to others. It counts as busy here, because no process on this machine could
    /// use it. The two fields for guests are left out, because user and nice
    /// already include them.
    fn parse(stat: &str) -> Option<Self> {
        let mut fields = stat
            .lines()
            .next()?
            .strip_prefix("cpu ")?
            .split_whitespace();
        let fields = fields.by_ref().take(8);
        let fields: Vec<u64> = fields.map_while(|field| field.parse().ok()).collect();
        let total = fields.iter().sum();
        let idle: u64 = fields.get(3..5)?.iter().sum();
        Some(Self {
            busy: total - idle,
            total,
        })
    }

    /// Returns the share of the time since `earlier` in which CPUs were busy,
    /// without the time `looking` that measuring took. Returns `None` if no time
    /// has passed.
    pub(crate) fn busy_since(self, earlier: Self, looking: Duration) -> Option<f64> {
        let total = self.total.checked_sub(earlier.total)?;
        let busy = self.busy.saturating_sub(earlier.busy);
        let looking = looking.as_secs_f64() * procfs::ticks_per_second() as f64;
        // Measuring counts neither as busy time nor as time that passed.
        let total = total as f64 - looking;
        (total > 0.0).then(|| (busy as f64 - looking).max(0.0) / total)
    }
}

/// CPU time, in user mode and in the kernel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct CpuTime {
    pub(crate) user: Duration,
    pub(crate) system: Duration,
}

impl CpuTime {
    pub(crate) fn all(self) -> Duration {
        self.user + self.system
    }

    /// Returns the fraction `share` of both times; `share` is 0 or more.
    pub(crate) fn share(self, share: f64) -> Self {
        Self {
            user: self.user.mul_f64(share),
            system: self.system.mul_f64(share),
        }
    }

    /// Returns the CPU time used since an earlier reading.
    pub(crate) const fn since(self, earlier: Self) -> Self {
        Self {
            user: self.user.saturating_sub(earlier.user),
            system: self.system.saturating_sub(earlier.system),
        }
    }
}

/// Returns the CPU time of the calling thread since it started (getrusage(2)).
pub(crate) fn thread_cpu_time() -> CpuTime {
    let usage = getrusage(UsageWho::RUSAGE_THREAD);
    usage.map_or_else(
        |_| CpuTime::default(),
        |usage| CpuTime {
            user: duration(usage.user_time()),
            system: duration(usage.system_time()),
        },
    )
}

/// CPU time of the calling thread since it started, and its waits for a CPU.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ThreadUsage {
    /// CPU time, user and system.
    pub(crate) cpu: Duration,
    /// Time in which the thread was ready to run, but others ran; `None` if the
    /// system does not report it.
    pub(crate) waiting: Option<Duration>,
}

/// Reads the usage of the calling thread (getrusage(2),
/// /proc/thread-self/schedstat).
pub(crate) fn thread_usage() -> ThreadUsage {
    let schedule = std::fs::read_to_string("/proc/thread-self/schedstat");
    ThreadUsage {
        cpu: thread_cpu_time().all(),
        waiting: schedule.ok().and_then(|text| waiting(&text)),
    }
}

/// Returns the time in a run queue. `schedstat` holds three numbers: time on the
/// CPU and time in a run queue, in nanoseconds, and the number of time slices
/// (proc(5)).
fn waiting(schedstat: &str) -> Option<Duration> {
    let field = schedstat.split_whitespace().nth(1)?;
    field.parse().ok().map(Duration::from_nanos)
}

fn duration(time: TimeVal) -> Duration {
    Duration::from_micros(u64::try_from(time.num_microseconds()).unwrap_or(0))
}

/// Reads the usage of all threads of this process (getrusage(2)).
pub(crate) fn usage() -> Usage {
    let Ok(usage) = getrusage(UsageWho::RUSAGE_SELF) else {
        unreachable!("getrusage(RUSAGE_SELF) takes no argument that could be wrong");
    };
    Usage {
        cpu: CpuTime {
            user: duration(usage.user_time()),
            system: duration(usage.system_time()),
        },
        // Linux counts ru_maxrss in KiB.
        max_rss_bytes: u64::try_from(usage.max_rss()).unwrap_or(0) * 1024,
        machine: std::fs::read_to_string("/proc/stat")
            .ok()
            .and_then(|stat| MachineTime::parse(&stat)),
    }
}

/// Returns the bytes of memory that this process has now, swapped out or not
/// (proc_pid_status(5)). Pages of files are left out, because the system takes and gives them as it
/// likes. `None` if the system does not tell.
pub(crate) fn own_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let of = |field| status_bytes(&status, field);
    Some(of("RssAnon:")? + of("RssShmem:")? + of("VmSwap:").unwrap_or(0))
}

/// The number that means the calling thread in sched_setaffinity(2).
const THIS_THREAD: Pid = Pid::from_raw(0);

/// Returns the numbers of the CPUs that this thread may use; empty if the system
/// does not report them.
pub(crate) fn cpus() -> Vec<usize> {
    let Ok(set) = sched_getaffinity(THIS_THREAD) else {
        return Vec::new();
    };
    // `is_set` fails only for numbers out of range.
    let is_in = |cpu: &usize| set.is_set(*cpu).unwrap_or(false);
    (0..CpuSet::count()).filter(is_in).collect()
}

/// Keeps this thread on one CPU from now on.
pub(crate) fn pin_to(cpu: usize) -> std::io::Result<()> {
    let mut set = CpuSet::new();
    set.set(cpu)?;
    Ok(sched_setaffinity(THIS_THREAD, &set)?)
}

/// Makes sure that `sockets` and the event loops of `threads` can be open at once,
/// and raises the soft limit to the hard one if needed. If the hard limit is too
/// low, the error holds the needed number and the hard limit.
pub(crate) fn reserve_descriptors(sockets: u64, threads: u64) -> Result<(), (u64, u64)> {
    let needed = sockets + threads * DESCRIPTORS_PER_THREAD + OTHER_DESCRIPTORS;
    let Ok((soft, hard)) = getrlimit(Resource::RLIMIT_NOFILE) else {
        // The limit is unknown; if it is too low, opening a socket will fail later.
        return Ok(());
    };
    if soft >= needed {
        return Ok(());
    }
    if hard < needed || setrlimit(Resource::RLIMIT_NOFILE, hard, hard).is_err() {
        return Err((needed, hard));
    }
    Ok(())
}

/// Bytes that this process may still allocate under each limit on its own memory, and
/// how the shell sets that limit (getrlimit(2)).
pub(crate) fn allocatable() -> Vec<ResourceLeft> {
    let read = |name| std::fs::read_to_string(format!("/proc/self/{name}")).unwrap_or_default();
    let status = read("status");
    let size = status_bytes(&status, "VmSize:");
    let address_space = size.map(|size| size.saturating_sub(reserved(&read("maps"))));
    let left = |resource: Resource, used: Option<u64>, limit| {
        let (most, _) = getrlimit(resource).ok()?;
        let amount = most.saturating_sub(used?);
        (most != RLIM_INFINITY).then_some(ResourceLeft { amount, limit })
    };
    let data = status_bytes(&status, "VmData:");
    [
        left(Resource::RLIMIT_AS, address_space, "ulimit -v"),
        left(Resource::RLIMIT_DATA, data, "ulimit -d"),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// Bytes of address space that `/proc/self/maps` has as taken but not in use: the
/// allocator may hand them out.
fn reserved(maps: &str) -> u64 {
    let reserved = maps.lines().filter_map(|line| {
        let (range, rest) = line.split_once(' ')?;
        let (start, end) = range.split_once('-')?;
        let at = |text| u64::from_str_radix(text, 16).ok();
        // Without access, and of no file.
        let is_reserved = rest.starts_with("---p") && rest.contains(" 00:00 0");
        is_reserved.then_some(at(end)?.checked_sub(at(start)?)?)
    });
    reserved.sum()
}

/// A field of `/proc/self/status` that is in kB (proc_pid_status(5)).
fn status_bytes(status: &str, field: &str) -> Option<u64> {
    let value = status.lines().find_map(|line| line.strip_prefix(field))?;
    let kib: u64 = value.trim().strip_suffix(" kB")?.parse().ok()?;
    Some(kib * 1024)
}

/// Raises the soft limit on open files to the hard one, for a process that cannot
/// know how many it will need. A failure here is ignored: opening a file will fail
/// later.
pub(crate) fn raise_descriptor_limit() {
    if let Ok((soft, hard)) = getrlimit(Resource::RLIMIT_NOFILE)
        && soft < hard
    {
        let _ = setrlimit(Resource::RLIMIT_NOFILE, hard, hard);
    }
}

/// Returns the NetBIOS name of this machine: the first label of its host name in upper case, 15
/// letters at most.
pub(crate) fn netbios_name() -> String {
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let label = name.trim().split('.').next().unwrap_or_default();
    label.chars().take(15).collect::<String>().to_uppercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn idle_time_is_not_busy() {
        let time = |text| MachineTime::parse(text).unwrap();
        let earlier = time("cpu  100 10 50 800 40 5 5 0 0 0\ncpu0 1 1 1 1\n");
        let later = time("cpu  160 10 80 850 60 5 5 0 0 0\n");
        assert_eq!((earlier.busy, earlier.total), (170, 1010));
        assert_eq!(
            later.busy_since(earlier, Duration::ZERO),
            Some(90.0 / 160.0)
        );
        let looking = |ticks: u64| Duration::from_secs(ticks) / procfs::ticks_per_second() as u32;
        let busy = later.busy_since(earlier, looking(10)).unwrap();
        assert!((busy - 80.0 / 150.0).abs() < 1e-9, "{busy}");
        // Ticks are coarse, so the measuring time can exceed the counted busy time.
        assert_eq!(later.busy_since(earlier, looking(91)), Some(0.0));
        assert_eq!(later.busy_since(later, Duration::ZERO), None);
        // Old kernels have fewer fields; other lines are refused.
        assert_eq!(time("cpu 1 2 3 4 5\n").busy, 6);
        assert_eq!(MachineTime::parse("cpu 1 2\n"), None);
        assert_eq!(MachineTime::parse(""), None);
    }

    #[test]
    fn sizes_of_this_process_are_read() {
        let status = "Name:\tsmbench\nVmPeak:\t  9 kB\nVmSize:\t   27648 kB\nVmData:\tx kB\n";
        assert_eq!(status_bytes(status, "VmSize:"), Some(27 << 20));
        for field in ["VmData:", "VmStk:"] {
            assert_eq!(status_bytes(status, field), None, "{field}");
        }
        let maps = "7f546c000000-7f546c021000 rw-p 00000000 00:00 0 \n\
                    7f546c021000-7f5470000000 ---p 00000000 00:00 0 \n\
                    7f5472df9000-7f5472dfa000 ---p 00002000 08:01 77   /lib/x.so\n";
        assert_eq!(reserved(maps), 0x3fd_f000);
    }

    #[test]
    fn this_thread_uses_a_cpu() {
        let before = thread_usage();
        let begin = crate::machine::clock::now();
        while thread_usage().cpu == before.cpu {
            assert!(
                crate::machine::clock::now().since(begin) < smbench_model::Nanos(30_000_000_000)
            );
        }
        assert_eq!(
            waiting("103438 2653294 2\n"),
            Some(Duration::from_nanos(2_653_294))
        );
        assert_eq!(waiting(""), None);
    }

    #[test]
    fn a_thread_stays_where_it_is_put() {
        let all = cpus();
        let last = *all.last().unwrap();
        pin_to(last).unwrap();
        assert_eq!(cpus(), [last]);
    }
}
