//! Judges whether the generator limited a load point, and how much it blurs latencies.
//!
//! Each worker measures itself under load ([`Gauge`]). At the end [`judge`] compares the
//! workers' figures with fixed bounds. Invariant: measuring costs a worker a hundred
//! wake-ups per second, and costs operations nothing.
//!
//! There are three findings with different meanings:
//!
//! * **Client-limited**: throughput is not to be trusted. A worker thread ran more than
//!   [`BUSY_MAX`] of the window, so it could not make more load. Or it waited for a CPU
//!   more than [`WAITED_MAX`] of the window, and programs other than the server had the
//!   CPUs. While a worker waits it sends nothing, so the throughput can be too low by that
//!   share. Busy CPUs alone say nothing: a worker that seldom waits for them has the time
//!   that it needs.
//! * **Shared CPUs**: the same, but the server under test had the CPUs, because it runs on
//!   this machine. Throughput is what both reach together.
//! * **Latency noise**: throughput stands, but percentiles may be too high. How late a
//!   worker sees events is part of every latency that it measures. So the latency at a
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

use crate::machine::route::Whereabouts;

/// Highest share of the window in which a worker may run or wait to run. If its
/// load ends before the window does, the share is of the time until then.
const BUSY_MAX: f64 = 0.90;
/// Highest share of the same time in which a worker may wait to run.
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
    pub(super) server: Whereabouts,
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
        server: Whereabouts,
        (busy, window_s): (Option<f64>, f64),
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
    fn had_it(&self) -> HadIt {
        let shares = match self.server {
            Whereabouts::Elsewhere => return HadIt::Others,
            Whereabouts::Here => self.shares,
        };
        match shares {
            None => HadIt::Unknown,
            Some(CpuShares {
                client,
                server,
                others,
            }) if client > server + others => HadIt::Generator,
            // On a machine with many CPUs a few per cent of them are enough.
            Some(CpuShares { server, others, .. }) if others > OTHERS_MAX || others > server => {
                HadIt::Others
            }
            Some(_) => HadIt::Server,
        }
    }
}

/// The user of a CPU that a worker waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum HadIt {
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
pub(super) struct Verdict {
    /// See [`GeneratorRecord::limited`].
    pub(super) limited: Option<String>,
    /// See [`GeneratorRecord::shared_cpus`].
    pub(super) shared_cpus: Option<String>,
}

/// Judges whether the generator had the CPU time that its load needed.
pub(super) fn judge(generator: &GeneratorRecord, users: CpuUsers) -> Verdict {
    let workers = || generator.workers.iter().enumerate();
    let busiest = workers().max_by(|one, other| one.1.cpu_share.total_cmp(&other.1.cpu_share));
    if let Some((thread, worker)) = busiest
        && worker.cpu_share > BUSY_MAX
    {
        let ran = percent(worker.cpu_share);
        return Verdict {
            limited: Some(format!(
                "thread {thread} ran {ran} of the time; add threads or machines"
            )),
            shared_cpus: None,
        };
    }
    let Some(shortage) = shortage(generator) else {
        return Verdict::default();
    };
    let (limited, shared_cpus) = match users.had_it() {
        HadIt::Generator => (Some(format!("{shortage}; its other threads had it")), None),
        HadIt::Others => (Some(format!("{shortage}; others had it")), None),
        HadIt::Server => (None, Some(format!("{shortage}; the server had it"))),
        HadIt::Unknown => (None, Some(format!("{shortage}; cause unknown"))),
    };
    Verdict {
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
    Some(match waiting > WAITED_MAX {
        true => format!(
            "thread {thread} lacked a CPU {} of the time",
            percent(waiting)
        ),
        false => format!(
            "thread {thread} ran or lacked a CPU {} of the time",
            percent(cpu + waiting)
        ),
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
mod tests {
    use std::time::Duration;

    use smbench_model::cpu::ServerCpuUse;
    use smbench_model::record::{WorkerRecord, lateness_histogram};

    use super::*;

    fn worker(cpu_share: f64, waiting_share: Option<f64>) -> WorkerRecord {
        WorkerRecord {
            cpu: None,
            cpu_share,
            waiting_share,
            lateness: lateness_histogram(),
        }
    }

    fn verdict(
        workers: Vec<WorkerRecord>,
        machine_busy: Option<f64>,
        users: CpuUsers,
    ) -> (Option<String>, Option<String>) {
        let generator = GeneratorRecord {
            workers,
            machine_busy,
            ..GeneratorRecord::default()
        };
        let found = judge(&generator, users);
        (found.limited, found.shared_cpus)
    }

    const ELSEWHERE: CpuUsers = CpuUsers {
        server: Whereabouts::Elsewhere,
        shares: None,
    };
    const UNKNOWN: CpuUsers = CpuUsers {
        server: Whereabouts::Here,
        shares: None,
    };

    fn here(server: f64, others: f64) -> CpuUsers {
        CpuUsers {
            server: Whereabouts::Here,
            shares: Some(CpuShares {
                client: 0.2,
                server,
                others,
            }),
        }
    }

    #[test]
    fn a_generator_with_time_to_spare_is_not_the_limit() {
        let idle = || worker(0.3, Some(0.05));
        for (workers, busy, users) in [
            (vec![], Some(1.0), ELSEWHERE),
            (vec![idle(), idle()], Some(0.5), ELSEWHERE),
            (vec![worker(0.90, None)], Some(0.95), here(0.5, 0.4)),
            // Others have the rest of the CPUs, and the generator what it needs.
            (vec![worker(0.03, Some(0.02))], Some(1.0), ELSEWHERE),
            (vec![worker(0.07, Some(0.09))], Some(1.0), here(0.5, 0.4)),
        ] {
            assert_eq!(verdict(workers, busy, users), (None, None));
        }
    }

    #[test]
    fn a_saturated_worker_is_the_limit_wherever_the_server_is() {
        // Also beside one that waited longer than this one ran.
        let workers = || vec![worker(0.93, Some(0.0)), worker(0.50, Some(0.48))];
        let reason = "thread 0 ran 93 % of the time; add threads or machines";
        for users in [ELSEWHERE, here(0.5, 0.0), UNKNOWN] {
            let (limited, shared) = verdict(workers(), Some(0.99), users);
            assert_eq!((limited.as_deref(), shared), (Some(reason), None));
        }
    }

    #[test]
    fn a_starved_worker_is_judged_by_who_had_the_cpu() {
        // The second has the least time to spare, the first waited most.
        let workers = || vec![worker(0.24, Some(0.49)), worker(0.85, Some(0.02))];
        let waited = "thread 0 lacked a CPU 49 % of the time";
        for users in [ELSEWHERE, here(0.5, 0.34), here(0.1, 0.15)] {
            let (limited, shared) = verdict(workers(), Some(0.77), users);
            assert_eq!(limited.unwrap(), format!("{waited}; others had it"));
            assert_eq!(shared, None);
        }
        let (limited, shared) = verdict(workers(), Some(0.77), here(0.5, 0.08));
        assert_eq!(limited, None);
        assert_eq!(shared.unwrap(), format!("{waited}; the server had it"));
        let (limited, shared) = verdict(workers(), Some(0.77), UNKNOWN);
        assert_eq!(limited, None);
        assert_eq!(shared.unwrap(), format!("{waited}; cause unknown"));
    }

    #[test]
    fn threads_that_keep_each_other_from_the_cpus_are_the_generators_own_limit() {
        let many = vec![worker(0.24, Some(0.7)), worker(0.24, Some(0.7))];
        let users = CpuUsers {
            server: Whereabouts::Here,
            shares: Some(CpuShares {
                client: 0.95,
                server: 0.04,
                others: 0.01,
            }),
        };
        let (limited, shared) = verdict(many, Some(1.0), users);
        assert!(limited.unwrap().ends_with("; its other threads had it"));
        assert_eq!(shared, None);
    }

    #[test]
    fn a_worker_without_time_to_spare_is_found_beside_one_that_waited_longer() {
        let workers = vec![worker(0.85, Some(0.06)), worker(0.10, Some(0.09))];
        let (limited, _) = verdict(workers, Some(0.6), ELSEWHERE);
        let reason = "thread 0 ran or lacked a CPU 91 % of the time; others had it";
        assert_eq!(limited.unwrap(), reason);
    }

    #[test]
    fn a_full_machine_counts_where_it_is_not_known_how_long_workers_waited() {
        let workers = || vec![worker(0.4, None)];
        let full = "CPUs were busy 96 % of the time";
        let (limited, _) = verdict(workers(), Some(0.96), ELSEWHERE);
        assert!(limited.unwrap().starts_with(full));
        let (limited, shared) = verdict(workers(), Some(0.96), here(0.5, 0.05));
        assert_eq!(limited, None);
        assert!(shared.unwrap().starts_with(full));
    }

    #[test]
    fn back_pressure_is_reported_from_where_it_matters() {
        assert_eq!(back_pressure(0.0), None);
        assert_eq!(back_pressure(0.049), None);
        let text = back_pressure(0.37).unwrap();
        assert!(
            text.starts_with("sockets took no more 37 % of the clients' time: network or server"),
            "{text}"
        );
    }

    #[test]
    fn the_share_of_others_is_what_neither_server_nor_generator_used() {
        let seconds = Duration::from_secs;
        let client = ClientUsage {
            cpu_user: seconds(1),
            cpu_system: seconds(2),
            max_rss_bytes: 0,
        };
        let used = |scope| ServerCpuRecord {
            source: String::new(),
            used: Ok(ServerCpuUse {
                scope,
                cores: 2,
                busy: seconds(8),
            }),
        };
        let others = |busy, window_s, used: &ServerCpuRecord| {
            let users = CpuUsers::of(Whereabouts::Here, (busy, window_s), &client, used);
            users.shares.map(|shares| shares.others)
        };
        let processes = used(CpuScope::Processes);
        let share = others(Some(0.95), 10.0, &processes).unwrap();
        assert!((share - 0.4).abs() < 1e-9, "{share}");
        // Ticks are coarse.
        assert_eq!(others(Some(0.5), 10.0, &processes), Some(0.0));
        assert_eq!(others(None, 10.0, &processes), None);
        assert_eq!(others(Some(0.95), 0.0, &processes), None);
        assert_eq!(others(Some(0.95), 10.0, &used(CpuScope::Machine)), None);
        let unknown = ServerCpuRecord {
            source: String::new(),
            used: Err("no process has the port".to_owned()),
        };
        assert_eq!(others(Some(0.95), 10.0, &unknown), None);
    }

    fn histogram(values_us: &[(u64, u64)]) -> Histogram<u64> {
        let mut histogram = lateness_histogram();
        for &(us, count) in values_us {
            histogram.record_n(us * 1000, count).unwrap();
        }
        histogram
    }

    /// Returns quantiles in percent, and the lateness there in whole microseconds.
    fn noise(late_us: &[(u64, u64)], latency_us: &[(u64, u64)]) -> Vec<(f64, u64)> {
        let (late, latency) = (histogram(late_us), histogram(latency_us));
        let found = latency_noise(&late, &latency, LateSteps::Answer);
        let rounded = |noise: &LatencyNoise| {
            let late_us = noise.late.0 as f64 / 1000.0;
            (noise.quantile * 100.0, (late_us / 10.0).round() as u64 * 10)
        };
        found.iter().map(rounded).collect()
    }

    #[test]
    fn lateness_is_compared_with_the_latency_at_the_same_quantile() {
        let steady = [(100, 1), (1000, 10_000)];
        assert_eq!(noise(&[(90, 300)], &steady), []);
        assert_eq!(noise(&[(10, 294), (90, 6)], &steady), []);
        assert_eq!(noise(&[(10, 294), (600, 6)], &steady), [(99.0, 600)]);
        let all = noise(&[(200, 300)], &steady);
        assert_eq!(
            all,
            [(50.0, 200), (90.0, 200), (95.0, 200), (99.0, 200)],
            "300 events say nothing of the 99.9th percentile"
        );
        assert_eq!(noise(&[(200, 1000)], &steady).last(), Some(&(99.9, 200)));
        // The same lateness matters less where that percentile is higher.
        let tailed = [(100, 1), (1000, 9800), (20_000, 200)];
        assert_eq!(noise(&[(10, 294), (600, 6)], &tailed), []);
        // Any idle thread is as late as that.
        assert_eq!(noise(&[(20, 300)], &[(10, 1), (40, 10_000)]), []);
        // A latency cannot be too high by more than it exceeds the shortest.
        let short = [(60, 9000), (90, 700), (300, 300)];
        assert_eq!(noise(&[(10, 294), (600, 6)], &short), [(99.0, 240)]);
    }

    #[test]
    fn requests_that_are_due_by_the_clock_can_be_late_as_well() {
        let (late, latency) = (histogram(&[(300, 300)]), histogram(&[(100, 1), (5000, 99)]));
        assert_eq!(latency_noise(&late, &latency, LateSteps::Answer), []);
        let found = latency_noise(&late, &latency, LateSteps::RequestAndAnswer);
        assert_eq!(found.len(), 4, "600 us of 5 ms: {found:?}");
    }

    #[test]
    fn a_percentile_needs_events_and_latencies() {
        let latencies = [(100, 1), (1000, 99)];
        assert_eq!(noise(&[(600, 99)], &latencies).last(), Some(&(95.0, 600)));
        assert_eq!(noise(&[(600, 1)], &latencies), []);
        assert_eq!(noise(&[(600, 300)], &[]), []);
    }
}
