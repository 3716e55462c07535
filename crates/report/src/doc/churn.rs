//! Clients that log off and come back.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use smbench_model::record::ChurnRecord;

use crate::latency::{Hdr, LatencyDoc, pool};

/// The clients that left and came back. It counts the whole load point or stage, ramps included.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct ChurnDoc {
    /// Number of times that a client left.
    pub left: u64,
    /// Number of those without a LOGOFF.
    pub vanished: u64,
    /// Number of connections that were open and silent when the load or the stage ended.
    pub silent: u64,
    /// Number of times that a client came back.
    pub back: u64,
    /// Number of clients that were away when the load or the stage ended.
    pub not_back: u64,
    /// Time that each session took to connect and log on again; `null` if none did.
    pub log_on_ns: Option<LatencyDoc>,
    /// All of these times, in the format of an operation's histogram. Absent if there are none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub log_on_hdr: Option<Hdr>,
}

impl From<&ChurnRecord> for ChurnDoc {
    fn from(record: &ChurnRecord) -> Self {
        let log_on = record.log_on.get();
        Self {
            left: record.left,
            vanished: record.vanished,
            silent: record.silent_at_end(),
            back: record.back,
            not_back: record.away_at_end(),
            log_on_ns: LatencyDoc::of(&log_on),
            log_on_hdr: (!log_on.is_empty()).then(|| Hdr::from(&*log_on)),
        }
    }
}

impl ChurnDoc {
    /// Adds another part of the clients.
    pub(crate) fn add(mut self, other: &Self) -> Self {
        self.left += other.left;
        self.vanished += other.vanished;
        self.silent += other.silent;
        self.back += other.back;
        self.not_back += other.not_back;
        let parts = [&self.log_on_hdr, &other.log_on_hdr];
        let pooled = pool(parts.into_iter().flatten());
        self.log_on_ns = LatencyDoc::of(&pooled);
        self.log_on_hdr = (!pooled.is_empty()).then(|| Hdr::from(&pooled));
        self
    }
}

#[cfg(test)]
mod tests {
    use smbench_model::Nanos;

    use super::*;

    #[test]
    fn the_churn_of_two_parts_is_added() {
        let part = |left, log_on| {
            let mut record = ChurnRecord {
                left,
                vanished: 1,
                silent: 2,
                silent_ended: 1,
                ..ChurnRecord::default()
            };
            record.came_back(Nanos(log_on));
            ChurnDoc::from(&record)
        };
        let sum = part(1, 100).add(&part(3, 200));
        assert_eq!((sum.left, sum.vanished, sum.silent), (4, 2, 2));
        assert_eq!((sum.back, sum.not_back), (2, 2));
        let log_on = sum.log_on_ns.unwrap();
        assert_eq!((log_on.min, log_on.max), (100, 200));
    }
}
