//! `smbench find`: searches for the highest load at which conditions hold. The search is
//! one run whose load points are the probes.

mod logons;
mod sessions;

use smbench_engine::run::Course;
use smbench_model::lists::clients::{CLIENTS_MAX, ClientList};
use smbench_model::load::{PointLoad, SetupFailures};
use smbench_model::plan::{Plan, RATE_MAX, RATE_MIN, Rate, RateScope};
use smbench_model::record::RunRecord;
use smbench_model::search::{Grain, SearchSpec};
use smbench_report::doc::{FindDoc, FindKind, ProbeDoc};
use smbench_report::find::{HeldLimit, HeldMost, sessions};
use smbench_report::text::{probe_outcome, summary, verdict};
use smbench_report::units::plain;
use smbench_report::{Disclosure, Find, RunDoc, render};

use super::run::{self, Gate, NextSteps, Presentation, RunContext};
use crate::args::{FindArgs, FindCommand, OutputArgs, SearchArgs};
use crate::failure::{Exit, Failure};
use crate::output::{complain, print, print_coloured};
use crate::progress::Visibility;
use crate::request::{RunRequest, RunServer, document};
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
            load.rate = Some(total(spec.start));
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

/// Returns the list of one load point.
fn one(clients: u32) -> ClientList {
    let list = clients.to_string().parse::<ClientList>();
    list.unwrap_or_else(|error| unreachable!("one number: {error}"))
}

const fn total(per_second: f64) -> Rate {
    Rate {
        per_second,
        scope: RateScope::Total,
    }
}

/// A search, before it begins.
#[derive(Clone)]
pub(crate) enum Search {
    /// For the highest load at which conditions hold.
    Load(Find),
    /// For the largest number of sessions until so many fail.
    Sessions(HeldLimit, HeldMost),
}

impl Search {
    /// Returns the largest number of load points.
    pub(super) const fn probes_max(&self) -> u32 {
        match self {
            Self::Load(find) => find.spec().probes_max,
            Self::Sessions(..) => 1,
        }
    }
}

/// The load points of a search.
pub(super) struct SearchCourse<'a> {
    search: Search,
    /// Clients of every probe of a rate, or the most sessions.
    clients: u32,
    disclosure: Disclosure,
    context: &'a RunContext<'a>,
    /// Load of the probe that is measured.
    probed: Option<f64>,
}

impl<'a> SearchCourse<'a> {
    /// Begins the search on this plan.
    pub(super) fn of(
        search: Search,
        plan: &Plan,
        disclosure: Disclosure,
        context: &'a RunContext<'a>,
    ) -> Self {
        Self {
            search,
            clients: plan.max_clients(),
            disclosure,
            context,
            probed: None,
        }
    }

    /// Returns what the search has found, as a part of the document of the run.
    pub(super) fn found(&self, doc: &RunDoc) -> FindDoc {
        match &self.search {
            Search::Load(find) => find.to_doc(),
            Search::Sessions(limit, most) => sessions(doc, limit, most),
        }
    }

    /// Tells what the last probe has decided.
    fn tell(&self, find: &Find) {
        let probes = find.probes();
        let Some(ProbeDoc {
            load,
            verdict,
            reason,
            ..
        }) = probes.last()
        else {
            return;
        };
        if self.context.output.quiet {
            return;
        }
        let (number, outcome) = (probes.len(), probe_outcome(*verdict));
        let load = find.kind().print(*load);
        let told = format!("probe {number}: {load} {outcome}: {}", plain(reason));
        self.context.line.suspended(|| complain(told));
    }
}

impl Course for SearchCourse<'_> {
    fn next(&mut self, record: &RunRecord) -> Option<PointLoad> {
        let mut load = PointLoad {
            clients: self.clients,
            rate: None,
            repeat: 1,
            setup: SetupFailures::EndRun,
        };
        match &mut self.search {
            Search::Sessions(limit, _) => {
                load.setup = SetupFailures::CountUntil(limit.share());
                record.load_points.is_empty().then_some(load)
            }
            Search::Load(find) => {
                if let Some(load) = self.probed.take() {
                    find.judge(load, &document(record, self.disclosure.clone()));
                    let find = find.clone();
                    self.tell(&find);
                }
                let Search::Load(find) = &self.search else {
                    return None;
                };
                let next = find.next_load()?;
                match find.kind() {
                    FindKind::Rate | FindKind::Logons => load.rate = Some(total(next)),
                    FindKind::Clients | FindKind::Sessions => load.clients = next as u32,
                }
                let before = find.probes().iter();
                load.repeat += before.filter(|probe| probe.load == next).count() as u32;
                self.probed = Some(next);
                Some(load)
            }
        }
    }

    fn clients_for_certain(&self) -> u32 {
        match &self.search {
            Search::Load(find) if find.kind() == FindKind::Clients => find.spec().start as u32,
            _ => self.clients,
        }
    }

    fn at_most(&self) -> u32 {
        self.search.probes_max()
    }
}
