//! Several populations in a document, in tables, in CSV and in conditions.

use std::path::Path;
use std::time::Duration;

use serde_json::json as value;
use smbench_model::Nanos;
use smbench_model::contents::Verify;
use smbench_model::kind::OpKind;
use smbench_model::load::stream::{FrameStream, StreamLayout, StreamStart};
use smbench_model::load::{LoadModel, Spacing};
use smbench_model::record::{
    LoadPointRecord, OperationFailure, Phase, PopulationRecord, Punctuality, RunRecord,
    ServerFacts, SplitSizes,
};
use smbench_model::sessions::{Mode, SessionOptions};
use smbench_model::stages::StagesPurpose;
use smbench_model::work::Population;
use smbench_protocol::NtStatus;
use smbench_report::compare::{Input, compare};
use smbench_report::doc::{Named, StageDoc, StageUnitDoc};
use smbench_report::plan::details;
use smbench_report::text::{
    cautions, interference, operations_of_populations, populations, runs_alone,
};
use smbench_report::{Condition, Curve, RunDoc, Threshold, render, write_csv};

use super::json;
use crate::samples::{book, curve, document, point, run, unwrapped};

/// Returns a load point of an office that reads and writes, and of a backup at a rate with one
/// failed write.
fn load_point(clients: u32, pass: u32, reads: u64) -> LoadPointRecord {
    let office = point(clients - 4, pass, reads);
    let mut backup = point(4, pass, 40);
    let mut all = point(clients, pass, reads + 40);
    for ops in [&mut backup.ops, &mut all.ops] {
        book(ops, Phase::Window, |window| {
            let denied = OperationFailure::Status(NtStatus(0xC000_0022));
            window.failure(OpKind::Write, denied);
        });
    }
    // Both points have these operations once.
    book(&mut all.ops, Phase::Window, |window| {
        for _ in 0..10 {
            window.success(OpKind::Flush, 0, Nanos(30_000_000));
        }
    });
    book(&mut all.ops, Phase::Outside, |ramp| {
        ramp.success(OpKind::Read, 4096, Nanos(9_000_000));
    });
    let part = |name: &str, of: LoadPointRecord, punctuality| PopulationRecord {
        name: name.to_owned(),
        clients: of.clients,
        ops: of.ops,
        series: of.series,
        clients_served: of.clients,
        punctuality,
        dropouts: Vec::new(),
    };
    let due = Punctuality {
        due: 900,
        answered: 500,
        ..Punctuality::default()
    };
    LoadPointRecord {
        populations: vec![
            part("office", office, Punctuality::default()),
            part("backup", backup, due),
        ],
        ..all
    }
}

/// Returns passes at 8 clients, with these reads per second of the office.
pub(crate) fn company_passes(reads: &[u64]) -> RunDoc {
    let passes = (1..).zip(reads);
    let passes = passes.map(|(pass, reads)| load_point(8, pass, *reads));
    document(&company_of(&[8], passes.collect()))
}

fn company(points: &[u32]) -> RunRecord {
    let loads = points.iter().map(|&clients| load_point(clients, 1, 400));
    company_of(points, loads.collect())
}

fn company_of(points: &[u32], loads: Vec<LoadPointRecord>) -> RunRecord {
    let mut record = run(loads);
    let only = record.plan.only().clone();
    let office = Population {
        name: Some("office".to_owned()),
        profile: "file-server".to_owned(),
        share: Some(80.0),
        clients: points.iter().map(|clients| clients - 4).collect(),
        ..only.clone()
    };
    let backup = Population {
        name: Some("backup".to_owned()),
        profile: "walk".to_owned(),
        clients: points.iter().map(|_| 4).collect(),
        load: LoadModel::Rate {
            rate: "90".parse().unwrap(),
            arrivals: Spacing::Exponential,
        },
        start: Duration::from_secs(3),
        ..only
    };
    record.plan.work.populations = vec![office, backup];
    record.plan.work.profile = "company".to_owned();
    record
}

#[test]
fn populations_are_in_the_plan_and_in_load_points() {
    let record = company(&[8, 20]);
    let doc = document(&record);
    let json = json(&doc);
    let plan = &json["plan"];
    assert_eq!(plan["profile"], "company");
    assert_eq!(plan["load_points"], value!([8, 20]));
    assert_eq!(plan["digest"], record.plan.digest());
    assert_eq!(plan["workload"]["sizes"], value!([]));
    let [office, backup] = &plan["populations"].as_array().unwrap()[..] else {
        panic!("there are two populations");
    };
    assert_eq!(
        (&office["name"], &office["profile"]),
        (&value!("office"), &value!("file-server"))
    );
    assert_eq!(
        (&office["share"], &office["clients"]),
        (&value!(80.0), &value!([4, 16]))
    );
    assert_eq!(office["workload"]["sizes"][1]["bytes"], 65_536);
    assert_eq!(
        (&office["loop"], &backup["loop"]),
        (&value!("closed"), &value!("rate"))
    );
    assert_eq!(
        (&backup["rate_per_s"], &backup["arrivals"]),
        (&value!(90.0), &value!("poisson"))
    );
    assert_eq!(
        (&backup["start_s"], office.get("start_s")),
        (&value!(3.0), None)
    );
    // Each client has a file of 1 MiB.
    assert_eq!(plan["bytes_on_share"], 20 << 20);

    let point = &json["load_points"][1];
    let parts = point["populations"].as_array().unwrap();
    let names: Vec<_> = parts.iter().map(|part| &part["name"]).collect();
    assert_eq!(names, ["office", "backup"]);
    let sum = |key: &str| -> f64 { parts.iter().map(|part| part[key].as_f64().unwrap()).sum() };
    for key in [
        "clients",
        "ops_per_s",
        "throughput_mbps",
        "errors",
        "bytes_read",
    ] {
        let (all, sum) = (point[key].as_f64().unwrap(), sum(key));
        assert!((all - sum).abs() < 1e-9, "{key}: {all}, {sum}");
    }
    for kind in ["read", "write", "flush"] {
        let count = |of: &serde_json::Value| of["ops"][kind]["count"].as_u64().unwrap();
        assert_eq!(parts.iter().map(count).sum::<u64>(), count(point), "{kind}");
    }
    assert_eq!(
        parts[0]["latency_ns"]["p50"].as_u64().unwrap() / 10_000,
        100
    );
    assert_eq!(parts[1]["failures"][0]["status"], "STATUS_ACCESS_DENIED");
    assert_eq!(parts[1]["offered"]["rate_missed"], true);
    assert_eq!(parts[0].get("offered"), None);
    // Only the rate asked for a number of operations.
    assert_eq!(point["offered"]["operations"], 900);
    assert_eq!(point["offered"]["rate_missed"], true);

    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("company.json");
    doc.save(&path).unwrap();
    assert_eq!(RunDoc::load(&path).unwrap(), doc);
}

#[test]
fn a_run_without_named_populations_has_none_of_their_keys() {
    let text = document(&curve()).to_json();
    assert!(!text.contains("population"), "{text}");
    let mut named = curve();
    named.plan.only_mut().name = Some("office".to_owned());
    let json = json(&document(&named));
    let points = json["load_points"].as_array().unwrap();
    assert_eq!(json["plan"]["populations"][0]["name"], "office");
    for point in points {
        let [part] = &point["populations"].as_array().unwrap()[..] else {
            panic!("there is one population");
        };
        for key in [
            "clients",
            "ops_per_s",
            "ops",
            "whole",
            "latency_ns",
            "series",
        ] {
            assert_eq!(part[key], point[key], "{key}");
        }
    }
}

#[test]
fn each_population_has_a_row_in_tables_and_rows_in_csv() {
    let doc = document(&company(&[8]));
    let curve = Curve::of(&doc.load_points);
    insta::assert_snapshot!(populations(&curve).unwrap().to_text(), @"
    populations at 8 clients
    population  clients  Mbit/s  ops/s     mean      p50      p99  errors
    office            4    16.4    501  1.26 ms  1.00 ms  2.00 ms       0
    backup            4     1.6   51.0  1.77 ms  1.00 ms  30.0 ms       1
    ");
    let operations = operations_of_populations(&curve).unwrap();
    assert_eq!(operations.title, "operations of populations at 8 clients");
    let lines = operations.to_text();
    for start in [
        "office      read    4000    13.1  1.00 ms",
        "backup      flush     10 ",
    ] {
        assert!(lines.lines().any(|line| line.starts_with(start)), "{lines}");
    }
    let several = document(&company(&[8, 20]));
    let curve = Curve::of(&several.load_points);
    insta::assert_snapshot!(populations(&curve).unwrap().to_text(), @"
    populations
    of  population  clients  Mbit/s  ops/s     mean      p50      p99  errors
     8  office            4    16.4    501  1.26 ms  1.00 ms  2.00 ms       0
     8  backup            4     1.6   51.0  1.77 ms  1.00 ms  30.0 ms       1
    20  office           16    16.4    501  1.26 ms  1.00 ms  2.00 ms       0
    20  backup            4     1.6   51.0  1.77 ms  1.00 ms  30.0 ms       1
    ");
    let text = render(&doc);
    for part in [
        "profile  company: office (file-server, closed loop, 4 outstanding per client), backup",
        "load     2 populations, ",
        "populations at 8 clients",
        "operations of populations at 8 clients",
    ] {
        assert!(text.contains(part), "{text}");
    }
    let mut csv = Vec::new();
    write_csv(&doc, &mut csv).unwrap();
    let csv = String::from_utf8(csv).unwrap();
    let rows: Vec<Vec<&str>> = csv.lines().map(|line| line.split(',').collect()).collect();
    let at = |name: &str| rows[0].iter().position(|column| *column == name).unwrap();
    let [op, count, population, clients] =
        ["op", "count", "population", "population_clients"].map(at);
    let reads = rows.iter().filter(|row| row[op] == "read");
    let reads: Vec<_> = reads
        .map(|row| [row[population], row[clients], row[count]])
        .collect();
    assert_eq!(
        reads,
        [
            ["", "", "4400"],
            ["office", "4", "4000"],
            ["backup", "4", "400"]
        ]
    );
}

/// Returns the record of a company whose backup has signing and credits of its own. Also returns
/// the facts of its server as the backup sees it, which signs nothing.
fn with_own_sessions() -> (RunRecord, ServerFacts) {
    let mut record = company(&[8]);
    let options = record.plan.sessions.options;
    let backup = &mut record.plan.work.populations[1];
    backup.credits = Some(64);
    backup.session = Some(SessionOptions {
        signing: Mode::Required,
        ..options
    });
    let unsigned = ServerFacts {
        signing: None,
        ..record.server.clone()
    };
    record.server.populations = vec![record.server.clone(), unsigned.clone()];
    (record, unsigned)
}

#[test]
fn sessions_of_a_population_are_named() {
    let usual = document(&company(&[8]));
    let (record, _) = with_own_sessions();
    let doc = document(&record);
    let [office, backup] = &doc.plan.populations[..] else {
        panic!("there are two populations");
    };
    assert_eq!(*office, usual.plan.populations[0]);
    assert_eq!(
        (backup.dialect.as_deref(), backup.signing, backup.credits),
        (Some("3.1.1"), Some(Mode::Required), Some(64))
    );
    let planned = details(&doc.plan);
    let (_, lines) = planned.iter().find(|of| of.0 == "populations").unwrap();
    let part = "; dialect 3.1.1; signing required; encryption as the server requires; at most 64 \
                credits";
    assert_eq!(lines.matches(part).count(), 1, "{lines}");
    let starved = |credits: Option<u16>| {
        let mut doc = doc.clone();
        doc.load_points[0].credit_starved_s = 8.0;
        doc.plan.sessions.credits = credits;
        cautions(&doc).join(" ")
    };
    for (credits, limits) in [
        (
            None,
            "time: no connection of backup used more than 64 credits",
        ),
        (
            Some(8),
            "time: no connection of backup used more than 64 credits, no other connection used \
             more than 8 credits",
        ),
        (Some(64), "time: no connection used more than 64 credits"),
    ] {
        let said = starved(credits);
        assert!(said.contains(limits), "{said}");
        assert!(!said.contains("granted too few"), "{said}");
    }
}

#[test]
fn what_the_sessions_of_each_population_agreed_to_is_named() {
    let (mut record, _) = with_own_sessions();
    let doc = document(&record);
    let terms = doc.server.sessions.iter();
    let terms: Vec<_> = terms.map(|of| [&of.population[..], &of.signing]).collect();
    assert_eq!(terms, [["office", "aes-128-cmac"], ["backup", "off"]]);
    let text = unwrapped(&render(&doc));
    let session = "office: SMB 3.1.1, ntlm, signed (aes-128-cmac), not encrypted; backup: SMB \
                   3.1.1, ntlm, not signed, not encrypted";
    assert!(text.contains(session), "{text}");
    record.server.populations[1] = record.server.populations[0].clone();
    let doc = document(&record);
    assert!(doc.server.sessions.is_empty());
    let text = render(&doc);
    assert!(!text.contains("office: SMB"), "{text}");
}

/// Sessions of other dialects or credits take requests of other sizes.
#[test]
fn split_operations_are_those_of_each_population() {
    let words = |reads: [Option<u32>; 2]| {
        let mut record = company(&[8]);
        let facts = record.server.clone();
        record.server.populations = reads
            .map(|read| ServerFacts {
                split: read.map(|read| SplitSizes {
                    read: Some(read << 10),
                    write: None,
                }),
                ..facts.clone()
            })
            .to_vec();
        record.server.split = record.server.populations[0].split;
        let text = render(&document(&record));
        let line = text.lines().find(|line| line.starts_with("split"));
        line.unwrap_or_default().to_owned()
    };
    assert_eq!(
        words([Some(16), Some(16)]),
        "split    reads of 64 KiB in 4 requests"
    );
    assert_eq!(
        words([Some(16), Some(32)]),
        "split    office: reads of 64 KiB in 4 requests; backup: reads of 64 KiB in 2 requests"
    );
    // The reads of the other one are as large, and each fits one of its requests.
    assert_eq!(
        words([Some(16), None]),
        "split    office: reads of 64 KiB in 4 requests"
    );
}

#[test]
fn a_population_alone_is_compared_on_its_own_terms() {
    let (record, unsigned) = with_own_sessions();
    let doc = document(&record);
    let alone = |index: usize, server: &ServerFacts| {
        document(&RunRecord {
            load_points: vec![point(4, 1, 800)],
            plan: record.plan.alone().nth(index).unwrap(),
            server: server.clone(),
            ..company(&[8])
        })
    };
    let (first, alone) = (alone(0, &company(&[8]).server), alone(1, &unsigned));
    assert_eq!(runs_alone(&doc, [&alone]), [&alone]);
    assert_eq!(runs_alone(&doc, [&first]), [&first]);
    assert!(runs_alone(&document(&company(&[8])), [&alone]).is_empty());
    let with_terms = |of: &RunDoc, auth: &str, dialect: &str| {
        let mut of = of.clone();
        of.server.auth = Some(auth.to_owned());
        of.server.dialect = dialect.to_owned();
        of
    };
    for (part, auth, dialect, is_found) in [
        (&first, "ntlm", "3.1.1", true),
        (&first, "ntlm", "2.1", false),
        (&alone, "ntlm", "3.1.1", true),
        (&alone, "ntlm", "2.1", false),
        (&alone, "kerberos", "3.1.1", false),
    ] {
        let part = with_terms(part, auth, dialect);
        let found = runs_alone(&doc, [&part]);
        assert_eq!(!found.is_empty(), is_found, "{auth} {dialect}");
    }
}

#[test]
fn populations_whose_reads_are_verified_are_named() {
    let text = |verified: &[usize]| {
        let mut record = company(&[8]);
        for at in verified {
            record.plan.work.populations[*at].verify = Verify::ReadBack;
        }
        unwrapped(&render(&document(&record)))
    };
    assert!(text(&[0]).contains(", reads of office are verified\n"));
    assert!(text(&[0, 1]).contains(", what is read is verified\n"));
    assert!(!text(&[]).contains("verified"));
}

#[test]
fn streams_are_those_of_their_population() {
    let mut record = company(&[8]);
    record.plan.work.populations[0].load = LoadModel::Stream(FrameStream {
        frame_bytes: 1 << 20,
        frames_per_s: 24.0,
        read_ahead: 4,
        layout: StreamLayout::OneFile,
        start: StreamStart::Spread,
    });
    let doc = document(&record);
    let json = json(&doc);
    let plan = &json["plan"];
    assert_eq!(plan.get("stream"), None);
    let [office, backup] = &plan["populations"].as_array().unwrap()[..] else {
        panic!("there are two populations");
    };
    assert_eq!(office["stream"]["frames_per_s"], 24.0);
    assert_eq!(backup.get("stream"), None);
    let text = unwrapped(&render(&doc));
    for part in [
        "office (file-server, streams of 24",
        "backup (walk, 90.0 operations/s",
    ] {
        assert!(text.contains(part), "{text}");
    }
    let planned = details(&doc.plan);
    let (_, lines) = planned.iter().find(|of| of.0 == "populations").unwrap();
    assert_eq!(
        lines.matches("frames of 1048576 bytes").count(),
        1,
        "{lines}"
    );
    assert!(planned.iter().all(|of| of.0 != "stream"), "{planned:?}");
}

#[test]
fn conditions_name_a_population() {
    let record = company(&[8, 20]);
    let doc = document(&record);
    let words = |condition: &str| {
        let threshold: Threshold = condition.parse().unwrap();
        threshold.check(&record.plan).unwrap();
        threshold.judge(&doc).to_string()
    };
    for (condition, expected) in [
        (
            "office errors > 0",
            "passed   office errors > 0: 0 errors at all load points",
        ),
        (
            "backup errors > 0",
            "failed   backup errors > 0: 2 errors at all load points",
        ),
        (
            "backup write errors at 8 > 1",
            "passed   backup write errors at 8 > 1: 1 error at 8 clients",
        ),
        (
            "office throughput at 20 < 1",
            "passed   office throughput at 20 < 1: 16.4 Mbit/s at 20 clients",
        ),
        (
            "backup ops/s at 20 > 40",
            "failed   backup ops/s at 20 > 40: 51.0 at 20 clients",
        ),
        (
            "office read p99 at 8 > 900us",
            "failed   office read p99 at 8 > 900us: 1.00 ms at 8 clients",
        ),
        (
            "office max at 8 > 1s",
            "passed   office max at 8 > 1s: 30.0 ms at 8 clients",
        ),
    ] {
        assert_eq!(words(condition), expected);
    }
    let refused = |condition: &str| {
        let threshold: Threshold = condition.parse().unwrap();
        threshold.check(&record.plan).unwrap_err().to_string()
    };
    assert_eq!(
        refused("offce p99 > 1ms"),
        "'offce p99 > 1ms' cannot be judged: profile company has no population offce, only \
         office, backup"
    );
    assert_eq!(
        refused("office walk p99 > 1ms"),
        "'office walk p99 > 1ms' cannot be judged: profile file-server has no walk, only read, \
         write, flush"
    );
    assert_eq!(
        refused("office late > 0"),
        "'office late > 0' cannot be judged: profile file-server has no stream"
    );
    let condition: Threshold = "office p99 > 1ms".parse().unwrap();
    let judged = condition.judge(&doc);
    assert_eq!(judged.population.as_deref(), Some("office"));
    assert_eq!(judged.operation, None);
}

/// A gate refuses it before the load.
#[test]
fn a_condition_on_a_change_of_a_population_that_is_not_there_is_refused() {
    let plan = company(&[8]).plan;
    let checked = |condition: &str| {
        let condition: Condition = condition.parse().unwrap();
        condition.check(&plan).map_err(|error| error.to_string())
    };
    for known in [
        "p99 > +10%",
        "read p99 > +10%",
        "office p99 > +10%",
        "office read p99 > +10%",
    ] {
        assert_eq!(checked(known), Ok(()), "{known}");
    }
    for unknown in ["offce p99 > +10%", "offce read p99 > +10%"] {
        let refused = checked(unknown).unwrap_err();
        let reason = "profile company has no population offce, only office, backup";
        assert!(refused.ends_with(reason), "{refused}");
    }
}

#[test]
fn interference_sets_a_population_alone_beside_the_others() {
    let together = company(&[8]);
    let alone = together.plan.alone().next().unwrap();
    let office = RunRecord {
        load_points: vec![point(4, 1, 800)],
        plan: alone,
        ..company(&[8])
    };
    let table = interference(&[document(&office)], &document(&together)).unwrap();
    insta::assert_snapshot!(table.to_text(), @"
    each population alone, and together with the others
    population  clients  ops/s  together  factor      p50  together  factor      p99  together  factor
    office            4   1001       501    0.50  1.00 ms   1.00 ms    1.00  2.00 ms   2.00 ms    1.00
    backup            4      -      51.0       -        -   1.00 ms       -        -   30.0 ms       -
    factor: together, divided by alone
    ");
    assert!(interference(&[], &document(&curve())).is_none());
    // Stages of the same number may be of other times.
    let staged = |record: &RunRecord, length_s: f64| {
        let mut doc = document(record);
        doc.load_points[0].stage = Some(StageDoc {
            number: 1,
            unit: Named::Known(StageUnitDoc::Clients),
            begin_s: 0.0,
            length_s,
            from: 4.0,
            to: 4.0,
            clients_at_start: None,
            purpose: StagesPurpose::Lines,
        });
        doc
    };
    let is_paired = |alone_s: f64| {
        let table = interference(&[staged(&office, alone_s)], &staged(&together, 2.0));
        table.unwrap().to_text().contains("1001")
    };
    assert!(is_paired(2.0));
    assert!(!is_paired(1.0));
}

#[test]
fn runs_of_single_populations_are_found_among_others() {
    let together = document(&company(&[8]));
    let alone = |index: usize, started: &str| RunDoc {
        started: started.to_owned(),
        ..document(&RunRecord {
            load_points: vec![point(4, 1, 800)],
            plan: company(&[8]).plan.alone().nth(index).unwrap(),
            ..company(&[8])
        })
    };
    let of_another_server = |mut doc: RunDoc| {
        doc.server.url = "smb://bench@other.example/data".to_owned();
        doc
    };
    let others = [
        alone(0, "2025-12-31T00:00:00Z"),
        alone(0, "2026-01-02T00:00:00Z"),
        alone(1, "2026-01-01T00:00:00Z"),
        alone(0, "2026-01-03T00:00:00Z"),
        of_another_server(alone(1, "2026-01-02T00:00:00Z")),
        together.clone(),
    ];
    let found = runs_alone(&together, &others);
    let started: Vec<_> = found.iter().map(|of| &of.started[..10]).collect();
    assert_eq!(started, ["2026-01-02", "2026-01-01", "2025-12-31"]);
    assert!(runs_alone(&others[1], &others).is_empty());
}

/// A run with further load points is compared where both have one. Other shares are other work.
#[test]
fn runs_of_populations_with_other_load_points_are_compared() {
    let few = company(&[8, 20]);
    let other_work = |record: &RunRecord| -> Vec<String> {
        let input = |name: &str, record| Input::of_run(Path::new(name), document(record));
        let compared = compare(&[input("few.json", &few), input("other.json", record)]).unwrap();
        let differences = compared.pairs.into_iter().flat_map(|pair| pair.workload);
        differences.map(|difference| difference.key).collect()
    };
    assert_eq!(other_work(&company(&[8, 20, 30])), [""; 0]);
    let mut other = company(&[8, 20]);
    other.plan.work.populations[0].share = Some(40.0);
    assert_eq!(other_work(&other), ["plan.populations"]);
}
