//! Files that clients copy to the server, for others that look at them.

use smbench_protocol::NtStatus;

use super::{FileLook, Listings, MadeFile};
use crate::drivers::driver::{Answer, Call, slot_of};

impl Listings {
    /// Notes that the last request is sent for a file that a client copies to the server.
    pub(in crate::drivers) fn make(&mut self, slot: u32, file: MadeFile) {
        self.notes[slot_of(slot)].made = Some(file);
    }

    /// Returns the file of another client that a slot looks at; `None` as long as there is none.
    pub(in crate::drivers) fn looked_at(&mut self, call: &Call, client: u32) -> Option<MadeFile> {
        let note = &mut self.notes[slot_of(call.slot)];
        // It looks for the same file until it is there.
        if call.operation.offset == 0 {
            note.look = Some(FileLook {
                member: call.member,
                file: self.changes.newest_for(client),
            });
        }
        note.look?.file
    }

    /// Notes the answer to a look, if the slot has one. Returns whether it shows nothing new: the
    /// client has seen this file before, or nobody has made one.
    pub(in crate::drivers) fn shows_nothing_new(&mut self, answer: &Answer<'_>) -> bool {
        let note = self.notes.get_mut(answer.slot as usize);
        // It looks again for a file that is not there yet.
        let ended = note.filter(|_| !answer.status.names_nothing());
        let Some(FileLook { member, file }) = ended.and_then(|note| note.look.take()) else {
            return false;
        };
        if answer.status != NtStatus::SUCCESS {
            return false;
        }
        let before = &mut self.seen[member];
        file.is_none() || std::mem::replace(before, file) == file
    }
}
