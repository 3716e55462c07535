//! Whether a load point tells of the server or of the generator.
//!
//! A worker watches itself while the load is on ([`Gauge`]); when all is over
//! [`verdict`] judges what the workers saw. Invariant: watching costs a worker a
//! hundred wake-ups per second, and no operation anything.
//!
//! The bounds. A thread that runs, or waits to run, more than
//! [`BUSY_MAX`] of the time has no idle time left in which it would have noticed
//! answers at once: the load is what it can make, not what the server can bear.
//! How late a worker sees events is part of every latency it measures, so that
//! the median and the 99th percentile of that lateness tell by how much those of
//! the latencies may be too high. [`LATE_MEDIAN_MAX`] of the median service time is
//! the error that the typical value may have, [`LATE_TAIL_MAX`] of it the one
//! that percentiles up to the 99th may. Up to [`WAKE_UP`] it is nobody's fault.
//!
//! Sockets that take no more ([`back_pressure`]) are never the generator's doing:
//! the server's window is shut, or the network carries less than is sent. It
//! belongs in the verdict because it tells what the limit was, and that fewer
//! requests were in flight than the plan asks for. Only a generator at its own
//! limit may see late that a socket has room again, and so nothing is concluded
//! then.

mod gauge;

use crate::clock::Nanos;
use crate::record::GeneratorRecord;
use crate::session::Whereabouts;

pub(super) use gauge::Gauge;

/// A worker's share of the window as far as its load went, running and waiting to run.
const BUSY_MAX: f64 = 0.90;
/// Share of all CPUs of this machine, whoever uses them.
const MACHINE_BUSY_MAX: f64 = 0.95;
/// Median lateness, as a share of the median service time.
const LATE_MEDIAN_MAX: f64 = 0.1;
/// 99th percentile of lateness, as a share of the median service time.
const LATE_TAIL_MAX: f64 = 0.5;
/// What waking an idle thread up may take on any machine, a virtual one with a
/// timer above all: every client pays it, so it tells nothing of this one.
const WAKE_UP: Nanos = Nanos(100_000);
/// Ticks without which a 99th percentile is no more than a maximum.
const TICKS_MIN: u64 = 100;

/// Share of the clients' time in which sockets took no more, from where it is
/// told. As much could have been gained by a faster taker at most; what is less
/// drowns in the difference between two runs.
const HELD_BACK_MIN: f64 = 0.05;

const fn advice(server: Whereabouts) -> &'static str {
    match server {
        Whereabouts::Here => ": the server here shares them",
        Whereabouts::Elsewhere => ": other programs share them",
    }
}

/// Why the generator limited a load point or blurs its latencies, the median of
/// which is `latency_p50`; `None` where it did not. The clause fits behind "the
/// generator was the limit:".
pub(super) fn verdict(
    generator: &GeneratorRecord,
    latency_p50: Option<Nanos>,
    server: Whereabouts,
) -> Option<String> {
    busiest(generator, server)
        .or_else(|| lateness(generator, latency_p50?))
        .or_else(|| {
            let busy = generator.machine_busy?;
            (busy > MACHINE_BUSY_MAX).then(|| {
                let why = advice(server);
                format!("all CPUs were busy {} of the time{why}", percent(busy))
            })
        })
}

/// What it means that sockets took no more for a share of the clients' time,
/// where that is noteworthy. The clause fits behind "back-pressure:".
pub(super) fn back_pressure(held_back_share: f64) -> Option<String> {
    (held_back_share >= HELD_BACK_MIN).then(|| {
        format!(
            "sockets took no more {} of the clients' time: network or server, not the generator, \
             was the limit, and requests went out late or not at all",
            percent(held_back_share)
        )
    })
}

/// A worker that had no time left.
fn busiest(generator: &GeneratorRecord, server: Whereabouts) -> Option<String> {
    let shares = generator.workers.iter().enumerate().map(|(at, worker)| {
        let waiting = worker.waiting_share.unwrap_or(0.0);
        (at, worker.cpu_share, waiting)
    });
    let (at, cpu, waiting) =
        shares.max_by(|left, right| (left.1 + left.2).total_cmp(&(right.1 + right.2)))?;
    if cpu > BUSY_MAX {
        return Some(format!(
            "thread {at} used a CPU {} of the time: give it more threads, CPUs or machines",
            percent(cpu)
        ));
    }
    (cpu + waiting > BUSY_MAX).then(|| {
        format!(
            "thread {at} used a CPU {} of the time, waited for one {}{}",
            percent(cpu),
            percent(waiting),
            advice(server)
        )
    })
}

/// Lateness that is not small beside what was measured.
fn lateness(generator: &GeneratorRecord, latency_p50: Nanos) -> Option<String> {
    let lateness = generator.lateness();
    if lateness.len() < TICKS_MIN {
        return None;
    }
    [
        ("half of all events were", 0.5, LATE_MEDIAN_MAX),
        ("one event in a hundred was", 0.99, LATE_TAIL_MAX),
    ]
    .into_iter()
    .find_map(|(which, quantile, share_max)| {
        let late = lateness.value_at_quantile(quantile);
        let is_late = late > WAKE_UP.0 && late as f64 > share_max * latency_p50.0 as f64;
        is_late.then(|| {
            format!(
                "{which} seen {} late or more, beside a median service time of {}",
                rounded(late),
                rounded(latency_p50.0)
            )
        })
    })
}

fn percent(share: f64) -> String {
    format!("{:.0} %", share * 100.0)
}

/// To microseconds, or to milliseconds where those are many.
fn rounded(nanos: u64) -> String {
    match nanos.div_ceil(1000) {
        micros @ ..10_000 => format!("{micros} us"),
        micros => format!("{} ms", micros.div_ceil(1000)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{WorkerRecord, lateness_histogram};

    fn worker(cpu_share: f64, waiting_share: Option<f64>, late_us: &[(u64, u64)]) -> WorkerRecord {
        let mut lateness = lateness_histogram();
        for &(us, ticks) in late_us {
            lateness.record_n(us * 1000, ticks).unwrap();
        }
        WorkerRecord {
            cpu: None,
            cpu_share,
            waiting_share,
            lateness,
        }
    }

    #[test]
    fn a_generator_without_time_to_spare_is_the_limit() {
        let idle = || worker(0.3, Some(0.05), &[(20, 300)]);
        for (workers, machine_busy, server, expected) in [
            (vec![], None, Whereabouts::Elsewhere, None),
            (
                vec![idle(), idle()],
                Some(0.5),
                Whereabouts::Elsewhere,
                None,
            ),
            (
                vec![worker(0.90, None, &[])],
                Some(0.95),
                Whereabouts::Here,
                None,
            ),
            (
                vec![idle(), worker(0.97, Some(0.02), &[])],
                Some(0.99),
                Whereabouts::Elsewhere,
                Some(
                    "thread 1 used a CPU 97 % of the time: give it more threads, CPUs or machines",
                ),
            ),
            (
                vec![worker(0.50, Some(0.48), &[]), idle()],
                Some(0.99),
                Whereabouts::Here,
                Some(
                    "thread 0 used a CPU 50 % of the time, waited for one 48 %: the server here \
                     shares them",
                ),
            ),
            (
                vec![idle()],
                Some(0.96),
                Whereabouts::Elsewhere,
                Some("all CPUs were busy 96 % of the time: other programs share them"),
            ),
        ] {
            let generator = GeneratorRecord {
                workers,
                machine_busy,
                ..GeneratorRecord::default()
            };
            let verdict = verdict(&generator, Some(Nanos(1_000_000)), server);
            assert_eq!(verdict.as_deref(), expected);
        }
    }

    #[test]
    fn back_pressure_is_told_from_where_it_matters() {
        assert_eq!(back_pressure(0.0), None);
        assert_eq!(back_pressure(0.049), None);
        let told = back_pressure(0.37).unwrap();
        assert!(
            told.starts_with("sockets took no more 37 % of the clients' time: network or server"),
            "{told}"
        );
    }

    #[test]
    fn lateness_is_judged_by_the_latency_it_is_part_of() {
        let late = |late_us: &[(u64, u64)]| GeneratorRecord {
            workers: vec![worker(0.1, None, late_us)],
            ..GeneratorRecord::default()
        };
        let verdict = |late_us: &[(u64, u64)], latency_us: u64| {
            let latency = Some(Nanos(latency_us * 1000));
            verdict(&late(late_us), latency, Whereabouts::Elsewhere)
        };
        assert_eq!(verdict(&[(90, 300)], 1000), None);
        assert_eq!(verdict(&[(10, 294), (480, 6)], 1000), None);
        let half = verdict(&[(200, 300)], 1000).unwrap();
        assert!(
            half.starts_with("half of all events were seen 20"),
            "{half}"
        );
        let tail = verdict(&[(10, 294), (600, 6)], 1000).unwrap();
        assert!(
            tail.starts_with("one event in a hundred was seen 60"),
            "{tail}"
        );
        assert!(
            tail.ends_with("beside a median service time of 1000 us"),
            "{tail}"
        );
        let long = verdict(&[(90_000, 300)], 100_000).unwrap();
        assert!(
            long.ends_with("ms late or more, beside a median service time of 100 ms"),
            "{long}"
        );
        // No later than a thread that has nothing else to do.
        assert_eq!(verdict(&[(20, 300)], 40), None);
        // The same lateness is nothing beside longer latencies.
        assert_eq!(verdict(&[(10, 294), (600, 6)], 2000), None);
        // Too few ticks to speak of a percentile.
        assert_eq!(verdict(&[(600, 99)], 1000), None);
    }
}
