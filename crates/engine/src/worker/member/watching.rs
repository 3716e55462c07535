//! Watches that the server holds until there is a change. They are not in flight, so that no
//! limit ends them.

use super::Member;
use crate::worker::supply::Supply;

impl<S: Supply> Member<S> {
    /// Keeps the slot of a watch that the server holds.
    pub(in crate::worker) fn hold(&mut self, slot: u32) {
        self.watching.push(slot);
    }

    /// Returns whether the server holds a watch.
    pub(in crate::worker) fn watches(&self) -> bool {
        !self.watching.is_empty()
    }

    /// Returns whether the server holds the watch of this slot.
    pub(in crate::worker) fn has_watch(&self, slot: u32) -> bool {
        self.watching.contains(&slot)
    }

    /// Frees the slot of a watch that has ended. The next one begins without a pause.
    pub(in crate::worker) fn watch_again(&mut self, slot: u32) {
        self.watching.retain(|&other| other != slot);
        if !self.is_retired {
            self.free.push(slot);
        }
    }

    /// Makes the CANCEL of each watch due.
    pub(in crate::worker) fn end_watches(&mut self) {
        self.continuing.extend(self.watching.drain(..));
    }
}
