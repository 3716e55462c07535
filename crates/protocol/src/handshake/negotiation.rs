//! NEGOTIATE (MS-SMB2 3.2.4.2.2, 3.2.5.2): from a new TCP connection to one
//! that sessions can be set up on.

use super::{HandshakeError, Policy, SessionConfig};
use crate::connection::{
    Connection, Negotiated, Protect, ProtocolError, Unvalidated, append_framed, has_validation,
};
use crate::credit::{CREDIT_UNIT, CreditLedger, Payment};
use crate::crypto::PreauthHash;
use crate::dialect::Dialect;
use crate::frame::{Message, PREFIX_LEN};
use crate::header::{Command, Flags, Header};
use crate::negotiate::{NegotiateResponse, Offer, SIGNING_REQUIRED};
use crate::status::NtStatus;

/// The four bytes at the start of every SMB 1 message.
const SMB1_PROTOCOL_ID: [u8; 4] = *b"\xFFSMB";

/// A connection whose NEGOTIATE has no answer yet.
pub(super) struct Negotiation {
    offer: Offer,
    credits: CreditLedger,
    /// Message id and payment of the request in flight.
    awaited: (u64, Payment),
    preauth: PreauthHash,
}

impl Negotiation {
    /// Starts the negotiation and appends the request.
    pub(super) fn start(config: &SessionConfig, out: &mut Vec<u8>) -> Result<Self, HandshakeError> {
        let offer = Offer {
            dialects: config.dialects,
            signing_required: config.signing == Policy::Required,
            signing: config.signing_algorithm,
            ciphers: (config.encryption != Policy::Off).then_some(config.ciphers),
            channels: config.channels,
            client_guid: config.client_guid,
            salt: config.salt,
            host: config.host.clone(),
        };
        let mut credits = config.ledger();
        let paid = credits.reserve(1);
        let paid = paid.ok_or(HandshakeError::NoCredit(Command::Negotiate))?;
        let header = Header {
            // Messages before the end of the negotiation have no charge.
            credit_charge: 0,
            credits: paid.payment.asked,
            ..Header::request(Command::Negotiate, paid.message_id)
        };
        let start = out.len() + PREFIX_LEN;
        append_framed(&header, out, Protect::Not, |out| offer.encode(out));
        let mut preauth = PreauthHash::default();
        preauth.update(&out[start..]);
        Ok(Self {
            offer,
            credits,
            awaited: (paid.message_id, paid.payment),
            preauth,
        })
    }

    /// Processes the answer. Returns `None` after an interim answer.
    pub(super) fn receive(
        &mut self,
        message: &Message<'_>,
    ) -> Result<Option<Connection>, HandshakeError> {
        const COMMAND: Command = Command::Negotiate;
        if message.bytes.starts_with(&SMB1_PROTOCOL_ID) {
            return Err(HandshakeError::Smb1);
        }
        let header = Header::decode(message.bytes)?;
        let (message_id, payment) = self.awaited;
        if !header.flags.contains(Flags::RESPONSE) {
            return Err(ProtocolError::NotAResponse.into());
        }
        if header.message_id != message_id {
            return Err(ProtocolError::Unasked(header.message_id).into());
        }
        if header.command != COMMAND {
            return Err(ProtocolError::WrongCommand {
                asked: COMMAND.name(),
                got: header.command.name(),
            }
            .into());
        }
        self.credits.answered(payment, header.credits);
        if header.status == NtStatus::PENDING && header.flags.contains(Flags::ASYNC) {
            self.awaited.1 = Payment::default();
            return Ok(None);
        }
        if header.status != NtStatus::SUCCESS {
            return Err(HandshakeError::Refused {
                command: COMMAND,
                status: header.status,
            });
        }
        self.agree(message.bytes).map(Some)
    }

    fn agree(&mut self, bytes: &[u8]) -> Result<Connection, HandshakeError> {
        let answer = NegotiateResponse::decode(bytes)?;
        let dialect = Dialect::from_revision(answer.revision)
            .filter(|&dialect| self.offer.dialects.contains(dialect))
            .ok_or(HandshakeError::Dialect(answer.revision))?;
        let mut negotiated = Negotiated {
            dialect,
            signing_algorithm: self
                .offer
                .signing(&answer, dialect)
                .ok_or(HandshakeError::SigningAlgorithm(dialect))?,
            cipher: self.offer.cipher(&answer, dialect),
            server_requires_signing: answer.security_mode & SIGNING_REQUIRED != 0,
            max_read: answer.max_read,
            max_write: answer.max_write,
            max_transact: answer.max_transact,
            capabilities: answer.capabilities,
            server_guid: answer.server_guid,
        };
        // Without multi-credit requests a message carries at most the payload
        // of one credit (MS-SMB2 3.2.4.1.5). A smaller limit of the server
        // stays in force.
        if !negotiated.multi_credit() {
            let Negotiated {
                max_read,
                max_write,
                max_transact,
                ..
            } = &mut negotiated;
            for size in [max_read, max_write, max_transact] {
                *size = CREDIT_UNIT.min(*size);
            }
        }
        self.preauth.update(bytes);
        let unvalidated = self.offer.needs_validation(dialect).then(|| {
            let offer = self.offer.clone();
            Unvalidated { offer, answer }
        });
        let mut validation = Vec::new();
        if has_validation(dialect) {
            self.offer.encode_validation(&mut validation);
        }
        let preauth = self.preauth.clone();
        Ok(Connection::new(
            negotiated,
            self.credits,
            preauth,
            unvalidated,
            validation,
        ))
    }
}
