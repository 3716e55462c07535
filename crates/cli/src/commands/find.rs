//! `smbench find`: searches for the highest load at which conditions hold. The search is
//! one run whose load points are the probes.

mod logons;
mod sessions;

use smbench_model::plan::{PlanError, PopulationProblem, Problem};
use smbench_model::spec::WorkSpec;
use smbench_report::doc::FindKind;

use super::run::{self, Detail, Presentation, remedy};
use crate::args::{FindArgs, FindCommand, OutputArgs};
use crate::conditions::Gate;
use crate::failure::{Exit, Failure};
use crate::hosts::Hosts;
use crate::progress::Visibility;
use crate::request::RunRequest;
use crate::searching::Search;
use crate::searching::loads::{self, OptionNames};

pub(super) fn find(command: FindCommand, hosts: &Hosts) -> Result<Exit, Failure> {
    let (kind, mut args) = match command {
        FindCommand::Rate(args) => (FindKind::Rate, args),
        FindCommand::Clients(args) => (FindKind::Clients, args),
        FindCommand::Logons(args) => return logons::find(&args, hosts),
        FindCommand::Sessions(args) => return sessions::find(&args, hosts),
    };
    let spec = loads::spec(kind, &args.search.range(), OptionNames::Settings)?;
    check(kind, &args)?;
    let load = &mut args.run.load;
    if args.population.is_some() {
        // Populations have clients and rates of their own.
        load.repeat = Some(1);
    } else {
        let work = loads::work(kind, &spec, load.clients.take());
        load.clients = work.clients;
        load.rate = work.rate.or(load.rate.take());
        load.repeat = work.repeat;
    }
    let FindArgs {
        run: args,
        search,
        curve,
        population,
    } = *args;
    let find = loads::find(kind, spec, search.slo, curve, OptionNames::Settings)?;
    let ended = run::search(&args, find, population.as_deref(), hosts);
    match ended {
        Err(Failure::Plan(PlanError {
            problem: Problem::Population(PopulationProblem::OfTable("rate")),
            ..
        })) if kind == FindKind::Rate && population.is_none() => Err(Failure::Usage(
            "the profile has populations: name the one whose rate is searched for with \
             --population"
                .to_owned(),
        )),
        ended => ended,
    }
}

/// Carries out a search that has options of its own.
fn carry_out_one(
    request: RunRequest,
    search: Search,
    output: &OutputArgs,
    details: bool,
    hosts: &Hosts,
) -> Result<Exit, Failure> {
    let detail = Detail::of(details, output.quiet, 1);
    let presentation = Presentation {
        remedy: remedy(&request),
        show: detail.show(),
        gate: Gate::default(),
        alone: 0,
        find: Some(search),
        next_steps: detail.next_steps(1),
        points: Visibility::Hidden,
        screen: None,
        hosts,
        state: None,
    };
    run::carry_out(&[request], output, &presentation, None)
}

/// Refuses options that contradict a search.
fn check(kind: FindKind, args: &FindArgs) -> Result<(), Failure> {
    if args.population.is_some() && kind != FindKind::Rate {
        let why = "--population: a search for clients changes the populations with a share";
        return Err(Failure::Usage(why.to_owned()));
    }
    let load = &args.run.load;
    let work = WorkSpec {
        clients: load.clients.clone(),
        units: load.units.clone(),
        rate: load.rate.clone(),
        repeat: load.repeat,
        ..WorkSpec::default()
    };
    loads::check(kind, &work, &args.search.slo, OptionNames::Settings)?;
    check_outputs(&args.run.output)?;
    if args.run.part.is_given() {
        let why = "--client-range, --begin-at: a search has several load points";
        return Err(Failure::Usage(why.to_owned()));
    }
    if args.run.alone {
        let why = "--alone: a search measures all populations together";
        return Err(Failure::Usage(why.to_owned()));
    }
    match args.run.workload.profiles.len() {
        0 | 1 => Ok(()),
        _ => Err(Failure::Usage("--profile: a search has one".to_owned())),
    }
}

/// Refuses options of the output that mean nothing in a search.
fn check_outputs(output: &OutputArgs) -> Result<(), Failure> {
    let given = [
        (
            "--strict",
            output.strict,
            "a search ends where smbench is the limit",
        ),
        (
            "--allow-missed-rate",
            output.allow_missed_rate,
            "a missed rate breaks a probe",
        ),
    ];
    match given.into_iter().find(|(_, is_given, _)| *is_given) {
        Some((option, _, why)) => Err(Failure::Usage(format!("{option}: {why}"))),
        None => Ok(()),
    }
}
