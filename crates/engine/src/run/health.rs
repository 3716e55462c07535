//! Judges whether the generator limited a load point, and how much it blurs latencies.
//!
//! Each worker thread measures itself under load ([`Gauge`]). At the end [`judge`] compares the
//! figures with fixed bounds. Invariant: measuring costs a thread a hundred
//! wake-ups per second, and costs operations nothing.
//!
//! There are three findings with different meanings:
//!
//! * **Client-limited**: throughput is not to be trusted. A worker thread ran more than
//!   [`BUSY_MAX`] of the window, so it could not make more load. Or it waited for a CPU
//!   more than [`WAITED_MAX`] of the window, and programs other than the server had the
//!   CPUs. While a thread waits it sends nothing, so the throughput can be too low by that
//!   share. Busy CPUs alone say nothing: a thread that seldom waits for them has the time
//!   that it needs.
//! * **Shared CPUs**: the same, but the server under test had the CPUs, because it runs on
//!   this machine. Throughput is what both reach together.
//! * **Latency noise**: throughput stands, but percentiles may be too high. How late a
//!   thread sees events is part of every latency that it measures. So the latency at a
//!   quantile can be too high by at most the lateness at that quantile. It is never too
//!   high by more than its distance from the shortest latency. Lateness matters where it
//!   exceeds [`LATE_MAX`] of that latency. Every client has lateness up to [`WAKE_UP`].
//!
//! Sockets that take no more ([`back_pressure`]) are never caused by the generator: the
//! server's window is closed, or the network carries less than is sent. Only a generator
//! without a free CPU may notice late that a socket has room again. Then the cause stays
//! open.

use hdrhistogram::Histogram;
use smbench_model::Nanos;
use smbench_model::cpu::{CpuScope, ServerCpuRecord};
use smbench_model::record::{ClientUsage, GeneratorRecord, LatencyNoise};

use crate::machine::route::Locality;

/// Highest share of the window in which a thread may run or wait to run. If its
/// load ends before the window does, the share is of the time until then.
const BUSY_MAX: f64 = 0.90;
/// Highest share of the same time in which a thread may wait to run.
const WAITED_MAX: f64 = 0.10;
/// Highest share of all CPUs of this machine that all programs together may use. It
/// counts if the system does not provide how long a thread waited.
const MACHINE_BUSY_MAX: f64 = 0.95;
/// Share of all CPUs of this machine that programs other than the server and the
/// generator may use. The kernel's own work for the load, such as interrupts, is in it.
const OTHERS_MAX: f64 = 0.10;
/// Highest lateness at a quantile, as a share of the latency at that quantile.
const LATE_MAX: f64 = 0.1;
/// Time in which any machine wakes an idle thread. Every client has this delay,
/// most of all in a virtual machine with a timer.
const WAKE_UP: Nanos = Nanos(100_000);
/// The quantiles of latency that tables show.
const QUANTILES: [f64; 5] = [0.5, 0.9, 0.95, 0.99, 0.999];

/// Share of the clients' time in which sockets took no more, from which it is
/// reported. A faster receiver could have gained at most this share. A smaller
/// share is lost in the difference between two runs.
const HELD_BACK_MIN: f64 = 0.05;

/// Users of this machine's CPUs in the window.
#[derive(Clone, Copy, Debug)]
pub(super) struct CpuUsers {
    /// Where the server runs.
    pub(super) server: Locality,
    /// Shares of all CPUs, where the server runs here and its use is known.
    pub(super) shares: Option<CpuShares>,
}

/// Shares of all CPUs of this machine, 0 to 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct CpuShares {
    /// The generator itself.
    pub(super) client: f64,
    /// The processes of the server.
    pub(super) server: f64,
    /// Programs other than the server and the generator. Time that a hypervisor gave to
    /// other machines is part of it.
    pub(super) others: f64,
}

impl CpuUsers {
    /// Derives the shares from `busy`, the share of all CPUs that anyone used in a window of
    /// this length, in seconds.
    pub(crate) fn of(
        server: Locality,
        busy: Option<f64>,
        window_s: f64,
        client: &ClientUsage,
        used: &ServerCpuRecord,
    ) -> Self {
        let own = used.used.as_ref().ok();
        let own = own.filter(|used| used.scope == CpuScope::Processes && window_s > 0.0);
        let shares = busy.zip(own).map(|(busy, used)| {
            let all_s = f64::from(used.cores) * window_s;
            let client = (client.cpu_user + client.cpu_system).as_secs_f64() / all_s;
            let server = used.busy.as_secs_f64() / all_s;
            CpuShares {
                client,
                server,
                others: (busy - client - server).max(0.0),
            }
        });
        Self { server, shares }
    }

    /// Returns who had the CPU that a worker waited for.
    fn had_it(&self) -> CpuTaker {
        let shares = match self.server {
            Locality::Elsewhere => return CpuTaker::Others,
            Locality::Here => self.shares,
        };
        match shares {
            None => CpuTaker::Unknown,
            Some(CpuShares {
                client,
                server,
                others,
            }) if client > server + others => CpuTaker::Generator,
            // On a machine with many CPUs a few per cent of them are enough.
            Some(CpuShares { server, others, .. }) if others > OTHERS_MAX || others > server => {
                CpuTaker::Others
            }
            Some(_) => CpuTaker::Server,
        }
    }
}

/// The user of a CPU that a worker waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CpuTaker {
    /// Other threads of the generator.
    Generator,
    /// The server under test, on this machine.
    Server,
    /// Other programs.
    Others,
    Unknown,
}

/// The verdict on a load point, from the workers and the CPUs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct GeneratorVerdict {
    /// See [`GeneratorRecord::limited`].
    pub(super) limited: Option<String>,
    /// See [`GeneratorRecord::shared_cpus`].
    pub(super) shared_cpus: Option<String>,
}

/// Judges whether the generator had the CPU time that its load needed.
pub(super) fn judge(generator: &GeneratorRecord, users: CpuUsers) -> GeneratorVerdict {
    let workers = || generator.workers.iter().enumerate();
    let busiest = workers().max_by(|one, other| one.1.cpu_share.total_cmp(&other.1.cpu_share));
    if let Some((thread, worker)) = busiest
        && worker.cpu_share > BUSY_MAX
    {
        let ran = percent(worker.cpu_share);
        return GeneratorVerdict {
            limited: Some(format!(
                "thread {thread} ran {ran} of the time; add threads or machines"
            )),
            shared_cpus: None,
        };
    }
    let Some(shortage) = shortage(generator) else {
        return GeneratorVerdict::default();
    };
    let (limited, shared_cpus) = match users.had_it() {
        CpuTaker::Generator => (Some(format!("{shortage}; its other threads had it")), None),
        CpuTaker::Others => {
            let used = users.shares.map(|shares| percent(shares.others));
            let used = used.map(|used| format!(" ({used} of all CPUs)"));
            let used = used.unwrap_or_default();
            let reason =
                format!("{shortage}; cause: programs other than smbench and the server{used}");
            (Some(reason), None)
        }
        CpuTaker::Server => (None, Some(format!("{shortage}; the server had it"))),
        CpuTaker::Unknown => (None, Some(format!("{shortage}; cause unknown"))),
    };
    GeneratorVerdict {
        limited,
        shared_cpus,
    }
}

/// Describes how a worker lacked a CPU; `None` if none did.
fn shortage(generator: &GeneratorRecord) -> Option<String> {
    let workers = || generator.workers.iter().enumerate();
    let is_known = workers().any(|(_, worker)| worker.waiting_share.is_some());
    if !is_known {
        let busy = generator.machine_busy?;
        let is_full = workers().len() > 0 && busy > MACHINE_BUSY_MAX;
        return is_full.then(|| format!("CPUs were busy {} of the time", percent(busy)));
    }
    let (thread, cpu, waiting) = workers()
        .filter_map(|(thread, worker)| Some((thread, worker.cpu_share, worker.waiting_share?)))
        .filter(|(_, cpu, waiting)| *waiting > WAITED_MAX || cpu + waiting > BUSY_MAX)
        .max_by(|one, other| one.2.total_cmp(&other.2))?;
    Some(if waiting > WAITED_MAX {
        format!(
            "thread {thread} lacked a CPU {} of the time",
            percent(waiting)
        )
    } else {
        format!(
            "thread {thread} ran or lacked a CPU {} of the time",
            percent(cpu + waiting)
        )
    })
}

/// The steps of an operation that a late worker delays, all of which are part of its
/// latency.
#[derive(Clone, Copy, Debug)]
pub(super) enum LateSteps {
    /// The answer is received late.
    Answer = 1,
    /// The request, which is due by the clock, is sent late as well.
    RequestAndAnswer = 2,
}

/// Returns the percentiles of latency that lateness makes doubtful, in ascending
/// order.
pub(super) fn latency_noise(
    lateness: &Histogram<u64>,
    latencies: &Histogram<u64>,
    steps: LateSteps,
) -> Vec<LatencyNoise> {
    // With fewer events the quantile would just be the maximum.
    let is_known = |quantile: &f64| lateness.len() as f64 * (1.0 - quantile) >= 1.0 - 1e-9;
    let noise = |quantile: f64| {
        let latency = latencies.value_at_quantile(quantile);
        let above_shortest = latency.saturating_sub(latencies.min());
        let late = lateness.value_at_quantile(quantile);
        let late = late.saturating_mul(steps as u64).min(above_shortest);
        let is_noise = late > WAKE_UP.0 && late as f64 > LATE_MAX * latency as f64;
        is_noise.then_some(LatencyNoise {
            quantile,
            late: Nanos(late),
        })
    };
    if latencies.is_empty() {
        return Vec::new();
    }
    QUANTILES
        .into_iter()
        .filter(is_known)
        .filter_map(noise)
        .collect()
}

/// Explains that sockets took no more for a share of the clients' time, where that
/// is noteworthy. The clause fits behind "back-pressure:".
pub(super) fn back_pressure(held_back_share: f64) -> Option<String> {
    (held_back_share >= HELD_BACK_MIN).then(|| {
        format!(
            "sockets took no more {} of the clients' time: network or server, not the generator, \
             was the limit, and requests went out late or not at all",
            percent(held_back_share)
        )
    })
}

fn percent(share: f64) -> String {
    format!("{:.0} %", share * 100.0)
}

#[cfg(test)]
mod tests;
