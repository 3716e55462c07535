//! From a suite as written and the command line to the plans of its runs.

use std::thread;
use std::time::SystemTime;

use smbench_engine::hosts::SendPassword;
use smbench_model::limits::Limits;
use smbench_model::lists::clients::ClientList;
use smbench_model::plan::{Place, Plan, PlanError};
use smbench_model::secret::Secret;
use smbench_model::setting::{self, Advice};
use smbench_model::spec::{RunOptions, WorkSpec};
use smbench_model::target::Target;
use smbench_protocol::DialectRange;
use smbench_report::doc::{SCHEMA_VERSION, ToolDoc};
use smbench_report::study::StudyDoc;
use smbench_report::units::counted;

use super::chosen::{Chosen, check_skipping, chosen};
use super::client;
use super::comparisons::{between_settings, comparison};
use super::given::quick;
use super::host::{Host, HostKind};
use super::options::{SuiteLoad, SuiteOptions};
use super::parts::PassPart;
use super::passes::PassId;
use super::searches::SearchJob;
use super::servers::hosts;
use super::source::Source;
use super::spec::twice;
use crate::account::Accounts;
use crate::command_line::command_line;
use crate::failure::Failure;
use crate::request;
use crate::searching::Search;
use crate::searching::loads::check_plan;

/// Default load points of a suite: those of a run.
const DEFAULT_CLIENTS: &str = "1,4,8,16";
/// Highest number of passes of a suite.
const PASSES_MAX: u32 = 1000;

/// A checked suite.
#[derive(Debug)]
pub struct Suite {
    /// The study, with the current time as its start.
    pub study: StudyDoc,
    /// Plans of one pass over all load points, by profile and then by server,
    /// without targets. The load points are those of the profile.
    pub plans: Vec<Vec<Plan>>,
    /// The search of each profile whose load points are its probes.
    searches: Vec<Option<Search>>,
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

    /// Fails if several hosts cannot reach a server, because the suite starts it.
    pub fn check_servers(&self) -> Result<(), Failure> {
        let own = |host: &&Host| matches!(host.kind, HostKind::Samba { .. });
        match self.hosts.iter().find(own) {
            None => Ok(()),
            Some(host) => Err(Failure::Usage(format!(
                "server {}: several hosts need servers that all of them reach: give its URL with {}",
                host.name,
                Advice("@server")
            ))),
        }
    }

    /// Finds the passwords of all servers.
    pub fn ask(&mut self) -> Result<(), Failure> {
        // One account may have several settings.
        let mut known: Vec<(String, Secret)> = Vec::new();
        for host in &mut self.hosts {
            let url = host.given().map(Target::redacted);
            let found = known.iter().find(|(of, _)| Some(of) == url.as_ref());
            match (&mut host.kind, found) {
                (HostKind::Given(server), Some((_, password))) => {
                    server.target.password = password.clone();
                }
                _ => host.ask()?,
            }
            if let (Some(url), Some(target)) = (url, host.given()) {
                known.push((url, target.password.clone()));
            }
        }
        Ok(())
    }

    /// Returns all plans with their servers, for a host that follows another one.
    pub fn plans(&self, send_password: SendPassword) -> Result<Vec<Plan>, Failure> {
        let mut plans = Vec::new();
        for (server, host) in self.hosts.iter().enumerate() {
            let HostKind::Given(given) = &host.kind else {
                continue;
            };
            let target = given.for_follower(send_password)?;
            plans.extend(self.plans.iter().map(|of_profile| {
                let mut plan = of_profile[server].clone();
                plan.sessions.target = target.clone();
                plan
            }));
        }
        Ok(plans)
    }

    /// Returns the parts of a pass of each profile.
    pub(super) fn parts(&self) -> Vec<Vec<PassPart>> {
        let searches = self.searches.iter();
        let parts = searches
            .zip(&self.plans)
            .map(|(search, plans)| match search {
                Some(_) => vec![PassPart::Search],
                None => PassPart::loads(&plans[0].work),
            });
        parts.collect()
    }

    /// Returns the search of a pass, if it is one.
    pub(super) fn search(&self, pass: PassId) -> Option<&Search> {
        self.searches[pass.profile].as_ref()
    }

    /// Checks a suite. Makes no connection.
    pub fn resolve(
        source: &Source,
        args: &SuiteOptions,
        accounts: &dyn Accounts,
    ) -> Result<Self, Failure> {
        let refuse = |what: String| Failure::Usage(format!("suite {}: {what}", source.origin));
        let spec = &source.spec;
        check_run(&spec.run.work).map_err(refuse)?;
        let load_points = load_points(source, &args.load)?;
        let passes = passes(source, &args.load).map_err(refuse)?;
        check_skipping(source, args)?;
        let chosen = chosen(source, args)?;
        let jobs = || chosen.iter().filter_map(|chosen| chosen.job.as_ref());
        let has_points = chosen.iter().any(|chosen| chosen.job.is_none());
        if args.load.points.is_some() && !has_points {
            return Err(Failure::Usage(
                Advice("@points: all that runs are searches, which choose their load points")
                    .to_string(),
            ));
        }
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
        let mut hosts = hosts(source, &args.servers, accounts)?;
        let of_hosts = |(common, chosen): (&Plan, &Chosen)| {
            let of_host = |host: &Host| match host.run.given().next() {
                None => Ok(common.clone()),
                Some(_) => plan(source, args, &load_points, chosen, Some(host)),
            };
            hosts.iter().map(of_host).collect::<Result<Vec<_>, _>>()
        };
        let plans = plans.iter().zip(&chosen).map(of_hosts);
        let plans = plans.collect::<Result<Vec<_>, _>>()?;
        serve_cifs(&mut hosts, &plans);
        let between_settings = between_settings(source, &hosts);
        let comparisons = spec.comparisons.iter().chain(&between_settings);
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
            load_points: if has_points { load_points } else { Vec::new() },
            passes,
            servers: hosts.iter().map(Host::doc).collect(),
            searches: jobs().map(|job| job.doc.clone()).collect(),
            transfers: chosen
                .iter()
                .filter_map(|chosen| chosen.doc.clone())
                .collect(),
            comparisons,
        };
        let searches = chosen.into_iter();
        let searches = searches.map(|chosen| chosen.job.map(|job| job.search));
        Ok(Self {
            study,
            plans,
            searches: searches.collect(),
            hosts,
            limits: args.limits,
        })
    }
}

/// Checks that a suite's `[run]` leaves to the suite what is of its top.
fn check_run(work: &WorkSpec) -> Result<(), String> {
    if work.clients.is_some() || work.repeat.is_some() {
        return Err(
            "[run] has clients or repeat: in a suite these are `clients` and `passes` at its top"
                .to_owned(),
        );
    }
    Ok(())
}

/// Returns the number of passes, or why it is out of bounds.
fn passes(source: &Source, args: &SuiteLoad) -> Result<u32, String> {
    match args.passes.or(source.spec.passes).unwrap_or(1) {
        passes @ 1..=PASSES_MAX => Ok(passes),
        passes => Err(format!("passes is {passes}: give 1 to {PASSES_MAX}")),
    }
}

fn load_points(source: &Source, args: &SuiteLoad) -> Result<Vec<u32>, Failure> {
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

/// Returns the plan of one pass of a profile. It is for a server with options of
/// its own, or for any other.
fn plan(
    source: &Source,
    args: &SuiteOptions,
    points: &[u32],
    chosen: &Chosen,
    host: Option<&Host>,
) -> Result<Plan, Failure> {
    let Chosen {
        profile, run, job, ..
    } = chosen;
    let place = match job {
        Some(job) => format!("suite {}, find `{}`", source.origin, job.doc.profile),
        None => format!("suite {}, profile {}", source.origin, profile.origin),
    };
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
            event: (!source.spec.events.is_empty()).then(|| source.spec.events.clone()),
            ..WorkSpec::default()
        },
        ..RunOptions::default()
    };
    let (given, quick) = (args.run.clone(), quick(&args.load));
    if let Some(host) = host {
        check_clash(source, &given, host)?;
    }
    let own = RunOptions {
        sessions: host.map(|host| host.run.clone()).unwrap_or_default(),
        ..RunOptions::default()
    };
    let written = own.or(run.clone()).or(source.spec.run.clone());
    check_sessions(&written, chosen, &place)?;
    let before = given.clone().or(quick.clone());
    let options = match job {
        Some(job) => job.options(before, &given, written),
        None => before.or(fixed).or(written),
    };
    let plan = Plan::resolve(
        profile,
        &options,
        request::embedded(),
        args.limits,
        // If the system does not provide the number, one thread always works.
        thread::available_parallelism().map_or(1, |cores| cores.get() as u32),
    )
    .map_err(|PlanError { place: at, problem }| match at {
        Place::Option(field) if given.gives(field) => {
            Failure::Plan(PlanError { place: at, problem })
        }
        Place::Option(field) if quick.gives(field) => Failure::Usage(format!(
            "{place}: {} sets {field}: {problem} ({})",
            Advice("@quick"),
            setting::spelled(field)
        )),
        Place::Option(_) => {
            let server = host.map(|host| format!(", server `{}`", host.name));
            Failure::Usage(format!("{place}{}: {problem}", server.unwrap_or_default()))
        }
        at => Failure::Plan(PlanError { place: at, problem }),
    })?;
    match job {
        Some(job) => named_search(plan, job, &place),
        None => Ok(plan),
    }
}

/// Checks that the sessions per connection are those of a transfer.
fn check_sessions(written: &RunOptions, chosen: &Chosen, place: &str) -> Result<(), Failure> {
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
    Ok(())
}

/// Gives the plan of a search its name, and checks that its probes can be judged.
fn named_search(mut plan: Plan, job: &SearchJob, place: &str) -> Result<Plan, Failure> {
    let refused = |failure: Failure| Failure::Usage(format!("{place}: {failure}"));
    let one = plan.work.sole("in a suite, a search needs one");
    one.map_err(|problem| refused(Failure::Usage(problem.to_string())))?;
    if let Search::Load(find) = &job.search {
        check_plan(find.limits(), &plan).map_err(refused)?;
    }
    plan.work.profile.clone_from(&job.doc.profile);
    Ok(plan)
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
            "suite {}: server `{}` has {key} of its own, and {} is given for all servers: leave \
             out one of them",
            source.origin,
            host.name,
            setting::spelled(key)
        ))),
        None => Ok(()),
    }
}

/// Makes scratch Sambas serve CIFS where their clients speak it. `plans` are by profile and
/// then by server.
fn serve_cifs(hosts: &mut [Host], plans: &[Vec<Plan>]) {
    for (at, host) in hosts.iter_mut().enumerate() {
        let mut of_host = plans.iter().map(|plans| plans[at].dialects());
        if of_host.any(DialectRange::has_cifs) {
            host.serve_cifs();
        }
    }
}
