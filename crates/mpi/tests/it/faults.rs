//! What happens to a run if something happens to one of its machines.

use std::process::{Child, Output};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::network::{Network, document, ended};
use super::point;

/// Starts a run with two load points.
fn start(network: &Network, json: &str) -> Child {
    let url = network.server.url();
    network.start(&format!(
        "run {url} --profile read-4k -c 3,6 -d 8s --ramp-up 200ms --out results -q --json {json}"
    ))
}

/// Waits until the rank on a machine has its sessions, which its CPU time shows.
fn until_under_load(network: &Network, machine: usize) {
    let deadline = Instant::now() + Duration::from_secs(30);
    let ticks = |id: u32| {
        let stat = std::fs::read_to_string(format!("/proc/{id}/stat")).unwrap_or_default();
        let (_, rest) = stat.rsplit_once(") ").unwrap_or_default();
        let fields: Vec<u64> = rest
            .split(' ')
            .map(|word| word.parse().unwrap_or(0))
            .collect();
        fields.get(11).unwrap_or(&0) + fields.get(12).unwrap_or(&0)
    };
    while Instant::now() < deadline {
        // Half a second of CPU: much more than starting takes.
        if network.rank_on(machine).is_some_and(|id| ticks(id) > 80) {
            return;
        }
        thread::sleep(Duration::from_millis(50));
    }
    panic!("no load on machine {machine}");
}

/// Returns the reason why the last load point is not valid.
fn last_reason(doc: &Value) -> String {
    let points = doc["load_points"].as_array().unwrap();
    let reason = points.last().unwrap()["invalid_reason"].as_str();
    reason.unwrap_or_default().to_owned()
}

/// Returns whether a reason names the machine 2 as lost. Open MPI stops receiving from all when
/// one dies; `mpirun` names the rank in any case.
fn is_named(reason: &str) -> bool {
    let named = ["host node2 is lost: ", "host node1 or node2 is lost: "];
    named.iter().any(|named| reason.starts_with(named))
}

#[test]
fn a_killed_rank_ends_the_run_with_the_name_of_its_machine() {
    let Some(network) = Network::or_skip() else {
        return;
    };
    let run = start(&network, "killed.json");
    until_under_load(&network, 2);
    network.signal(2, "KILL");
    let output: Output = ended(run);
    // mpirun ends with the signal of the rank.
    assert!(!output.status.success(), "{output:?}");
    let doc = document(&network.path("killed.json"));
    let reason = last_reason(&doc);
    assert!(is_named(&reason), "{reason}: {output:?}");
    assert!(point(&doc)["ops_per_s"].as_f64().unwrap() > 0.0);
    assert!(network.cleaned_up());
}

#[test]
fn a_rank_that_stood_still_makes_its_load_point_invalid() {
    let Some(network) = Network::or_skip() else {
        return;
    };
    let run = start(&network, "still.json");
    until_under_load(&network, 2);
    network.signal(2, "STOP");
    thread::sleep(Duration::from_secs(2));
    network.signal(2, "CONT");
    let output = ended(run);
    assert_eq!(output.status.code(), Some(4), "{output:?}");
    let doc = document(&network.path("still.json"));
    let points = doc["load_points"].as_array().unwrap();
    assert_eq!(points.len(), 2, "the run goes on");
    let reasons: Vec<_> = points
        .iter()
        .filter_map(|of| of["invalid_reason"].as_str())
        .collect();
    assert_eq!(reasons.len(), 1, "{reasons:?}");
    assert!(
        reasons[0].starts_with("host node2 stood still for "),
        "{reasons:?}"
    );
    assert!(network.cleaned_up());
}

#[test]
fn a_machine_that_is_cut_off_ends_the_run_with_its_name() {
    let Some(network) = Network::or_skip() else {
        return;
    };
    let run = start(&network, "cut.json");
    until_under_load(&network, 2);
    network.link(2, "down");
    let output = ended(run);
    network.link(2, "up");
    assert!(!output.status.success(), "{output:?}");
    let doc = document(&network.path("cut.json"));
    let reason = last_reason(&doc);
    assert!(is_named(&reason), "{reason}");
    assert!(network.cleaned_up());
}

#[test]
fn a_rank_that_is_killed_during_setup_leaves_nothing() {
    let Some(network) = Network::or_skip() else {
        return;
    };
    let run = start(&network, "setup.json");
    let deadline = Instant::now() + Duration::from_secs(30);
    while network.rank_on(2).is_none() && Instant::now() < deadline {
        thread::sleep(Duration::from_millis(20));
    }
    thread::sleep(Duration::from_millis(300));
    network.signal(2, "KILL");
    let output = ended(run);
    assert!(!output.status.success(), "{output:?}");
    assert!(network.cleaned_up());
}

/// A profile whose files take a while to remove.
const MANY_FILES: &str = "\
read_percent = 100

[files]
scope = \"shared\"
count = 6000
size = \"4KiB\"

[[sizes]]
size = \"4KiB\"
weight = 100
";

#[test]
fn a_rank_that_is_killed_during_the_clean_up_loses_no_result() {
    let Some(network) = Network::or_skip() else {
        return;
    };
    std::fs::write(network.path("many.toml"), MANY_FILES).unwrap();
    let url = network.server.url();
    let mut run = network.start(&format!(
        "run {url} --profile many.toml -c 3 -d 4s --out results -q --json cleanup.json"
    ));
    // The document has the load point before the files are removed.
    let deadline = Instant::now() + Duration::from_secs(240);
    // A file that only shows that it can be written is there before the run.
    let has_point = || {
        let text = std::fs::read(network.path("cleanup.json")).unwrap_or_default();
        serde_json::from_slice::<Value>(&text).is_ok_and(|doc| doc["load_points"][0].is_object())
    };
    while !has_point() {
        assert!(Instant::now() < deadline, "no document");
        assert_eq!(run.try_wait().unwrap(), None, "it ended without one");
        thread::sleep(Duration::from_millis(5));
    }
    network.signal(2, "KILL");
    ended(run);
    let doc = document(&network.path("cleanup.json"));
    assert_eq!(point(&doc)["valid"], true, "{doc}");
    assert!(point(&doc)["ops_per_s"].as_f64().unwrap() > 0.0);
    assert!(network.cleaned_up());
}
