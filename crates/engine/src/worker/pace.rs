//! Computes when the actions of one client are due, with plain arithmetic on
//! instants.
//!
//! Random values depend only on the seed, the client and the number of the draw. A
//! client's arrivals are therefore the same for any number of threads. Instants are
//! computed from sums in floating point, never from rounded gaps, so that a rate
//! does not drift.

mod bursts;
mod line;
mod recorded;
mod turns;

use std::sync::Arc;

use smbench_model::Nanos;
use smbench_model::load::stream::StreamStart;
use smbench_model::load::{LoadModel, Rate, Spacing, ThinkTime};
use smbench_model::operations::replay::pause_before;
use smbench_model::operations::{Mix, client_key};
use smbench_model::plan::Plan;
use smbench_model::random::{GOLDEN_GAMMA, draw, finalise};
use smbench_model::trace::Trace;
use smbench_model::workload::Replay;

use bursts::Bursts;
use line::{RateLine, RateStretch};
use recorded::Instants;
use turns::StageTurns;

/// Delay after which an operation counts as late. It is far longer than an idle
/// machine needs for timers and threads, and far shorter than people notice.
pub(super) const LATE: Nanos = Nanos(1_000_000);

/// The condition that starts a client's actions.
pub(crate) enum Pace {
    /// The end of an earlier action.
    Closed,
    /// The end of an earlier action, then a think time.
    Thinking(Gaps),
    /// The end of an earlier action, and at some places a recorded pause.
    Pausing(Pauses),
    /// The end of an earlier action, and the delays before the bursts of a pattern.
    Bursts(Bursts),
    /// The clock, at a rate.
    Rate(Arrivals),
    /// The end of an earlier action, in the client's turns.
    Turns(Box<StageTurns>),
    /// The clock, at recorded instants.
    Recorded(Instants),
}

impl Pace {
    /// Makes the pace of one client that begins at `starts`, in a load point of
    /// `clients`. A rate replaces that of the plan.
    pub(crate) fn new(
        plan: &Plan,
        mix: &Arc<Mix>,
        client: u32,
        clients: u32,
        of_point: Option<Rate>,
        starts: Nanos,
    ) -> Self {
        let load = plan.only().load;
        if let (LoadModel::Closed { think }, Some(stages)) = (load, plan.work.lines()) {
            let gaps = think.map(|think| Gaps::thinking(think, plan, client));
            let turns = StageTurns::new(stages, client, starts, gaps);
            return Self::Turns(Box::new(turns));
        }
        match load {
            LoadModel::Closed { think: None } => match plan.only().workload.replay() {
                Some(replay) if replay.recording.has_pauses() => {
                    Self::Pausing(Pauses::new(replay, client))
                }
                _ if mix.has_delays() => Self::Bursts(Bursts::new(
                    mix,
                    client_key(plan.work.drawing_seed(), client),
                    starts,
                )),
                _ => Self::Closed,
            },
            LoadModel::Recorded => match plan.only().workload.replay() {
                Some(replay) => Self::Recorded(Instants::new(replay, client, starts)),
                None => Self::Closed,
            },
            LoadModel::Closed { think: Some(think) } => {
                Self::Thinking(Gaps::thinking(think, plan, client))
            }
            LoadModel::Rate { rate, arrivals } => {
                let rate = of_point.unwrap_or(rate);
                let mean_ns = 1e9 / rate.of_client(clients);
                let gaps = Gaps::new(mean_ns, arrivals, plan.work.drawing_seed(), client);
                // At a constant rate, the clients take turns at even distances.
                let turn = f64::from(client) / f64::from(clients.max(1));
                let mut arrivals = Arrivals::new(gaps, starts, turn);
                if let Some(stages) = plan.work.lines() {
                    arrivals.follow(RateLine::of(stages, client), starts);
                }
                Self::Rate(arrivals)
            }
            LoadModel::Stream(stream) => {
                let seed = plan.work.drawing_seed();
                let gaps = Gaps::new(stream.frame_time_ns(), Spacing::Fixed, seed, client);
                let turn = match stream.start {
                    StreamStart::Spread => f64::from(client) / f64::from(clients.max(1)),
                    StreamStart::Together => 0.0,
                };
                let mut arrivals = Arrivals::new(gaps, starts, turn);
                if let Some(stages) = plan.work.lines() {
                    arrivals.follow(RateLine::of(stages, client), starts);
                }
                Self::Rate(arrivals)
            }
        }
    }
}

impl Pace {
    /// Returns when the client begins its very first action, where it could at `starts`.
    pub(super) fn first(&self, starts: Nanos) -> Nanos {
        match self {
            Self::Pausing(pauses) => starts + pauses.first(),
            Self::Turns(turns) => turns.first(),
            _ => starts,
        }
    }
}

/// An endless sequence of gaps between events.
#[derive(Clone)]
pub(crate) struct Gaps {
    mean_ns: f64,
    spacing: Spacing,
    key: u64,
    drawn: u64,
}

impl Gaps {
    fn new(mean_ns: f64, spacing: Spacing, seed: u64, client: u32) -> Self {
        // Hashed once more than the key of the operations, so that gaps and
        // operations are independent.
        let of_client = finalise(seed.wrapping_add(GOLDEN_GAMMA)) ^ u64::from(client);
        Self {
            mean_ns,
            spacing,
            key: finalise(finalise(of_client)),
            drawn: 0,
        }
    }

    /// Returns the think times of a client.
    fn thinking(think: ThinkTime, plan: &Plan, client: u32) -> Self {
        let mean_ns = think.mean.as_nanos() as f64;
        Self::new(mean_ns, think.spacing, plan.work.drawing_seed(), client)
    }

    fn next_ns(&mut self) -> f64 {
        match self.spacing {
            Spacing::Fixed => self.mean_ns,
            Spacing::Exponential => {
                let random = draw(self.key, self.drawn);
                self.drawn += 1;
                // Uniform over (0, 1], so that the logarithm is never infinite.
                let uniform = ((random >> 11) + 1) as f64 / (1_u64 << 53) as f64;
                -uniform.ln() * self.mean_ns
            }
        }
    }

    /// Returns the next gap, rounded to a nanosecond.
    pub(super) fn next_gap(&mut self) -> Nanos {
        Nanos(self.next_ns().round() as u64)
    }
}

/// Instants at which actions are due.
pub(crate) struct Arrivals {
    gaps: Gaps,
    next: Nanos,
    /// Fraction of a nanosecond to add to `next`.
    fraction_ns: f64,
    /// The line that the rate follows, if it is not even.
    line: Option<Box<RateStretch>>,
}

impl Arrivals {
    /// Makes the arrivals from `starts` on. `turn` is the part of a constant gap
    /// that passes before the first one, 0 to 1.
    fn new(mut gaps: Gaps, starts: Nanos, turn: f64) -> Self {
        let gap_ns = gaps.next_ns();
        let first_ns = match gaps.spacing {
            Spacing::Fixed => gap_ns * turn,
            Spacing::Exponential => gap_ns,
        };
        let mut new = Self {
            gaps,
            next: starts,
            fraction_ns: 0.0,
            line: None,
        };
        new.pass(first_ns);
        new
    }

    /// Advances by a gap and keeps the fraction of a nanosecond.
    fn pass(&mut self, gap_ns: f64) {
        if let Some(line) = &mut self.line {
            (self.next, self.fraction_ns) = line.at_most;
        }
        let passed_ns = self.fraction_ns + gap_ns;
        let whole_ns = passed_ns.floor();
        self.next = self.next + Nanos(whole_ns as u64);
        self.fraction_ns = passed_ns - whole_ns;
        if let Some(line) = &mut self.line {
            line.at_most = (self.next, self.fraction_ns);
            self.stretch();
        }
    }

    /// Returns the next arrival that has not been taken.
    pub(super) const fn next(&self) -> Nanos {
        self.next
    }

    /// Takes the next arrival and returns it.
    pub(super) fn take(&mut self) -> Nanos {
        let taken = self.next;
        let gap_ns = self.gaps.next_ns();
        self.pass(gap_ns);
        taken
    }
}

/// Pauses of a trace that is replayed from its start, a number of times.
pub(crate) struct Pauses {
    trace: Arc<Trace>,
    /// Index of the next record.
    at: u32,
    /// Number of passes that have not ended yet; `None` is endless.
    turns: Option<u64>,
}

impl Pauses {
    fn new(replay: &Replay, client: u32) -> Self {
        Self {
            trace: Arc::clone(replay.recording.track(client)),
            at: 0,
            turns: replay.loops.map(u64::from),
        }
    }

    /// Returns the pause before the first record of each pass.
    fn first(&self) -> Nanos {
        Nanos(pause_before(&self.trace, 0))
    }

    /// Returns the pause after the current record; call this once for each record.
    pub(super) fn next_pause(&mut self) -> Nanos {
        self.at += 1;
        let pause = Nanos(pause_before(&self.trace, self.at));
        if (self.at as usize) < self.trace.len() {
            return pause;
        }
        self.at = 0;
        self.turns = self.turns.map(|turns| turns.saturating_sub(1));
        match self.turns {
            Some(0) => pause,
            _ => pause + self.first(),
        }
    }
}

#[cfg(test)]
mod tests {
    use smbench_formats::loadfile;
    use smbench_formats::loadfile::Unknown;

    use super::*;

    fn arrivals(per_second: f64, spacing: Spacing, client: u32, turn: f64) -> Arrivals {
        let gaps = Gaps::new(1e9 / per_second, spacing, 7, client);
        Arrivals::new(gaps, Nanos(1000), turn)
    }

    #[test]
    fn a_constant_rate_is_even_and_does_not_drift() {
        // 3 per second, so the gap is not a whole number of nanoseconds.
        let mut at = arrivals(3.0, Spacing::Fixed, 0, 0.0);
        let taken: Vec<_> = (0..4).map(|_| at.take().0 - 1000).collect();
        assert_eq!(taken, [0, 333_333_333, 666_666_666, 999_999_999]);
        for _ in 4..3_000_000 {
            at.take();
        }
        let million_seconds = 1_000_000_000_000_000 + 1000;
        assert!(
            at.next().0.abs_diff(million_seconds) <= 1,
            "{:?}",
            at.next()
        );
    }

    #[test]
    fn clients_of_a_constant_rate_take_turns() {
        for (turn, first) in [(0.0, 0), (0.25, 25), (0.5, 50)] {
            let at = arrivals(1e7, Spacing::Fixed, 0, turn);
            assert_eq!(at.next(), Nanos(1000 + first));
        }
    }

    /// Gaps have the mean and the variance of an exponential distribution. Counts
    /// per second have those of a Poisson distribution. Neighbouring gaps are not
    /// correlated. The bounds are 5 standard errors wide.
    #[test]
    fn poisson_arrivals_have_the_right_rate_and_variance() {
        const COUNT: usize = 200_000;
        for client in [0, 1, 4000] {
            let mut gaps = Gaps::new(1e6, Spacing::Exponential, 42, client);
            let drawn: Vec<f64> = (0..COUNT).map(|_| gaps.next_ns() / 1e6).collect();
            let mean = drawn.iter().sum::<f64>() / COUNT as f64;
            let centred: Vec<f64> = drawn.iter().map(|gap| gap - mean).collect();
            let variance = centred.iter().map(|gap| gap * gap).sum::<f64>() / COUNT as f64;
            let neighbours: f64 = centred.windows(2).map(|pair| pair[0] * pair[1]).sum();
            let error = 1.0 / (COUNT as f64).sqrt();
            assert!((mean - 1.0).abs() < 5.0 * error, "{mean}");
            // The variance of the sample variance is 8 / n.
            assert!(
                (variance - 1.0).abs() < 5.0 * 8_f64.sqrt() * error,
                "{variance}"
            );
            assert!(
                (neighbours / COUNT as f64).abs() < 5.0 * error,
                "{neighbours}"
            );
        }
        let mut at = arrivals(1000.0, Spacing::Exponential, 0, 0.0);
        const SECONDS: usize = 500;
        let mut counts = vec![0_u32; SECONDS];
        while let Some(count) = counts.get_mut((at.take().0 / 1_000_000_000) as usize) {
            *count += 1;
        }
        let counts: Vec<f64> = counts.into_iter().map(f64::from).collect();
        let mean = counts.iter().sum::<f64>() / SECONDS as f64;
        let squares: f64 = counts.iter().map(|count| (count - mean).powi(2)).sum();
        let dispersion = squares / (SECONDS - 1) as f64 / mean;
        assert!(
            (mean - 1000.0).abs() < 5.0 * (1000.0 / SECONDS as f64).sqrt(),
            "{mean}"
        );
        let error = (2.0 / (SECONDS - 1) as f64).sqrt();
        assert!((dispersion - 1.0).abs() < 5.0 * error, "{dispersion}");
    }

    /// Pauses at the start and at the end of the file occur in each pass, and once
    /// if there is one pass.
    #[test]
    fn pauses_are_where_the_file_has_them() {
        let text = "Sleep 1 NT_STATUS_OK\nMkdir \"\\a\" NT_STATUS_OK\nSleep 2 NT_STATUS_OK\n\
                    Rmdir \"\\a\" NT_STATUS_OK\nSleep 4 NT_STATUS_OK\n";
        let trace = loadfile::parse("pauses", text.as_bytes(), Unknown::Refuse).unwrap();
        let replay = Replay::new(Arc::new(trace.into()));
        for (loops, behind) in [
            (None, vec![2, 4 + 1, 2, 4 + 1]),
            (Some(1), vec![2, 4]),
            (Some(2), vec![2, 4 + 1, 2, 4]),
        ] {
            let replay = Replay {
                loops,
                ..replay.clone()
            };
            let mut pauses = Pauses::new(&replay, 0);
            assert_eq!(pauses.first(), Nanos(1000));
            let seen = behind.iter().map(|_| pauses.next_pause().0 / 1000);
            assert_eq!(seen.collect::<Vec<_>>(), behind, "{loops:?}");
        }
    }

    #[test]
    fn clients_draw_gaps_of_their_own_that_can_be_drawn_again() {
        let gaps = |client| {
            let mut gaps = Gaps::new(1e6, Spacing::Exponential, 1, client);
            (0..100).map(|_| gaps.next_gap()).collect::<Vec<_>>()
        };
        assert_eq!(gaps(3), gaps(3));
        assert_ne!(gaps(3), gaps(4));
    }
}
