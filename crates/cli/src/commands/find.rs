//! `smbench find`: searches for the highest load at which conditions hold. The search is
//! one run whose load points are the probes.

mod logons;
mod sessions;

use smbench_model::lists::clients::{CLIENTS_MAX, ClientList};
use smbench_model::plan::{Plan, RATE_MAX, RATE_MIN};
use smbench_model::search::{Grain, SearchSpec};
use smbench_report::doc::FindKind;
use smbench_report::text::{summary, verdict};
use smbench_report::{Find, RunDoc, Threshold, render};

use super::run::{self, Gate, NextSteps, Presentation};
use crate::args::{FindArgs, FindCommand, OutputArgs, SearchArgs};
use crate::failure::{Exit, Failure};
use crate::output::{print, print_coloured};
use crate::progress::Visibility;
use crate::request::{RunRequest, RunServer};
use crate::searching::{Search, total};
use crate::signals::left_behind;

/// Clients of a search for a rate.
const CLIENTS: u32 = 64;
/// First loads.
const FIRST_RATE: f64 = 1000.0;
const FIRST_LOGONS: f64 = 50.0;
const FIRST_CLIENTS: f64 = 4.0;
/// Clients that a search probes at most.
const MOST_CLIENTS: f64 = 1000.0;

pub(super) fn find(command: FindCommand) -> Result<Exit, Failure> {
    let (kind, mut args) = match command {
        FindCommand::Rate(args) => (FindKind::Rate, args),
        FindCommand::Clients(args) => (FindKind::Clients, args),
        FindCommand::Logons(args) => return logons::find(&args),
        FindCommand::Sessions(args) => return sessions::find(&args),
    };
    let spec = spec(kind, &args.search)?;
    check(kind, &args)?;
    let load = &mut args.run.load;
    match kind {
        FindKind::Rate | FindKind::Logons => {
            let clients = one(CLIENTS);
            load.clients.get_or_insert(clients);
            load.rate = Some(total(spec.start).into());
        }
        FindKind::Clients | FindKind::Sessions => {
            load.clients = Some(one(spec.max as u32));
        }
    }
    load.repeat = Some(1);
    let FindArgs { run: args, search } = *args;
    run::search(&args, Find::new(kind, spec, search.slo))
}

/// Returns the search that the options ask for.
fn spec(kind: FindKind, args: &SearchArgs) -> Result<SearchSpec, Failure> {
    let (min, first, most, top, grain) = match kind {
        FindKind::Rate => (1.0, FIRST_RATE, RATE_MAX, RATE_MAX, Grain::Fine),
        FindKind::Logons => (1.0, FIRST_LOGONS, RATE_MAX, RATE_MAX, Grain::Fine),
        FindKind::Clients | FindKind::Sessions => (
            1.0,
            FIRST_CLIENTS,
            MOST_CLIENTS,
            f64::from(CLIENTS_MAX),
            Grain::Whole,
        ),
    };
    let max = args.max.unwrap_or(most);
    let start = args.start.unwrap_or(first.min(max));
    for (name, load) in [("--start", start), ("--max", max)] {
        if !(RATE_MIN.max(min)..=top).contains(&load) {
            let (least, most) = (kind.print(min), kind.print(top));
            let message = format!("{name} {load} is not from {least} to {most}");
            return Err(Failure::Usage(message));
        }
        if kind == FindKind::Clients && load.fract() != 0.0 {
            return Err(Failure::Usage(format!(
                "{name} {load} is not a number of clients"
            )));
        }
    }
    if start > max {
        return Err(Failure::Usage(format!(
            "--start {start} is more than --max {max}"
        )));
    }
    Ok(SearchSpec {
        start,
        min,
        max,
        grain,
        precision: args.precision,
        confirmations: args.confirm,
        probes_max: args.probes,
    })
}

/// Carries out a search that has options of its own.
fn carry_out_one(
    request: RunRequest,
    search: Search,
    output: &OutputArgs,
    details: bool,
) -> Result<Exit, Failure> {
    let remedy = match &request.server {
        RunServer::Embedded => String::new(),
        RunServer::Given(server) => left_behind(&server.target.redacted()),
    };
    let show = |doc: &RunDoc| match (details, output.quiet) {
        (true, _) => print(&render(doc)),
        (false, true) => print_coloured(&verdict(doc)),
        (false, false) => print_coloured(&summary(doc)),
    };
    let presentation = Presentation {
        remedy,
        show: &show,
        gate: Gate::default(),
        find: Some(search),
        next_steps: match details || output.quiet {
            true => NextSteps::Hidden,
            false => NextSteps::Shown,
        },
        points: Visibility::Hidden,
        screen: None,
    };
    run::carry_out(&[request], output, &presentation, None)
}

/// Refuses options that contradict a search.
fn check(kind: FindKind, args: &FindArgs) -> Result<(), Failure> {
    let load = &args.run.load;
    let refused = |option: &str, why: &str| Err(Failure::Usage(format!("{option}: {why}")));
    let clients = load.clients.as_ref().map(ClientList::as_slice);
    match (kind, clients) {
        (FindKind::Clients, Some(_)) => {
            return refused("--clients", "the search chooses them, up to --max");
        }
        (FindKind::Rate, Some(points)) if points.len() != 1 => {
            return refused("--clients", "a search for a rate has one number of clients");
        }
        _ => {}
    }
    if load.rate.is_some() && kind == FindKind::Rate {
        return refused("--rate", "the search chooses it, from --start to --max");
    }
    check_outputs(&args.run.output)?;
    if load.repeat.is_some() {
        return refused("--repeat", "the search repeats probes, see --confirm");
    }
    if args.run.workload.profiles.len() > 1 {
        return refused("--profile", "a search has one");
    }
    if args.search.slo.is_empty() && kind == FindKind::Clients {
        return refused("--slo", "give a condition, such as --slo 'p99 < 10ms'");
    }
    Ok(())
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

/// Checks that a plan measures the values of these conditions.
pub(super) fn check_limits(limits: &[Threshold], plan: &Plan) -> Result<(), Failure> {
    let checked = limits.iter().try_for_each(|limit| limit.check(plan));
    checked.map_err(|error| Failure::Usage(error.to_string()))
}

/// Returns the list of one load point.
fn one(clients: u32) -> ClientList {
    let list = clients.to_string().parse::<ClientList>();
    list.unwrap_or_else(|error| unreachable!("one number: {error}"))
}
