//! The latencies of a load point with and without the operations that were in a blackout.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use smbench_model::record::{LoadPointRecord, OpRecord};

use super::operation::OpDoc;
use super::point::LoadPointDoc;
use crate::latency::{Hdr, LatencyDoc, pool};

/// Operations of the window that were in a blackout, and the latencies of the others. Such an
/// operation was in flight when its connection was lost and was sent again, or it was due before
/// the connection was back.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct InBlackoutDoc {
    /// Number of these operations that completed without error. They are in all other numbers of
    /// the load point.
    pub count: u64,
    /// Their service times, from sent to done.
    pub hdr: Hdr,
    /// Their response times, from due to done. Absent if operations are due when they are sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response_hdr: Option<Hdr>,
    /// Response times of all other operations of the window; `null` if there are none.
    pub others_latency_ns: Option<LatencyDoc>,
    /// Service times of all other operations of the window; `null` if there are none.
    pub others_service_ns: Option<LatencyDoc>,
}

impl InBlackoutDoc {
    /// Returns the operations of a load point; `None` if no connection was lost. `all` are all
    /// operations of the window.
    pub(crate) fn of_point(record: &LoadPointRecord, all: &OpRecord) -> Option<Self> {
        record.ops.losses().has_losses().then(|| {
            let late = record.ops.in_blackout();
            Self::of(&late.unwrap_or_default(), all)
        })
    }

    /// Adds up the operations of all parts of a load point; `None` if no part lost a connection.
    pub(crate) fn merged<'a>(
        parts: &(impl Iterator<Item = &'a LoadPointDoc> + Clone),
    ) -> Option<Self> {
        let docs = parts.clone().filter_map(|part| part.in_blackout.as_ref());
        docs.clone().next()?;
        let is_paced = docs.clone().any(|doc| doc.response_hdr.is_some());
        let responses = docs.clone();
        let responses = responses.map(|doc| doc.response_hdr.as_ref().unwrap_or(&doc.hdr));
        let late = OpRecord {
            service: pool(docs.map(|doc| &doc.hdr)),
            response: is_paced.then(|| pool(responses)),
            ..OpRecord::default()
        };
        let asked_for = || parts.clone().flat_map(LoadPointDoc::asked_for);
        let all = OpRecord {
            service: pool(asked_for().map(|op| &op.hdr)),
            response: Some(pool(asked_for().map(OpDoc::response))),
            ..OpRecord::default()
        };
        Some(Self::of(&late, &all))
    }

    fn of(late: &OpRecord, all: &OpRecord) -> Self {
        Self {
            count: late.count(),
            hdr: Hdr::from(&late.service),
            response_hdr: late.response.as_ref().map(Hdr::from),
            others_latency_ns: LatencyDoc::without(all.latency(), late.latency()),
            others_service_ns: LatencyDoc::without(&all.service, &late.service),
        }
    }
}
