//! How clients share the sequence: each takes the next position when it is ready
//! for another request.
//!
//! Under load, the position is the only value that workers share. It is an atomic
//! counter without a lock. sysbench takes a lock for each request.
//!
//! A fixed part of the sequence for each client would be wrong. The mode `rndrw`
//! repeats every five requests, so some clients would only read and others only
//! write. A run that ends by time would also have another ratio of reads.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::fileio::{Fileio, Sequence, SequenceStep};
use crate::kind::OpKind;
use crate::operations::{Mix, Operation};
use crate::part::ClientPart;
use crate::record::Phase;

/// The operations of all clients of a load point. A position is used only once. A
/// further load point continues where the previous one stopped, with the same
/// number of events of its own.
#[derive(Clone)]
pub struct Sequences {
    shared: Arc<SharedSequence>,
    /// Number of events begun in the load point's window.
    begun: Arc<AtomicU64>,
}

struct SharedSequence {
    sequence: Sequence,
    mix: Arc<Mix>,
    actions: Actions,
    files: u32,
    events: Option<u64>,
    /// Number of this host, and of all hosts. Each takes turns in the sequence.
    host: u64,
    hosts: u64,
    /// The position of the next request.
    next: AtomicU64,
}

/// Indices of the mix's actions; `None` for an action that does not occur.
struct Actions {
    read: Option<u32>,
    write: Option<u32>,
    flush: Option<u32>,
    final_flush: Option<u32>,
}

impl Sequences {
    /// Makes the operations of a test and a seed, for the clients of `part`.
    pub fn new(test: &Fileio, seed: u64, part: ClientPart, mix: &Arc<Mix>) -> Self {
        let (host, hosts) = match part {
            ClientPart::Host { host, of } => (u64::from(host), u64::from(of.max(1))),
            ClientPart::All | ClientPart::Range(_) => (0, 1),
        };
        // Host n of N takes the events n, n + N and so on.
        let events = |all: u64| (all + hosts - 1 - host) / hosts;
        let action = |kind| {
            let mut actions = mix.actions().iter();
            let at = actions.position(|action| action.first() == kind);
            at.map(|at| at as u32)
        };
        let shared = SharedSequence {
            sequence: Sequence::new(test, seed),
            mix: Arc::clone(mix),
            actions: Actions {
                read: action(OpKind::Read),
                write: action(OpKind::Write),
                flush: action(OpKind::Flush),
                final_flush: action(OpKind::FinalFlush),
            },
            files: test.files,
            events: test.events.map(events),
            host,
            hosts,
            next: AtomicU64::new(0),
        };
        Self {
            shared: Arc::new(shared),
            begun: Arc::default(),
        }
    }

    /// Returns the operations of a further load point.
    pub fn of_load_point(&self) -> Self {
        Self {
            shared: Arc::clone(&self.shared),
            begun: Arc::default(),
        }
    }

    /// Returns the player of one client.
    pub fn player(&self) -> SequenceCursor {
        SequenceCursor {
            of: self.clone(),
            closing: None,
        }
    }
}

/// One client's access to the shared sequence.
pub struct SequenceCursor {
    of: Sequences,
    /// The next file to flush, after the load.
    closing: Option<u32>,
}

impl SequenceCursor {
    /// Returns the next operation; `None` at the end.
    #[inline]
    pub fn next(&mut self, phase: Phase) -> Option<Operation> {
        let Sequences { shared, begun } = &self.of;
        if let Some(file) = self.closing {
            let action = shared.actions.final_flush?;
            if file == shared.files {
                return None;
            }
            self.closing = Some(file + 1);
            return Some(flush(OpKind::FinalFlush, action, file));
        }
        if let (Some(events), Phase::Window) = (shared.events, phase)
            && begun.fetch_add(1, Ordering::Relaxed) >= events
        {
            return None;
        }
        let turn = shared.next.fetch_add(1, Ordering::Relaxed);
        let position = turn * shared.hosts + shared.host;
        let (kind, action, place) = match shared.sequence.step(position) {
            SequenceStep::Read(place) => (OpKind::Read, shared.actions.read, place),
            SequenceStep::Write(place) => (OpKind::Write, shared.actions.write, place),
            SequenceStep::Flush(file) => {
                return Some(flush(OpKind::Flush, shared.actions.flush?, file));
            }
        };
        Some(Operation {
            kind,
            action: action?,
            file: place.file,
            offset: place.offset,
            length: place.length,
        })
    }

    /// Returns the mix with the actions of the operations.
    #[inline]
    #[must_use]
    pub fn mix(&self) -> &Mix {
        &self.of.shared.mix
    }

    /// Switches to the operations after the load (final flushes). Returns whether
    /// there are any.
    pub fn close(&mut self) -> bool {
        self.closing = Some(0);
        self.of.shared.actions.final_flush.is_some()
    }
}

const fn flush(kind: OpKind, action: u32, file: u32) -> Operation {
    Operation {
        kind,
        action,
        file,
        offset: 0,
        length: 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fileio::{FileOrigin, Flushing, RequestSpread, TestMode};
    use crate::plan::Plan;
    use crate::profile::Profile;
    use crate::spec::Spec;
    use crate::target::Target;
    use crate::units::Size;
    use crate::workload::Workload;

    fn test() -> Fileio {
        Fileio {
            mode: TestMode::SeqRd,
            files: 1,
            total: Size(100 * 4096),
            block: Size(4096),
            merged: 0,
            flushing: Flushing::Sets {
                every: None,
                at_end: false,
            },
            rw_ratio: 1.5,
            spread: RequestSpread::Uniform,
            events: Some(5),
            time: None,
            home: FileOrigin::Own,
        }
    }

    fn workload(test: &Fileio) -> Workload {
        let profile = Profile {
            fileio: Some(test.clone()),
            ..Profile::from_spec("fileio", Spec::default())
        };
        Plan::of(&profile, Target::none())
            .unwrap()
            .only()
            .workload
            .clone()
    }

    #[test]
    fn clients_share_the_events_of_a_load_point_and_the_sequence_of_all() {
        let test = test();
        let mix = Mix::new(&workload(&test));
        let sequences = Sequences::new(&test, 1, ClientPart::All, &mix);
        let mut from = 0;
        for _ in 0..2 {
            let of_point = sequences.of_load_point();
            let mut players = [of_point.player(), of_point.player()];
            let mut take = |phase| -> Vec<u64> {
                let taken = (0..4).flat_map(|_| players.each_mut().map(|one| one.next(phase)));
                taken.flatten().map(|one| one.offset / 4096).collect()
            };
            // Operations outside the window are not counted.
            let warm_up: Vec<_> = (from..from + 8).collect();
            assert_eq!(take(Phase::Outside), warm_up);
            let counted: Vec<_> = (from + 8..from + 13).collect();
            assert_eq!(take(Phase::Window), counted);
            assert!(take(Phase::Window).is_empty());
            from += 13;
        }
    }
}
