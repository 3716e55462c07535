//! An operation of several steps while it is under way: what its steps have done so far.

use smbench_model::Nanos;
use smbench_model::record::OperationFailure;

use super::slot::Slot;

/// The most requests of one listing. A server that never ends a listing does not hold a client
/// for ever.
const LISTING_REQUESTS_MAX: u32 = 1_000_000;

/// What the steps of the operation in a slot have done.
#[derive(Clone, Copy, Default)]
pub(super) struct WholeOperation {
    /// When its first step was sent; `None` if no step was answered.
    began: Option<Nanos>,
    /// Bytes of the file that it carries.
    pub(super) moved: u32,
    /// Names that it listed.
    pub(super) entries: u64,
    listings: u32,
    /// The first failure of a step.
    failure: Option<OperationFailure>,
}

impl WholeOperation {
    /// Returns when the first step was sent.
    pub(super) fn began(&self) -> Nanos {
        self.began.unwrap_or_default()
    }

    /// Returns when the first step was sent, if the last one is in this slot.
    pub(super) fn first_sent(&self, step: &Slot) -> Nanos {
        self.began.unwrap_or(step.sent)
    }

    /// Adds the step in a slot, which was answered.
    pub(super) fn add(&mut self, step: &Slot) {
        self.began.get_or_insert(step.sent);
        if step.operation.kind.lists_on() {
            self.entries += u64::from(step.moved);
            self.listings += 1;
            if self.listings > LISTING_REQUESTS_MAX {
                self.fail(OperationFailure::Long);
            }
        } else {
            self.moved = self.moved.saturating_add(step.moved);
        }
    }

    /// Returns the first failure of a step.
    pub(super) const fn failure(&self) -> Option<OperationFailure> {
        self.failure
    }

    pub(super) const fn has_failed(&self) -> bool {
        self.failure.is_some()
    }

    /// Keeps the failure of a step, if it is the first.
    pub(super) fn fail(&mut self, failure: OperationFailure) {
        self.failure.get_or_insert(failure);
    }
}
