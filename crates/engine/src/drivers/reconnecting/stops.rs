//! The times in which events stop the server. Its connections stand, but a client that waits for
//! an answer is in a blackout.
//!
//! The generator stops the server a little after the planned instant. Some clients still get an
//! answer in that time. So the planned end of a stop, at which the server is stopped for certain,
//! says which wait is the blackout. A client that is with another address of the server then has
//! none.

use std::net::SocketAddr;
use std::sync::Arc;

use smbench_model::Nanos;
use smbench_model::event::EventAction;
use smbench_model::plan::Plan;

use crate::smb::session::Endpoint;

/// A time in which the server is stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ServerStop {
    /// Instant of the event.
    pub(super) at: Nanos,
    /// Planned end of the stop.
    pub(super) until: Nanos,
}

/// The stops of a load point, in the order of their ends. Times count from the start of the load.
#[derive(Clone, Default)]
pub(crate) struct PlannedStops {
    stops: Arc<[ServerStop]>,
    /// The address of the server that is stopped, if it is known.
    server: Option<SocketAddr>,
}

impl PlannedStops {
    /// Returns the stops of a plan, on a server with these addresses. Only the first one of this
    /// machine is that of a lab server. Another host knows it as the first one.
    pub(crate) fn of(plan: &Plan, endpoint: &Endpoint) -> Self {
        let open = plan.work.ramp_up;
        let stops = plan.work.events.iter();
        let stops = stops.filter(|event| matches!(event.action, EventAction::Stop(_)));
        let stops = stops.map(|event| ServerStop {
            at: (open + event.at).into(),
            until: (open + event.end()).into(),
        });
        let mut stops: Vec<_> = stops.collect();
        stops.sort_by_key(|stop| stop.until);
        Self {
            stops: stops.into(),
            server: endpoint.here().or_else(|| endpoint.addresses().next()),
        }
    }
}

/// The stops of a load point for a group, and how many of them have ended.
#[derive(Default)]
pub(super) struct StopTimes {
    stops: Box<[ServerStop]>,
    server: Option<SocketAddr>,
    ended: usize,
}

impl StopTimes {
    /// Returns the stops of a load that begins at this instant.
    pub(super) fn of(planned: &PlannedStops, begin: Nanos) -> Self {
        let stops = planned.stops.iter().map(|stop| ServerStop {
            at: begin + stop.at,
            until: begin + stop.until,
        });
        Self::new(stops.collect(), planned.server)
    }

    pub(super) fn new(stops: Box<[ServerStop]>, server: Option<SocketAddr>) -> Self {
        Self {
            stops,
            server,
            ended: 0,
        }
    }

    pub(super) fn are_none(&self) -> bool {
        self.stops.is_empty()
    }

    /// Returns whether they stop the server at the other end of a connection. They do if one of
    /// the addresses is not known.
    pub(super) fn reach(&self, server: Option<SocketAddr>) -> bool {
        let both = self.server.zip(server);
        both.is_none_or(|(stopped, server)| stopped == server)
    }

    /// Follows the time. Returns the end of the last stop before `now`, if there was one since the
    /// last time.
    pub(super) fn follow(&mut self, now: Nanos) -> Option<Nanos> {
        let mut last = None;
        while let Some(stop) = self.stops.get(self.ended)
            && stop.until <= now
        {
            last = Some(stop.until);
            self.ended += 1;
        }
        last
    }

    /// Returns the instant of the first stop that has ended since then.
    pub(super) fn first_since(&self, since: Nanos) -> Option<Nanos> {
        let ended = &self.stops[..self.ended];
        let before = ended.partition_point(|stop| stop.until <= since);
        ended.get(before).map(|stop| stop.at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_belongs_to_the_first_stop_whose_end_is_in_it() {
        let stop = |at, until| ServerStop {
            at: Nanos(at),
            until: Nanos(until),
        };
        let mut stops = StopTimes::new(Box::new([stop(10, 20), stop(30, 40)]), None);
        assert!(!stops.are_none());
        assert_eq!(stops.follow(Nanos(19)), None);
        assert_eq!(stops.first_since(Nanos(0)), None);
        assert_eq!(stops.follow(Nanos(20)), Some(Nanos(20)));
        assert_eq!(stops.follow(Nanos(21)), None);
        assert_eq!(stops.first_since(Nanos(19)), Some(Nanos(10)));
        assert_eq!(stops.first_since(Nanos(20)), None);
        assert_eq!(stops.follow(Nanos(50)), Some(Nanos(40)));
        assert_eq!(stops.first_since(Nanos(5)), Some(Nanos(10)));
        assert_eq!(stops.first_since(Nanos(25)), Some(Nanos(30)));
        assert!(StopTimes::default().are_none());
    }
}
