//! The clients of a copy of a recording: each sees how far the others are, and waits for
//! what it waited for when it was recorded.
//!
//! A client counts the records before which it has answers to all. All clients of a copy are
//! in this process: a plan that tears copies apart is refused.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use smbench_model::kind::OpKind;
use smbench_model::operations::Operation;
use smbench_model::plan::Plan;
use smbench_model::trace::{Record, Trace};

/// Nothing is waited for: the client is not here, or has ended.
const ENDED: u64 = u64::MAX;
/// Records in flight for which memory is reserved.
const IN_FLIGHT: usize = 256;

/// How far each client of a replay is.
#[derive(Default)]
pub(crate) struct Copies {
    /// Records answered, over all passes.
    answered: Arc<[AtomicU64]>,
    /// Records of each track in a pass.
    lens: Arc<[u64]>,
}

impl Copies {
    /// Makes the copies of a plan; none if its clients are independent.
    pub(crate) fn of(plan: &Plan) -> Self {
        let replay = plan.only().workload.replay();
        let Some(replay) = replay.filter(|replay| replay.recording.is_shared()) else {
            return Self::default();
        };
        let clients = 0..plan.max_clients();
        Self {
            answered: clients.map(|_| AtomicU64::new(ENDED)).collect(),
            lens: replay
                .recording
                .tracks()
                .map(|track| track.len() as u64)
                .collect(),
        }
    }

    /// Returns the place of a client, which begins. `None` if it waits for nobody.
    pub(super) fn place(&self, client: u32, trace: &Arc<Trace>) -> Option<CopyPlace> {
        let own = client as usize;
        self.answered.get(own)?.store(0, Ordering::Release);
        Some(CopyPlace {
            answered: Arc::clone(&self.answered),
            lens: Arc::clone(&self.lens),
            trace: Arc::clone(trace),
            own,
            first: own - own % self.lens.len(),
            pass: 0,
            last: None,
            in_flight: VecDeque::with_capacity(IN_FLIGHT),
        })
    }
}

/// The place of a client in its copy.
pub(super) struct CopyPlace {
    answered: Arc<[AtomicU64]>,
    lens: Arc<[u64]>,
    trace: Arc<Trace>,
    own: usize,
    /// The first client of the copy.
    first: usize,
    pass: u64,
    /// The last record sent.
    last: Option<u32>,
    /// Records in flight, over all passes, in the order of sending; `None` if answered.
    in_flight: VecDeque<Option<u64>>,
}

impl CopyPlace {
    /// Returns the pass of an operation that was not sent yet.
    fn pass_of(&self, record: u32) -> u64 {
        self.pass + u64::from(self.last.is_some_and(|last| record <= last))
    }

    /// Returns whether an operation is one of the trace. The close of a file that was
    /// opened against the trace is none.
    fn is_recorded(&self, operation: &Operation) -> bool {
        let record = self.trace.record(operation.action);
        operation.kind != OpKind::Close || !matches!(record, Record::Create { .. })
    }

    /// Returns whether all that an operation waits for was answered.
    pub(super) fn may_send(&self, operation: &Operation) -> bool {
        if !self.is_recorded(operation) {
            return true;
        }
        let record = operation.action;
        let pass = self.pass_of(record);
        if record == 0 && pass > 0 {
            // A pass begins when all have ended the one before.
            let others = (self.first..).zip(self.lens.iter());
            let mut others = others.filter(|(client, _)| *client != self.own);
            if !others.all(|(client, len)| self.has_answered(client, pass * len)) {
                return false;
            }
        }
        let mut awaited = self.trace.awaited(record).iter();
        awaited.all(|awaited| {
            let track = awaited.track as usize;
            let before = pass * self.lens[track] + u64::from(awaited.on) + 1;
            self.has_answered(self.first + track, before)
        })
    }

    fn has_answered(&self, client: usize, records: u64) -> bool {
        let answered = self.answered.get(client);
        answered.is_none_or(|answered| answered.load(Ordering::Acquire) >= records)
    }

    /// Notes that an operation was sent.
    pub(super) fn sent(&mut self, operation: &Operation) {
        if !self.is_recorded(operation) {
            return;
        }
        self.pass = self.pass_of(operation.action);
        self.last = Some(operation.action);
        let number = self.pass * self.lens[self.own - self.first] + u64::from(operation.action);
        self.in_flight.push_back(Some(number));
    }

    /// Notes that a record was answered.
    pub(super) fn answered(&mut self, record: u32) {
        let len = self.lens[self.own - self.first];
        let is_it =
            |number: &Option<u64>| number.is_some_and(|number| number % len == u64::from(record));
        let Some(at) = self.in_flight.iter().position(is_it) else {
            return;
        };
        let mut answered = None;
        self.in_flight[at] = None;
        while let Some(None) = self.in_flight.front() {
            self.in_flight.pop_front();
        }
        if let Some(Some(first)) = self.in_flight.front() {
            answered = Some(*first);
        }
        let last = self.last.map_or(0, u64::from);
        let all = self.pass * len + last + 1;
        let answered = answered.unwrap_or(all);
        self.answered[self.own].store(answered, Ordering::Release);
    }
}

impl Drop for CopyPlace {
    /// A client that has ended, or was lost, holds up nobody.
    fn drop(&mut self) {
        self.answered[self.own].store(ENDED, Ordering::Release);
    }
}
