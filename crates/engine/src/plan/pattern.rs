//! Access patterns in the words of Iometer: the lines of an access specification.
//!
//! Meanings are those of Iometer 1.1.0 (`Grunt::Do_IOs`, `TargetDisk::Seek`):
//!
//! * A client works in bursts. For each it draws a line by its weight, lets the
//!   line's delay pass, and makes the line's number of requests. Delays of clients
//!   with several requests outstanding begin when a further one could be sent, not
//!   when the burst before has been answered.
//! * Whether a request reads, and whether it goes to a random place, is drawn for
//!   each. One that does not goes to where the client's last request ended, of
//!   whatever line, in that file.
//! * Places are rounded up to the alignment. What no longer fits then goes to the
//!   beginning: of the file drawn where the place is random, else of the client's
//!   next file.
//! * A reply is a further request, of the other direction, its place found
//!   likewise. It is the client's next one; with several outstanding it does not
//!   wait for the answer to the request it belongs to.

use std::time::Duration;

use serde::{Serialize, Serializer};

/// What places are aligned to where nobody says otherwise: a disk's sector.
pub const SECTOR_BYTES: u32 = 512;
/// The most lines of a pattern: as many as Iometer has.
pub const PATTERN_LINES_MAX: usize = 100;

/// One line of an access pattern.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct AccessLine {
    /// Bytes per request, at least 1.
    pub size: u32,
    /// Percent of the bursts that are of this line.
    pub weight: f64,
    /// Share of reads among its requests, 0 to 100.
    pub read_percent: f64,
    /// Share of its requests and replies that go to a random place, 0 to 100.
    pub random_percent: f64,
    /// What passes before each burst.
    #[serde(rename = "delay_ns", serialize_with = "nanoseconds")]
    pub delay: Duration,
    /// Requests of a burst, at least 1; replies are not counted.
    pub burst: u32,
    /// What each place is a multiple of, in bytes, at least 1.
    pub align: u32,
    /// Bytes that answer each request in the other direction; 0 for none.
    pub reply: u32,
}

fn nanoseconds<S: Serializer>(duration: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_u64(u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX))
}

impl AccessLine {
    /// How many requests and replies it adds to a pattern, in parts of a hundred
    /// bursts: those that read, and all.
    fn operations(&self) -> (f64, f64) {
        let requests = self.weight * f64::from(self.burst);
        let reads = requests * self.read_percent / 100.0;
        match self.reply {
            0 => (reads, requests),
            _ => (requests, 2.0 * requests),
        }
    }
}

/// Share of reads among all requests and replies of a pattern, 0 to 1.
#[must_use]
pub(super) fn read_share(lines: &[AccessLine]) -> f64 {
    let sums = lines.iter().map(AccessLine::operations);
    let (reads, all) = sums.fold((0.0, 0.0), |sum, of| (sum.0 + of.0, sum.1 + of.1));
    reads / all
}
