//! Operations behind a pointer. The loop is compiled once for all sources of this form,
//! not once for each source with each driver. That saves a third of the time to build
//! the engine. Drawn operations of the native driver are not of this form, so that its
//! loop calls nothing through a pointer.

use smbench_model::contents::verify::Ledger;
use smbench_model::operations::{Operation, RequestResult};
use smbench_model::record::Phase;
use smbench_protocol::NtStatus;

use super::{Supplies, Supply};
use crate::drivers::driver::Answer;
use crate::drivers::dropped::Dropped;
use crate::worker::slot::{Judged, Slot};

/// The operations of all clients, from any source.
pub(crate) struct Indirect(Box<dyn AnySupplies>);

impl Indirect {
    pub(crate) fn new(supplies: impl Supplies) -> Self {
        Self(Box::new(supplies))
    }
}

trait AnySupplies: Send {
    fn duplicate(&self) -> Box<dyn AnySupplies>;
    fn of_load_point(&self) -> Box<dyn AnySupplies>;
    fn of_client(&self, client: u32) -> Box<dyn Supply>;
}

impl<T: Supplies> AnySupplies for T {
    fn duplicate(&self) -> Box<dyn AnySupplies> {
        Box::new(self.clone())
    }

    fn of_load_point(&self) -> Box<dyn AnySupplies> {
        Box::new(Supplies::of_load_point(self))
    }

    fn of_client(&self, client: u32) -> Box<dyn Supply> {
        Box::new(Supplies::of_client(self, client))
    }
}

impl Clone for Indirect {
    fn clone(&self) -> Self {
        Self(self.0.duplicate())
    }
}

impl Supplies for Indirect {
    type Supply = Box<dyn Supply>;

    fn of_load_point(&self) -> Self {
        Self(self.0.of_load_point())
    }

    fn of_client(&self, client: u32) -> Box<dyn Supply> {
        self.0.of_client(client)
    }
}

impl Supply for Box<dyn Supply> {
    fn next(&mut self, phase: Phase) -> Option<Operation> {
        (**self).next(phase)
    }

    fn is_over(&self) -> bool {
        (**self).is_over()
    }

    fn close(&mut self) -> bool {
        (**self).close()
    }

    fn judge(&self, slot: &Slot, answer: &Answer<'_>, ledger: Option<&mut Ledger>) -> Judged {
        (**self).judge(slot, answer, ledger)
    }

    fn after(&self, last: &Operation, went: RequestResult, status: NtStatus) -> Option<Operation> {
        (**self).after(last, went, status)
    }

    fn fault(&self) -> Dropped {
        (**self).fault()
    }
}
