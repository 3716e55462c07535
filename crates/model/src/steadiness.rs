//! Whether a load was steady over a window.
//!
//! The criterion is that of SNIA's Solid State Storage Performance Test Specification
//! (PTS 2.0.1, "steady state"), over five rounds. The rounds are five equal parts of the
//! window.

/// Number of rounds that a window is divided into. A window needs as many intervals.
pub const ROUNDS: usize = 5;
/// Largest range of the rounds, as a share of their mean.
const RANGE_MAX: f64 = 0.2;
/// Largest rise or fall of the line fitted to the rounds, as a share of their mean.
const SLOPE_MAX: f64 = 0.1;

/// How much the rounds of a window differ.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Steadiness {
    /// Difference of the highest and the lowest round, as a share of their mean.
    pub range: f64,
    /// Rise of the line fitted to the rounds from the first to the last, as a share of
    /// their mean. Negative for a fall.
    pub rise: f64,
}

/// Reason why a window cannot be judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotJudged {
    /// The window has fewer than [`ROUNDS`] full intervals.
    TooShort,
    /// Nothing was done in the window.
    Idle,
}

impl Steadiness {
    /// Measures the amounts in each whole interval of a window, bytes or operations.
    ///
    /// # Errors
    ///
    /// If there are too few intervals, or nothing was done.
    pub fn of(intervals: &[u64]) -> Result<Self, NotJudged> {
        if intervals.len() < ROUNDS {
            return Err(NotJudged::TooShort);
        }
        let rounds: [f64; ROUNDS] = std::array::from_fn(|round| {
            let edge = |round| round * intervals.len() / ROUNDS;
            let part = &intervals[edge(round)..edge(round + 1)];
            part.iter().map(|&done| done as f64).sum::<f64>() / part.len() as f64
        });
        let mean = rounds.iter().sum::<f64>() / ROUNDS as f64;
        if mean <= 0.0 {
            return Err(NotJudged::Idle);
        }
        let (low, high) = rounds
            .iter()
            .fold((f64::MAX, 0_f64), |(low, high), &round| {
                (low.min(round), high.max(round))
            });
        // Least squares with the rounds at -2 to 2, whose squares add up to 10.
        // There are four steps from the first to the last.
        let fit: f64 = rounds.iter().zip(-2..).map(|(y, x)| y * f64::from(x)).sum();
        Ok(Self {
            range: (high - low) / mean,
            rise: fit / 10.0 * 4.0 / mean,
        })
    }

    /// Returns whether the load was steady:
    ///
    /// - The highest and the lowest round differ by at most 20 % of the mean.
    /// - The best linear fit rises or falls by at most 10 % of the mean.
    #[must_use]
    pub fn is_steady(self) -> bool {
        self.range <= RANGE_MAX && self.rise.abs() <= SLOPE_MAX
    }
}
