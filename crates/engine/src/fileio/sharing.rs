//! How clients share the sequence: each takes the next position when it is ready
//! for another request.
//!
//! The position is the one thing that workers share while the load is on. It is a
//! number that is added to, without a lock; sysbench takes one for each request.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::{Fileio, Sequence, Step};
use crate::record::{OpKind, Phase};
use crate::stream::{Mix, Operation};

/// The operations of all clients. What they have taken stays taken: a further
/// load point goes on where the one before has stopped.
#[derive(Clone)]
pub(crate) struct Sequences(Arc<Shared>);

struct Shared {
    sequence: Sequence,
    actions: Actions,
    files: u32,
    events: Option<u64>,
    /// Position of the next request.
    next: AtomicU64,
    /// Events of the window that were begun.
    begun: AtomicU64,
}

/// Indices of the mix's actions; `None` for what does not occur.
struct Actions {
    read: Option<u8>,
    write: Option<u8>,
    flush: Option<u8>,
    final_flush: Option<u8>,
}

impl Sequences {
    pub(crate) fn new(test: &Fileio, seed: u64, mix: &Mix) -> Self {
        let action = |kind| {
            let mut actions = mix.actions().iter();
            let at = actions.position(|action| action.first() == kind);
            at.map(|at| at as u8)
        };
        Self(Arc::new(Shared {
            sequence: Sequence::new(test, seed),
            actions: Actions {
                read: action(OpKind::Read),
                write: action(OpKind::Write),
                flush: action(OpKind::Flush),
                final_flush: action(OpKind::FinalFlush),
            },
            files: test.files,
            events: test.events,
            next: AtomicU64::new(0),
            begun: AtomicU64::new(0),
        }))
    }

    /// What a client takes part with.
    pub(crate) fn player(&self) -> Player {
        Player {
            shared: Arc::clone(&self.0),
            closing: None,
        }
    }
}

/// A client's share.
pub(crate) struct Player {
    shared: Arc<Shared>,
    /// The next file to be flushed, once the load is over.
    closing: Option<u32>,
}

impl Player {
    /// The next operation; `None` at the end.
    pub(crate) fn next(&mut self, phase: Phase) -> Option<Operation> {
        let shared = &*self.shared;
        if let Some(file) = self.closing {
            let action = shared.actions.final_flush?;
            if file == shared.files {
                return None;
            }
            self.closing = Some(file + 1);
            return Some(flush(OpKind::FinalFlush, action, file));
        }
        if let (Some(events), Phase::Window) = (shared.events, phase)
            && shared.begun.fetch_add(1, Ordering::Relaxed) >= events
        {
            return None;
        }
        let position = shared.next.fetch_add(1, Ordering::Relaxed);
        let (kind, action, place) = match shared.sequence.step(position) {
            Step::Read(place) => (OpKind::Read, shared.actions.read, place),
            Step::Write(place) => (OpKind::Write, shared.actions.write, place),
            Step::Flush(file) => return Some(flush(OpKind::Flush, shared.actions.flush?, file)),
        };
        Some(Operation {
            kind,
            action: action?,
            file: place.file,
            offset: place.offset,
            length: place.length,
        })
    }

    /// From now on what comes when the load is over: whether there is anything.
    pub(crate) fn close(&mut self) -> bool {
        self.closing = Some(0);
        self.shared.actions.final_flush.is_some()
    }
}

const fn flush(kind: OpKind, action: u8, file: u32) -> Operation {
    Operation {
        kind,
        action,
        file,
        offset: 0,
        length: 0,
    }
}
