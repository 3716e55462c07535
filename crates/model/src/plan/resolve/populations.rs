//! Resolves the populations of a profile. Each is a plan of its own, of its profile and the
//! options of its table. Together they are one plan. Not here: how clients are divided
//! ([`super::shares`]).

use std::collections::HashSet;

use super::shares::clients_of;
use super::units::{unfit_clients, unfit_rate, with_shares};
use super::{PlanSources, on_command_line};
use crate::event::default_window;
use crate::kind::OpKind;
use crate::limits::Limits;
use crate::lists::clients::ClientList;
use crate::plan::{Place, Plan, PlanError, PopulationProblem};
use crate::profile::Profile;
use crate::sessions::{Connections, Sessions};
use crate::spec::{PopulationSpec, RunOptions, SessionsSpec, Spec, WorkSpec};
use crate::target::Target;
use crate::work::{Population, WINDOW, Work};

/// Default number of clients of a load point: with 100, a share is a number of clients.
const CLIENTS: u32 = 100;
/// Options of the work that belong to a population, and so not to the run.
const OF_TABLE: [&str; 7] = [
    "outstanding",
    "rate",
    "arrivals",
    "think_time",
    "think_distribution",
    "timing",
    "speed",
];
/// Options that the profile of a population may also set for its clients.
const OF_PROFILE: [&str; 8] = [
    "loops", "ramp", "verify", "oplock", "dialect", "sign", "encrypt", "credits",
];
/// Options of the work that have no meaning with populations.
const OF_NONE: [&str; 2] = ["loops", "file_size"];

impl PlanSources<'_> {
    /// Resolves the populations of the profile. `cores` is the default number of threads.
    pub(super) fn populations(
        &self,
        target: &Target,
        limits: Limits,
        cores: u32,
    ) -> Result<Plan, PlanError> {
        let Self { profile, options } = self;
        self.check_populations()?;
        let run = (*options).clone().or(profile.spec.run.clone());
        let unit = self.unit(&run.work)?;
        if unit.is_some() && run.sessions.churn.is_some() {
            return Err(self.in_option("churn", PopulationProblem::UnitChurn.into()));
        }
        let points = match &unit {
            Some(unit) => self.clients_of_units(unit)?,
            None => run.work.clients.clone().map_or(vec![CLIENTS], Vec::from),
        };
        let mut tables = with_shares(&profile.spec.population, unit.as_ref());
        for table in &mut tables {
            if let Some(line) = table.line() {
                table.clients = Some(line.most() as u32);
                table.stages = Some(line);
            }
        }
        let is_given = unit.is_some() || run.work.clients.is_some();
        let clients = clients_of(&tables, &points, is_given);
        let clients = clients.map_err(|problem| self.in_option("clients", problem.into()))?;
        let members = tables.iter().zip(&profile.populations).zip(clients);
        let plans = members.map(|((table, member), clients)| {
            let mut of_one = self.options_of(table, &run, &clients);
            if member.is_of_capture() {
                // It ends with the window, as the others do.
                let events = run.work.event.as_deref().unwrap_or_default();
                let window = default_window(events).unwrap_or(WINDOW);
                of_one.work.duration.get_or_insert(window);
            }
            let member = Profile {
                origin: self.place_of(table),
                ..member.clone()
            };
            let plan = Plan::resolve(&member, &of_one, target.clone(), limits, cores);
            let mut plan = plan.map_err(|error| self.placed(error, &member))?;
            let unfit = unit.as_ref().and_then(|unit| unfit_rate(unit, &plan));
            if let Some(problem) = unfit {
                return Err(self.in_table(table, problem));
            }
            let only = plan.only_mut();
            only.clients = only.workload.clients(clients);
            Ok(plan)
        });
        let plans = plans.collect::<Result<Vec<_>, PlanError>>()?;
        let mut plan = self.joined(plans, &tables, Sessions::of(run.sessions, target.clone()));
        plan.work.unit = unit;
        Ok(plan)
    }

    /// Makes one plan of the plans of the populations.
    fn joined(&self, mut plans: Vec<Plan>, tables: &[PopulationSpec], sessions: Sessions) -> Plan {
        let is_only = plans.len() == 1;
        let of_run = &sessions.connections.sources;
        let parts = plans.iter().zip(tables);
        let parts = parts.zip(&self.profile.populations);
        let parts = parts.map(|((plan, table), member)| {
            let caching = plan.sessions.caching;
            let own = plan.sessions.options;
            let Connections {
                credits, sources, ..
            } = plan.sessions.connections.clone();
            Population {
                name: Some(table.name.clone()),
                profile: member.name(),
                share: table.share,
                per_unit: table.per_unit,
                stages: table.stages.clone(),
                start: table.start.unwrap_or_default(),
                caching: (!is_only && caching != sessions.caching).then_some(caching),
                session: (own != sessions.options).then_some(own),
                credits: credits.filter(|_| credits != sessions.connections.credits),
                sources: sources.filter(|own| !is_only && of_run.as_ref() != Some(own)),
                ..plan.only().clone()
            }
        });
        let populations = parts.collect();
        let first = plans.swap_remove(0);
        Plan {
            work: Work {
                profile: self.profile.name(),
                populations,
                ..first.work
            },
            sessions: if is_only { first.sessions } else { sessions },
            ..first
        }
    }

    /// Returns the options of a population, as if they were given for its profile. `run` has
    /// those of all populations.
    fn options_of(&self, table: &PopulationSpec, run: &RunOptions, clients: &[u32]) -> RunOptions {
        let most = clients.iter().max().map(ToString::to_string);
        let clients: Option<ClientList> = most.and_then(|most| most.parse().ok());
        let given = &self.options.sessions;
        let sources = given.source_ip.clone().or(table.source_ip.clone());
        RunOptions {
            work: WorkSpec {
                clients,
                units: None,
                outstanding: table.outstanding,
                rate: table.rate.clone(),
                arrivals: table.arrivals,
                think_time: table.think_time,
                think_distribution: table.think_distribution,
                timing: table.timing,
                speed: table.speed,
                ..run.work.clone()
            },
            generator: run.generator.clone(),
            sessions: SessionsSpec {
                oplock: given.oplock.or(table.oplock).or(run.sessions.oplock),
                dialect: given.dialect.or(table.dialect).or(run.sessions.dialect),
                sign: given.sign.or(table.sign).or(run.sessions.sign),
                encrypt: given.encrypt.or(table.encrypt).or(run.sessions.encrypt),
                credits: given.credits.or(table.credits).or(run.sessions.credits),
                source_ip: sources.or(run.sessions.source_ip.clone()),
                ..run.sessions.clone()
            },
        }
    }

    /// Checks what each table says, and that nothing else describes the work.
    fn check_populations(&self) -> Result<(), PlanError> {
        let spec = &self.profile.spec;
        let rest = Spec {
            name: spec.name.clone(),
            description: spec.description.clone(),
            population: spec.population.clone(),
            unit: spec.unit.clone(),
            unit_limits: spec.unit_limits,
            run: spec.run.clone(),
            ..Spec::default()
        };
        if rest != *spec {
            return Err(self.in_profile(PopulationProblem::OtherWork.into()));
        }
        let of_all = |key: &str| self.options.gives(key) || spec.run.gives(key);
        if let Some(key) = OF_NONE.into_iter().find(|key| of_all(key)) {
            return Err(self.in_option(key, PopulationProblem::Unfit(key).into()));
        }
        if let Some(key) = OF_TABLE.into_iter().find(|key| of_all(key)) {
            return Err(self.in_option(key, PopulationProblem::OfTable(key).into()));
        }
        if self.profile.populations.len() != spec.population.len() {
            return Err(self.in_profile(PopulationProblem::NotLoaded.into()));
        }
        let mut names = HashSet::new();
        for (table, member) in spec.population.iter().zip(&self.profile.populations) {
            let problem = unfit_name(&table.name).or_else(|| {
                let is_new = names.insert(&table.name);
                (!is_new).then_some(PopulationProblem::NameTwice)
            });
            let problem = problem.or_else(|| unfit_clients(spec.unit.as_deref(), table));
            if let Some(problem) = problem.or_else(|| unfit_profile(member)) {
                return Err(self.in_table(table, problem));
            }
        }
        Ok(())
    }

    fn in_table(&self, table: &PopulationSpec, problem: PopulationProblem) -> PlanError {
        PlanError {
            place: Place::Profile(self.place_of(table)),
            problem: problem.into(),
        }
    }

    pub(super) fn place_of(&self, table: &PopulationSpec) -> String {
        format!("{}, population {}", self.profile.origin, table.name)
    }

    /// Returns the error of a population with the place of the value.
    fn placed(&self, error: PlanError, member: &Profile) -> PlanError {
        match error.place {
            Place::Option(option) if self.options.gives(option) => {
                on_command_line(option, error.problem)
            }
            Place::Option(option) if self.profile.spec.run.gives(option) => {
                self.in_profile(error.problem)
            }
            _ => PlanError {
                place: Place::Profile(member.origin.clone()),
                problem: error.problem,
            },
        }
    }
}

/// Finds out why conditions could not name a population.
fn unfit_name(name: &str) -> Option<PopulationProblem> {
    let is_kind = OpKind::ALL.iter().any(|kind| kind.name() == name);
    if is_name(name) {
        is_kind.then_some(PopulationProblem::NameOfOperation)
    } else {
        Some(PopulationProblem::Name)
    }
}

/// Returns whether conditions and tables can have this name.
pub(super) fn is_name(name: &str) -> bool {
    let is_plain = |letter: char| letter.is_alphanumeric() || "-_.".contains(letter);
    !name.is_empty() && name.chars().all(is_plain)
}

/// Finds out why a profile cannot be that of a population.
fn unfit_profile(member: &Profile) -> Option<PopulationProblem> {
    if !member.spec.population.is_empty() {
        return Some(PopulationProblem::Nested(member.name()));
    }
    if member.fileio.is_some() {
        return Some(PopulationProblem::Fileio);
    }
    let mut given = member.spec.run.given();
    let key = given.find(|key| !OF_TABLE.contains(key) && !OF_PROFILE.contains(key))?;
    Some(PopulationProblem::ProfileSets(member.name(), key))
}
