//! The requests that several drivers send, as values.

pub(super) mod create;
pub(super) mod info;
pub(super) mod recorded;

use smbench_model::action::Action;
use smbench_model::kind::OpKind;
use smbench_model::operations::Operation;
use smbench_protocol::command::ioctl::copy_chunk::CopyChunk;
use smbench_protocol::command::lock::lock_flags;

/// Bytes that every server copies at a time.
const CHUNK_LEN: u32 = 1 << 20;

/// Returns the chunks of a copy of an operation's range.
pub(super) fn copied_chunks(operation: &Operation) -> impl Iterator<Item = CopyChunk> {
    let Operation { offset, length, .. } = *operation;
    (0..length.div_ceil(CHUNK_LEN)).map(move |at| {
        let start = at * CHUNK_LEN;
        CopyChunk {
            source: offset + u64::from(start),
            target: start.into(),
            length: CHUNK_LEN.min(length - start),
        }
    })
}

/// Returns the flags of a LOCK of an action. It does not wait: that would block the slot without
/// loading the server.
pub(super) const fn flags_of_lock(kind: OpKind, action: &Action) -> u32 {
    match (kind, action) {
        (OpKind::Unlock, _) => lock_flags::UNLOCK,
        (
            _,
            Action::Lock {
                exclusive: true, ..
            },
        ) => lock_flags::EXCLUSIVE | lock_flags::FAIL_IMMEDIATELY,
        _ => lock_flags::SHARED | lock_flags::FAIL_IMMEDIATELY,
    }
}
