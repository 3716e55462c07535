//! CANCEL, and the async ids that interim answers give to requests (MS-SMB2
//! 3.2.4.24, 3.2.5.1.5).

use super::{Connection, EMPTY_BODY, InFlight, NotInFlight, SessionIndex, append_framed};
use crate::header::{Command, Flags, Header};

/// The async id that an interim answer gave to a request in flight. Few
/// requests get one, so it is not stored in each [`InFlight`].
#[derive(Clone, Copy, Debug)]
pub(super) struct InterimResponse {
    pub(super) message_id: u64,
    async_id: u64,
    tag: u32,
    session: SessionIndex,
}

impl InterimResponse {
    pub(super) const fn is(&self, tag: u32) -> bool {
        self.tag == tag
    }
}

impl Connection {
    /// Appends a CANCEL of the request in flight with this tag (MS-SMB2 3.2.4.24).
    ///
    /// A CANCEL costs no credit and has no answer. The request itself is
    /// answered with STATUS_CANCELLED, unless the CANCEL came too late.
    ///
    /// Call this only once per request: a second CANCEL would be signed with
    /// the same nonce.
    ///
    /// # Errors
    /// Returns [`NotInFlight`] without appending anything.
    pub fn cancel(&mut self, tag: u32, out: &mut Vec<u8>) -> Result<(), NotInFlight> {
        // Search the interim answers first: most cancelled requests have one,
        // and the list is short.
        let known = self.interim.iter().find(|known| known.is(tag)).copied();
        let (message_id, session) = match known {
            Some(known) => (known.message_id, known.session),
            None => {
                let in_flight = self.in_flight.iter().find(|entry| entry.tag == tag);
                let entry = in_flight.ok_or(NotInFlight)?;
                (entry.message_id, entry.session)
            }
        };
        let channel = self.channel(session);
        let mut header = Header {
            credit_charge: 0,
            credits: 0,
            session_id: channel.session_id,
            ..Header::request(Command::Cancel, message_id).with_tree(channel.tree_id)
        };
        if let Some(known) = known {
            header.flags = Flags::ASYNC;
            header.async_or_tree = known.async_id;
        }
        append_framed(&header, out, self.protect(session), |out| {
            out.extend_from_slice(&EMPTY_BODY);
        });
        Ok(())
    }

    /// Remembers the async id of a request that is answered later. If the
    /// server sends several interim answers, the last id counts.
    pub(super) fn went_async(&mut self, entry: InFlight, interim: &Header) {
        let new = InterimResponse {
            message_id: interim.message_id,
            async_id: interim.async_or_tree,
            tag: entry.tag,
            session: entry.session,
        };
        let mut known = self.interim.iter_mut();
        match known.find(|known| known.message_id == new.message_id) {
            Some(known) => *known = new,
            None => self.interim.push(new),
        }
    }
}
