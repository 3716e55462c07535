//! The exchange with the file server: AP-REQ and AP-REP as GSS-API tokens (RFC
//! 4121), with mutual authentication and a separate key per session.

use std::sync::Arc;
use std::time::SystemTime;

use super::enctype::{Key, fill_random};
use super::error::KerberosError;
use super::messages::reply::{self, ApReplyPart, KrbError};
use super::messages::{self, Authenticator, MUTUAL_REQUIRED, usage};
use super::ticket::{KerberosTime, ServiceTicket};
use crate::decode::DecodeError;
use crate::spnego;

/// Type of the checksum that carries GSS-API flags instead (RFC 4121 4.1.1).
const CHECKSUM_GSS: i64 = 0x8003;
/// The GSS-API flags MUTUAL, REPLAY, SEQUENCE, CONF and INTEG.
const GSS_FLAGS: u32 = 0x3e;
const AP_REQ_TOKEN: [u8; 2] = [1, 0];
const AP_REP_TOKEN: [u8; 2] = [2, 0];
const ERROR_TOKEN: [u8; 2] = [3, 0];

/// Constants of MIC tokens (RFC 4121 4.2.6.1).
mod mic {
    pub(super) const ID: [u8; 2] = [4, 4];
    pub(super) const HEADER_LEN: usize = 16;
    pub(super) const SENT_BY_ACCEPTOR: u8 = 1;
    pub(super) const ACCEPTOR_SUBKEY: u8 = 4;
    pub(super) const USAGE_ACCEPTOR: u32 = 23;
    pub(super) const USAGE_INITIATOR: u32 = 25;
}

/// The client's side of one exchange.
#[doc(hidden)]
pub struct Initiator {
    ticket: Arc<ServiceTicket>,
    stamp: KerberosTime,
    subkey: Key,
    sequence: u32,
    server: ServerProof,
}

/// Whether the server has proven its identity.
enum ServerProof {
    Unproven,
    /// The server has proven its identity, and may have chosen the key.
    Proven(Option<Key>),
}

impl Initiator {
    /// Starts an exchange and returns the first token to send.
    pub fn start(
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
            subkey: Key::random(ticket.ticket.key.enctype),
            // Keep the number small, because some servers read it as a signed one.
            sequence: u32::from_be_bytes(sequence) >> 2,
            server: ServerProof::Unproven,
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

    /// Processes the server's token, which proves that the server could read ours.
    pub fn finish(&mut self, token: &[u8]) -> Result<(), KerberosError> {
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
        let part = reply::ap_reply(message)?
            .decrypt(&self.ticket.ticket.key, usage::AP_REP)
            .ok_or_else(|| self.unproven())?;
        let part = ApReplyPart::decode(&part)?;
        let echoed = (part.seconds, part.microseconds);
        if echoed != (self.stamp.seconds(), self.stamp.microseconds()) {
            return Err(self.unproven());
        }
        self.server = ServerProof::Proven(part.subkey);
        Ok(())
    }

    pub fn unproven(&self) -> KerberosError {
        KerberosError::ServerUnproven(self.ticket.service().clone())
    }

    pub const fn is_proven(&self) -> bool {
        matches!(self.server, ServerProof::Proven(_))
    }

    /// Returns the session's key. It is the server's key if the server chose
    /// one (MS-SMB2 3.2.5.3, RFC 4121 2).
    fn key(&self) -> &Key {
        match &self.server {
            ServerProof::Proven(Some(key)) => key,
            _ => &self.subkey,
        }
    }

    pub fn session_key(&self) -> &[u8] {
        &self.key().bytes
    }

    const fn chosen_by_server(&self) -> u8 {
        match &self.server {
            ServerProof::Proven(Some(_)) => mic::ACCEPTOR_SUBKEY,
            _ => 0,
        }
    }

    /// Makes the first MIC token that the client sends.
    pub fn mic(&self, data: &[u8]) -> Vec<u8> {
        let mut token = vec![0xff; mic::HEADER_LEN];
        token[..2].copy_from_slice(&mic::ID);
        token[2] = self.chosen_by_server();
        token[8..].copy_from_slice(&u64::from(self.sequence).to_be_bytes());
        let checksum = self.key().checksum(mic::USAGE_INITIATOR, &[data, &token]);
        token.extend_from_slice(&checksum);
        token
    }

    /// Returns whether a MIC token is the server's and protects `data`.
    pub fn verifies(&self, data: &[u8], token: &[u8]) -> bool {
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

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use proptest::prelude::*;

    use super::super::enctype::Enctype;
    use super::super::principal::Principal;
    use super::super::ticket::Ticket;
    use super::*;
    use crate::der;
    use crate::der::Der;

    fn now() -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::new(1_800_000_000, 123_456_000)
    }

    fn ticket(key: &Key) -> Arc<ServiceTicket> {
        Arc::new(ServiceTicket::new(Ticket {
            client: Principal::user("ann", "R"),
            service: Principal::service("cifs/files", "R"),
            key: key.clone(),
            starts: now(),
            expires: now() + Duration::from_secs(60),
            encoded: der::application(1, b"opaque"),
        }))
    }

    /// Reads the client's token as the server does: time, subkey, first number.
    fn read_by_server(token: &[u8], key: &Key) -> (SystemTime, i64, Key, i64) {
        let (mechanism, token) = spnego::unframed(token).unwrap();
        assert_eq!(mechanism, spnego::KERBEROS);
        assert_eq!(token[..2], AP_REQ_TOKEN);
        let mut request = Der::new(&token[2..])
            .expect(der::application_tag(14), "AP-REQ")
            .and_then(|mut request| request.sequence("AP-REQ"))
            .unwrap();
        request.field(0, "version").unwrap();
        request.field(1, "type").unwrap();
        let options = request.field(2, "options").unwrap().rest();
        assert_eq!(options, der::flags(MUTUAL_REQUIRED));
        request.field(3, "ticket").unwrap();
        let mut part = request.field(4, "part").unwrap();
        let mut part = part.sequence("part").unwrap();
        part.field(0, "enctype").unwrap();
        let cipher = part.field(2, "cipher").unwrap().octets("cipher").unwrap();
        let plain = key.decrypt(usage::AP_REQ_AUTHENTICATOR, cipher).unwrap();
        let mut fields = Der::new(&plain)
            .expect(der::application_tag(2), "authenticator")
            .and_then(|mut inner| inner.sequence("authenticator"))
            .unwrap();
        for number in 0..3 {
            fields.field(number, "name").unwrap();
        }
        let mut checksum = fields.field(3, "checksum").unwrap();
        let mut checksum = checksum.sequence("checksum").unwrap();
        let kind = checksum.field(0, "kind").unwrap().integer("kind").unwrap();
        assert_eq!(kind, CHECKSUM_GSS);
        let checksum = checksum.field(1, "checksum").unwrap().octets("it").unwrap();
        assert_eq!(checksum[..4], 16u32.to_le_bytes());
        assert_eq!(checksum[20..], GSS_FLAGS.to_le_bytes());
        let mut integer = |number| {
            let mut field = fields.field(number, "field").unwrap();
            field.integer("field").unwrap()
        };
        let microseconds = integer(4);
        let seconds = fields.field(5, "time").unwrap().time("time").unwrap();
        let mut subkey = fields.field(6, "subkey").unwrap();
        let mut subkey = subkey.sequence("subkey").unwrap();
        subkey.field(0, "type").unwrap();
        let bytes = subkey.field(1, "key").unwrap().octets("key").unwrap();
        let subkey = Key::new(key.enctype, bytes).unwrap();
        let mut sequence = fields.field(7, "sequence").unwrap();
        (
            seconds,
            microseconds,
            subkey,
            sequence.integer("it").unwrap(),
        )
    }

    fn ap_rep(key: &Key, seconds: SystemTime, microseconds: i64, subkey: Option<&Key>) -> Vec<u8> {
        let mut fields = vec![
            der::context(0, &der::time(seconds)),
            der::context(1, &der::integer(microseconds)),
        ];
        if let Some(subkey) = subkey {
            let key = der::sequence(&[
                der::context(0, &der::integer(subkey.enctype.number().into())),
                der::context(1, &der::octets(&subkey.bytes)),
            ]);
            fields.push(der::context(2, &key));
        }
        let part = der::application(27, &der::sequence(&fields));
        let reply = der::sequence(&[
            der::context(0, &der::integer(5)),
            der::context(1, &der::integer(15)),
            der::context(2, &messages::encrypted(key, usage::AP_REP, &part)),
        ]);
        token(AP_REP_TOKEN, &der::application(15, &reply))
    }

    fn token(id: [u8; 2], message: &[u8]) -> Vec<u8> {
        spnego::framed(spnego::KERBEROS, &[&id[..], message].concat())
    }

    /// Makes a MIC token of the server.
    fn server_mic(key: &Key, flags: u8, data: &[u8]) -> Vec<u8> {
        let mut mic = vec![4, 4, flags, 0xff, 0xff, 0xff, 0xff, 0xff];
        mic.extend([0; 8]);
        let checksum = key.checksum(mic::USAGE_ACCEPTOR, &[data, &mic]);
        mic.extend(checksum);
        mic
    }

    #[test]
    fn the_key_is_the_servers_where_it_chose_one_and_ours_otherwise() {
        for enctype in Enctype::ALL {
            let key = Key::random(enctype);
            let chosen = Key::random(Enctype::Aes256Sha1);
            for answer in [None, Some(&chosen)] {
                let (mut initiator, token) = Initiator::start(ticket(&key), now()).unwrap();
                let (seconds, microseconds, ours, first) = read_by_server(&token, &key);
                assert_eq!(microseconds, 123_456);
                assert!(!initiator.is_proven());
                let reply = ap_rep(&key, seconds, microseconds, answer);
                initiator.finish(&reply).unwrap();
                assert!(initiator.is_proven());
                let expected = answer.unwrap_or(&ours);
                assert_eq!(initiator.session_key(), expected.bytes);

                let by = if answer.is_some() {
                    mic::ACCEPTOR_SUBKEY
                } else {
                    0
                };
                let mic = initiator.mic(b"mechanisms");
                let (header, checksum) = mic.split_at(mic::HEADER_LEN);
                assert_eq!(header[..8], [4, 4, by, 0xff, 0xff, 0xff, 0xff, 0xff]);
                assert_eq!(header[8..], first.to_be_bytes());
                let data = [&b"mechanisms"[..], header];
                assert!(expected.verifies(mic::USAGE_INITIATOR, &data, checksum));

                let flags = by | mic::SENT_BY_ACCEPTOR;
                let good = server_mic(expected, flags, b"mechanisms");
                assert!(initiator.verifies(b"mechanisms", &good));
                assert!(!initiator.verifies(b"others", &good));
                // The client's own token, sent back.
                assert!(!initiator.verifies(b"mechanisms", &mic));
                assert!(!initiator.verifies(b"mechanisms", &good[..10]));
            }
        }
    }

    #[test]
    fn a_server_that_could_not_read_the_token_proves_nothing() {
        let key = Key::random(Enctype::Aes256Sha1);
        let (mut initiator, sent) = Initiator::start(ticket(&key), now()).unwrap();
        let (seconds, microseconds, ..) = read_by_server(&sent, &key);
        let unproven = KerberosError::ServerUnproven(Principal::service("cifs/files", "R"));
        for reply in [
            ap_rep(
                &Key::random(Enctype::Aes256Sha1),
                seconds,
                microseconds,
                None,
            ),
            ap_rep(&key, seconds, microseconds + 1, None),
            ap_rep(&key, seconds + Duration::from_secs(1), microseconds, None),
            // The client's own token, sent back.
            sent,
        ] {
            assert_eq!(initiator.finish(&reply).unwrap_err(), unproven);
            assert!(!initiator.is_proven());
        }
    }

    #[test]
    fn an_expired_ticket_is_not_used() {
        let key = Key::random(Enctype::Aes128Sha1);
        let later = now() + Duration::from_secs(62);
        let error = Initiator::start(ticket(&key), later).err().unwrap();
        let expected = KerberosError::Expired {
            user: Principal::user("ann", "R"),
            ago: Duration::from_secs(2),
        };
        assert_eq!(error, expected);
    }

    proptest! {
        #[test]
        fn arbitrary_tokens_never_panic(bytes: Vec<u8>, id in 0u8..4) {
            let key = Key::random(Enctype::Aes128Sha1);
            let (mut initiator, _) = Initiator::start(ticket(&key), now()).unwrap();
            prop_assert!(initiator.finish(&bytes).is_err());
            prop_assert!(initiator.finish(&token([id, 0], &bytes)).is_err());
            prop_assert!(!initiator.verifies(b"data", &bytes));
        }
    }
}
