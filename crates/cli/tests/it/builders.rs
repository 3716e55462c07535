//! What people who build servers use: other builds of Samba, commands around load points, and
//! the gate.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;

use serde_json::Value;
use smbench_lab::{Tool, require};

use crate::support::{Lab, Place, SHORT, embedded, json, text};

/// Returns whether Samba is here; prints a message if not.
#[expect(clippy::print_stderr, reason = "a skipped test has a message")]
fn has_samba() -> bool {
    require(&[Tool::SMBD, Tool::PDBEDIT])
        .inspect_err(|skip| eprintln!("{skip}"))
        .is_ok()
}

/// Writes a script that runs the installed smbd, after `before`.
fn wrapper(place: &Place, before: &str) -> PathBuf {
    let smbd = Tool::SMBD.find().unwrap();
    let script = format!("#!/bin/sh\n{before}\nexec {} \"$@\"\n", smbd.display());
    let path = place.write("my-smbd", &script);
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    path
}

#[test]
fn a_wrapper_of_smbd_serves_and_is_in_the_document() {
    if !has_samba() {
        return;
    }
    let place = Place::new();
    let smbd = wrapper(&place, "echo \"$@\" >>arguments");
    let program = env!("CARGO_BIN_EXE_smbench");
    let run = ["lab", "samba", "--smbd", text(&smbd), "--", program, "run"];
    let said = place.smbench(&[&run[..], &SHORT, &["-c1"]].concat());
    assert_eq!(said.code(), Some(0), "{said:?}");
    let doc = place.document();
    let build = &doc["server"]["build"];
    assert_eq!(build["program"], text(&smbd));
    assert!(build["options"].is_array(), "{build}");
    let software = doc["server"]["software"].as_str().unwrap();
    assert!(software.starts_with("Samba 4."), "{software}");
    let arguments = fs::read_to_string(place.path("arguments")).unwrap();
    assert!(arguments.contains("--configfile"), "{arguments}");
}

#[test]
fn a_line_that_a_build_without_testparm_ignores_is_refused() {
    if !has_samba() {
        return;
    }
    let place = Place::new();
    let smbd = wrapper(&place, "");
    let line = ["--option", "strict snyc = no", "--", "true"];
    let said = place.smbench(&[&["lab", "samba", "--smbd", text(&smbd)], &line[..]].concat());
    said.failed_with(2, &["unknown parameter \"strict snyc\""]);
}

#[test]
fn a_program_that_is_no_smbd_is_refused_in_one_line() {
    let place = Place::new();
    let said = place.smbench(&["lab", "samba", "--smbd", "/bin/true"]);
    said.failed_with(2, &["/bin/true is no smbd: "]);
    let said = place.smbench(&["suite", "--server", "new=lab:/bin/true"]);
    said.failed_with(2, &["--server new: /bin/true is no smbd: "]);
    let suite = place.write(
        "s.toml",
        "[[servers]]\nname = \"a\"\nsmbd = \"absent/smbd\"\n",
    );
    let said = place.smbench(&["suite", text(&suite)]);
    said.failed_with(2, &["server `a`: smbd: ", "absent/smbd is no smbd: "]);
}

/// Runs one load point with these options, and returns it.
fn point(more: &[&str], code: i32) -> Value {
    let (place, server) = (Place::new(), embedded());
    let more = [&["-c1", "--repeat=1"], more].concat();
    let said = place.run(&server.url(), server.password(), &more);
    assert_eq!(said.code(), Some(code), "{said:?}");
    place.document()["load_points"][0].clone()
}

#[test]
fn commands_around_a_load_point_are_kept_without_the_password() {
    let before = "echo $SMBENCH_POINT_WHEN $SMBENCH_POINT_CLIENTS $SMBENCH_PASSWORD";
    let after = "echo $SMBENCH_POINT_WHEN; basename $SMBENCH_POINT_RESULTS";
    let point = point(&["--before-point", before, "--after-point", after], 0);
    let (before, after) = (&point["before_point"], &point["after_point"]);
    assert_eq!(before["output"], "before 1 ********\n");
    assert_eq!(after["output"], "after\nresults\n");
    assert_eq!((&before["exit"], &after["exit"]), (&0.into(), &0.into()));
    assert!(before["failure"].is_null() && point["valid"].as_bool().unwrap());
}

#[test]
fn a_command_that_fails_or_hangs_voids_its_load_point() {
    for (command, reason) in [
        (
            "echo no disk; exit 3",
            "before the load point ended with exit status 3: no disk",
        ),
        (
            "sleep 600 & wait",
            "before the load point did not end within 500ms and was killed",
        ),
    ] {
        let point = point(&["--before-point", command, "--hook-limit=500ms"], 4);
        let found = point["invalid_reason"].as_str().unwrap();
        assert_eq!(found, format!("the command {reason}"));
        // The load ran, so that the document is whole.
        assert!(point["ops_per_s"].as_f64().unwrap() > 0.0);
    }
}

#[test]
fn the_wait_for_a_quiet_server_is_in_the_document() {
    let point = {
        let place = Place::new();
        let lab = Lab::start(&place, &["embedded"]);
        let said = place.run(&lab.url, &lab.password, &["-c1", "--until-quiet=1s"]);
        assert_eq!(said.code(), Some(0), "{said:?}");
        place.document()["load_points"][0].clone()
    };
    let quiet = &point["quiet"];
    assert!(quiet["waited_s"].as_f64().unwrap() > 0.5, "{quiet}");
    // Other programs of this machine may write.
    assert_eq!(
        quiet["is_quiet"].as_bool().unwrap(),
        quiet["reason"].is_null()
    );
    assert!(
        quiet["source"].as_str().unwrap().contains("smbench"),
        "{quiet}"
    );
}

/// Makes a baseline with this number of passes on an embedded server.
fn baseline(place: &Place, passes: &str) -> PathBuf {
    let lab = Lab::start(place, &["embedded"]);
    let path = place.path("before.json");
    let options = ["-p", "read-4k", "-c1", passes, "--json", text(&path)];
    place.run(&lab.url, &lab.password, &options);
    assert!(path.exists());
    path
}

#[test]
fn a_gate_needs_a_baseline_of_a_run_with_passes() {
    let place = Place::new();
    let gate = |baseline: &str, more: &[&str]| {
        let given = ["gate", baseline, "--fail-if", "mean > +10%"];
        place.smbench(&[&given[..], more].concat())
    };
    let one = baseline(&place, "--repeat=1");
    let lab = ["--lab", "/bin/true"];
    gate(text(&one), &lab).failed_with(2, &["has one valid pass", "--repeat 5"]);
    let mut doc = json(&fs::read_to_string(&one).unwrap());
    doc["command"] = serde_json::json!(["smbench", "suite"]);
    let other = place.write("suite.json", &doc.to_string());
    gate(text(&other), &lab).failed_with(2, &["is no baseline: it is not of smbench run"]);
    doc["command"] = serde_json::json!(["smbench", "run", "-p", "metadata"]);
    let other = place.write("other.json", &doc.to_string());
    gate(text(&other), &lab).failed_with(2, &["now means other work"]);
    gate(text(&one), &[]).failed_with(2, &["<URL|--lab <SMBD|URL>>"]);
}

#[test]
fn a_gate_cannot_tell_without_a_server() {
    let place = Place::new();
    let before = baseline(&place, "--repeat=2");
    let gate = [
        "gate",
        text(&before),
        "--fail-if",
        "mean > +10%",
        "--lab",
        "/bin/true",
    ];
    let said = place.smbench(&gate);
    assert_eq!(said.code(), Some(125), "{said:?}");
    let reason = "gate cannot tell: pass 1 of the candidate: failed to start the server: /bin/true";
    assert!(said.stdout.starts_with(reason), "{said:?}");
}

/// A busy machine may leave it open, but a gate never says the opposite.
#[test]
fn a_gate_tells_a_slow_server_from_the_same_one() {
    let place = Place::new();
    let before = baseline(&place, "--repeat=3");
    let answer = |options: &[&str]| {
        let lab = Lab::start(&place, &[&["embedded"], options].concat());
        let gate = ["gate", text(&before), &lab.url, "--fail-if", "mean > +400%"];
        let more = ["--passes=6", "--json=-", "--out=gates"];
        let said = place.smbench_as(&lab.password, &[&gate[..], &more].concat());
        let doc = json(&said.stdout);
        (said.code().unwrap(), doc)
    };
    let (code, doc) = answer(&["--service-time", "50ms"]);
    assert!([1, 125].contains(&code), "{doc:#}");
    let is_failed = doc["answer"] == "failed";
    assert_eq!(is_failed, code == 1);
    assert_eq!(doc["conditions"][0]["condition"], "mean > +400%");
    let (code, doc) = answer(&[]);
    assert!([0, 125].contains(&code), "{doc:#}");
    assert!(doc["passes"].as_u64().unwrap() >= 3);
}
