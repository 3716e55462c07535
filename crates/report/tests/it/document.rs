//! The keys of documents, and the arithmetic behind their values.

mod keys;
mod passes;
mod plan;
pub(crate) mod populations;
mod stages;
mod units;

use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json as value};
use smbench_model::Nanos;
use smbench_model::contents::Verify;
use smbench_model::contents::block::Mismatch;
use smbench_model::contents::verify::{DataFault, ReadVerdict};
use smbench_model::kind::OpKind;
use smbench_model::record::{EventKind, LoadEvent, OperationFailure, Outcome, Phase, RunRecord};
use smbench_protocol::NtStatus;
use smbench_report::metric::Metric;
use smbench_report::{RunDoc, render};

use crate::samples::{PASSWORD, book, curve, document, dropped, on_a_busy_server, point, run};

fn json(doc: &RunDoc) -> Value {
    serde_json::from_str(&doc.to_json()).unwrap()
}

#[test]
fn throughput_counts_application_bytes_of_the_window() {
    let json = json(&document(&run(vec![point(8, 1, 1600)])));
    let point = &json["load_points"][0];
    // 16,000 reads and 4,000 writes of 4 KiB. Flushes move no data, and the read in
    // the ramp does not count.
    assert_eq!(point["bytes_read"], 65_536_000);
    assert_eq!(point["bytes_written"], 16_384_000);
    assert_eq!(point["throughput_mbps"], 65.536);
    assert_eq!(point["ops_per_s"], 2001.0);
    assert_eq!(point["ops"]["read"]["count"], 16_000);
    assert_eq!(point["whole"]["read"]["count"], 16_001);
    assert_eq!(point["client"]["cpu_us_per_op"], 500_000.0 / 20_010.0);
    assert_eq!(json["started"], "2026-01-02T03:04:05Z");
    assert_eq!(json["loop"], "closed");
}

#[test]
fn a_generator_that_was_the_limit_is_reported_with_its_reason() {
    let mut limited = point(8, 1, 1600);
    limited.generator.limited = Some("thread 1 used a CPU 97 % of the time".to_owned());
    let json = json(&document(&run(vec![point(4, 1, 1600), limited])));
    let points = &json["load_points"];
    assert_eq!(points[0]["generator_limited"], false);
    assert_eq!(points[0]["generator"]["reason"], Value::Null);
    assert_eq!(points[0]["generator"]["workers"][0]["cpu"], 3);
    assert_eq!(points[0]["generator"]["workers"][1]["cpu"], Value::Null);
    assert_eq!(points[1]["generator_limited"], true);
    assert_eq!(points[1]["generator"]["limited"], true);
    assert_eq!(
        points[1]["generator"]["reason"],
        "thread 1 used a CPU 97 % of the time"
    );
    // The numbers may be quoted, together with the reason.
    assert_eq!(points[1]["valid"], true);
}

#[test]
fn back_pressure_is_a_remark_and_no_verdict_on_the_generator() {
    let mut pressed = point(8, 1, 1600);
    pressed.held_back = Duration::from_secs(30);
    pressed.generator.back_pressure = Some("sockets took no more".to_owned());
    let doc = document(&run(vec![point(4, 1, 1600), pressed]));
    let json = json(&doc);
    let points = &json["load_points"];
    assert_eq!(points[0]["generator"].get("back_pressure"), None);
    assert_eq!(
        points[1]["generator"]["back_pressure"],
        "sockets took no more"
    );
    assert_eq!(points[1]["generator_limited"], false);
    assert_eq!(points[1]["valid"], true);
    let text = render(&doc);
    let line = "\nheld back at 8 clients: sockets took no more 37.5 % of the clients' time; network or server was slow\n";
    assert!(text.contains(line), "{text}");
    assert_eq!(text.matches("held back").count(), 1, "{text}");
}

#[test]
fn reads_that_were_verified_are_counted_by_what_came_of_it() {
    let mut verified = point(8, 1, 1600);
    for (verdict, phase) in [
        (ReadVerdict::Checked, Phase::Window),
        (ReadVerdict::Checked, Phase::Outside),
        (ReadVerdict::Unjudged, Phase::Window),
    ] {
        book(&mut verified.ops, phase, |ops| ops.verified(verdict));
    }
    let mismatch = Mismatch::Byte {
        offset: 0,
        expected: 1,
        found: 2,
    };
    book(&mut verified.ops, Phase::Window, |ops| {
        ops.wrong_data(OpKind::Read);
        ops.fault(None, 0, &DataFault { file: 0, mismatch });
    });
    let mut record = run(vec![verified]);
    let said = |record: &RunRecord| json(&document(record))["load_points"][0].clone();
    assert_eq!(said(&record).get("verification"), None);
    record.plan.only_mut().verify = Verify::ReadBack;
    let expected = serde_json::json!({"checked": 2, "unjudged": 1, "wrong": 1});
    assert_eq!(said(&record)["verification"], expected);
    let text = render(&document(&record));
    let line = "\nnot verified at 8 clients: 1 of 4 reads met concurrent writes and were not judged in full\n";
    assert!(text.contains(line), "{text}");
}

#[test]
fn failures_are_named() {
    let mut point = point(1, 1, 4);
    for (failure, phase) in [
        (OperationFailure::Status(NtStatus::DISK_FULL), Phase::Window),
        (
            OperationFailure::Status(NtStatus::DISK_FULL),
            Phase::Outside,
        ),
        (
            OperationFailure::Status(NtStatus(0xC123_4567)),
            Phase::Window,
        ),
        (OperationFailure::Short, Phase::Window),
        (OperationFailure::WrongData, Phase::Window),
    ] {
        book(&mut point.ops, phase, |ops| {
            ops.failure(OpKind::Write, failure);
        });
    }
    let json = json(&document(&run(vec![point])));
    let point = &json["load_points"][0];
    // Errors in the ramps count as well, because they also make the point invalid.
    assert_eq!(point["errors"], 5);
    assert_eq!(point["ops"]["write"]["errors"], 5);
    assert_eq!(point["whole"]["write"]["errors"], 5);
    let expected = serde_json::json!([
        {"op": "write", "status": "STATUS_DISK_FULL", "code": "0xC000007F", "count": 2},
        {"op": "write", "status": "0xC1234567", "code": "0xC1234567", "count": 1},
        {"op": "write", "status": "short", "code": null, "count": 1},
        {"op": "write", "status": "wrong-data", "code": null, "count": 1},
    ]);
    assert_eq!(point["failures"], expected);
}

#[test]
fn lost_connections_stand_in_the_document_only_where_there_are_some() {
    let (quiet, mut point) = (point(1, 1, 4), point(2, 1, 4));
    book(&mut point.ops, Phase::Window, |ops| {
        for (at, kind) in [
            (1_500_000_000, EventKind::LinkLost),
            (3_500_000_000, EventKind::LinkBack),
        ] {
            ops.event(LoadEvent {
                at: Nanos(at),
                kind,
                clients: 2,
            });
        }
    });
    let doc = document(&run(vec![quiet, point]));
    let json = json(&doc);
    assert_eq!(json["load_points"][0].get("links"), None);
    let expected = serde_json::json!([
        {"kind": "link-lost", "at_s": 1.5, "clients": 2},
        {"kind": "link-back", "at_s": 3.5, "clients": 2},
    ]);
    assert_eq!(json["load_points"][1]["links"], expected);
    assert_eq!(json["load_points"][1].get("links_left_out"), None);
    let read = RunDoc::parse(doc.to_json().as_bytes(), Path::new("here")).unwrap();
    assert_eq!(read.load_points[1].links, doc.load_points[1].links);
}

#[test]
fn what_was_not_measured_is_null() {
    let mut point = point(1, 1, 0);
    point.ops = Default::default();
    book(&mut point.ops, Phase::Outside, |ops| {
        ops.success(OpKind::Read, 1, Nanos(1));
    });
    point.window = Default::default();
    let json = json(&document(&run(vec![point])));
    let point = &json["load_points"][0];
    assert_eq!(json["peak"], Value::Null);
    assert_eq!(point["throughput_mbps"], 0.0);
    assert_eq!(point["latency_ns"], Value::Null);
    assert_eq!(point["ops"]["read"]["service_ns"], Value::Null);
    assert_eq!(point["client"]["cpu_us_per_op"], Value::Null);
    assert_eq!(point["ops"].get("write"), None);
}

#[test]
fn cpu_of_the_server_is_a_number_or_a_reason() {
    let doc = document(&run(vec![
        on_a_busy_server(point(1, 1, 400)),
        point(4, 1, 400),
    ]));
    let json: Value = serde_json::from_str(&doc.to_json()).unwrap();
    let [measured, lost] = [0, 1].map(|at| &json["load_points"][at]);
    // 10 of 40 CPU seconds.
    let mbps = measured["throughput_mbps"].as_f64().unwrap();
    let ops_per_s = measured["ops_per_s"].as_f64().unwrap();
    let cpu = &measured["server_cpu"];
    assert_eq!(
        (&cpu["scope"], &cpu["cores"]),
        (&value!("machine"), &value!(4))
    );
    assert_eq!(
        (&cpu["busy_s"], &cpu["percent"]),
        (&value!(10.0), &value!(25.0))
    );
    assert_eq!(cpu["mbps_per_percent"], mbps / 25.0);
    assert_eq!(cpu["ops_per_s_per_percent"], ops_per_s / 25.0);
    assert_eq!(cpu["us_per_op"], 1e7 / (ops_per_s * 10.0));
    assert_eq!(cpu["not_measured"], Value::Null);
    let cpu = &lost["server_cpu"];
    assert!(
        cpu["not_measured"]
            .as_str()
            .unwrap()
            .contains("--server-metrics")
    );
    for key in [
        "scope",
        "cores",
        "busy_s",
        "percent",
        "us_per_op",
        "mbps_per_percent",
    ] {
        assert_eq!(cpu[key], Value::Null, "{key}");
    }
}

#[test]
fn a_run_says_how_it_ended() {
    let cases = [
        (Outcome::Complete, "complete", Value::Null),
        (Outcome::Interrupted, "interrupted", Value::Null),
        (
            Outcome::Aborted("server is gone".to_owned()),
            "aborted",
            "server is gone".into(),
        ),
    ];
    for (outcome, name, reason) in cases {
        let mut record = run(Vec::new());
        record.outcome = outcome;
        let json = json(&document(&record));
        assert_eq!(json["outcome"], name);
        assert_eq!(json["outcome_reason"], reason);
    }
}

#[test]
fn no_document_holds_the_password() {
    let record = curve();
    assert_eq!(record.plan.sessions.target.password.expose(), PASSWORD);
    assert!(!document(&record).to_json().contains(PASSWORD));
}

#[test]
fn drop_outs_make_a_point_invalid_without_being_listed() {
    let doc = document(&run(vec![dropped(point(8, 1, 100), 2)]));
    assert!(!doc.load_points[0].valid);
    assert_eq!(
        doc.load_points[0].invalid_reason.as_deref(),
        Some("2 of 8 clients dropped out")
    );
    assert_eq!(doc.peak, None);
}

#[test]
fn copies_on_the_server_are_no_throughput() {
    let mut record = curve();
    let ops = &mut record.load_points[0].ops;
    let (before, kind) = (ops.clone(), OpKind::CopyChunk);
    book(ops, Phase::Window, |ops| {
        ops.success(kind, 1 << 20, Nanos(1));
        ops.success(OpKind::CreateReadClose, 512, Nanos(1));
    });
    let point = &document(&record).load_points[0];
    let read = before.window(OpKind::Read).bytes + 512;
    assert_eq!(point.bytes_read, read);
    assert_eq!(point.bytes_written, before.window(OpKind::Write).bytes);
    assert_eq!(point.ops["copy_chunk"].bytes, 1 << 20);
    assert_eq!(point.ops["create_read_close"].bytes, 512);
}

/// The spread of throughput over the window does not include copies either.
#[test]
fn copies_on_the_server_are_no_noise_of_throughput() {
    let document = document(&curve());
    let point = &document.load_points[2];
    let mut copying = point.clone();
    let series = copying.series.as_mut().unwrap();
    let mut copies = series.ops["write"].clone();
    for (at, bytes) in copies.bytes.iter_mut().enumerate() {
        *bytes = (at as u64 % 3) << 30;
        series.all.bytes[at] += *bytes;
    }
    series.ops.insert("copy_chunk".to_owned(), copies);
    let measured = |point| Metric::Throughput.measured(&[point], None).unwrap();
    assert!(measured(point).spread.is_some());
    assert_eq!(measured(&copying), measured(point));
}
