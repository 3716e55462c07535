//! The exchange with the file server: AP-REQ and AP-REP as GSS-API tokens
//! (RFC 4121), with mutual authentication and a key of this session alone.

use std::sync::Arc;
use std::time::SystemTime;

use super::super::spnego;
use super::enctype::{Key, fill_random};
use super::error::KerberosError;
use super::messages::{self, ApReplyPart, Authenticator, KrbError, MUTUAL_REQUIRED, usage};
use super::ticket::{ServiceTicket, Stamp};
use crate::wire::DecodeError;

/// The type of checksum that carries GSS-API flags instead (RFC 4121 4.1.1).
const CHECKSUM_GSS: i64 = 0x8003;
/// GSS_C_MUTUAL, REPLAY, SEQUENCE, CONF and INTEG.
const GSS_FLAGS: u32 = 0x3e;
const AP_REQ_TOKEN: [u8; 2] = [1, 0];
const AP_REP_TOKEN: [u8; 2] = [2, 0];
const ERROR_TOKEN: [u8; 2] = [3, 0];

/// MIC tokens (RFC 4121 4.2.6.1).
mod mic {
    pub(super) const ID: [u8; 2] = [4, 4];
    pub(super) const HEADER_LEN: usize = 16;
    pub(super) const SENT_BY_ACCEPTOR: u8 = 1;
    pub(super) const ACCEPTOR_SUBKEY: u8 = 4;
    pub(super) const USAGE_ACCEPTOR: u32 = 23;
    pub(super) const USAGE_INITIATOR: u32 = 25;
}

/// The client's half of one exchange.
pub(in super::super) struct Initiator {
    ticket: Arc<ServiceTicket>,
    stamp: Stamp,
    subkey: Key,
    sequence: u32,
    server: Server,
}

/// What is known of the server.
enum Server {
    Unproven,
    /// It has proven who it is, and may have chosen the key.
    Proven(Option<Key>),
}

impl Initiator {
    /// Begins; the token to send.
    pub(in super::super) fn start(
        ticket: Arc<ServiceTicket>,
        now: SystemTime,
    ) -> Result<(Self, Vec<u8>), KerberosError> {
        if let Ok(ago) = now.duration_since(ticket.expires()) {
            let user = ticket.client().clone();
            return Err(KerberosError::Expired { user, ago });
        }
        let mut sequence = [0; 4];
        fill_random(&mut sequence);
        let this = Self {
            stamp: ticket.stamp(now),
            subkey: Key::random(ticket.ticket.key.enctype()),
            // Some servers take the number for a signed one.
            sequence: u32::from_be_bytes(sequence) >> 2,
            server: Server::Unproven,
            ticket,
        };
        let mut checksum = [0; 24];
        checksum[..4].copy_from_slice(&16u32.to_le_bytes());
        checksum[20..].copy_from_slice(&GSS_FLAGS.to_le_bytes());
        let authenticator = Authenticator {
            stamp: this.stamp,
            checksum: (CHECKSUM_GSS, &checksum),
            subkey: Some((&this.subkey, this.sequence)),
        };
        let request = messages::ap_request(
            &this.ticket.ticket,
            MUTUAL_REQUIRED,
            usage::AP_REQ_AUTHENTICATOR,
            &authenticator,
        );
        let token = [&AP_REQ_TOKEN[..], &request].concat();
        let token = spnego::framed(spnego::KERBEROS, &token);
        Ok((this, token))
    }

    /// Takes the server's token, which proves that it could read ours.
    pub(in super::super) fn finish(&mut self, token: &[u8]) -> Result<(), KerberosError> {
        let (_, token) = spnego::unframed(token)?;
        let (id, message) = token.split_first_chunk().ok_or(DecodeError {
            what: "Kerberos token",
            offset: 0,
        })?;
        match *id {
            AP_REP_TOKEN => {}
            ERROR_TOKEN => {
                let error = KrbError::decode(message)?;
                return Err(KerberosError::ServerRefuses {
                    service: self.ticket.service().clone(),
                    code: error.code,
                    text: error.text.to_owned(),
                });
            }
            _ => return Err(self.unproven()),
        }
        let part = messages::ap_reply(message)?
            .decrypt(&self.ticket.ticket.key, usage::AP_REP)
            .ok_or_else(|| self.unproven())?;
        let part = ApReplyPart::decode(&part)?;
        let echoed = (part.seconds, part.microseconds);
        if echoed != (self.stamp.seconds(), self.stamp.microseconds()) {
            return Err(self.unproven());
        }
        self.server = Server::Proven(part.subkey);
        Ok(())
    }

    pub(in super::super) fn unproven(&self) -> KerberosError {
        KerberosError::ServerUnproven(self.ticket.service().clone())
    }

    pub(in super::super) const fn is_proven(&self) -> bool {
        matches!(self.server, Server::Proven(_))
    }

    /// The session's key: the server's where it chose one (MS-SMB2 3.2.5.3,
    /// RFC 4121 2).
    fn key(&self) -> &Key {
        match &self.server {
            Server::Proven(Some(key)) => key,
            _ => &self.subkey,
        }
    }

    pub(in super::super) fn session_key(&self) -> &[u8] {
        self.key().bytes()
    }

    const fn chosen_by_server(&self) -> u8 {
        match &self.server {
            Server::Proven(Some(_)) => mic::ACCEPTOR_SUBKEY,
            _ => 0,
        }
    }

    /// The first MIC token that we send.
    pub(in super::super) fn mic(&self, data: &[u8]) -> Vec<u8> {
        let mut token = vec![0xff; mic::HEADER_LEN];
        token[..2].copy_from_slice(&mic::ID);
        token[2] = self.chosen_by_server();
        token[8..].copy_from_slice(&u64::from(self.sequence).to_be_bytes());
        let checksum = self.key().checksum(mic::USAGE_INITIATOR, &[data, &token]);
        token.extend_from_slice(&checksum);
        token
    }

    /// Whether a MIC token is the server's, of `data`.
    pub(in super::super) fn verifies(&self, data: &[u8], token: &[u8]) -> bool {
        let Some((header, checksum)) = token.split_at_checked(mic::HEADER_LEN) else {
            return false;
        };
        let flags = mic::SENT_BY_ACCEPTOR | self.chosen_by_server();
        header[..3] == [mic::ID[0], mic::ID[1], flags]
            && self
                .key()
                .verifies(mic::USAGE_ACCEPTOR, &[data, header], checksum)
    }
}
