//! A run on an SMB share: negotiates with the server, creates the files before the
//! load, and removes them after it.

mod facts;
mod files;
mod hosts;
mod limits;
mod operations;
mod populations;

use std::sync::Arc;
use std::time::SystemTime;

use smbench_model::Nanos;
use smbench_model::contents::block::Salt;
use smbench_model::cpu::CpuSource;
use smbench_model::generator::{DriverKind, TcpCounters};
use smbench_model::kind::OpKind;
use smbench_model::operations::Mix;
use smbench_model::part::ClientPart;
use smbench_model::plan::Plan;
use smbench_model::progress::Progress;
use smbench_model::record::{RunRecord, ServerFacts, SplitSizes};
use smbench_model::tree::TreeUsed;

use crate::drivers::copies::Copies;
use crate::drivers::reconnecting::ReconnectPolicy;
use crate::drivers::site::{Site, endpoint};
#[cfg(feature = "smb-rs")]
use crate::drivers::smb_rs;
use crate::machine::cancel::Cancel;
use crate::machine::clock;
use crate::machine::counters::CounterMeter;
use crate::machine::server_cpu::Meter;
use crate::machine::tcp::TcpWatch;
use crate::run::back_news::BackNews;
use crate::run::carrier::Carrier;
use crate::run::context::{Context, PopulationContext, RunRole};
use crate::run::coordinator::{concluded, measure};
use crate::run::course::Course;
use crate::run::error::RunError;
use crate::run::noting::{NoteWriter, StateFile};
use crate::run::reserve::reserve;
use crate::run::{Observer, capacity, point};
use crate::smb::session::{Endpoint, LogoffScope, SessionError, unless};
use crate::smb::share::{self, ShareSession, Workspace};
#[cfg(test)]
pub(super) use files::prepare;
use files::prepared_files;
pub(super) use hosts::join;
use hosts::{begin_on_hosts, order};
pub(crate) use operations::ShareOperations;
pub(super) use populations::RunShare;
use populations::{
    PopulationShare, PopulationSite, begin_notes, claim_all, clean_up, server_of_all,
};

/// What is run on a share, and as which of the hosts.
pub(super) struct ShareJob<'p, 'a> {
    pub(super) plan: &'p Plan,
    /// Those of each population.
    pub(super) operations: Vec<ShareOperations>,
    pub(super) role: RunRole<'a>,
    /// The file for notes on answers, if such are made.
    pub(super) state: Option<StateFile>,
}

/// Runs a plan on its share: claims a directory, creates the files, and cleans up
/// in any case.
pub(super) async fn run(
    mut job: ShareJob<'_, '_>,
    course: &mut dyn Course,
    observer: &mut dyn Observer,
    cancel: &Cancel,
) -> Result<RunRecord, RunError> {
    let start = RunStart::now();
    let ShareJob { plan, role, .. } = job;
    observer.progress(&Progress::Connecting);
    let mut connected = Vec::new();
    for alone in plan.alone() {
        connected.push(connect(plan, alone, course.clients_for_certain(), cancel).await?);
    }
    let lab_server = point::lab_server(plan, role, &connected[0].endpoint)?;
    let server = server_of_all(connected.iter().map(|connected| &connected.server));
    let (sites, mut share) = claim_all(&plan.work, connected, observer, cancel).await?;
    let server = ServerFacts {
        tree: share.tree(),
        ..server
    };
    let first = &share.populations[0].workspace;
    let mut record = RunRecord {
        operations: job.operations[0].origin,
        salt: first.salt,
        ..RunRecord::new(plan, server, start.wall)
    };
    let order = order(plan, &share, role);
    record.run_number = order.runs_before;
    let state = job.state.take();
    let (mut notes, noting) = begin_notes(state, plan, &sites);
    let context = Context {
        lab_server,
        ..context(job, sites, order.runs_before, start, cancel, notes.as_ref())
    };
    let begun = match role {
        _ if noting.is_err() => noting,
        RunRole::First(first) => begin_on_hosts(first, &order, &mut record, cancel).await,
        RunRole::Alone | RunRole::Other(_) => Ok(()),
    };
    let measured = match begun {
        Ok(()) => measure(&context, &mut record, course, Some(&mut share), observer).await,
        Err(error) => Err(error),
    };
    if let RunRole::First(first) = role {
        first.end_run();
    }
    observer.progress(&Progress::CleaningUp);
    if let Some(notes) = notes.take() {
        share.keep_noted(notes, &mut record);
    }
    for PopulationShare {
        plan, workspace, ..
    } in share.populations
    {
        clean_up(&plan, workspace, &mut record, &measured).await;
    }
    concluded(record, measured)
}

/// The server of a population, and the first session on it.
struct Connected {
    /// The plan of the population alone.
    plan: Arc<Plan>,
    endpoint: Endpoint,
    session: ShareSession,
    server: ServerFacts,
}

/// Logs on to the server and checks whether it can carry out the plan of one population, for
/// this many clients, and whether the whole plan has room. Writes nothing.
async fn connect(
    whole: &Plan,
    alone: Plan,
    clients: u32,
    cancel: &Cancel,
) -> Result<Connected, RunError> {
    let plan = &alone;
    let endpoint = unless(cancel, endpoint(plan)).await?;
    capacity::check_ports(whole, &endpoint)?;
    let mut session = unless(cancel, ShareSession::open(&endpoint)).await?;
    let mut endpoint = session.settle(&endpoint);
    if plan.only().workload.kinds().contains(&OpKind::LogOn)
        && matches!(session, ShareSession::Smb2(_))
    {
        let found = unless(cancel, LogoffScope::of(&endpoint)).await;
        endpoint.logoff = match found {
            Ok(found) => found,
            Err(SessionError::Interrupted) => return Err(SessionError::Interrupted.into()),
            // The load shows why the server refuses a further session.
            Err(_) => LogoffScope::Session,
        };
        // The connections for log-ons were unknown before.
        reserve(whole, Carrier::Own(endpoint.logoff))?;
        capacity::check_ports(whole, &endpoint)?;
    }
    limits::check_channels(plan, &endpoint, &session)?;
    // Done before anything is written, because the server may refuse another
    // driver.
    let mut server = match plan.generator.driver {
        DriverKind::Native => facts::of(plan, &endpoint, &session),
        #[cfg(feature = "smb-rs")]
        DriverKind::SmbRs => unless(cancel, smb_rs::facts(plan, &endpoint)).await?,
    };
    server.split = limits::split_sizes(plan, &endpoint, &server)?;
    limits::check_in_flight(plan, &endpoint, &session)?;
    let tree = plan.only().workload.used_tree();
    let has_tree = match tree {
        Some(tree) => {
            let found = share::look_for_tree(&endpoint, &mut session, tree);
            unless(cancel, found).await? == TreeUsed::Prepared
        }
        None => false,
    };
    // The first host makes the files.
    let is_follower = matches!(plan.generator.part, ClientPart::Host { host: 1.., .. });
    if prepared_files(plan).is_none() && !has_tree && !is_follower {
        let needed = if whole.work.populations.len() == 1 {
            let clients = plan.clients_with_files(clients);
            let made = plan.bytes_of(clients.end) - plan.bytes_of(clients.start);
            made.saturating_add(plan.bytes_copied())
        } else {
            let bytes = whole.alone().map(|plan| plan.bytes_on_share());
            bytes.fold(0, u64::saturating_add)
        };
        let path = &plan.sessions.target.path;
        unless(cancel, share::check_space(&mut session, path, needed)).await?;
    }
    Ok(Connected {
        plan: Arc::new(alone),
        endpoint,
        session,
        server,
    })
}

/// Claims the directory of prepared files, or a new one. This step cannot be
/// interrupted, because everything that it creates on the share must be known, to
/// be removed.
async fn claim(
    plan: &Plan,
    endpoint: &Endpoint,
    session: ShareSession,
    observer: &mut dyn Observer,
) -> Result<Workspace, RunError> {
    if let Some(test) = prepared_files(plan) {
        return Ok(Workspace::of_prepared(endpoint, session, test).await?);
    }
    let created = Workspace::create(endpoint, session).await;
    let mut workspace =
        created.map_err(|(error, leftover)| RunError::from(error).with_leftover(leftover))?;
    observer.directory_claimed(&workspace.directory);
    if let Some(tree) = plan.only().workload.used_tree()
        && let Err(error) = workspace.find_tree(tree).await
    {
        let directory = workspace.directory.clone();
        let removed = workspace.remove().await;
        let leftover = removed
            .err()
            .map(|error| share::leftover(&directory, &error));
        return Err(RunError::from(error).with_leftover(leftover));
    }
    Ok(workspace)
}

/// The start of a run, on both clocks.
#[derive(Clone, Copy)]
struct RunStart {
    at: Nanos,
    wall: SystemTime,
}

impl RunStart {
    fn now() -> Self {
        Self {
            at: clock::now(),
            wall: clock::wall(),
        }
    }
}

/// Returns the data that every load point needs.
fn context<'a>(
    job: ShareJob<'_, 'a>,
    sites: Vec<PopulationSite>,
    runs_before: u32,
    start: RunStart,
    cancel: &'a Cancel,
    notes: Option<&NoteWriter>,
) -> Context<'a> {
    let ShareJob {
        plan,
        operations,
        role,
        ..
    } = job;
    let plan = Arc::new(plan.clone());
    let endpoint = &sites[0].endpoint;
    let (at, whereabouts) = (endpoint.at(), endpoint.whereabouts());
    // One host measures the server.
    let (server_cpu, counters) = match role {
        RunRole::Other(_) => (Meter::new(&CpuSource::Off, &[]), None),
        RunRole::Alone | RunRole::First(_) => {
            let here = endpoint.all_here();
            (
                Meter::new(&plan.generator.server_cpu, &here),
                CounterMeter::new(&plan.generator.server_counters, &here),
            )
        }
    };
    let tcp = match (plan.generator.tcp, role) {
        (TcpCounters::Off, _) => None,
        (TcpCounters::Read, RunRole::Alone) => Some(Ok(TcpWatch::new(endpoint.addresses()))),
        (TcpCounters::Read, _) => Some(Err("the run has several hosts".to_owned())),
    };
    let populations = sites.into_iter().zip(operations);
    let populations = populations.enumerate().map(|(index, of_one)| {
        let (of_population, operations) = of_one;
        let PopulationSite {
            plan,
            endpoint,
            split,
            directory,
            files_in,
            salt,
        } = of_population;
        let ShareOperations { mix, workers, .. } = operations;
        let site = site(&plan, &mix, endpoint, split, directory, files_in, salt);
        let changes = Arc::clone(&site.changes);
        let make_workers = workers(site);
        PopulationContext {
            make_workers: Box::new(move |workers| {
                changes.begin_load_point();
                make_workers(workers)
            }),
            plan,
            mix,
            salt,
            notes: notes.map(|notes| notes.desk(index)),
        }
    });
    Context {
        populations: populations.collect(),
        server_cpu,
        lab_server: None,
        tcp,
        counters,
        back_news: BackNews::default(),
        at,
        whereabouts,
        started: start.at,
        started_wall: start.wall,
        runs_before,
        plan,
        cancel,
        role,
    }
}

/// Returns the server and the run's directory, for the drivers.
pub(super) fn site(
    plan: &Arc<Plan>,
    mix: &Arc<Mix>,
    endpoint: Endpoint,
    split: Option<SplitSizes>,
    directory: String,
    files_in: String,
    salt: Salt,
) -> Arc<Site> {
    Arc::new(Site {
        plan: Arc::clone(plan),
        copies: Copies::of(plan),
        changes: Arc::default(),
        endpoint,
        split,
        mix: Arc::clone(mix),
        reconnect: ReconnectPolicy::from(plan.sessions.failover.reconnect),
        directory,
        files_in,
        salt,
    })
}
