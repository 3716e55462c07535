//! The sessions of a capture: who logged on, from where, and how messages are protected.

use std::collections::{BTreeMap, HashMap};
use std::net::IpAddr;

use crate::distinct::DistinctCount;
use crate::keys::SessionCiphers;

/// Sessions that are kept by name. Later ones are only counted.
const SESSIONS_MAX: usize = 200_000;

/// The number of a session in a capture, from 0.
pub(crate) type SessionNumber = u32;

/// A session.
#[derive(Debug, Default)]
pub(crate) struct SessionRecord {
    /// Domain and user, as the log-on names them.
    pub(crate) user: Option<String>,
    /// Name of the mechanism: `ntlm`, `kerberos`.
    pub(crate) logon: Option<&'static str>,
    /// Whether its user is that of the slice.
    pub(crate) is_of_user: bool,
    /// Requests in the slice.
    pub(crate) requests: u64,
    /// Its id, at each address of the server. The server may give it again after its end.
    keys: Vec<SessionKey>,
    /// The address that its first request in the slice came from.
    pub(crate) client: Option<IpAddr>,
    /// Connections that have not ended.
    pub(crate) connections: u32,
    /// It was logged off, or ended in another way.
    is_over: bool,
    /// Messages that could not be decrypted.
    pub(crate) encrypted: u64,
    /// Its keys opened a message.
    pub(crate) is_opened: bool,
    pub(crate) cipher: Option<String>,
    pub(crate) ciphers: Option<SessionCiphers>,
    /// Keys were looked for at a message before.
    pub(crate) is_looked_up: bool,
}

impl SessionRecord {
    /// Returns its ids at the addresses of the server.
    pub(crate) fn ids(&self) -> impl Iterator<Item = u64> {
        self.keys.iter().map(|key| key.id)
    }
}

/// The ids of sessions are of one server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct SessionKey {
    server: IpAddr,
    id: u64,
}

/// All sessions.
#[derive(Debug, Default)]
pub(crate) struct SessionTable {
    by_id: HashMap<SessionKey, SessionNumber>,
    pub(crate) all: Vec<SessionRecord>,
    /// Sessions beyond those that are kept.
    pub(crate) unkept: DistinctCount,
    /// Log-ons that were refused, by status.
    pub(crate) refused: BTreeMap<u32, u64>,
}

impl SessionTable {
    /// Returns the session with this id, made if it is new; `None` if there are too many.
    pub(crate) fn of(&mut self, server: IpAddr, id: u64) -> Option<SessionNumber> {
        let key = SessionKey { server, id };
        if let Some(&number) = self.by_id.get(&key) {
            return Some(number);
        }
        self.add(Some(key))
    }

    /// Returns the session that a connection to this address joins: the one with this id at
    /// another address of the server, if this one does not know it. Of several servers with
    /// such a session, that of the newest is it.
    pub(crate) fn joined(&mut self, server: IpAddr, id: u64) -> Option<SessionNumber> {
        let key = SessionKey { server, id };
        if !self.by_id.contains_key(&key) {
            let elsewhere = self.by_id.iter().filter(|(other, _)| other.id == id);
            if let Some(number) = elsewhere.map(|(_, &number)| number).max() {
                self.by_id.insert(key, number);
                self.all[number as usize].keys.push(key);
            }
        }
        self.of(server, id)
    }

    /// Adds a session of CIFS, whose ids are of a connection. Each is another one.
    pub(crate) fn add_of_connection(&mut self) -> Option<SessionNumber> {
        self.add(None)
    }

    /// Returns the session that has an id now.
    pub(crate) fn find(&self, server: IpAddr, id: u64) -> Option<SessionNumber> {
        self.by_id.get(&SessionKey { server, id }).copied()
    }

    /// Ends a session: the server may give its id again. Returns it, unless it ended before.
    pub(crate) fn end(&mut self, number: SessionNumber) -> Option<&SessionRecord> {
        let record = self.all.get_mut(number as usize)?;
        if std::mem::replace(&mut record.is_over, true) {
            return None;
        }
        for key in &record.keys {
            self.by_id.remove(key);
        }
        Some(record)
    }

    fn add(&mut self, key: Option<SessionKey>) -> Option<SessionNumber> {
        if self.all.len() >= SESSIONS_MAX {
            match key {
                Some(key) => self.unkept.note(key),
                None => self.unkept.add(),
            }
            return None;
        }
        // The cast is safe: the number is bounded.
        let number = self.all.len() as SessionNumber;
        self.all.push(SessionRecord {
            keys: key.into_iter().collect(),
            ..SessionRecord::default()
        });
        if let Some(key) = key {
            self.by_id.insert(key, number);
        }
        Some(number)
    }

    pub(crate) fn get(&mut self, number: Option<SessionNumber>) -> Option<&mut SessionRecord> {
        self.all.get_mut(number? as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sessions_beyond_those_that_are_kept_are_counted_once() {
        let mut sessions = SessionTable::default();
        let server = IpAddr::from([192, 0, 2, 7]);
        for id in 0..SESSIONS_MAX as u64 {
            assert!(sessions.of(server, id).is_some());
        }
        for id in [1_000_000, 1_000_001, 1_000_000, 1_000_000, 7] {
            assert_eq!(sessions.of(server, id).is_some(), id == 7);
        }
        assert_eq!(sessions.unkept.count(), 2);
        assert_eq!(sessions.add_of_connection(), None);
        assert_eq!(sessions.add_of_connection(), None);
        assert_eq!(sessions.unkept.count(), 4);
    }

    #[test]
    fn a_session_is_the_same_at_all_addresses_that_it_joined() {
        let [first, second, other] = [1, 2, 3].map(|last| IpAddr::from([192, 0, 2, last]));
        let mut sessions = SessionTable::default();
        let session = sessions.of(first, 7);
        assert_eq!(sessions.joined(second, 7), session);
        assert_eq!(sessions.joined(second, 7), session);
        assert_eq!(sessions.of(second, 7), session);
        // Without joining, another server has a session of its own.
        assert_ne!(sessions.of(other, 7), session);
        assert_eq!(sessions.all.len(), 2);
        // With its end, the id is free at both addresses.
        assert!(sessions.end(session.unwrap()).is_some());
        assert_eq!(sessions.find(first, 7), None);
        assert_eq!(sessions.find(second, 7), None);
        assert_eq!(sessions.joined(first, 8), Some(2));
    }
}
