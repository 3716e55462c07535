//! Files that clients copy to the server, for others that look at them.

use super::{Listings, MadeFile};
use crate::drivers::driver::{Call, slot_of};

impl Listings {
    /// Notes that the last request is sent for a file that a client copies to the server.
    pub(in crate::drivers) fn make(&mut self, slot: u32, file: MadeFile) {
        self.notes[slot_of(slot)].made = Some(file);
    }

    /// Returns the file of another client that a slot looks at; `None` as long as there is none.
    pub(in crate::drivers) fn looked_at(&mut self, call: &Call, client: u32) -> Option<MadeFile> {
        let looked_at = &mut self.notes[slot_of(call.slot)].looked_at;
        // It looks for the same file until it is there.
        if call.operation.offset == 0 {
            *looked_at = self.changes.newest_for(client);
        }
        *looked_at
    }
}
