//! Resolves stages and soaks: one load point of the most clients, whose load changes.

use std::time::Duration;

use super::PlanSources;
use super::shares::clients_of;
use crate::limits::Limits;
use crate::load::{LoadModel, RATE_MAX};
use crate::plan::{Place, Plan, PlanError};
use crate::profile::Profile;
use crate::spec::{PopulationSpec, RunOptions};
use crate::stages::{StageUnit, Stages, StagesError, StagesPurpose};
use crate::target::Target;
use crate::work::{Population, WorkProblem, WorkSpec};
use crate::workload::Workload;

/// Default number of clients of a soak.
const SOAK_CLIENTS: u32 = 16;
/// Default number of clients of stages of a rate.
const RATE_CLIENTS: u32 = 64;

impl PlanSources<'_> {
    /// Resolves a plan whose load has stages. `given` has the options of the work from all
    /// sources that count.
    pub(super) fn staged(
        &self,
        given: &WorkSpec,
        target: Target,
        limits: Limits,
        cores: u32,
    ) -> Result<Plan, PlanError> {
        let stages = self.stages(given)?;
        let mut options: RunOptions = self.options.clone();
        let work = &mut options.work;
        (work.stages, work.soak) = (None, None);
        work.duration = Some(stages.total());
        if given.ramp_up.is_none() {
            work.ramp_up = Some(Duration::ZERO);
        }
        match stages.unit {
            StageUnit::Clients if self.has_own_clients(&stages) => {}
            StageUnit::Clients => work.clients = (stages.most() as u32).to_string().parse().ok(),
            StageUnit::Rate => {
                work.rate = stages.most().to_string().parse().ok();
                if given.clients.is_none() {
                    work.clients = RATE_CLIENTS.to_string().parse().ok();
                }
            }
        }
        let mut profile: Profile = self.profile.clone();
        if stages.purpose == StagesPurpose::Lines {
            divide_at_start(&mut profile.spec.population, &stages);
        }
        profile.spec.run.work = profile.spec.run.work.without_length();
        let plan = Plan::resolve_level(&profile, &options, target, limits, cores);
        let mut plan = plan.map_err(|error| self.placed_at_stages(error))?;
        if self.profile.spec.unit.is_none() {
            // Documents have the shares that were asked for.
            let tables = self.profile.spec.population.iter();
            for (population, table) in plan.work.populations.iter_mut().zip(tables) {
                population.share = table.share;
            }
        }
        let stages = match stages.purpose {
            StagesPurpose::Lines => stages,
            // The populations may have said how many clients they are.
            StagesPurpose::Soak => self.rows(plan.max_clients(), stages.total())?,
        };
        plan.work.stages = Some(stages);
        self.check_begin(&plan)?;
        self.check_stages(&plan)?;
        let checked = plan.check_numbers();
        checked.map_err(|(option, problem)| self.in_option(option, problem))?;
        Ok(plan)
    }

    /// Returns the error with the place of the stages, if it is one of a value that they gave.
    fn placed_at_stages(&self, error: PlanError) -> PlanError {
        match error.place {
            Place::Option(option) if !self.options.gives(option) => {
                let option = if self.options.work.soak.is_some() {
                    "soak"
                } else {
                    "stages"
                };
                self.in_option(option, error.problem)
            }
            _ => error,
        }
    }

    /// Returns whether populations have stages of their own.
    pub(super) fn has_lines(&self) -> bool {
        let mut tables = self.profile.spec.population.iter();
        tables.any(|table| table.stages.is_some())
    }

    /// Returns the line of all clients, if populations have stages of their own.
    fn sum_of_lines(&self, given: &WorkSpec) -> Result<Option<Stages>, PlanError> {
        if !self.has_lines() {
            return Ok(None);
        }
        let other = [
            ("stages", given.stages.is_some()),
            ("soak", given.soak.is_some()),
        ];
        if let Some((option, _)) = other.into_iter().find(|(_, is_given)| *is_given) {
            let why = "populations have stages of their own: drop this option";
            return Err(self.in_option(option, WorkProblem::Stages(why).into()));
        }
        let tables = &self.profile.spec.population;
        for table in tables {
            let is_of_rate = |stages: &Stages| stages.unit == StageUnit::Rate;
            let why = match (&table.stages, table.share) {
                (Some(own), _) if is_of_rate(own) => {
                    "stages of a population are numbers of its clients, such as 2m:50"
                }
                (_, Some(_)) => {
                    "beside populations with stages of their own, give clients in place of a share"
                }
                _ => continue,
            };
            return Err(PlanError {
                place: Place::Profile(self.place_of(table)),
                problem: WorkProblem::Stages(why).into(),
            });
        }
        let lines: Vec<_> = tables.iter().filter_map(PopulationSpec::line).collect();
        let others = tables.iter().filter(|table| table.stages.is_none());
        let others = others.filter_map(|table| table.clients);
        let sum = Stages::sum(&lines, others.fold(0, u32::saturating_add));
        let sum = sum.map_err(|error| self.in_profile(WorkProblem::from(error).into()))?;
        Ok(Some(sum))
    }

    /// Returns whether the populations alone say how many clients a load has.
    fn has_own_clients(&self, stages: &Stages) -> bool {
        let is_given =
            self.options.work.clients.is_some() || self.profile.spec.run.work.clients.is_some();
        let is_soak = stages.purpose == StagesPurpose::Soak;
        let spec = &self.profile.spec;
        let have_clients = !spec.population.is_empty() && spec.unit.is_none();
        self.has_lines() || is_soak && !is_given && have_clients
    }

    /// Returns the rows of a soak.
    fn rows(&self, clients: u32, length: Duration) -> Result<Stages, PlanError> {
        let rows = Stages::soak(clients, length);
        rows.map_err(|error| self.in_option("soak", WorkProblem::from(error).into()))
    }

    /// Returns the stages. Other options for the length of the load are refused.
    fn stages(&self, given: &WorkSpec) -> Result<Stages, PlanError> {
        let fail = |option, why| Err(self.in_option(option, WorkProblem::Stages(why).into()));
        let others = [
            ("duration", given.duration.is_some()),
            ("until_steady", given.until_steady.is_some()),
            ("loops", given.loops.is_some()),
        ];
        if let Some((option, _)) = others.into_iter().find(|(_, is_given)| *is_given) {
            return fail(
                option,
                "stages and soaks say how long the load takes: drop this option",
            );
        }
        // Clients of the command line go before units of the profile.
        if given.units.is_some()
            && (self.options.work.units.is_some() || self.options.work.clients.is_none())
        {
            return fail(
                "units",
                "stages and soaks count clients: give clients in place of units",
            );
        }
        if let Some(sum) = self.sum_of_lines(given)? {
            return Ok(sum);
        }
        let clients = given.clients.clone().map(Vec::from).unwrap_or_default();
        if clients.len() > 1 {
            return fail(
                "clients",
                "a load with stages has one number of clients at its start: give one",
            );
        }
        let clients = clients.first().copied();
        let mut stages = match (&given.stages, given.soak) {
            (Some(_), Some(_)) => {
                return fail("soak", "a soak has no other stages: drop one of them");
            }
            (Some(stages), None) => stages.clone(),
            (None, soak) => {
                return self.rows(clients.unwrap_or(SOAK_CLIENTS), soak.unwrap_or_default());
            }
        };
        if stages.unit == StageUnit::Rate && !self.profile.spec.population.is_empty() {
            return fail(
                "stages",
                "populations have rates of their own: give stages with numbers of clients",
            );
        }
        if stages.unit == StageUnit::Rate && given.think_time.is_some() {
            return fail(
                "think_time",
                "the stages have rates, which know no think time: drop think_time",
            );
        }
        match (stages.unit, clients, &given.rate) {
            (StageUnit::Clients, _, Some(_)) => {
                return fail(
                    "rate",
                    "the stages have numbers of clients: give them rates, such as 2m:5000/s",
                );
            }
            (StageUnit::Clients, Some(clients), None) => stages.begin = clients.into(),
            (StageUnit::Rate, _, Some(rates)) if rates.as_slice().len() > 1 => {
                return fail(
                    "rate",
                    "a load with stages has one rate at its start: give one",
                );
            }
            (StageUnit::Rate, clients, Some(rates)) => {
                stages.begin = rates.highest().of_all(clients.unwrap_or(RATE_CLIENTS));
                if stages.begin > RATE_MAX {
                    let problem = StagesError::BeginRate(stages.begin.to_string());
                    return Err(self.in_option("rate", WorkProblem::from(problem).into()));
                }
            }
            _ => {}
        }
        Ok(stages)
    }

    /// Checks that all clients begin with the first stage.
    fn check_begin(&self, plan: &Plan) -> Result<(), PlanError> {
        let fail = |option, why| Err(self.in_option(option, WorkProblem::Stages(why).into()));
        let work = &plan.work;
        let mut populations = work.populations.iter();
        let purpose = work.stages.as_ref().map(|stages| stages.purpose);
        if purpose == Some(StagesPurpose::Soak) {
            return if populations.any(|one| one.start > work.ramp_up) {
                fail(
                    "start",
                    "the load of a soak is even: give a ramp-up as long as the latest start",
                )
            } else {
                Ok(())
            };
        }
        // A linear ramp needs a ramp-up as well.
        if !work.ramp_up.is_zero() {
            return fail(
                "ramp_up",
                "stages say how the load rises: drop ramp_up, or set it to 0s",
            );
        }
        if populations.any(|one| one.is_moved() && !one.start.is_zero()) {
            return fail(
                "start",
                "a population with a share or stages follows the stages from their start: drop \
                 its start, or give it clients",
            );
        }
        Ok(())
    }

    /// Checks that the work can follow the stages.
    fn check_stages(&self, plan: &Plan) -> Result<(), PlanError> {
        let stages = plan.work.stages.as_ref();
        let option = if stages.is_some_and(|stages| stages.purpose == StagesPurpose::Soak) {
            "soak"
        } else {
            "stages"
        };
        let fail = |why| Err(self.in_option(option, WorkProblem::Stages(why).into()));
        let lines = stages.filter(|stages| stages.purpose == StagesPurpose::Lines);
        for population in &plan.work.populations {
            let stays = lines.is_none() || !population.is_moved();
            let follows = match (&population.load, lines.map(|lines| lines.unit)) {
                (LoadModel::Closed { .. } | LoadModel::Rate { .. }, _) => true,
                (LoadModel::Stream(_), unit) => unit == Some(StageUnit::Clients),
                _ => false,
            };
            if !stays && !follows {
                return fail(
                    "a recording keeps its own times, and a stream its rate: neither follows these",
                );
            }
            if population.ends_with_its_work() {
                return fail(
                    "a load with stages must not end by itself, as loops and fileio tests do",
                );
            }
        }
        let mut populations = plan.work.populations.iter();
        if lines.is_some() && !populations.clone().any(Population::is_moved) {
            return fail("no population has a share of the clients, so that none could change");
        }
        let has_pauses = |workload: &Workload| {
            let replay = workload.replay();
            replay.is_some_and(|replay| replay.recording.has_pauses())
                || workload.pattern().is_some()
        };
        let paused = |one: &Population| one.is_moved() && has_pauses(&one.workload);
        if lines.is_some() && populations.any(paused) {
            return fail(
                "a recording with pauses and a pattern keep their own pace, without stages",
            );
        }
        if plan.work.repeat > 1 && option == "soak" {
            return fail("a soak has one pass: drop repeat");
        }
        if !plan.work.events.is_empty() {
            return fail("events have no place in stages: drop them");
        }
        Ok(())
    }
}

/// Lets shares that fit the clients at the start of stages divide those of the highest level.
/// Beside a number of clients, shares may be percent of all clients, which fits one level only.
fn divide_at_start(tables: &mut [PopulationSpec], stages: &Stages) {
    let fits = |level: f64| clients_of(tables, &[level as u32], true).is_ok();
    let fits_start = stages.unit == StageUnit::Clients && fits(stages.begin);
    if fits(stages.most()) || !fits_start {
        return;
    }
    let sum: f64 = tables.iter().filter_map(|table| table.share).sum();
    let shares = tables.iter_mut().filter_map(|table| table.share.as_mut());
    shares.for_each(|share| *share = (*share * 100.0 / sum).min(100.0));
}
