//! Changes of each population.

use insta::assert_snapshot;
use serde_json::Value;
use smbench_model::sessions::Mode;
use smbench_report::RunDoc;
use smbench_report::compare::{Condition, Depth, Verdict, render, write_csv};
use smbench_report::doc::Named;
use smbench_report::metric::Metric;

use super::{compared, judged, pair, passes};
use crate::document::populations::company_passes;

/// The office became slower, and the backup did not.
#[test]
fn each_population_has_its_own_changes() {
    let comparison = compared(
        company_passes(&[1600, 1620, 1580]),
        company_passes(&[800, 812, 776]),
    );
    let text = render(&comparison, Depth::Overview);
    let table = text
        .split("\n\n")
        .find(|part| part.starts_with("populations"));
    assert_snapshot!(table.unwrap(), @"
    populations: B against A at 8 clients, 3 passes each
    population  throughput    ops/s     mean      p50      p90      p95      p99      p99.9
    office         -50.3 %  -50.2 %   +1.2 %  (0.0 %)  (0.0 %)  (0.0 %)  (0.0 %)  (+1400 %)
    backup         (0.0 %)  (0.0 %)  (0.0 %)  (0.0 %)  (0.0 %)  (0.0 %)  (0.0 %)    (0.0 %)
    ");
    let held = &comparison.pairs[0].load_points[0];
    let verdict = |population| {
        let found = held.find_in(Some(population), Some("read"), Metric::Operations);
        found.unwrap().verdict
    };
    assert_eq!(verdict("office"), Verdict::Worse);
    assert_eq!(verdict("backup"), Verdict::NoDifferenceShown);
    // A machine's CPU time is not divided among populations.
    assert!(held.find_in(Some("office"), None, Metric::Cpu).is_none());
    assert!(held.find(None, Metric::Cpu).is_some());
    let details = render(&comparison, Depth::Details);
    assert!(details.contains("population  op "), "{details}");
    let mut csv = Vec::new();
    write_csv(&comparison, &mut csv).unwrap();
    let csv = String::from_utf8(csv).unwrap();
    let ends = |end: &str| csv.lines().filter(|line| line.ends_with(end)).count();
    assert_eq!(
        csv.lines().next().unwrap().split(',').next_back(),
        Some("population")
    );
    assert!(ends(",office") > 0 && ends(",office") == ends(",backup"));
}

#[test]
fn conditions_may_name_a_population() {
    let slower = pair(
        company_passes(&[1600, 1620, 1580]),
        company_passes(&[800, 812, 776]),
    );
    for (condition, expected) in [
        (
            "office ops/s < -5%",
            "failed: office ops/s < -5%: -50.2 % at 8 clients, B against A (95 % interval -52.5 to \
             -47.8 %)",
        ),
        (
            "office read ops/s < -5%",
            "failed: office read ops/s < -5%: -50.2 % at 8 clients, B against A (95 % interval \
             -52.6 to -47.8 %)",
        ),
        (
            "backup ops/s < -5%",
            "passed: backup ops/s < -5%: 0.0 % at 8 clients, B against A (95 % interval 0.0 to \
             0.0 %)",
        ),
    ] {
        assert_eq!(judged(condition, &slower), expected);
    }
    let none = pair(passes(&[1600, 1620]), passes(&[1600, 1620]));
    assert_eq!(
        judged("office read p99 > 5%", &none),
        "fail_if 'office read p99 > 5%': neither A nor B has p99 of office read at 8 clients"
    );
    let of_cpu = "office us/op > 5%".parse::<Condition>().unwrap_err();
    assert_eq!(
        of_cpu.to_string(),
        "CPU time is that of all operations together: leave out `office`"
    );
}

#[test]
fn a_population_of_one_run_only_is_said_to_be_missing_in_the_other() {
    let office = company_passes(&[1600, 1620]);
    let other = passes(&[1600, 1620]);
    let without = |baseline, other, label: &str| {
        let found = pair(baseline, other);
        assert_eq!(
            judged("office ops/s < -5%", &found),
            format!("fail_if 'office ops/s < -5%': {label} has no ops/s of office at 8 clients")
        );
    };
    without(office.clone(), other.clone(), "B");
    without(other, office, "A");
}

/// As those of all clients are.
#[test]
fn sessions_of_a_population_are_settings() {
    let usual = company_passes(&[1600, 1620]);
    let differing = |change: fn(&mut RunDoc)| {
        let mut other = usual.clone();
        change(&mut other);
        other.plan.digest = "of other sessions".to_owned();
        let found = pair(usual.clone(), other);
        assert!(found.workload.is_empty(), "{:?}", found.workload);
        let settings = found.settings.into_iter();
        settings
            .map(|of| (of.key, of.baseline, of.other))
            .collect::<Vec<_>>()
    };
    // The dialect and the signing are those of the run.
    let sessions = differing(|doc| {
        let backup = &mut doc.plan.populations[1];
        backup.dialect = Some("3.1.1".to_owned());
        backup.signing = Some(Mode::Auto);
        backup.encryption = Some(Mode::Required);
        backup.credits = Some(64);
    });
    let of_backup = |key: &str, value: Value| {
        let key = format!("plan.populations.backup.{key}");
        (key, Value::Null, value)
    };
    let expected = [
        of_backup("credits", 64.into()),
        of_backup("encryption", "required".into()),
    ];
    assert_eq!(sessions, expected);
    let caching = differing(|doc| {
        let batch = Some(Named::from("batch".to_owned()));
        doc.plan.sessions.oplock = batch.clone();
        doc.plan.populations[1].oplock = batch;
    });
    let keys: Vec<_> = caching.iter().map(|(key, ..)| &key[..]).collect();
    assert_eq!(keys, ["plan.oplock", "plan.populations.office.oplock"]);
    assert_eq!(caching[1].2, "none");
}
