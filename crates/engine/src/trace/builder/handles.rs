//! Handles, numbered by how many are open at a time.

use std::collections::HashMap;

use crate::trace::NO_HANDLE;
use crate::trace::step::{HANDLES_MAX, Handle, StepError};

/// A file that is open.
#[derive(Clone, Copy)]
pub(super) struct Open {
    /// Its number here.
    pub(super) slot: u32,
    /// Its name in the name space.
    pub(super) node: u32,
}

/// What is open.
#[derive(Default)]
pub(super) struct Handles {
    open: HashMap<Handle, Open>,
    free: Vec<u32>,
    /// Numbers there are.
    pub(super) most: u32,
}

impl Handles {
    pub(super) fn get(&self, handle: Handle) -> Option<Open> {
        self.open.get(&handle).copied()
    }

    /// The number of a handle. One that is not open can only have been refused.
    pub(super) fn slot(&self, handle: Handle, went_well: bool) -> Result<u32, StepError> {
        match self.open.get(&handle) {
            Some(open) => Ok(open.slot),
            None if went_well => Err(StepError::NotOpen(handle)),
            None => Ok(NO_HANDLE),
        }
    }

    /// The number of a handle that is open from now on.
    pub(super) fn take(&mut self, handle: Handle, node: u32) -> Result<u32, StepError> {
        let slot = match self.free.pop() {
            Some(slot) => slot,
            None if self.most < HANDLES_MAX => {
                self.most += 1;
                self.most - 1
            }
            None => return Err(StepError::TooManyHandles),
        };
        self.open.insert(handle, Open { slot, node });
        Ok(slot)
    }

    /// Has a handle be open no more; what it was, if it was open.
    pub(super) fn close(&mut self, handle: Handle) -> Option<Open> {
        let open = self.open.remove(&handle)?;
        self.free.push(open.slot);
        Some(open)
    }

    /// What is open, in the order of the numbers, so that it is always the same.
    pub(super) fn left(&self) -> impl Iterator<Item = Handle> + use<> {
        let open = self.open.iter();
        let mut left: Vec<_> = open.map(|(&handle, open)| (open.slot, handle)).collect();
        left.sort_unstable();
        left.into_iter().map(|(_, handle)| handle)
    }
}
