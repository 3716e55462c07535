//! How evenly the server served the clients.

use serde::{Deserialize, Serialize};

use crate::Nanos;

/// The operations that each client completed without error in the window. Only sums
/// over clients are kept, because there may be ten thousand clients.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Fairness {
    clients: u32,
    min: u64,
    max: u64,
    sum: f64,
    squares: f64,
    /// Seconds in which operations were in flight, summed over clients.
    busy_s: f64,
    busy_s_squares: f64,
}

/// What a document says about the evenness of its clients.
#[derive(Clone, Copy, Debug, Default)]
pub struct FairnessFigures {
    /// Operations of the client with the fewest.
    pub min: u64,
    /// Operations of the client with the most.
    pub max: u64,
    /// Mean of the operations of a client.
    pub mean: f64,
    /// Fairness index of the operations, above 0 and at most 1.
    pub jain_index: f64,
    /// Mean of the total time of a client's operations, in seconds.
    pub busy_mean_s: f64,
    /// Standard deviation of that time, in seconds.
    pub busy_sd_s: f64,
}

impl Fairness {
    /// Adds a client with its number of completed operations and their total time.
    pub fn add(&mut self, operations: u64, busy: Nanos) {
        let exact = operations as f64;
        let busy_s = busy.as_secs_f64();
        self.merge(&Self {
            clients: 1,
            min: operations,
            max: operations,
            sum: exact,
            squares: exact * exact,
            busy_s,
            busy_s_squares: busy_s * busy_s,
        });
    }

    /// Restores clients from their figures.
    ///
    /// The index is S S / (n Q), where S is the sum of n counts and Q that of their squares. So Q
    /// follows from it. Both sums are whole numbers. So rounding undoes the rounding of the
    /// figures, unless a sum is too large for its last digit to be known.
    #[must_use]
    pub fn restored(clients: u32, figures: &FairnessFigures) -> Self {
        /// Beyond this, the last digit is not known.
        const WHOLE_MAX: f64 = (1_u64 << 50) as f64;
        let whole = |sum: f64| if sum < WHOLE_MAX { sum.round() } else { sum };
        let FairnessFigures {
            min,
            max,
            mean,
            jain_index,
            busy_mean_s,
            busy_sd_s,
        } = *figures;
        let count = f64::from(clients);
        let sum = whole(mean * count);
        let divisor = count * jain_index;
        let squares = if divisor > 0.0 {
            sum * sum / divisor
        } else {
            0.0
        };
        Self {
            clients,
            min,
            max,
            sum,
            squares: whole(squares),
            busy_s: busy_mean_s * count,
            busy_s_squares: (busy_sd_s.powi(2) + busy_mean_s.powi(2)) * count,
        }
    }

    /// Adds other clients.
    pub fn merge(&mut self, other: &Self) {
        self.min = match (self.clients, other.clients) {
            (0, _) => other.min,
            (_, 0) => self.min,
            _ => self.min.min(other.min),
        };
        self.max = self.max.max(other.max);
        self.clients += other.clients;
        self.sum += other.sum;
        self.squares += other.squares;
        self.busy_s += other.busy_s;
        self.busy_s_squares += other.busy_s_squares;
    }

    /// Returns the number of clients added.
    #[must_use]
    pub const fn clients(&self) -> u32 {
        self.clients
    }

    /// Returns the operations of the client that completed fewest; 0 without
    /// clients.
    #[must_use]
    pub const fn min(&self) -> u64 {
        self.min
    }

    /// Returns the operations of the client that completed most; 0 without clients.
    #[must_use]
    pub const fn max(&self) -> u64 {
        self.max
    }

    /// Returns the mean number of operations per client; 0 without clients.
    #[must_use]
    pub fn mean(&self) -> f64 {
        self.sum / f64::from(self.clients.max(1))
    }

    /// Returns the standard deviation of exactly these clients (n, not n - 1); 0
    /// without clients.
    #[must_use]
    pub fn deviation(&self) -> f64 {
        self.deviation_of(self.mean(), self.squares)
    }

    /// Returns the mean over clients of the total service time of a client's
    /// operations, in seconds; 0 without clients.
    #[must_use]
    pub fn busy_mean_s(&self) -> f64 {
        self.busy_s / f64::from(self.clients.max(1))
    }

    /// Returns the standard deviation of these times, computed as
    /// [`Fairness::deviation`].
    #[must_use]
    pub fn busy_deviation_s(&self) -> f64 {
        self.deviation_of(self.busy_mean_s(), self.busy_s_squares)
    }

    fn deviation_of(&self, mean: f64, squares: f64) -> f64 {
        let mean_square = squares / f64::from(self.clients.max(1));
        // Rounding may give a value slightly below zero.
        (mean_square - mean.powi(2)).max(0.0).sqrt()
    }

    /// Returns the fairness index of Jain, Chiu and Hawe ("A Quantitative Measure
    /// of Fairness and Discrimination", DEC TR-301, 1984). It is 1 if all clients
    /// completed the same number, and 1/n if one of n clients did everything.
    /// `None` if no operation completed.
    #[must_use]
    pub fn jain_index(&self) -> Option<f64> {
        (self.squares > 0.0).then(|| self.sum * self.sum / (f64::from(self.clients) * self.squares))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn of(clients: &[u64]) -> Fairness {
        let mut fairness = Fairness::default();
        for &operations in clients {
            fairness.add(operations, Nanos(operations * 1_000_000_000));
        }
        fairness
    }

    #[test]
    fn the_index_tells_equal_from_alone() {
        assert_eq!(of(&[]).jain_index(), None);
        assert_eq!(of(&[0, 0]).jain_index(), None);
        assert_eq!(of(&[7, 7, 7, 7]).jain_index(), Some(1.0));
        assert_eq!(of(&[0, 9, 0, 0]).jain_index(), Some(0.25));
        // The paper's example of four users: (1 + 3 + 5 + 7)^2 / (4 * 84).
        assert_eq!(of(&[1, 3, 5, 7]).jain_index(), Some(256.0 / 336.0));
    }

    #[test]
    fn merged_clients_are_as_those_added_one_by_one() {
        let mut merged = of(&[2, 4, 4]);
        merged.merge(&Fairness::default());
        merged.merge(&of(&[4, 5, 5, 7, 9]));
        assert_eq!(merged, of(&[2, 4, 4, 4, 5, 5, 7, 9]));
        assert_eq!((merged.clients(), merged.min(), merged.max()), (8, 2, 9));
        assert_eq!((merged.mean(), merged.deviation()), (5.0, 2.0));
        let busy = (merged.busy_mean_s(), merged.busy_deviation_s());
        assert_eq!(busy, (5.0, 2.0));
    }

    proptest! {
        #[test]
        fn figures_tell_the_sums_again(
            clients in proptest::collection::vec((0_u64..1_000_000, 0_u64..1 << 40), 1..50),
        ) {
            let mut fairness = Fairness::default();
            for (operations, busy) in clients {
                fairness.add(operations, Nanos(busy));
            }
            let figures = FairnessFigures {
                min: fairness.min(),
                max: fairness.max(),
                mean: fairness.mean(),
                jain_index: fairness.jain_index().unwrap_or(0.0),
                busy_mean_s: fairness.busy_mean_s(),
                busy_sd_s: fairness.busy_deviation_s(),
            };
            let restored = Fairness::restored(fairness.clients(), &figures);
            prop_assert_eq!((restored.sum, restored.squares), (fairness.sum, fairness.squares));
            prop_assert_eq!((restored.min, restored.max), (fairness.min, fairness.max));
            for (one, other) in [
                (restored.busy_s, fairness.busy_s),
                (restored.busy_s_squares, fairness.busy_s_squares),
            ] {
                prop_assert!((one - other).abs() <= 1e-12 * other, "{one} {other}");
            }
        }
    }
}
