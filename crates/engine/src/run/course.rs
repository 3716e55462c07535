//! The load points of a run, one after another: those of its plan, or those that the
//! earlier ones lead to.

use smbench_model::load::Rate;
use smbench_model::load::{PointLoad, SetupFailures};
use smbench_model::plan::Plan;
use smbench_model::record::RunRecord;

/// Chooses the load points of a run. [`PlannedCourse`] has those of a plan; a search
/// chooses each one by the results so far.
pub trait Course {
    /// Returns the next load point; `None` ends the run. `record` has the load points so
    /// far. The plan must allow for the clients: none may be more than its largest load
    /// point has. A rate replaces that of a plan with a rate.
    fn next(&mut self, record: &RunRecord) -> Option<PointLoad>;

    /// Returns the number of clients that some load point has for certain. Whether the
    /// share has the space for their files is checked first.
    fn clients_for_certain(&self) -> u32;

    /// Returns the largest number of load points that the run can have.
    fn at_most(&self) -> u32;

    /// Returns whether the run has further load points after one that lost all its clients, as
    /// long as the server is there; `false` by default. A search learns from it.
    fn is_search(&self) -> bool {
        false
    }
}

/// All load points of a plan, in each of its passes.
#[derive(Clone, Debug)]
pub struct PlannedCourse {
    /// Clients of each load point, and its rate, where load points differ in it.
    points: Vec<(u32, Option<Rate>)>,
    repeat: u32,
    done: usize,
}

impl PlannedCourse {
    /// Begins with the first load point of the first pass.
    #[must_use]
    pub fn of(plan: &Plan) -> Self {
        Self {
            points: plan.work.loads(),
            repeat: plan.work.repeat,
            done: 0,
        }
    }
}

impl Course for PlannedCourse {
    fn next(&mut self, _: &RunRecord) -> Option<PointLoad> {
        let (pass, place) = (self.done / self.points.len(), self.done % self.points.len());
        self.done += 1;
        let repeat = pass as u32 + 1;
        let (clients, rate) = self.points[place];
        (repeat <= self.repeat).then_some(PointLoad {
            clients,
            rate,
            repeat,
            place: Some(place as u32),
            setup: SetupFailures::EndRun,
        })
    }

    fn clients_for_certain(&self) -> u32 {
        let clients = self.points.iter().map(|(clients, _)| *clients);
        clients.max().unwrap_or(0)
    }

    fn at_most(&self) -> u32 {
        self.repeat * self.points.len() as u32
    }
}
