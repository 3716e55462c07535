//! `smbench lab` as scripts use it.

use std::fs;
use std::process::Command;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use smbench_lab::{Tool, require};

use crate::support::{Lab, Place, Running, SHORT, answers, json};

#[test]
fn the_embedded_server_serves_until_interrupted() {
    let place = Place::new();
    for signal in [Signal::SIGINT, Signal::SIGTERM] {
        let lab = Lab::start(&place, &["embedded", "--signing", "required"]);
        let said = place.smbench_as(&lab.password, &["probe", &lab.url]);
        said.succeeded();
        assert!(said.stdout.contains("the server requires it"), "{said:?}");
        let url = lab.url.clone();
        assert_eq!(lab.stop(signal).code(), Some(0));
        assert!(!answers(&url));
    }
}

#[test]
fn a_terminal_that_is_lost_ends_it_in_good_order() {
    let place = Place::new();
    let command = place.command(&["lab", "embedded"]);
    // Independent of the signals that this test was started with.
    let mut default = Command::new("env");
    default
        .arg("--default-signal=HUP")
        .arg(command.get_program())
        .args(command.get_args());
    let lab = Lab::spawn(&mut default);
    assert_eq!(lab.stop(Signal::SIGHUP).code(), Some(0));
}

#[test]
fn its_options_reach_the_embedded_server() {
    let place = Place::new();
    let lab = Lab::start(&place, &["embedded", "--capacity", "3MiB"]);
    let said = place.run(&lab.url, &lab.password, &["--clients=4"]);
    said.failed_with(3, &["3 MiB free"]);
    let lab = Lab::start(&place, &["embedded", "--read-only"]);
    let said = place.run(&lab.url, &lab.password, &[]);
    said.failed_with(3, &["read-only"]);
}

#[test]
fn a_port_in_use_is_refused() {
    let place = Place::new();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let said = place.smbench(&["lab", "embedded", "--port", &port]);
    said.failed_with(3, &["cannot listen on 127.0.0.1:", &port, "in use"]);
}

#[test]
fn samba_serves_until_interrupted_and_leaves_no_file() {
    if let Err(skip) = require(&[Tool::SMBD, Tool::PDBEDIT]) {
        return eprintln!("{skip}");
    }
    let place = Place::new();
    let folder = place.path("temporary");
    fs::create_dir(&folder).unwrap();
    let lab = Lab::start_in(&place, &["samba", "--option", "strict sync = no"], &folder);
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 1);
    let said = place.smbench_as(&lab.password, &["probe", &lab.url]);
    said.succeeded();
    let url = lab.url.clone();
    assert_eq!(lab.stop(Signal::SIGINT).code(), Some(0));
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 0);
    assert!(!answers(&url));
}

#[test]
fn a_samba_that_ends_by_itself_is_reported() {
    if let Err(skip) = require(&[Tool::SMBD, Tool::PDBEDIT]) {
        return eprintln!("{skip}");
    }
    let place = Place::new();
    let folder = place.path("temporary");
    fs::create_dir(&folder).unwrap();
    let lab = Lab::start_in(&place, &["samba"], &folder);
    let root = fs::read_dir(&folder).unwrap().next().unwrap().unwrap();
    let mut files = fs::read_dir(root.path().join("pid")).unwrap();
    let file = files.find_map(|file| {
        let path = file.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap();
        name.starts_with("smbd").then_some(path.clone())
    });
    let pid = fs::read_to_string(file.unwrap()).unwrap();
    kill(Pid::from_raw(pid.trim().parse().unwrap()), Signal::SIGKILL).unwrap();
    assert_eq!(lab.wait().code(), Some(3));
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 0);
}

#[test]
fn an_option_that_samba_does_not_know_is_refused() {
    if let Err(skip) = require(&[Tool::SMBD, Tool::PDBEDIT]) {
        return eprintln!("{skip}");
    }
    let place = Place::new();
    let said = place.smbench(&["lab", "samba", "--option", "strict snyc = no"]);
    said.failed_with(2, &["unknown parameter \"strict snyc\"", "correct or drop"]);
}

#[test]
fn a_command_uses_the_server_and_ends_it() {
    let place = Place::new();
    let smbench = env!("CARGO_BIN_EXE_smbench");
    let run = |words: &[&str]| {
        let lab = ["lab", "embedded", "--"];
        place.smbench(&[&lab[..], words].concat())
    };
    let said = run(&[&[smbench, "run", "--clients=1", "--json=-"], &SHORT[..]].concat());
    said.succeeded();
    // Without the URL in the environment, it would have started a server of its own.
    let doc = json(&said.stdout);
    assert_eq!(doc["server"]["where"], "remote", "{doc}");
    // The server has started smbench, and is measured without it.
    let measured = &doc["load_points"][0]["server_cpu"];
    let source = measured["source"].as_str().unwrap_or_default();
    assert!(source.starts_with("smbench (process "), "{measured}");

    let said = run(&["sh", "-c", "echo $SMBENCH_TARGET; exit 7"]);
    assert_eq!(said.code(), Some(7), "{said:?}");
    let url = said.stdout.trim();
    assert!(url.starts_with("smb://") && !answers(url), "{said:?}");
    let said = run(&["/no/such/program"]);
    said.failed_with(2, &["failed to run /no/such/program", "No such file"]);
}

#[test]
fn a_result_says_how_the_server_of_the_lab_was_set_up() {
    if let Err(skip) = require(&[Tool::SMBD, Tool::PDBEDIT]) {
        return eprintln!("{skip}");
    }
    let place = Place::new();
    let smbench = env!("CARGO_BIN_EXE_smbench");
    let lab = ["lab", "samba", "--option", "strict sync = no", "--"];
    let run = [smbench, "run", "--clients=1", "--json=-"];
    let said = place.smbench(&[&lab[..], &run, &SHORT].concat());
    said.succeeded();
    let server = &json(&said.stdout)["server"];
    assert_eq!(server["flush"], "ignores", "{server}");
    let write = (&server["write"]["policy"], &server["write"]["source"]);
    assert_eq!(write, (&"buffers".into(), &"known".into()), "{server}");
    let software = server["software"].as_str().unwrap();
    assert!(software.starts_with("Samba "), "{server}");
    let notes = server["notes"].to_string();
    assert!(notes.contains("with strict sync = no"), "{server}");
}

/// The flush policy of the server is then known, although the suite does not state it.
#[test]
fn a_suite_measures_the_server_of_the_lab() {
    let place = Place::new();
    place.write(
        "brief.toml",
        "clients = \"1\"\n[run]\nduration = \"300ms\"\n[[profiles]]\nprofile = \"read-4k\"\n",
    );
    let smbench = env!("CARGO_BIN_EXE_smbench");
    let suite = "suite brief.toml --calibration=off --out=study --server nas=$SMBENCH_TARGET";
    let script = format!("{smbench} {suite}");
    let said = place.smbench(&["lab", "embedded", "--", "sh", "-c", &script]);
    assert_eq!(said.code(), Some(0), "{said:?}");
    let pass = place.path("study/runs/01-nas/01-read-4k/pass-1.json");
    let doc = json(&fs::read_to_string(pass).unwrap());
    assert_eq!(doc["server"]["flush"], "ignores", "{doc}");
}

#[test]
fn an_interrupt_waits_for_the_command() {
    let place = Place::new();
    let script = "trap 'echo cleaned; exit 5' TERM; echo ready; while :; do sleep 0.05; done";
    let running = Running::spawn(place.command(&["lab", "embedded", "--", "sh", "-c", script]));
    running.wait_for_stdout("ready");
    // A terminal would send it to both.
    running.signal(Signal::SIGTERM);
    let said = running.wait();
    assert_eq!(
        (said.code(), &*said.stdout),
        (Some(5), "ready\ncleaned\n"),
        "{said:?}"
    );
}
