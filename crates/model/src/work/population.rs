//! A population of a run: clients that do the same work. Not here: what all populations of a
//! run have in common ([`Work`](super::Work)).

use std::collections::HashSet;
use std::time::Duration;

use super::WorkProblem;
use super::digest::{Requested, describe, hashed, line, several};
use crate::action::Action;
use crate::bounds::OUTSTANDING_MAX;
use crate::contents::Verify;
use crate::digest::{digested, start_of_hash};
use crate::files::Scope;
use crate::kind::OpKind;
use crate::lists::clients::CLIENTS_MAX;
use crate::lists::sources::SourceList;
use crate::load::{LoadModel, Ramp, Rate};
use crate::sessions::{Caching, SessionOptions};
use crate::stages::Stages;
use crate::workload::Workload;

/// Largest number of populations of a run; a message below has it as well.
const POPULATIONS_MAX: usize = 16;

digested! {
    /// Clients that do the same work. They are numbered from 0 within the population.
    #[derive(Clone, Debug, PartialEq)]
    pub struct Population {
        /// Its name, which no other population of the run has. `None` if it is the only one and
        /// has no name. It decides the seed of the random choices.
        pub name: Option<String> => given("population", name.as_ref()),
        /// Name of the profile its work came from.
        pub profile: String => none,
        /// Percent of the clients of a load point, if that is how its clients were asked for.
        pub share: Option<f64> => none,
        /// Its clients in each unit, if load points count units. It then has a share as well.
        pub per_unit: Option<u32> => none,
        /// The caching that its opens of files ask for, if it is not that of the run.
        pub caching: Option<Caching> => given("oplock", caching.map(Caching::name)),
        /// Options of its sessions, if they are not those of the run.
        pub session: Option<SessionOptions> => given("session", session.as_ref().map(hashed)),
        /// Maximum number of credits of each of its connections, if it is not that of the run.
        pub credits: Option<u16> => given("population_credits", *credits),
        /// Local addresses of its connections, if they are not those of the run.
        pub sources: Option<SourceList> => none,
        /// The work of each client.
        pub workload: Workload => always("workload", Requested::from(workload)),
        /// Clients at each load point of the run, in the order they run, each 1 to
        /// [`CLIENTS_MAX`]; at least one.
        pub clients: Vec<u32> => always("load_points", clients),
        /// Maximum number of actions that each client has in flight, 1 to
        /// [`OUTSTANDING_MAX`]. In a closed loop without think times the client always
        /// has this many. 1 in a replay and in a `fileio` test.
        pub outstanding: u32 => always("outstanding", outstanding),
        /// The load model: when actions begin. Of several rates, it has the highest.
        pub load: LoadModel => given("load", describe(load)),
        /// The rates of the load points, in the order they run, if there are several. All have
        /// the only number of clients. The first one, if a search chooses its rate beside other
        /// populations. Empty otherwise.
        pub rates: Vec<Rate> => given("rates", several(rates)),
        /// How the number of its clients changes, if it has stages of its own.
        pub stages: Option<Stages> => given("population_stages", stages.as_ref().map(line)),
        /// How long after the start of the load its clients begin.
        pub start: Duration
            => given("start_ns", (!start.is_zero()).then_some(start.as_nanos())),
        /// How the load rises to its full height.
        pub ramp: Ramp => given("ramp", (*ramp == Ramp::Linear).then_some("linear")),
        /// Whether data read back is compared with what was written.
        pub verify: Verify => always("verify", *verify == Verify::ReadBack),
        /// Number of actions of each client at each load point, at least one; then the client
        /// ends. An action counts once, also if it takes several requests. `None` is endless. A
        /// replay and a `fileio` test have counts of their own. Streams of an embedding program
        /// ignore it.
        pub count: Option<u64> => given("count", *count),
    }
}

impl Population {
    /// Returns the seed of its random choices in a run of this seed. Populations of equal work
    /// differ in them, because their names differ.
    #[must_use]
    pub fn seed(&self, of_run: u64) -> u64 {
        match &self.name {
            None => of_run,
            Some(name) => start_of_hash(&[&of_run.to_le_bytes(), name.as_bytes()]),
        }
    }

    /// Returns whether stages change its number of clients: it is the only one without a table, or
    /// has a share of them or stages of its own.
    #[must_use]
    pub const fn is_moved(&self) -> bool {
        self.name.is_none() || self.share.is_some() || self.stages.is_some()
    }

    /// Returns the clients of its largest load point.
    #[must_use]
    pub fn max_clients(&self) -> u32 {
        self.clients.iter().copied().max().unwrap_or(0)
    }

    /// Returns whether its clients end by themselves when their work is done, as in a replay
    /// with `loops` and in a mix with a count.
    #[must_use]
    pub fn ends_with_its_work(&self) -> bool {
        self.is_counted() || self.workload.fileio().is_some()
    }

    /// Returns whether actions are measured as a whole beside their requests: those of several
    /// requests, and the frames of streams.
    #[must_use]
    pub fn has_wholes(&self) -> bool {
        self.workload.has_steps() || self.load.stream().is_some()
    }

    /// Returns whether each client has a number of actions or loops, after which it ends.
    #[must_use]
    pub fn is_counted(&self) -> bool {
        let replay = self.workload.replay();
        self.count.is_some() || replay.is_some_and(|replay| replay.loops.is_some())
    }

    /// Returns whether its clients verify what they read, and know all writes to their files,
    /// which they hold open.
    #[must_use]
    pub(crate) fn knows_its_writes(&self) -> bool {
        let workload = &self.workload;
        self.verify == Verify::ReadBack
            && workload.files.scope == Scope::Private
            && workload.fileio().is_none()
            && workload.kinds().contains(&OpKind::Write)
    }

    /// Finds the first number out of bounds. The error names its option.
    pub(super) fn check(&self) -> Result<(), (&'static str, WorkProblem)> {
        if self.clients.is_empty() {
            return Err(("clients", WorkProblem::NoLoadPoints));
        }
        let mut points = self.clients.iter().copied();
        if let Some(clients) = points.find(|clients| !(1..=CLIENTS_MAX).contains(clients)) {
            return Err(("clients", WorkProblem::Clients(clients)));
        }
        if let Some((op, least)) = self.workload.needs_others()
            && let Some(&clients) = self.clients.iter().find(|clients| **clients < least)
        {
            let problem = WorkProblem::NoOthers { op, clients, least };
            return Err(("clients", problem));
        }
        if let (rates @ 1.., points @ 2..) = (self.rates.len(), self.clients.len()) {
            return Err(("clients", WorkProblem::RatesAndClients(rates, points)));
        }
        if !(1..=OUTSTANDING_MAX).contains(&self.outstanding) {
            return Err(("outstanding", WorkProblem::Outstanding(self.outstanding)));
        }
        let watches = |action: &Action| matches!(action, Action::Watch { .. });
        if self.load.rate().is_some() && self.workload.actions().iter().any(watches) {
            return Err(("rate", WorkProblem::WatchAtRate));
        }
        let has_other_end = self.workload.replay().is_some() || self.workload.fileio().is_some();
        match self.count {
            Some(0) => Err(("count", WorkProblem::Count("give at least 1"))),
            Some(_) if has_other_end => Err((
                "count",
                WorkProblem::Count("a replay and a fileio test have counts of their own"),
            )),
            _ => Ok(()),
        }
    }

    /// Checks that the populations of a run fit together.
    pub(super) fn check_together(populations: &[Self]) -> Result<(), WorkProblem> {
        let (first, others) = match populations {
            [] => return Err(WorkProblem::NoLoadPoints),
            [_] => return Ok(()),
            [first, others @ ..] => (first, others),
        };
        let names: HashSet<_> = populations.iter().map(|one| &one.name).collect();
        let mut points = others.iter().map(|other| other.clients.len());
        let problem = if populations.len() > POPULATIONS_MAX {
            "give at most 16"
        } else if names.contains(&None) || names.len() < populations.len() {
            "give each a name of its own"
        } else if !points.all(|points| points == first.clients.len()) {
            "give all the same number of load points"
        } else if populations.iter().any(|one| one.rates.len() > 1) {
            "give each one rate at most"
        } else if populations.iter().any(Self::ends_with_its_work) {
            "give none that ends with its work, such as a replay with loops or a fileio test"
        } else {
            return Ok(());
        };
        Err(WorkProblem::Populations(problem))
    }
}
