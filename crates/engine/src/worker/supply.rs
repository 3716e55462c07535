//! Sources of operations for the loop: drawn from the plan's workload, or from
//! streams of an embedding program, which are untrusted.

mod counted;
mod foreign;
mod indirect;
mod noting;
mod splitting;
mod traits;

use std::convert::identity;
use std::sync::Arc;

use smbench_model::operations::fileio::{self, Sequences};
use smbench_model::operations::{Drawn, Mix, OpStream, Operation, RequestResult, Streams};
use smbench_model::plan::Plan;
use smbench_model::record::{Origin, Phase, SplitSizes};
use smbench_protocol::NtStatus;

use crate::drivers::cifs::CifsEncode;
use crate::drivers::cifs::mix::CifsMix;
use crate::drivers::dropped::Dropped;
use crate::drivers::native::encode::Encode;
use crate::drivers::native::request::MixEncoder;
#[cfg(feature = "smb-rs")]
use crate::drivers::smb_rs::{Caller, mix::MixCaller};
pub(crate) use counted::CountedDrawn;
pub(crate) use foreign::Foreign;
pub(crate) use indirect::Indirect;
pub(crate) use noting::Noting;
pub(crate) use splitting::Splitting;
pub(crate) use traits::{Supplies, Supply};

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
