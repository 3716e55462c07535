//! What happened to the connections of clients during a load point, with instants.

use serde::{Deserialize, Serialize};

use crate::Nanos;

/// The largest number of events that are kept. If a server fails, each client has two.
pub const EVENTS_MAX: usize = 4096;

/// What happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum EventKind {
    /// A connection under load was lost.
    LinkLost,
    /// The clients have sessions again.
    LinkBack,
    /// One of several connections under load was lost. The clients went on with the others.
    ChannelLost,
    /// Another connection has taken the place of one of those.
    ChannelBack,
}

impl EventKind {
    /// Returns whether a connection was lost.
    #[must_use]
    pub const fn is_loss(self) -> bool {
        matches!(self, Self::LinkLost | Self::ChannelLost)
    }

    /// Returns the name in documents.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::LinkLost => "link-lost",
            Self::LinkBack => "link-back",
            Self::ChannelLost => "channel-lost",
            Self::ChannelBack => "channel-back",
        }
    }
}

/// Something that happened to clients at an instant of the load.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct LoadEvent {
    /// Time since the load began.
    pub at: Nanos,
    /// What happened.
    pub kind: EventKind,
    /// Number of clients to which it happened.
    pub clients: u32,
}

/// The earliest events of a load point, in their order.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LoadEvents {
    kept: Vec<LoadEvent>,
    /// Number of further events.
    left_out: u64,
}

impl LoadEvents {
    /// Returns the events that were kept, in the order of their instants.
    #[must_use]
    pub fn kept(&self) -> &[LoadEvent] {
        &self.kept
    }

    /// Returns the number of later events that were not kept.
    #[must_use]
    pub const fn left_out(&self) -> u64 {
        self.left_out
    }

    /// Adds an event.
    pub fn add(&mut self, event: LoadEvent) {
        let at = self.kept.partition_point(|kept| *kept <= event);
        self.kept.insert(at, event);
        self.shorten();
    }

    /// Adds the events of other clients.
    pub fn merge(&mut self, other: &Self) {
        self.left_out += other.left_out;
        self.kept.extend_from_slice(&other.kept);
        self.kept.sort_unstable();
        self.shorten();
    }

    fn shorten(&mut self) {
        let more = self.kept.len().saturating_sub(EVENTS_MAX);
        self.kept.truncate(EVENTS_MAX);
        self.left_out += more as u64;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(at: u64, clients: u32) -> LoadEvent {
        LoadEvent {
            at: Nanos(at),
            kind: EventKind::LinkLost,
            clients,
        }
    }

    #[test]
    fn the_earliest_events_are_kept_and_all_are_counted() {
        let (mut one, mut other) = (LoadEvents::default(), LoadEvents::default());
        for at in (0..EVENTS_MAX as u64).rev() {
            one.add(event(2 * at, 1));
            other.add(event(2 * at + 1, 2));
        }
        other.add(event(0, 3));
        assert_eq!(other.left_out(), 1);
        let mut merged = one.clone();
        merged.merge(&other);
        let mut reversed = other;
        reversed.merge(&one);
        assert_eq!(merged, reversed);
        assert_eq!(merged.kept().len(), EVENTS_MAX);
        assert_eq!(merged.left_out(), EVENTS_MAX as u64 + 1);
        assert_eq!(merged.kept()[..3], [event(0, 1), event(0, 3), event(1, 2)]);
        assert!(merged.kept().is_sorted());
    }
}
