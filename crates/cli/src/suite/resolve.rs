//! From a suite as written and the command line to the plans of its runs.

use std::thread;
use std::time::SystemTime;

use smbench_formats::profile;
use smbench_model::lists::clients::ClientList;
use smbench_model::plan::{Limits, Place, Plan, PlanError};
use smbench_model::profile::Profile;
use smbench_model::spec::{RunOptions, WorkSpec};
use smbench_report::doc::{SCHEMA_VERSION, ToolDoc};
use smbench_report::study::{StudyDoc, TransferDoc};
use smbench_report::units::counted;

use super::client;
use super::comparisons::comparison;
use super::given::{options, quick};
use super::host::Host;
use super::passes::PassId;
use super::servers::hosts;
use super::source::Source;
use super::spec::twice;
use super::transfers::{self, Transfer};
use crate::args::{SuiteArgs, SuiteLoadArgs, command_line};
use crate::failure::Failure;
use crate::request;

/// Default load points of a suite: those of a run.
const DEFAULT_CLIENTS: &str = "1,4,8,16";
/// Highest number of passes of a suite.
const PASSES_MAX: u32 = 1000;

/// A checked suite.
#[derive(Debug)]
pub(super) struct Suite {
    /// The study, with the current time as its start.
    pub(super) study: StudyDoc,
    /// Plans of one pass over all load points, by profile and then by server,
    /// without targets. The load points are those of the profile.
    pub(super) plans: Vec<Vec<Plan>>,
    /// Servers in the order of `study`.
    pub(super) hosts: Vec<Host>,
    /// Time limits of all plans.
    pub(super) limits: Limits,
}

impl Suite {
    /// Returns the plan of a pass, without its target.
    pub(super) fn plan(&self, pass: PassId) -> &Plan {
        &self.plans[pass.profile][pass.server]
    }

    /// Checks a suite. Makes no connection.
    pub(super) fn resolve(source: &Source, args: &SuiteArgs) -> Result<Self, Failure> {
        let refuse = |what: String| Failure::Usage(format!("suite {}: {what}", source.origin));
        let spec = &source.spec;
        if spec.run.work.clients.is_some() || spec.run.work.repeat.is_some() {
            return Err(refuse(
                "[run] has clients or repeat: in a suite these are `clients` and `passes` at its \
                 top"
                .to_owned(),
            ));
        }
        let load_points = load_points(source, &args.load)?;
        let passes = match args.load.passes.or(spec.passes).unwrap_or(1) {
            passes @ 1..=PASSES_MAX => passes,
            passes => {
                return Err(refuse(format!(
                    "passes is {passes}: give 1 to {PASSES_MAX}"
                )));
            }
        };
        check_skipping(source, args)?;
        let chosen = chosen(source, args)?;
        let plans = chosen
            .iter()
            .map(|chosen| plan(source, args, &load_points, chosen, None))
            .collect::<Result<Vec<_>, _>>()?;
        let names: Vec<_> = plans.iter().map(|plan| plan.work.profile.clone()).collect();
        if let Some(twice) = twice(&names) {
            return Err(refuse(format!(
                "two profiles are called `{twice}`: give one of them another name"
            )));
        }
        let hosts = hosts(source, &args.servers)?;
        let of_host = |common: &Plan, chosen: &Chosen, host: &Host| match host.run.given().next() {
            None => Ok(common.clone()),
            Some(_) => plan(source, args, &load_points, chosen, Some(host)),
        };
        let plans = plans
            .iter()
            .zip(&chosen)
            .map(|(common, chosen)| {
                let plans = hosts.iter().map(|host| of_host(common, chosen, host));
                plans.collect::<Result<Vec<_>, _>>()
            })
            .collect::<Result<Vec<_>, _>>()?;
        let comparisons = spec.comparisons.iter();
        let comparisons = comparisons
            .map(|entry| comparison(entry, &hosts).map_err(refuse))
            .filter_map(Result::transpose)
            .collect::<Result<_, _>>()?;
        let name = source.name();
        let study = StudyDoc {
            schema_version: SCHEMA_VERSION,
            tool: ToolDoc::this(),
            title: spec.title.clone().unwrap_or_else(|| name.clone()),
            name,
            started: humantime::format_rfc3339_seconds(
                SystemTime::now().max(SystemTime::UNIX_EPOCH),
            )
            .to_string(),
            command: command_line(),
            profiles: names,
            load_points,
            passes,
            servers: hosts.iter().map(Host::doc).collect(),
            transfers: chosen.into_iter().filter_map(|chosen| chosen.doc).collect(),
            comparisons,
        };
        Ok(Self {
            study,
            plans,
            hosts,
            limits: request::connect_limits(args.connect),
        })
    }
}

fn load_points(source: &Source, args: &SuiteLoadArgs) -> Result<Vec<u32>, Failure> {
    let written = match &source.spec.clients {
        Some(list) => list.clone(),
        None => DEFAULT_CLIENTS
            .parse::<ClientList>()
            .map_err(|error| Failure::Usage(error.to_string()))?,
    };
    Ok(match &args.points {
        Some(points) => points.of(written.as_slice()),
        None => written.into(),
    })
}

/// A profile that is to run.
struct Chosen {
    profile: Profile,
    /// Options of the profile in this suite.
    run: RunOptions,
    /// Description of the transfer, if the suite generated the profile.
    doc: Option<TransferDoc>,
}

impl From<Transfer> for Chosen {
    fn from(Transfer { profile, doc }: Transfer) -> Self {
        Self {
            profile,
            run: RunOptions::default(),
            doc: Some(doc),
        }
    }
}

/// Returns the profiles to run: those that the suite generates first, then the
/// others. The command line may select some of them, or name other profiles
/// instead.
fn chosen(source: &Source, args: &SuiteArgs) -> Result<Vec<Chosen>, Failure> {
    let unknown = request::unknown(args.load.skip_unknown || source.spec.skip_unknown);
    let made = source.spec.transfers.as_ref().map(transfers::all);
    let refuse = |what: &str| {
        let origin = &source.origin;
        Err(Failure::Usage(format!("suite {origin}: {what}")))
    };
    if made.as_ref().is_some_and(Vec::is_empty) {
        return refuse("[transfers] has no sizes: give a list such as [\"4KiB\", \"64KiB\"]");
    }
    let is_given = made.is_some() || !source.spec.profiles.is_empty();
    let made = made.unwrap_or_default();
    let plain = |profile: Profile, run: RunOptions| Chosen {
        profile,
        run,
        doc: None,
    };
    if !args.load.profiles.is_empty() {
        let named = |name: &String| {
            let known = made.iter().find(|made| made.doc.profile == *name);
            Ok(match known {
                Some(made) => made.clone().into(),
                // Paths on the command line are not relative to the suite.
                None => plain(profile::load_with(name, unknown)?, RunOptions::default()),
            })
        };
        return args.load.profiles.iter().map(named).collect();
    }
    let mut all: Vec<Chosen> = made.into_iter().map(Chosen::from).collect();
    for entry in &source.spec.profiles {
        all.push(plain(
            source.profile(&entry.profile, unknown)?,
            entry.run.clone(),
        ));
    }
    if !is_given {
        all.push(plain(
            profile::load(profile::DEFAULT)?,
            RunOptions::default(),
        ));
    }
    Ok(all)
}

/// Fails if `skip_unknown` is set, but no profile has lines to leave out.
fn check_skipping(source: &Source, args: &SuiteArgs) -> Result<(), Failure> {
    let written = source.spec.profiles.iter().map(|entry| &entry.profile);
    let is_recorded = |name: &String| profile::may_be_loadfile(name);
    let is_any_recorded = match &args.load.profiles[..] {
        [] => written.into_iter().any(is_recorded),
        given => given.iter().any(is_recorded),
    };
    let said = match (args.load.skip_unknown, source.spec.skip_unknown) {
        (true, _) => "--skip-unknown".to_owned(),
        (false, true) => format!("suite {}: skip_unknown", source.origin),
        (false, false) => return Ok(()),
    };
    match is_any_recorded {
        true => Ok(()),
        false => Err(Failure::Usage(format!(
            "{said} means nothing without a loadfile among the profiles: give one, such as \
             client.txt, or drop it"
        ))),
    }
}

/// Returns the plan of one pass of a profile. It is for a server with options of
/// its own, or for any other.
fn plan(
    source: &Source,
    args: &SuiteArgs,
    points: &[u32],
    chosen: &Chosen,
    host: Option<&Host>,
) -> Result<Plan, Failure> {
    let Chosen { profile, run, .. } = chosen;
    let place = format!("suite {}, profile {}", source.origin, profile.origin);
    if run.work.clients.is_some() || run.work.repeat.is_some() {
        return Err(Failure::Usage(format!(
            "suite {}: profile {} has clients or repeat: load points and passes are the same for \
             all profiles of a suite",
            source.origin, profile.origin
        )));
    }
    let fixed = RunOptions {
        work: WorkSpec {
            clients: Some(sessions(points, chosen, &place)?),
            repeat: Some(1),
            ..WorkSpec::default()
        },
        ..RunOptions::default()
    };
    let (given, quick) = (options(args), quick(args));
    if let Some(host) = host {
        check_clash(source, &given, host)?;
    }
    let own = RunOptions {
        sessions: host.map(|host| host.run.clone()).unwrap_or_default(),
        ..RunOptions::default()
    };
    let written = own.or(run.clone()).or(source.spec.run.clone());
    if let Some(doc) = &chosen.doc
        && let Some(sessions) = written.sessions.sessions_per_connection
        && sessions != doc.generators_per_client
    {
        return Err(Failure::Usage(format!(
            "{place}: sessions_per_connection is {sessions}, but a client of this transfer has {}: \
             leave the key out",
            counted(doc.generators_per_client.into(), "session")
        )));
    }
    let options = given.clone().or(quick.clone()).or(fixed).or(written);
    Plan::resolve(
        profile,
        &options,
        request::embedded(),
        request::connect_limits(args.connect),
        // If the system does not provide the number, one thread always works.
        thread::available_parallelism().map_or(1, |cores| cores.get() as u32),
    )
    .map_err(|PlanError { place: at, problem }| match at {
        Place::Option(field) if given.gives(field) => {
            Failure::Plan(PlanError { place: at, problem })
        }
        Place::Option(field) if quick.gives(field) => Failure::Usage(format!(
            "{place}: --quick sets {field}: {problem} (--{})",
            field.replace('_', "-")
        )),
        Place::Option(_) => {
            let server = host.map(|host| format!(", server `{}`", host.name));
            Failure::Usage(format!("{place}{}: {problem}", server.unwrap_or_default()))
        }
        at => Failure::Plan(PlanError { place: at, problem }),
    })
}

/// Returns the load points as the engine counts them: each generator of a client is
/// a client.
fn sessions(points: &[u32], chosen: &Chosen, place: &str) -> Result<ClientList, Failure> {
    let doc = chosen.doc.as_ref();
    let generators = doc.map_or(1, |doc| doc.generators_per_client);
    let points = points
        .iter()
        .map(|clients| clients.saturating_mul(generators).to_string());
    let points: Vec<_> = points.collect();
    points.join(",").parse::<ClientList>().map_err(|error| {
        Failure::Usage(format!(
            "{place}, with {generators} sessions for each client: {error}"
        ))
    })
}

/// Fails if the command line has an option that the server has too. A row of a
/// report would otherwise state an option that the run did not have.
fn check_clash(source: &Source, given: &RunOptions, host: &Host) -> Result<(), Failure> {
    match client::clash(&given.sessions, &host.run) {
        Some(key) => Err(Failure::Usage(format!(
            "suite {}: server `{}` has {key} of its own, and --{} is given for all servers: leave \
             out one of them",
            source.origin,
            host.name,
            key.replace('_', "-")
        ))),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests;
