//! Sources of operations for the loop: drawn from the plan's workload, or from
//! streams of an embedding program, which are untrusted.

mod counted;
mod foreign;
mod indirect;
mod noting;
mod splitting;

use std::convert::identity;
use std::sync::Arc;

use smbench_model::Nanos;
use smbench_model::contents::verify::Ledger;
use smbench_model::kind::OpKind;
use smbench_model::operations::fileio::{self, Sequences};
use smbench_model::operations::{Drawn, Mix, OpStream, Operation, RequestResult, Streams};
use smbench_model::plan::Plan;
use smbench_model::record::{Origin, Phase, SplitSizes};
use smbench_protocol::NtStatus;

use crate::drivers::cifs::CifsEncode;
use crate::drivers::cifs::mix::CifsMix;
use crate::drivers::driver::Answer;
use crate::drivers::dropped::Dropped;
use crate::drivers::native::encode::Encode;
use crate::drivers::native::request::MixEncoder;
#[cfg(feature = "smb-rs")]
use crate::drivers::smb_rs::{Caller, mix::MixCaller};
use crate::worker::notes::SharedPad;
use crate::worker::slot::{self, Judged, Slot};
pub(crate) use counted::CountedDrawn;
pub(crate) use foreign::Foreign;
pub(crate) use indirect::Indirect;
pub(crate) use noting::Noting;
pub(crate) use splitting::Splitting;

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

/// A source of operations, and how drivers carry them out.
pub(crate) trait OperationSource: Supplies {
    /// The operations in the form for the loop of the native driver.
    type Native: Supplies;
    /// Encodes its operations for the native driver.
    type Encoder: Encode;
    /// Encodes its operations for the driver in CIFS.
    type CifsEncoder: CifsEncode;
    /// Makes the calls of its operations for the smb-rs driver.
    #[cfg(feature = "smb-rs")]
    type Caller: Caller;

    /// The operations in the form for the loop that splits those larger than a request.
    type Split: Supplies;

    fn native(self) -> Self::Native;

    fn split(self, sizes: SplitSizes) -> Self::Split;
}

/// Makes a source of operations that drivers carry out as those of a mix.
macro_rules! source_of_mix {
    ($source:ty $(where $param:ident: $bound:ident)?, $native:ty, $make:expr) => {
        impl $(<$param: $bound>)? OperationSource for $source {
            type Native = $native;
            type Split = Splitting;
            type Encoder = MixEncoder;
            type CifsEncoder = CifsMix;
            #[cfg(feature = "smb-rs")]
            type Caller = MixCaller;

            fn native(self) -> $native {
                $make(self)
            }

            fn split(self, sizes: SplitSizes) -> Splitting {
                Splitting::new(self, sizes)
            }
        }
    };
}

source_of_mix!(Drawn, Self, identity);
source_of_mix!(CountedDrawn, Indirect, Indirect::new);
source_of_mix!(Sequences, Indirect, Indirect::new);
source_of_mix!(Foreign<T> where T: Streams, Indirect, Indirect::new);

impl Supply for OpStream {
    fn next(&mut self, _: Phase) -> Option<Operation> {
        Some(Self::next(self))
    }

    fn after(&self, last: &Operation, went: RequestResult, _: NtStatus) -> Option<Operation> {
        self.mix().after(last, went)
    }

    fn fault(&self) -> Dropped {
        unreachable!("the plan's own operations can all be sent")
    }
}

impl Supplies for Drawn {
    type Supply = OpStream;

    fn of_client(&self, client: u32) -> OpStream {
        Streams::of_client(self, client)
    }
}

impl Supply for fileio::SequenceCursor {
    fn next(&mut self, phase: Phase) -> Option<Operation> {
        Self::next(self, phase)
    }

    fn is_over(&self) -> bool {
        true
    }

    fn close(&mut self) -> bool {
        Self::close(self)
    }

    fn after(&self, last: &Operation, went: RequestResult, _: NtStatus) -> Option<Operation> {
        self.mix().after(last, went)
    }

    fn fault(&self) -> Dropped {
        unreachable!("all of a test can be sent")
    }
}

impl Supplies for Sequences {
    type Supply = fileio::SequenceCursor;

    fn of_load_point(&self) -> Self {
        Self::of_load_point(self)
    }

    fn of_client(&self, _: u32) -> fileio::SequenceCursor {
        self.player()
    }
}

/// The operations of a run, from any source.
pub(crate) struct Operations<T> {
    pub(crate) mix: Arc<Mix>,
    pub(crate) origin: Origin,
    pub(crate) supplies: T,
}

impl<T> Operations<T> {
    /// Returns the operations that the plan itself asks for.
    pub(crate) const fn of_plan(mix: Arc<Mix>, supplies: T) -> Self {
        let origin = Origin::Plan;
        Self {
            mix,
            origin,
            supplies,
        }
    }
}

impl<T: Streams> Operations<Foreign<T>> {
    /// Makes the operations from streams of an embedding program.
    pub(crate) fn of(streams: T, plan: &Plan) -> Self {
        let mix = Mix::new(&plan.only().workload);
        Self {
            origin: streams.origin(plan),
            supplies: Foreign::new(streams, plan, &mix),
            mix,
        }
    }
}
