//! The connections that the clients of a group share: most often one, and else
//! used in turn.
//!
//! With one, what is sent goes through the worker's buffer; with several, each
//! has a buffer of its own, since one cannot hold what goes to another. The
//! loop sees none of this. What breaks one connection breaks the group.

pub(super) mod drops;

use std::task::{Context, Poll};

use rustix::net::RecvFlags;
use smbench_protocol::frame::Inbound;
use smbench_protocol::{Connection, SessionIndex};

use crate::clock::{self, Nanos};
use crate::plan::Caching;
use crate::run::backlog::{self, Backlog};
use crate::run::driver::{Busy, Scratch};
use crate::run::operation::Dropped;
use crate::run::site::Site;
use crate::run::turns::after;
use crate::session::caching::Cache;
use crate::session::{Session, SessionError};
use crate::socket::poll_receive;

/// ECHOs sent at most to earn the credits of a connection's window.
const EARNING_ECHOS: u32 = 64;

/// A connection, and the bytes its socket has not taken yet.
struct Link {
    session: Session,
    backlog: Backlog,
}

/// The connections of a group. Each carries every session of the group.
pub(super) struct Links {
    links: Box<[Link]>,
    /// Where the call at hand goes.
    chosen: usize,
    /// Where the latest bytes came from.
    read: usize,
    /// The one that the latest call could have gone to, had there been room;
    /// until something is received, which may bring credits to another.
    wanted: Option<usize>,
    payloads: Payloads,
}

/// What becomes of the payloads of READs that nobody looks at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Payloads {
    /// They are received like everything else.
    Received,
    /// The kernel drops them.
    Dropped,
}

impl Link {
    /// Whether it takes another call before the next flush, with this many
    /// bytes in the worker's buffer.
    fn has_room(&self, waiting: usize) -> bool {
        self.backlog.len() + waiting < backlog::FULL_LEN
    }
}

/// The connection that something came from.
pub(super) struct Received<'a> {
    pub(super) inbound: &'a mut Inbound,
    pub(super) connection: &'a mut Connection,
    /// What is to be sent on it.
    pub(super) out: &'a mut Vec<u8>,
}

/// What the sessions of a group have come to while they are set up.
pub(super) struct Sessions {
    /// The connection on which they are set up, and in whose current session
    /// requests can be made.
    pub(super) first: Session,
    /// By client.
    pub(super) indices: Vec<SessionIndex>,
    /// How long each took to set up.
    pub(super) took: Vec<Nanos>,
}

impl Sessions {
    /// The first session of these clients, on a connection of its own.
    pub(super) async fn open(site: &Site, clients: &[u32]) -> Result<Self, SessionError> {
        let per_session = site.plan.connections.connections_per_session;
        let endpoint = site.endpoint.of_connection(number(site, clients, 0));
        let endpoint = match per_session {
            1 => endpoint,
            _ => endpoint.of_one_client(),
        };
        let begin = clock::now();
        let first = Session::open(&endpoint).await?;
        Ok(Self {
            first,
            indices: vec![SessionIndex::FIRST],
            took: vec![clock::now().since(begin)],
        })
    }

    /// The next one, on the same connection; it is the current one then.
    pub(super) async fn open_next(&mut self) -> Result<(), SessionError> {
        let begin = clock::now();
        self.indices.push(self.first.open_another().await?);
        self.took.push(clock::now().since(begin));
        Ok(())
    }

    /// Gives each session its further connections.
    pub(super) async fn connect(
        &mut self,
        site: &Site,
        clients: &[u32],
    ) -> Result<Vec<Session>, SessionError> {
        let mut further = Vec::new();
        for channel in 1..site.plan.connections.connections_per_session {
            let connection_number = number(site, clients, channel);
            let added = self.connect_one(connection_number).await;
            further.push(added.map_err(|source| SessionError::Channel {
                number: channel + 1,
                source: Box::new(source),
            })?);
        }
        Ok(further)
    }

    async fn connect_one(&mut self, number: u32) -> Result<Session, SessionError> {
        let endpoint = self.first.beside()?.of_connection(number);
        let mut link = None;
        for (&index, took) in self.indices.iter().zip(&mut self.took) {
            let begin = clock::now();
            let binding = self.first.connection.binding(index);
            let binding =
                binding.ok_or_else(|| SessionError::NoChannelKey { at: endpoint.at() })?;
            match &mut link {
                None => link = Some(Session::open_channel(&endpoint, binding).await?),
                // Sessions are set up in the same order on each connection, so
                // that they have the same index on all.
                Some(link) => {
                    let same = link.bind_another(binding).await?;
                    debug_assert_eq!(same, index);
                }
            }
            *took = *took + clock::now().since(begin);
        }
        link.ok_or_else(|| unreachable!("a group has a client"))
    }
}

/// The number of a group's connection among those of the load point.
fn number(site: &Site, clients: &[u32], channel: u32) -> u32 {
    let connections = &site.plan.connections;
    let first = clients.first().copied().unwrap_or(0);
    let group = first / connections.sessions_per_connection;
    group * connections.connections_per_session + channel
}

impl Links {
    /// Takes the connections over once they have the credits for their load.
    pub(super) async fn new(
        sessions: impl IntoIterator<Item = Session>,
        payloads: Payloads,
    ) -> Result<Self, SessionError> {
        let mut links = Vec::new();
        for mut session in sessions {
            session.earn_credits(EARNING_ECHOS).await?;
            if !links.is_empty() {
                // The first one's acknowledgements go on from here.
                session.settle().await?;
            }
            links.push(Link {
                session,
                backlog: Backlog::default(),
            });
        }
        Ok(Self {
            links: links.into_boxed_slice(),
            chosen: 0,
            read: 0,
            wanted: None,
            payloads,
        })
    }

    /// What the sessions were granted to cache while they were set up, and what
    /// was taken back of it, on whichever connection.
    pub(super) fn take_cache(&mut self) -> Cache {
        let mut caches = self.links.iter_mut().map(|link| {
            let session = &mut link.session;
            let dialect = session.connection.negotiated().dialect;
            let none = Cache::new(Caching::None, dialect, 0);
            std::mem::replace(&mut session.cache, none)
        });
        let Some(mut first) = caches.next() else {
            unreachable!("a group has a connection");
        };
        caches.for_each(|further| first.absorb(further));
        first
    }

    /// How many there are.
    pub(super) fn count(&self) -> u32 {
        self.links.len() as u32
    }

    /// Whether any takes another call before the next flush; where the latest
    /// call could go to one only, whether that one does.
    pub(super) fn has_room(&self, scratch: &Scratch) -> bool {
        let waiting = scratch.output.len();
        match self.wanted {
            Some(wanted) => self.links[wanted].has_room(waiting),
            None => self.links.iter().any(|link| link.has_room(waiting)),
        }
    }

    /// Chooses the connection of the next call: the first in turn of which `fits`
    /// holds.
    pub(super) fn choose(&mut self, fits: impl Fn(&Connection) -> bool) -> Result<(), Busy> {
        for _ in 0..self.links.len() {
            self.chosen = after(self.chosen, self.links.len());
            if fits(&self.links[self.chosen].session.connection) {
                return Ok(());
            }
        }
        Err(Busy::Credits)
    }

    /// The same of those only that take a call before the next flush. It is for
    /// want of room that there is none where one without room fits.
    pub(super) fn choose_free(&mut self, fits: impl Fn(&Connection) -> bool) -> Result<(), Busy> {
        self.wanted = None;
        for _ in 0..self.links.len() {
            self.chosen = after(self.chosen, self.links.len());
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

    /// The connection chosen, and what is to be sent on it.
    pub(super) fn chosen<'a>(
        &'a mut self,
        scratch: &'a mut Scratch,
    ) -> (&'a mut Connection, &'a mut Vec<u8>) {
        let is_alone = self.links.len() == 1;
        let Link { session, backlog } = &mut self.links[self.chosen];
        let out = match is_alone {
            true => &mut scratch.output,
            false => backlog.buffer(),
        };
        (&mut session.connection, out)
    }

    /// Has what goes out next go to the first connection; the session there,
    /// with what it logged on with, and what is to be sent on it.
    pub(super) fn first<'a>(
        &'a mut self,
        scratch: &'a mut Scratch,
    ) -> (&'a mut Session, &'a mut Vec<u8>) {
        let is_alone = self.links.len() == 1;
        let Link { session, backlog } = &mut self.links[0];
        let out = match is_alone {
            true => &mut scratch.output,
            false => backlog.buffer(),
        };
        (session, out)
    }

    /// Whether the server owes an answer on any.
    pub(super) fn is_awaited(&self) -> bool {
        let mut links = self.links.iter();
        links.any(|link| link.session.connection.in_flight() > 0)
    }

    /// The connection chosen.
    pub(super) fn connection(&mut self) -> &mut Connection {
        &mut self.links[self.chosen].session.connection
    }

    /// Takes what waits for the connection chosen, to put more behind it. With
    /// one connection that goes to the worker's buffer instead.
    pub(super) fn take_buffer(&mut self) -> Vec<u8> {
        std::mem::take(self.links[self.chosen].backlog.buffer())
    }

    /// Gives it back.
    pub(super) fn put_buffer(&mut self, buffer: Vec<u8>) {
        *self.links[self.chosen].backlog.buffer() = buffer;
    }

    /// Hands the sockets what waits for them, as far as they take it.
    pub(super) fn flush(
        &mut self,
        context: &mut Context<'_>,
        scratch: &mut Scratch,
    ) -> Result<(), Dropped> {
        // With several there is nothing in the worker's buffer.
        self.links.iter_mut().try_for_each(|link| {
            let Link { session, backlog } = link;
            let flushed = backlog.flush(&session.stream, context, &mut scratch.output);
            Ok(flushed?)
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
            let session = &mut self.links[self.read].session;
            let received = match self.payloads {
                Payloads::Received => {
                    let whole = RecvFlags::empty();
                    poll_receive(&session.stream, context, &mut scratch.input, whole)
                }
                Payloads::Dropped => drops::receive(session, context, &mut scratch.input),
            };
            if let Poll::Ready(received) = received {
                return Poll::Ready(received);
            }
        }
        Poll::Pending
    }

    /// Has the next call go to the connection with this number.
    pub(super) const fn pick(&mut self, number: usize) {
        self.chosen = number;
    }

    /// The connection chosen, with its number.
    pub(super) const fn chosen_session(&mut self) -> (usize, &mut Session) {
        (self.chosen, &mut self.links[self.chosen].session)
    }

    /// The connection that the latest bytes came from, and what is to be sent
    /// on it; with one connection `output` is.
    pub(super) fn received<'a>(&'a mut self, output: &'a mut Vec<u8>) -> Received<'a> {
        self.wanted = None;
        let is_alone = self.links.len() == 1;
        let Link { session, backlog } = &mut self.links[self.read];
        let Session {
            inbound,
            connection,
            ..
        } = session;
        Received {
            inbound,
            connection,
            out: match is_alone {
                true => output,
                false => backlog.buffer(),
            },
        }
    }

    /// Logs these sessions off; that ends them on all connections.
    pub(super) async fn close(self, sessions: impl IntoIterator<Item = SessionIndex>) {
        let mut links = self.links.into_iter();
        // The others stay open as long as that takes.
        if let Some(first) = links.next() {
            first.session.log_off_all(sessions).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use smbench_lab::{EmbeddedOptions, EmbeddedServer};

    use super::*;
    use crate::plan::{Limits, SessionOptions};
    use crate::session::Endpoint;
    use crate::target::{Secret, Target};

    async fn two(server: &EmbeddedServer) -> Links {
        let (mut target, _) = Target::parse(&server.url()).unwrap();
        target.password = Secret::new(server.password());
        let endpoint = Endpoint::resolve(&target, SessionOptions::default(), Limits::default(), 4);
        let endpoint = endpoint.await.unwrap();
        let mut sessions = Vec::new();
        for _ in 0..2 {
            sessions.push(Session::open(&endpoint).await.unwrap());
        }
        Links::new(sessions, Payloads::Received).await.unwrap()
    }

    /// Has only the connections with these numbers fit.
    fn choose(links: &mut Links, fitting: &[usize]) -> Result<(), Busy> {
        let at = Cell::new(links.chosen);
        links.choose_free(|_| {
            at.set((at.get() + 1) % 2);
            fitting.contains(&at.get())
        })
    }

    #[tokio::test]
    async fn want_of_room_is_told_from_want_of_credits() {
        let server = EmbeddedServer::start(EmbeddedOptions::default()).unwrap();
        let mut links = two(&server).await;
        let mut scratch = Scratch::default();
        assert_eq!(choose(&mut links, &[]), Err(Busy::Credits));
        assert!(links.has_room(&scratch));
        // Whoever has the credits has no room, and the other has room alone.
        links.links[0].backlog.buffer().resize(backlog::FULL_LEN, 0);
        assert_eq!(choose(&mut links, &[0]), Err(Busy::Room));
        assert!(!links.has_room(&scratch));
        assert_eq!(choose(&mut links, &[0, 1]), Ok(()));
        assert_eq!(links.chosen, 1);
        assert!(links.has_room(&scratch));
        // What comes in may bring credits to the one that has room.
        assert_eq!(choose(&mut links, &[0]), Err(Busy::Room));
        let _ = links.received(&mut scratch.output);
        assert!(links.has_room(&scratch));
        assert_eq!(choose(&mut links, &[]), Err(Busy::Credits));
    }
}
