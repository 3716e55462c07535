//! Load points of units: what is reported of them, and when they are valid.

use std::time::Duration;

use serde_json::json as value;
use smbench_model::load::{LoadModel, Spacing};
use smbench_model::record::{PopulationRecord, Punctuality, RunRecord};
use smbench_model::unit::{LoadUnit, UnitLimits};
use smbench_model::work::Population;
use smbench_report::Curve;
use smbench_report::text::load_units;

use super::json;
use crate::samples::{document, point, run};

/// The answers of a population of 4 clients to 1000 due operations in 10 s.
#[derive(Clone, Copy)]
struct Answers {
    all: u64,
    slowest_ppm: u32,
}

const ALL: Answers = Answers {
    all: 1000,
    slowest_ppm: 1_000_000,
};

/// Returns a run of two units of 4 clients, 2 of each population.
fn record(builds: Answers, checks: Answers, limits: UnitLimits) -> RunRecord {
    let mut all = point(8, 1, 400);
    let part = |name: &str, answers: Answers| PopulationRecord {
        ops: all.ops.clone(),
        clients_served: 4,
        punctuality: Punctuality {
            due: 1000,
            answered: answers.all,
            slowest_ppm: Some(answers.slowest_ppm),
            ..Punctuality::default()
        },
        ..PopulationRecord::begun(name.to_owned(), 4)
    };
    all.populations = vec![part("build", builds), part("check", checks)];
    let mut record = run(vec![all]);
    let of = |name: &str| Population {
        name: Some(name.to_owned()),
        share: Some(50.0),
        per_unit: Some(2),
        clients: vec![4],
        load: LoadModel::Rate {
            rate: "25/client".parse().unwrap(),
            arrivals: Spacing::Fixed,
        },
        ..record.plan.only().clone()
    };
    record.plan.work.populations = vec![of("build"), of("check")];
    record.plan.work.unit = Some(LoadUnit {
        name: "JOB".to_owned(),
        clients: 4,
        limits,
    });
    record
}

#[test]
fn a_load_point_of_units_says_what_each_client_reached() {
    let some = Answers {
        all: 960,
        slowest_ppm: 800_000,
    };
    let doc = document(&record(ALL, some, UnitLimits::default()));
    let json = json(&doc);
    let unit = value!({
        "name": "JOB", "clients": 4, "slowest_percent": 75.0, "mean_percent": 95.0,
    });
    assert_eq!(json["plan"]["unit"], unit);
    let of_plan = &json["plan"]["populations"][0];
    assert_eq!(
        (&of_plan["per_unit"], &of_plan["share"]),
        (&value!(2), &value!(null))
    );
    let point = &json["load_points"][0];
    assert_eq!(
        (&point["units"], &point["valid"]),
        (&value!(2), &value!(true))
    );
    let reached = value!({
        "requested_ops_per_s": 25.0, "mean_percent": 96.0, "slowest_percent": 80.0,
    });
    assert_eq!(point["populations"][1]["reached"], reached);
    let table = load_units(&doc, &Curve::of(&doc.load_points))
        .unwrap()
        .to_text();
    insta::assert_snapshot!(table, @r"
    JOB of 4 clients
    JOB  population  clients  asked/s  reached  slowest     mean      p99  errors
      2  build             4     25.0    100 %    100 %  1.26 ms  2.00 ms       0
      2  check             4     25.0     96 %     80 %  1.26 ms  2.00 ms       0
    asked/s: operations of each client, where a sequence of requests counts once
    reached: percent of them, valid from 95 %, from 75 % for the slowest client
    operations that were due in the last 100 ms may be missing
    ");
    let mut written = Vec::new();
    smbench_report::write_csv(&doc, &mut written).unwrap();
    let csv = String::from_utf8(written).unwrap();
    let ends: Vec<_> = csv
        .lines()
        .filter_map(|line| line.split_once(",check,4,"))
        .map(|(_, end)| end)
        .collect();
    assert!(ends.len() > 1, "{csv}");
    assert_eq!(ends[0], "2,25,96,80,,,,,");
    assert!(ends[1..].iter().all(|end| *end == "2,,,,,,,,"), "{ends:?}");
}

#[test]
fn a_load_point_of_units_is_valid_within_their_limits() {
    let slow = |all, slowest_ppm| Answers { all, slowest_ppm };
    let usual = UnitLimits::default();
    let loose = UnitLimits {
        slowest_percent: 10.0,
        mean_percent: 20.0,
        mean_latency: None,
    };
    let of_latency = |micros| UnitLimits {
        mean_latency: Some(Duration::from_micros(micros)),
        ..usual
    };
    for (checks, limits, reason) in [
        (slow(950, 750_000), usual, None),
        (
            slow(930, 750_000),
            usual,
            Some("check reached 93 % of its rate, and the limit is 95 %"),
        ),
        (
            slow(990, 730_000),
            usual,
            Some("the slowest client of check reached 73 % of its rate, and the limit is 75 %"),
        ),
        // What is due in the last 100 ms may be missing, and one of 250 operations.
        (slow(990, 747_000), usual, None),
        (slow(300, 200_000), loose, None),
        (ALL, of_latency(1_000_000), None),
        (ALL, of_latency(1), Some("and the limit is 1.00 us")),
    ] {
        let doc = document(&record(ALL, checks, limits));
        let point = &doc.load_points[0];
        let found = point.invalid_reason.as_deref();
        let fits = reason.map_or(found.is_none(), |reason| {
            found.is_some_and(|found| found.contains(reason))
        });
        assert!(
            fits && point.valid == reason.is_none(),
            "{found:?}, not {reason:?}"
        );
    }
}
