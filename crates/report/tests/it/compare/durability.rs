//! Remarks on servers that differ in what they do before they answer a FLUSH or a WRITE.

use FlushDoc::{Honours, Ignores, Unknown};
use WritePolicyDoc::{Buffers, Waits};
use smbench_report::doc::{OperationDoc, WritePolicyDoc};
use smbench_report::{FactSource, FlushDoc, RunDoc, WriteDoc};

use super::pair;
use crate::samples::{curve, document};

/// Returns a run that reads and writes, and sends no FLUSH.
fn with(flush: FlushDoc, write: Option<WritePolicyDoc>) -> RunDoc {
    let mut doc = document(&curve());
    doc.server.flush = Some(flush);
    doc.server.write = write.map(|policy| WriteDoc {
        policy,
        source: FactSource::Given,
    });
    for point in &mut doc.load_points {
        point.whole.remove("flush");
        let read = point.whole["read"];
        point.whole.insert("write".to_owned(), read);
    }
    doc
}

fn reading(mut doc: RunDoc) -> RunDoc {
    for point in &mut doc.load_points {
        point.whole.remove("write");
    }
    doc
}

fn flushing(mut doc: RunDoc, kind: &str) -> RunDoc {
    let read = doc.load_points[0].whole["read"];
    doc.load_points[0].whole.insert(kind.to_owned(), read);
    doc
}

const HIDDEN: &str =
    "flush policies differ, but no run waits for stable storage, so the difference does not show";
const FLUSHES: &str = "flushes are ignored by B, which is faster and may lose data in a power failure, and honoured by A";
const WRITES: &str = "each write waits for stable storage on A; B answers before that, which is faster and may lose data in a power failure";

fn text(one: &RunDoc, other: &RunDoc) -> Vec<String> {
    let found = pair(one.clone(), other.clone());
    let is_hidden = found.durability.iter().any(|remark| remark == HIDDEN);
    assert_eq!(found.hides_flush_policy, is_hidden);
    found.durability
}

#[test]
fn a_difference_of_flush_policies_is_said_not_to_show_only_where_that_follows() {
    let (honours, ignores) = (with(Honours, Some(Buffers)), with(Ignores, Some(Buffers)));
    assert_eq!(text(&honours, &ignores), [HIDDEN]);
    assert_eq!(text(&honours, &honours), [""; 0]);
    assert_eq!(text(&honours, &with(Unknown, Some(Buffers))), [""; 0]);
    // A policy shows in a FLUSH, in a flush after the load, and in a write-through.
    for kind in ["flush", "final_flush"] {
        assert_eq!(text(&honours, &flushing(ignores.clone(), kind)), [FLUSHES]);
    }
    let mut through = ignores.clone();
    through.plan.workload.operations.push(OperationDoc {
        op: "write".to_owned(),
        weight_percent: 100.0,
        parameters: [("write_through".to_owned(), true.into())].into(),
    });
    assert_eq!(text(&honours, &through), [FLUSHES]);
}

#[test]
fn a_write_that_waits_is_reported_where_runs_write() {
    let (waits, buffers) = (with(Honours, Some(Waits)), with(Ignores, Some(Buffers)));
    assert_eq!(text(&waits, &buffers), [WRITES]);
    // Without a difference of flush policies as well.
    assert_eq!(text(&waits, &with(Honours, Some(Buffers))), [WRITES]);
    assert_eq!(text(&waits, &waits), [""; 0]);
    // No write, no difference.
    assert_eq!(text(&reading(waits), &reading(buffers)), [HIDDEN]);
}

#[test]
fn an_unknown_write_policy_allows_no_conclusion() {
    let (honours, ignores) = (with(Honours, None), with(Ignores, Some(Buffers)));
    let unknown = "flush policies differ, but no run sends a flush; it is not known whether writes \
                   wait for stable storage on A (see server_write)";
    assert_eq!(text(&honours, &ignores), [unknown]);
    // Reads alone wait for nothing, whatever the servers do to a WRITE.
    assert_eq!(text(&reading(honours.clone()), &reading(ignores)), [HIDDEN]);
    let flushes = flushing(with(Ignores, None), "flush");
    assert_eq!(text(&honours, &flushes), [FLUSHES]);
}
