//! Studies with round numbers, made from a kept document.

#[path = "../../../report/tests/it/samples/study.rs"]
mod parts;

use std::collections::BTreeMap;
use std::path::Path;

use smbench_model::record::{Dropout, latency_histogram};
use smbench_report::RunDoc;
use smbench_report::doc::{ColumnsDoc, LoadPointDoc, SeriesDoc};
use smbench_report::latency::{Hdr, LatencyDoc};
use smbench_report::study::{ComparisonKind, Study, StudyDoc};

pub(crate) use parts::{comparison, result, server, study_doc, transfer};

/// Reads the document that all others are made from.
pub(crate) fn kept() -> RunDoc {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/results/v1-curve.json");
    RunDoc::load(&path).unwrap()
}

/// Returns a load point with this throughput. Of a thousand reads, one in ten takes
/// five times as long as the others, and one takes 50 times as long. Seconds differ
/// in the same way.
pub(crate) fn point(
    clients: u32,
    repeat: u32,
    throughput_mbps: f64,
    latency_ns: u64,
) -> LoadPointDoc {
    let mut histogram = latency_histogram();
    for (factor, count) in [(1, 900), (5, 99), (50, 1)] {
        histogram.record_n(latency_ns * factor, count).unwrap();
    }
    let latency = LatencyDoc::of(&histogram);
    let mut point = kept().load_points.remove(0);
    let mut read = point.ops.remove("read").unwrap();
    read.count = histogram.len();
    read.hdr = Hdr::from(&histogram);
    (read.service_ns, read.response_ns) = (latency, latency);
    point.ops = BTreeMap::from([("read".to_owned(), read)]);
    let seconds = |factor: u64| {
        (0..10)
            .map(|second| Some(latency_ns * (factor + second % 3)))
            .collect()
    };
    point.series = Some(SeriesDoc {
        interval_s: 1.0,
        all: ColumnsDoc {
            count: vec![100; 10],
            bytes: vec![409_600; 10],
            errors: vec![0; 10],
            p50_ns: seconds(1),
            p99_ns: seconds(5),
            max_ns: seconds(50),
        },
        ops: BTreeMap::new(),
        hdr: BTreeMap::new(),
        buffered: None,
    });
    LoadPointDoc {
        clients,
        repeat,
        throughput_mbps,
        ops_per_s: throughput_mbps * 30.0,
        latency_ns: latency,
        ..point
    }
}

/// Returns the load point as if a client had been lost.
pub(crate) fn dropped(mut point: LoadPointDoc) -> LoadPointDoc {
    point.valid = false;
    point.invalid_reason = Some("1 client dropped out".to_owned());
    point.dropouts.push(Dropout {
        client: 0,
        reason: "connection reset by the server".to_owned(),
        after_s: None,
    });
    point
}

/// Returns a document with these load points.
pub(crate) fn run(load_points: Vec<LoadPointDoc>) -> RunDoc {
    RunDoc::pooled(vec![RunDoc {
        load_points,
        ..kept()
    }])
    .unwrap()
}

/// Returns a study of these servers with one profile and without comparisons.
pub(crate) fn study(servers: &[(&str, RunDoc)]) -> Study {
    let points = servers.iter().flat_map(|(_, run)| &run.load_points);
    let mut load_points: Vec<_> = points.map(|point| point.clients).collect();
    load_points.sort_unstable();
    load_points.dedup();
    let names: Vec<_> = servers.iter().map(|(name, _)| *name).collect();
    let results = servers.iter().enumerate();
    Study {
        calibration: None,
        unread: Vec::new(),
        set_aside: None,
        results: results
            .map(|(server, (_, run))| result(server, 0, run.clone()))
            .collect(),
        doc: StudyDoc {
            load_points,
            ..study_doc(&names)
        },
    }
}

/// Returns a run whose throughput rises to `peak` at 48 clients and then falls by a
/// tenth.
pub(crate) fn curve(peak: f64) -> RunDoc {
    let part = |clients: u32| match clients {
        60 => 0.9,
        clients => f64::from(clients) / 48.0,
    };
    let points = [1, 12, 24, 36, 48, 60].map(|clients| {
        let latency = 200_000 * u64::from(clients) + (1e9 / peak) as u64;
        point(clients, 1, peak * part(clients), latency)
    });
    run(points.into())
}

/// Returns a study with all features: passes, invalid points, comparisons.
pub(crate) fn full() -> Study {
    let honours = run(vec![
        point(1, 1, 40.0, 100_000),
        point(8, 1, 300.0, 400_000),
        point(16, 1, 280.0, 900_000),
        point(1, 2, 42.0, 110_000),
        point(8, 2, 310.0, 500_000),
        point(16, 2, 290.0, 800_000),
    ]);
    let ignores = run(vec![
        point(1, 1, 50.0, 90_000),
        point(8, 1, 500.0, 200_000),
        dropped(point(16, 1, 10.0, 30_000_000)),
        point(1, 2, 52.0, 95_000),
        point(8, 2, 520.0, 210_000),
        dropped(point(16, 2, 20.0, 20_000_000)),
        point(1, 3, 51.0, 95_000),
        point(8, 3, 504.0, 210_000),
        dropped(point(16, 3, 30.0, 25_000_000)),
    ]);
    let mut study = study(&[
        ("Samba, honours flushes", honours),
        ("Samba, ignores them", ignores),
    ]);
    study.doc.passes = 3;
    study.doc.comparisons = vec![comparison(
        "what a flush costs",
        ComparisonKind::Change,
        &["Samba, ignores them", "Samba, honours flushes"],
    )];
    study
}
