//! Connections and handshakes of CIFS with a server whose answers fit the requests, so that
//! the input reaches more than the header's checks.

use std::collections::HashSet;

use smbench_protocol::cifs::command::encode_empty;
use smbench_protocol::cifs::fuzzing::{self, CifsAnswerSigner, CifsFuzzProtection};
use smbench_protocol::cifs::handshake::{CifsHandshake, CifsProgress};
use smbench_protocol::cifs::header::{CifsCommand, CifsHeader};
use smbench_protocol::cifs::{CifsConnection, CifsEvent};
use smbench_protocol::frame::{Inbound, Payload};
use smbench_protocol::{Dialect, NtStatus, SessionConfig, SessionIndex};

use crate::FuzzTarget;
use crate::handshake::config;
use crate::peer::{self, byte, record};

/// Targets of this module.
pub const TARGETS: &[FuzzTarget] = &[
    ("cifs_connection", cifs_connection),
    ("cifs_handshake_answers", cifs_handshake_answers),
];

/// The requests of a connection. Several have the same command, so that their answers can
/// be confused.
const COMMANDS: [CifsCommand; 12] = [
    CifsCommand::ReadAndX,
    CifsCommand::ReadAndX,
    CifsCommand::ReadAndX,
    CifsCommand::WriteAndX,
    CifsCommand::WriteAndX,
    CifsCommand::NtCreateAndX,
    CifsCommand::Close,
    CifsCommand::Transaction2,
    CifsCommand::Transaction2,
    CifsCommand::NtTransact,
    CifsCommand::NtTransact,
    CifsCommand::TreeConnectAndX,
];

/// A connection with its requests in flight.
struct BusyCifs {
    connection: CifsConnection,
    requests: Vec<CifsHeader>,
    /// Tags of requests that have no answer yet.
    open: HashSet<u32>,
}

impl BusyCifs {
    fn new(protection: CifsFuzzProtection) -> Self {
        let mut connection = fuzzing::connection(protection);
        let mut out = Vec::new();
        let first = SessionIndex::FIRST;
        for (tag, command) in (0..).zip(COMMANDS) {
            let sent = connection.request(first, command, tag, &mut out, encode_empty);
            sent.expect("there is room");
        }
        let requests = peer::sent(&out).map(|message| {
            let header = CifsHeader::decode(message);
            header.expect("our own header")
        });
        Self {
            requests: requests.collect(),
            connection,
            open: (0..COMMANDS.len() as u32).collect(),
        }
    }

    /// Processes a message. Returns whether it completed a request or brought a part of an
    /// answer, or `None` when the connection can no longer be trusted.
    fn take(&mut self, message: &[u8]) -> Option<bool> {
        let mut stream = peer::framed(message);
        let (mut input, mut inbound) = (&mut stream[..], Inbound::default());
        let frame = inbound.next(&mut input, Payload::Discard).ok()??;
        let is_taken = match self.connection.receive(frame.into_message()).ok()? {
            CifsEvent::Completed(done) => {
                assert!(self.open.remove(&done.tag), "answered once");
                let _ = (done.write(), done.transaction(), done.tree());
                if let Ok(read) = done.read()
                    && let Some(data) = read.data
                {
                    assert_eq!(data.len(), read.length as usize);
                }
                true
            }
            CifsEvent::Part => true,
            CifsEvent::Break { session, broken } => {
                let session = session.unwrap_or(SessionIndex::FIRST);
                let mut out = Vec::new();
                self.connection.release(session, broken, &mut out);
                assert!(!out.is_empty());
                false
            }
            CifsEvent::Unreleased { .. } | CifsEvent::Uncancelled { .. } => false,
        };
        assert_eq!(self.connection.in_flight(), self.open.len());
        Some(is_taken)
    }
}

fn status(selector: u8) -> NtStatus {
    match selector & 3 {
        0 => NtStatus::SUCCESS,
        1 => NtStatus::MORE_PROCESSING_REQUIRED,
        2 => NtStatus::BUFFER_OVERFLOW,
        _ => NtStatus::ACCESS_DENIED,
    }
}

/// Feeds a connection with answers to its requests. The input is their bodies. An answer
/// that was changed after the server signed it must not be taken.
pub fn cifs_connection(mut data: &[u8]) {
    let protection = match byte(&mut data) & 1 {
        0 => CifsFuzzProtection::None,
        _ => CifsFuzzProtection::Signed,
    };
    let mut busy = BusyCifs::new(protection);
    loop {
        let request = usize::from(byte(&mut data)) % COMMANDS.len();
        let (selector, what, at) = (byte(&mut data), byte(&mut data), byte(&mut data));
        let Some(body) = record(&mut data) else {
            return;
        };
        let header = CifsHeader {
            status: status(selector),
            // Some messages are breaks.
            flags: if selector & 0x80 == 0 { 0x80 } else { 0 },
            ..busy.requests[request]
        };
        let mut message = Vec::new();
        header.encode(&mut message);
        message.extend_from_slice(body);
        CifsAnswerSigner::after(request as u32).sign(&mut message);
        let is_changed = what & 0x80 != 0;
        if is_changed {
            let at = usize::from(at) % message.len();
            message[at] ^= 1 << (what & 7);
        }
        match busy.take(&message) {
            Some(is_taken) => {
                let is_forged = is_changed && protection == CifsFuzzProtection::Signed;
                assert!(!is_taken || !is_forged, "a forged answer was taken");
            }
            None => return,
        }
    }
}

/// Feeds a whole handshake with answers to the client's requests. The input is their
/// statuses and bodies.
pub fn cifs_handshake_answers(mut data: &[u8]) {
    let config = SessionConfig {
        dialects: Dialect::Cifs.into(),
        ..config(byte(&mut data))
    };
    let mut out = Vec::new();
    let Ok(mut handshake) = CifsHandshake::start(config, &mut out) else {
        return;
    };
    loop {
        let selector = byte(&mut data);
        let Some(body) = record(&mut data) else {
            return;
        };
        let request = peer::sent(&out).last().map(CifsHeader::decode);
        let Some(Ok(request)) = request else { return };
        out.clear();
        let header = CifsHeader {
            status: status(selector),
            flags: 0x80,
            uid: 5,
            tid: 4,
            ..request
        };
        let mut message = Vec::new();
        header.encode(&mut message);
        message.extend_from_slice(body);
        let mut stream = peer::framed(&message);
        let (mut input, mut inbound) = (&mut stream[..], Inbound::default());
        let Ok(Some(frame)) = inbound.next(&mut input, Payload::Keep) else {
            return;
        };
        match handshake.receive(frame.into_message(), &mut out) {
            Ok(CifsProgress::Continue) => {}
            Ok(CifsProgress::Ready(connection)) => {
                assert_eq!(connection.in_flight(), 0);
                return;
            }
            Err(_) => return,
        }
    }
}
