//! What a session does after it has lost one of its channels (MS-SMB2 3.2.7.1).
//!
//! Its further requests have a higher channel sequence on all channels that are left, so that
//! the server refuses a change that it receives on the lost channel after them (3.3.5.2.10).
//! Changes without an answer can then be sent again, marked as replays.

use super::protection::Protection;
use super::{Channel, Connection, SessionIndex};
use crate::crypto::{ChannelMark, Repetition, Signer};

impl Channel {
    fn mark_mut(&mut self) -> &mut ChannelMark {
        if let Protection::None = self.protection {
            self.protection = Protection::Signed(Signer::marking(self.signer.take()));
        }
        match &mut self.protection {
            Protection::Signed(signer) => signer.mark_mut(),
            Protection::Encrypted(transform) => transform.mark_mut(),
            Protection::None | Protection::Opening(_) => {
                unreachable!("a session that is being set up has one channel")
            }
        }
    }
}

impl Connection {
    /// Notes that a session has lost another channel than this connection. Its requests have the
    /// next channel sequence from here on. Only for sessions that are set up, in dialects of
    /// SMB 3.
    pub fn lost_channel(&mut self, session: SessionIndex) {
        let mark = self.channel_mut(session).mark_mut();
        mark.sequence = mark.sequence.wrapping_add(1);
    }

    /// Sets whether the next requests of a session that has lost a channel are replays.
    pub fn repeat(&mut self, session: SessionIndex, repetition: Repetition) {
        self.channel_mut(session).mark_mut().repetition = repetition;
    }

    /// Returns the message id of the request that has been in flight for the longest time.
    #[must_use]
    pub fn oldest_in_flight(&self) -> Option<u64> {
        self.in_flight.iter().map(|entry| entry.message_id).min()
    }

    /// Ends all requests in flight, because this connection is lost. Returns their tags, in the
    /// order in which they were sent. A request in a frame of several has the tag of its frame.
    pub fn abandon(&mut self) -> Vec<u32> {
        self.interim.clear();
        let mut requests = std::mem::take(&mut self.in_flight);
        requests.sort_unstable_by_key(|request| request.message_id);
        let tags = requests.into_iter();
        tags.map(|request| request.tag).collect()
    }
}
