//! Judges received messages and turns them into events.

use std::hint;

use super::{
    Completion, Connection, Event, InFlight, MessageProtection, Protection, ProtocolError,
};
use crate::command::oplock_break::BreakNotification;
use crate::credit::Payment;
use crate::frame::{Frame, Message, Messages, Secrecy};
use crate::header::{Command, Flags, Header, UNSOLICITED};
use crate::status::NtStatus;

impl Connection {
    /// Returns the messages of a received frame, decrypted in place.
    ///
    /// # Errors
    /// Returns an error if the frame is encrypted and cannot be decrypted. The
    /// connection is unusable then.
    #[inline]
    pub fn open<'a>(&self, frame: Frame<'a>) -> Result<Messages<'a>, ProtocolError> {
        let of_session = |session_id| {
            let mut sessions = self.sessions.iter();
            sessions
                .find(|channel| channel.session_id == session_id)
                .and_then(|channel| channel.protection.transform())
        };
        Ok(frame.open(of_session)?)
    }

    /// Processes one received message.
    ///
    /// # Errors
    /// Returns an error if the message breaks the protocol. The connection is
    /// unusable then.
    #[inline]
    pub fn receive<'a>(&mut self, message: Message<'a>) -> Result<Event<'a>, ProtocolError> {
        let Message {
            bytes,
            total_len,
            secrecy,
        } = message;
        let header = Header::decode(bytes)?;
        if !header.flags.contains(Flags::RESPONSE) {
            hint::cold_path();
            return Err(ProtocolError::NotAResponse);
        }
        if header.message_id == UNSOLICITED {
            hint::cold_path();
            return unsolicited(&header, bytes);
        }
        let (at, entry) = self.request_of(&header)?;
        self.authenticate(&entry, &header, bytes, secrecy)?;
        self.credits.answered(entry.payment, header.credits);
        if is_interim(&header) {
            self.in_flight[at].payment = Payment::default();
            self.went_async(entry, &header);
            return Ok(Event::Pending { tag: entry.tag });
        }
        self.in_flight.swap_remove(at);
        if !self.interim.is_empty() {
            hint::cold_path();
            self.interim
                .retain(|known| known.message_id != header.message_id);
        }
        if entry.command == Command::SessionSetup && !self.is_opening(entry.session) {
            hint::cold_path();
            let session = entry.session;
            let progress = self.reauthenticated(session, header.status, bytes)?;
            return Ok(Event::Reauthentication { session, progress });
        }
        Ok(Event::Completed(Completion {
            tag: entry.tag,
            command: entry.command,
            status: header.status,
            bytes,
            total_len,
            secrecy,
        }))
    }

    /// Returns the request that a response answers, and its place in the table.
    #[inline]
    fn request_of(&self, header: &Header) -> Result<(usize, InFlight), ProtocolError> {
        let mut in_flight = self.in_flight.iter();
        let at = in_flight.position(|entry| entry.message_id == header.message_id);
        let at = at.ok_or_else(|| {
            hint::cold_path();
            ProtocolError::Unasked(header.message_id)
        })?;
        let entry = self.in_flight[at];
        if entry.command != header.command {
            hint::cold_path();
            return Err(ProtocolError::WrongCommand {
                asked: entry.command.name(),
                got: header.command.name(),
            });
        }
        Ok((at, entry))
    }

    /// Checks the session, the encryption and the signature of a response to a
    /// request.
    #[inline]
    fn authenticate(
        &self,
        entry: &InFlight,
        header: &Header,
        bytes: &mut [u8],
        secrecy: Secrecy,
    ) -> Result<(), ProtocolError> {
        let channel = &self.sessions[entry.session.at()];
        if header.session_id != channel.session_id && !channel.protection.is_opening() {
            hint::cold_path();
            return Err(ProtocolError::NotAResponse);
        }
        // The key of another session proves nothing (MS-SMB2 3.2.5.1.1.1).
        if let Secrecy::Encrypted { session_id } = secrecy
            && session_id != header.session_id
        {
            hint::cold_path();
            return Err(ProtocolError::NotAResponse);
        }
        match &channel.protection {
            Protection::Encrypted(_) if secrecy == Secrecy::Plain => Err(match header.status {
                NtStatus::USER_SESSION_DELETED => ProtocolError::SessionEnded(header.status),
                _ => ProtocolError::Unencrypted(header.command.name()),
            }),
            Protection::Signed(_)
                if header.status == NtStatus::USER_SESSION_DELETED
                    && !header.flags.contains(Flags::SIGNED) =>
            {
                Err(ProtocolError::SessionEnded(header.status))
            }
            // Interim answers are never signed (MS-SMB2 3.2.5.1.3). Some
            // servers do not sign a challenge during re-authentication, as in
            // the first authentication.
            Protection::Signed(signer)
                if !is_interim(header)
                    && !is_unsigned_challenge(header)
                    && !signer.verify(bytes) =>
            {
                Err(ProtocolError::Signature(header.command.name()))
            }
            Protection::None
                if !is_interim(header)
                    && !channel.is_signed_where_due(self.negotiated.dialect, header, bytes) =>
            {
                Err(ProtocolError::Signature(header.command.name()))
            }
            Protection::Opening(keys)
                if is_interim(header)
                    && keys.shield == MessageProtection::Encryption
                    && secrecy == Secrecy::Plain =>
            {
                Err(ProtocolError::Unencrypted(header.command.name()))
            }
            _ => Ok(()),
        }
    }
}

/// Returns whether the final answer will follow later.
#[inline]
fn is_interim(header: &Header) -> bool {
    header.status == NtStatus::PENDING && header.flags.contains(Flags::ASYNC)
}

/// Returns whether a message is an unsigned request for more proof during
/// re-authentication. It may be unsigned, because a signed answer decides in
/// the end.
#[inline]
fn is_unsigned_challenge(header: &Header) -> bool {
    header.command == Command::SessionSetup
        && header.status == NtStatus::MORE_PROCESSING_REQUIRED
        && !header.flags.contains(Flags::SIGNED)
}

/// Decodes a message without a request, which can only be a break (MS-SMB2
/// 2.2.23). It is unsigned, and a lease break belongs to no session.
#[inline]
fn unsolicited<'a>(header: &Header, bytes: &[u8]) -> Result<Event<'a>, ProtocolError> {
    if header.command != Command::OplockBreak {
        return Err(ProtocolError::Unasked(UNSOLICITED));
    }
    Ok(Event::Break(BreakNotification::decode(bytes)?))
}
