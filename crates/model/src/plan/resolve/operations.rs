//! Validates a mix of operations.

use super::{PlanSources, is_all};
use crate::action::{Action, DialectNeed, WeightedAction, dialect_needed};
use crate::bounds::OPERATIONS_MAX;
use crate::plan::{Plan, PlanError, Problem};
use crate::workload::Requests;

impl PlanSources<'_> {
    /// Resolves a weighted mix of any commands.
    pub(super) fn mix(&self, operations: &[WeightedAction]) -> Result<Requests, PlanError> {
        let spec = &self.profile.spec;
        let fail = |problem| Err(self.in_profile(problem));
        for (name, is_given) in [
            ("read_percent", spec.read_percent.is_some()),
            ("split", spec.split.is_some()),
            ("flush_every_writes", spec.flush_every_writes.is_some()),
        ] {
            if is_given {
                return fail(Problem::TwoMixes(name));
            }
        }
        if operations.len() > OPERATIONS_MAX {
            return fail(Problem::TooManyOperations(operations.len()));
        }
        let wrong = |entry: &&WeightedAction| !(0.0..=f64::MAX).contains(&entry.weight);
        if let Some(WeightedAction { action, weight }) = operations.iter().find(wrong) {
            let (op, weight) = (action.name(), *weight);
            return fail(Problem::OperationWeight { op, weight });
        }
        let is_session = |entry: &WeightedAction| entry.action == Action::Session;
        if operations.len() > 1 && operations.iter().any(is_session) {
            return fail(Problem::SessionNotAlone);
        }
        let is_walk = |entry: &WeightedAction| matches!(entry.action, Action::Walk { .. });
        if operations.len() > 1 && operations.iter().any(is_walk) {
            return fail(Problem::WalkNotAlone);
        }
        let is_neighbour =
            |entry: &WeightedAction| matches!(entry.action, Action::Neighbour { .. });
        let makes = |entry: &WeightedAction| entry.action == Action::CopyIn && entry.weight > 0.0;
        if operations.iter().any(is_neighbour) && !operations.iter().any(makes) {
            return fail(Problem::NeighbourAlone);
        }
        let sum: f64 = operations.iter().map(|entry| entry.weight).sum();
        if is_all(sum) {
            Ok(Requests::Mix(operations.to_vec()))
        } else {
            fail(Problem::OperationWeightSum(sum))
        }
    }

    /// Checks that every command of the mix exists in at least one offered dialect.
    pub(super) fn check_dialects(&self, plan: &Plan) -> Result<(), PlanError> {
        let dialects = plan.sessions.options.dialects;
        for action in plan.only().workload.actions() {
            let Some(DialectNeed { what, needs, has }) = dialect_needed(&action) else {
                continue;
            };
            if !dialects.iter().any(has) {
                let problem = Problem::Dialect {
                    what,
                    needs,
                    dialects: dialects.to_string(),
                };
                return Err(self.in_option("dialect", problem));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
