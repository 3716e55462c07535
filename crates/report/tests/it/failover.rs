//! Events of load points, from the record to the text.

use std::path::Path;
use std::time::Duration;

use smbench_model::Nanos;
use smbench_model::contents::Verify;
use smbench_model::contents::block::{Mismatch, Stamp};
use smbench_model::contents::verify::{DataFault, ReadVerdict};
use smbench_model::event::{EventRecord, PlannedEvent};
use smbench_model::files::Scope;
use smbench_model::kind::OpKind;
use smbench_model::record::{
    EventKind, FinalRead, IntervalSummary, LoadEvent, LoadPointRecord, OperationFailure, Phase,
    RunRecord, Times,
};
use smbench_model::sessions::HandleDurability;
use smbench_model::workload::Requests;
use smbench_protocol::NtStatus;
use smbench_report::doc::RunDoc;
use smbench_report::published::{headlines, tables};
use smbench_report::study::{Study, StudyDoc};
use smbench_report::table::Table;
use smbench_report::{Threshold, text};

use crate::samples::{book, document, point, result, run, study_doc};

const MILLISECOND: u64 = 1_000_000;

fn event(text: &str) -> EventRecord {
    let event: PlannedEvent = text.parse().unwrap();
    EventRecord {
        at: Some(event.at),
        event,
        command: None,
        signalled: None,
    }
}

/// Four clients are cut, of whom three come back, and a server loses a handle of them.
fn cut() -> LoadPointRecord {
    let mut point = point(4, 1, 1000);
    point.events = vec![
        event("at 2s: drop 100%"),
        event("at 5s: exec ./failover.sh --node 1 --hard"),
    ];
    book(&mut point.ops, Phase::Window, |ops| {
        let losses = ops.losses_mut(Some(0));
        losses.clients = 4;
        for milliseconds in [100, 200, 300] {
            losses.came_back(Nanos(milliseconds * MILLISECOND));
        }
        losses.handles.kept = 2;
        (losses.handles.caching_kept, losses.handles.caching_lost) = (1, 1);
        (losses.handles.locks_kept, losses.handles.locks_lost) = (2, 3);
        losses.handles.lose(Some(NtStatus::OBJECT_NAME_NOT_FOUND));
        losses.handles.lose(None);
        losses.repeated = 3;
        losses.failed = 1;
        losses.fail(OpKind::Write, OperationFailure::Lost);
        let gone = OperationFailure::Status(NtStatus::FILE_CLOSED);
        losses.fail(OpKind::Lock, gone);
        losses.faults.lost = 1;
        ops.failure(OpKind::Write, OperationFailure::Lost);
        ops.failure(OpKind::Lock, gone);
    });
    point
}

fn run_of(points: Vec<LoadPointRecord>) -> RunRecord {
    let mut run = run(points);
    run.plan.sessions.failover.reconnect = Some(Duration::from_secs(60));
    run
}

#[test]
fn a_document_has_what_each_event_cost() {
    let doc = document(&run_of(vec![point(1, 1, 4), cut()]));
    let json = serde_json::to_value(&doc).unwrap();
    assert_eq!(json["load_points"][0].get("events"), None);
    let events = &json["load_points"][1]["events"];
    let first = &events[0];
    let costs: [(&str, serde_json::Value); 13] = [
        ("kind", "drop".into()),
        ("event", "at 2s: drop 100%".into()),
        ("at_s", 2.0.into()),
        ("clients", 4.into()),
        ("clients_away", 1.into()),
        ("handles_kept", 2.into()),
        ("handles_lost", 2.into()),
        ("caching_kept", 1.into()),
        ("caching_lost", 1.into()),
        ("locks_kept", 2.into()),
        ("locks_lost", 3.into()),
        ("requests_repeated", 3.into()),
        ("operations_failed", 1.into()),
    ];
    for (key, expected) in costs {
        assert_eq!(first[key], expected, "{key}");
    }
    for (key, milliseconds) in [("min", 100), ("p50", 200), ("p99", 300), ("max", 300)] {
        let found = first["blackout_ns"][key].as_u64().unwrap();
        let found = (found as f64 / MILLISECOND as f64).round();
        assert_eq!(found, f64::from(milliseconds), "{key}");
    }
    let by = serde_json::json!({"STATUS_OBJECT_NAME_NOT_FOUND": 1, "not-granted": 1});
    assert_eq!(first["handles_lost_by"], by);
    let failures = serde_json::json!([
        {"op": "write", "status": "lost-connection", "code": null, "count": 1},
        {"op": "lock", "status": "STATUS_FILE_CLOSED", "code": "0xC0000128", "count": 1},
    ]);
    assert_eq!(first["failures"], failures);
    assert_eq!(
        first["verify"],
        serde_json::json!({"lost": 1, "doubled": 0, "torn": 0})
    );
    assert_eq!(events[1].get("failures"), None);
    assert_eq!(events[1]["kind"], "exec");
    assert_eq!(events[1]["clients"], 0);
    assert!(events[1]["blackout_ns"].is_null());
    let read = RunDoc::parse(doc.to_json().as_bytes(), Path::new("here")).unwrap();
    assert_eq!(read.load_points[1].events, doc.load_points[1].events);
}

/// A command may cut connections long after it began. Its dip is then later than that of an event
/// which acts at once.
#[test]
fn the_effect_of_a_command_may_begin_with_the_last_lost_connection() {
    let mut point = point(4, 1, 1000);
    point.series.all[6] = IntervalSummary::default();
    let recovery = |point: &LoadPointRecord| {
        let doc = document(&run_of(vec![point.clone()]));
        doc.load_points[0].events[0].recovery_s
    };
    point.events = vec![event("at 2s: drop 100%")];
    assert_eq!(recovery(&point), Some(0.0));
    point.events = vec![event("at 2s: exec ./failover.sh")];
    assert_eq!(recovery(&point), Some(0.0));
    // The window opens 2 s after the start of the load.
    book(&mut point.ops, Phase::Window, |ops| {
        ops.event(LoadEvent {
            at: Nanos(8_100 * MILLISECOND),
            kind: EventKind::LinkLost,
            clients: 4,
        });
    });
    assert_eq!(recovery(&point), Some(5.0));
    point.events = vec![event("at 2s: drop 100%")];
    assert_eq!(recovery(&point), Some(0.0));
}

#[test]
fn a_second_table_and_a_sentence_say_what_events_cost() {
    let doc = document(&run_of(vec![cut()]));
    let table = text::failover(&doc).unwrap().to_text();
    for part in [
        "2s drop 100%",
        "5s exec ./failover.sh...",
        "200 ms",
        "300 ms",
        "1 handle lost with STATUS_OBJECT_NAME_NOT_FOUND",
        "1 handle lost that the server had not promised to keep",
        "1 kept handle with a lower oplock or lease than before",
        "2 of 5 locks kept",
        "failed after 2s drop 100%: lock, STATUS_FILE_CLOSED (0xC0000128): 1 time",
    ] {
        assert!(table.contains(part), "{table}");
    }
    let expected = "3 of 4 lost clients came back, the last after 300 ms, 2 of 4 handles kept, \
                    1 operation failed";
    assert_eq!(text::failover_in_brief(&doc).unwrap(), expected);
    let whole: String = text::summary(&doc)
        .into_iter()
        .map(|part| part.text)
        .collect();
    assert!(
        whole.contains("Events   3 of 4 lost clients came back"),
        "{whole}"
    );
    assert!(text::to_markdown(&doc, None).contains("2s drop 100%"));
    assert!(text::failover(&document(&run(vec![point(1, 1, 4)]))).is_none());
}

/// Returns a study of two servers with the same events. One had two passes, in which clients lost
/// their connections, and the other one pass, in which none did.
fn study_of_events() -> Study {
    let with = |blackout: Option<Nanos>| {
        let mut point = point(4, 1, 1000);
        point.events = cut().events;
        if let Some(blackout) = blackout {
            book(&mut point.ops, Phase::Window, |ops| {
                let losses = ops.losses_mut(Some(0));
                losses.clients = 1;
                losses.came_back(blackout);
            });
        }
        document(&run_of(vec![point]))
    };
    let mut slow = document(&run_of(vec![cut()])).as_pass(1);
    slow.load_points[0].valid = false;
    let quick = with(Some(Nanos(50 * MILLISECOND))).as_pass(2);
    let both = RunDoc::pooled(vec![slow, quick]).unwrap();
    Study {
        doc: StudyDoc {
            load_points: vec![4],
            passes: 2,
            ..study_doc(&["one smbd", "two smbd"])
        },
        calibration: None,
        unread: Vec::new(),
        set_aside: None,
        results: vec![result(0, 0, both), result(1, 0, with(None))],
    }
}

/// Blackouts of passes are merged, also of one that is not valid.
#[test]
fn a_study_says_first_what_each_event_costs() {
    let study = study_of_events();
    let tables = tables(&study);
    let titles: Vec<_> = tables.iter().map(|table| &table.title[..]).collect();
    let first = ["what each event costs", "peak, and response time there"];
    assert_eq!(titles[..2], first);
    let rows = tables[0].rows.iter();
    let rows: Vec<Vec<_>> = rows
        .map(|row| row.iter().map(|cell| &cell.text[..]).collect())
        .collect();
    let cut = [
        "! 2s drop 100%",
        "one smbd",
        "5",
        "1",
        "100 ms",
        "300 ms",
        "300 ms",
        "0 s",
        "2",
        "2",
        "3",
        "1",
        "1",
        "0",
        "0",
    ];
    assert_eq!(rows[0], cut);
    let unharmed = ["2s drop 100%", "two smbd", "0", "0", "-"];
    assert_eq!(rows[1][..5], unharmed);
    assert_eq!(rows[1][12..], ["-"; 3]);
    let places: Vec<_> = rows.iter().map(|row| &row[..2]).collect();
    let exec = "5s exec ./failover.sh...";
    let invalid = format!("! {exec}");
    assert_eq!(places[2], [&invalid[..], "one smbd"]);
    assert_eq!(places[3], [exec, "two smbd"]);
    let answers = headlines(&study, 0);
    let expected = [
        "file-server: 2s drop 100%: blackouts of at most 300 ms with one smbd, none with two smbd; \
         1 of 5 clients did not come back with one smbd; 1 lost write with one smbd.",
        // Nobody knows whether the event of a load point that is not valid did anything.
        "file-server: 5s exec ./failover.sh...: no blackouts with two smbd.",
    ];
    assert_eq!(answers[..2], expected);
    // The table of a server has a row for each pass.
    let passes = text::failover(&study.results[0].run).unwrap();
    assert_eq!(passes.columns[1].name, "pass");
    let passes = passes.rows.iter();
    let passes: Vec<_> = passes
        .map(|row| [1, 2, 3].map(|column| Table::cell(row, column).to_owned()))
        .collect();
    assert_eq!(passes[0], ["1", "2s drop 100%", "4"]);
    assert_eq!(passes[2], ["2", "2s drop 100%", "1"]);
}

/// Without `reconnect`, clients drop out, and nobody counts blackouts.
#[test]
fn no_sentence_says_that_clients_which_drop_out_had_no_blackouts() {
    let mut study = study_of_events();
    for point in &mut study.results[0].run.load_points {
        point.valid = true;
    }
    let exec = "file-server: 5s exec ./failover.sh...: no blackouts";
    assert_eq!(headlines(&study, 0)[1], format!("{exec}."));
    study.results[1].run.plan.sessions.reconnect_s = None;
    let answers = headlines(&study, 0);
    let expected = "file-server: 2s drop 100%: blackouts of at most 300 ms with one smbd; \
                    1 of 5 clients did not come back with one smbd; 1 lost write with one smbd.";
    assert_eq!(answers[0], expected);
    assert_eq!(answers[1], format!("{exec} with one smbd."));
    study.results[0].run.plan.sessions.reconnect_s = None;
    let answers = headlines(&study, 0);
    assert!(answers.iter().all(|answer| !answer.contains(exec)));
}

#[test]
fn the_blocks_that_were_read_after_the_load_are_shown() {
    let mut point = cut();
    book(&mut point.ops, Phase::Outside, |ops| {
        for (due, checked) in [(10, 10), (20, 15)] {
            ops.read_finally(FinalRead { due, checked });
        }
    });
    let mut run = run_of(vec![point, cut()]);
    run.plan.only_mut().verify = Verify::ReadBack;
    let doc = document(&run);
    let json = serde_json::to_value(&doc).unwrap();
    let read = |point: usize| &json["load_points"][point]["verification"];
    let expected = serde_json::json!({"due": 30, "checked": 25});
    assert_eq!(read(0)["final_read"], expected);
    assert_eq!(read(1).get("final_read"), None);
    let table = text::failover(&doc).unwrap().to_text();
    let line = "25 of 30 written blocks of 512 bytes checked after the load";
    assert!(table.contains(line), "{table}");
}

#[test]
fn latencies_are_shown_with_and_without_operations_in_blackouts() {
    let late = Times {
        service: Nanos(400 * MILLISECOND),
        response: Nanos(900 * MILLISECOND),
    };
    let mut point = cut();
    // The ramps are in no latency.
    for phase in [Phase::Before, Phase::Window] {
        book(&mut point.ops, phase, |ops| {
            ops.success(OpKind::Read, 4096, late);
            ops.blacked_out(OpKind::Read, late);
        });
    }
    let doc = document(&run_of(vec![point.clone()]));
    let of = doc.load_points[0].in_blackout.as_ref().unwrap();
    assert_eq!(of.count, 1);
    let all = doc.load_points[0].latency_ns.unwrap();
    let (others, service) = (of.others_latency_ns.unwrap(), of.others_service_ns.unwrap());
    assert!(
        all.max >= 399 * MILLISECOND && others.max < 31 * MILLISECOND,
        "{all:?}, {others:?}"
    );
    assert_eq!(service, others);
    let table = text::blackouts(&doc).unwrap();
    let rows: Vec<_> = table.rows.iter().map(|row| Table::cell(row, 1)).collect();
    assert_eq!(rows, ["all", "outside"]);
    let counts = |row: usize| table.rows[row][2].exact.unwrap();
    assert_eq!(counts(0) - counts(1), 1.0);
    assert_eq!(Table::cell(&table.rows[0], 5), "400 ms");
    assert!(text::render(&doc).contains("latencies with and without operations in a blackout"));
    let read = RunDoc::parse(doc.to_json().as_bytes(), Path::new("here")).unwrap();
    assert_eq!(
        read.load_points[0].in_blackout,
        doc.load_points[0].in_blackout
    );
    assert!(text::blackouts(&document(&run_of(vec![cut()]))).is_none());
}

/// Where reads could find nothing, the number of lost writes is not 0.
#[test]
fn lost_writes_are_judged_where_reads_could_find_them() {
    let condition: Threshold = "lost writes > 0".parse().unwrap();
    let refused = |run: &RunRecord| {
        let checked = condition.check(&run.plan);
        checked.err().map(|error| error.to_string())
    };
    let said = |run: &RunRecord| {
        let doc = document(run);
        let brief = text::failover_in_brief(&doc).unwrap();
        (condition.judge(&doc).to_string(), brief)
    };
    let mut run = run_of(vec![cut()]);
    assert!(refused(&run).unwrap().contains("the data is not verified"));
    run.plan.only_mut().verify = Verify::ReadBack;
    assert_eq!(refused(&run), None);
    let (outcome, brief) = said(&run);
    let unknown = "cannot be judged: it was not measured at 4 clients";
    assert!(outcome.ends_with(unknown), "{outcome}");
    assert!(!brief.contains("lost write"), "{brief}");
    let ops = &mut run.load_points[0].ops;
    book(ops, Phase::Window, |ops| ops.verified(ReadVerdict::Checked));
    let (outcome, brief) = said(&run);
    let passed = "passed   lost writes > 0: 0 lost writes at 4 clients";
    assert_eq!(outcome, passed);
    assert!(brief.ends_with(", 0 lost writes"), "{brief}");
    let mut shared = run.clone();
    shared.plan.only_mut().workload.files.scope = Scope::Shared;
    assert!(!said(&shared).1.contains("lost write"));
    let why = refused(&shared).unwrap();
    assert!(why.contains("only clients that read back"), "{why}");
    // Who writes does not read under load, but only after it.
    let writers = [
        Requests::Divided {
            readers_percent: 50.0,
        },
        Requests::Data {
            read_percent: 0.0,
            flush_every_writes: None,
        },
    ];
    for requests in writers {
        let mut run = run.clone();
        run.plan.only_mut().workload.requests = requests;
        book(&mut run.load_points[0].ops, Phase::Outside, |ops| {
            let (due, checked) = (1, 1);
            ops.read_finally(FinalRead { due, checked });
        });
        assert_eq!(refused(&run), None);
        let (outcome, brief) = said(&run);
        assert_eq!(outcome, passed);
        assert!(brief.ends_with(", 0 lost writes"), "{brief}");
        // What comes after the load belongs to no stage.
        run.plan.work.stages = "2s:5,0s:1,1s:1".parse().ok();
        let why = refused(&run).unwrap();
        assert!(why.contains("only clients that read back"), "{why}");
    }
    let fault = DataFault {
        file: 0,
        mismatch: Mismatch::Missing {
            offset: 0,
            oldest: 1,
        },
    };
    book(&mut run.load_points[0].ops, Phase::Window, |ops| {
        ops.fault(Some(0), 0, &fault);
    });
    let failed = "failed   lost writes > 0: 1 lost write at 4 clients";
    assert_eq!(said(&run).0, failed);
}

/// Where no handle is to be kept, none can be lost.
#[test]
fn lost_handles_are_judged_where_the_server_is_asked_to_keep_them() {
    let condition: Threshold = "lost handles > 0".parse().unwrap();
    let mut run = run_of(vec![cut()]);
    let refused = condition.check(&run.plan).unwrap_err().to_string();
    let expected = "'lost handles > 0' cannot be judged: no client asks the server to keep its \
                    handles; give handles";
    assert_eq!(refused, expected);
    run.plan.sessions.failover.handles = HandleDurability::Durable;
    assert_eq!(condition.check(&run.plan), Ok(()));
}

#[test]
fn doubled_and_torn_writes_have_conditions_and_a_place_in_the_sentence() {
    let mut run = run_of(vec![cut()]);
    run.plan.only_mut().verify = Verify::ReadBack;
    book(&mut run.load_points[0].ops, Phase::Window, |ops| {
        ops.verified(ReadVerdict::Checked);
    });
    let judged = |run: &RunRecord, what: &str| {
        let condition: Threshold = format!("{what} writes > 0").parse().unwrap();
        condition.check(&run.plan).unwrap();
        condition.judge(&document(run)).to_string()
    };
    let expected = "passed   doubled writes > 0: 0 doubled writes at 4 clients";
    assert_eq!(judged(&run, "doubled"), expected);
    let found = Stamp::default();
    let late = Mismatch::Late {
        offset: 0,
        oldest: 1,
        found,
    };
    let damage = |offset| Mismatch::Byte {
        offset,
        expected: 1,
        found: 2,
    };
    book(&mut run.load_points[0].ops, Phase::Window, |ops| {
        for mismatch in [late, damage(0), damage(512)] {
            ops.fault(None, 0, &DataFault { file: 0, mismatch });
        }
    });
    let expected = "failed   doubled writes > 0: 1 doubled write at 4 clients";
    assert_eq!(judged(&run, "doubled"), expected);
    let expected = "failed   torn writes > 0: 2 torn writes at 4 clients";
    assert_eq!(judged(&run, "torn"), expected);
    let brief = text::failover_in_brief(&document(&run)).unwrap();
    let expected = ", 0 lost writes, 1 doubled write, 2 torn writes";
    assert!(brief.ends_with(expected), "{brief}");
    // On shared files only the age of data is unknown.
    run.plan.only_mut().workload.files.scope = Scope::Shared;
    assert_eq!(
        judged(&run, "torn"),
        "failed   torn writes > 0: 2 torn writes at 4 clients"
    );
    let doubled: Threshold = "doubled writes > 0".parse().unwrap();
    assert!(doubled.check(&run.plan).is_err());
}

/// A client that did not come back was away until its load ended, at least.
#[test]
fn a_blackout_without_an_end_is_judged_by_its_length_so_far() {
    let mut point = cut();
    book(&mut point.ops, Phase::Outside, |ops| {
        ops.losses_mut(Some(0))
            .stayed_away(Nanos(20_000 * MILLISECOND));
    });
    let doc = document(&run_of(vec![point]));
    let json = serde_json::to_value(&doc).unwrap();
    let events = &json["load_points"][0]["events"];
    assert_eq!(events[0]["away_ns_max"], 20_000 * MILLISECOND);
    assert_eq!(events[1].get("away_ns_max"), None);
    let judged = |condition: &str| {
        let condition: Threshold = condition.parse().unwrap();
        condition.judge(&doc).to_string()
    };
    let expected = "failed   blackout max > 15s: 20.0 s at 4 clients; not all clients came back";
    assert_eq!(judged("blackout max > 15s"), expected);
    let unknown = "cannot be judged: 1 client did not come back at 4 clients";
    for condition in ["blackout max > 30s", "blackout max < 15s"] {
        assert_eq!(
            judged(condition),
            format!("unknown  {condition}: {unknown}")
        );
    }
}

/// A load point in which nothing could be found does not hide what another one found.
#[test]
fn a_condition_on_events_fails_if_one_load_point_is_beyond_the_limit() {
    let mut run = run_of(vec![point(1, 1, 4), cut()]);
    run.plan.only_mut().verify = Verify::ReadBack;
    let mismatch = Mismatch::Missing {
        offset: 0,
        oldest: 1,
    };
    book(&mut run.load_points[1].ops, Phase::Window, |ops| {
        ops.fault(Some(0), 0, &DataFault { file: 0, mismatch });
    });
    let condition: Threshold = "lost writes > 0".parse().unwrap();
    let expected = "failed   lost writes > 0: 1 lost write at 4 clients";
    assert_eq!(condition.judge(&document(&run)).to_string(), expected);
}

/// An event that reached nobody says nothing about blackouts.
#[test]
fn a_blackout_is_not_judged_where_no_event_interrupted_a_client() {
    let condition: Threshold = "blackout max > 15s".parse().unwrap();
    let judged = |point: &LoadPointRecord| {
        let doc = document(&run_of(vec![point.clone()]));
        condition.judge(&doc).to_string()
    };
    // Without events, nothing was to happen.
    let mut untouched = point(4, 1, 1000);
    assert!(judged(&untouched).starts_with("passed"));
    untouched.events = cut().events;
    let expected = "unknown  blackout max > 15s: cannot be judged: no event interrupted a client \
                    at 4 clients";
    assert_eq!(judged(&untouched), expected);
    // Clients that have nothing to send come back without a blackout.
    book(&mut untouched.ops, Phase::Window, |ops| {
        ops.event(LoadEvent {
            at: Nanos(2_100 * MILLISECOND),
            kind: EventKind::LinkLost,
            clients: 4,
        });
    });
    assert!(judged(&untouched).starts_with("passed"));
}

#[test]
fn conditions_judge_what_events_cost() {
    let mut doc = document(&run_of(vec![cut()]));
    // Nobody knows how long the blackout of a client is that did not come back.
    let unknown = "cannot be judged: 1 client did not come back at 4 clients";
    for condition in ["blackout max > 15s", "blackout p50 > 1ms"] {
        let away: Threshold = condition.parse().unwrap();
        let expected = format!("unknown  {condition}: {unknown}");
        assert_eq!(away.judge(&doc).to_string(), expected);
    }
    let longer: Threshold = "blackout max > 200ms".parse().unwrap();
    let expected = "failed   blackout max > 200ms: 300 ms at 4 clients; not all clients came back";
    assert_eq!(longer.judge(&doc).to_string(), expected);
    for event in &mut doc.load_points[0].events {
        event.clients_away = 0;
    }
    for (condition, expected) in [
        (
            "blackout max > 15s",
            "passed   blackout max > 15s: 300 ms at 4 clients",
        ),
        (
            "blackout p50 > 150ms",
            "failed   blackout p50 > 150ms: 200 ms at 4 clients",
        ),
        (
            "lost handles > 0",
            "failed   lost handles > 0: 2 lost handles at 4 clients",
        ),
        (
            "lost writes > 0",
            "unknown  lost writes > 0: cannot be judged: it was not measured at 4 clients",
        ),
    ] {
        let threshold: Threshold = condition.parse().unwrap();
        assert_eq!(threshold.judge(&doc).to_string(), expected);
    }
    // Nobody was without an answer.
    let quiet = document(&run_of(vec![point(4, 1, 1000)]));
    let none: Threshold = "blackout max > 0s".parse().unwrap();
    assert!(!none.judge(&quiet).failed);
    for wrong in [
        "blackout > 1s",
        "lost reads > 0",
        "blackout max > 1",
        "a blackout max > 1s",
    ] {
        assert!(wrong.parse::<Threshold>().is_err(), "{wrong}");
    }
}
