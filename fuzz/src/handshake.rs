//! Handshakes with arbitrary servers, and the tokens of log-ons.

use std::time::SystemTime;

use smbench_protocol::crypto::NONCE_SEED_LEN;
use smbench_protocol::frame::{Inbound, Payload};
use smbench_protocol::header::Flags;
use smbench_protocol::{
    Account, Channels, CipherList, Credentials, Dialect, DialectRange, Handshake,
    HandshakeProgress, NtStatus, Policy, SessionConfig,
};

use crate::FuzzTarget;
use crate::peer::{self, byte, record};

/// Targets of this module.
pub const TARGETS: &[FuzzTarget] = &[
    ("handshake_bytes", handshake_bytes),
    ("handshake_answers", handshake_answers),
    ("auth_tokens", auth_tokens),
];

/// Makes the parameters of a session. The bits of `selector` choose the user
/// and the policies.
pub(crate) fn config(selector: u8) -> SessionConfig {
    let policy = |bits: u8| match bits & 3 {
        0 | 1 => Policy::AsServerRequires,
        2 => Policy::Required,
        _ => Policy::Off,
    };
    let user = if selector & 1 == 0 { "guest" } else { "alice" };
    SessionConfig {
        dialects: DialectRange::ALL,
        signing: policy(selector >> 1),
        signing_algorithm: None,
        encryption: policy(selector >> 3),
        ciphers: CipherList::default(),
        credentials: Credentials::Ntlm(Account {
            domain: String::new(),
            user: user.to_owned(),
            password: "secret".to_owned(),
        }),
        now: SystemTime::UNIX_EPOCH,
        host: "server".to_owned(),
        workstation: "CLIENT".to_owned(),
        share: "share".to_owned(),
        credit_target: 64,
        credit_cap: None,
        channels: Channels::One,
        client_guid: [1; 16],
        previous_session: 0,
        salt: [2; 32],
        nonce_seed: [3; NONCE_SEED_LEN],
    }
}

/// A handshake in progress.
struct FuzzedHandshake {
    handshake: Handshake,
    inbound: Inbound,
    /// The bytes that the client has sent and the target has not read.
    out: Vec<u8>,
}

impl FuzzedHandshake {
    fn start(selector: u8) -> Self {
        Self::with(config(selector))
    }

    fn with(config: SessionConfig) -> Self {
        let mut out = Vec::new();
        let handshake = Handshake::start(config, None, &mut out).expect("usable credentials");
        Self {
            handshake,
            inbound: Inbound::default(),
            out,
        }
    }

    /// Processes bytes from the server. Returns `None` when the handshake is over.
    fn take(&mut self, mut input: &mut [u8]) -> Option<()> {
        while let Some(frame) = self.inbound.next(&mut input, Payload::Keep).ok()? {
            let mut messages = self.handshake.open(frame).ok()?;
            while let Some(message) = messages.next_message().ok()? {
                match self.handshake.receive(message, &mut self.out).ok()? {
                    HandshakeProgress::Continue => {}
                    HandshakeProgress::Ready(connection) => {
                        assert_eq!(connection.in_flight(), 0);
                        return None;
                    }
                }
            }
        }
        Some(())
    }

    fn answer(&mut self, status: NtStatus, flags: Flags, body: &[u8]) -> Option<()> {
        let message = peer::answer(&mut self.out, status, flags, body)?;
        self.take(&mut peer::framed(&message))
    }
}

/// Feeds a whole handshake with the bytes as they are, in pieces.
pub fn handshake_bytes(mut data: &[u8]) {
    let mut setup = FuzzedHandshake::start(byte(&mut data));
    let piece = usize::from(byte(&mut data)).max(1);
    let mut stream = data.to_vec();
    for piece in stream.chunks_mut(piece) {
        if setup.take(piece).is_none() {
            return;
        }
    }
}

/// Feeds a whole handshake with answers to the client's requests. The input is
/// their statuses and bodies.
pub fn handshake_answers(mut data: &[u8]) {
    let mut setup = FuzzedHandshake::start(byte(&mut data));
    loop {
        let selector = byte(&mut data);
        let Some(body) = record(&mut data) else {
            return;
        };
        let status = match selector & 3 {
            0 => NtStatus::SUCCESS,
            1 => NtStatus::MORE_PROCESSING_REQUIRED,
            2 => NtStatus::PENDING,
            _ => NtStatus::ACCESS_DENIED,
        };
        let flags = Flags(u32::from(selector >> 2 & 0xF));
        if setup.answer(status, flags, body).is_none() {
            return;
        }
    }
}

/// Logs on with NTLM at a server that sends these tokens.
pub fn auth_tokens(data: &[u8]) {
    let SessionConfig {
        credentials, now, ..
    } = config(1);
    log_on(credentials, now, data);
}

/// Logs on at a server that sends the answers in `data`. Each has a byte that
/// marks the last answer, and a token. No token proves the server's identity.
pub(crate) fn log_on(credentials: Credentials, now: SystemTime, mut data: &[u8]) {
    let mut setup = FuzzedHandshake::with(SessionConfig {
        credentials,
        now,
        ..config(1)
    });
    let negotiate = peer::negotiate_body(Dialect::Smb21);
    if setup
        .answer(NtStatus::SUCCESS, Flags::default(), &negotiate)
        .is_none()
    {
        return;
    }
    for _ in 0..3 {
        let status = match byte(&mut data) & 1 {
            0 => NtStatus::MORE_PROCESSING_REQUIRED,
            _ => NtStatus::SUCCESS,
        };
        let Some(token) = record(&mut data) else {
            return;
        };
        let body = peer::session_setup_body(0, token);
        if setup.answer(status, Flags::default(), &body).is_none() {
            return;
        }
    }
}
