//! Arrivals at a rate that follows a line, or that is there in the turns of a client only.

use smbench_model::Nanos;
use smbench_model::stages::{StageUnit, StageWalk, Stages};

use super::Arrivals;
use super::turns::AFTER_LOAD;

/// The line of a rate.
pub(super) struct RateLine {
    walk: StageWalk,
    /// The highest level.
    most: f64,
}

impl RateLine {
    /// Returns the line of the rate of a client. Stages with numbers of clients leave its rate as
    /// it is, in the time in which it is under load.
    pub(super) fn of(stages: &Stages, client: u32) -> Self {
        match stages.unit {
            StageUnit::Rate => Self {
                walk: stages.walk(),
                most: stages.most(),
            },
            StageUnit::Clients => Self {
                walk: stages.presence(client),
                most: 1.0,
            },
        }
    }
}

/// A line, and where arrivals are on it.
pub(super) struct RateStretch {
    line: RateLine,
    starts: Nanos,
    /// The next arrival in time at the highest rate, and the fraction of a nanosecond.
    pub(super) at_most: (Nanos, f64),
}

impl Arrivals {
    /// Lets the arrivals follow the line of a rate that begins at `starts`. Their distances in
    /// operations stay as they are: those of an even rate at the highest level are stretched, so
    /// that Poisson arrivals stay Poisson.
    pub(super) fn follow(&mut self, line: RateLine, starts: Nanos) {
        self.line = Some(Box::new(RateStretch {
            line,
            starts,
            at_most: (self.next, self.fraction_ns),
        }));
        self.stretch();
    }

    /// Moves the next arrival to where the line has as many operations before it as the highest
    /// rate has before its place.
    pub(super) fn stretch(&mut self) {
        let Some(stretch) = &mut self.line else {
            return;
        };
        let (next, fraction_ns) = stretch.at_most;
        let passed_s = (next.since(stretch.starts).0 as f64 + fraction_ns) / 1e9;
        let line = &mut stretch.line;
        let at_s = line.walk.time_of(passed_s * line.most);
        (self.next, self.fraction_ns) = match at_s {
            Some(at_s) => (stretch.starts + Nanos((at_s * 1e9) as u64), 0.0),
            None => (stretch.starts + AFTER_LOAD.into(), 0.0),
        };
    }
}

#[cfg(test)]
mod tests {
    use smbench_model::load::Spacing;
    use smbench_model::part::ClientPart;

    use super::*;
    use crate::worker::pace::Gaps;

    /// The number of arrivals before an instant of the line below, in seconds.
    fn area(at: f64) -> f64 {
        match at {
            0.0..50.0 => 2.0 * at * at,
            50.0..100.0 => 5000.0 + 200.0 * (at - 50.0),
            _ => 15_000.0 + (at - 100.0) * (200.0 - 1.5 * (at - 100.0)),
        }
    }

    /// Gaps, measured as areas below the line, have an exponential distribution (Kolmogorov and
    /// Smirnov). The bound is exceeded once in a thousand seeds.
    #[test]
    fn poisson_arrivals_stay_poisson_along_a_line() {
        let stages: Stages = "50s:200/s,50s:200/s,50s:50/s".parse().unwrap();
        for seed in 0..20 {
            let gaps = Gaps::new(1e9 / 200.0, Spacing::Exponential, seed, 0);
            let mut arrivals = Arrivals::new(gaps, Nanos(7), 0.0);
            arrivals.follow(RateLine::of(&stages, 0), Nanos(7));
            let instants =
                std::iter::from_fn(|| Some(arrivals.take().since(Nanos(7)).as_secs_f64()));
            let areas: Vec<f64> = instants.take_while(|at| *at < 150.0).map(area).collect();
            let mut gaps: Vec<_> = areas.windows(2).map(|pair| pair[1] - pair[0]).collect();
            gaps.sort_by(f64::total_cmp);
            let count = gaps.len() as f64;
            assert!(
                (count - 21_250.0).abs() < 5.0 * 21_250_f64.sqrt(),
                "{count}"
            );
            let distances = gaps.iter().enumerate().map(|(at, gap)| {
                let expected = 1.0 - (-gap).exp();
                (expected - at as f64 / count).abs()
            });
            let farthest = distances.fold(0.0, f64::max) * count.sqrt();
            assert!(farthest < 1.95, "seed {seed}: {farthest}");
        }
    }

    /// The clients of all hosts together have the rate of each stage.
    #[test]
    fn hosts_together_have_the_rate_of_the_line() {
        const CLIENTS: u32 = 64;
        let stages: Stages = "50s:200/s,50s:200/s,50s:50/s".parse().unwrap();
        for of in [1, 3, 7] {
            let mut counts = [0_u32; 3];
            let hosts = (0..of).map(|host| ClientPart::Host { host, of });
            for client in hosts.flat_map(|part| part.clients(CLIENTS)) {
                let mean_ns = 1e9 * f64::from(CLIENTS) / 200.0;
                let gaps = Gaps::new(mean_ns, Spacing::Fixed, 1, client);
                let turn = f64::from(client) / f64::from(CLIENTS);
                let mut arrivals = Arrivals::new(gaps, Nanos(7), turn);
                arrivals.follow(RateLine::of(&stages, client), Nanos(7));
                let due = std::iter::from_fn(|| Some(arrivals.take().since(Nanos(7))));
                let places = due.map(|due| (due.as_secs_f64() / 50.0) as usize);
                places
                    .take_while(|at| *at < 3)
                    .for_each(|at| counts[at] += 1);
            }
            for (count, expected) in counts.into_iter().zip([5000.0, 10_000.0, 6250.0]) {
                let differs = (f64::from(count) - expected).abs();
                assert!(differs <= expected * 0.005, "{of} hosts: {counts:?}");
            }
        }
    }
}
