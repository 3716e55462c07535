//! Which units resolve, which are refused, and the messages.

use std::time::Duration;

use super::populations::{THREE, clients, divided, of};
use crate::spec::{RunOptions, WorkSpec};

const JOBS: &str = r#"
unit = "JOB"
[[population]]
name = "build"
profile = "read-4k"
per_unit = 5
rate = "20/client"
[[population]]
name = "check"
profile = "read-4k"
per_unit = 2
rate = "10/client"
"#;

fn units(list: &str) -> RunOptions {
    RunOptions {
        work: WorkSpec {
            units: Some(list.parse().unwrap()),
            ..WorkSpec::default()
        },
        ..RunOptions::default()
    }
}

#[test]
fn a_load_point_of_units_has_clients_of_each_population() {
    let plan = of(JOBS, &units("1,3,10")).unwrap();
    assert_eq!(divided(&plan), [[5, 15, 50], [2, 6, 20]]);
    assert_eq!(plan.work.load_points(), [7, 21, 70]);
    let unit = plan.work.unit.unwrap();
    assert_eq!((&unit.name[..], unit.clients), ("JOB", 7));
    assert_eq!((unit.count(70), unit.count(71)), (Some(10), None));
    assert_eq!(
        (unit.limits.slowest_percent, unit.limits.mean_percent),
        (75.0, 95.0)
    );
    let ten = of(JOBS, &RunOptions::default()).unwrap();
    assert_eq!(
        ten.work.load_points(),
        (1..=10).map(|units| units * 7).collect::<Vec<_>>()
    );
    // A search has numbers of clients.
    let search = of(JOBS, &clients("9")).unwrap();
    assert_eq!(divided(&search), [[6], [3]]);
    let limited = format!("{JOBS}\n[unit_limits]\nslowest_percent = 50\nmean_latency = \"20ms\"\n");
    let limits = of(&limited, &units("2")).unwrap().work.unit.unwrap().limits;
    assert_eq!((limits.slowest_percent, limits.mean_percent), (50.0, 95.0));
    assert_eq!(limits.mean_latency, Some(Duration::from_millis(20)));
}

#[test]
fn units_that_cannot_be_are_refused_with_the_reason() {
    let problem = |text: &str, options: &RunOptions| of(text, options).unwrap_err().to_string();
    let none = RunOptions::default();
    for (from, to, expected) in [
        (
            "unit = \"JOB\"",
            "",
            "per_unit means nothing without a unit",
        ),
        ("unit = \"JOB\"", "unit = \"a b\"", "a unit needs a name"),
        (
            "per_unit = 2",
            "",
            "give per_unit, the clients of this population",
        ),
        (
            "per_unit = 2",
            "per_unit = 0",
            "give per_unit, the clients of this population",
        ),
        (
            "per_unit = 2",
            "per_unit = 2\nshare = 5",
            "drop clients, share and stages",
        ),
        (
            "rate = \"10/client\"",
            "",
            "every client of a JOB needs a rate of its own",
        ),
        (
            "rate = \"10/client\"",
            "rate = \"100\"",
            "every client of a JOB needs a rate of its own",
        ),
        (
            "unit = \"JOB\"",
            "unit = \"JOB\"\nunit_limits.mean_percent = 101",
            "mean_percent is 101",
        ),
    ] {
        let text = JOBS.replacen(from, to, 1);
        let problem = problem(&text, &none);
        assert!(problem.contains(expected), "{to}: {problem}");
    }
    let mut both = units("1");
    both.work.clients = Some("7".parse().unwrap());
    assert!(problem(JOBS, &both).contains("units and clients are both given"));
    let many = problem(JOBS, &units("100000"));
    assert!(
        many.contains("100000 units of 7 clients are too many"),
        "{many}"
    );
    let plain = problem(THREE, &units("1"));
    assert!(
        plain.contains("units means nothing without a unit"),
        "{plain}"
    );
    let mut staged = units("1");
    staged.work.stages = Some("2m:50".parse().unwrap());
    assert!(problem(JOBS, &staged).contains("count clients"));
}
