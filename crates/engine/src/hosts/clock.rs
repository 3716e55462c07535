//! Relates the monotonic clocks of two hosts. Their origins differ, and so may their speeds.
//!
//! The first host sends a ping, and the other answers with its clock. The answer was read
//! between the ping's departure and the answer's arrival. The shortest round trip gives the
//! narrowest bound, which is half of it.

use smbench_model::Nanos;

/// Most round trips of one measurement, and the fewest if they take long.
const ROUND_TRIPS: u32 = 200;
const ROUND_TRIPS_MIN: u32 = 5;
/// Time after which the fewest are enough. Busy hosts answer late.
const LONG: Nanos = Nanos(150_000_000);

/// The relation of another host's clock to that of the first host.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct ClockRelation {
    /// Reading of the other clock minus that of the first host, in nanoseconds.
    pub offset: i64,
    /// The most by which `offset` can be wrong.
    pub bound: Nanos,
}

impl ClockRelation {
    /// Returns the instant of the first host at an instant of the other.
    pub(super) fn on_first(self, at: Nanos) -> Nanos {
        shifted(at, i128::from(self.offset).wrapping_neg())
    }

    /// Returns the instant of the other host at an instant of the first.
    pub(super) fn on_other(self, at: Nanos) -> Nanos {
        shifted(at, i128::from(self.offset))
    }

    /// Derives the relation from one round trip.
    fn of(sent: Nanos, answered: Nanos, received: Nanos) -> Self {
        let trip = received.since(sent);
        let middle = i128::from(sent.0) + i128::from(trip.0 / 2);
        let offset = i128::from(answered.0) - middle;
        Self {
            offset: i64::try_from(offset).unwrap_or_default(),
            bound: Nanos(trip.0.div_ceil(2)),
        }
    }
}

/// Moves an instant. The end of time stays where it is.
fn shifted(at: Nanos, by: i128) -> Nanos {
    if at == Nanos::MAX {
        return at;
    }
    let moved = i128::from(at.0) + by;
    Nanos(u64::try_from(moved.max(0)).unwrap_or(u64::MAX))
}

/// A measurement that is under way.
#[derive(Debug)]
pub(super) struct Relating {
    began: Nanos,
    /// Number of the ping that is under way, and when it was sent.
    ping: u32,
    sent: Nanos,
    best: Option<ClockRelation>,
}

impl Relating {
    pub(super) const fn begin(now: Nanos) -> Self {
        Self {
            began: now,
            ping: 0,
            sent: now,
            best: None,
        }
    }

    /// Returns the number of the ping that is under way.
    pub(super) const fn ping(&self) -> u32 {
        self.ping
    }

    /// Returns when that ping was sent.
    pub(super) const fn sent(&self) -> Nanos {
        self.sent
    }

    /// Notes that the next ping is sent.
    pub(super) const fn next(&mut self, now: Nanos) {
        (self.ping, self.sent) = (self.ping + 1, now);
    }

    /// Takes an answer into account. Returns the relation after the last one. Late answers
    /// to earlier pings are ignored.
    pub(super) fn answered(&mut self, ping: u32, at: Nanos, now: Nanos) -> RelatingStep {
        if ping != self.ping {
            return RelatingStep::Ignored;
        }
        let seen = ClockRelation::of(self.sent, at, now);
        let best = match self.best {
            Some(best) if best.bound <= seen.bound => best,
            _ => seen,
        };
        self.best = Some(best);
        let trips = ping + 1;
        let is_long = now.since(self.began) > LONG;
        if trips >= ROUND_TRIPS || is_long && trips >= ROUND_TRIPS_MIN {
            RelatingStep::Done(best)
        } else {
            RelatingStep::More
        }
    }
}

/// What follows an answer.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum RelatingStep {
    Ignored,
    More,
    Done(ClockRelation),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shortest_round_trip_gives_offset_and_bound() {
        let mut relating = Relating::begin(Nanos(1000));
        // The other clock is 5,000,000 ahead; the way there takes longer than the way back.
        let mut now = 1000;
        let trips: Vec<(u64, u64)> = (0..u64::from(ROUND_TRIPS))
            .map(|trip| if trip == 77 { (30, 10) } else { (3000, 500) })
            .collect();
        for (number, (there, back)) in trips.into_iter().enumerate() {
            let (answered, received) = (now + there + 5_000_000, now + there + back);
            let outcome = relating.answered(number as u32, Nanos(answered), Nanos(received));
            assert_eq!(
                relating.answered(9999, Nanos(0), Nanos(0)),
                RelatingStep::Ignored
            );
            now = received + 100;
            relating.next(Nanos(now));
            if let RelatingStep::Done(relation) = outcome {
                assert_eq!(relation.bound, Nanos(20));
                assert_eq!(relation.offset, 5_000_010);
                assert!((relation.offset - 5_000_000).unsigned_abs() <= relation.bound.0);
                return;
            }
        }
        panic!("the measurement did not end");
    }

    #[test]
    fn instants_go_there_and_back() {
        for offset in [0, 5, -5, i64::MAX / 2, i64::MIN / 2] {
            let relation = ClockRelation {
                offset,
                bound: Nanos(0),
            };
            let at = Nanos(1 << 63);
            assert_eq!(relation.on_first(relation.on_other(at)), at, "{offset}");
            assert_eq!(relation.on_first(Nanos::MAX), Nanos::MAX);
        }
    }
}
