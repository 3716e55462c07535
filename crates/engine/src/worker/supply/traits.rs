//! What the loop asks of the operations of one client, and of those of all clients.

use smbench_model::Nanos;
use smbench_model::contents::verify::Ledger;
use smbench_model::kind::OpKind;
use smbench_model::operations::{Operation, RequestResult};
use smbench_model::record::Phase;
use smbench_protocol::NtStatus;

use crate::drivers::driver::Answer;
use crate::drivers::dropped::Dropped;
use crate::worker::notes::SharedPad;
use crate::worker::slot::{self, Judged, Slot};

/// The operations of one client.
pub(crate) trait Supply: 'static {
    /// Returns the first request of the next action, which begins in the given
    /// phase. Returns `None` if it cannot be sent, or if there is none.
    fn next(&mut self, phase: Phase) -> Option<Operation>;

    /// Returns whether `None` means that all operations have been sent.
    fn is_over(&self) -> bool {
        false
    }

    /// Switches to the operations to run after the load (final flushes). Returns
    /// whether there are any.
    fn close(&mut self) -> bool {
        false
    }

    /// Returns whether operations may be larger than a request, or be measured as a whole
    /// beside their requests. The loop is compiled without the code for them where they are
    /// not.
    fn splits() -> bool
    where
        Self: Sized,
    {
        false
    }

    /// Returns the largest request of this kind in bytes. Larger operations are split.
    fn request_max(&self, _: OpKind) -> u32 {
        u32::MAX
    }

    /// Checks an answer, or a part of one.
    fn judge(&self, slot: &Slot, answer: &Answer<'_>, ledger: Option<&mut Ledger>) -> Judged {
        slot::judge(slot, answer, ledger)
    }

    /// Returns the request after one with this result and status. Returns `None`
    /// when the action ends.
    fn after(&self, last: &Operation, went: RequestResult, status: NtStatus) -> Option<Operation>;

    /// Returns why the next operation cannot be sent.
    fn fault(&self) -> Dropped;

    /// Gets the page for notes on answers, before the load.
    fn note_in(&mut self, _: Option<&SharedPad>) {}

    /// Learns that the client has opened its files anew, because the server did not keep its
    /// handles.
    fn reopened(&mut self) {}

    /// Learns that an operation was sent in this slot. `generation` is that of the client's
    /// last write.
    #[inline]
    fn sent(&mut self, _slot: u32, _operation: &Operation, _generation: u32) {}

    /// Learns that the operation in the slot with this number was answered.
    #[inline]
    fn answered(&mut self, _number: u32, _slot: &Slot, _now: Nanos, _went: RequestResult) {}
}

/// The operations of all clients.
pub(crate) trait Supplies: Clone + Send + 'static {
    type Supply: Supply;

    /// Returns the source for the clients of one load point, shared by all workers.
    fn of_load_point(&self) -> Self {
        self.clone()
    }

    fn of_client(&self, client: u32) -> Self::Supply;
}
