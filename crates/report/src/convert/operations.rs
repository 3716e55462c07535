//! The operations of a load point, by kind.

use std::collections::BTreeMap;

use smbench_model::record::{CachingRecord, OpKind, OpRecord, OpTotals, OperationFailure, Tally};

use crate::doc::{CachingDoc, DifferenceDoc, FailureDoc, OpDoc};
use crate::latency::{Hdr, LatencyDoc};

/// Returns one value for each kind with answered operations.
pub(super) fn by_kind<T>(ops: &Tally, value: impl Fn(OpKind) -> T) -> BTreeMap<String, T> {
    OpKind::ALL
        .into_iter()
        .filter(|kind| ops.whole(*kind) != OpTotals::default())
        .map(|kind| (kind.name().to_owned(), value(kind)))
        .collect()
}

pub(super) fn op(record: &OpRecord, whole: OpTotals) -> OpDoc {
    OpDoc {
        count: record.count(),
        bytes: record.bytes,
        errors: whole.errors,
        service_ns: LatencyDoc::of(&record.service),
        response_ns: LatencyDoc::of(record.latency()),
        hdr: Hdr::from(&record.service),
        response_hdr: record.response.as_ref().map(Hdr::from),
    }
}

pub(super) fn failures(ops: &Tally) -> Vec<FailureDoc> {
    ops.failures()
        .iter()
        .map(|((kind, failure), count)| {
            let (status, code) = named(failure);
            FailureDoc {
                op: kind.name().to_owned(),
                status,
                code,
                count: *count,
            }
        })
        .collect()
}

/// Returns the name of a failure, and its number if it is a status.
fn named(failure: &OperationFailure) -> (String, Option<String>) {
    match failure {
        OperationFailure::Short => ("short".to_owned(), None),
        OperationFailure::Long => ("long".to_owned(), None),
        OperationFailure::WrongData => ("wrong-data".to_owned(), None),
        OperationFailure::Other => ("other".to_owned(), None),
        OperationFailure::Status(status) => {
            let code = format!("0x{:08X}", status.0);
            let name = status.name().unwrap_or(&code).to_owned();
            (name, Some(code))
        }
    }
}

pub(super) fn differences(ops: &Tally) -> Vec<DifferenceDoc> {
    let differences = ops.differences().iter();
    differences
        .map(|(difference, &count)| {
            let recorded = difference
                .recorded
                .map_or(OperationFailure::Other, OperationFailure::Status);
            DifferenceDoc {
                op: difference.kind.name().to_owned(),
                recorded: named(&recorded).0,
                seen: named(&difference.seen).0,
                count,
            }
        })
        .collect()
}

pub(super) fn caching(record: &CachingRecord) -> CachingDoc {
    CachingDoc {
        granted: record
            .granted()
            .map(|(name, opens)| (name.to_owned(), opens))
            .collect(),
        breaks: record.breaks,
        moot: record.moot,
    }
}
