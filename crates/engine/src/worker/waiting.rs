//! Groups that are set up and wait for the load, while others are still being set
//! up.
//!
//! If clients hold oplocks or leases, the opens of other clients break them. A
//! client that does not answer would delay those opens until the server's time
//! limit (35 s in Samba). Waiting groups therefore continue to answer breaks.

use std::cell::RefCell;
use std::rc::Rc;

use smbench_model::sessions::Caching;
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::drivers::dropped::Dropped;
use crate::worker::any_group::AnyGroup;
use crate::worker::assignment::{Assignment, WorkerResult};
use crate::worker::cancelled::resume;
use crate::worker::schedule::Schedule;
use crate::worker::shared::Shared;

/// Groups of one worker that wait for the load to begin.
pub(super) struct WaitingGroups {
    caching: Caching,
    waiting: Vec<Box<dyn AnyGroup>>,
    /// Clients that cannot begin, and why.
    refused: Vec<(Vec<u32>, Dropped)>,
    attentive: JoinSet<(Box<dyn AnyGroup>, Result<(), Dropped>)>,
}

impl WaitingGroups {
    pub(crate) fn new(worker: &Assignment) -> Self {
        Self {
            caching: worker.plan.sessions.caching,
            waiting: Vec::with_capacity(worker.groups.len()),
            refused: Vec::new(),
            attentive: JoinSet::new(),
        }
    }

    /// Adds a group, which waits for `start`, or until its sender is dropped.
    pub(super) fn push(
        &mut self,
        mut group: Box<dyn AnyGroup>,
        shared: &Rc<RefCell<Shared>>,
        start: &watch::Receiver<Option<Schedule>>,
    ) {
        if self.caching == Caching::None {
            return self.prepare(group, Ok(()), shared);
        }
        let (shared, mut start) = (Rc::clone(shared), start.clone());
        self.attentive.spawn_local(async move {
            let ended = tokio::select! {
                _ = start.wait_for(Option::is_some) => Ok(()),
                ended = group.idle(&shared) => ended,
            };
            (group, ended)
        });
    }

    /// Adds a group to those that can begin, unless it was lost.
    fn prepare(
        &mut self,
        mut group: Box<dyn AnyGroup>,
        ended: Result<(), Dropped>,
        shared: &RefCell<Shared>,
    ) {
        let sockets = &shared.borrow().sockets;
        match ended.and_then(|()| group.begin_load(sockets)) {
            Ok(()) => self.waiting.push(group),
            Err(reason) => self.refused.push((group.numbers(), reason)),
        }
    }

    /// Returns the groups when the load begins or is called off. Groups lost in the
    /// meantime become drop-outs.
    pub(super) async fn until_begin(
        mut self,
        shared: &RefCell<Shared>,
        outcome: &mut WorkerResult,
    ) -> Vec<Box<dyn AnyGroup>> {
        while let Some(joined) = self.attentive.join_next().await {
            let (group, ended) = joined.unwrap_or_else(resume);
            self.prepare(group, ended, shared);
        }
        for (clients, reason) in self.refused {
            outcome.drop_out(clients.into_iter(), &reason);
        }
        self.waiting
    }
}
