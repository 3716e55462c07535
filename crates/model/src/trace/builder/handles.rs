//! Handles of a trace. Their numbers are reused after a close.

use std::collections::HashMap;

use smbench_protocol::NtStatus;

use crate::trace::step::HANDLES_MAX;
use crate::trace::{Handle, HandleNumber, StepError};

/// An open file.
#[derive(Clone, Copy)]
pub(super) struct Open {
    pub(super) number: HandleNumber,
    /// Its node in the name space.
    pub(super) node: u32,
}

/// The open handles.
#[derive(Default)]
pub(super) struct Handles {
    open: HashMap<Handle, Open>,
    free: Vec<HandleNumber>,
    /// The largest number of handles open at the same time.
    pub(super) most: u32,
}

impl Handles {
    pub(super) fn get(&self, handle: Handle) -> Option<Open> {
        self.open.get(&handle).copied()
    }

    /// Returns the number of a handle. A request with a handle that is not open
    /// must have failed.
    pub(super) fn number(
        &self,
        handle: Handle,
        status: NtStatus,
    ) -> Result<Option<HandleNumber>, StepError> {
        match self.open.get(&handle) {
            None if status == NtStatus::SUCCESS => Err(StepError::NotOpen(handle)),
            open => Ok(open.map(|open| open.number)),
        }
    }

    /// Opens a handle and returns its number.
    pub(super) fn take(&mut self, handle: Handle, node: u32) -> Result<HandleNumber, StepError> {
        let number = match self.free.pop() {
            Some(number) => number,
            None if self.most < HANDLES_MAX => {
                self.most += 1;
                HandleNumber::new(self.most - 1)
            }
            None => return Err(StepError::TooManyHandles),
        };
        self.open.insert(handle, Open { number, node });
        Ok(number)
    }

    /// Closes a handle. Returns its file if it was open.
    pub(super) fn close(&mut self, handle: Handle) -> Option<Open> {
        let open = self.open.remove(&handle)?;
        self.free.push(open.number);
        Some(open)
    }

    /// Returns the open handles in the order of their numbers, so that the result
    /// is always the same.
    pub(super) fn left(&self) -> impl Iterator<Item = Handle> + use<> {
        let open = self.open.iter();
        let mut left: Vec<_> = open
            .map(|(&handle, open)| (open.number.number(), handle))
            .collect();
        left.sort_unstable();
        left.into_iter().map(|(_, handle)| handle)
    }
}
