//! Access patterns as in Iometer: the lines of an access specification.
//!
//! The meaning is that of Iometer 1.1.0 (`Grunt::Do_IOs`, `TargetDisk::Seek`):
//!
//! * A client works in bursts. For each burst it draws a line by weight, waits for
//!   the line's delay, and makes the line's number of requests. With several
//!   requests outstanding, a delay begins when a further request could be sent. It
//!   does not wait for the answers to the previous burst.
//! * Whether a request reads, and whether its offset is random, is drawn for each
//!   request. A request without a random offset starts where the client's last
//!   request in that file ended, even if that request used another line.
//! * Offsets are rounded up to the alignment. A request that no longer fits goes to
//!   the beginning of a file. For a random offset this is the file drawn, otherwise
//!   the client's next file.
//! * A reply is a further request in the other direction. Its offset is found in
//!   the same way. It is the client's next request. With several requests
//!   outstanding, it does not wait for the answer to the request that it replies
//!   to.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize, Serializer};

/// The default alignment of offsets: a disk's sector.
pub const SECTOR_BYTES: u32 = 512;
/// The largest number of lines in a pattern: the limit of Iometer.
pub const PATTERN_LINES_MAX: usize = 100;

/// One line of an access pattern.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct AccessLine {
    /// Bytes per request, at least 1.
    pub size: u32,
    /// Percent of the bursts that use this line.
    pub weight: f64,
    /// Percent of its requests that read, 0 to 100.
    pub read_percent: f64,
    /// Percent of its requests and replies that go to a random offset, 0 to 100.
    pub random_percent: f64,
    /// Pause before each burst.
    #[serde(rename = "delay_ns", serialize_with = "nanoseconds")]
    pub delay: Duration,
    /// Requests in a burst, at least 1, without replies.
    pub burst: u32,
    /// Alignment of every offset in bytes, at least 1.
    pub align: u32,
    /// Bytes of the reply to each request, in the other direction; 0 for no reply.
    pub reply: u32,
}

fn nanoseconds<S: Serializer>(duration: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_u64(u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX))
}

impl AccessLine {
    /// Returns the numbers of reads and of all operations that this line adds to a
    /// hundred bursts of the pattern.
    fn operations(&self) -> (f64, f64) {
        let requests = self.weight * f64::from(self.burst);
        let reads = requests * self.read_percent / 100.0;
        match self.reply {
            0 => (reads, requests),
            _ => (requests, 2.0 * requests),
        }
    }
}

/// Returns the share of reads among all requests and replies of a pattern, 0 to 1.
#[must_use]
pub(super) fn read_share(lines: &[AccessLine]) -> f64 {
    let sums = lines.iter().map(AccessLine::operations);
    let (reads, all) = sums.fold((0.0, 0.0), |sum, of| (sum.0 + of.0, sum.1 + of.1));
    reads / all
}

/// How reads and writes are divided among clients.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Split {
    /// Every client reads and writes.
    #[default]
    Requests,
    /// Each client only reads or only writes.
    Clients,
}

/// One request size of a mix.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SizeWeight {
    /// Bytes per request, at least 1.
    pub size: u32,
    /// Percent of requests that have this size.
    pub weight: f64,
}

/// Order of offsets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Access {
    /// Uniform over the offsets that are multiples of the request's size.
    Random,
    /// Each request starts where the client's previous one ended, and wraps at the
    /// end.
    Sequential,
}
