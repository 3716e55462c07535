//! Runs that do not finish: interrupted, killed, or abandoned by the server.

use std::fs;
use std::io::{self, Read as _, Write as _};
use std::net::TcpListener;
use std::thread;

use nix::sys::signal::Signal;
use serde_json::Value;

use crate::support::{Lab, Place, Running, Said, embedded, run_args, wait_until};

/// Long enough that a test acts within the window on any machine.
const LONG: &str = "--duration=20s";

fn load_points(doc: &Value) -> Vec<(bool, String)> {
    let points = doc["load_points"].as_array().unwrap();
    let point = |point: &Value| {
        let reason = point["invalid_reason"].as_str().unwrap_or_default();
        (point["valid"].as_bool().unwrap(), reason.to_owned())
    };
    points.iter().map(point).collect()
}

/// Checks the result of an interrupt before anything was measured.
fn assert_nothing_was_measured(said: &Said, place: &Place) {
    assert_eq!(said.code(), Some(130), "{said:?}");
    assert_eq!(said.stdout, "");
    let last = said.stderr.lines().last();
    assert_eq!(
        last,
        Some("smbench: interrupted before anything was measured")
    );
    assert!(!place.path("results").exists());
}

#[test]
fn an_interrupt_keeps_what_was_measured_and_cleans_up() {
    for signal in [Signal::SIGINT, Signal::SIGTERM] {
        let server = embedded();
        let place = Place::new();
        let url = server.url();
        let args = run_args(&url, &["--clients=1,2", "--duration=1s"]);
        let running = place.start_as(server.password(), &args);
        place.wait_for_load_points(1);
        let before = server.memory().counts().reads;
        wait_until(|| server.memory().counts().reads > before);
        running.signal(signal);
        let said = running.wait();
        assert_eq!(said.code(), Some(130), "{said:?}");
        assert_eq!(said.stderr.lines().count(), 1, "{said:?}");
        assert!(said.stderr.starts_with("smbench: stopping: "), "{said:?}");
        assert!(said.stdout.contains("Saved to results/"), "{said:?}");
        let doc = place.document();
        assert_eq!(doc["outcome"], "interrupted");
        let [first, second] = &load_points(&doc)[..] else {
            panic!("{doc:#}");
        };
        assert_eq!(first, &(true, String::new()));
        assert!(
            !second.0 && second.1.starts_with("interrupted "),
            "{second:?}"
        );
        let text = format!("Run      {} at 2 clients", second.1);
        assert!(said.stdout.contains(&text), "{said:?}");
        assert_eq!(server.memory().paths(), Vec::<String>::new());
    }
}

#[test]
fn an_interrupt_before_the_first_load_point_leaves_nothing() {
    let server = embedded();
    let place = Place::new();
    let url = server.url();
    // Files that take longer to write than the run takes to notice the first
    // interrupt.
    let args = run_args(&url, &["--clients=8", "--file-size=128MiB"]);
    let running = place.start_as(server.password(), &args);
    wait_until(|| server.memory().counts().writes > 0);
    running.signal(Signal::SIGINT);
    let said = running.wait();
    assert_nothing_was_measured(&said, &place);
    assert_eq!(server.memory().paths(), Vec::<String>::new());
}

#[test]
fn an_interrupt_before_the_first_window_leaves_nothing() {
    let server = embedded();
    let place = Place::new();
    let url = server.url();
    let args = run_args(&url, &["--clients=2", "--ramp-up=20s", "--json=copy.json"]);
    let running = place.start_as(server.password(), &args);
    wait_until(|| server.memory().counts().reads > 0);
    running.signal(Signal::SIGINT);
    let said = running.wait();
    assert_nothing_was_measured(&said, &place);
    assert!(!place.path("copy.json").exists());
}

#[test]
fn an_interrupt_between_two_profiles_is_one_too() {
    let server = embedded();
    let place = Place::new();
    let url = server.url();
    let profiles = ["--profile=read-4k", "--profile=web-server"];
    let mut command = place.command(&run_args(&url, &[&["--clients=1"][..], &profiles].concat()));
    command.env("SMBENCH_PASSWORD", server.password());
    // Full until the test reads from it, so that a process that prints has to wait.
    let (mut output, mut input) = io::pipe().unwrap();
    let running = Running::spawn_into(command, input.try_clone().unwrap());
    let filling = thread::spawn(move || input.write_all(&[b' '; 1 << 20]).unwrap());
    wait_until(|| {
        let bytes = place
            .results()
            .into_iter()
            .map(|path| fs::read(path).unwrap());
        let mut docs = bytes.filter_map(|bytes| serde_json::from_slice::<Value>(&bytes).ok());
        docs.any(|doc| doc["outcome"] == "complete")
    });
    running.signal(Signal::SIGINT);
    running.wait_for_stderr("stopping");
    let mut printed = Vec::new();
    output.read_to_end(&mut printed).unwrap();
    filling.join().unwrap();
    let said = running.wait();
    assert_eq!(said.code(), Some(130), "{said:?}");
    assert_eq!(said.stderr.lines().count(), 1, "{said:?}");
    assert_eq!(place.document()["plan"]["profile"], "read-4k");
    let printed = String::from_utf8(printed).unwrap();
    assert_eq!(printed.matches("Saved to results/").count(), 1, "{printed}");
}

#[test]
fn an_interrupt_ends_the_embedded_server_too() {
    let place = Place::new();
    let args = [
        "run",
        "--clients=1,2",
        "--duration=1s",
        "--ramp-up=0s",
        "--out=results",
    ];
    let running = place.start_as("", &args);
    place.wait_for_load_points(1);
    running.signal(Signal::SIGINT);
    let said = running.wait();
    assert_eq!(said.code(), Some(130), "{said:?}");
    assert!(!crate::support::answers(
        place.document()["server"]["url"].as_str().unwrap()
    ));
}

#[test]
fn the_embedded_server_does_not_outlive_a_killed_run() {
    let place = Place::new();
    let args = [
        "run",
        "--clients=1,2",
        "--duration=1s",
        "--ramp-up=0s",
        "--out=results",
    ];
    let running = place.start_as("", &args);
    place.wait_for_load_points(1);
    let doc = place.document();
    let url = doc["server"]["url"].as_str().unwrap();
    assert!(crate::support::answers(url));
    running.signal(Signal::SIGKILL);
    running.wait();
    wait_until(|| !crate::support::answers(url));
}

#[test]
fn a_second_interrupt_leaves_at_once_and_says_what_remains() {
    let place = Place::new();
    let lab = Lab::start(&place, &["embedded"]);
    let args = run_args(&lab.url, &["--clients=1,2", "--duration=1s"]);
    let running = place.start_as(&lab.password, &args);
    place.wait_for_load_points(1);
    // A stopped server answers nothing. So the first signal cannot end the run
    // before the second comes.
    lab.signal(Signal::SIGSTOP);
    running.signal(Signal::SIGINT);
    running.wait_for_stderr("stopping");
    running.signal(Signal::SIGINT);
    let said = running.wait();
    lab.signal(Signal::SIGCONT);
    assert_eq!(said.code(), Some(130), "{said:?}");
    let last = said.stderr.lines().last().unwrap();
    let remedy = format!("smbench cleanup '{}'", lab.url);
    assert!(last.contains(&remedy), "{said:?}");
    let entries = fs::read_dir(place.path("results")).unwrap();
    let names: Vec<_> = entries.map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names.len(), 1, "only the result: {names:?}");
}

#[test]
fn an_interrupted_probe_leaves_nothing() {
    let server = embedded();
    let place = Place::new();
    let url = server.url();
    // If the probe ends before the signal comes, it is repeated.
    let said = loop {
        let mut running = place.start_as(server.password(), &["probe", &url]);
        wait_until(|| !server.memory().paths().is_empty() || running.has_ended());
        if !running.has_ended() {
            running.signal(Signal::SIGTERM);
        }
        let said = running.wait();
        assert_eq!(server.memory().paths(), Vec::<String>::new());
        if said.code() != Some(0) {
            break said;
        }
    };
    assert_eq!(said.code(), Some(130), "{said:?}");
    assert_eq!(said.stdout, "");
    assert!(said.stderr.starts_with("smbench: stopping: "), "{said:?}");
}

#[test]
fn the_step_of_a_probe_that_hangs_is_named() {
    // Accepts the connection and never answers.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("smb://ann@{}/share", silent.local_addr().unwrap());
    let place = Place::new();
    let args = ["probe", &url, "--connect-timeout=10m"];
    let running = place.start_as("pw", &args);
    running.wait_for_stderr("smbench: trying session 1 of 8\n");
    running.signal(Signal::SIGINT);
    assert_eq!(running.wait().code(), Some(130));
}

#[test]
fn an_interrupted_cleanup_says_that_files_may_be_left() {
    // Accepts the connection and never answers.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("smb://ann@{}/share", silent.local_addr().unwrap());
    let place = Place::new();
    for command in [
        &["cleanup", &url][..],
        &["fileio", "cleanup", "--target", &url],
    ] {
        let running = place.start_as("pw", command);
        let _connection = silent.accept().unwrap();
        running.signal(Signal::SIGINT);
        let said = running.wait();
        assert_eq!(said.code(), Some(130), "{said:?}");
        let expected =
            "smbench: interrupted: files may be left; the same command removes the rest\n";
        assert_eq!(said.stderr, expected);
    }
}

#[test]
fn a_server_that_dies_costs_only_its_load_point() {
    let server = embedded();
    let place = Place::new();
    let url = server.url();
    let args = run_args(&url, &["--clients=1,2,3", "--duration=1s"]);
    let running = place.start_as(server.password(), &args);
    place.wait_for_load_points(1);
    let before = server.memory().counts().reads;
    wait_until(|| server.memory().counts().reads > before);
    server.stop();
    let said = running.wait();
    assert_eq!(said.code(), Some(4), "{said:?}");
    let lines: Vec<_> = said.stderr.lines().collect();
    assert_eq!(lines.len(), 2, "{said:?}");
    let remedy = format!("smbench cleanup '{url}'");
    assert!(lines[0].contains(&remedy), "{said:?}");
    assert!(lines[1].starts_with("smbench: run aborted: "), "{said:?}");
    assert!(said.stdout.contains("Saved to results/"), "{said:?}");
    let doc = place.document();
    assert_eq!(doc["outcome"], "aborted");
    assert!(doc["leftover"].is_string());
    let points = load_points(&doc);
    assert_eq!(points.len(), 2, "{points:?}");
    assert!(points[0].0, "{points:?}");
    assert!(!points[1].0, "{points:?}");
    assert!(points[1].1.contains("clients dropped out"), "{points:?}");
}

#[test]
fn what_a_killed_run_left_is_cleaned_up() {
    let server = embedded();
    server.memory().put("mine/precious", b"x").unwrap();
    let place = Place::new();
    let url = server.url();
    let running = place.start_as(server.password(), &run_args(&url, &["--clients=2", LONG]));
    wait_until(|| server.memory().counts().reads > 0);
    let living = place.smbench_as(server.password(), &["cleanup", &url]);
    living.succeeded();
    let expected = "left alone, a run is using it: smbench-";
    assert!(living.stdout.starts_with(expected), "{living:?}");
    running.signal(Signal::SIGKILL);
    running.wait();
    assert!(place.results().is_empty(), "nothing that is no result");
    assert!(server.memory().paths().len() > 2);
    // The server may need a moment to notice that the run has ended.
    let mut said = living;
    wait_until(|| {
        said = place.smbench_as(server.password(), &["cleanup", &url]);
        said.succeeded();
        !said.stdout.starts_with("left alone")
    });
    assert!(said.stdout.starts_with("removed smbench-"), "{said:?}");
    assert_eq!(server.memory().paths(), ["mine/", "mine/precious"]);
    let again = place.smbench_as(server.password(), &["cleanup", &url]);
    again.succeeded();
    assert_eq!(again.stdout, "nothing to remove\n");
}
