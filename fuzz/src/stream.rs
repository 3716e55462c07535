//! Targets for streams of server bytes: reassembly, and connections after their
//! set-up.

use std::collections::HashSet;

use smbench_protocol::command::oplock_break::BreakNotification;
use smbench_protocol::command::read::ReadRequest;
use smbench_protocol::command::write::WriteRequest;
use smbench_protocol::connection::EMPTY_BODY;
use smbench_protocol::connection::Reauthentication;
use smbench_protocol::crypto::{NONCE_LEN_MAX, PreauthHash, Signer};
use smbench_protocol::frame::{Inbound, MAX_FRAME_LEN, Payload};
use smbench_protocol::fuzzing::{self, FuzzProtection};
use smbench_protocol::header::{Command, HEADER_LEN};
use smbench_protocol::{
    Cipher, Claim, Connection, Event, FileId, LogonPlace, SessionConfig, SessionIndex,
    SigningAlgorithm,
};

use crate::FuzzTarget;
use crate::handshake::config;
use crate::peer::{self, byte, record};

/// Targets of this module.
pub const TARGETS: &[FuzzTarget] = &[
    ("frames", frames),
    ("connection_bytes", connection_bytes),
    ("connection_plain", connection_plain),
    ("connection_signed", connection_signed),
    ("connection_encrypted", connection_encrypted),
];

/// Returns the messages in `stream` up to the first error. The stream arrives
/// in pieces of `piece` bytes.
fn reassemble(stream: &[u8], piece: usize, payload: Payload) -> Vec<(Vec<u8>, usize)> {
    let mut stream = stream.to_vec();
    let mut inbound = Inbound::default();
    let mut messages = Vec::new();
    for mut piece in stream.chunks_mut(piece) {
        loop {
            match inbound.next(&mut piece, payload) {
                Ok(Some(frame)) => {
                    let Ok(mut opened) = frame.open(|_| None) else {
                        return messages;
                    };
                    loop {
                        match opened.next_message() {
                            Ok(Some(message)) => {
                                messages.push((message.bytes.to_vec(), message.total_len));
                            }
                            Ok(None) => break,
                            Err(_) => return messages,
                        }
                    }
                }
                Ok(None) => break,
                Err(_) => return messages,
            }
        }
    }
    messages
}

/// Cuts a stream into messages. Any cut must give the same messages, and only
/// the end of a message may be discarded.
pub fn frames(mut data: &[u8]) {
    let piece = usize::from(byte(&mut data)).max(1);
    let whole = reassemble(data, usize::MAX, Payload::Keep);
    assert_eq!(reassemble(data, piece, Payload::Keep), whole);
    assert!(whole.iter().all(|(bytes, len)| bytes.len() == *len));
    let discarded = reassemble(data, piece, Payload::Discard);
    for ((bytes, len), (kept, kept_len)) in discarded.iter().zip(&whole) {
        assert_eq!(len, kept_len);
        assert!(kept.starts_with(bytes));
        assert!(*len <= MAX_FRAME_LEN);
    }
}

/// The tag of a re-authentication's requests, which is private in the protocol
/// crate.
const REAUTHENTICATION: u32 = u32::MAX;

/// Starts the re-authentication of the first session.
fn reauthenticate(connection: &mut Connection, out: &mut Vec<u8>) {
    let SessionConfig {
        credentials, now, ..
    } = config(1);
    let claim = Claim {
        credentials: &credentials,
        place: LogonPlace {
            host: "server",
            workstation: "CLIENT",
        },
        now,
    };
    let begun = connection.reauthenticate(SessionIndex::FIRST, claim, out);
    begun.expect("there are credits");
}

/// A connection with several kinds of requests in flight.
struct BusyConnection {
    connection: Connection,
    inbound: Inbound,
    payload: Payload,
    /// Tags of requests that have no answer yet.
    open: HashSet<u32>,
    next_tag: u32,
    /// Tags of requests with a CANCEL.
    cancelled: HashSet<u32>,
}

impl BusyConnection {
    /// Makes a connection by the bits of `selector`. The lowest bit selects the
    /// treatment of READ payloads. The highest bit starts a re-authentication.
    fn new(shield: FuzzProtection, selector: u8) -> Self {
        let payload = match selector & 1 {
            0 => Payload::Keep,
            _ => Payload::Discard,
        };
        let mut connection = fuzzing::connection(shield);
        let mut out = Vec::new();
        let file_id = FileId::default();
        let read = ReadRequest {
            file_id,
            offset: 0,
            length: 200_000,
            minimum_count: 0,
            flags: 0,
        };
        let write = WriteRequest {
            file_id,
            offset: 0,
            length: 10,
            flags: 0,
        };
        let kinds = [
            Command::Echo,
            Command::Create,
            Command::Close,
            Command::Flush,
            Command::QueryDirectory,
            Command::Lock,
        ];
        let mut open: HashSet<u32> = HashSet::new();
        for tag in 0..12 {
            let sent = match tag {
                0..3 => connection.read(SessionIndex::FIRST, tag, &read, &mut out),
                3..6 => connection.write(SessionIndex::FIRST, tag, &write, &mut out, |out| {
                    out.extend_from_slice(&[1; 10]);
                }),
                _ => connection.request(
                    SessionIndex::FIRST,
                    kinds[tag as usize - 6],
                    1,
                    tag,
                    &mut out,
                    |out| {
                        out.extend_from_slice(&EMPTY_BODY);
                    },
                ),
            };
            sent.expect("there are credits");
            open.insert(tag);
        }
        let short = ReadRequest { length: 10, ..read };
        let chained = connection
            .chain(SessionIndex::FIRST, &mut out)
            .request(Command::Create, 1, 12, |out| {
                out.extend_from_slice(&EMPTY_BODY);
            })
            .read(13, &short)
            .finish();
        chained.expect("there are credits");
        open.extend([12, 13]);
        if selector & 0x80 != 0 {
            reauthenticate(&mut connection, &mut out);
            open.insert(REAUTHENTICATION);
        }
        Self {
            connection,
            inbound: Inbound::default(),
            payload,
            open,
            next_tag: 14,
            cancelled: HashSet::new(),
        }
    }

    /// Acknowledges a break, if there is still a credit for that.
    fn acknowledge(&mut self, notification: &BreakNotification) {
        let acknowledgement = match notification {
            BreakNotification::Oplock(oplock) => Some(oplock.acknowledgement()),
            BreakNotification::Lease(lease) => lease.acknowledgement(),
        };
        let tag = self.next_tag;
        let mut out = Vec::new();
        if let Some(acknowledgement) = acknowledgement
            && self
                .connection
                .acknowledge(SessionIndex::FIRST, tag, &acknowledgement, &mut out)
                .is_ok()
        {
            self.next_tag += 1;
            self.open.insert(tag);
        }
    }

    /// Continues a re-authentication, if there is still a credit for that.
    fn reauthenticate(&mut self, progress: Reauthentication) {
        assert!(self.open.remove(&REAUTHENTICATION), "answered once");
        let mut out = Vec::new();
        if progress == Reauthentication::Unfinished
            && self
                .connection
                .continue_reauthentication(SessionIndex::FIRST, &mut out)
                .is_ok()
            && !out.is_empty()
        {
            self.open.insert(REAUTHENTICATION);
        }
    }

    /// Cancels a pending request, but only once.
    fn cancel(&mut self, tag: u32) {
        assert!(self.open.contains(&tag));
        if self.cancelled.insert(tag) {
            let mut out = Vec::new();
            let cancelled = self.connection.cancel(tag, &mut out);
            assert!(cancelled.is_ok() && !out.is_empty());
        }
    }

    /// Processes bytes from the server. Returns the number of completed
    /// requests, or `None` when the connection can no longer be trusted.
    fn take(&mut self, mut input: &mut [u8]) -> Option<usize> {
        let mut completed = 0;
        // Take the stream out of `self`, because the loop changes `self` while
        // messages borrow from the stream.
        let mut inbound = std::mem::take(&mut self.inbound);
        while let Some(frame) = inbound.next(&mut input, self.payload).ok()? {
            let mut messages = self.connection.open(frame).ok()?;
            while let Some(message) = messages.next_message().ok()? {
                match self.connection.receive(message).ok()? {
                    Event::Completed(done) => {
                        completed += 1;
                        assert!(self.open.remove(&done.tag), "answered once");
                        let _ = done.write();
                        if let Ok(read) = done.read()
                            && let Some(data) = read.data
                        {
                            assert_eq!(data.len(), read.length as usize);
                        }
                    }
                    Event::Pending { tag } => self.cancel(tag),
                    Event::Break(notification) => self.acknowledge(&notification),
                    Event::Reauthentication { progress, .. } => {
                        completed += 1;
                        self.reauthenticate(progress);
                    }
                }
                assert_eq!(self.connection.in_flight(), self.open.len());
            }
        }
        self.inbound = inbound;
        Some(completed)
    }

    /// Sends another request, if there is still a credit for that.
    fn ask_again(&mut self) {
        let mut out = Vec::new();
        let tag = self.next_tag;
        let asked = self.connection.request(
            SessionIndex::FIRST,
            Command::Echo,
            1,
            tag,
            &mut out,
            |out| {
                out.extend_from_slice(&EMPTY_BODY);
            },
        );
        assert_eq!(asked.is_ok(), !out.is_empty());
    }
}

/// Feeds a whole connection with the bytes as they are, in pieces.
pub fn connection_bytes(mut data: &[u8]) {
    let selector = byte(&mut data);
    let piece = usize::from(byte(&mut data)).max(1);
    let shield = match selector >> 1 & 3 {
        0 | 1 => FuzzProtection::None,
        2 => FuzzProtection::Signed(SigningAlgorithm::AesCmac),
        _ => FuzzProtection::Encrypted(Cipher::Aes128Gcm),
    };
    let mut busy = BusyConnection::new(shield, selector);
    let mut stream = data.to_vec();
    for piece in stream.chunks_mut(piece) {
        match busy.take(piece) {
            // Arbitrary bytes are never validly signed or encrypted.
            Some(completed) => assert!(completed == 0 || matches!(shield, FuzzProtection::None)),
            None => return,
        }
    }
    busy.ask_again();
}

/// Feeds a whole connection with messages.
pub fn connection_plain(mut data: &[u8]) {
    let mut busy = BusyConnection::new(FuzzProtection::None, byte(&mut data));
    while let Some(message) = record(&mut data) {
        if busy.take(&mut peer::framed(message)).is_none() {
            return;
        }
    }
    busy.ask_again();
}

/// A change to a message after it was signed or encrypted: none, or one flipped
/// bit.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Tampering {
    None,
    Flip { at: usize, bit: u8 },
}

impl Tampering {
    fn read(data: &mut &[u8]) -> Self {
        let (what, at) = (byte(data), byte(data));
        match what & 0x80 {
            0 => Self::None,
            _ => Self::Flip {
                at: usize::from(at) | usize::from(what & 0x70) << 4,
                bit: 1 << (what & 7),
            },
        }
    }

    fn apply(self, message: &mut [u8]) {
        if let Self::Flip { at, bit } = self
            && !message.is_empty()
        {
            let at = at % message.len();
            message[at] ^= bit;
        }
    }
}

/// Feeds a whole connection with messages that the server signs. A message that
/// is altered afterwards must not complete a request.
pub fn connection_signed(mut data: &[u8]) {
    let selector = byte(&mut data);
    let algorithm = SigningAlgorithm::ALL[usize::from(selector >> 1) % 3];
    let preauth = PreauthHash::default();
    let signer = Signer::new(algorithm, &fuzzing::keys(&preauth).signing());
    let mut busy = BusyConnection::new(FuzzProtection::Signed(algorithm), selector);
    loop {
        let tampering = Tampering::read(&mut data);
        let Some(message) = record(&mut data) else {
            break;
        };
        let mut message = message.to_vec();
        // The parts of a compound are signed separately, so a compound is sent
        // with the signatures of the input.
        if message.len() >= HEADER_LEN {
            signer.sign(&mut message);
        }
        tampering.apply(&mut message);
        match busy.take(&mut peer::framed(&message)) {
            Some(completed) => assert!(completed == 0 || tampering == Tampering::None),
            None => return,
        }
    }
    busy.ask_again();
}

/// Feeds a whole connection with messages that the server encrypts. A message
/// that is altered afterwards must end the connection.
pub fn connection_encrypted(mut data: &[u8]) {
    let selector = byte(&mut data);
    let cipher = Cipher::ALL[usize::from(selector >> 1) % 4];
    let mut busy = BusyConnection::new(FuzzProtection::Encrypted(cipher), selector);
    loop {
        let tampering = Tampering::read(&mut data);
        let Some(message) = record(&mut data) else {
            break;
        };
        let mut nonce = [0; NONCE_LEN_MAX];
        nonce[0] = message.len() as u8;
        // CCM uses one byte less of the nonce.
        let mut message = peer::sealed(cipher, nonce, message);
        tampering.apply(&mut message);
        match busy.take(&mut peer::framed(&message)) {
            Some(_) => assert!(tampering == Tampering::None),
            None => return,
        }
    }
    busy.ask_again();
}
