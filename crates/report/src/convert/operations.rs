//! The operations of a load point, by kind.

use std::collections::BTreeMap;

use smbench_model::kind::OpKind;
use smbench_model::record::{
    CachingRecord, ClosingWaits, OpRecord, OpTotals, OperationFailure, ReplayDifference, Tally,
};
use smbench_model::sessions::Caching;

use crate::doc::{CachingDoc, DifferenceDoc, ListingsDoc, OpDoc};
use crate::latency::{Hdr, LatencyDoc};

/// Returns one value for each kind with answered operations, or with operations in flight when
/// the window closed.
pub(super) fn by_kind<T>(ops: &Tally, value: impl Fn(OpKind) -> T) -> BTreeMap<String, T> {
    OpKind::ALL
        .into_iter()
        .filter(|&kind| {
            ops.whole(kind) != OpTotals::default()
                || ops.in_flight(kind).is_some()
                || ops.window(kind).entries > 0
        })
        .map(|kind| (kind.name().to_owned(), value(kind)))
        .collect()
}

pub(crate) fn op(record: &OpRecord, whole: OpTotals, in_flight: Option<ClosingWaits>) -> OpDoc {
    OpDoc {
        count: record.count(),
        bytes: record.bytes,
        errors: whole.errors,
        requests: (record.further_requests > 0)
            .then(|| record.count().saturating_add(record.further_requests)),
        entries: (record.entries > 0).then_some(record.entries),
        in_flight: in_flight.map(|of| of.count),
        in_flight_ns_min: in_flight.map(|of| of.shortest.0),
        in_flight_ns_max: in_flight.map(|of| of.longest.0),
        service_ns: LatencyDoc::of(&record.service),
        response_ns: LatencyDoc::of(record.latency()),
        hdr: Hdr::from(&record.service),
        response_hdr: record.response.as_ref().map(Hdr::from),
    }
}

pub(crate) fn differences(counts: &BTreeMap<ReplayDifference, u64>) -> Vec<DifferenceDoc> {
    counts
        .iter()
        .map(|(difference, &count)| {
            let recorded = difference
                .recorded
                .map_or(OperationFailure::Other, OperationFailure::Status);
            DifferenceDoc {
                op: difference.kind.name().to_owned(),
                recorded: recorded.name(),
                seen: difference.seen.name(),
                count,
            }
        })
        .collect()
}

pub(super) fn caching(record: &CachingRecord, asked: Caching) -> CachingDoc {
    CachingDoc {
        granted: record
            .granted()
            .map(|(name, opens)| (name.to_owned(), opens))
            .collect(),
        breaks: record.breaks,
        moot: record.moot,
        listings: matches!(asked, Caching::DirectoryLease(_)).then(|| ListingsDoc {
            kept: record.kept,
            held: record.kept.saturating_sub(record.ended),
            stale: record.stale,
        }),
    }
}
