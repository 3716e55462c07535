//! Stages and soaks: what goes before what, and which source is blamed.

use super::*;
use crate::stages::StagesPurpose;

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
