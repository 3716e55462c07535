//! Operations of which some are larger than a request, or take several that are measured as a
//! whole too. They have a loop of their own, so that the others cost no instruction for it.

use smbench_model::contents::verify::Ledger;
use smbench_model::kind::OpKind;
use smbench_model::operations::{Operation, RequestResult};
use smbench_model::record::{OperationFailure, Phase, SplitSizes};
use smbench_protocol::NtStatus;

use super::{Indirect, Supplies, Supply};
use crate::drivers::driver::Answer;
use crate::drivers::dropped::Dropped;
use crate::worker::slot::{Judged, Slot, WrongAnswer};

/// The most looks for a file before its absence is an error.
const LOOKS_MAX: u64 = 10_000;

/// The operations of all clients, with the sizes of requests.
#[derive(Clone)]
pub(crate) struct Splitting {
    supplies: Indirect,
    sizes: SplitSizes,
}

impl Splitting {
    pub(crate) fn new(supplies: impl Supplies, sizes: SplitSizes) -> Self {
        Self {
            supplies: Indirect::new(supplies),
            sizes,
        }
    }
}

impl Supplies for Splitting {
    type Supply = SplitSupply;

    fn of_load_point(&self) -> Self {
        Self {
            supplies: self.supplies.of_load_point(),
            ..*self
        }
    }

    fn of_client(&self, client: u32) -> SplitSupply {
        SplitSupply {
            operations: self.supplies.of_client(client),
            sizes: self.sizes,
        }
    }
}

/// The operations of one client, with the sizes of requests.
pub(crate) struct SplitSupply {
    operations: Box<dyn Supply>,
    sizes: SplitSizes,
}

impl Supply for SplitSupply {
    fn next(&mut self, phase: Phase) -> Option<Operation> {
        self.operations.next(phase)
    }

    fn is_over(&self) -> bool {
        self.operations.is_over()
    }

    fn close(&mut self) -> bool {
        self.operations.close()
    }

    fn splits() -> bool {
        true
    }

    fn request_max(&self, kind: OpKind) -> u32 {
        self.sizes.request_max(kind)
    }

    fn judge(&self, slot: &Slot, answer: &Answer<'_>, ledger: Option<&mut Ledger>) -> Judged {
        match (slot.operation.kind, answer.status) {
            (OpKind::LookupMissing, status) if status.names_nothing() => Ok(Ok(None)),
            (kind, status)
                if is_not_shown(kind, status) && slot.operation.offset + 1 < LOOKS_MAX =>
            {
                Ok(Ok(None))
            }
            (OpKind::LookupMissing, NtStatus::SUCCESS) => {
                let found = OperationFailure::Status(answer.status);
                Ok(Err(WrongAnswer::Answer(found)))
            }
            _ => self.operations.judge(slot, answer, ledger),
        }
    }

    fn after(&self, last: &Operation, went: RequestResult, status: NtStatus) -> Option<Operation> {
        let went = match status {
            NtStatus::NO_MORE_FILES | NtStatus::NO_SUCH_FILE if last.kind.lists_on() => {
                RequestResult::Exhausted
            }
            _ if went == RequestResult::Well && is_not_shown(last.kind, status) => {
                RequestResult::Exhausted
            }
            _ => went,
        };
        self.operations.after(last, went, status)
    }

    fn fault(&self) -> Dropped {
        self.operations.fault()
    }
}

/// Returns whether a look at a file shows that the server does not have the file yet. A file
/// without its data is an error.
const fn is_not_shown(kind: OpKind, status: NtStatus) -> bool {
    let looks = matches!(kind, OpKind::NeighbourLook | OpKind::NeighbourRead);
    looks && status.names_nothing()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::drivers::driver::Extent;

    /// A source of nothing.
    struct Nothing;

    impl Supply for Nothing {
        fn next(&mut self, _: Phase) -> Option<Operation> {
            None
        }

        fn after(&self, last: &Operation, went: RequestResult, _: NtStatus) -> Option<Operation> {
            (went == RequestResult::Exhausted).then_some(*last)
        }

        fn fault(&self) -> Dropped {
            unreachable!("nothing is sent")
        }
    }

    #[test]
    fn a_file_that_is_not_there_is_looked_for_again_and_at_last_an_error() {
        let supply = SplitSupply {
            operations: Box::new(Nothing),
            sizes: SplitSizes::default(),
        };
        let missing = NtStatus::OBJECT_NAME_NOT_FOUND;
        let mut slot = Slot::free(0);
        slot.operation.kind = OpKind::NeighbourLook;
        let mut is_error = |looks: u64, status| {
            slot.operation.offset = looks;
            let answer = Answer::bare(0, Extent::Final, status);
            let judged = supply.judge(&slot, &answer, None);
            judged.is_ok_and(|judged| judged.is_err())
        };
        assert!(!is_error(0, missing));
        assert!(!is_error(LOOKS_MAX - 2, missing));
        assert!(is_error(LOOKS_MAX - 1, missing));
        assert!(is_error(0, NtStatus::ACCESS_DENIED));
        let goes_on = |went, status| supply.after(&slot.operation, went, status).is_some();
        assert!(goes_on(RequestResult::Well, missing));
        assert!(!goes_on(RequestResult::Wrong, missing));
        assert!(!goes_on(RequestResult::Well, NtStatus::SUCCESS));
    }
}
