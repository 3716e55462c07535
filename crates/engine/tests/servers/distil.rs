//! Profiles made of captures: a capture of a run of known weights gives them back.

use std::collections::BTreeMap;
use std::fs::File;
use std::time::Duration;

use smbench_capture::{CaptureImport, DistilledGroup, ImportOptions, distance, issued};
use smbench_engine::Cancel;
use smbench_engine::run::{Unobserved, execute};
use smbench_lab::{SambaOptions, ScratchSamba, require};
use smbench_model::limits::Limits;
use smbench_model::plan::Plan;
use smbench_model::profile::Profile;
use smbench_model::spec::{RunOptions, WorkSpec};

use crate::capture::{Capture, TSHARK};
use crate::support::{short, target};

const KNOWN: &str = r#"
operations = [
    { op = "read", weight = 40 },
    { op = "write", weight = 20 },
    { op = "query_info", class = "basic", weight = 15 },
    { op = "create_query_close", class = "standard", weight = 10 },
    { op = "create", disposition = "create", weight = 10 },
    { op = "set_info", class = "rename", weight = 5 },
]
sizes = [{ size = "4KiB", weight = 70 }, { size = "64KiB", weight = 30 }]
[files]
count = 2
"#;

/// Runs a profile while its packets are captured, and distils them. Returns the group with
/// most requests, that of the clients.
fn distilled(samba: &ScratchSamba, profile: &Profile, options: &RunOptions) -> DistilledGroup {
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("run.pcapng");
    let target = target(&samba.url(), samba.password());
    let plan = Plan::resolve(profile, options, target, Limits::default(), 2).unwrap();
    let capture = Capture::start(samba.port(), &file);
    execute(&plan, &mut Unobserved, &Cancel::default()).unwrap();
    capture.stop();
    let mut import = CaptureImport::new(ImportOptions::default());
    import.distil();
    import.read("run", File::open(&file).unwrap()).unwrap();
    let mut groups = import.finish().unwrap().distilled().groups;
    assert!(!groups.is_empty());
    groups.swap_remove(0)
}

fn work(clients: &str, of: WorkSpec) -> RunOptions {
    RunOptions {
        work: WorkSpec {
            clients: Some(clients.parse().unwrap()),
            ..of
        },
        ..short()
    }
}

/// Returns the plan of a distilled profile.
fn plan_of(group: &DistilledGroup, samba: &ScratchSamba) -> (Plan, Profile) {
    let profile = Profile::parse("made", &group.to_toml("made")).unwrap();
    let target = target(&samba.url(), samba.password());
    (Plan::of(&profile, target).unwrap(), profile)
}

/// Asserts that a share of a number of draws is the expected one, within five standard
/// deviations.
fn assert_drawn(what: &str, percent: f64, expected: f64, draws: f64) {
    let share = expected / 100.0;
    let deviation = 100.0 * (share * (1.0 - share) / draws).sqrt();
    let off = (percent - expected).abs();
    assert!(
        off <= 5.0 * deviation,
        "{what}: {percent} of {draws}, not {expected}"
    );
}

#[test]
fn a_capture_of_known_weights_gives_them_back() {
    if let Err(skip) = require(&[TSHARK]) {
        return eprintln!("{skip}");
    }
    let Some(samba) = ScratchSamba::or_skip(SambaOptions::default()) else {
        return;
    };
    let known = Profile::parse("known", KNOWN).unwrap();
    let options = work(
        "2",
        WorkSpec {
            duration: Some(Duration::from_secs(1)),
            ..short().work
        },
    );
    let group = distilled(&samba, &known, &options);
    assert_eq!(group.sessions, 2);
    let (plan, made) = plan_of(&group, &samba);
    let name = |one: &smbench_model::action::WeightedAction| {
        (
            one.action.name(),
            one.action.parameters().get("class").cloned(),
        )
    };
    let weights = |profile: &Profile| -> BTreeMap<String, f64> {
        let operations = profile.spec.operations.iter();
        operations
            .map(|one| (format!("{:?}", name(one)), one.weight))
            .collect()
    };
    let (expected, found) = (weights(&known), weights(&made));
    assert_eq!(
        expected.keys().collect::<Vec<_>>(),
        found.keys().collect::<Vec<_>>()
    );
    let actions = group.actions() as f64;
    for (action, weight) in &expected {
        assert_drawn(action, found[action], *weight, actions);
    }
    let sizes: BTreeMap<u64, f64> = made
        .spec
        .sizes
        .iter()
        .map(|one| (one.size.0, one.weight))
        .collect();
    assert_eq!(sizes.keys().copied().collect::<Vec<_>>(), [4096, 65_536]);
    assert_drawn("4 KiB", sizes[&4096], 70.0, actions * 0.6);
    assert_eq!(made.spec.files.count, Some(2));
    // The profile issues the recorded requests.
    let found = distance(&group.recorded().commands, &issued(&plan, 100_000).commands);
    assert!(found.unwrap() < 0.02, "{found:?}");
}

#[test]
fn a_think_time_comes_back() {
    if let Err(skip) = require(&[TSHARK]) {
        return eprintln!("{skip}");
    }
    let Some(samba) = ScratchSamba::or_skip(SambaOptions::default()) else {
        return;
    };
    let known = Profile::parse("known", KNOWN).unwrap();
    let think = Duration::from_millis(40);
    let options = work(
        "2",
        WorkSpec {
            duration: Some(Duration::from_secs(3)),
            think_time: Some(think),
            ..short().work
        },
    );
    let group = distilled(&samba, &known, &options);
    let (plan, _) = plan_of(&group, &samba);
    let found = issued(&plan, 1).think_ns;
    // The client needs time of its own between answers and requests, but never less.
    assert!(found >= 0.9 * think.as_nanos() as f64, "{found}");
    assert!((group.recorded().think_ns - found).abs() < 1e3);
}
