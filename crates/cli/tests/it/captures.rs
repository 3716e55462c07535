//! `import pcap`: the summary, the files of `--out`, and one line for what is no capture.

use std::fs;
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::support::{Place, json};

const FIXTURES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/captures");
const PASSWORD: &str = "3e8aecb179683669e5a45826260c286d";

fn fixture(name: &str) -> String {
    format!("{FIXTURES}/{name}")
}

fn summary(place: &Place, folder: &str) -> Value {
    place.json(&format!("{folder}/summary.json"))
}

#[test]
fn a_capture_becomes_a_summary_and_a_folder() {
    let place = Place::new();
    let file = fixture("smbclient-3.1.1-unsigned.pcap");
    let printed = place.smbench(&["import", "pcap", &file]);
    printed.succeeded();
    for part in [
        "Commands\n",
        "Statuses\n",
        "Sizes\n",
        "STATUS_OBJECT_NAME_NOT_FOUND",
        "1 connection: 3.1.1 (1)",
    ] {
        assert!(
            printed.stdout.contains(part),
            "{part} in {}",
            printed.stdout
        );
    }
    let written = place.smbench(&["import", "pcap", &file, "--out", "made/trace"]);
    written.succeeded();
    let with_files = format!(
        "{}wrote made/trace/summary.json\nwrote made/trace/trace.jsonl.gz\n\
         wrote made/trace/tree.jsonl.gz\nwrote made/trace/sessions.jsonl.gz\n",
        printed.stdout
    );
    assert_eq!(written.stdout, with_files);
    let doc = summary(&place, "made/trace");
    assert_eq!(doc["commands"]["write"]["requests"], 1);
    assert_eq!(doc["commands"]["write"]["bytes"], 45);
    assert_eq!(doc["connections"], 1);
    assert_eq!(doc["unreadable"]["lost_bytes"], 0);
    let zcat = Command::new("zcat")
        .arg(place.path("made/trace/trace.jsonl.gz"))
        .output()
        .unwrap();
    let trace = String::from_utf8(zcat.stdout).unwrap();
    let requests = doc["commands"].as_object().unwrap().values();
    let requests: u64 = requests
        .map(|command| command["requests"].as_u64().unwrap())
        .sum();
    // The client ended its session without a log-off.
    let ends = trace.lines().filter(|line| line.contains("session_end"));
    assert_eq!(ends.count(), 1);
    assert_eq!(trace.lines().count() as u64, requests + 1);
    // No recorded name is in any output.
    let json = doc.to_string();
    for name in ["fox", "bench", "daemon", "missing"] {
        assert!(!json.contains(name), "{name}");
        assert!(!trace.contains(name), "{name}");
        assert!(!printed.stdout.contains(name), "{name}");
    }
    let again = place.smbench(&["import", "pcap", &file, "--out", "made/trace"]);
    again.failed_with(
        2,
        &["made/trace/summary.json exists already: use another --out"],
    );
    for (out, said) in [
        (
            "made/trace/summary.json",
            "made/trace/summary.json is a file: give --out a folder",
        ),
        (
            "my.toml",
            "--out my.toml is for a profile, which needs --distil",
        ),
    ] {
        place
            .smbench(&["import", "pcap", &file, "--out", out])
            .failed_with(2, &[said]);
    }
    assert!(!place.path("my.toml").exists());
    let kept = place.smbench(&["import", "pcap", &file, "--names", "keep"]);
    assert!(kept.stdout.contains("bench"), "{}", kept.stdout);
}

#[test]
fn a_folder_shows_its_summary_and_its_plan() {
    let place = Place::new();
    let file = fixture("smbclient-3.1.1-unsigned.pcap");
    let printed = place.smbench(&["import", "pcap", &file]);
    place
        .smbench(&["import", "pcap", &file, "--out", "monday"])
        .succeeded();
    let shown = place.smbench(&["show", "monday/"]);
    shown.succeeded();
    assert_eq!(shown.stdout, printed.stdout);
    let markdown = place.smbench(&["show", "monday", "--markdown", "-"]);
    markdown.succeeded();
    for part in ["- clients: 1\n", "| command "] {
        assert!(
            markdown.stdout.contains(part),
            "{part} in {}",
            markdown.stdout
        );
    }
    place
        .smbench(&["show", "monday", "--csv", "-"])
        .failed_with(
            2,
            &["--csv is for the load points of a result, and monday is the folder of a capture"],
        );
    let plan = place.smbench(&["plan", "-p", "trace:monday"]);
    plan.succeeded();
    assert!(plan.stdout.contains("replay of monday"), "{}", plan.stdout);
    let profile = place.smbench(&["profiles", "show", "trace:monday"]);
    profile.succeeded();
    assert_eq!(profile.stdout, plan.stdout);
    for name in ["trace.jsonl.gz", "summary.json"] {
        let path = format!("monday/{name}");
        let said = format!("{path} is a file of an imported capture: give its folder monday");
        place.smbench(&["show", &path]).failed_with(2, &[&said]);
    }
    let said = format!("{file} is a capture, not a result: `smbench import pcap {file}` shows it");
    place.smbench(&["show", &file]).failed_with(2, &[&said]);
    let trace = format!("trace:{file}");
    let said = format!("{file} is a file: give the folder that `smbench import pcap` wrote");
    place
        .smbench(&["plan", "-p", &trace])
        .failed_with(2, &[&said]);
    fs::write(place.path("monday/summary.json"), "{}").unwrap();
    place
        .smbench(&["show", "monday"])
        .failed_with(2, &["monday/summary.json, line 1: missing field "]);
}

#[test]
fn several_files_and_standard_input_are_one_capture() {
    let place = Place::new();
    let files = [
        "smbtorture-oplocks-3.1.1-unsigned.pcap",
        "smbclient-2.1-signed.pcap",
    ]
    .map(fixture);
    place
        .smbench(&["import", "pcap", &files[0], &files[1], "--out", "one"])
        .succeeded();
    place
        .smbench(&["import", "pcap", &files[1], &files[0], "--out", "two"])
        .succeeded();
    assert_eq!(summary(&place, "one"), summary(&place, "two"));
    let piped = Command::new(env!("CARGO_BIN_EXE_smbench"))
        .args(["import", "pcap", "-"])
        .stdin(Stdio::from(fs::File::open(&files[1]).unwrap()))
        .output()
        .unwrap();
    let named = place.smbench(&["import", "pcap", &files[1]]);
    assert_eq!(String::from_utf8(piped.stdout).unwrap(), named.stdout);
    place
        .smbench(&["import", "pcap", "-", &files[0]])
        .failed_with(2, &["standard input is one capture: give no file"]);
    place
        .smbench(&["import", "pcap", "-", "--diff", "-"])
        .failed_with(2, &["standard input is one capture: give a file to"]);
}

#[test]
fn encrypted_sessions_are_counted_or_opened() {
    let place = Place::new();
    let file = fixture("smbclient-3.1.1-encrypted.pcap");
    let said = place.smbench(&["import", "pcap", &file]);
    said.succeeded();
    assert!(
        said.stdout
            .contains("90  messages of 1 session encrypted with aes-128-gcm, user "),
        "{}",
        said.stdout
    );
    fs::write(place.path("wrong"), "other\n").unwrap();
    fs::write(
        place.path("other.keys"),
        format!("4100000000080000,{PASSWORD}\n"),
    )
    .unwrap();
    for (arguments, failed) in [
        (
            ["--nt-password-file", "wrong"],
            "; no given password opens them\n",
        ),
        (
            ["--session-keys", "other.keys"],
            "1  session id of keys that the capture does not have, the first is 4100000000080000\n",
        ),
    ] {
        let arguments = [&["import", "pcap", &file], &arguments[..]].concat();
        let said = place.smbench(&arguments);
        said.succeeded();
        assert!(said.stdout.contains(failed), "{failed} in {}", said.stdout);
    }
    fs::write(place.path("passwords"), format!("other\n{PASSWORD}\n")).unwrap();
    place
        .smbench(&[
            "import",
            "pcap",
            &file,
            "--nt-password-file",
            "passwords",
            "--out",
            "one",
        ])
        .succeeded();
    let keys = fixture("smbclient-3.1.1-encrypted.keys");
    place
        .smbench(&[
            "import",
            "pcap",
            &file,
            "--session-keys",
            &keys,
            "--out",
            "two",
        ])
        .succeeded();
    let doc = summary(&place, "one");
    assert_eq!(doc, summary(&place, "two"));
    assert_eq!(doc["unreadable"]["encrypted_messages"], 0);
    assert_eq!(doc["commands"]["create"]["requests"], 14);
    fs::write(place.path("empty"), "\n").unwrap();
    place
        .smbench(&["import", "pcap", &file, "--nt-password-file", "empty"])
        .failed_with(2, &["empty has no password: expected one a line"]);
    place
        .smbench(&["import", "pcap", &file, "--session-keys", "passwords"])
        .failed_with(2, &["passwords:1: expected session id, session key, server key and client key in hexadecimal, with commas between them"]);
}

#[test]
fn two_captures_are_shown_side_by_side() {
    let place = Place::new();
    let (first, second) = (
        fixture("smbclient-3.1.1-unsigned.pcap"),
        fixture("smbclient-2.1-signed.pcap"),
    );
    let shown = place.smbench(&["import", "pcap", &first, "--diff", &second]);
    shown.succeeded();
    for part in [
        "no command is clearly slower or faster\n",
        "new: STATUS_SUCCESS of ioctl, 2 of 4 answers\n",
        "Service times\n",
        "Sizes\n",
    ] {
        assert!(shown.stdout.contains(part), "{part} in {}", shown.stdout);
    }
    let with_files = ["--json", "diff.json", "--html", "diff.html"];
    let arguments = [
        &["import", "pcap", &first, "--diff", &second],
        &with_files[..],
    ]
    .concat();
    let written = place.smbench(&arguments);
    written.succeeded();
    assert_eq!(written.stdout, shown.stdout);
    let doc = place.json("diff.json");
    // Each side is the summary of the capture alone.
    for (side, file) in [("first", &first), ("second", &second)] {
        let alone = place.smbench(&["import", "pcap", file, "--json", "-"]);
        let alone = json(&alone.stdout);
        assert_eq!(doc[side], alone, "{side}");
        for one in doc["commands"].as_array().unwrap() {
            let counts = &alone["commands"][one["command"].as_str().unwrap()];
            for key in ["requests", "answered", "bytes"] {
                assert_eq!(one[side][key], counts[key], "{side} {one}");
            }
            assert_eq!(one["trend"], "too_few");
        }
    }
    let page = fs::read_to_string(place.path("diff.html")).unwrap();
    for part in [
        "data-plot=\"service-times\"",
        "data-plot=\"sizes\"",
        "Statuses",
    ] {
        assert!(page.contains(part), "{part}");
    }
    // A capture has changed in nothing from itself.
    let same = place.smbench(&["import", "pcap", &first, "--diff", &first]);
    assert!(!same.stdout.contains("new: "), "{}", same.stdout);
    place
        .smbench(&["import", "pcap", &first, "--diff", &second, "--out", "made"])
        .failed_with(2, &["--diff <FILE>", "--out <DIR|FILE.toml>"]);
}

#[test]
fn a_summary_is_a_page_of_plots() {
    let place = Place::new();
    let file = fixture("smbclient-3.1.1-unsigned.pcap");
    let page = place.smbench(&["import", "pcap", &file, "--html", "-"]);
    page.succeeded();
    for plot in ["requests", "in-flight", "service-times", "sizes"] {
        let part = format!("data-plot=\"{plot}\"");
        assert!(page.stdout.contains(&part), "{part}");
    }
    assert!(
        page.stdout.starts_with("<!DOCTYPE html>"),
        "{}",
        page.stdout
    );
    place
        .smbench(&["import", "pcap", &file, "--html", "-", "--json", "-"])
        .failed_with(
            2,
            &["--json - and --html - cannot both have standard output"],
        );
}

#[test]
fn a_slice_of_time_has_its_own_line() {
    let place = Place::new();
    let file = fixture("smbclient-3.1.1-unsigned.pcap");
    let whole = place.smbench(&["import", "pcap", &file]).stdout;
    let slice = place
        .smbench(&["import", "pcap", &file, "--for", "1h"])
        .stdout;
    let line = |text: &str, name: &str| {
        let mut lines = text.lines().map(str::trim);
        lines.find(|line| line.starts_with(name)).map(str::to_owned)
    };
    assert_eq!(line(&whole, "slice "), None);
    // The slice ends with the capture, so both have the same rates.
    assert_eq!(line(&slice, "requests "), line(&whole, "requests "));
    let length = line(&whole, "length ").unwrap();
    let length = length.trim_start_matches("length").trim();
    assert!(line(&slice, "slice ").unwrap().ends_with(length), "{slice}");
}

#[test]
fn a_slice_without_a_request_is_one_line() {
    let place = Place::new();
    let file = fixture("smbclient-3.1.1-unsigned.pcap");
    let out = ["--out", "made"];
    for (slice, said) in [
        (&["--user", "nobody"][..], "of user nobody"),
        (&["--share", "other"], "to share other"),
        (
            &["--user", "daemon", "--share", "other"],
            "of user daemon to share other",
        ),
    ] {
        let arguments = [&["import", "pcap", &file], slice, &out].concat();
        place.smbench(&arguments).failed_with(
            2,
            &[&format!(
                "the slice has no request {said}: {file} begins at "
            )],
        );
        assert!(!place.path("made").exists(), "{said}");
    }
    let ends = format!(": {file} begins at 2026-");
    for (slice, said) in [
        (&["--client", "192.0.2.7"][..], "of client 192.0.2.7"),
        (
            &["--from", "2001-02-03T04:05:06Z", "--for", "5m"],
            "from 2001-02-03T04:05:06.000Z on within 5m",
        ),
        (
            &["--from", "2099-01-01T00:00:00Z"],
            "from 2099-01-01T00:00:00.000Z on",
        ),
    ] {
        let arguments = [&["import", "pcap", &file], slice, &out].concat();
        let said = format!("the slice has no request {said}{ends}");
        place.smbench(&arguments).failed_with(2, &[&said]);
        assert!(!place.path("made").exists(), "{said}");
    }
    // The hash of a summary selects, too.
    let all = place.smbench(&["import", "pcap", &file, "--json", "-"]);
    let users = json(&all.stdout)["users"].clone();
    let hash = users.as_object().unwrap().keys().next().unwrap().clone();
    let by_hash = place.smbench(&["import", "pcap", &file, "--user", &hash]);
    let by_name = place.smbench(&["import", "pcap", &file, "--user", "Daemon"]);
    by_hash.succeeded();
    assert_eq!(by_hash.stdout, by_name.stdout);
}

#[test]
fn a_capture_becomes_a_profile_that_runs() {
    let place = Place::new();
    let file = fixture("smbclient-3.1.1-unsigned.pcap");
    let made = place.smbench(&["import", "pcap", &file, "--distil", "--out", "mine.toml"]);
    made.succeeded();
    for part in ["distance", "by command", "think", "wrote mine.toml\n"] {
        assert!(made.stdout.contains(part), "{part} in {}", made.stdout);
    }
    place.smbench(&["plan", "-p", "./mine.toml"]).succeeded();
    let text = fs::read_to_string(place.path("mine.toml")).unwrap();
    for name in ["fox", "bench", "daemon"] {
        assert!(!text.contains(name), "{text}");
    }
    place
        .smbench(&["import", "pcap", &file, "--distil", "--out", "mine.toml"])
        .failed_with(2, &["mine.toml exists already: use another --out"]);
    place
        .smbench(&["import", "pcap", &file, "--distil", "--diff", &file])
        .failed_with(2, &["--distil", "--diff <FILE>"]);
    place
        .smbench(&["import", "pcap", &file, "--distil", "--out", "folder"])
        .failed_with(
            2,
            &["--distil writes profiles: give --out a file that ends with .toml, not folder"],
        );
}

#[test]
fn what_is_no_capture_gets_one_line_and_leaves_nothing() {
    let place = Place::new();
    fs::write(place.path("empty"), "").unwrap();
    fs::write(place.path("text"), "hello, world\n").unwrap();
    for (file, said) in [
        (
            "empty",
            "empty is empty: expected a capture as tcpdump or Wireshark writes it",
        ),
        (
            "text",
            "text is no capture: it is neither pcap nor pcapng, but text: give a file",
        ),
        (".", "failed to read .: it is a folder: give its files"),
        (
            "missing",
            "failed to read missing: No such file or directory (os error 2)",
        ),
    ] {
        place
            .smbench(&["import", "pcap", file, "--out", "made"])
            .failed_with(2, &[said]);
        assert!(!place.path("made").exists(), "{file}");
        let whole = fixture("smbclient-3.1.1-unsigned.pcap");
        place
            .smbench(&["import", "pcap", &whole, "--diff", file])
            .failed_with(2, &[said]);
    }
}
