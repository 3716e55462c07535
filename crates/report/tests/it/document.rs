//! The keys of documents, and the arithmetic behind their values.

use std::time::Duration;

use serde_json::{Value, json as value};
use smbench_model::Nanos;
use smbench_model::contents::block::Mismatch;
use smbench_model::contents::verify::Verdict;
use smbench_model::plan::Verify;
use smbench_model::record::{Failure, OpKind, Outcome, Phase, RunRecord};
use smbench_protocol::NtStatus;
use smbench_report::doc::MachineDoc;
use smbench_report::latency::{LatencyDoc, pool};
use smbench_report::metric::Metric;
use smbench_report::{RunDoc, render};

use crate::samples::{
    PASSWORD, book, curve, document, dropped, metadata_plan, on_a_busy_server, point, run,
};

fn json(doc: &RunDoc) -> Value {
    serde_json::from_str(&doc.to_json()).unwrap()
}

/// Returns the values at a path like `load_points[].ops.*.count`.
fn at<'a>(root: &'a Value, path: &str) -> Vec<&'a Value> {
    let mut found = vec![root];
    for key in path.split('.') {
        let (name, each) = match key.strip_suffix("[]") {
            Some(name) => (name, true),
            None => (key, false),
        };
        found = found
            .into_iter()
            .flat_map(|value| match name {
                "*" => value.as_object().unwrap().values().collect(),
                _ => vec![
                    value
                        .get(name)
                        .unwrap_or_else(|| panic!("{path}: no {name}")),
                ],
            })
            .flat_map(|value| match each {
                true => value.as_array().unwrap().iter().collect(),
                false => vec![value],
            })
            .collect();
    }
    found
}

#[test]
fn contracted_keys_have_their_types() {
    let integer: fn(&Value) -> bool = Value::is_u64;
    let number: fn(&Value) -> bool = Value::is_f64;
    let string: fn(&Value) -> bool = Value::is_string;
    let boolean: fn(&Value) -> bool = Value::is_boolean;
    let mut contract = vec![
        ("schema_version".to_owned(), integer),
        ("plan.profile".to_owned(), string),
        ("plan.seed".to_owned(), integer),
        ("plan.digest".to_owned(), string),
        ("plan.outstanding".to_owned(), integer),
        ("plan.bytes_on_share".to_owned(), integer),
        ("server.url".to_owned(), string),
        ("server.dialect".to_owned(), string),
        ("server.signing".to_owned(), string),
        ("server.encryption".to_owned(), string),
        ("server.flush".to_owned(), string),
        ("server.where".to_owned(), string),
        ("loop".to_owned(), string),
        ("outcome".to_owned(), string),
        ("started".to_owned(), string),
        ("load_points[].clients".to_owned(), integer),
        ("load_points[].repeat".to_owned(), integer),
        ("load_points[].window_s".to_owned(), number),
        ("load_points[].clients_served".to_owned(), integer),
        ("load_points[].valid".to_owned(), boolean),
        ("load_points[].throughput_mbps".to_owned(), number),
        ("load_points[].ops_per_s".to_owned(), number),
        ("load_points[].bytes_read".to_owned(), integer),
        ("load_points[].bytes_written".to_owned(), integer),
        ("load_points[].errors".to_owned(), integer),
        ("load_points[].credit_starved_s".to_owned(), number),
        ("load_points[].held_back_s".to_owned(), number),
        ("load_points[].generator_limited".to_owned(), boolean),
        ("load_points[].generator.limited".to_owned(), boolean),
        (
            "load_points[].generator.machine_busy_share".to_owned(),
            number,
        ),
        ("load_points[].generator.held_back_share".to_owned(), number),
        (
            "load_points[].generator.credit_starved_share".to_owned(),
            number,
        ),
        (
            "load_points[].generator.workers[].cpu_share".to_owned(),
            number,
        ),
        (
            "load_points[].generator.workers[].waiting_share".to_owned(),
            number,
        ),
        ("load_points[].drain_s".to_owned(), number),
        ("load_points[].setup.sessions".to_owned(), integer),
        ("load_points[].setup.elapsed_s".to_owned(), number),
        ("load_points[].setup.sessions_per_s".to_owned(), number),
        ("load_points[].setup.hdr".to_owned(), string),
        ("load_points[].client.cpu_user_s".to_owned(), number),
        ("load_points[].client.cpu_system_s".to_owned(), number),
        ("load_points[].client.cpu_us_per_op".to_owned(), number),
        ("load_points[].client.max_rss_bytes".to_owned(), integer),
        ("peak.throughput_mbps".to_owned(), number),
        ("peak.clients".to_owned(), integer),
        ("peak.latency_mean_ns".to_owned(), number),
        ("peak.within_95_percent_clients".to_owned(), integer),
    ];
    for op in ["read", "write", "flush"] {
        for totals in ["ops", "whole"] {
            for key in ["count", "bytes", "errors"] {
                contract.push((format!("load_points[].{totals}.{op}.{key}"), integer));
            }
        }
        contract.push((format!("load_points[].ops.{op}.hdr"), string));
    }
    for summary in [
        "latency_ns",
        "setup.latency_ns",
        "ops.*.service_ns",
        "ops.*.response_ns",
    ] {
        contract.push((format!("load_points[].{summary}.mean"), number));
        for key in ["min", "max", "p50", "p90", "p95", "p99", "p999"] {
            contract.push((format!("load_points[].{summary}.{key}"), integer));
        }
    }
    for lateness in ["generator.lateness_ns", "generator.workers[].lateness_ns"] {
        for key in ["p50", "p99", "max"] {
            contract.push((format!("load_points[].{lateness}.{key}"), integer));
        }
    }
    let json = json(&document(&curve()));
    for (path, has_type) in contract {
        let values = at(&json, &path);
        assert!(!values.is_empty(), "{path}");
        assert!(values.into_iter().all(has_type), "{path}");
    }
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
fn a_generator_that_was_the_limit_is_told_with_its_reason() {
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
        (Verdict::Checked, Phase::Window),
        (Verdict::Checked, Phase::Outside),
        (Verdict::Unjudged, Phase::Window),
    ] {
        book(&mut verified.ops, phase, |ops| ops.verified(verdict));
    }
    let mismatch = Mismatch::Byte {
        offset: 0,
        expected: 1,
        found: 2,
    };
    book(&mut verified.ops, Phase::Window, |ops| {
        ops.wrong_data(OpKind::Read, (0, 0), &mismatch);
    });
    let mut record = run(vec![verified]);
    let said = |record: &RunRecord| json(&document(record))["load_points"][0].clone();
    assert_eq!(said(&record).get("verification"), None);
    record.plan.work.verify = Verify::ReadBack;
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
        (Failure::Status(NtStatus::DISK_FULL), Phase::Window),
        (Failure::Status(NtStatus::DISK_FULL), Phase::Outside),
        (Failure::Status(NtStatus(0xC123_4567)), Phase::Window),
        (Failure::Short, Phase::Window),
        (Failure::WrongData, Phase::Window),
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
fn drop_outs_make_a_point_invalid_without_being_told() {
    let doc = document(&run(vec![dropped(point(8, 1, 100), 2)]));
    assert!(!doc.load_points[0].valid);
    assert_eq!(
        doc.load_points[0].invalid_reason.as_deref(),
        Some("2 of 8 clients dropped out")
    );
    assert_eq!(doc.peak, None);
}

#[test]
fn peak_is_the_highest_valid_point() {
    let mut record = curve();
    record.load_points.push(dropped(point(32, 1, 9000), 1));
    let peak = document(&record).peak.unwrap();
    assert_eq!(peak.clients, 8);
    assert_eq!(peak.throughput_mbps, 65.536);
    assert_eq!(peak.within_95_percent_from_clients, 4);
    assert_eq!(peak.within_95_percent_clients, 8);
    assert_eq!(peak.latency_p99_ns / 1000, 2000);
}

#[test]
fn peak_is_that_of_the_averaged_curve() {
    // 8 clients have the best single pass, 16 clients the best mean.
    let record = run(vec![
        point(8, 1, 2000),
        point(16, 1, 1600),
        point(8, 2, 1000),
        point(16, 2, 1680),
    ]);
    let peak = document(&record).peak.unwrap();
    assert_eq!((peak.clients, peak.passes), (16, 2));
    assert!((peak.throughput_mbps - (65.536 + 68.8128) / 2.0).abs() < 1e-9);
}

#[test]
fn an_invalid_pass_stays_out_of_the_average() {
    let record = run(vec![point(8, 1, 1600), dropped(point(8, 2, 100), 1)]);
    let peak = document(&record).peak.unwrap();
    assert_eq!((peak.throughput_mbps, peak.passes), (65.536, 1));
}

#[test]
fn pooled_percentiles_are_those_of_one_histogram() {
    let (first, second) = (point(8, 1, 400), point(8, 2, 1600));
    let mut writes = first.ops.window(OpKind::Write).clone();
    writes.merge(second.ops.window(OpKind::Write));
    let mut all = first.ops.window_all();
    all.merge(&second.ops.window_all());
    let doc = document(&run(vec![first, second]));
    let parts = doc.load_points.iter().map(|point| &point.ops["write"].hdr);
    assert_eq!(
        LatencyDoc::of(&pool(parts)),
        LatencyDoc::of(&writes.service)
    );
    let peak = doc.peak.unwrap();
    let all = LatencyDoc::of(&all.service).unwrap();
    assert!((peak.latency_mean_ns - all.mean).abs() < 1e-3);
    assert_eq!(peak.latency_p99_ns, all.p99);
}

/// If passes had different numbers of CPUs, no share of them can be computed.
#[test]
fn passes_on_other_numbers_of_cpus_have_no_share_of_them() {
    let on = |cpus, repeat| {
        let mut doc = document(&run(vec![point(8, repeat, 400)]));
        doc.machine = Some(MachineDoc {
            cpus: Some(cpus),
            ..MachineDoc::default()
        });
        doc
    };
    let pooled = |cpus: [u32; 3]| {
        let passes = cpus.into_iter().zip(1..).map(|(cpus, pass)| on(cpus, pass));
        RunDoc::pooled(passes.collect()).unwrap()
    };
    for (cpus, shared, notes) in [([2, 2, 2], Some(2), 0), ([2, 4, 2], None, 1)] {
        let doc = pooled(cpus);
        assert_eq!(doc.machine.unwrap().cpus, shared);
        assert_eq!(doc.server.notes.len(), on(2, 1).server.notes.len() + notes);
    }
}

/// The note appears once, and not for a machine that was only rebooted.
#[test]
fn passes_from_several_machines_are_told_of() {
    let on = |kernel: &str, repeat: u32| {
        let mut doc = document(&run(vec![point(8, repeat, 400)]));
        doc.machine = Some(MachineDoc {
            kernel: Some(kernel.to_owned()),
            memory_bytes: Some((1 << 30) - u64::from(repeat)),
            ..MachineDoc::default()
        });
        doc
    };
    let before = on("6.1", 1).server.notes.len();
    for (kernels, told) in [
        (["6.1", "6.1", "6.1"], 0),
        (["6.1", "6.12", "6.13"], 1),
        (["6.1", "6.12", "6.1"], 1),
    ] {
        let passes = kernels.into_iter().zip(1..);
        let passes = passes.map(|(kernel, pass)| on(kernel, pass)).collect();
        let notes = RunDoc::pooled(passes).unwrap().server.notes;
        let of_machines = notes.iter().filter(|note| note.contains("generated"));
        assert_eq!(of_machines.count(), told, "{kernels:?}: {notes:?}");
        assert_eq!(notes.len(), before + told, "{kernels:?}: {notes:?}");
    }
}

#[test]
fn the_plan_is_kept_whole() {
    let plan = json(&document(&curve()))["plan"].take();
    assert_eq!(plan["load_points"], serde_json::json!([1, 4, 8, 16]));
    assert_eq!(plan["ramp_up_s"], 2.0);
    assert_eq!(plan["duration_s"], 10.0);
    assert_eq!(plan["ramp_down_s"], 0.5);
    assert_eq!(plan["dialect"], "3.1.1");
    assert_eq!(plan["signing"], "auto");
    assert_eq!(plan["signing_algorithm"], "auto");
    assert_eq!(plan["encryption"], "auto");
    assert_eq!(plan["ciphers"][0], "aes-128-gcm");
    assert_eq!(plan["verify"], "off");
    assert_eq!(plan["workload"]["sizes"][1]["bytes"], 65_536);
    assert_eq!(plan["workload"]["flush_every_writes"], 100);
    assert_eq!(plan["bytes_on_share"], 16 << 20);
    assert_eq!(plan["digest"], curve().plan.digest());
}

#[test]
fn a_mix_is_kept_with_its_parameters() {
    let mut record = curve();
    record.plan = metadata_plan(&[1]);
    let document = document(&record);
    let json = json(&document);
    let workload = &json["plan"]["workload"];
    assert_eq!(workload["read_percent"], Value::Null);
    assert_eq!(
        workload["operations"],
        serde_json::json!([
            {"op": "query_info", "weight_percent": 30.0, "class": "fs_size"},
            {"op": "echo", "weight_percent": 50.0},
            {"op": "query_info", "weight_percent": 20.0, "class": "basic"},
        ])
    );
    let read: RunDoc = serde_json::from_value(json).unwrap();
    assert_eq!(read.plan, document.plan);
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
