//! CANCEL, and the names that interim answers give to requests (MS-SMB2
//! 3.2.4.24, 3.2.5.1.5).

use super::{Connection, EMPTY_BODY, InFlight, NotInFlight, SessionIndex, append_framed};
use crate::header::{Command, Flags, Header};

/// The name an interim answer gave a request in flight. Few requests ever get
/// one, so it has no room in each [`InFlight`].
#[derive(Clone, Copy, Debug)]
pub(super) struct Interim {
    pub(super) message_id: u64,
    async_id: u64,
    tag: u32,
    session: SessionIndex,
}

impl Interim {
    pub(super) const fn is(&self, tag: u32) -> bool {
        self.tag == tag
    }
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
        // What is cancelled has mostly been taken up, and few requests are.
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

    /// Remembers the name of a request that is answered later. A server that
    /// says so again and again renames it.
    pub(super) fn went_async(&mut self, entry: InFlight, interim: &Header) {
        let new = Interim {
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
