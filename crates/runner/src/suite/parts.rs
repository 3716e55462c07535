//! The parts of a pass, each measured as a whole: its load points, or its search.

use smbench_model::load::Rate;
use smbench_model::plan::Plan;
use smbench_model::work::Work;
use smbench_report::units::counted;
use smbench_report::{Load, RunDoc};

/// A part of a pass.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum PassPart {
    /// A load point: the number of clients, and the rate where the load points of the plan
    /// differ in it.
    Load(u32, Option<Rate>),
    /// A search with all its probes.
    Search,
}

impl PassPart {
    /// Returns the load points of a plan, in the order they run.
    pub(super) fn loads(work: &Work) -> Vec<Self> {
        let loads = work.loads().into_iter();
        loads
            .map(|(clients, rate)| Self::Load(clients, rate))
            .collect()
    }

    /// Returns whether a document of the pass has this part.
    pub(super) fn is_in(self, run: &RunDoc) -> bool {
        match self {
            Self::Search => true,
            Self::Load(clients, rate) => {
                let rate = rate.map(|rate| rate.of_all(clients));
                let load = Load::of(clients, rate);
                // Stages are one load.
                let mut points = run.load_points.iter();
                points.any(|point| point.stage.is_some() || point.load() == load)
            }
        }
    }

    /// Returns a plan of only these parts of it.
    pub(super) fn plan_of(parts: &[Self], plan: Plan) -> Plan {
        let mut work = plan.work;
        let loads = parts.iter().filter_map(|part| match part {
            Self::Load(clients, rate) => Some((*clients, *rate)),
            Self::Search => None,
        });
        let (mut clients, rates): (Vec<_>, Vec<_>) = loads.unzip();
        if let [_, _, ..] = &work.populations[..] {
            let kept: Vec<_> = work.load_points();
            let is_left = |at: &usize| kept.get(*at).is_some_and(|all| clients.contains(all));
            for population in &mut work.populations {
                let points = population.clients.iter().enumerate();
                let left = points.filter(|(at, _)| clients.is_empty() || is_left(at));
                population.clients = left.map(|(_, clients)| *clients).collect();
            }
        } else if !clients.is_empty() {
            let population = work.only_mut();
            population.rates = rates.into_iter().flatten().collect();
            if !population.rates.is_empty() {
                clients.dedup();
            }
            population.clients = clients;
        }
        Plan { work, ..plan }
    }
}

/// Formats a number of parts: `2 load points`, `1 load point and 2 searches`.
pub(super) fn counted_parts(parts: &[PassPart]) -> String {
    let searches = parts
        .iter()
        .filter(|part| **part == PassPart::Search)
        .count();
    let points = parts.len() - searches;
    let counted_points = counted(points as u64, "load point");
    let counted_searches = match searches {
        1 => "1 search".to_owned(),
        several => format!("{several} searches"),
    };
    match (points, searches) {
        (_, 0) => counted_points,
        (0, _) => counted_searches,
        _ => format!("{counted_points} and {counted_searches}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::tests::record;

    #[test]
    fn the_plan_of_what_is_left_has_its_rates_or_its_clients() {
        let mut plan = record().plan;
        plan.only_mut().clients = vec![1, 4];
        let all = PassPart::loads(&plan.work);
        assert_eq!(all, [PassPart::Load(1, None), PassPart::Load(4, None)]);
        let left = PassPart::plan_of(&all[1..], plan.clone());
        assert_eq!(
            (left.work.load_points(), left.only().rates.len()),
            (vec![4], 0)
        );
        let rates = ["100", "200", "300"].map(|rate| rate.parse::<Rate>().unwrap());
        plan.only_mut().clients = vec![64];
        plan.only_mut().rates = rates.to_vec();
        let all = PassPart::loads(&plan.work);
        let left = PassPart::plan_of(&all[1..], plan.clone());
        assert_eq!(
            (left.work.load_points(), left.only().rates.clone()),
            (vec![64], rates[1..].to_vec())
        );
        // A search has the loads of its plan.
        assert_eq!(PassPart::plan_of(&[PassPart::Search], plan.clone()), plan);
    }

    #[test]
    fn parts_are_counted_by_their_kind() {
        let (load, search) = (PassPart::Load(1, None), PassPart::Search);
        for (parts, text) in [
            (&[load][..], "1 load point"),
            (&[search], "1 search"),
            (
                &[load, load, search, search],
                "2 load points and 2 searches",
            ),
        ] {
            assert_eq!(counted_parts(parts), text);
        }
    }
}
