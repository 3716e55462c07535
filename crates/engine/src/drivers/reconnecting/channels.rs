//! The loss of one connection of clients that have several, and its return.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use smbench_model::Nanos;
use smbench_model::kind::OpKind;
use smbench_protocol::NtStatus;
use smbench_protocol::connection::Repetition;
use tokio::time::sleep;

use super::restoring::{Restoration, RestorationTerms};
use super::{Reconnecting, ReconnectingConnector};
use crate::drivers::driver::{
    Answer, ChannelNews, Connector, Driver, Extent, LoadSockets, OldestRequests, Scratch, Sink,
};
use crate::drivers::dropped::{Dropped, LostLink};
use crate::machine::tasks::on_tokio;

/// Time between two looks at the connections.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// The connections of a group, of which each client has several.
pub(super) struct SeveralConnections {
    /// Lost connections that the loop does not know of yet, with the slots of their calls.
    lost: Vec<(Box<LostLink>, Vec<u32>)>,
    /// Those that are being set up again.
    restored: Vec<Restoration>,
    /// What those that are back have learned, if the loop does not know of them yet.
    back: Vec<ChannelNews>,
    oldest: OldestRequests,
    /// Ends when the connections are to be looked at.
    pause: Pin<Box<dyn Future<Output = ()>>>,
}

impl SeveralConnections {
    fn new() -> Self {
        Self {
            lost: Vec::new(),
            restored: Vec::new(),
            back: Vec::new(),
            oldest: OldestRequests::new(),
            pause: Self::pause(),
        }
    }

    fn pause() -> Pin<Box<dyn Future<Output = ()>>> {
        Box::pin(on_tokio(sleep(LOOK_EVERY)))
    }

    /// Goes on with the connections that are being set up again. Gives those that are ready to
    /// the driver.
    fn restore(
        &mut self,
        driver: &mut impl Driver,
        sockets: &LoadSockets,
        context: &mut Context<'_>,
    ) -> Result<(), Dropped> {
        let mut at = 0;
        while let Some(restoration) = self.restored.get_mut(at) {
            let Poll::Ready(ended) = restoration.poll(context) else {
                at += 1;
                continue;
            };
            let restoration = self.restored.swap_remove(at);
            match ended {
                Ok(added) => {
                    let learned = driver.add_connection(added, &sockets.under_load())?;
                    self.back.push(learned);
                }
                Err(error) => self.restored.extend(restoration.again(&error, driver)),
            }
        }
        Ok(())
    }
}

impl<C> ReconnectingConnector<C> {
    /// Returns the state of a group's connections, if each client has several.
    pub(super) fn channels(&self) -> Option<Box<SeveralConnections>> {
        let has_several = self.churn.connections_per_session() > 1;
        has_several.then(|| Box::new(SeveralConnections::new()))
    }
}

/// Returns how a lost call of this kind is sent again on another connection.
const fn repeated_as(kind: OpKind) -> Option<Repetition> {
    if kind.is_repeatable() {
        Some(Repetition::First)
    } else if kind.is_replayable() {
        Some(Repetition::Replay)
    } else {
        None
    }
}

impl<C: Connector> Reconnecting<C> {
    /// Goes on without a lost connection, if the clients have another one. Returns the loss if
    /// they have none.
    pub(super) fn go_on_without(&mut self, lost: Box<LostLink>) -> Option<Box<LostLink>> {
        let (Some(channels), Some(driver)) = (&mut self.channels, &mut self.driver) else {
            return Some(lost);
        };
        let calls = &self.calls;
        let repeated = |slot| match calls.kind(slot) {
            Some(kind) => repeated_as(kind),
            // It has ended for the loop.
            None => Some(Repetition::First),
        };
        match driver.lose_connection(&lost, &repeated) {
            Some(mut channel) => {
                let terms = RestorationTerms {
                    lost_at: lost.at,
                    until: lost.at + Nanos::from(self.connector.limit),
                };
                let slots = std::mem::take(&mut channel.slots);
                channels.lost.push((lost, slots));
                let restoration = Restoration::begin(channel, terms, driver);
                channels.restored.extend(restoration);
                None
            }
            None => Some(lost),
        }
    }

    /// Looks at the connections when it is time, and returns the loss of one whose path is
    /// interrupted. Goes on with lost ones that are being set up again.
    pub(super) fn look_at_channels(
        &mut self,
        context: &mut Context<'_>,
        scratch: &mut Scratch,
    ) -> Option<Dropped> {
        let channels = self.channels.as_mut()?;
        let (None, Some(sockets)) = (&self.loss, &self.sockets) else {
            // Their sessions have ended, or no load would use them.
            channels.restored.clear();
            return None;
        };
        let driver = self.driver.as_mut()?;
        while channels.pause.as_mut().poll(context) == Poll::Ready(()) {
            channels.pause = SeveralConnections::pause();
            let interrupted = driver.interrupted(&mut channels.oldest);
            let error = interrupted.or_else(|| driver.flush(context, scratch).err());
            if error.is_some() {
                return error;
            }
        }
        channels.restore(driver, sockets, context).err()
    }

    /// Returns whether the loop does not know yet that a connection is lost, or back.
    pub(super) fn has_news_of_channels(&self) -> bool {
        let channels = self.channels.as_ref();
        channels.is_some_and(|channels| !channels.lost.is_empty() || !channels.back.is_empty())
    }

    /// Reports the connections that are back, and those that were lost, with the calls without an
    /// answer.
    pub(super) fn report_channels(&mut self, sink: &mut impl Sink) -> Result<(), Dropped> {
        let Some(channels) = &mut self.channels else {
            return Ok(());
        };
        let (lost, back) = (
            std::mem::take(&mut channels.lost),
            std::mem::take(&mut channels.back),
        );
        for learned in back {
            sink.channel_back();
            (0..learned.breaks).for_each(|_| sink.broken());
            for (took, outcome) in learned.acknowledged {
                sink.acknowledged(took, outcome);
            }
        }
        for (lost, slots) in lost {
            let (since, slots) = self.calls.lose_some(&slots, lost.at);
            sink.channel_lost(&lost, since);
            self.report_cut_off(sink);
            for slot in slots {
                let status = NtStatus::CONNECTION_DISCONNECTED;
                sink.answer(&Answer::bare(slot, Extent::Repeatable, status))?;
            }
        }
        Ok(())
    }
}
