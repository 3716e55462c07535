//! The files that are open, as far as the capture shows it.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use crate::distinct::DistinctCount;
use crate::names::NodeNumber;
use crate::sessions::SessionNumber;

/// Opens that are kept. Later ones are treated as if they were not seen.
const OPENS_MAX: usize = 500_000;

/// An open file: the id that the server gave is of a session, in CIFS of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum OpenKey {
    Smb2(Option<SessionNumber>, [u8; 16]),
    Cifs { connection: u32, id: u16 },
}

/// Whose end closes an open file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum OpenOwner {
    Session(Option<SessionNumber>),
    Connection(u32),
}

impl OpenKey {
    const fn owner(self) -> OpenOwner {
        match self {
            Self::Smb2(session, _) => OpenOwner::Session(session),
            Self::Cifs { connection, .. } => OpenOwner::Connection(connection),
        }
    }
}

/// What is known of an open file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct OpenFile {
    pub(crate) handle: u64,
    pub(crate) path: Option<NodeNumber>,
}

/// All open files.
#[derive(Debug, Default)]
pub(crate) struct OpenTable {
    of_owners: HashMap<OpenOwner, HashMap<OpenKey, OpenFile>>,
    len: usize,
    handles: u64,
    /// Opens beyond those that are kept.
    pub(crate) unkept: DistinctCount,
}

impl OpenTable {
    pub(crate) fn get(&mut self, key: OpenKey) -> Option<&mut OpenFile> {
        self.of_owners.get_mut(&key.owner())?.get_mut(&key)
    }

    /// Returns whether one more is kept. Otherwise it is counted.
    pub(crate) fn has_room(&mut self, key: OpenKey) -> bool {
        let has_room = self.len < OPENS_MAX;
        if !has_room {
            self.unkept.note(key);
        }
        has_room
    }

    /// Adds an open, if there is room.
    pub(crate) fn add(&mut self, key: OpenKey, path: Option<NodeNumber>) -> Option<OpenFile> {
        if !self.has_room(key) {
            return None;
        }
        self.handles += 1;
        let open = OpenFile {
            handle: self.handles,
            path,
        };
        let of_owner = self.of_owners.entry(key.owner()).or_default();
        self.len += usize::from(of_owner.insert(key, open).is_none());
        Some(open)
    }

    /// Removes an open that was closed.
    pub(crate) fn close(&mut self, key: OpenKey) {
        let Entry::Occupied(mut of_owner) = self.of_owners.entry(key.owner()) else {
            return;
        };
        self.len -= usize::from(of_owner.get_mut().remove(&key).is_some());
        if of_owner.get().is_empty() {
            of_owner.remove();
        }
    }

    /// Removes the opens that the end of a session or of a connection closes.
    pub(crate) fn end(&mut self, owner: OpenOwner) {
        let ended = self.of_owners.remove(&owner).unwrap_or_default();
        self.len -= ended.len();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(session: SessionNumber, id: u128) -> OpenKey {
        OpenKey::Smb2(Some(session), id.to_le_bytes())
    }

    #[test]
    fn the_end_of_a_session_closes_its_files() {
        let mut opens = OpenTable::default();
        let of_cifs = OpenKey::Cifs {
            connection: 1,
            id: 1,
        };
        for key in [key(1, 1), key(1, 2), key(2, 1), of_cifs] {
            opens.add(key, Some(7)).unwrap();
        }
        opens.close(key(1, 2));
        opens.close(key(1, 2));
        assert_eq!((opens.len, opens.get(key(1, 2))), (3, None));
        opens.end(OpenOwner::Session(Some(1)));
        assert_eq!((opens.len, opens.get(key(1, 1))), (2, None));
        assert_eq!(opens.get(key(2, 1)).map(|open| open.handle), Some(3));
        opens.end(OpenOwner::Connection(1));
        opens.close(key(2, 1));
        assert_eq!((opens.len, opens.of_owners.len()), (0, 0));
    }

    #[test]
    fn opens_beyond_those_that_are_kept_are_counted_once() {
        let mut opens = OpenTable::default();
        for id in 0..OPENS_MAX as u128 {
            assert!(opens.add(key(1, id), None).is_some());
        }
        for id in [1, 2, 1, 1] {
            assert_eq!(opens.add(key(2, id), None), None);
        }
        assert_eq!(opens.unkept.count(), 2);
        opens.close(key(1, 7));
        assert!(opens.add(key(2, 1), None).is_some());
    }
}
