//! Sources of operations for the loop: drawn from the plan's workload, or from
//! streams of an embedding program, which are untrusted.

mod counted;
mod indirect;
mod noting;
mod splitting;

use std::convert::identity;
use std::sync::Arc;

use smbench_model::Nanos;
use smbench_model::action::Range;
use smbench_model::contents::Verify;
use smbench_model::contents::block::BLOCK_BYTES;
use smbench_model::contents::verify::Ledger;
use smbench_model::files::FileSet;
use smbench_model::kind::{Direction, OpKind};
use smbench_model::operations::fileio::{self, Sequences};
use smbench_model::operations::{Drawn, Mix, OpStream, Operation, RequestResult, Stream, Streams};
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
use crate::drivers::untrusted::{ForeignPart, in_embedding};
use crate::worker::notes::SharedPad;
use crate::worker::slot::{self, Judged, Slot};
pub(crate) use counted::CountedDrawn;
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

/// Limits for operations. Drivers have opened files and requested credits only for
/// what the plan allows.
struct Bounds {
    mix: Arc<Mix>,
    files: FileSet,
    largest_read: u32,
    largest_write: u32,
    /// Block size of verification, in bytes.
    unit: u32,
}

impl Bounds {
    fn fault(&self, operation: &Operation) -> Option<String> {
        let Operation {
            kind,
            action,
            file,
            offset,
            length,
        } = *operation;
        let Some(of_action) = self.mix.actions().get(action as usize) else {
            let actions = self.mix.actions().len();
            return Some(format!("action {action}, but the plan has {actions}"));
        };
        if kind != of_action.first() {
            let (kind, first) = (kind.name(), of_action.first().name());
            return Some(format!(
                "a {kind} for action {action}, which begins with a {first}"
            ));
        }
        let range = of_action.range();
        let (what, count) = match range {
            Range::NewFile => ("file", u32::MAX),
            Range::Directory => ("directory", self.files.directories()),
            _ => ("file", self.files.count),
        };
        if file >= count && range != Range::NewFile {
            return Some(format!("a {} of {what} {file} of {count}", kind.name()));
        }
        let largest = match kind {
            OpKind::Write => self.largest_write,
            _ => self.largest_read,
        };
        let end = offset.checked_add(length.into());
        let fits = match range {
            Range::Request => {
                (1..=largest).contains(&length)
                    && end.is_some_and(|end| end <= self.files.size)
                    && length.is_multiple_of(self.unit)
                    && offset.is_multiple_of(self.unit.into())
            }
            // Locks end below 2^63 (MS-SMB2 3.3.5.14).
            _ => end.is_some_and(|end| end < 1 << 63),
        };
        (!fits).then(|| {
            format!(
                "a {} of {length} bytes at {offset}; the plan allows for 1 to {} bytes in files of {}, \
                 in units of {}",
                kind.name(),
                largest,
                self.files.size,
                self.unit
            )
        })
    }
}

/// Streams of an embedding program, checked against the plan.
#[derive(Clone)]
pub(crate) struct Foreign<T> {
    streams: T,
    bounds: Arc<Bounds>,
}

impl<T: Streams> Foreign<T> {
    fn new(streams: T, plan: &Plan, mix: &Arc<Mix>) -> Self {
        Self {
            streams,
            bounds: Arc::new(Bounds {
                mix: Arc::clone(mix),
                files: plan.only().workload.files.clone(),
                largest_read: plan.largest_of(Direction::Read),
                largest_write: plan.largest_of(Direction::Write),
                unit: match plan.only().verify {
                    Verify::Off => 1,
                    Verify::ReadBack => BLOCK_BYTES as u32,
                },
            }),
        }
    }
}

impl<T: Streams> Supplies for Foreign<T> {
    type Supply = Checked<T::Stream>;

    fn of_client(&self, client: u32) -> Self::Supply {
        Checked {
            stream: in_embedding(ForeignPart::Stream, || self.streams.of_client(client)),
            bounds: Arc::clone(&self.bounds),
            fault: None,
        }
    }
}

/// One such stream.
pub(crate) struct Checked<S> {
    stream: S,
    bounds: Arc<Bounds>,
    fault: Option<String>,
}

impl<S: Stream> Supply for Checked<S> {
    #[inline]
    fn next(&mut self, _: Phase) -> Option<Operation> {
        let operation = in_embedding(ForeignPart::Stream, || self.stream.next());
        self.fault = self.bounds.fault(&operation);
        self.fault.is_none().then_some(operation)
    }

    #[inline]
    fn after(&self, last: &Operation, went: RequestResult, _: NtStatus) -> Option<Operation> {
        self.bounds.mix.after(last, went)
    }

    fn fault(&self) -> Dropped {
        Dropped::Unplanned(self.fault.clone().unwrap_or_default())
    }
}
