//! Holds the clients of a group while their lost connection is set up anew.
//!
//! The driver of a group ends with [`Dropped::Link`] when a connection is lost. Here the loss
//! has the stages of a renewal ([`super::renewals`]): found, opening, opened. Calls in flight
//! are answered once: with [`Extent::Repeatable`] if they change nothing, else with
//! [`Extent::Lost`]. Further calls are refused with [`Busy::Link`], so that the loop sees only
//! waits. Then a new driver takes the place of the old one.
//!
//! Not here: what of the old sessions can be kept, which the connector knows
//! ([`Connector::reopen`]). The opens of actions under way are gone ([`Sink::link_back`]).
//! Without a policy, a connector is not wrapped, and a lost connection ends the group.

mod answers;
mod attempts;
mod calls;
mod channels;
mod churn;
mod report;
mod restoring;
mod stops;

use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};
use std::time::Duration;

use smbench_model::Nanos;

use crate::drivers::cuts::CutSwitch;
use crate::drivers::driver::{
    Busy, Call, ChurnEvent, Connector, Driver, LoadSockets, Opened, Scratch, Sink,
};
use crate::drivers::dropped::{Dropped, LinkCause, LostLink, NotReconnected};
use crate::drivers::remains::SessionRemains;
use crate::machine::clock;
use crate::smb::session::SessionError;
use answers::Answers;
use calls::{ClientCalls, ComeBack};
use channels::SeveralConnections;
pub(crate) use churn::ChurnPlan;
use churn::GroupChurn;
pub(crate) use stops::PlannedStops;
use stops::StopTimes;

/// What happens when a connection is lost under load.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum ReconnectPolicy {
    /// The clients of the group drop out.
    #[default]
    Never,
    /// The group has this long to set up new sessions.
    Within(Duration),
}

impl From<Option<Duration>> for ReconnectPolicy {
    fn from(limit: Option<Duration>) -> Self {
        limit.map_or(Self::Never, Self::Within)
    }
}

/// Sets up drivers that replace lost connections.
#[derive(Clone)]
pub(crate) struct ReconnectingConnector<C> {
    pub(crate) connector: C,
    /// What happens when a connection is lost.
    pub(crate) policy: ReconnectPolicy,
    /// The longest time from the loss of a connection until its clients have sessions again.
    pub(crate) limit: Duration,
    /// Which clients leave and come back.
    pub(crate) churn: ChurnPlan,
    /// When events stop the server.
    pub(crate) stops: PlannedStops,
    /// Number of clients of each group but the last.
    pub(crate) per_group: u32,
}

impl<C: Connector> Connector for ReconnectingConnector<C> {
    type Driver = Reconnecting<C>;

    fn descriptors_per_group(&self) -> u32 {
        self.connector.descriptors_per_group()
    }

    async fn open(&self, clients: &[u32]) -> Result<Opened<Self::Driver>, SessionError> {
        let opened = self.connector.open(clients).await?;
        let refused = opened.refused.as_ref().map_or(0, |(count, _)| *count);
        let clients = &clients[..clients.len().saturating_sub(refused as usize)];
        let mut calls = ClientCalls::new(clients.len());
        calls.connected_to(opened.server);
        Ok(opened.map(|driver| Reconnecting {
            driver: Some(driver),
            loss: None,
            calls,
            switch: Rc::new(CutSwitch::new(
                clients.first().map_or(0, |first| first / self.per_group),
            )),
            channels: self.channels(),
            sockets: None,
            leavings: None,
            connector: self.clone(),
            clients: clients.into(),
        }))
    }
}

/// A driver that is replaced when it loses a connection.
pub(crate) struct Reconnecting<C: Connector> {
    /// The driver, if it has its connections.
    driver: Option<C::Driver>,
    /// The loss that is being mended.
    loss: Option<Box<LinkLoss<C::Driver>>>,
    calls: ClientCalls,
    /// Turned on by events that cut the connection.
    switch: Rc<CutSwitch>,
    /// The connections of the clients, if each has several.
    channels: Option<Box<SeveralConnections>>,
    /// Where sockets are under load. Before the load and after it, a lost connection ends the
    /// group.
    sockets: Option<LoadSockets>,
    /// When the clients leave, if they do.
    leavings: Option<Box<GroupChurn<C::Driver>>>,
    connector: ReconnectingConnector<C>,
    clients: Box<[u32]>,
}

/// A lost connection, and how far its replacement is.
struct LinkLoss<D> {
    lost: Box<LostLink>,
    remains: SessionRemains,
    stage: LossStage<D>,
}

/// A future that opens new sessions.
type Opening<D> = Pin<Box<dyn Future<Output = Result<Opened<D>, NotReconnected>>>>;

enum LossStage<D> {
    /// The calls in flight have no answer yet.
    Found,
    /// The clients have left. Those that log off still have their driver.
    Left(Option<D>, ChurnEvent<'static>),
    Opening(Opening<D>),
    /// The new driver is in its place, and this is left to report.
    Opened(Box<Opened<()>>),
}

impl<C: Connector> Reconnecting<C> {
    /// Keeps the group after the loss of a connection. Any other error ends it.
    #[cold]
    fn found(&mut self, error: Dropped, scratch: &mut Scratch) -> Result<(), Dropped> {
        if self.sockets.is_none() || !self.comes_back() {
            return Err(error);
        }
        let lost = error.mendable()?;
        let Some(lost) = self.go_on_without(lost) else {
            return Ok(());
        };
        // Bytes for the old connection must not reach another one.
        scratch.output.clear();
        let driver = self.driver.take();
        let remains = driver.map_or_else(SessionRemains::default, |mut driver| {
            // What is in flight on its other connections must not take effect later.
            driver.reset();
            driver.remains()
        });
        let stage = LossStage::Found;
        self.loss = Some(Box::new(LinkLoss {
            lost,
            remains,
            stage,
        }));
        Ok(())
    }

    /// Returns whether a lost connection is replaced.
    fn comes_back(&self) -> bool {
        self.connector.policy != ReconnectPolicy::Never
    }

    /// Resets the connections, as an event asks for.
    #[cold]
    fn cut(&mut self, scratch: &mut Scratch) -> Result<(), Dropped> {
        match &mut self.driver {
            Some(driver) if self.loss.is_none() => driver.reset(),
            // They are lost already.
            _ => return Ok(()),
        }
        self.found(LinkCause::Event.of_connection(0), scratch)
    }

    /// Advances the replacement. Puts the new sockets under load.
    #[cold]
    fn advance(&mut self, context: &mut Context<'_>) -> Result<(), Dropped> {
        let Some(loss) = &mut self.loss else {
            return Ok(());
        };
        let Some(sockets) = &self.sockets else {
            // The load has ended, and no new connection is worth its time.
            return Err(Dropped::Link(loss.lost.clone()));
        };
        let LossStage::Opening(opening) = &mut loss.stage else {
            return Ok(());
        };
        let Poll::Ready(opened) = opening.as_mut().poll(context) else {
            return Ok(());
        };
        let opened = opened.map_err(|error| Dropped::NotReconnected(Box::new(error)))?;
        self.calls.connected_to(opened.server);
        let opened = opened.map(|driver| self.driver = Some(driver));
        loss.stage = LossStage::Opened(Box::new(opened));
        match &mut self.driver {
            Some(driver) => driver.begin_load(&sockets.under_load()),
            None => Ok(()),
        }
    }
}

impl<C: Connector> Driver for Reconnecting<C> {
    fn begin_load(&mut self, sockets: &LoadSockets) -> Result<(), Dropped> {
        self.sockets = Some(sockets.clone());
        sockets.cuts.add(&self.switch);
        match &mut self.driver {
            Some(driver) => driver.begin_load(sockets),
            None => Ok(()),
        }
    }

    fn end_load(&mut self) {
        self.sockets = None;
        // The operations after the load keep their connections.
        self.switch.take();
        if let Some(leavings) = &mut self.leavings {
            leavings.end();
        }
    }

    fn end_blackouts(&mut self, now: Nanos, sink: &mut impl Sink) {
        self.report_cut_off(sink);
        for ComeBack { lost_at, after, .. } in self.calls.end_blackouts(now) {
            sink.stayed_away(lost_at, after);
        }
    }

    fn load_begins(&mut self, begin: Nanos, clients: u32) {
        let first = self.clients.first().copied().unwrap_or(0);
        let group = self.connector.churn.group_of(first);
        let leavings = GroupChurn::new(self.connector.churn, group, begin, clients);
        self.leavings = leavings.map(Box::new);
        let stops = StopTimes::of(&self.connector.stops, begin);
        self.calls.expect_stops(stops);
    }

    fn leaves(&self, now: Nanos) -> bool {
        let leavings = self.leavings.as_ref();
        leavings.is_some_and(|leavings| leavings.leaves(now))
    }

    fn leaves_at(&self) -> Option<Nanos> {
        self.leavings.as_ref().and_then(|leavings| leavings.next())
    }

    fn leave(&mut self) {
        self.begin_leaving();
    }

    fn has_room(&self, scratch: &Scratch) -> bool {
        let driver = self.driver.as_ref();
        driver.is_none_or(|driver| driver.has_room(scratch))
    }

    fn submit(
        &mut self,
        call: &Call,
        scratch: &mut Scratch,
        data: impl FnOnce(&mut Vec<u8>),
    ) -> Result<(), Busy> {
        match &mut self.driver {
            Some(driver) if self.loss.is_none() => driver.submit(call, scratch, data)?,
            _ => {
                self.calls.refused(call.member, clock::now());
                return Err(Busy::Link);
            }
        }
        self.calls.sent(call);
        Ok(())
    }

    fn flush(&mut self, context: &mut Context<'_>, scratch: &mut Scratch) -> Result<(), Dropped> {
        match &mut self.driver {
            Some(driver) if self.loss.is_none() => match driver.flush(context, scratch) {
                Ok(()) => Ok(()),
                Err(error) => self.found(error, scratch),
            },
            _ => self.advance(context),
        }
    }

    fn poll_receive(
        &mut self,
        context: &mut Context<'_>,
        scratch: &mut Scratch,
    ) -> Poll<Result<usize, Dropped>> {
        self.switch.listen(context);
        if self.switch.take() {
            return Poll::Ready(self.cut(scratch).map(|()| 0));
        }
        if let Some(error) = self.look_at_channels(context, scratch) {
            return Poll::Ready(self.found(error, scratch).map(|()| 0));
        }
        if self.has_news_of_channels() {
            return Poll::Ready(Ok(0));
        }
        match (&mut self.driver, &self.loss) {
            (Some(driver), None) => match driver.poll_receive(context, scratch) {
                Poll::Ready(Err(error)) => Poll::Ready(self.found(error, scratch).map(|()| 0)),
                polled => polled,
            },
            (_, Some(loss))
                if matches!(loss.stage, LossStage::Opening(_)) && !self.calls.is_news() =>
            {
                Poll::Pending
            }
            // There is something to report.
            _ => Poll::Ready(Ok(0)),
        }
    }

    fn take_answers(
        &mut self,
        received: usize,
        now: Nanos,
        scratch: &mut Scratch,
        sink: &mut impl Sink,
    ) -> Result<(), Dropped> {
        self.report_channels(sink)?;
        match &mut self.driver {
            Some(driver) if self.loss.is_none() => {
                let calls = &mut self.calls;
                let sink = &mut Answers { sink, calls, now };
                match driver.take_answers(received, now, scratch, sink) {
                    Ok(()) => Ok(()),
                    Err(error) => self.found(error, scratch),
                }
            }
            _ => self.report(now, sink),
        }
    }

    fn is_awaited(&self) -> bool {
        self.holds_group() || self.driver.as_ref().is_some_and(Driver::is_awaited)
    }

    fn holds_group(&self) -> bool {
        self.loss.is_some()
    }

    fn why_overdue(&self) -> Option<Dropped> {
        self.driver.as_ref().and_then(Driver::why_overdue)
    }

    /// Treats a silent server as a lost connection.
    fn overdue(&mut self, why: Dropped, scratch: &mut Scratch) -> Result<(), Dropped> {
        match (&why, &mut self.driver) {
            (Dropped::Stalled { .. } | Dropped::Unanswered(_), Some(driver))
                if self.loss.is_none() && self.sockets.is_some() =>
            {
                driver.reset();
                self.found(LinkCause::Silent(why.to_string()).of_connection(0), scratch)
            }
            _ => Err(why),
        }
    }

    async fn close(mut self) {
        if let Some(leavings) = &mut self.leavings {
            leavings.end_silence();
        }
        if let Some(driver) = self.driver {
            driver.close().await;
        }
    }
}

#[cfg(test)]
mod tests;
