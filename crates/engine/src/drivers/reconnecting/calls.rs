//! The calls of a group in flight, and when its clients had their last answers.

use std::collections::BTreeMap;

use smbench_model::Nanos;
use smbench_model::kind::OpKind;

use crate::drivers::driver::{Call, SLOTS_MAX};

/// The calls of a group in flight, and the answers to its clients.
pub(super) struct ClientCalls {
    /// The call of each slot; `None` if it has its final answer.
    slots: Vec<Option<PendingCall>>,
    /// The calls of pieces, whose slots have high numbers.
    pieces: BTreeMap<u32, PendingCall>,
    clients: Box<[ClientAnswers]>,
    /// Number of clients without an answer since a loss.
    away: u32,
}

#[derive(Clone, Copy)]
struct PendingCall {
    member: usize,
    kind: OpKind,
}

/// The answers to a client.
#[derive(Clone, Copy, Default)]
struct ClientAnswers {
    /// Instant of the last one, or of the start of the load.
    last: Nanos,
    /// Instant of a loss after which it had none yet.
    lost_at: Option<Nanos>,
}

impl ClientCalls {
    pub(super) fn new(clients: usize) -> Self {
        Self {
            slots: Vec::new(),
            pieces: BTreeMap::new(),
            clients: vec![ClientAnswers::default(); clients].into_boxed_slice(),
            away: 0,
        }
    }

    /// Begins the load.
    pub(super) fn begin(&mut self, now: Nanos) {
        self.clients.iter_mut().for_each(|client| client.last = now);
    }

    /// Adds a call that was accepted.
    pub(super) fn sent(&mut self, call: &Call) {
        let pending = PendingCall {
            member: call.member,
            kind: call.operation.kind,
        };
        if call.slot >= SLOTS_MAX {
            self.pieces.insert(call.slot, pending);
            return;
        }
        let at = call.slot as usize;
        if self.slots.len() <= at {
            self.slots.resize(at + 1, None);
        }
        self.slots[at] = Some(pending);
    }

    fn pending(&self, slot: u32) -> Option<PendingCall> {
        match slot {
            ..SLOTS_MAX => self.slots.get(slot as usize).copied().flatten(),
            _ => self.pieces.get(&slot).copied(),
        }
    }

    /// Notes an answer to a call. If it is the first of its client after a loss, returns the
    /// instant of the loss, and the time since the last answer before it.
    pub(super) fn answered(&mut self, slot: u32, now: Nanos) -> Option<(Nanos, Nanos)> {
        let member = self.pending(slot)?.member;
        let client = &mut self.clients[member];
        let last = std::mem::replace(&mut client.last, now);
        if self.away == 0 {
            return None;
        }
        let lost_at = client.lost_at.take()?;
        self.away -= 1;
        Some((lost_at, now.since(last)))
    }

    /// Removes a call that has ended.
    pub(super) fn ended(&mut self, slot: u32) {
        match slot {
            ..SLOTS_MAX => {
                if let Some(pending) = self.slots.get_mut(slot as usize) {
                    *pending = None;
                }
            }
            _ => {
                self.pieces.remove(&slot);
            }
        }
    }

    /// Notes that all clients have lost their connection. Returns how many were not already
    /// without an answer since an earlier loss.
    pub(super) fn lose(&mut self, at: Nanos) -> u32 {
        let present = self.clients.iter_mut();
        let present = present.filter(|client| client.lost_at.is_none());
        let lost = present.map(|client| client.lost_at = Some(at)).count() as u32;
        self.away += lost;
        lost
    }

    /// Removes all calls in flight, and returns their slots in order, and their kinds.
    pub(super) fn take_in_flight(&mut self) -> Vec<(u32, OpKind)> {
        let slots = (0..).zip(&mut self.slots);
        let whole = slots.filter_map(|(slot, pending)| Some((slot, pending.take()?)));
        let mut all: Vec<_> = whole.collect();
        all.extend(std::mem::take(&mut self.pieces));
        let kinds = all.into_iter();
        kinds.map(|(slot, pending)| (slot, pending.kind)).collect()
    }
}

#[cfg(test)]
mod tests {
    use smbench_model::operations::Operation;

    use super::*;

    fn call(slot: u32, member: usize, kind: OpKind) -> Call {
        Call {
            slot,
            member,
            operation: Operation {
                kind,
                action: 0,
                file: 0,
                offset: 0,
                length: 0,
            },
        }
    }

    #[test]
    fn a_blackout_is_from_the_last_answer_before_to_the_first_after() {
        let mut calls = ClientCalls::new(2);
        calls.begin(Nanos(10));
        calls.sent(&call(0, 0, OpKind::Read));
        calls.sent(&call(SLOTS_MAX + 1, 1, OpKind::Write));
        assert_eq!(calls.answered(0, Nanos(20)), None);
        calls.ended(0);
        calls.sent(&call(0, 0, OpKind::Read));
        assert_eq!(calls.lose(Nanos(30)), 2);
        let lost = [(0, OpKind::Read), (SLOTS_MAX + 1, OpKind::Write)];
        assert_eq!(calls.take_in_flight(), lost);
        assert_eq!(calls.take_in_flight(), []);
        // A second loss before an answer belongs to the first one.
        assert_eq!(calls.lose(Nanos(40)), 0);
        calls.sent(&call(0, 0, OpKind::Read));
        assert_eq!(calls.answered(0, Nanos(50)), Some((Nanos(30), Nanos(30))));
        assert_eq!(calls.answered(0, Nanos(60)), None);
        // One client is back, and the other is not.
        assert_eq!(calls.lose(Nanos(70)), 1);
        calls.sent(&call(1, 1, OpKind::Read));
        assert_eq!(calls.answered(1, Nanos(80)), Some((Nanos(30), Nanos(70))));
        assert_eq!(calls.answered(7, Nanos(90)), None);
    }
}
