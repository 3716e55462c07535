//! Divides the clients of load points among populations.

use super::{WEIGHT_TOLERANCE, is_all};
use crate::plan::PopulationProblem;
use crate::spec::PopulationSpec;

/// Returns the clients of each population at each load point. `points` has the clients of all
/// together, and `is_given` says whether a user gave them.
///
/// A number of clients holds at every load point. The shares divide the other clients. Of the
/// clients that are left over by rounding, the largest remainders get one each.
pub(super) fn clients_of(
    tables: &[PopulationSpec],
    points: &[u32],
    is_given: bool,
) -> Result<Vec<Vec<u32>>, PopulationProblem> {
    let of_table = |table: &PopulationSpec| table.clients.map_or(0, u64::from);
    let fixed: u64 = tables.iter().map(of_table).sum();
    let shares: Vec<f64> = tables.iter().filter_map(|table| table.share).collect();
    let unfit = |share: &&f64| !(**share > 0.0 && **share <= 100.0);
    if let Some(share) = shares.iter().find(unfit) {
        return Err(PopulationProblem::Share(*share));
    }
    let points = match (shares.is_empty(), u32::try_from(fixed)) {
        (true, Ok(fixed)) if !is_given => vec![fixed],
        _ => points.to_vec(),
    };
    let mut all = vec![Vec::new(); tables.len()];
    for clients in points {
        let left = left_over(&shares, clients, fixed)?;
        let mut parts = divided(&shares, left).into_iter();
        for (table, of_table) in tables.iter().zip(&mut all) {
            let part = match table.clients {
                Some(clients) => clients,
                None => parts.next().unwrap_or(0) as u32,
            };
            if part == 0 {
                let name = table.name.clone();
                return Err(PopulationProblem::NoneLeft { name, clients });
            }
            of_table.push(part);
        }
    }
    Ok(all)
}

/// Returns the clients that the shares divide. `fixed` clients have no share.
fn left_over(shares: &[f64], clients: u32, fixed: u64) -> Result<u64, PopulationProblem> {
    let left = u64::from(clients).checked_sub(fixed);
    let left = left.ok_or(PopulationProblem::TooFew { clients, fixed })?;
    if shares.is_empty() {
        return match left {
            0 => Ok(0),
            _ => Err(PopulationProblem::OtherSum { clients, fixed }),
        };
    }
    let sum: f64 = shares.iter().sum();
    // Beside a number of clients, shares are percent of the others, or of all.
    let is_of_all = (sum / 100.0 * f64::from(clients) - left as f64).abs() < 0.5;
    if is_all(sum) || fixed > 0 && is_of_all {
        Ok(left)
    } else {
        Err(PopulationProblem::ShareSum {
            sum,
            clients,
            fixed,
        })
    }
}

/// Divides a number in the proportion of the shares.
fn divided(shares: &[f64], number: u64) -> Vec<u64> {
    let sum: f64 = shares.iter().sum();
    let exact = shares.iter().map(|share| number as f64 * share / sum);
    let exact: Vec<f64> = exact.collect();
    // A third of 3 may be a little less than 1.
    let whole = |part: &f64| (part + WEIGHT_TOLERANCE / 1e4).floor() as u64;
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
