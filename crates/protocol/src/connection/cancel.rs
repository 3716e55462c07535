//! CANCEL, and the names that interim answers give to requests (MS-SMB2
//! 3.2.4.24, 3.2.5.1.5).

use super::{Connection, EMPTY_BODY, InFlight, NotInFlight, append_framed};
use crate::header::{Command, Flags, Header};

/// The name an interim answer gave a request in flight. Few requests ever get
/// one, so it has no room in each [`InFlight`].
#[derive(Clone, Copy, Debug)]
pub(super) struct Interim {
    pub(super) message_id: u64,
    async_id: u64,
}

impl Connection {
    /// Appends a CANCEL of the request in flight with this tag (MS-SMB2
    /// 3.2.4.24). It costs no credit and is not answered; the request is, with
    /// STATUS_CANCELLED unless it was too late.
    ///
    /// Once per request: a second one would be signed under the same nonce.
    ///
    /// # Errors
    /// [`NotInFlight`], and nothing is appended.
    pub fn cancel(&mut self, tag: u32, out: &mut Vec<u8>) -> Result<(), NotInFlight> {
        let in_flight = self.in_flight.iter().find(|entry| entry.tag == tag);
        let InFlight {
            message_id,
            session,
            ..
        } = *in_flight.ok_or(NotInFlight)?;
        let channel = self.channel(session);
        let mut header = Header {
            credit_charge: 0,
            credits: 0,
            session_id: channel.session_id,
            ..Header::request(Command::Cancel, message_id).with_tree(channel.tree_id)
        };
        let mut interim = self.interim.iter();
        if let Some(known) = interim.find(|known| known.message_id == message_id) {
            header.flags = Flags::ASYNC;
            header.async_or_tree = known.async_id;
        }
        append_framed(&header, out, self.protect(session), |out| {
            out.extend_from_slice(&EMPTY_BODY);
        });
        Ok(())
    }

    /// Remembers the name of a request that is answered later. A server that
    /// says so again and again renames it.
    pub(super) fn went_async(&mut self, interim: &Header) {
        let new = Interim {
            message_id: interim.message_id,
            async_id: interim.async_or_tree,
        };
        let mut known = self.interim.iter_mut();
        match known.find(|known| known.message_id == new.message_id) {
            Some(known) => *known = new,
            None => self.interim.push(new),
        }
    }
}
