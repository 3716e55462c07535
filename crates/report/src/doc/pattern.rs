//! Lines of an access pattern.
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use smbench_model::access::AccessLine;

/// A line of an access pattern, as in Iometer's access specifications.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct PatternDoc {
    /// Bytes per request.
    pub bytes: u32,
    /// Percent of the bursts that belong to this line.
    pub weight_percent: f64,
    /// Share of reads among its requests, 0 to 100.
    pub read_percent: f64,
    /// Share of its requests at a random offset, 0 to 100.
    pub random_percent: f64,
    /// Seconds before each burst.
    pub delay_s: f64,
    /// Number of requests in a burst.
    pub burst: u32,
    /// Alignment of offsets, in bytes.
    pub align_bytes: u32,
    /// Bytes of the reply to each request, in the other direction; 0 for no reply.
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
