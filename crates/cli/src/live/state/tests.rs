use std::path::Path;
use std::time::{Duration, SystemTime};

use smbench_engine::run::{PopulationInterval, Stage};
use smbench_model::Nanos;
use smbench_model::kind::OpKind;
use smbench_model::record::{OperationFailure, ReplayDifference};
use smbench_protocol::NtStatus;
use smbench_report::units::counted;

use super::*;

const POINT: PointNumber = PointNumber {
    number: 1,
    of: 2,
    repeat: 1,
    clients: 4,
    rate: None,
};

fn running(point: PointNumber, elapsed_ms: u64, ops_per_s: f64) -> Progress {
    Progress::Running {
        point,
        stage: Stage::Measuring,
        elapsed: Duration::from_millis(elapsed_ms),
        total: Duration::from_secs(300),
        live: Live {
            throughput_mbps: ops_per_s / 10.0,
            ops_per_s,
            p99: Duration::from_millis((ops_per_s > 0.0).into()),
        },
    }
}

fn report(figures: &mut LiveFigures, progress: &Progress, now_s: f64) {
    figures.progress(progress, String::new(), Remaining::default(), now_s);
}

#[test]
fn only_the_last_two_minutes_are_kept_each_second_once() {
    let mut figures = LiveFigures::default();
    for ms in (0..300_000).step_by(250) {
        report(&mut figures, &running(POINT, ms, 9000.0), ms as f64 / 1e3);
    }
    let seconds = figures.view(300.0).seconds;
    let times: Vec<_> = seconds.iter().map(|second| second.at_s).collect();
    let expected: Vec<_> = (179..300).map(f64::from).collect();
    assert_eq!(times, expected);
}

#[test]
fn a_load_point_begins_with_its_first_figures() {
    let mut figures = LiveFigures::default();
    for (second, ops_per_s) in [(1, 0.0), (2, 5.0), (3, 0.0), (301, 7.0)] {
        report(
            &mut figures,
            &running(POINT, second * 1000, ops_per_s),
            second as f64,
        );
    }
    let seconds = figures.view(4.0).seconds;
    let rates: Vec<_> = seconds.iter().map(|second| second.live.ops_per_s).collect();
    assert_eq!(rates, [5.0, 0.0]);
}

#[test]
fn a_run_without_data_has_a_curve_of_operations() {
    let mut figures = LiveFigures::default();
    assert_eq!(figures.view(0.0).metric(), Metric::Throughput);
    let mut progress = running(POINT, 1000, 5.0);
    if let Progress::Running { live, .. } = &mut progress {
        live.throughput_mbps = 0.0;
    }
    report(&mut figures, &progress, 1.0);
    let view = figures.view(1.0);
    assert_eq!(view.metric(), Metric::Operations);
    let ramp = view
        .present_point()
        .map(|point| (point.clients, point.ops_per_s));
    assert_eq!(ramp, Some((4, 5.0)));
}

fn add(figures: &mut LiveFigures, point: PointNumber, index: u32, ops: &Recorder) {
    figures.interval(&MeasuredInterval {
        point,
        index,
        start: SystemTime::UNIX_EPOCH,
        length: Duration::from_secs(1),
        ops,
        populations: &[],
    });
}

#[test]
fn operations_are_those_of_the_window_so_far() {
    let mut ops = Recorder::default();
    for _ in 0..10 {
        ops.success(OpKind::Read, 125_000, Nanos(1000));
    }
    ops.success(OpKind::CopyChunk, 125_000, Nanos(1000));
    // The server has asked for it.
    ops.success(OpKind::OplockBreak, 0, Nanos(1000));
    let mut figures = LiveFigures::default();
    report(&mut figures, &running(POINT, 1000, 1.0), 1.0);
    add(&mut figures, POINT, 0, &ops);
    add(&mut figures, POINT, 1, &ops);
    let view = figures.view(2.0);
    let kinds = view
        .kinds
        .iter()
        .map(|kind| (kind.name.as_ref(), kind.count));
    let kinds: Vec<_> = kinds.collect();
    assert_eq!(
        kinds,
        [("read", 20), ("copy_chunk", 2), ("oplock_break", 2)]
    );
    let all = view.all.as_ref().unwrap();
    assert_eq!((all.count, all.ops_per_s), (22, 11.0));
    assert_eq!(all.throughput_mbps, Some(10.0));
    let present = view.present_point().map(|point| point.throughput_mbps);
    assert_eq!(present, Some(10.0));
    let next = PointNumber { number: 2, ..POINT };
    add(&mut figures, next, 0, &ops);
    assert_eq!(figures.view(3.0).all.unwrap().count, 11);
}

#[test]
fn several_populations_have_figures_of_the_window_each() {
    let (mut office, mut backup) = (Recorder::default(), Recorder::default());
    office.success(OpKind::Read, 125_000, Nanos(1000));
    backup.success(OpKind::Stat, 0, Nanos(1000));
    let mut all = office.clone();
    all.merge(&backup);
    let populations = [("office", &office), ("backup", &backup)];
    let populations = populations.map(|(name, ops)| PopulationInterval { name, ops });
    let mut figures = LiveFigures::default();
    for index in 0..2 {
        figures.interval(&MeasuredInterval {
            point: POINT,
            index,
            start: SystemTime::UNIX_EPOCH,
            length: Duration::from_secs(1),
            ops: &all,
            populations: &populations,
        });
    }
    let view = figures.view(2.0);
    let rows = view.populations.iter();
    let rows = rows.map(|row| (row.name.as_ref(), row.count, row.throughput_mbps));
    let rows: Vec<_> = rows.collect();
    assert_eq!(rows, [("office", 2, Some(1.0)), ("backup", 2, None)]);
    assert_eq!(view.all.map(|all| all.count), Some(4));
}

#[test]
fn invalid_load_points_come_before_cautions() {
    let results = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/results");
    let mut doc = RunDoc::load(&results.join("v1-curve.json")).unwrap();
    let clients: Vec<_> = doc.load_points.iter().map(|point| point.clients).collect();
    let last = doc.load_points.last_mut().unwrap();
    last.valid = false;
    last.invalid_reason = Some("2 errors\x1b[m".to_owned());
    let message = format!(
        "not valid at {}: 2 errors?[m",
        counted(last.clients.into(), "client")
    );
    let mut figures = LiveFigures::default();
    figures.points(&doc);
    let view = figures.view(0.0);
    assert_eq!(view.problems[0], (Tone::Problem, message));
    let found: Vec<_> = view.curve.iter().map(|point| point.clients).collect();
    assert_eq!(found, clients);
    assert_eq!(view.curve.last().unwrap().standing, Standing::Invalid);
}

#[test]
fn operations_that_differ_from_a_recording_are_counted_by_kind() {
    let mut ops = Recorder::default();
    ops.success(OpKind::Read, 4096, Nanos(1000));
    for kind in [OpKind::Read, OpKind::Unlink, OpKind::Unlink] {
        ops.difference(ReplayDifference {
            kind,
            recorded: Some(NtStatus::SUCCESS),
            seen: OperationFailure::Status(NtStatus::OBJECT_NAME_NOT_FOUND),
        });
    }
    let mut figures = LiveFigures::default();
    report(&mut figures, &running(POINT, 1000, 1.0), 1.0);
    add(&mut figures, POINT, 0, &ops);
    add(&mut figures, POINT, 1, &ops);
    let view = figures.view(2.0);
    let kinds = view
        .kinds
        .iter()
        .map(|kind| (kind.name.as_ref(), kind.count, kind.differ));
    // No unlink went as recorded.
    assert_eq!(
        kinds.collect::<Vec<_>>(),
        [("read", 2, 2), ("unlink", 0, 4)]
    );
    let all = view.all.unwrap();
    assert_eq!((all.count, all.errors, all.differ), (2, 0, 6));
}

#[test]
fn passes_are_counted_from_the_number_of_the_load_point() {
    let title = LiveTitle {
        clients: vec![1, 2],
        passes: 3,
        ..LiveTitle::default()
    };
    let mut figures = LiveFigures::of(title);
    for (number, pass) in [(1, 1), (2, 1), (3, 2), (6, 3)] {
        let point = PointNumber { number, ..POINT };
        report(&mut figures, &running(point, 1000, 1.0), 1.0);
        assert_eq!(figures.view(1.0).pass(), Some(pass));
    }
}
