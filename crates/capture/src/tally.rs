//! Counts of a capture: commands, statuses, sizes, times, concurrency, and what could not
//! be read.

use std::collections::BTreeMap;

use hdrhistogram::Histogram;

use crate::command::CommandKey;
use crate::tcp::Moment;

/// Different sizes that are counted on their own. More are counted together.
const SIZES_MAX: usize = 4096;
/// Intervals over which concurrency is kept. When they are full, they double in length.
const INTERVALS_MAX: usize = 1024;
const SECOND: u64 = 1_000_000_000;

/// Counts of one command.
pub(crate) struct CommandTally {
    pub(crate) requests: u64,
    /// Answers and notifications, interim ones too, as tshark counts them.
    pub(crate) responses: u64,
    pub(crate) pending: u64,
    pub(crate) notifications: u64,
    /// Final answers whose request is in the capture.
    pub(crate) matched: u64,
    /// Answers whose request is not in the capture.
    pub(crate) unasked: u64,
    pub(crate) bytes: u64,
    pub(crate) statuses: BTreeMap<u32, u64>,
    /// Time from the last packet of a request to the last of its final answer.
    pub(crate) service: Histogram<u64>,
    /// Bytes asked for, by size.
    pub(crate) sizes: BTreeMap<u64, u64>,
    /// Requests of sizes beyond those that are counted on their own.
    pub(crate) other_sizes: u64,
}

impl Default for CommandTally {
    fn default() -> Self {
        Self {
            requests: 0,
            responses: 0,
            pending: 0,
            notifications: 0,
            matched: 0,
            unasked: 0,
            bytes: 0,
            statuses: BTreeMap::new(),
            // Three digits; it grows with the largest value.
            service: Histogram::new(3).unwrap_or_else(|_| unreachable!("three digits are valid")),
            sizes: BTreeMap::new(),
            other_sizes: 0,
        }
    }
}

impl CommandTally {
    /// Counts a request for this many bytes.
    pub(crate) fn add_size(&mut self, size: u64) {
        if self.sizes.len() < SIZES_MAX || self.sizes.contains_key(&size) {
            *self.sizes.entry(size).or_default() += 1;
        } else {
            self.other_sizes += 1;
        }
    }
}

/// What was in flight in an interval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct TallyInterval {
    pub(crate) requests: u64,
    pub(crate) bytes: u64,
    pub(crate) in_flight_max: u64,
}

/// Requests in flight over time. CHANGE_NOTIFY is left out, because it waits for others.
#[derive(Debug, Default)]
pub(crate) struct Concurrency {
    in_flight: u64,
    pub(crate) in_flight_max: u64,
    /// The sum of requests in flight over time, in request nanoseconds.
    area: u128,
    since_ns: u64,
    begin_ns: Option<u64>,
    /// Where the slice ends. Answers may come later.
    pub(crate) end_ns: Option<u64>,
    /// Length of an interval in seconds, a power of two.
    pub(crate) interval_s: u64,
    pub(crate) intervals: Vec<TallyInterval>,
}

impl Concurrency {
    /// Passes to a time. Returns how long before the latest one it is: packets of several
    /// interfaces may be out of order, and a connection may be known to have ended later.
    fn pass_to(&mut self, time_ns: u64) -> u128 {
        let time_ns = self.end_ns.map_or(time_ns, |end_ns| time_ns.min(end_ns));
        let begin = *self.begin_ns.get_or_insert(time_ns);
        if self.interval_s == 0 {
            self.interval_s = 1;
            self.since_ns = begin;
        }
        let late = self.since_ns.saturating_sub(time_ns);
        let passed = time_ns.saturating_sub(self.since_ns);
        self.area += u128::from(passed) * u128::from(self.in_flight);
        self.since_ns += passed;
        late.into()
    }

    fn interval(&mut self, time_ns: u64) -> &mut TallyInterval {
        let from_begin = time_ns.saturating_sub(self.begin_ns.unwrap_or(time_ns)) / SECOND;
        while from_begin / self.interval_s >= INTERVALS_MAX as u64 {
            self.interval_s *= 2;
            let pairs = self.intervals.chunks(2).map(|pair| TallyInterval {
                requests: pair.iter().map(|one| one.requests).sum(),
                bytes: pair.iter().map(|one| one.bytes).sum(),
                in_flight_max: pair.iter().map(|one| one.in_flight_max).max().unwrap_or(0),
            });
            self.intervals = pairs.collect();
        }
        // The cast is safe: the index is below the number of intervals.
        let at = (from_begin / self.interval_s) as usize;
        if self.intervals.len() <= at {
            self.intervals.resize(at + 1, TallyInterval::default());
        }
        &mut self.intervals[at]
    }

    pub(crate) fn asked(&mut self, at: Moment) {
        let late = self.pass_to(at.time_ns);
        self.area += late;
        self.in_flight += 1;
        let now = self.in_flight;
        self.in_flight_max = self.in_flight_max.max(now);
        let interval = self.interval(at.time_ns);
        interval.requests += 1;
        interval.in_flight_max = interval.in_flight_max.max(now);
    }

    pub(crate) fn answered(&mut self, at: Moment, bytes: u64) {
        self.left(1, at);
        self.moved(at, bytes);
    }

    /// Ends this many requests.
    pub(crate) fn left(&mut self, count: u64, at: Moment) {
        let late = self.pass_to(at.time_ns);
        self.area = self.area.saturating_sub(late * u128::from(count));
        self.in_flight = self.in_flight.saturating_sub(count);
    }

    /// Counts what the answer of an earlier request moved.
    pub(crate) fn moved(&mut self, at: Moment, bytes: u64) {
        self.interval(at.time_ns).bytes += bytes;
    }

    /// Returns the mean number of requests in flight over a time of this length.
    pub(crate) fn mean(&self, length_ns: u64) -> Option<f64> {
        let has_begun = self.begin_ns.is_some();
        (has_begun && length_ns > 0).then(|| self.area as f64 / length_ns as f64)
    }
}

/// What could not be read, or only in part.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Unreadable {
    pub(crate) encrypted_messages: u64,
    pub(crate) compressed_messages: u64,
    pub(crate) lost_bytes: u64,
    pub(crate) cut_bytes: u64,
    pub(crate) skipped_bytes: u64,
    pub(crate) cut_messages: u64,
    pub(crate) malformed_messages: u64,
    /// The first frame with a malformed message.
    pub(crate) malformed_frame: Option<u64>,
    pub(crate) fragmented_datagrams: u64,
    pub(crate) unreadable_packets: u64,
    /// Packets whose link layer is not known.
    pub(crate) unknown_links: u64,
}

/// All counts of a capture.
#[derive(Default)]
pub(crate) struct CaptureTally {
    pub(crate) commands: BTreeMap<CommandKey, CommandTally>,
    pub(crate) concurrency: Concurrency,
    pub(crate) unreadable: Unreadable,
    pub(crate) unanswered: BTreeMap<CommandKey, u64>,
}

impl CaptureTally {
    pub(crate) fn command(&mut self, key: CommandKey) -> &mut CommandTally {
        self.commands.entry(key).or_default()
    }

    pub(crate) fn malformed(&mut self, at: Moment) {
        self.unreadable.malformed_messages += 1;
        self.unreadable.malformed_frame.get_or_insert(at.frame);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_beyond_those_that_are_counted_on_their_own_are_counted_together() {
        let mut tally = CommandTally::default();
        for size in 0..SIZES_MAX as u64 + 3 {
            tally.add_size(size);
            tally.add_size(7);
        }
        assert_eq!((tally.sizes.len(), tally.other_sizes), (SIZES_MAX, 3));
        assert_eq!(tally.sizes[&7], SIZES_MAX as u64 + 4);
    }

    #[test]
    fn the_mean_in_flight_ends_with_the_slice() {
        let at = |time_ns| Moment { time_ns, frame: 1 };
        let mut concurrency = Concurrency {
            end_ns: Some(200),
            ..Concurrency::default()
        };
        assert_eq!(concurrency.mean(100), None);
        concurrency.asked(at(150));
        concurrency.answered(at(900), 0);
        assert_eq!(concurrency.mean(0), None);
        assert_eq!(concurrency.mean(100), Some(0.5));
    }

    #[test]
    fn the_mean_in_flight_depends_on_no_order() {
        let at = |time_ns| Moment { time_ns, frame: 1 };
        let mut concurrency = Concurrency::default();
        concurrency.asked(at(100));
        concurrency.asked(at(300));
        // From 200 to 250, and until 150: the first one and another are known late.
        concurrency.asked(at(200));
        concurrency.answered(at(250), 0);
        concurrency.answered(at(150), 0);
        concurrency.left(1, at(400));
        assert_eq!(concurrency.mean(100), Some(0.5 + 0.5 + 1.0));
    }
}
