//! The operations of all parts, by kind.

use std::collections::BTreeMap;

use itertools::Itertools as _;
use smbench_model::Nanos;
use smbench_model::record::{
    ClosingWaits, DataFaults, FinalRead, OpRecord, OpTotals, OperationFailure, ReplayDifference,
    Verification, WrongPlace,
};

use super::error::MergeError;
use super::part_point::PartPoint;
use crate::convert::{differences, op};
use crate::curve::total;
use crate::doc::{
    CachingDoc, DifferenceDoc, FailureDoc, ListingsDoc, OpDoc, RefusedDirectoryDoc, ReplayedDoc,
};
use crate::latency::pool;

pub(super) fn ops(parts: &[PartPoint<'_>]) -> BTreeMap<String, OpDoc> {
    let mut by_kind = BTreeMap::<&str, Vec<&OpDoc>>::new();
    for (name, op) in parts.iter().flat_map(|part| &part.point.ops) {
        by_kind.entry(name).or_default().push(op);
    }
    let by_kind = by_kind.into_iter();
    by_kind
        .map(|(name, docs)| (name.to_owned(), of_kind(&docs)))
        .collect()
}

fn of_kind(docs: &[&OpDoc]) -> OpDoc {
    // As in `OpRecord::merge`: if one has response times of its own, the merged one has.
    let is_paced = docs.iter().any(|doc| doc.response_hdr.is_some());
    let record = OpRecord {
        bytes: total(docs.iter().map(|doc| doc.bytes)),
        errors: 0,
        further_requests: total(docs.iter().map(|doc| {
            let requests = doc.requests.unwrap_or(doc.count);
            requests.saturating_sub(doc.count)
        })),
        entries: total(docs.iter().filter_map(|doc| doc.entries)),
        service: pool(docs.iter().map(|doc| &doc.hdr)),
        response: is_paced.then(|| pool(docs.iter().map(|doc| doc.response()))),
    };
    let whole = OpTotals {
        errors: total(docs.iter().map(|doc| doc.errors)),
        ..OpTotals::default()
    };
    let in_flight = docs.iter().filter_map(|doc| in_flight(doc));
    op(&record, whole, in_flight.reduce(ClosingWaits::and))
}

fn in_flight(doc: &OpDoc) -> Option<ClosingWaits> {
    Some(ClosingWaits {
        count: doc.in_flight?,
        shortest: Nanos(doc.in_flight_ns_min?),
        longest: Nanos(doc.in_flight_ns_max?),
    })
}

pub(super) fn whole(parts: &[PartPoint<'_>]) -> BTreeMap<String, OpTotals> {
    let mut sums = BTreeMap::<String, OpTotals>::new();
    for (name, part) in parts.iter().flat_map(|part| &part.point.whole) {
        let sum = sums.entry(name.clone()).or_default();
        sum.count = sum.count.saturating_add(part.count);
        sum.bytes = sum.bytes.saturating_add(part.bytes);
        sum.errors = sum.errors.saturating_add(part.errors);
    }
    sums
}

/// Adds up failures by operation and cause, in the order of documents.
pub(super) fn failed(parts: &[PartPoint<'_>]) -> Result<Vec<FailureDoc>, MergeError> {
    let mut counts = BTreeMap::new();
    for part in parts {
        for doc in &part.point.failures {
            let kind = part.kind(&doc.op)?;
            let cause = part.cause(doc.code.as_deref().unwrap_or(&doc.status))?;
            add(&mut counts, (kind, cause), doc.count);
        }
    }
    Ok(FailureDoc::all(&counts))
}

/// Joins the directories that walks left out. Each is named once.
pub(super) fn refused(parts: &[PartPoint<'_>]) -> Vec<RefusedDirectoryDoc> {
    let all = parts
        .iter()
        .flat_map(|part| &part.point.refused_directories);
    all.unique_by(|refused| &refused.path).cloned().collect()
}

/// Adds up differences from a recording, in the order of documents.
pub(super) fn differed(parts: &[PartPoint<'_>]) -> Result<Vec<DifferenceDoc>, MergeError> {
    let mut counts = BTreeMap::new();
    for part in parts {
        for doc in &part.point.differences {
            let difference = ReplayDifference {
                kind: part.kind(&doc.op)?,
                recorded: match part.cause(&doc.recorded)? {
                    OperationFailure::Status(status) => Some(status),
                    _ => None,
                },
                seen: part.cause(&doc.seen)?,
            };
            add(&mut counts, difference, doc.count);
        }
    }
    Ok(differences(&counts))
}

/// Adds up the operations of a replay; `None` if a part did not count them.
pub(super) fn replayed(parts: &[PartPoint<'_>]) -> Option<ReplayedDoc> {
    let docs: Option<Vec<_>> = parts.iter().map(|part| part.point.replayed).collect();
    let docs = docs?;
    let sum = |of: fn(&ReplayedDoc) -> u64| total(docs.iter().map(of));
    Some(ReplayedDoc {
        operations: sum(|doc| doc.operations),
        differing: sum(|doc| doc.differing),
    })
}

fn add<K: Ord>(counts: &mut BTreeMap<K, u64>, key: K, count: u64) {
    let sum = counts.entry(key).or_default();
    *sum = sum.saturating_add(count);
}

/// Adds up oplocks and leases; `None` if no part asked for any.
pub(super) fn caching(parts: &[PartPoint<'_>]) -> Option<CachingDoc> {
    let docs = || parts.iter().filter_map(|part| part.point.caching.as_ref());
    docs().next()?;
    let mut granted = BTreeMap::new();
    for (name, &opens) in docs().flat_map(|doc| &doc.granted) {
        add(&mut granted, name.clone(), opens);
    }
    Some(CachingDoc {
        granted,
        breaks: total(docs().map(|doc| doc.breaks)),
        moot: total(docs().map(|doc| doc.moot)),
        listings: listings(|| docs().filter_map(|doc| doc.listings)),
    })
}

/// Adds up kept listings; `None` if no part kept any.
fn listings<I: Iterator<Item = ListingsDoc>>(docs: impl Fn() -> I) -> Option<ListingsDoc> {
    docs().next()?;
    Some(ListingsDoc {
        kept: total(docs().map(|doc| doc.kept)),
        held: total(docs().map(|doc| doc.held)),
        stale: total(docs().map(|doc| doc.stale)),
    })
}

/// Adds up verified operations; `None` if no part verified any.
pub(super) fn verification(parts: &[PartPoint<'_>]) -> Option<Verification> {
    let docs = || parts.iter().filter_map(|part| part.point.verification);
    docs().next()?;
    Some(Verification {
        checked: total(docs().map(|doc| doc.checked)),
        unjudged: total(docs().map(|doc| doc.unjudged)),
        wrong: total(docs().map(|doc| doc.wrong)),
        final_read: docs()
            .filter_map(|doc| doc.final_read)
            .reduce(FinalRead::and),
    })
}

/// Adds up the data that was found wrong; `None` if no part says.
pub(super) fn faults(parts: &[PartPoint<'_>]) -> Option<DataFaults> {
    let of_parts = parts.iter().filter_map(|part| part.point.verify);
    of_parts.reduce(|mut sum, part| {
        sum.merge(&part);
        sum
    })
}

/// Returns the first places of all parts.
pub(super) fn wrong_data(parts: &[PartPoint<'_>]) -> Vec<WrongPlace> {
    let places = parts.iter().flat_map(|part| &part.point.wrong_data);
    places.take(WrongPlace::KEPT_MAX).cloned().collect()
}
