//! Divides clients among populations by their shares.

use super::{Population, Work};

/// Tolerance for a part that is a whole number, such as a third of 3.
const TOLERANCE: f64 = 1e-6;

impl Work {
    /// Returns the clients of each population if all together have this many. Those without a
    /// share have as many as at the first load point. `None` if one would have none, and if no
    /// population has a share.
    #[must_use]
    pub fn divided(&self, clients: u32) -> Option<Vec<u32>> {
        let fixed = |one: &Population| match one.share {
            None => one.clients.first().copied().unwrap_or(0),
            Some(_) => 0,
        };
        let left = clients.checked_sub(self.populations.iter().map(fixed).sum())?;
        let shares = self.populations.iter().filter_map(|one| one.share);
        let shares: Vec<f64> = shares.collect();
        if shares.is_empty() {
            return None;
        }
        let mut parts = divided(&shares, left.into()).into_iter();
        let clients = self.populations.iter().map(|one| match one.share {
            None => fixed(one),
            Some(_) => parts.next().unwrap_or(0) as u32,
        });
        let clients: Vec<u32> = clients.collect();
        (!clients.contains(&0)).then_some(clients)
    }
}

/// Divides a number in the proportion of the shares. Of what is left over by rounding, the largest
/// remainders get one each.
pub(crate) fn divided(shares: &[f64], number: u64) -> Vec<u64> {
    let sum: f64 = shares.iter().sum();
    let exact = shares.iter().map(|share| number as f64 * share / sum);
    let exact: Vec<f64> = exact.collect();
    let whole = |part: &f64| (part + TOLERANCE).floor() as u64;
    let mut parts: Vec<u64> = exact.iter().map(whole).collect();
    let mut order: Vec<usize> = (0..shares.len()).collect();
    order.sort_by(|&one, &other| {
        let rest = |at: usize| exact[at] - parts[at] as f64;
        rest(other).total_cmp(&rest(one))
    });
    let missing = number.saturating_sub(parts.iter().sum());
    for at in order.into_iter().take(missing as usize) {
        parts[at] += 1;
    }
    parts
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn parts_sum_up_and_are_near_their_shares(
            shares in prop::collection::vec(0.1_f64..100.0, 1..8),
            number in 0_u64..100_000,
        ) {
            let parts = divided(&shares, number);
            prop_assert_eq!(parts.iter().sum::<u64>(), number);
            let sum: f64 = shares.iter().sum();
            for (part, share) in parts.iter().zip(&shares) {
                let exact = number as f64 * share / sum;
                prop_assert!((*part as f64 - exact).abs() < 1.01);
            }
        }
    }

    #[test]
    fn thirds_are_whole() {
        assert_eq!(divided(&[33.3, 33.3, 33.3], 3), [1, 1, 1]);
        assert_eq!(divided(&[80.0, 20.0], 7), [6, 1]);
    }
}
