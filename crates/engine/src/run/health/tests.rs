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
    server: Locality::Elsewhere,
    shares: None,
};
const UNKNOWN: CpuUsers = CpuUsers {
    server: Locality::Here,
    shares: None,
};

fn here(server: f64, others: f64) -> CpuUsers {
    CpuUsers {
        server: Locality::Here,
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
    let others = format!("{waited}; cause: programs other than smbench and the server");
    for (users, used) in [
        (ELSEWHERE, ""),
        (here(0.5, 0.34), " (34 % of all CPUs)"),
        (here(0.1, 0.15), " (15 % of all CPUs)"),
    ] {
        let (limited, shared) = verdict(workers(), Some(0.77), users);
        assert_eq!(limited.unwrap(), format!("{others}{used}"));
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
        server: Locality::Here,
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
    let reason = "thread 0 ran or lacked a CPU 91 % of the time; \
                  cause: programs other than smbench and the server";
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
        let users = CpuUsers::of(Locality::Here, busy, window_s, &client, used);
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
