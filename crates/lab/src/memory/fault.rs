//! Faults of a share in memory. Tests use them to show that a client detects
//! faults.
//!
//! Invariant: faults are counted over all handles of a share, so the same
//! sequence of operations always meets the same faults.

use std::num::NonZeroU64;
use std::sync::{Mutex, PoisonError};

use smb_server::{SmbError, SmbResult};

/// A fault of a share. Operations are counted from 1 over the whole share.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Fault {
    /// No fault.
    #[default]
    None,
    /// Every n-th read that returns data returns it with one byte inverted. The
    /// stored data stays intact.
    FlipByteEvery(NonZeroU64),
    /// Every n-th write is acknowledged but not stored.
    LoseWriteEvery(NonZeroU64),
    /// Every n-th read that would return data fails with
    /// `STATUS_UNEXPECTED_IO_ERROR`.
    FailReadEvery(NonZeroU64),
    /// Every n-th write fails with `STATUS_UNEXPECTED_IO_ERROR`.
    FailWriteEvery(NonZeroU64),
    /// Each open leaves this many bytes of memory behind.
    LeakPerOpen(NonZeroU64),
}

/// Whether a write is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WriteFate {
    Store,
    Lose,
}

impl Fault {
    /// Injects the fault into `data`, the result of the `nth` read, if that
    /// read is due.
    pub(super) fn on_read(self, nth: u64, data: &mut [u8]) -> SmbResult<()> {
        match self {
            Self::FlipByteEvery(n) if is_due(nth, n) => {
                let middle = data.len() / 2;
                if let Some(byte) = data.get_mut(middle) {
                    *byte = !*byte;
                }
                Ok(())
            }
            Self::FailReadEvery(n) if is_due(nth, n) => Err(injected()),
            _ => Ok(()),
        }
    }

    /// Leaves memory behind, if an open does that.
    pub(super) fn on_open(self, leaked: &Mutex<Vec<Vec<u8>>>) {
        if let Self::LeakPerOpen(bytes) = self {
            // Zeroes would take no memory before they are read.
            let left = vec![1; usize::try_from(bytes.get()).unwrap_or(usize::MAX)];
            leaked
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .push(left);
        }
    }

    /// Decides what happens to the `nth` write.
    pub(super) fn on_write(self, nth: u64) -> SmbResult<WriteFate> {
        match self {
            Self::LoseWriteEvery(n) if is_due(nth, n) => Ok(WriteFate::Lose),
            Self::FailWriteEvery(n) if is_due(nth, n) => Err(injected()),
            _ => Ok(WriteFate::Store),
        }
    }
}

fn is_due(nth: u64, every: NonZeroU64) -> bool {
    nth.is_multiple_of(every.get())
}

fn injected() -> SmbError {
    SmbError::Io(std::io::Error::other("injected fault"))
}
