//! Operations of several steps: each step is recorded under its own kind, and the operation
//! with its last step.

use smbench_model::Nanos;
use smbench_model::record::{OperationFailure, Recorder, Times};

use super::Clients;
use crate::worker::supply::Supply;

impl<S: Supply> Clients<S> {
    /// Records the operation whose last step was in a slot.
    pub(super) fn end_whole(
        &mut self,
        at: u32,
        failure: Option<OperationFailure>,
        (now, in_window): (Nanos, u64),
        recorder: &mut Recorder,
    ) {
        let slot = &self.slots[at as usize];
        let Some(kind) = slot.operation.kind.part_of() else {
            return;
        };
        let whole = std::mem::take(&mut self.wholes[at as usize]);
        match whole.failure().or(failure) {
            Some(failure) => recorder.failure(kind, failure),
            None => {
                let times = Times {
                    service: now.since(whole.began()),
                    response: now.since(slot.due),
                };
                recorder.success(kind, whole.moved, times);
                recorder.listed(kind, whole.entries);
                self.members[slot.member].completed += in_window;
            }
        }
    }
}
