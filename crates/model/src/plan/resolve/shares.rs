//! Divides the clients of load points among populations.

use super::is_all;
use crate::plan::PopulationProblem;
use crate::spec::PopulationSpec;
use crate::work::divided;

/// Returns the clients of each population at each load point. `points` has the clients of all
/// together, and `is_given` says whether a user gave them.
///
/// A number of clients holds at every load point. The shares divide the other clients.
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
