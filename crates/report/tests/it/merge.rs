//! The parts of a run, merged, and the same operations in one process.

mod errors;
mod windows;

use std::ops::Range;
use std::path::Path;
use std::time::{Duration, SystemTime};

use proptest::prelude::*;
use serde_json::Value;
use smbench_model::Nanos;
use smbench_model::contents::Verify;
use smbench_model::contents::verify::ReadVerdict;
use smbench_model::kind::OpKind;
use smbench_model::load::{LoadModel, Spacing};
use smbench_model::part::{ClientPart, ClientRange};
use smbench_model::record::{
    ClientUsage, EventKind, Fairness, GeneratorRecord, LoadEvent, LoadPointRecord,
    OperationFailure, Phase, Punctuality, Recorder, ReplayDifference, RunRecord, Series,
    SeriesDetail, Tally, Times, latency_histogram,
};
use smbench_model::sessions::Caching;
use smbench_protocol::NtStatus;
use smbench_report::RunDoc;
use smbench_report::doc::TreeOriginDoc;
use smbench_report::merge::{SavedPart, merge};

use crate::samples::{document, on_a_busy_server, point, run};

/// Intervals of a load point: a ramp, and five of the window.
const INTERVALS: usize = 6;

/// An operation of a client.
#[derive(Clone, Debug)]
struct Booked {
    client: u32,
    kind: OpKind,
    ended: Ended,
    service: u64,
    late: u64,
    interval: usize,
}

#[derive(Clone, Debug)]
enum Ended {
    Success(u32),
    Failure(OperationFailure),
    Difference(NtStatus),
    /// With its connection, which was replaced.
    Lost,
}

fn booked(clients: u32) -> impl Strategy<Value = Booked> {
    let kinds = [
        OpKind::Read,
        OpKind::Write,
        OpKind::Flush,
        OpKind::CopyChunk,
        OpKind::OplockBreak,
        OpKind::CreateReadClose,
    ];
    let status = prop_oneof![
        Just(NtStatus::ACCESS_DENIED),
        Just(NtStatus::SHARING_VIOLATION),
        Just(NtStatus(0xC0DE_0001)),
    ];
    let ended = prop_oneof![
        12 => (0_u32..100_000).prop_map(Ended::Success),
        1 => status.clone().prop_map(|status| Ended::Failure(OperationFailure::Status(status))),
        1 => Just(Ended::Failure(OperationFailure::Short)),
        1 => status.prop_map(Ended::Difference),
        1 => Just(Ended::Lost),
    ];
    let kind = prop::sample::select(kinds.to_vec());
    let times = (1_u64..10_000_000_000, 0_u64..100_000_000);
    (0..clients, kind, ended, times, 0..INTERVALS).prop_map(
        |(client, kind, ended, (service, late), interval)| Booked {
            client,
            kind,
            ended,
            service,
            late,
            interval,
        },
    )
}

fn load(is_paced: bool) -> LoadModel {
    if is_paced {
        LoadModel::Rate {
            rate: "1000".parse().unwrap(),
            arrivals: Spacing::Fixed,
        }
    } else {
        LoadModel::default()
    }
}

fn book(recorder: &mut Recorder, op: &Booked) {
    let times = Times {
        service: Nanos(op.service),
        response: Nanos(op.service + op.late),
    };
    match op.ended {
        Ended::Success(bytes) => {
            recorder.success(op.kind, bytes, times);
            recorder.split(op.kind, u64::from(bytes % 3));
            recorder.verified(match bytes % 5 {
                0 => ReadVerdict::Unjudged,
                _ => ReadVerdict::Checked,
            });
            recorder
                .caching_mut()
                .count(Caching::ALL[bytes as usize % 3].1);
            recorder.caching_mut().breaks += u64::from(bytes % 7 == 0);
        }
        Ended::Failure(failure) => recorder.failure(op.kind, failure),
        Ended::Lost => {
            recorder.failure(op.kind, OperationFailure::Lost);
            recorder.event(LoadEvent {
                at: Nanos(op.service),
                kind: EventKind::LinkLost,
                clients: op.client + 1,
            });
        }
        Ended::Difference(recorded) => recorder.difference(ReplayDifference {
            kind: op.kind,
            recorded: Some(recorded),
            seen: OperationFailure::Long,
        }),
    }
}

/// Leaves a read of each client in flight.
fn leave_in_flight(tally: &mut Tally, clients: Range<u32>) {
    let mut recorder = Recorder::default();
    for client in clients {
        recorder.in_flight(OpKind::Read, Nanos(u64::from(client) * 1000 + 1));
    }
    tally.add(&recorder, Phase::Outside);
}

/// Returns the load point of the process that carries these clients.
fn load_point(
    clients: Range<u32>,
    ops: &[Booked],
    is_paced: bool,
    detail: SeriesDetail,
    workers: usize,
) -> LoadPointRecord {
    let of_client = |client: u32| ops.iter().filter(move |op| op.client == client);
    let own = || clients.clone().flat_map(of_client);
    let (mut tally, mut series) = (
        Tally::default(),
        Series {
            interval: Duration::from_secs(1),
            detail,
            ..Series::default()
        },
    );
    for interval in 0..INTERVALS {
        let mut recorder = Recorder::expecting([OpKind::Read, OpKind::Write], &load(is_paced));
        own()
            .filter(|op| op.interval == interval)
            .for_each(|op| book(&mut recorder, op));
        match interval {
            0 => tally.add(&recorder, Phase::Before),
            _ => {
                tally.add(&recorder, Phase::Window);
                series.set(interval - 1, &recorder);
            }
        }
    }
    leave_in_flight(&mut tally, clients.clone());
    series.reach(INTERVALS - 1);
    let (mut fairness, mut served, mut in_flight) = (Fairness::default(), 0, Nanos(0));
    let (mut punctuality, mut session) = (Punctuality::default(), latency_histogram());
    for client in clients.clone() {
        let done =
            of_client(client).filter(|op| op.interval > 0 && matches!(op.ended, Ended::Success(_)));
        let (count, busy) = (
            done.clone().count() as u64,
            Nanos(done.map(|op| op.service).sum()),
        );
        fairness.add(count, busy);
        served += u32::from(count > 0);
        in_flight = in_flight + busy;
        session.saturating_record(1_000_000 + u64::from(client) * 1000);
        let number = u64::from(client);
        punctuality = punctuality
            + Punctuality {
                due: count + number,
                answered: count,
                late: number,
                dropped: 1,
                unanswered: number % 2,
                unanswered_max: Nanos(number * 1_000_000),
                in_flight_max: Nanos(number * 3_000_000_000),
                delay_max: Nanos(number * 1000),
                ..Punctuality::default()
            };
    }
    let each = clients.len() as u32;
    let sample = on_a_busy_server(point(each, 1, 4));
    let worker = sample.generator.workers[0].clone();
    LoadPointRecord {
        window: Duration::from_secs(5),
        ops: tally,
        series,
        fairness,
        in_flight: in_flight.into(),
        punctuality,
        clients_served: served,
        client: ClientUsage {
            cpu_user: Duration::from_millis(70) * each,
            cpu_system: Duration::from_millis(110) * each,
            max_rss_bytes: u64::from(each) << 20,
        },
        generator: GeneratorRecord {
            workers: vec![worker; workers],
            ..sample.generator.clone()
        },
        setup: smbench_model::record::SetupRecord {
            session,
            ..sample.setup.clone()
        },
        credit_starved: Duration::from_millis(3) * each,
        held_back: Duration::from_millis(5) * each,
        ..sample
    }
}

/// Returns the record of a run of these clients in so many threads.
fn record(
    point: LoadPointRecord,
    all: u32,
    part: ClientPart,
    threads: u32,
    is_paced: bool,
) -> RunRecord {
    let mut record = run(vec![point]);
    record.plan.only_mut().clients = vec![all];
    record.plan.only_mut().load = load(is_paced);
    record.plan.only_mut().verify = Verify::ReadBack;
    record.plan.sessions.caching = Caching::ALL[1].1;
    record.plan.generator.part = part;
    record.plan.generator.threads = threads;
    record.plan.generator.setup_rate = Some(100 * threads);
    record
}

/// Returns the document as it is read again.
fn saved(record: &RunRecord) -> RunDoc {
    let json = document(record).to_json();
    RunDoc::parse(json.as_bytes(), Path::new("part.json")).unwrap()
}

/// Returns the documents of parts with these borders.
fn parts(borders: &[u32], ops: &[Booked], is_paced: bool) -> Vec<SavedPart> {
    let all = *borders.last().unwrap();
    let ranges = borders.iter().zip(&borders[1..]);
    ranges
        .enumerate()
        .map(|(at, (&from, &to))| {
            let part = ClientPart::Range(ClientRange {
                from,
                to,
                step: 1,
                of: all,
            });
            let point = load_point(from..to, ops, is_paced, SeriesDetail::Latencies, 1);
            SavedPart {
                path: format!("results/part-{at}.json"),
                doc: saved(&record(point, all, part, 1, is_paced)),
            }
        })
        .collect()
}

/// Returns two parts of eight clients with a few operations.
fn two_parts() -> Vec<SavedPart> {
    let op = |number: u32| Booked {
        client: number % 8,
        kind: OpKind::Read,
        ended: Ended::Success(4096),
        service: 1_000_000 + u64::from(number),
        late: 0,
        interval: 1 + number as usize % 5,
    };
    parts(&[0, 2, 8], &(0..80).map(op).collect::<Vec<_>>(), false)
}

/// Collects the paths at which two values differ by more than rounding.
fn differences(path: &str, one: &Value, other: &Value, found: &mut Vec<String>) {
    match (one, other) {
        (Value::Object(left), Value::Object(right)) => {
            for key in left.keys().chain(right.keys()) {
                let value =
                    |of: &serde_json::Map<String, Value>| of.get(key).cloned().unwrap_or_default();
                differences(&format!("{path}.{key}"), &value(left), &value(right), found);
            }
        }
        (Value::Array(left), Value::Array(right)) if left.len() == right.len() => {
            for (at, (left, right)) in left.iter().zip(right).enumerate() {
                differences(&format!("{path}[{at}]"), left, right, found);
            }
        }
        (Value::Number(left), Value::Number(right)) if left.is_f64() && right.is_f64() => {
            let (left, right) = (left.as_f64().unwrap(), right.as_f64().unwrap());
            // The deviation is a small difference of large sums.
            let least = if path.ends_with("_sd") { 1e-6 } else { 0.0 };
            if (left - right).abs() > (1e-9 * left.abs()).max(least) {
                found.push(format!("{path}: {left} {right}"));
            }
        }
        (one, other) if one == other => {}
        (one, other) => found.push(format!("{path}: {one} {other}")),
    }
}

/// Returns the document as a value, without what only a merged one has.
fn without_hosts(doc: &RunDoc) -> Value {
    let mut doc = doc.clone();
    doc.hosts.clear();
    doc.load_points
        .iter_mut()
        .for_each(|point| point.hosts.clear());
    serde_json::from_str(&doc.to_json()).unwrap()
}

#[track_caller]
fn assert_merged_is_whole(borders: &[u32], ops: &[Booked], is_paced: bool) {
    let (all, count) = (*borders.last().unwrap(), borders.len() - 1);
    let point = load_point(0..all, ops, is_paced, SeriesDetail::Summaries, count);
    let whole = record(point, all, ClientPart::All, count as u32, is_paced);
    let merged = merge(parts(borders, ops, is_paced)).unwrap();
    let mut found = Vec::new();
    let (merged, whole) = (without_hosts(&merged), without_hosts(&saved(&whole)));
    differences("", &merged, &whole, &mut found);
    assert!(found.is_empty(), "{found:#?}");
}

proptest! {
    // Each case has a few dozen histograms of a quarter of a megabyte.
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn merged_parts_are_the_document_of_one_process(
        ops in prop::collection::vec(booked(9), 0..300),
        is_paced: bool,
        first in 1_u32..4,
        second in 4_u32..8,
    ) {
        assert_merged_is_whole(&[0, first, second, 9], &ops, is_paced);
    }
}

#[test]
fn the_order_of_parts_does_not_matter() {
    let parts = two_parts();
    let merged = merge(parts.clone()).unwrap();
    let reversed = merge(parts.into_iter().rev().collect()).unwrap();
    assert_eq!(merged, reversed);
    assert!(merged.load_points[0].valid);
    let names: Vec<_> = merged.hosts.iter().map(|host| host.name.as_str()).collect();
    assert_eq!(names, ["part-0", "part-1"]);
    let ranges: Vec<_> = merged
        .hosts
        .iter()
        .map(|host| host.client_range.as_deref())
        .collect();
    assert_eq!(ranges, [Some("0..2/8"), Some("2..8/8")]);
}

#[test]
fn machines_have_shares_of_the_operations() {
    let merged = merge(two_parts()).unwrap();
    let hosts = &merged.load_points[0].hosts;
    let shares: Vec<_> = hosts.iter().map(|host| host.share.unwrap()).collect();
    assert_eq!(shares, [0.25, 0.75]);
    assert_eq!(hosts.iter().map(|host| host.clients).sum::<u32>(), 8);
    let text: String = smbench_report::text::summary(&merged)
        .into_iter()
        .map(|passage| passage.text)
        .collect();
    let line = "\nMachines 2: part-0 25 %, part-1 75 % of the operations\n";
    assert!(text.contains(line), "{text}");
    let text = smbench_report::render(&merged);
    assert!(text.contains("\nMachines\n"), "{text}");
    // What is read again is what was written.
    let again = RunDoc::parse(merged.to_json().as_bytes(), Path::new("whole.json")).unwrap();
    assert_eq!(again, merged);
}

/// The server counts the requests of all parts in each of them.
#[test]
fn the_counters_of_the_server_are_those_of_the_part_that_saw_the_most() {
    let counters = |sent: u64, counted: u64, mean_ns: f64| {
        let text = format!(
            r#"{{"source": "smbd", "commands": {{"read": {{"sent": {sent}, "counted": {counted},
            "service_mean_ns": {mean_ns}, "server_mean_ns": 100.0}}}}, "memory": {{"scope":
            "processes", "before_bytes": 800, "after_bytes": 1600, "per_session_bytes": 800}}}}"#
        );
        serde_json::from_str(&text).unwrap()
    };
    let mut parts = two_parts();
    parts[0].doc.load_points[0].server_counters = Some(counters(30, 95, 500.0));
    parts[1].doc.load_points[0].server_counters = Some(counters(70, 100, 600.0));
    let point = &merge(parts.clone()).unwrap().load_points[0];
    let joined = point.server_counters.as_ref().unwrap();
    let read = joined.commands["read"];
    assert_eq!((read.sent, read.counted), (Some(100), 100));
    let means = [read.service_mean_ns, read.difference_ns].map(|mean| mean.unwrap().round());
    assert_eq!(means, [570.0, 470.0]);
    assert_eq!(joined.memory.as_ref().unwrap().per_session_bytes, Some(200));
    let of_parts = point.hosts.iter().map(|host| &host.server_counters);
    let read = parts
        .iter()
        .map(|part| &part.doc.load_points[0].server_counters);
    assert!(of_parts.eq(read));
    // What the other part sent is not known.
    parts[0].doc.load_points[0].server_counters = None;
    let point = &merge(parts).unwrap().load_points[0];
    let read = point.server_counters.as_ref().unwrap().commands["read"];
    assert_eq!((read.sent, read.counted), (None, 100));
}

#[test]
fn machines_are_named_by_labels_of_their_own() {
    let mut parts = two_parts();
    parts[0].doc.label = Some("node1".to_owned());
    parts[1].path = "elsewhere/part-0.json".to_owned();
    let named = |parts: &[SavedPart]| {
        let merged = merge(parts.to_vec()).unwrap();
        let names = merged.hosts.iter().map(|host| host.name.clone());
        (merged.label, names.collect::<Vec<_>>())
    };
    assert_eq!(named(&parts), (None, vec!["node1".into(), "part-0".into()]));
    // A label that all parts have is that of the run.
    parts[1].doc.label = Some("node1".to_owned());
    let numbered = vec!["part-0".into(), "part-0-2".into()];
    assert_eq!(named(&parts), (Some("node1".into()), numbered));
}

#[test]
fn the_worst_of_all_parts_is_reported_with_its_name() {
    let mut parts = two_parts();
    let point = &mut parts[1].doc.load_points[0];
    let generator = point.generator.as_mut().unwrap();
    (generator.limited, generator.reason) = (true, Some("thread 0 ran 97 % of the time".into()));
    point.generator_limited = Some(true);
    (point.valid, point.invalid_reason) = (false, Some("1 of 6 clients dropped out".into()));
    point.latency_noise_ns.insert("p99".to_owned(), 5000);
    point.dropouts = serde_json::from_str(r#"[{"client": 5, "reason": "reset"}]"#).unwrap();
    let point = &mut parts[0].doc.load_points[0];
    point.generator.as_mut().unwrap().back_pressure = Some("sockets took no more".to_owned());
    point.latency_noise_ns.insert("p99".to_owned(), 7000);
    point.dropouts = serde_json::from_str(r#"[{"client": 1, "reason": "reset"}]"#).unwrap();
    parts[0].doc.leftover = Some("directory x remains".to_owned());
    let merged = merge(parts).unwrap();
    let point = &merged.load_points[0];
    assert!(!point.valid);
    let reason = point.invalid_reason.as_deref();
    assert_eq!(reason, Some("part-1: 1 of 6 clients dropped out"));
    let generator = point.generator.as_ref().unwrap();
    let reason = generator.reason.as_deref();
    assert_eq!(reason, Some("part-1: thread 0 ran 97 % of the time"));
    // Another machine was the limit, so the cause of waits is open.
    assert_eq!(generator.back_pressure, None);
    assert!(point.is_client_limited());
    assert_eq!(point.latency_noise_ns["p99"], 7000);
    let dropouts: Vec<_> = point
        .dropouts
        .iter()
        .map(|dropout| dropout.client)
        .collect();
    assert_eq!(dropouts, [1, 5]);
    assert_eq!(
        merged.leftover.as_deref(),
        Some("part-0: directory x remains")
    );
}

/// A part that stalled is no stall of the run if another part has operations as long.
#[test]
fn a_stall_is_judged_against_the_operations_of_all_parts() {
    let mut parts = two_parts();
    let stalls = [(true, Some(15_000_000)), (false, None)];
    for (part, (is_stalled, took_ns)) in parts.iter_mut().zip(stalls) {
        let point = &mut part.doc.load_points[0];
        (point.stalled, point.stalled_ns) = (Some(is_stalled), took_ns);
    }
    let merged = merge(parts.clone()).unwrap();
    assert_eq!(merged.load_points[0].stalled_ns, Some(15_000_000));
    let slow = Booked {
        client: 7,
        kind: OpKind::Read,
        ended: Ended::Success(1),
        service: 8_000_000,
        late: 0,
        interval: 1,
    };
    let with_slow = self::parts(&[0, 2, 8], &[slow], false);
    parts[1].doc.load_points = with_slow[1].doc.load_points.clone();
    parts[1].doc.load_points[0].stalled_ns = None;
    let point = &merge(parts).unwrap().load_points[0];
    assert_eq!((point.stalled, point.stalled_ns), (Some(false), None));
}

#[test]
fn shared_files_of_parts_are_reported() {
    let mut parts = two_parts();
    for SavedPart { doc, .. } in &mut parts {
        doc.plan.workload.scope = smbench_model::files::Scope::Shared;
    }
    let notes = merge(parts.clone()).unwrap().server.notes;
    assert_eq!(notes.len(), 2, "{notes:?}");
    assert!(
        notes[1].starts_with("each of the 2 parts shared files of its own"),
        "{notes:?}"
    );
    for SavedPart { doc, .. } in &mut parts {
        doc.server.tree = Some(TreeOriginDoc::Prepared);
    }
    let notes = merge(parts).unwrap().server.notes;
    assert_eq!(notes.len(), 1, "{notes:?}");
}

#[test]
fn times_are_those_of_the_first_part() {
    let mut parts = two_parts();
    parts[0].doc.started = "2026-01-02T03:04:09Z".to_owned();
    parts[1].doc.load_points[0].window_opened = Some("2027-01-15T07:59:59.990000Z".to_owned());
    let merged = merge(parts).unwrap();
    assert_eq!(merged.started, "2026-01-02T03:04:05Z");
    let point = &merged.load_points[0];
    let opened = SystemTime::UNIX_EPOCH + Duration::from_secs(1_800_000_000);
    let opened = humantime_text(opened - Duration::from_millis(10));
    assert_eq!(point.window_opened.as_deref(), Some(opened.as_str()));
    let skews: Vec<_> = point.hosts.iter().map(|host| host.window_skew_ns).collect();
    assert_eq!(skews, [0, -10_000_000]);
}

/// Returns a time as documents have it.
fn humantime_text(at: SystemTime) -> String {
    let mut point = point(1, 1, 4);
    point.window_opened = at;
    let doc = document(&run(vec![point]));
    doc.load_points[0].window_opened.clone().unwrap()
}
