//! The plan of a run: the validated form of a [`crate::spec`], which workers carry
//! out.
//!
//! Every value of a [`Plan`] from [`Plan::resolve`] is valid. The fields are public
//! and may be changed, so their bounds are checked again before the plan runs.

mod check;
mod digest;
mod problem;
mod resolve;

use std::ops::Range;

use smbench_protocol::DialectRange;
use smbench_protocol::credit::charge_for;

use crate::action::Action;
use crate::files::{Scope, WorkFile};
use crate::generator::Generator;
use crate::kind::{Direction, OpKind};
use crate::limits::Limits;
use crate::part::{ClientPart, ClientRange};
use crate::sessions::Sessions;
use crate::stages::StagePlace;
use crate::work::{Population, Work};
pub use problem::{Place, PlanError, PopulationProblem, Problem};

/// Credits of the costliest frame of a replay: CREATE, one other request, CLOSE.
const REPLAY_CHARGE: u16 = 3;

/// A complete, validated run, in parts. An option belongs to one part.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// The work of the clients.
    pub work: Work,
    /// The sessions of the clients, and the server that they are with.
    pub sessions: Sessions,
    /// The load generator.
    pub generator: Generator,
    /// Limits on every wait.
    pub limits: Limits,
}

impl Plan {
    /// Returns the only population of the work, as [`Work::only`] does.
    #[must_use]
    pub fn only(&self) -> &Population {
        self.work.only()
    }

    /// Returns the only population of the work, to change it.
    pub fn only_mut(&mut self) -> &mut Population {
        self.work.only_mut()
    }

    /// Returns the plans of each population alone. Its clients do the same there.
    pub fn alone(&self) -> impl ExactSizeIterator<Item = Self> {
        let populations = self.work.populations.iter().enumerate();
        populations.map(|(index, population)| {
            let mut plan = self.with(vec![population.clone()]);
            plan.work.stages = self.work.stages_of(index);
            plan
        })
    }

    /// Returns the plan with these populations. If there is only one, the sessions are its own.
    fn with(&self, populations: Vec<Population>) -> Self {
        let mut plan = Self {
            work: Work {
                populations,
                ..self.work.clone()
            },
            ..self.clone()
        };
        if let [only] = &plan.work.populations[..] {
            let sessions = &mut plan.sessions;
            sessions.caching = only.caching.unwrap_or(sessions.caching);
            sessions.options = only.session.unwrap_or(sessions.options);
            let connections = &mut sessions.connections;
            connections.credits = only.credits.or(connections.credits);
            let sources = only.sources.clone();
            connections.sources = sources.or(connections.sources.take());
        }
        plan
    }

    /// Returns the range of the dialects that the sessions of all populations offer.
    #[must_use]
    pub fn dialects(&self) -> DialectRange {
        let of_run = self.sessions.options;
        let populations = self.work.populations.iter();
        let of_each = populations.map(|one| one.session.unwrap_or(of_run).dialects);
        let all = of_each.reduce(DialectRange::joined);
        all.unwrap_or(of_run.dialects)
    }

    /// Returns the clients of the largest load point.
    #[must_use]
    pub fn max_clients(&self) -> u32 {
        self.work.load_points().into_iter().max().unwrap_or(0)
    }

    /// Returns the most clients of a load point that this process carries.
    #[must_use]
    pub fn max_clients_here(&self) -> u32 {
        self.generator.part.count(self.max_clients())
    }

    /// Returns how many clients that this process carries are under load at the end of a stage, of
    /// the population with this index.
    #[must_use]
    pub fn clients_here_after(&self, population: usize, place: &StagePlace) -> u32 {
        // Stages put a population's first clients under load.
        let clients = self.work.clients_after(population, place);
        self.generator.part.count(clients)
    }

    /// Returns the most groups of clients that this process carries at a load point.
    #[must_use]
    pub fn groups_here(&self) -> usize {
        let clients = self.generator.part.clients(self.max_clients());
        self.sessions.connections.groups(clients).len()
    }

    /// Returns the bytes of the largest operation, which a server may take in several
    /// requests.
    #[must_use]
    pub fn largest_request(&self) -> u32 {
        let sizes = self.only().workload.request_sizes();
        let replay = self.only().workload.replay();
        let recorded = replay.map(|replay| replay.recording.summary().largest);
        sizes.chain(recorded).max().unwrap_or(0)
    }

    /// Returns the bytes of the largest operation in this direction, as
    /// [`Plan::largest_request`] does for both.
    #[must_use]
    pub fn largest_of(&self, direction: Direction) -> u32 {
        let sizes = self.only().workload.request_sizes_of(direction);
        let replay = self.only().workload.replay();
        let recorded = replay.map(|replay| replay.recording.largest_of(direction));
        sizes.chain(recorded).max().unwrap_or(0)
    }

    /// Whether some operation in this direction is never split: a recorded one, or the READ
    /// of a frame of several requests.
    #[must_use]
    pub fn has_unsplit(&self, direction: Direction) -> bool {
        let is_frame = |action: &Action| *action == Action::CreateReadClose;
        let workload = &self.only().workload;
        let reads_in_frames = || workload.actions().iter().any(is_frame);
        workload.replay().is_some() || direction == Direction::Read && reads_in_frames()
    }

    /// Returns the bytes of the largest operation that one request must carry. Returns 0 if
    /// every operation can be split.
    #[must_use]
    pub fn largest_unsplit(&self) -> u32 {
        let mut directions = [Direction::Read, Direction::Write].into_iter();
        if directions.any(|direction| self.has_unsplit(direction)) {
            self.largest_request()
        } else {
            0
        }
    }

    /// Returns the credits that the costliest operation takes at once. All requests
    /// of its frame count together, or all that it is split into.
    #[must_use]
    pub fn largest_charge(&self) -> u16 {
        self.costliest(charge_for(self.largest_request()))
    }

    /// Returns the credits of the costliest frame, if a READ or WRITE that can be split costs
    /// this many.
    fn costliest(&self, split: u16) -> u16 {
        let moved = charge_for(self.largest_request());
        if self.only().workload.replay().is_some() {
            return moved.max(REPLAY_CHARGE);
        }
        let charge = |action: &Action| match action {
            Action::Read { .. } | Action::Write { .. } | Action::WriteFlush => split,
            Action::CreateReadClose => moved.saturating_add(2),
            Action::CreateQueryClose { .. }
            | Action::CreateSetClose { .. }
            | Action::Stat { .. }
            | Action::Neighbour { .. } => 3,
            Action::CopyIn | Action::CopyOut => split,
            Action::SaveOffice => split.max(3),
            Action::List { buffer, .. } | Action::Walk { buffer, .. } => charge_for(*buffer),
            _ => 1,
        };
        let actions = self.only().workload.actions();
        actions.iter().map(charge).max().unwrap_or(1)
    }

    /// Whether any WRITE or FLUSH can occur. Files are then opened for writing
    /// (FLUSH needs write access: MS-SMB2 3.3.5.11).
    #[must_use]
    pub fn writes(&self) -> bool {
        let kinds = self.only().workload.kinds();
        kinds.contains(&OpKind::Write) || kinds.contains(&OpKind::Flush)
    }

    /// Whether clients read what they have written once more after the load. They do so where
    /// something may cost acknowledged writes: lost connections and events. What comes after the
    /// load belongs to no stage.
    #[must_use]
    pub fn reads_finally(&self) -> bool {
        let may_lose = self.sessions.failover.reconnect.is_some() || !self.work.events.is_empty();
        let populations = || self.work.populations.iter();
        // Clients that end before others would load the server in the window of those.
        let ends_together =
            self.work.stages.is_none() && !populations().any(Population::is_counted);
        may_lose && ends_together && populations().any(Population::knows_its_writes)
    }

    /// Whether clients have work to do after the load: final flushes, or the read of what they
    /// have written.
    #[must_use]
    pub fn closes(&self) -> bool {
        self.work.closes() || self.reads_finally()
    }

    /// Returns the bytes of all files that this process makes, at the largest load point.
    #[must_use]
    pub fn bytes_on_share(&self) -> u64 {
        let clients = self.clients_with_files(self.max_clients());
        self.bytes_of(clients.end) - self.bytes_of(clients.start)
    }

    /// Returns the bytes that the clients of the only population copy to the share at the
    /// largest load point, as far as their number of actions tells.
    #[must_use]
    pub fn bytes_copied(&self) -> u64 {
        let population = self.only();
        let copies = population.workload.actions().contains(&Action::CopyIn);
        let count = population.count.filter(|_| copies).unwrap_or(0);
        let per_client = population.workload.files.copied_bytes(count);
        per_client.saturating_mul(u64::from(self.max_clients()))
    }

    /// Returns the clients whose files this process makes, at a load point of `clients`
    /// clients. Of the hosts of one run, the first makes all files. A part that is a run of
    /// its own has shared files of its own.
    #[must_use]
    pub fn clients_with_files(&self, clients: u32) -> Range<u32> {
        let shared = self.only().workload.files.scope == Scope::Shared;
        match self.generator.part {
            ClientPart::Host { host: 1.., .. } => 0..0,
            ClientPart::All | ClientPart::Host { .. } => 0..clients,
            ClientPart::Range(ClientRange { to, .. }) if shared => 0..to.min(clients),
            ClientPart::Range(ClientRange { from, to, .. }) => from.min(clients)..to.min(clients),
        }
    }

    /// Returns the bytes of the files of the first `clients` clients together.
    #[must_use]
    pub fn bytes_of(&self, clients: u32) -> u64 {
        if let Some(replay) = self.only().workload.replay() {
            return replay.recording.bytes_of(clients);
        }
        if self.only().workload.uses_files() {
            self.only().workload.files.bytes(clients)
        } else {
            0
        }
    }

    /// Returns every file of the run, at the largest load point.
    pub fn files(&self) -> impl Iterator<Item = WorkFile> + use<> {
        self.files_of(0..self.max_clients())
    }

    /// Returns the files that these clients work on, and no client before them.
    pub fn files_of(&self, clients: Range<u32>) -> impl Iterator<Item = WorkFile> + use<> {
        let files = &self.only().workload.files;
        let there = if self.only().workload.uses_files() {
            clients
        } else {
            0..0
        };
        files.iter_of(there)
    }

    /// Returns the name of a client's file in the target's folder. `client` and
    /// `file` are numbers from 0. Shared files have the same name for every client.
    #[must_use]
    pub fn file_name(&self, client: u32, file: u32) -> String {
        self.only().workload.files.file_name(client, file)
    }
}
