//! The loss of one of several connections, which costs only the requests that it had in flight.

use smbench_protocol::SessionIndex;
use smbench_protocol::connection::Repetition;

use super::Links;
use crate::drivers::driver::OldestRequests;
use crate::drivers::dropped::{Dropped, LinkCause};

impl Links {
    /// Looks for a connection whose path is interrupted while that of another one is not.
    /// `oldest` is what it saw the last time. Only a connection whose oldest request has no
    /// answer since then is looked at more closely.
    pub(in crate::drivers) fn interrupted(&self, oldest: &mut OldestRequests) -> Option<Dropped> {
        let links = &self.links[..self.shared];
        oldest.resize(links.len(), None);
        let is_interrupted = links.iter().zip(oldest).map(|(link, seen)| {
            let now = link.session.connection.oldest_in_flight();
            let is_same = now.is_some() && *seen == now;
            *seen = now;
            is_same && link.session.stream.socket.is_unacknowledged()
        });
        let is_interrupted: Vec<_> = is_interrupted.collect();
        if is_interrupted.iter().all(|is| *is) {
            return None;
        }
        let number = is_interrupted.iter().position(|is| *is)?;
        Some(LinkCause::Unacknowledged.of_connection(number))
    }

    /// Takes out the connection with this number, if the sessions have another one. Returns the
    /// tags of the requests that it had in flight.
    pub(in crate::drivers) fn lose(&mut self, number: usize) -> Option<Vec<u32>> {
        let has_others = self.shared > 1 && self.shared == self.links.len();
        if !has_others || number >= self.shared {
            return None;
        }
        let mut lost = self.links.remove(number);
        self.shared -= 1;
        (self.chosen, self.read, self.wanted) = (0, 0, None);
        let mut tags = lost.session.connection.abandon();
        tags.dedup();
        Some(tags)
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
