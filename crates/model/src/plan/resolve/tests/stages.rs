//! Stages and soaks: what goes before what, and which source is blamed.

use super::populations::of;
use super::*;
use crate::stages::{StagePlace, StagesPurpose};

const READS: &str = "read_percent = 100\nsizes = [{ size = 512, weight = 100 }]\n";

fn with(change: impl FnOnce(&mut WorkSpec)) -> RunOptions {
    let mut options = RunOptions::default();
    change(&mut options.work);
    options
}

fn stages(text: &'static str) -> RunOptions {
    with(|work| work.stages = text.parse().ok())
}

fn soak() -> RunOptions {
    with(|work| work.soak = Some(Duration::from_secs(600)))
}

fn resolved(text: &str, options: &RunOptions) -> Plan {
    resolve(&Profile::parse("x.toml", text).unwrap(), options).unwrap()
}

/// The command line cannot take back what a profile gives.
#[test]
fn stages_of_the_command_line_replace_the_length_in_a_profile() {
    let length = format!("{READS}[run]\nduration = \"30s\"\nuntil_steady = \"5m\"\n");
    let loops = "operations = [{ op = \"copy_in\", weight = 100 }]\n[run]\nloops = 2\n";
    let staged = format!("{READS}[run]\nstages = \"1m:3\"\n");
    for profile in [&length[..], loops, &staged] {
        let plan = resolved(profile, &stages("2m:5"));
        assert_eq!(plan.work.stages.as_ref().unwrap().to_string(), "2m:5");
        assert_eq!(plan.work.duration, Duration::from_secs(120));
        assert_eq!((plan.only().count, plan.work.until_steady), (None, None));
        let plan = resolved(profile, &soak());
        let purpose = plan.work.stages.map(|stages| stages.purpose);
        assert_eq!(purpose, Some(StagesPurpose::Soak));
        assert_eq!(plan.work.duration, Duration::from_secs(600));
    }
    let both = RunOptions {
        work: WorkSpec {
            duration: Some(Duration::from_secs(9)),
            ..stages("2m:5").work
        },
        ..RunOptions::default()
    };
    let refused = "stages and soaks say how long the load takes: drop this option";
    assert_eq!(refusal(&length, &both), format!("duration: {refused}"));
    let own = format!("{staged}duration = \"30s\"\n");
    assert_eq!(
        refusal(&own, &RunOptions::default()),
        format!("profile x.toml: {refused}")
    );
}

#[test]
fn stages_of_a_rate_replace_the_think_time_of_a_profile() {
    let thinks = format!("{READS}[run]\nthink_time = \"1s\"\n");
    let plan = resolved(&thinks, &stages("2m:5000/s"));
    let (rate, _) = plan.only().load.rate().unwrap();
    assert_eq!(rate.of_all(64), 5000.0);
    let refused = "the stages have rates, which know no think time: drop think_time";
    let own = format!("{thinks}stages = \"2m:5000/s\"\n");
    assert_eq!(
        refusal(&own, &RunOptions::default()),
        format!("profile x.toml: {refused}")
    );
    let watches = Profile::builtin("notify-fanout").unwrap();
    let options = with(|work| {
        work.stages = "2m:5000/s".parse().ok();
        work.clients = "10".parse().ok();
    });
    assert_eq!(
        resolve(&watches, &options).unwrap_err().to_string(),
        "stages: clients of operation watch take no part of a rate: leave out the rate"
    );
}

#[test]
fn a_mistake_in_a_profile_is_not_that_of_stages() {
    let wrong = format!("{READS}[run]\noutstanding = 0\n");
    assert_eq!(
        refusal(&wrong, &stages("2m:5")),
        "profile x.toml: outstanding is 0: give 1 to 1024"
    );
}

const LINES: &str = r#"
[[population]]
name = "office"
profile = "read-4k"
clients = 4
stages = "2m:4,10m:16"
[[population]]
name = "backup"
profile = "read-4k"
stages = "7m:0,0s:2,5m:2"
[[population]]
name = "editors"
profile = "read-4k"
clients = 3
"#;

#[test]
fn populations_have_stages_of_their_own() {
    let plan = of(LINES, &RunOptions::default()).unwrap();
    assert_eq!(plan.check(), Ok(()));
    assert_eq!(plan.work.load_points(), [21]);
    assert_eq!(plan.work.duration, Duration::from_secs(720));
    assert_eq!(plan.work.ramp_up, Duration::ZERO);
    let whole = plan.work.stages.as_ref().unwrap();
    assert_eq!(whole.to_string(), "2m:7,5m:13,0s:15,5m:21");
    assert_eq!(whole.begin, 7.0);
    let alone = plan
        .alone()
        .map(|plan| plan.work.stages.unwrap().to_string());
    assert_eq!(
        alone.collect::<Vec<_>>(),
        [
            "2m:4,5m:10,5m:16",
            "2m:0,5m:0,0s:2,5m:2",
            "2m:7,5m:13,0s:15,5m:21"
        ]
    );
    let after = |place: &StagePlace| [0, 1, 2].map(|index| plan.work.clients_after(index, place));
    let clients: Vec<_> = whole.places().map(|place| after(&place)).collect();
    assert_eq!(clients, [[4, 0, 3], [10, 0, 3], [16, 2, 3]]);
    assert!(!whole.places().any(|place| plan.work.is_pause(&place)));

    let digest = |tables: &str| of(tables, &RunOptions::default()).unwrap().digest();
    for (from, to) in [("clients = 4", "clients = 5"), ("10m:16", "10m:17")] {
        assert_ne!(digest(LINES), digest(&LINES.replace(from, to)), "{from}");
    }
}

/// A share of the time of clients is one of the time in which they are under load.
#[test]
fn clients_have_the_time_that_their_lines_leave_them() {
    let plan = of(LINES, &RunOptions::default()).unwrap();
    let time_s = |clients, window_s| plan.work.clients_s(clients, Duration::from_secs(window_s));
    // 7 clients, then 7 to 13, then 15 to 21.
    let all_s = f64::from(7 * 120 + 10 * 300 + 18 * 300);
    assert_eq!(time_s(21, 720), all_s);
    assert_eq!(time_s(7, 720), all_s / 3.0);
    assert_eq!((time_s(21, 120), time_s(21, 0)), (840.0, 0.0));
    let even = resolved(READS, &soak());
    assert_eq!(even.work.clients_s(16, Duration::from_secs(600)), 9600.0);
    let none = resolved(READS, &RunOptions::default());
    assert_eq!(none.work.clients_s(8, Duration::from_secs(3)), 24.0);
}

#[test]
fn lines_of_populations_that_do_not_fit_are_named() {
    let own = "populations have stages of their own: drop this option";
    for (options, expected) in [
        (stages("2m:5"), format!("stages: {own}")),
        (soak(), format!("soak: {own}")),
        (
            with(|work| work.duration = Some(Duration::from_secs(9))),
            "duration: stages and soaks say how long the load takes: drop this option".to_owned(),
        ),
        (
            with(|work| work.clients = "24".parse().ok()),
            "clients: the populations have 21 clients, and a load point has 24: leave out this \
             number, or give a population a share"
                .to_owned(),
        ),
    ] {
        assert_eq!(of(LINES, &options).unwrap_err().to_string(), expected);
    }
    let office = "profile company.toml, population office: ";
    let beside = "beside populations with stages of their own, give clients in place of a share";
    for (from, to, expected) in [
        (
            "2m:4,10m:16",
            "2m:4/s",
            format!("{office}stages of a population are numbers of its clients, such as 2m:50"),
        ),
        ("clients = 4", "share = 50", office.to_owned() + beside),
        (
            "clients = 3",
            "share = 50",
            format!("profile company.toml, population editors: {beside}"),
        ),
        (
            "clients = 4",
            "start = \"1s\"",
            "profile company.toml: a population with a share or stages follows the stages from \
             their start: drop its start, or give it clients"
                .to_owned(),
        ),
        (
            "7m:0,0s:2,5m:2",
            "7m:0",
            "the stages go nowhere: all their levels are 0".to_owned(),
        ),
    ] {
        let tables = LINES.replace(from, to);
        assert_ne!(tables, LINES);
        let refused = match Profile::parse("company.toml", &tables) {
            Ok(_) => of(&tables, &RunOptions::default()).unwrap_err().to_string(),
            Err(error) => error.to_string(),
        };
        assert!(refused.contains(&expected), "{to}: {refused}");
    }
}
