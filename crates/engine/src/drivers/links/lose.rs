//! The loss of one of several connections, which costs only the requests that it had in flight,
//! and the connection that takes its place.

use smbench_protocol::SessionIndex;
use smbench_protocol::connection::{Binding, EMPTY_BODY, Repetition};
use smbench_protocol::header::Command;

use super::{Links, QueuedConnection};
use crate::drivers::backlog::Backlog;
use crate::drivers::driver::{LoadSockets, OldestRequest, OldestRequests};
use crate::drivers::dropped::{Dropped, LinkCause};
use crate::smb::session::caching::Cache;
use crate::smb::session::{Endpoint, Session};

/// Tag of an ECHO that shows whether the server receives something. Its answer is ignored.
const PROBE: u32 = u32::MAX;
/// Number of looks at the same oldest request before an ECHO.
const PROBED_AFTER: u32 = 2;

/// The tags of requests in flight.
pub(in crate::drivers) struct InFlightOn {
    /// Those on a lost connection.
    pub(in crate::drivers) lost: Vec<u32>,
    /// Those on the others.
    pub(in crate::drivers) others: Vec<u32>,
}

impl Links {
    /// Looks for a connection whose path is interrupted while that of another one is not.
    /// `oldest` is what it saw the last time. A connection whose oldest request has no answer
    /// for long gets an ECHO, because what the server sends may be lost as well.
    pub(in crate::drivers) fn interrupted(
        &mut self,
        oldest: &mut OldestRequests,
    ) -> Option<Dropped> {
        let links = &mut self.links[..self.shared];
        oldest.resize(links.len(), OldestRequest::default());
        let is_interrupted = links.iter_mut().zip(oldest).map(|(link, seen)| {
            let connection = &mut link.session.connection;
            let message_id = connection.oldest_in_flight();
            if message_id.is_none() || message_id != seen.message_id {
                (seen.message_id, seen.looks) = (message_id, 0);
                return false;
            }
            seen.looks += 1;
            let is_interrupted = link.session.stream.socket.is_unacknowledged();
            if !is_interrupted && seen.looks >= PROBED_AFTER && !connection.is_in_flight(PROBE) {
                let (first, out) = (SessionIndex::FIRST, link.backlog.buffer());
                // Without a credit there is none.
                let _ = connection.request(first, Command::Echo, 1, PROBE, out, |out| {
                    out.extend_from_slice(&EMPTY_BODY);
                });
            }
            is_interrupted
        });
        let is_interrupted: Vec<_> = is_interrupted.collect();
        if is_interrupted.iter().all(|is| *is) {
            return None;
        }
        let number = is_interrupted.iter().position(|is| *is)?;
        Some(LinkCause::Unacknowledged.of_connection(number))
    }

    /// Returns the tags of the requests in flight on the connection with this number, and of
    /// those on the others; `None` if the sessions have no other connection that stands.
    pub(in crate::drivers) fn in_flight_on(&self, number: usize) -> Option<InFlightOn> {
        let is_shared = self.shared == self.links.len() && number < self.shared;
        let others = || {
            self.links
                .iter()
                .enumerate()
                .filter(|(at, _)| *at != number)
        };
        let stands = others().any(|(_, link)| !link.session.stream.socket.has_ended());
        if !(is_shared && stands) {
            return None;
        }
        let others = others().flat_map(|(_, link)| link.session.connection.tags_in_flight());
        Some(InFlightOn {
            lost: self.links[number].session.connection.tags_in_flight(),
            others: others.collect(),
        })
    }

    /// Takes out the connection with this number, which carries these sessions. It sends nothing
    /// any more, not even again. Returns the endpoint of another connection in its place.
    pub(in crate::drivers) fn lose(
        &mut self,
        number: usize,
        sessions: &[SessionIndex],
    ) -> Endpoint {
        let mut lost = self.links.remove(number).session;
        lost.stream.socket.reset_on_close();
        if let Some(heir) = self.links.first_mut() {
            let heir = &mut heir.session.connection;
            let sessions = sessions.iter();
            sessions.for_each(|&session| lost.connection.hand_over_keys(session, heir));
        }
        self.shared -= 1;
        (self.chosen, self.read, self.wanted) = (0, 0, None);
        lost.endpoint().clone()
    }

    /// Returns the data that makes one further connection a channel of a session; `None` if it
    /// can have no more.
    pub(in crate::drivers) fn binding(&mut self, session: SessionIndex) -> Option<Binding> {
        let mut links = self.links.iter_mut();
        links.find_map(|link| link.session.connection.binding(session))
    }

    /// Uses another connection in the place of a lost one. It carries these sessions. Returns
    /// what it learned of oplocks and leases.
    pub(in crate::drivers) fn add(
        &mut self,
        mut added: Session,
        sessions: &[SessionIndex],
        sockets: &LoadSockets,
    ) -> Result<Cache, Dropped> {
        sockets.take(&mut added.stream.socket)?;
        if let Some(standing) = self.links.first_mut() {
            let standing = &mut standing.session.connection;
            let sessions = sessions.iter();
            sessions.for_each(|&session| added.connection.follow_sequence(session, standing));
        }
        let mut added = QueuedConnection {
            session: added,
            backlog: Backlog::default(),
        };
        let learned = added.take_cache();
        self.links.push(added);
        self.shared += 1;
        Ok(learned)
    }

    /// Raises the channel sequence of these sessions on all connections.
    pub(in crate::drivers) fn next_sequence(&mut self, sessions: &[SessionIndex]) {
        for link in &mut self.links {
            let connection = &mut link.session.connection;
            let sessions = sessions.iter();
            sessions.for_each(|&session| connection.lost_channel(session));
        }
    }

    /// Sets whether the next request of a session on the chosen connection is a replay.
    pub(in crate::drivers) fn repeat(&mut self, session: SessionIndex, repetition: Repetition) {
        self.connection().repeat(session, repetition);
    }
}
