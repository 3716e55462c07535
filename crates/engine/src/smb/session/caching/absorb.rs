//! What other connections of the same sessions learned while they were set up.

use smbench_protocol::command::oplock_break::{BreakNotification, OplockBreak};

use super::Cache;

impl Cache {
    /// Takes over the notifications and outcomes of another connection of the same
    /// sessions, collected while it was set up. None of its acknowledgements is in
    /// flight any more.
    pub(crate) fn absorb(&mut self, other: Self) {
        debug_assert!(other.sent.is_empty(), "its tags are ours as well");
        self.breaks += other.breaks;
        self.settled.extend(other.settled);
        self.due.extend(other.due);
        for broken in other.early {
            self.breaks -= 1;
            self.broken(&BreakNotification::Oplock(broken), |_| None);
        }
    }

    /// Takes out the breaks of opens that are not known here.
    pub(crate) fn take_early(&mut self) -> Vec<OplockBreak> {
        std::mem::take(&mut self.early)
    }
}
