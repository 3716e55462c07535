//! The leavings of a group: when its clients log off and come back, and what stays of those
//! that vanish.

use std::collections::VecDeque;

use smbench_model::Nanos;
use smbench_model::part::ClientPart;
use smbench_model::plan::Plan;
use smbench_model::sessions::{Churn, Leavings, VanishKind};

use super::attempts::replace;
use super::calls::ComeBack;
use super::{LinkLoss, LossStage, Reconnecting, ReconnectingConnector};
use crate::drivers::driver::{ChurnEvent, Connector, Driver, Opened, Sink};
use crate::drivers::dropped::{LinkCause, LostLink};
use crate::drivers::remains::SessionRemains;
use crate::machine::clock;
use crate::machine::tasks::on_tokio;

/// Which clients of a run leave, and when.
#[derive(Clone, Copy)]
pub(crate) struct ChurnPlan {
    churn: Churn,
    seed: u64,
    /// Number of connections of each session.
    connections: u32,
    /// Number of clients of each group but the last.
    per_group: u32,
    /// Number of hosts that take turns with the clients.
    hosts: u32,
}

impl ChurnPlan {
    /// Returns the number of connections that each client has.
    pub(super) const fn connections_per_session(&self) -> u32 {
        self.connections
    }

    /// Returns the number of the group that begins with this client, which no group of another
    /// host has.
    pub(super) const fn group_of(&self, first: u32) -> u32 {
        let (host, on_host) = (first % self.hosts, first / self.hosts);
        on_host / self.per_group * self.hosts + host
    }
}

#[cfg(test)]
impl ChurnPlan {
    /// No client leaves.
    pub(crate) const NONE: Self = Self {
        churn: Churn {
            rate: None,
            vanish: None,
        },
        seed: 0,
        connections: 1,
        per_group: 1,
        hosts: 1,
    };
}

impl From<&Plan> for ChurnPlan {
    fn from(plan: &Plan) -> Self {
        Self {
            churn: plan.sessions.churn,
            seed: plan.work.drawing_seed(),
            connections: plan.sessions.connections.connections_per_session,
            per_group: plan.sessions.connections.sessions_per_connection.max(1),
            hosts: match plan.generator.part {
                ClientPart::Host { of, .. } => of.max(1),
                ClientPart::All | ClientPart::Range(_) => 1,
            },
        }
    }
}

/// The leavings of the clients of a group, which leave together.
pub(super) struct GroupChurn<D> {
    leavings: Leavings,
    begin: Nanos,
    /// Number of the next leaving.
    number: u64,
    /// Instant of the next leaving.
    at: Nanos,
    connections: u32,
    /// Drivers of vanished clients, whose connections are open and silent.
    silent: VecDeque<D>,
    /// The clients are away.
    pub(super) is_away: bool,
}

impl<D: Driver> GroupChurn<D> {
    /// Makes the leavings of the group with this number, from the start of the load on; `None` if
    /// its clients stay.
    pub(super) fn new(plan: ChurnPlan, group: u32, begin: Nanos, clients: u32) -> Option<Self> {
        let groups = clients.div_ceil(plan.per_group);
        let leavings = Leavings::new(&plan.churn, plan.seed, group, clients, groups)?;
        Some(Self {
            leavings,
            begin,
            number: 0,
            at: begin + Nanos(leavings.at_ns(0)),
            connections: plan.connections,
            silent: VecDeque::new(),
            is_away: false,
        })
    }

    /// Returns whether the clients begin nothing, because they are leaving or away.
    pub(super) fn leaves(&self, now: Nanos) -> bool {
        self.is_away || now >= self.at
    }

    /// Returns the instant of the next leaving; `None` while the clients are away.
    pub(super) fn next(&self) -> Option<Nanos> {
        (!self.is_away).then_some(self.at)
    }

    /// Lets clients that are there stay.
    pub(super) fn end(&mut self) {
        self.at = Nanos::MAX;
    }

    /// Ends the connections of clients that vanish, or keeps them silent. Returns the driver of
    /// clients that log off, and what happened.
    pub(super) fn leave(&mut self, mut driver: D) -> (Option<D>, ChurnEvent<'static>) {
        self.is_away = true;
        match self.leavings.vanish(self.number) {
            None => (Some(driver), ChurnEvent::Left),
            Some(VanishKind::Reset) => {
                driver.reset();
                let (silent, ended) = (0, 0);
                (None, ChurnEvent::Vanished { silent, ended })
            }
            Some(VanishKind::Silence) => {
                let is_full = self.silent.len() >= Churn::SILENT_MAX as usize;
                let first = is_full.then(|| self.silent.pop_front()).flatten();
                let ended = first.map_or(0, |mut first| {
                    first.reset();
                    self.connections
                });
                self.silent.push_back(driver);
                let silent = self.connections;
                (None, ChurnEvent::Vanished { silent, ended })
            }
        }
    }

    /// Notes that the clients are back. A leaving that came due meanwhile is left out.
    pub(super) fn came_back(&mut self, now: Nanos) {
        self.is_away = false;
        let passed = now.since(self.begin);
        self.number = self.leavings.next_after_ns(passed.0).max(self.number + 1);
        self.at = self.begin + Nanos(self.leavings.at_ns(self.number));
    }

    /// Ends the silent connections, so that the server closes their files.
    pub(super) fn end_silence(&mut self) {
        for mut driver in self.silent.drain(..) {
            driver.reset();
        }
    }
}

impl<C: Connector> Reconnecting<C> {
    /// Lets the clients leave, unless they are away or have lost their connection.
    #[cold]
    pub(super) fn begin_leaving(&mut self) {
        if self.loss.is_some() || self.is_away() {
            return;
        }
        if let (Some(leavings), Some(driver)) = (&mut self.leavings, self.driver.take()) {
            let (driver, event) = leavings.leave(driver);
            self.loss = Some(Box::new(LinkLoss {
                lost: Box::new(LostLink {
                    connection: 0,
                    at: clock::now(),
                    cause: LinkCause::Churn,
                }),
                remains: SessionRemains::default(),
                stage: LossStage::Left(driver, event),
            }));
        }
    }

    /// Returns whether the clients are away on their own account.
    fn is_away(&self) -> bool {
        let leavings = self.leavings.as_ref();
        leavings.is_some_and(|leavings| leavings.is_away)
    }

    /// Reports that the clients have left, and begins to set up their next sessions.
    #[cold]
    pub(super) fn report_left(
        &mut self,
        mut loss: Box<LinkLoss<C::Driver>>,
        driver: Option<C::Driver>,
        event: ChurnEvent<'static>,
        sink: &mut impl Sink,
    ) {
        sink.churned(event);
        let ReconnectingConnector {
            connector, limit, ..
        } = self.connector.clone();
        let (clients, lost) = (self.clients.clone(), (*loss.lost).clone());
        loss.stage = LossStage::Opening(Box::pin(async move {
            if let Some(driver) = driver {
                on_tokio(driver.close()).await;
            }
            // The limit is of the way back.
            let lost = LostLink {
                at: clock::now(),
                ..lost
            };
            replace(connector, limit, clients, lost, SessionRemains::default()).await
        }));
        self.loss = Some(loss);
    }

    /// Reports that the clients are back with sessions.
    #[cold]
    pub(super) fn report_back(&mut self, opened: &Opened<()>, now: Nanos, sink: &mut impl Sink) {
        match &mut self.leavings {
            Some(leavings) if leavings.is_away => {
                leavings.came_back(clock::now());
                sink.churned(ChurnEvent::Back(&opened.session_setup));
            }
            _ => {
                sink.link_back(&opened.reclaimed);
                for ComeBack { lost_at, after, .. } in self.calls.link_back(now) {
                    sink.came_back(lost_at, after);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn groups_of_all_hosts_have_numbers_of_their_own() {
        for (of, per_group) in [(1, 1), (1, 4), (3, 1), (3, 4)] {
            let churn = ChurnPlan {
                per_group,
                hosts: of,
                ..ChurnPlan::NONE
            };
            let hosts = (0..of).map(|host| ClientPart::Host { host, of }.clients(60));
            let firsts = hosts.flat_map(|clients| clients.step_by(per_group as usize));
            let numbers: BTreeSet<_> = firsts.map(|first| churn.group_of(first)).collect();
            assert!(
                numbers.into_iter().eq(0..60 / per_group),
                "{of} {per_group}"
            );
        }
    }
}
