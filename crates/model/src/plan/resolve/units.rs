//! Resolves the unit that load points count, and the clients of each population in it.

use super::PlanSources;
use super::populations::is_name;
use crate::lists::clients::CLIENTS_MAX;
use crate::load::RateScope;
use crate::plan::{Plan, PlanError, PopulationProblem};
use crate::spec::{PopulationSpec, WorkSpec};
use crate::unit::LoadUnit;

/// Default units of the load points: ten, as the rules of SPECstorage demand of a curve.
const UNITS: std::ops::RangeInclusive<u32> = 1..=10;

impl PlanSources<'_> {
    /// Returns the unit of the profile, if it has one. Its populations are checked before.
    pub(super) fn unit(&self, run: &WorkSpec) -> Result<Option<LoadUnit>, PlanError> {
        let spec = &self.profile.spec;
        let Some(name) = &spec.unit else {
            let problem = |key| PopulationProblem::WithoutUnit(key).into();
            return match (spec.unit_limits, &run.units) {
                (Some(_), _) => Err(self.in_profile(problem("unit_limits"))),
                (None, Some(_)) => Err(self.in_option("units", problem("units"))),
                (None, None) => Ok(None),
            };
        };
        if !is_name(name) || spec.population.is_empty() {
            return Err(self.in_profile(PopulationProblem::Unit.into()));
        }
        let limits = spec.unit_limits.unwrap_or_default();
        let percents = [
            ("slowest_percent", limits.slowest_percent),
            ("mean_percent", limits.mean_percent),
        ];
        let mut percents = percents.into_iter();
        if let Some((key, wrong)) = percents.find(|(_, of)| !(0.0..=100.0).contains(of)) {
            return Err(self.in_profile(PopulationProblem::UnitLimit(key, wrong).into()));
        }
        let clients = spec.population.iter().filter_map(|table| table.per_unit);
        let clients = clients.fold(0, u32::saturating_add);
        Ok(Some(LoadUnit {
            name: name.clone(),
            clients,
            limits,
        }))
    }

    /// Returns the clients of the load points: of units, or as they are given, as in a search.
    pub(super) fn clients_of_units(&self, unit: &LoadUnit) -> Result<Vec<u32>, PlanError> {
        let fail = |problem: PopulationProblem| Err(self.in_option("units", problem.into()));
        let sources = [&self.options.work, &self.profile.spec.run.work];
        let mut sources = sources.into_iter();
        let given = sources.find(|work| work.clients.is_some() || work.units.is_some());
        let given = given.map(|work| (work.clients.clone(), work.units.clone()));
        let units: Vec<u32> = match given {
            None | Some((None, None)) => UNITS.collect(),
            Some((None, Some(units))) => units.into(),
            Some((Some(clients), None)) => return Ok(clients.into()),
            Some((Some(_), Some(_))) => return fail(PopulationProblem::UnitsAndClients),
        };
        let mut points = Vec::with_capacity(units.len());
        for units in units {
            match units.checked_mul(unit.clients) {
                Some(clients) if clients <= CLIENTS_MAX => points.push(clients),
                _ => {
                    let clients = unit.clients.into();
                    return fail(PopulationProblem::TooManyUnits { units, clients });
                }
            }
        }
        Ok(points)
    }
}

/// Returns the tables of the populations with the shares that their clients in a unit are.
pub(super) fn with_shares(
    tables: &[PopulationSpec],
    unit: Option<&LoadUnit>,
) -> Vec<PopulationSpec> {
    let mut tables = tables.to_vec();
    if let Some(unit) = unit {
        let percent = |per_unit| f64::from(per_unit) * 100.0 / f64::from(unit.clients);
        for table in &mut tables {
            table.share = table.per_unit.map(percent);
        }
    }
    tables
}

/// Finds out why a table does not say how many clients a population has.
pub(super) fn unfit_clients(
    unit: Option<&str>,
    table: &PopulationSpec,
) -> Option<PopulationProblem> {
    let has_others = [
        table.clients.is_some(),
        table.share.is_some(),
        table.stages.is_some(),
    ];
    match (unit, table.per_unit) {
        (None, Some(_)) => Some(PopulationProblem::WithoutUnit("per_unit")),
        (Some(unit), _) if has_others.contains(&true) => {
            Some(PopulationProblem::UnitAndClients(unit.to_owned()))
        }
        (Some(unit), None | Some(0)) => Some(PopulationProblem::NoPerUnit(unit.to_owned())),
        (Some(_), Some(_)) => None,
        (None, None) => match (table.clients, table.share) {
            (None, None) if table.stages.is_none() => Some(PopulationProblem::NoClients),
            (Some(_), Some(_)) => Some(PopulationProblem::ClientsAndShare),
            _ => None,
        },
    }
}

/// Finds out why the clients of a plan cannot be those of a unit.
pub(super) fn unfit_rate(unit: &LoadUnit, plan: &Plan) -> Option<PopulationProblem> {
    let is_of_client = |scope| scope == RateScope::Client;
    let rate = plan.only().load.rate();
    let is_fit = rate.is_some_and(|(rate, _)| is_of_client(rate.scope));
    (!is_fit).then(|| PopulationProblem::UnitRate(unit.name.clone()))
}
