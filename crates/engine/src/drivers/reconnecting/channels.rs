//! The loss of one connection of clients that have several.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use smbench_model::kind::OpKind;
use smbench_protocol::NtStatus;
use smbench_protocol::connection::Repetition;
use tokio::time::sleep;

use super::{Reconnecting, ReconnectingConnector};
use crate::drivers::driver::{
    Answer, Connector, Driver, Extent, LostCalls, OldestRequests, Scratch, Sink,
};
use crate::drivers::dropped::{Dropped, LostLink};
use crate::machine::tasks::on_tokio;

/// Time between two looks at the connections.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// The connections of a group, of which each client has several.
pub(super) struct SeveralConnections {
    /// Lost connections that the loop does not know of yet.
    lost: Vec<(Box<LostLink>, LostCalls)>,
    oldest: OldestRequests,
    /// Ends when the connections are to be looked at.
    pause: Pin<Box<dyn Future<Output = ()>>>,
}

impl SeveralConnections {
    fn new() -> Self {
        Self {
            lost: Vec::new(),
            oldest: OldestRequests::new(),
            pause: Self::pause(),
        }
    }

    fn pause() -> Pin<Box<dyn Future<Output = ()>>> {
        Box::pin(on_tokio(sleep(LOOK_EVERY)))
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
            Some(slots) => {
                channels.lost.push((lost, slots));
                None
            }
            None => Some(lost),
        }
    }

    /// Looks at the connections when it is time, and returns the loss of one whose path is
    /// interrupted.
    pub(super) fn interrupted(
        &mut self,
        context: &mut Context<'_>,
        scratch: &mut Scratch,
    ) -> Option<Dropped> {
        let channels = self.channels.as_mut()?;
        if self.loss.is_some() || self.sockets.is_none() {
            return None;
        }
        while channels.pause.as_mut().poll(context) == Poll::Ready(()) {
            channels.pause = SeveralConnections::pause();
            let driver = self.driver.as_mut()?;
            let interrupted = driver.interrupted(&mut channels.oldest);
            let error = interrupted.or_else(|| driver.flush(context, scratch).err());
            if error.is_some() {
                return error;
            }
        }
        None
    }

    /// Returns whether the loop does not know of a lost connection yet.
    pub(super) fn has_lost_channels(&self) -> bool {
        let channels = self.channels.as_ref();
        channels.is_some_and(|channels| !channels.lost.is_empty())
    }

    /// Reports the connections that were lost, and the calls without an answer.
    pub(super) fn report_channels(&mut self, sink: &mut impl Sink) -> Result<(), Dropped> {
        let Some(channels) = &mut self.channels else {
            return Ok(());
        };
        for (lost, slots) in std::mem::take(&mut channels.lost) {
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
