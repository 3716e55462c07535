//! The data that every load point of a run needs, and what makes its workers.

use std::rc::Rc;
use std::sync::Arc;
use std::time::SystemTime;

use smbench_model::Nanos;
use smbench_model::contents::block::Salt;
use smbench_model::load::{PointLoad, Rate};
use smbench_model::operations::Mix;
use smbench_model::plan::Plan;
use smbench_model::work::WorkProblem;

use crate::drivers::driver::Connector;
use crate::hosts::{FirstHost, HostChannel, Upstream};
use crate::machine::cancel::Cancel;
use crate::machine::counters::CounterMeter;
use crate::machine::lab_server::LabServer;
use crate::machine::route::Locality;
use crate::machine::server_cpu::Meter;
use crate::machine::tcp::TcpWatch;
use crate::run::back_news::BackNews;
use crate::run::error::RunError;
use crate::worker::assignment::WorkerParts;
use crate::worker::notes::NoteDesk;
use crate::worker::supply::Supplies;
use crate::worker::work::MakeOpenGroups;

/// The data that every load point of a run needs.
pub(crate) struct Context<'a> {
    pub(crate) plan: Arc<Plan>,
    /// The populations, in the order of the plan.
    pub(crate) populations: Vec<PopulationContext>,
    /// Address of the server, for messages.
    pub(crate) at: String,
    pub(crate) whereabouts: Locality,
    pub(crate) server_cpu: Meter,
    /// The lab server, if events stop it or send it signals.
    pub(crate) lab_server: Option<Arc<LabServer>>,
    /// The connections whose counters of TCP are read, if that was asked for.
    pub(crate) tcp: Option<Result<TcpWatch, String>>,
    /// The meter of the server's counters, if that was asked for.
    pub(crate) counters: Option<CounterMeter>,
    /// Whether clients have come back after a loss.
    pub(crate) back_news: BackNews,
    /// Start of the run, on both clocks.
    pub(crate) started: Nanos,
    pub(crate) started_wall: SystemTime,
    /// Number at which the numbering of load points starts in the data that is
    /// written.
    pub(crate) runs_before: u32,
    pub(crate) cancel: &'a Cancel,
    pub(crate) role: RunRole<'a>,
}

/// The data that the workers of a population need.
pub(crate) struct PopulationContext {
    /// The plan of this population alone.
    pub(crate) plan: Arc<Plan>,
    pub(crate) mix: Arc<Mix>,
    /// Salt of the data that is written.
    pub(crate) salt: Salt,
    /// Where notes on answers are handed in, if such are made.
    pub(crate) notes: Option<NoteDesk>,
    /// Prepares the given number of workers for one load point.
    pub(crate) make_workers: MakeWorkers,
}

impl Context<'_> {
    /// Returns the number of clients that this host has in a load point.
    pub(crate) fn own_clients(&self, load: PointLoad) -> u32 {
        let part = self.plan.generator.part;
        let loads = self.loads(load).unwrap_or_default();
        loads.iter().map(|load| part.count(load.clients)).sum()
    }

    /// Returns the part of each population in a load point.
    pub(crate) fn loads(&self, load: PointLoad) -> Result<Vec<PointLoad>, RunError> {
        if self.populations.len() == 1 {
            return Ok(vec![load]);
        }
        let work = &self.plan.work;
        let planned = load.place.map(|place| {
            let populations = work.populations.iter();
            populations
                .map(|one| (one.clients[place as usize], None))
                .collect()
        });
        let chosen = || work.chosen(load.clients, load.rate);
        let parts: Vec<(u32, Option<Rate>)> = planned.or_else(chosen).ok_or_else(|| {
            let problem = "only the load points of the plan are possible, and no search";
            RunError::Plan(WorkProblem::Populations(problem).into())
        })?;
        let part = |(clients, rate)| PointLoad {
            clients,
            rate,
            ..load
        };
        Ok(parts.into_iter().map(part).collect())
    }
}

/// What this process does in its run.
#[derive(Clone, Copy)]
pub(crate) enum RunRole<'a> {
    /// It carries all clients.
    Alone,
    /// It is the first of several hosts.
    First(&'a FirstHost),
    /// It follows the first host.
    Other(&'a Upstream),
}

impl<'a> RunRole<'a> {
    /// Returns the other hosts, if this is the first one.
    pub(crate) fn others(self) -> &'a [HostChannel] {
        match self {
            Self::First(first) => first.others(),
            Self::Alone | Self::Other(_) => &[],
        }
    }

    /// Returns the way to the first host, if this is another one.
    pub(crate) const fn upstream(self) -> Option<&'a Upstream> {
        match self {
            Self::Other(upstream) => Some(upstream),
            Self::Alone | Self::First(_) => None,
        }
    }
}

/// Prepares the given number of workers for one load point.
pub(crate) type MakeWorkers = Box<dyn Fn(usize) -> Vec<MakeOpenGroups>>;

pub(crate) fn worker_maker<C: Connector, T: Supplies>(parts: WorkerParts<C, T>) -> MakeWorkers {
    Box::new(move |workers| {
        let parts = WorkerParts {
            connector: parts.connector.clone(),
            supplies: parts.supplies.of_load_point(),
        };
        let one = |_| -> MakeOpenGroups {
            let parts = parts.clone();
            Box::new(move || Rc::new(parts))
        };
        (0..workers).map(one).collect()
    })
}
