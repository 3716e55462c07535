//! The SMB messages of one TCP connection: pairs requests and answers, follows sessions,
//! shares and opens.

mod cifs;
mod opening;
mod smb2;

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::net::{IpAddr, SocketAddr};

use self::cifs::CifsState;
use self::smb2::Smb2State;
use crate::cifs::{ForeignCifsHeader, cifs_code};
use crate::cutter::{CapturedMessage, LongBytes, MessageSink, Sealed};
use crate::fields::Fields;
use crate::keys::Sender;
use crate::ledger::{CaptureLedger, OpenLogon, OpenRequest};
use crate::names::NodeNumber;
use crate::opens::OpenOwner;
use crate::sessions::SessionNumber;
use crate::smb2::{Smb2Header, code};
use crate::tcp::Moment;

/// What of a connection waits for the other direction. That may be missing in a capture.
struct WaitingMax {
    /// Requests that wait for answers. A server grants at most 8192 credits.
    requests: usize,
    /// Answers that wait for their requests, which may come later in the capture.
    answers: usize,
}

impl WaitingMax {
    const USUAL: Self = Self {
        requests: 16_384,
        answers: 128,
    };
    /// Once all connections together have [`Self::ALL`].
    const SMALL: Self = Self {
        requests: 256,
        answers: 16,
    };
    /// Requests and answers of all connections.
    const ALL: usize = 100_000;

    const fn of(ledger: &CaptureLedger) -> Self {
        if ledger.waiting < Self::ALL {
            Self::USUAL
        } else {
            Self::SMALL
        }
    }
}

/// Which end of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    A,
    B,
}

impl End {
    pub(crate) const fn other(self) -> Self {
        match self {
            Self::A => Self::B,
            Self::B => Self::A,
        }
    }
}

/// An answer of SMB2 whose request was not seen yet.
#[derive(Debug)]
struct EarlyAnswer {
    id: u64,
    bytes: Box<[u8]>,
    at: Moment,
}

/// What is known of a connection.
pub(crate) struct SmbState {
    /// Addresses of the ends A and B.
    ends: [SocketAddr; 2],
    /// The end that sends requests, once that is known.
    client: Option<End>,
    /// Number of the connection, once it has a message.
    pub(crate) number: Option<u32>,
    /// By message id, which servers and clients count up. In boxes, because the map has room for
    /// several, also when nothing waits.
    pending: BTreeMap<u64, Box<OpenRequest>>,
    /// How many of them count as in flight.
    in_flight: u64,
    /// The number of the last request whose answer may be among bytes that the capture lacks.
    missed_to: u64,
    /// Sessions with requests here.
    sessions: BTreeSet<SessionNumber>,
    /// Answers that came before their requests.
    early: VecDeque<EarlyAnswer>,
    /// Shares by tree id: the node of each.
    trees: HashMap<u32, Option<NodeNumber>>,
    /// Log-ons in progress, by session id.
    logons: HashMap<u64, OpenLogon>,
    smb2: Smb2State,
    cifs: CifsState,
}

impl SmbState {
    pub(crate) fn new(ends: [SocketAddr; 2], client: Option<End>) -> Self {
        Self {
            ends,
            client,
            number: None,
            pending: BTreeMap::new(),
            in_flight: 0,
            missed_to: 0,
            sessions: BTreeSet::new(),
            early: VecDeque::new(),
            trees: HashMap::new(),
            logons: HashMap::new(),
            smb2: Smb2State::default(),
            cifs: CifsState::default(),
        }
    }

    fn address(&self, end: End) -> IpAddr {
        self.ends[end as usize].ip()
    }

    /// Returns the address of the client. It is known once a message was seen.
    fn client(&self) -> IpAddr {
        self.address(self.client_end())
    }

    fn server(&self) -> IpAddr {
        self.address(self.client_end().other())
    }

    /// Returns the end of the client. Before a message tells, that is the end with the
    /// higher port: servers have low ones.
    fn client_end(&self) -> End {
        let [a, b] = self.ends.map(|end| end.port());
        self.client.unwrap_or(if a >= b { End::A } else { End::B })
    }

    /// Learns which end is the client from the direction of a message.
    fn learn(&mut self, from: End, is_answer: bool, ledger: &mut CaptureLedger) -> u32 {
        let client = if is_answer { from.other() } else { from };
        let client = *self.client.get_or_insert(client);
        let address = self.address(client);
        *self
            .number
            .get_or_insert_with(|| ledger.add_connection(address))
    }

    /// Notes that a session has this connection.
    fn join(&mut self, session: Option<SessionNumber>, ledger: &mut CaptureLedger) {
        if let Some(session) = session
            && self.sessions.insert(session)
            && let Some(record) = ledger.sessions.get(Some(session))
        {
            record.connections += 1;
        }
    }

    /// Keeps a request until its answer.
    fn wait(&mut self, id: u64, request: OpenRequest, ledger: &mut CaptureLedger) {
        let at = request.sent;
        self.join(request.session, ledger);
        let most = WaitingMax::of(ledger).requests;
        while self.pending.len() >= most
            && let Some((&first, _)) = self.pending.first_key_value()
            && let Some(oldest) = self.take(first)
        {
            // The answers were lost.
            ledger.unanswered(oldest, at);
        }
        ledger.waiting += 1;
        self.in_flight += u64::from(request.is_in_flight);
        if let Some(mut old) = self.pending.insert(id, Box::new(request)) {
            self.left(&mut old);
            ledger.unanswered(old, at);
        }
    }

    /// Takes a request that waits.
    fn take(&mut self, id: u64) -> Option<Box<OpenRequest>> {
        let mut request = self.pending.remove(&id)?;
        self.left(&mut request);
        Some(request)
    }

    /// Notes that a request waits no more.
    fn left(&mut self, request: &mut OpenRequest) {
        request.is_in_flight &= request.line.number > self.missed_to;
        self.in_flight -= u64::from(request.is_in_flight);
    }

    /// Ends the sessions that no other connection has: this one was closed.
    pub(crate) fn leave_sessions(&mut self, at: Moment, ledger: &mut CaptureLedger) {
        for session in std::mem::take(&mut self.sessions) {
            let Some(record) = ledger.sessions.get(Some(session)) else {
                continue;
            };
            record.connections -= 1;
            if record.connections == 0 {
                ledger.end_session(session, self.number.unwrap_or(0), at);
            }
        }
    }

    /// Ends the requests of the connection.
    pub(crate) fn finish(&mut self, at: Moment, ledger: &mut CaptureLedger) {
        while let Some(early) = self.early.pop_front() {
            self.unasked(&early, ledger);
        }
        let mut rest: Vec<_> = std::mem::take(&mut self.pending).into_values().collect();
        rest.sort_unstable_by_key(|request| request.line.number);
        for mut request in rest {
            self.left(&mut request);
            ledger.unanswered(request, at);
        }
        if let Some(number) = self.number {
            ledger.opens.end(OpenOwner::Connection(number));
        }
    }
}

/// Takes the messages that one end sends.
pub(crate) struct Receiver<'a> {
    pub(crate) state: &'a mut SmbState,
    pub(crate) ledger: &'a mut CaptureLedger,
    pub(crate) from: End,
}

impl MessageSink for Receiver<'_> {
    fn message(&mut self, message: CapturedMessage<'_>) {
        if message.is_cut {
            self.ledger.tally.unreadable.cut_messages += 1;
        }
        let names = &mut self.ledger.names;
        names.seed(message.bytes, || ends_logon(message.bytes));
        match message.bytes.first() {
            Some(0xfd) => self.encrypted(message),
            _ => self.plain(message),
        }
    }

    fn sealed(&self) -> Sealed {
        if self.ledger.keys.is_empty() {
            Sealed::Count
        } else {
            Sealed::Open
        }
    }

    fn long(&mut self) -> &mut LongBytes {
        &mut self.ledger.long
    }
}

/// Returns whether a message is the answer that ends a log-on.
fn ends_logon(message: &[u8]) -> bool {
    let of_smb2 = Smb2Header::read(message).is_some_and(|header| {
        header.is_answer() && header.command == code::SESSION_SETUP && header.status == 0
    });
    let of_cifs = || {
        ForeignCifsHeader::read(message).is_some_and(|header| {
            let is_setup = header.command == cifs_code::SESSION_SETUP_ANDX;
            header.is_answer && is_setup && header.status == 0
        })
    };
    of_smb2 || of_cifs()
}

impl Receiver<'_> {
    /// Learns that messages may be missing. Which requests a server answered in them is not
    /// known: none of them counts as in flight any more.
    pub(crate) fn missed(&mut self, at: Moment) {
        if self.state.client_end() == self.from {
            return;
        }
        let in_flight = std::mem::take(&mut self.state.in_flight);
        self.state.missed_to = self.ledger.requests;
        if in_flight > 0 {
            self.ledger.tally.concurrency.left(in_flight, at);
        }
    }

    /// Takes a message that is not encrypted, or not any more.
    fn plain(&mut self, message: CapturedMessage<'_>) {
        match message.bytes.first() {
            Some(0xfe) => self.smb2(message),
            Some(0xff) => self.cifs(message),
            Some(0xfc) => self.ledger.tally.unreadable.compressed_messages += 1,
            _ if message.is_cut => {}
            _ => self.ledger.tally.malformed(message.end),
        }
    }

    /// Takes an encrypted message (MS-SMB2 2.2.41). Without its key it is counted.
    fn encrypted(&mut self, message: CapturedMessage<'_>) {
        let session = Fields(message.bytes).u64(44).and_then(|id| {
            let server = self.state.server();
            let number = self.ledger.sessions.of(server, id)?;
            self.look_up(number, id);
            Some(number)
        });
        let sender = if self.state.client_end() == self.from {
            Sender::Client
        } else {
            Sender::Server
        };
        // The memory returns after use.
        let mut plain = std::mem::take(&mut self.ledger.plain);
        let record = self.ledger.sessions.get(session);
        let is_open = record.is_some_and(|record| {
            let ciphers = record.ciphers.as_ref();
            let is_open =
                ciphers.is_some_and(|ciphers| ciphers.open(sender, message.bytes, &mut plain));
            record.is_opened |= is_open;
            is_open
        });
        if is_open {
            self.plain(CapturedMessage {
                bytes: &plain,
                wire_len: plain.len(),
                ..message
            });
        } else {
            self.unopened(session, message);
        }
        plain.clear();
        self.ledger.plain = plain;
    }

    /// Counts an encrypted message that no key opens.
    fn unopened(&mut self, session: Option<SessionNumber>, message: CapturedMessage<'_>) {
        let at = message.end;
        // The share is not known without the key.
        let has_session = {
            let record = self.ledger.sessions.get(session);
            self.ledger.slice.has_session(record)
        };
        if !has_session || !self.ledger.slice.has(at, self.state.client()) {
            return;
        }
        // It may be the first message that is seen.
        if self.state.number.is_none() {
            let address = self.state.client();
            self.state.number = Some(self.ledger.add_connection(address));
        }
        let cipher = self.state.smb2.cipher_name();
        let record = self.ledger.sessions.get(session);
        let has_keys = record
            .as_ref()
            .is_some_and(|record| record.ciphers.is_some());
        // No key opens a part of a message. It is counted as one.
        if has_keys && message.is_cut {
            return;
        }
        if record.as_ref().is_some_and(|record| record.is_opened) {
            return self.ledger.tally.malformed(at);
        }
        self.ledger.tally.unreadable.encrypted_messages += 1;
        if let Some(record) = record {
            record.encrypted += 1;
            record.cipher = record.cipher.take().or(cipher);
        }
    }
}

#[cfg(test)]
mod tests;
