//! The connections that the clients of a group share: most often one; several are
//! used in turn.
//!
//! With one connection, requests go through the worker's buffer. With several, each
//! connection has a buffer of its own, because one buffer cannot hold bytes for
//! different connections. The loop does not see the difference. [`Links::lose`] takes out one
//! of several connections, and [`Links::add`] puts another one in its place.

pub(crate) mod drops;
mod lose;
mod open;

use std::task::{Context, Poll};

use rustix::net::RecvFlags;
use smbench_model::sessions::Caching;
use smbench_protocol::frame::Inbound;
use smbench_protocol::{Connection, SessionIndex};

use crate::drivers::backlog::{self, Backlog};
use crate::drivers::driver::{Busy, LoadSockets, Scratch};
use crate::drivers::dropped::{self, Dropped};
use crate::drivers::turns::after;
use crate::smb::session::caching::Cache;
use crate::smb::session::{Session, SessionError, SessionStream};
pub(super) use open::OpenSessions;

/// A connection, and the bytes that its socket has not taken yet.
struct QueuedConnection {
    session: Session,
    backlog: Backlog,
}

/// The connections of a group. Each of the first ones carries every session of the group.
pub(crate) struct Links {
    links: Vec<QueuedConnection>,
    /// Number of connections that carry the sessions. Each one behind them is for the log-ons
    /// of one slot.
    shared: usize,
    /// Index of the connection for the current call.
    chosen: usize,
    /// Index of the connection that sent the latest bytes.
    read: usize,
    /// Index of the connection that the latest call would have used if it had had
    /// room. Reset when something is received, because that may bring credits to
    /// another connection.
    wanted: Option<usize>,
    payloads: Payloads,
    buffers: Buffers,
}

/// Where the requests of a connection are encoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Buffers {
    /// In the worker's buffer, because there is one connection.
    OfWorker,
    /// In a buffer of the connection, because there are several, or were.
    OfConnections,
}

/// How payloads of READs are handled if their data is not verified.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Payloads {
    /// They are received like all other data.
    Received,
    /// The kernel drops them.
    Dropped,
}

impl QueuedConnection {
    /// Returns whether the connection can take another call before the next flush.
    /// `waiting` is the number of bytes in the worker's buffer.
    fn has_room(&self, waiting: usize) -> bool {
        self.backlog.len() + waiting < backlog::FULL_LEN
    }

    /// Returns the oplocks and leases granted during set-up, and their breaks.
    fn take_cache(&mut self) -> Cache {
        let session = &mut self.session;
        let dialect = session.connection.negotiated().dialect;
        let none = Cache::new(Caching::None, dialect, 0);
        std::mem::replace(&mut session.cache, none)
    }
}

/// The connection that received data.
pub(super) struct Received<'a> {
    pub(super) inbound: &'a mut Inbound,
    pub(super) connection: &'a mut Connection,
    /// Buffer of bytes to be sent on the connection.
    pub(super) out: &'a mut Vec<u8>,
}

impl Links {
    /// Takes over the connections once they have the credits for their load.
    pub(super) async fn new(
        sessions: impl IntoIterator<Item = Session>,
        for_log_ons: Vec<Session>,
        payloads: Payloads,
    ) -> Result<Self, SessionError> {
        let apart = for_log_ons.len();
        let sessions = sessions.into_iter().chain(for_log_ons);
        // Exact, because room for connections that never come would be kept per session.
        let mut links = Vec::with_capacity(sessions.size_hint().0);
        for mut session in sessions {
            session.earn_credits().await?;
            if !links.is_empty() {
                // Acknowledgements on the first connection may still be in flight;
                // the driver receives their answers.
                session.settle().await?;
            }
            links.push(QueuedConnection {
                session,
                backlog: Backlog::default(),
            });
        }
        Ok(Self {
            shared: links.len() - apart,
            buffers: if links.len() == 1 {
                Buffers::OfWorker
            } else {
                Buffers::OfConnections
            },
            links,
            chosen: 0,
            read: 0,
            wanted: None,
            payloads,
        })
    }

    /// Returns the oplocks and leases granted during set-up, and their breaks, of
    /// all connections.
    pub(super) fn take_cache(&mut self) -> Cache {
        let mut caches = self.links.iter_mut().map(QueuedConnection::take_cache);
        let Some(mut first) = caches.next() else {
            unreachable!("a group has a connection");
        };
        caches.for_each(|further| first.absorb(further));
        first
    }

    /// Returns whether there was never more than one connection.
    pub(super) fn is_alone(&self) -> bool {
        self.buffers == Buffers::OfWorker
    }

    /// Returns the number of connections.
    pub(super) fn count(&self) -> u32 {
        self.links.len() as u32
    }

    /// Returns whether any connection can take another call before the next flush.
    /// If the latest call could use only one connection, returns this for that one.
    pub(super) fn has_room(&self, scratch: &Scratch) -> bool {
        let waiting = scratch.output.len();
        match self.wanted {
            Some(wanted) => self.links[wanted].has_room(waiting),
            None => self.links.iter().any(|link| link.has_room(waiting)),
        }
    }

    /// Chooses the connection of the next call: the next one in turn that `fits`.
    pub(super) fn choose(&mut self, fits: impl Fn(&Connection) -> bool) -> Result<(), Busy> {
        for _ in 0..self.shared {
            self.chosen = after(self.chosen, self.shared);
            if fits(&self.links[self.chosen].session.connection) {
                return Ok(());
            }
        }
        Err(Busy::Credits)
    }

    /// Chooses the connection of the next call among those with room before the next
    /// flush: the next one in turn that `fits`. If one fits but has no room, the
    /// error is [`Busy::Room`].
    pub(super) fn choose_free(&mut self, fits: impl Fn(&Connection) -> bool) -> Result<(), Busy> {
        self.wanted = None;
        for _ in 0..self.shared {
            self.chosen = after(self.chosen, self.shared);
            let link = &self.links[self.chosen];
            match (fits(&link.session.connection), link.has_room(0)) {
                (true, true) => {
                    self.wanted = None;
                    return Ok(());
                }
                (true, false) => self.wanted = Some(self.chosen),
                (false, _) => {}
            }
        }
        Err(match self.wanted {
            Some(_) => Busy::Room,
            None => Busy::Credits,
        })
    }

    /// Returns the chosen connection and the buffer of bytes to be sent on it.
    pub(super) fn chosen<'a>(
        &'a mut self,
        scratch: &'a mut Scratch,
    ) -> (&'a mut Connection, &'a mut Vec<u8>) {
        let is_alone = self.is_alone();
        let QueuedConnection {
            session, backlog, ..
        } = &mut self.links[self.chosen];
        let out = if is_alone {
            &mut scratch.output
        } else {
            backlog.buffer()
        };
        (&mut session.connection, out)
    }

    /// Returns the session on the first connection, with its credentials, and the
    /// buffer of bytes to be sent there.
    pub(super) fn first<'a>(
        &'a mut self,
        scratch: &'a mut Scratch,
    ) -> (&'a mut Session, &'a mut Vec<u8>) {
        let is_alone = self.is_alone();
        let QueuedConnection {
            session, backlog, ..
        } = &mut self.links[0];
        let out = if is_alone {
            &mut scratch.output
        } else {
            backlog.buffer()
        };
        (session, out)
    }

    /// Returns whether an answer is outstanding on any connection.
    pub(super) fn is_awaited(&self) -> bool {
        let mut links = self.links.iter();
        links.any(|link| link.session.connection.in_flight() > 0)
    }

    /// Returns the chosen connection.
    pub(super) fn connection(&mut self) -> &mut Connection {
        &mut self.links[self.chosen].session.connection
    }

    /// Takes the buffer of the chosen connection, to append more bytes. Not for a
    /// single connection, whose bytes go to the worker's buffer.
    pub(super) fn take_buffer(&mut self) -> Vec<u8> {
        std::mem::take(self.links[self.chosen].backlog.buffer())
    }

    /// Puts the buffer back.
    pub(super) fn put_buffer(&mut self, buffer: Vec<u8>) {
        *self.links[self.chosen].backlog.buffer() = buffer;
    }

    /// Moves the sockets to the epoll set of the load.
    pub(super) fn begin_load(&mut self, sockets: &LoadSockets) -> Result<(), Dropped> {
        self.links
            .iter_mut()
            .try_for_each(|link| sockets.take(&mut link.session.stream.socket))
    }

    /// Makes the connections end with a reset when they are dropped.
    pub(super) fn reset(&self) {
        for link in &self.links {
            link.session.stream.socket.reset_on_close();
        }
    }

    /// Sends the waiting bytes on all connections, as far as the sockets take them.
    pub(super) fn flush(
        &mut self,
        context: &mut Context<'_>,
        scratch: &mut Scratch,
    ) -> Result<(), Dropped> {
        // If there are several connections, the worker's buffer is empty.
        let mut links = self.links.iter_mut().enumerate();
        links.try_for_each(|(number, link)| {
            let QueuedConnection {
                session, backlog, ..
            } = link;
            let flushed = backlog.flush(&session.stream.socket, context, &mut scratch.output);
            flushed.map_err(|error| dropped::unsent(error, number))
        })
    }

    /// Waits for bytes from any connection, in turn.
    pub(super) fn poll_receive(
        &mut self,
        context: &mut Context<'_>,
        scratch: &mut Scratch,
    ) -> Poll<Result<usize, Dropped>> {
        for _ in 0..self.links.len() {
            self.read = after(self.read, self.links.len());
            let number = self.read;
            let stream = &mut self.links[number].session.stream;
            let SessionStream {
                socket, inbound, ..
            } = stream;
            let received = match self.payloads {
                Payloads::Received => socket
                    .poll_receive(context, &mut scratch.input, RecvFlags::empty())
                    .map(|len| dropped::received(len, number)),
                Payloads::Dropped => {
                    let input = &mut scratch.input;
                    drops::receive(socket, number, inbound, context, input)
                }
            };
            if let Poll::Ready(received) = received {
                return Poll::Ready(received);
            }
        }
        Poll::Pending
    }

    /// Chooses the connection with this number for the next call.
    pub(super) const fn pick(&mut self, number: usize) {
        self.chosen = number;
    }

    /// Returns the number of the connection for the log-ons of a slot, if they have
    /// connections of their own.
    pub(super) fn for_log_ons(&self, slot: u32) -> Option<usize> {
        let number = self.shared + slot as usize;
        (number < self.links.len()).then_some(number)
    }

    /// Returns the number and the session of the chosen connection.
    pub(super) fn chosen_session(&mut self) -> (usize, &mut Session) {
        (self.chosen, &mut self.links[self.chosen].session)
    }

    /// Returns the connection that sent the latest bytes, and the buffer of bytes
    /// to be sent on it. For a single connection that buffer is `output`.
    pub(super) fn received<'a>(&'a mut self, output: &'a mut Vec<u8>) -> Received<'a> {
        self.wanted = None;
        let is_alone = self.is_alone();
        let QueuedConnection {
            session, backlog, ..
        } = &mut self.links[self.read];
        Received {
            inbound: &mut session.stream.inbound,
            connection: &mut session.connection,
            out: if is_alone { output } else { backlog.buffer() },
        }
    }

    /// Logs off these sessions, which ends them on all connections.
    pub(crate) async fn close(self, sessions: impl IntoIterator<Item = SessionIndex>) {
        let mut links = self.links.into_iter();
        // The other connections stay open until the log-off ends.
        if let Some(first) = links.next() {
            first.session.log_off_all(sessions).await;
        }
    }
}

#[cfg(test)]
mod tests;
