//! Drawn operations that end after a number of actions. They have a type of their own, so that
//! the endless ones cost no instruction for it.

use smbench_model::operations::{Drawn, OpStream, Operation, RequestResult};
use smbench_model::record::Phase;
use smbench_protocol::NtStatus;

use super::{Supplies, Supply};
use crate::drivers::dropped::Dropped;

/// The operations of all clients, with the number of actions of each.
#[derive(Clone)]
pub(crate) struct CountedDrawn {
    pub(crate) supplies: Drawn,
    pub(crate) count: u64,
}

impl Supplies for CountedDrawn {
    type Supply = CountedStream;

    fn of_client(&self, client: u32) -> CountedStream {
        CountedStream {
            operations: Supplies::of_client(&self.supplies, client),
            left: self.count,
        }
    }
}

/// The operations of one client.
pub(crate) struct CountedStream {
    operations: OpStream,
    /// Actions that have not been drawn yet.
    left: u64,
}

impl Supply for CountedStream {
    fn next(&mut self, phase: Phase) -> Option<Operation> {
        self.left = self.left.checked_sub(1)?;
        Supply::next(&mut self.operations, phase)
    }

    fn is_over(&self) -> bool {
        self.left == 0
    }

    fn after(&self, last: &Operation, went: RequestResult, status: NtStatus) -> Option<Operation> {
        self.operations.after(last, went, status)
    }

    fn fault(&self) -> Dropped {
        self.operations.fault()
    }
}
