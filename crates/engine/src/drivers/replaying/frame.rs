//! Requests that were recorded in one frame: the first ones are held back until the last one is
//! there, or nothing else can be sent.

use smbench_model::kind::OpKind;
use smbench_model::operations::Operation;
use smbench_model::trace::Record;
use smbench_protocol::credit::charge_for;

use super::Replaying;
use crate::drivers::driver::{Busy, Call};

/// The requests of a frame that are held back. Their answers are awaited already.
#[derive(Default)]
pub(in crate::drivers) struct HeldFrame {
    pub(in crate::drivers) calls: Vec<Call>,
    /// The data of its WRITEs, one behind the other.
    pub(in crate::drivers) data: Vec<u8>,
    /// The credits that each request of the whole frame costs.
    pub(in crate::drivers) charges: Vec<u16>,
}

/// The place of a call in a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::drivers) enum FramePlace {
    /// It is sent alone.
    Alone,
    First,
    Middle,
    Last,
}

impl HeldFrame {
    pub(super) fn has(&self, slot: usize) -> bool {
        self.calls.iter().any(|call| call.slot as usize == slot)
    }

    pub(in crate::drivers) fn is_empty(&self) -> bool {
        self.calls.is_empty()
    }

    /// Adds a call. `data` appends the data of a WRITE.
    pub(in crate::drivers) fn hold(&mut self, call: &Call, data: impl FnOnce(&mut Vec<u8>)) {
        if call.operation.kind == OpKind::Write {
            data(&mut self.data);
        }
        self.calls.push(*call);
    }

    /// Returns what the requests that are there cost.
    pub(in crate::drivers) fn charges_so_far(&self) -> &[u16] {
        &self.charges[..self.calls.len()]
    }

    /// Takes the last call back.
    pub(in crate::drivers) fn take_back(&mut self) {
        self.calls.pop();
        let writes = self
            .calls
            .iter()
            .filter(|call| call.operation.kind == OpKind::Write);
        let kept: usize = writes.map(|call| call.operation.length as usize).sum();
        self.data.truncate(kept);
    }

    /// Forgets the calls, which were sent.
    pub(in crate::drivers) fn clear(&mut self) {
        self.calls.clear();
        self.data.clear();
        self.charges.clear();
    }
}

/// Returns the credits that a record costs.
fn charge(record: &Record) -> u16 {
    match *record {
        Record::Read { length, .. } | Record::Write { length, .. } => charge_for(length),
        _ => 1,
    }
}

impl<H> Replaying<H> {
    /// Returns the place of a call in the frame that was recorded. A client without slots
    /// for all requests of a frame sends them alone.
    pub(in crate::drivers) fn place_of(&self, call: &Call) -> FramePlace {
        let (trace, action) = (&self.clients[call.member].trace, call.operation.action);
        let frame = trace.frame(action);
        let is_stray = call.operation.kind == OpKind::Close
            && matches!(trace.record(action), Record::Create { .. });
        if frame.len() < 2 || frame.len() > self.outstanding || is_stray {
            return FramePlace::Alone;
        }
        match self.held.calls.last() {
            None if action == frame.start => FramePlace::First,
            Some(last) if last.member == call.member && last.operation.action + 1 == action => {
                if action + 1 == frame.end {
                    FramePlace::Last
                } else {
                    FramePlace::Middle
                }
            }
            _ => FramePlace::Alone,
        }
    }

    /// Begins a frame with its first call. Fails if one of its requests waits for other clients.
    pub(in crate::drivers) fn begin_frame(&mut self, first: &Call) -> Result<(), Busy> {
        let client = &self.clients[first.member];
        let frame = client.trace.frame(first.operation.action);
        if let Some(place) = &client.place {
            let mut actions = frame.clone();
            let may_send = actions.all(|action| {
                let operation = Operation {
                    action,
                    ..first.operation
                };
                place.may_send(&operation)
            });
            if !may_send {
                return Err(Busy::Others);
            }
        }
        let charges = frame.map(|at| charge(client.trace.record(at)));
        self.held.charges.clear();
        self.held.charges.extend(charges);
        Ok(())
    }

    /// Forgets a call that the server has not carried out. It is sent again.
    pub(in crate::drivers) fn forget(&mut self, slot: u32) {
        if let Some(slot) = self.slots.get_mut(slot as usize) {
            slot.current = None;
        }
    }
}
