//! Streams of an embedding program. They are untrusted: each operation is checked against
//! the plan.

use std::sync::Arc;

use smbench_model::action::Range;
use smbench_model::contents::Verify;
use smbench_model::contents::block::BLOCK_BYTES;
use smbench_model::files::FileSet;
use smbench_model::kind::{Direction, OpKind};
use smbench_model::operations::{Mix, Operation, RequestResult, Stream, Streams};
use smbench_model::plan::Plan;
use smbench_model::record::Phase;
use smbench_protocol::NtStatus;

use crate::drivers::dropped::Dropped;
use crate::drivers::untrusted::{ForeignPart, in_embedding};
use crate::worker::supply::{Supplies, Supply};

/// Limits for operations. Drivers have opened files and requested credits only for
/// what the plan allows.
struct Bounds {
    mix: Arc<Mix>,
    /// Limits of each action, by its number.
    actions: Box<[ActionBounds]>,
    files: FileSet,
    /// Block size of verification, in bytes.
    unit: u32,
}

/// Limits for the first request of one action.
struct ActionBounds {
    first: OpKind,
    range: Range,
    /// Number of files or directories, or `None` if each number has one.
    files: Option<u32>,
    /// Most bytes of a request.
    largest: u32,
}

impl Bounds {
    fn new(plan: &Plan, mix: &Arc<Mix>) -> Self {
        let files = &plan.only().workload.files;
        let actions = mix.actions().iter().map(|action| ActionBounds {
            first: action.first(),
            range: action.range(),
            files: match action.range() {
                Range::NewFile => None,
                Range::Directory => Some(files.directories()),
                _ => Some(files.count),
            },
            largest: plan.largest_of(match action.first() {
                OpKind::Write => Direction::Write,
                _ => Direction::Read,
            }),
        });
        Self {
            actions: actions.collect(),
            mix: Arc::clone(mix),
            files: files.clone(),
            unit: match plan.only().verify {
                Verify::Off => 1,
                Verify::ReadBack => BLOCK_BYTES as u32,
            },
        }
    }

    #[inline]
    fn allow(&self, operation: &Operation) -> bool {
        let Operation {
            kind,
            action,
            file,
            offset,
            length,
        } = *operation;
        let Some(bounds) = self.actions.get(action as usize) else {
            return false;
        };
        let end = offset.checked_add(length.into());
        kind == bounds.first
            && bounds.files.is_none_or(|files| file < files)
            && if bounds.range == Range::Request {
                (1..=bounds.largest).contains(&length)
                    && end.is_some_and(|end| end <= self.files.size)
                    && (self.unit == 1
                        || (length.is_multiple_of(self.unit)
                            && offset.is_multiple_of(self.unit.into())))
            } else {
                // Locks end below 2^63 (MS-SMB2 3.3.5.14).
                end.is_some_and(|end| end < 1 << 63)
            }
    }

    /// Says why an operation is not allowed.
    #[cold]
    fn fault(&self, operation: &Operation) -> String {
        let &Operation {
            kind,
            action,
            file,
            offset,
            length,
        } = operation;
        let kind_name = kind.name();
        let Some(bounds) = self.actions.get(action as usize) else {
            let actions = self.actions.len();
            return format!("action {action}, but the plan has {actions}");
        };
        if kind != bounds.first {
            let first = bounds.first.name();
            return format!("a {kind_name} for action {action}, which begins with a {first}");
        }
        if let Some(files) = bounds.files.filter(|files| file >= *files) {
            let what = match bounds.range {
                Range::Directory => "directory",
                _ => "file",
            };
            return format!("a {kind_name} of {what} {file} of {files}");
        }
        format!(
            "a {kind_name} of {length} bytes at {offset}; the plan allows for 1 to {} bytes in \
             files of {}, in units of {}",
            bounds.largest, self.files.size, self.unit
        )
    }
}

/// Streams of an embedding program, checked against the plan.
#[derive(Clone)]
pub(crate) struct Foreign<T> {
    streams: T,
    bounds: Arc<Bounds>,
}

impl<T: Streams> Foreign<T> {
    pub(super) fn new(streams: T, plan: &Plan, mix: &Arc<Mix>) -> Self {
        Self {
            streams,
            bounds: Arc::new(Bounds::new(plan, mix)),
        }
    }
}

impl<T: Streams> Supplies for Foreign<T> {
    type Supply = Checked<T::Stream>;

    fn of_client(&self, client: u32) -> Self::Supply {
        Checked {
            stream: in_embedding(ForeignPart::Stream, || self.streams.of_client(client)),
            bounds: Arc::clone(&self.bounds),
            refused: None,
        }
    }
}

/// One such stream.
pub(crate) struct Checked<S> {
    stream: S,
    bounds: Arc<Bounds>,
    /// An operation that the plan does not allow.
    refused: Option<Operation>,
}

impl<S: Stream> Supply for Checked<S> {
    #[inline]
    fn next(&mut self, _: Phase) -> Option<Operation> {
        let operation = in_embedding(ForeignPart::Stream, || self.stream.next());
        if self.bounds.allow(&operation) {
            return Some(operation);
        }
        self.refused = Some(operation);
        None
    }

    #[inline]
    fn after(&self, last: &Operation, went: RequestResult, _: NtStatus) -> Option<Operation> {
        self.bounds.mix.after(last, went)
    }

    fn fault(&self) -> Dropped {
        let refused = self.refused.as_ref();
        Dropped::Unplanned(refused.map_or_else(String::new, |refused| self.bounds.fault(refused)))
    }
}
