//! Judges received messages and turns them into events.

use std::hint;

use super::event::has_parts;
use super::parts::{Joined, Joining};
use super::{CifsCompletion, CifsConnection, CifsEvent, CifsInFlight};
use crate::NtStatus;
use crate::cifs::command::lock::CifsBreak;
use crate::cifs::command::transaction::TransactionPart;
use crate::cifs::header::{CIFS_UNSOLICITED, CifsCommand, CifsHeader};
use crate::connection::ProtocolError;
use crate::frame::Message;
use crate::wire::DecodeError;

impl CifsConnection {
    /// Processes one received message.
    ///
    /// # Errors
    /// If the message breaks the protocol. The connection is unusable then.
    #[inline]
    pub fn receive<'a>(&mut self, message: Message<'a>) -> Result<CifsEvent<'a>, ProtocolError> {
        let Message {
            bytes, total_len, ..
        } = message;
        let bytes: &'a [u8] = bytes;
        let header = match CifsHeader::decode(bytes) {
            Ok(header) => header,
            // A keepalive packet.
            Err(_) if bytes.is_empty() => return Ok(CifsEvent::Part),
            Err(error) => return Err(error.into()),
        };
        if !header.is_reply() {
            hint::cold_path();
            return self.unsolicited(&header, bytes);
        }
        let mut in_flight = self.in_flight.iter();
        let Some(at) = in_flight.position(|entry| entry.mid == header.mid) else {
            hint::cold_path();
            return self.unasked(&header);
        };
        let entry = self.in_flight[at];
        if entry.command != header.command {
            hint::cold_path();
            // An NT_CANCEL has the MID of the request that it is about.
            if header.command == CifsCommand::NtCancel {
                return self.unasked(&header);
            }
            return Err(ProtocolError::WrongCommand {
                asked: entry.command.name(),
                got: header.command.name(),
            });
        }
        if let Some(signer) = &self.signer
            && !signer.verify(bytes, entry.answer_sequence)
        {
            hint::cold_path();
            return Err(ProtocolError::Signature(header.command.name()));
        }
        let mut joined = None;
        if matches!(
            entry.command,
            CifsCommand::Transaction2 | CifsCommand::NtTransact
        ) {
            match self.join(&entry, header.status, bytes)? {
                Collected::Whole => {}
                Collected::Joined(parts) => joined = Some(parts),
                Collected::More => return Ok(CifsEvent::Part),
            }
        }
        self.in_flight.swap_remove(at);
        Ok(CifsEvent::Completed(CifsCompletion {
            tag: entry.tag,
            command: entry.command,
            status: header.status,
            bytes,
            total_len,
            joined,
        }))
    }

    /// Adds a message to the answer to a transaction.
    fn join(
        &mut self,
        entry: &CifsInFlight,
        status: NtStatus,
        bytes: &[u8],
    ) -> Result<Collected, DecodeError> {
        let known = self.joining.iter().position(|it| it.mid == entry.mid);
        if !has_parts(status, bytes) {
            known.map(|at| self.joining.swap_remove(at));
            return Ok(Collected::Whole);
        }
        let part = match entry.command {
            CifsCommand::NtTransact => TransactionPart::decode_nt_transact(bytes),
            _ => TransactionPart::decode_trans2(bytes),
        }?;
        if known.is_none() && part.is_whole() {
            return Ok(Collected::Whole);
        }
        hint::cold_path();
        let at = match known {
            Some(at) => at,
            None => {
                self.joining.push(Joining::new(entry.mid, &part)?);
                self.joining.len() - 1
            }
        };
        self.joining[at].add(&part)?;
        Ok(if self.joining[at].is_whole() {
            Collected::Joined(self.joining.swap_remove(at).into_joined())
        } else {
            Collected::More
        })
    }

    /// Decodes a request of the server, which can only be an oplock break.
    #[cold]
    fn unsolicited<'a>(
        &self,
        header: &CifsHeader,
        bytes: &[u8],
    ) -> Result<CifsEvent<'a>, ProtocolError> {
        if header.mid != CIFS_UNSOLICITED || header.command != CifsCommand::LockingAndX {
            return Err(ProtocolError::NotAResponse);
        }
        Ok(CifsEvent::Break {
            // Samba leaves the UID zero.
            session: self.session_of(header.tid),
            broken: CifsBreak::decode(bytes)?,
        })
    }
}

/// How much of an answer has arrived.
enum Collected {
    /// All of it, in this message.
    Whole,
    /// All of it, in several messages.
    Joined(Box<Joined>),
    /// More is to come.
    More,
}
