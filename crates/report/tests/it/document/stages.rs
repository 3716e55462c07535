//! Stages and soaks: which rows are valid, and what conditions and trends are about.

use std::path::Path;
use std::time::{Duration, SystemTime};

use smbench_model::Nanos;
use smbench_model::kind::OpKind;
use smbench_model::plan::Plan;
use smbench_model::record::{
    Dropout, GeneratorRecord, HostRecord, LoadPointRecord, OperationFailure, Phase, Punctuality,
    RunRecord, StageMemory, StageRecord,
};
use smbench_model::stages::Stages;
use smbench_protocol::NtStatus;
use smbench_report::doc::StreamsDoc;
use smbench_report::plan::details;
use smbench_report::text::{cautions, stream_remarks};
use smbench_report::threshold::UnfinishedPoint;
use smbench_report::{RunDoc, Threshold, render};

use crate::samples::{book, document, point, run};

const ROWS: u32 = 10;

/// Returns a soak of ten rows of a second, after a ramp of two seconds.
fn soak(change: impl Fn(u32, &mut StageRecord)) -> LoadPointRecord {
    let stages = Stages::soak(8, Duration::from_secs(ROWS.into())).unwrap();
    staged(&stages, change)
}

/// Returns a load of at most 8 clients with these stages, after a ramp of two seconds.
fn staged(stages: &Stages, change: impl Fn(u32, &mut StageRecord)) -> LoadPointRecord {
    let whole = point(8, 1, 400);
    let row = |place: smbench_model::stages::StagePlace| {
        let mut row = StageRecord {
            place,
            clients: place.to as u32,
            clients_at_start: place.from as u32,
            until: Duration::from_secs(2) + place.end(),
            window: place.length,
            window_opened: SystemTime::UNIX_EPOCH,
            ops: whole.ops.clone(),
            punctuality: Punctuality::default(),
            populations: Vec::new(),
            invalid: None,
            client: whole.client,
            machine_busy: None,
            server_cpu: whole.server_cpu.clone(),
            tcp: None,
            memory: StageMemory::default(),
            hosts: Vec::new(),
        };
        change(place.number, &mut row);
        row
    };
    LoadPointRecord {
        stages: stages.places().map(row).collect(),
        ..whole
    }
}

/// Returns the run of a load with these stages.
fn staged_run(whole: LoadPointRecord, stages: Stages) -> RunRecord {
    let mut record = run(vec![point(8, 1, 400)]);
    record.load_points = whole.into_stages();
    record.plan.work.stages = Some(stages);
    record
}

/// Returns the document of a soak.
fn doc(whole: LoadPointRecord) -> RunDoc {
    let stages = Stages::soak(8, Duration::from_secs(ROWS.into())).unwrap();
    document(&staged_run(whole, stages))
}

/// Returns the outcome of a condition as it is printed.
fn words(doc: &RunDoc, condition: &str) -> String {
    let threshold: Threshold = condition.parse().unwrap();
    threshold.judge(doc).to_string()
}

/// Adds slow reads to the operations of a stage.
fn slow_down(row: &mut StageRecord) {
    for _ in 0..100 {
        book(&mut row.ops, Phase::Window, |recorder| {
            recorder.success(OpKind::Read, 4096, Nanos(80_000_000));
        });
    }
}

fn valid(doc: &RunDoc) -> Vec<bool> {
    doc.load_points.iter().map(|row| row.valid).collect()
}

#[test]
fn a_client_that_drops_out_voids_the_rows_from_then_on() {
    let lost = |after_s| Dropout {
        client: 3,
        reason: "connection reset by the server".to_owned(),
        after_s,
    };
    let with = |after_s| {
        doc(LoadPointRecord {
            dropouts: vec![lost(after_s)],
            invalid: Some("1 of 8 clients dropped out".to_owned()),
            ..soak(|_, _| {})
        })
    };
    // 6.5 s of the window, which is the seventh row.
    let late = with(Some(8.5));
    assert_eq!(
        valid(&late),
        [[true; 5], [true, false, false, false, false]].concat()
    );
    let of_rows: Vec<_> = late
        .load_points
        .iter()
        .map(|row| row.dropouts.len())
        .collect();
    assert_eq!(of_rows, [0, 0, 0, 0, 0, 0, 1, 1, 1, 1]);
    // In the ramp, and at an unknown time.
    assert_eq!(valid(&with(Some(1.0))), [false; 10]);
    assert_eq!(valid(&with(None)), [false; 10]);
}

/// A host has its operations in a stage. What is measured once for its whole load is in each.
#[test]
fn hosts_of_a_stage_have_what_they_did_in_it() {
    let busy = |share| GeneratorRecord {
        machine_busy: Some(share),
        ..GeneratorRecord::default()
    };
    let host = |operations: u32, generator| HostRecord {
        name: "node1".to_owned(),
        operations: operations.into(),
        generator: Some(generator),
        ..HostRecord::default()
    };
    let whole = LoadPointRecord {
        hosts: vec![HostRecord {
            late: Some(Nanos(7)),
            ..host(
                55,
                GeneratorRecord {
                    limited: Some("a thread was busy".to_owned()),
                    ..busy(0.9)
                },
            )
        }],
        ..soak(|number, row| row.hosts = vec![host(number, busy(0.5))])
    };
    for (row, number) in whole.into_stages().iter().zip(1..) {
        let [host] = &row.hosts[..] else {
            panic!("there is one host: {}", row.hosts.len());
        };
        assert_eq!((host.operations, host.late), (number, Some(Nanos(7))));
        let generator = host.generator.as_ref().unwrap();
        assert_eq!(generator.machine_busy, Some(0.5));
        assert!(generator.limited.is_some());
    }
}

/// Each stage has its part of the waits, also one that ends without a client.
#[test]
fn waits_of_a_load_are_divided_by_the_time_of_the_clients() {
    // 16, 32 and 8 seconds of clients.
    let stages: Stages = "4s:8,4s:8,2s:0".parse().unwrap();
    let whole = LoadPointRecord {
        credit_starved: Duration::from_millis(5600),
        held_back: Duration::from_millis(2800),
        hosts: vec![HostRecord {
            name: "node1".to_owned(),
            clients: 4,
            credit_starved: Duration::from_millis(1400),
            generator: Some(GeneratorRecord::default()),
            ..HostRecord::default()
        }],
        ..staged(&stages, |_, row| {
            row.hosts = vec![HostRecord {
                name: "node1".to_owned(),
                clients: row.clients / 2,
                ..HostRecord::default()
            }];
        })
    };
    let doc = document(&staged_run(whole, stages));
    let near = |value: f64, expected: f64| (value - expected).abs() < 1e-6;
    for (row, starved_s) in doc.load_points.iter().zip([1.6, 3.2, 0.8]) {
        assert!(near(row.credit_starved_s, starved_s), "{starved_s}");
        assert!(near(row.held_back_s, starved_s / 2.0), "{starved_s}");
        let generator = row.generator.as_ref().unwrap();
        assert!(near(generator.credit_starved_share, 0.1), "{starved_s}");
        assert!(near(generator.held_back_share, 0.05), "{starved_s}");
        let of_host = row.hosts[0].generator.as_ref().unwrap();
        assert!(near(of_host.credit_starved_share, 0.05), "{starved_s}");
    }
    let cautions = cautions(&doc);
    for words in [
        "sockets took no more 5 % of the clients' time",
        "10 % of the clients' time: the server granted too few",
    ] {
        assert!(
            cautions.iter().any(|line| line.contains(words)),
            "{cautions:?}"
        );
    }
}

#[test]
fn errors_drift_though_their_rows_are_not_valid() {
    let doc = doc(soak(|number, row| {
        for _ in 0..number * 10 {
            book(&mut row.ops, Phase::Window, |recorder| {
                let failure = OperationFailure::Status(NtStatus(0xc000_0022));
                recorder.failure(OpKind::Read, failure);
            });
        }
        row.invalid = Some("operations failed".to_owned());
    }));
    assert_eq!(valid(&doc), [false; 10]);
    let soak = doc.soak.as_ref().unwrap();
    let errors = soak
        .trends
        .iter()
        .find(|trend| trend.name == "errors_per_s");
    assert!(errors.unwrap().drifts, "{soak:?}");
    assert_eq!((soak.rows, soak.steady), (ROWS, Some(false)));
    let growth: Threshold = "errors > +5%/h".parse().unwrap();
    assert!(growth.judge(&doc).failed);
}

#[test]
fn each_row_of_a_soak_is_judged() {
    let slow = doc(soak(|number, row| {
        if number == 4 {
            slow_down(row);
        }
    }));
    // The row with the slow reads has the highest rate, and is not the worst in that.
    for (condition, expected) in [
        (
            "p99 > 50ms",
            "failed   p99 > 50ms: 80.0 ms at row 4 (8 clients)",
        ),
        (
            "p99 at 8 > 50ms",
            "failed   p99 at 8 > 50ms: 80.0 ms at row 4 (8 clients)",
        ),
        (
            "ops/s < 5011",
            "failed   ops/s < 5011: 5010 at row 1 (8 clients)",
        ),
    ] {
        assert_eq!(words(&slow, condition), expected);
    }
    // A document that was read knows it by its plan.
    let read = RunDoc::parse(slow.to_json().as_bytes(), Path::new("here")).unwrap();
    assert_eq!(read.load_points[3].stage, slow.load_points[3].stage);
    assert!(render(&read).contains("row: clients"));
    // A soak of ten minutes or more has a row per minute, and a rest.
    let stages = Stages::soak(8, Duration::from_secs(630)).unwrap();
    let long = document(&staged_run(staged(&stages, |_, _| {}), stages));
    let places = [0, 1, 10].map(|row| long.load_points[row].load().to_string());
    let expected = [1, 2, 11].map(|minute| format!("minute {minute} (8 clients)"));
    assert_eq!(places, expected);
}

/// Rows in which no frame was late would all say the same.
#[test]
fn only_rows_with_late_frames_have_a_sentence_of_their_own() {
    let mut doc = doc(soak(|_, _| {}));
    for (number, row) in (1..).zip(&mut doc.load_points) {
        row.streams = Some(StreamsDoc {
            frames: 240,
            late: 0,
            late_share: Some(0.0),
            missing: 0,
            streams_late: 0,
            longest_late_ns: 0,
            longest_gap_ns: 0,
            least_buffered_ns: Some(number * 100_000_000),
        });
    }
    let said = |doc: &RunDoc| -> Vec<String> {
        let remarks = stream_remarks(doc).into_iter();
        remarks.map(|(_, words)| words).collect()
    };
    let quiet = "2400 frames, none late; the emptiest buffer had 100 ms left";
    assert_eq!(said(&doc), [format!("10 rows: {quiet}")]);
    let streams = doc.load_points[3].streams.as_mut().unwrap();
    (streams.late, streams.streams_late) = (3, 1);
    let said = said(&doc);
    let begins = [
        "9 of 10 rows: 2160 frames, none late; ",
        "row 4 (8 clients): 3 of 240 frames late (",
    ];
    assert_eq!(said.len(), begins.len(), "{said:?}");
    for (words, begin) in said.iter().zip(begins) {
        assert!(words.starts_with(begin), "{words}");
    }
}

/// Each stage that lasts is a load point, though the load is one.
#[test]
fn a_plan_counts_its_stages() {
    let time = |stages: Stages| {
        let mut record = run(vec![point(8, 1, 400)]);
        record.plan.work.duration = stages.total();
        record.plan.work.ramp_up = Duration::ZERO;
        record.plan.work.ramp_down = Duration::ZERO;
        record.plan.work.stages = Some(stages);
        let planned = details(&document(&record).plan);
        let time = planned.into_iter().find(|of| of.0 == "time");
        time.unwrap().1
    };
    let day = "2m:50,10m:500,0s:100,5m:500,2m:0".parse().unwrap();
    assert_eq!(time(day), "19m for 4 stages, without set-up");
    let soak = |length_s| Stages::soak(8, Duration::from_secs(length_s)).unwrap();
    assert_eq!(time(soak(30)), "30s for 10 rows, without set-up");
    assert_eq!(time(soak(630)), "10m 30s for 11 rows, without set-up");
}

/// The slope of uneven rows says nothing, though it is large per hour.
#[test]
fn only_a_trend_is_beyond_a_limit_of_growth() {
    let judged = |mib: [u64; 10]| {
        let doc = doc(soak(|number, row| {
            row.memory.server = Some(mib[number as usize - 1] << 20);
        }));
        words(&doc, "server-memory > +10%/h")
    };
    assert_eq!(
        judged([100, 103, 101, 104, 100, 105, 102, 104, 101, 106]),
        "passed   server-memory > +10%/h: +1182.3 % per hour over the soak, which may be chance"
    );
    let grown = judged([100, 101, 102, 103, 104, 105, 106, 107, 108, 109]);
    assert!(
        grown.starts_with("failed   server-memory > +10%/h: +"),
        "{grown}"
    );
}

/// The stage that leads to a number of clients has it at its end.
#[test]
fn each_stage_with_the_clients_of_a_condition_is_judged() {
    let stages: Stages = "2s:4,6s:8,2s:8".parse().unwrap();
    let whole = staged(&stages, |number, row| {
        if number == 3 {
            slow_down(row);
        }
    });
    let record = staged_run(whole, stages);
    let doc = document(&record);
    for (condition, expected) in [
        (
            "p99 at 8 > 50ms",
            "failed   p99 at 8 > 50ms: 80.0 ms at stage 3 (8 clients)",
        ),
        // It takes 6 s to get there, with 835 operations per second.
        (
            "ops/s at 8 < 1000",
            "passed   ops/s at 8 < 1000: 2555 at stage 3 (8 clients)",
        ),
        (
            "ops/s at 4 < 1000",
            "passed   ops/s at 4 < 1000: 2505 at stage 1 (0 to 4 clients)",
        ),
    ] {
        let threshold: Threshold = condition.parse().unwrap();
        threshold.check(&record.plan).unwrap();
        assert_eq!(words(&doc, condition), expected);
    }
    let nowhere: Threshold = "p99 at 6 > 50ms".parse().unwrap();
    assert_eq!(
        nowhere.check(&record.plan).unwrap_err().to_string(),
        "'p99 at 6 > 50ms' cannot be judged: no load point has 6 clients"
    );
}

/// What a load of many levels has measured so far is at no level.
#[test]
fn lower_limits_and_places_decide_nothing_while_a_load_follows_lines() {
    let mut plan = run(vec![point(8, 1, 400)]).plan;
    let decided = |plan: &Plan| {
        let point = UnfinishedPoint::of(plan);
        [
            "p99 > 50ms",
            "errors > 0",
            "ops/s < 4000",
            "p99 at 8 > 50ms",
        ]
        .map(|condition| {
            let threshold: Threshold = condition.parse().unwrap();
            threshold.can_abort(&point)
        })
    };
    assert_eq!(decided(&plan), [true; 4]);
    plan.work.stages = Some("2s:4,6s:8,2s:8".parse().unwrap());
    assert_eq!(decided(&plan), [true, true, false, false]);
    plan.work.stages = Some(Stages::soak(8, Duration::from_secs(10)).unwrap());
    assert_eq!(decided(&plan), [true; 4]);
}

/// Two soaks are two series over the same time, of which no order of values tells a trend.
#[test]
fn passes_of_a_soak_have_no_trends_together() {
    let soak = doc(soak(|_, _| {}));
    assert!(soak.soak.is_some());
    let only = RunDoc::pooled(vec![soak.clone()]).unwrap();
    assert_eq!(only.soak, soak.soak);
    let passes = [1, 2].map(|pass| soak.clone().as_pass(pass));
    let both = RunDoc::pooled(passes.into()).unwrap();
    assert_eq!((both.passes(), both.soak), (2, None));
}
