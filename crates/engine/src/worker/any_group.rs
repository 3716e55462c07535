//! A group of any driver with any operations, behind a pointer. Only its load is compiled for
//! each of them. All that a worker does before and after the load is compiled once, which saves a
//! third of the time to build the engine.

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::pin::Pin;
use std::rc::Rc;

use smbench_model::Nanos;
use smbench_model::record::Recorder;
use smbench_model::sessions::{Caching, HandleDurability};
use tokio::sync::Notify;

use crate::drivers::driver::{Connector, Driver, LoadSockets, Opened};
use crate::drivers::dropped::Dropped;
use crate::machine::clock;
use crate::machine::tasks::on_tokio;
use crate::smb::session::SessionError;
use crate::worker::assignment::{Assignment, WorkerParts};
use crate::worker::booking::unusual::book_acknowledged;
use crate::worker::event_instants::EventInstants;
use crate::worker::figures::Figures;
use crate::worker::group::{Group, GroupSetup};
use crate::worker::load_control::LoadControl;
use crate::worker::member::StageEnds;
use crate::worker::notes::SharedPad;
use crate::worker::setup::open_group;
use crate::worker::shared::{FinalReadCount, Shared};
use crate::worker::supply::{Supplies, Supply};

/// A future of this thread.
pub(crate) type Local<'a, T> = Pin<Box<dyn Future<Output = T> + 'a>>;

/// Sets up groups of one kind.
pub(crate) trait OpenGroups {
    /// Sets up the group of these clients.
    fn open<'a>(
        &'a self,
        worker: &'a Assignment,
        clients: &'a [u32],
        pad: Option<&'a SharedPad>,
    ) -> Local<'a, Result<Opened<Box<dyn AnyGroup>>, SessionError>>;
}

impl<C: Connector, T: Supplies> OpenGroups for WorkerParts<C, T> {
    fn open<'a>(
        &'a self,
        worker: &'a Assignment,
        clients: &'a [u32],
        pad: Option<&'a SharedPad>,
    ) -> Local<'a, Result<Opened<Box<dyn AnyGroup>>, SessionError>> {
        Box::pin(async move {
            let opened = open_group(worker, self, clients, pad).await?;
            Ok(opened.map(|group| Box::new(group) as Box<dyn AnyGroup>))
        })
    }
}

/// A group outside of its load.
pub(crate) trait AnyGroup {
    /// Returns the numbers of its clients.
    fn numbers(&self) -> Vec<u32>;

    /// Keeps what its set-up brought, for [`Self::count_setup`].
    fn keep_setup(&mut self, setup: GroupSetup);

    /// Counts the oplocks and leases granted, and the breaks, before the load.
    fn count_setup(&self, recorder: &mut Recorder);

    /// Moves its sockets to the place where the load waits.
    fn begin_load(&mut self, sockets: &LoadSockets) -> Result<(), Dropped>;

    /// Answers the server while there is no load, without end.
    fn idle<'a>(&'a mut self, shared: &'a RefCell<Shared>) -> Local<'a, Result<(), Dropped>>;

    /// Gets ready for a load. `number` is that of the group on the worker's alarm clock.
    fn start(&mut self, number: usize, start: &GroupStart<'_>);

    /// Runs the load.
    fn run(self: Box<Self>, load: GroupLoad) -> Local<'static, EndedGroup>;

    /// Switches the clients to the operations after the load. Returns whether they can carry them
    /// out: not without a connection.
    fn end_load(&mut self, final_reads: &FinalReadCount) -> bool;

    /// Logs off.
    fn close(self: Box<Self>) -> Local<'static, ()>;
}

/// How the groups of a worker begin their load.
pub(crate) struct GroupStart<'a> {
    pub(super) worker: &'a Assignment,
    pub(super) control: &'a LoadControl,
    pub(super) events: EventInstants,
    pub(super) stage_ends: Option<StageEnds>,
}

/// What a group needs for its load.
pub(crate) struct GroupLoad {
    /// Index of the worker on its thread.
    pub(super) worker: usize,
    pub(super) shared: Rc<RefCell<Shared>>,
    pub(super) control: Rc<LoadControl>,
    pub(super) figures: Rc<RefCell<Figures>>,
    /// The groups of the worker under load. With the last one its recording ends. `None` after
    /// the load.
    pub(super) under_load: Option<Rc<GroupsUnderLoad>>,
    /// Whether operations after the load follow, for which the clients keep their sessions.
    pub(super) goes_on: bool,
    /// What the largest operation costs in credits.
    pub(super) cost: u16,
    pub(super) caching: Caching,
}

/// The groups of a worker whose load has not ended.
pub(crate) struct GroupsUnderLoad {
    left: Cell<usize>,
    /// Numbers of their clients.
    clients: RefCell<BTreeSet<u32>>,
    none_left: Notify,
}

impl GroupsUnderLoad {
    pub(super) fn new(groups: &[Box<dyn AnyGroup>]) -> Self {
        let clients = groups.iter().flat_map(|group| group.numbers()).collect();
        Self {
            left: Cell::new(groups.len()),
            clients: RefCell::new(clients),
            none_left: Notify::new(),
        }
    }

    /// Takes the numbers of the clients under load.
    pub(super) fn take_clients(&self) -> BTreeSet<u32> {
        self.clients.take()
    }

    /// Takes down the end of the load of a group, which has these clients. Returns whether it was
    /// the last one.
    fn end_one(&self, clients: &[u32]) -> bool {
        let mut under_load = self.clients.borrow_mut();
        for client in clients {
            under_load.remove(client);
        }
        self.left.set(self.left.get() - 1);
        let is_last = self.left.get() == 0;
        if is_last {
            self.none_left.notify_waiters();
        }
        is_last
    }

    /// Waits until no group is under load.
    async fn end(&self) {
        // All groups are on this thread, so that the last one cannot end in between.
        if self.left.get() > 0 {
            self.none_left.notified().await;
        }
    }
}

/// The end of a group's load.
pub(crate) struct EndedGroup {
    /// Index of the worker on its thread.
    pub(super) worker: usize,
    pub(super) clients: Vec<u32>,
    /// The group, if it is still connected.
    pub(super) group: Option<Box<dyn AnyGroup>>,
    pub(super) how: Result<(), Dropped>,
    pub(super) at: Nanos,
}

impl GroupLoad {
    /// Takes down the end of the load of these clients.
    fn ended(&self, clients: Vec<u32>, how: Result<(), Dropped>) -> EndedGroup {
        let at = clock::now();
        if let Some(under_load) = &self.under_load
            && under_load.end_one(&clients)
        {
            self.control
                .end(&mut self.shared.borrow_mut().recording, at);
        }
        EndedGroup {
            worker: self.worker,
            clients,
            group: None,
            how: how.map_err(|reason| reason.with_cost(self.cost)),
            at,
        }
    }
}

impl<D: Driver, S: Supply> Group<D, S> {
    /// Answers the server until no group of the worker is under load.
    async fn stay(&mut self, load: &GroupLoad) -> Result<(), Dropped> {
        let Some(under_load) = load
            .under_load
            .as_ref()
            .filter(|_| !self.driver.holds_group())
        else {
            return Ok(());
        };
        tokio::select! {
            biased;
            () = under_load.end() => Ok(()),
            how = self.idle(&load.shared) => how,
        }
    }
}

impl<D: Driver, S: Supply> AnyGroup for Group<D, S> {
    fn numbers(&self) -> Vec<u32> {
        let members = self.clients.members.iter();
        members.map(|member| member.number).collect()
    }

    fn keep_setup(&mut self, setup: GroupSetup) {
        self.setup = setup;
    }

    fn count_setup(&self, recorder: &mut Recorder) {
        for &(took, outcome) in &self.setup.acknowledged {
            book_acknowledged(recorder, took, outcome);
        }
        let caching = recorder.caching_mut();
        for &granted in &self.setup.granted {
            caching.count(granted);
        }
        caching.breaks += self.setup.breaks;
    }

    fn begin_load(&mut self, sockets: &LoadSockets) -> Result<(), Dropped> {
        self.driver.begin_load(sockets)
    }

    fn idle<'a>(&'a mut self, shared: &'a RefCell<Shared>) -> Local<'a, Result<(), Dropped>> {
        Box::pin(Self::idle(self, shared))
    }

    fn start(&mut self, number: usize, start: &GroupStart<'_>) {
        let (worker, schedule) = (start.worker, start.control.schedule());
        self.number = number;
        self.window_end = schedule.close;
        self.clients.begin = schedule.begin;
        self.clients.events = start.events.clone();
        let handles = worker.plan.sessions.failover.handles;
        self.clients.keeps_handles = handles != HandleDurability::None;
        // A host has a part of the clients, and a population too.
        let all = schedule.clients.max(worker.clients);
        self.driver.load_begins(schedule.begin, all);
        for member in &mut self.clients.members {
            member.observe(&schedule);
            if let Some(ends) = &start.stage_ends {
                member.divide(ends);
            }
            if start.control.alarm.is_some() {
                // The schedule counts the clients of all populations.
                let clients = schedule.clients.min(worker.clients);
                let starts = schedule.begin + worker.start(member.number, clients);
                let (clients, rate) = (worker.clients, worker.rate);
                member.begin(&worker.plan, &worker.mix, clients, rate, starts);
            }
        }
    }

    fn run(self: Box<Self>, load: GroupLoad) -> Local<'static, EndedGroup> {
        // It stays where it is: memory that it left between sessions would be of no use.
        let mut group = self;
        Box::pin(async move {
            let how = Self::run(&mut group, &load.shared, &load.control, &load.figures).await;
            let mut ended = load.ended(group.numbers(), how);
            // Other clients may still wait for an oplock or a lease of this group.
            if ended.how.is_ok() && load.goes_on && load.caching != Caching::None {
                ended.how = group.stay(&load).await;
            }
            let group: Option<Box<dyn AnyGroup>> = match (&ended.how, load.caching) {
                (Ok(()), _) if load.goes_on => Some(group),
                (Ok(()), Caching::None) => Some(group),
                (Ok(()), _) => {
                    on_tokio(AnyGroup::close(group)).await;
                    None
                }
                (Err(_), _) => None,
            };
            EndedGroup { group, ..ended }
        })
    }

    fn end_load(&mut self, final_reads: &FinalReadCount) -> bool {
        let is_connected = !self.driver.holds_group();
        self.close(final_reads);
        is_connected
    }

    fn close(self: Box<Self>) -> Local<'static, ()> {
        Box::pin(self.driver.close())
    }
}
