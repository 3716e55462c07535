//! Lines of an access pattern.

use serde::{Deserialize, Serialize};
use smbench_model::plan::AccessLine;

/// A line of an access pattern, as in Iometer's access specifications.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct PatternDoc {
    /// Bytes per request.
    pub bytes: u32,
    /// Percent of the bursts that are of this line.
    pub weight_percent: f64,
    /// Share of reads among its requests, 0 to 100.
    pub read_percent: f64,
    /// Share of its requests that go to a random place, 0 to 100.
    pub random_percent: f64,
    /// Seconds that pass before each burst.
    pub delay_s: f64,
    /// Requests of a burst.
    pub burst: u32,
    /// What places are multiples of, in bytes.
    pub align_bytes: u32,
    /// Bytes that answer each request in the other direction; 0 for none.
    pub reply_bytes: u32,
}

impl From<&AccessLine> for PatternDoc {
    fn from(line: &AccessLine) -> Self {
        Self {
            bytes: line.size,
            weight_percent: line.weight,
            read_percent: line.read_percent,
            random_percent: line.random_percent,
            delay_s: line.delay.as_secs_f64(),
            burst: line.burst,
            align_bytes: line.align,
            reply_bytes: line.reply,
        }
    }
}
