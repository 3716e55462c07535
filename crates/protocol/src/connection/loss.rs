//! Sessions that have lost a channel (MS-SMB2 3.2.7.1).
//!
//! Further requests have a higher channel sequence on all other channels. So the server refuses
//! a change that it receives on the lost channel after them (3.3.5.2.10).
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

    /// Gives a session's requests the channel sequence that they have on another connection.
    /// For a connection that becomes a channel after another one was lost.
    pub fn follow_sequence(&mut self, session: SessionIndex, of: &mut Self) {
        let sequence = of.channel_mut(session).mark_mut().sequence;
        self.channel_mut(session).mark_mut().sequence = sequence;
    }

    /// Hands the keys for further channels of a session over to another of its channels. Without
    /// them here, changes nothing. For a connection that is lost
    /// ([`binding`](Self::binding)).
    pub fn hand_over_keys(&mut self, session: SessionIndex, to: &mut Self) {
        if let Some(root) = self.channel_mut(session).root.take() {
            to.channel_mut(session).root = Some(root);
        }
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

    /// Returns the tags of all requests in flight, each once, in the order in which they were
    /// sent. Requests of one frame have the same tag.
    #[must_use]
    pub fn tags_in_flight(&self) -> Vec<u32> {
        let mut requests: Vec<_> = self.in_flight.iter().collect();
        requests.sort_unstable_by_key(|request| request.message_id);
        let mut tags: Vec<_> = requests.into_iter().map(|request| request.tag).collect();
        tags.dedup();
        tags
    }
}
