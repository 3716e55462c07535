//! Durations, sizes, counts and percentages have one grammar in all options.

use clap::Parser as _;

use crate::args::Cli;

const RUN: [&str; 1] = ["run"];
const LOGONS: [&str; 3] = ["find", "logons", "smb://u@h/s"];
const SESSIONS: [&str; 3] = ["find", "sessions", "smb://u@h/s"];
const SUITE: [&str; 2] = ["suite", "veritest-2003"];
const FILEIO: [&str; 2] = ["fileio", "run"];
const LAB: [&str; 2] = ["lab", "embedded"];

/// Options of commands that take a whole number.
const WHOLE: [(&[&str], &[&str]); 6] = [
    (
        &RUN,
        &[
            "--clients",
            "--outstanding",
            "--repeat",
            "--setup-rate",
            "--threads",
            "--loops",
            "--seed",
            "--sessions-per-connection",
            "--connections-per-session",
            "--credits",
            "--rate",
        ],
    ),
    (&LOGONS, &["--clients", "--threads", "--probes"]),
    (&SESSIONS, &["--max", "--setup-rate", "--threads"]),
    (&SUITE, &["--passes", "--points"]),
    (
        &FILEIO,
        &[
            "--file-num",
            "--file-fsync-freq",
            "--file-merged-requests",
            "--threads",
            "--events",
            "--rate",
            "--rand-spec-iter",
            "--rand-seed",
        ],
    ),
    (&LAB, &["--max-rate", "--max-connections"]),
];
const DURATIONS: [(&[&str], &[&str]); 4] = [
    (
        &RUN,
        &[
            "--duration",
            "--ramp-up",
            "--ramp-down",
            "--think-time",
            "--until-steady",
            "--connect-timeout",
        ],
    ),
    (&SESSIONS, &["--hold", "--keep-alive"]),
    (&FILEIO, &["--time", "--warmup-time"]),
    (&LAB, &["--service-time"]),
];
const SIZES: [(&[&str], &[&str]); 3] = [
    (&RUN, &["--file-size", "--size"]),
    (&FILEIO, &["--file-total-size", "--file-block-size"]),
    (&LAB, &["--capacity"]),
];

/// Returns the message about a value of an option, or `None` if it is accepted.
fn refusal(command: &[&str], option: &str, value: &str) -> Option<String> {
    let given = format!("{option}={value}");
    let words = [&["smbench"], command, &[&given]].concat();
    let refused = Cli::try_parse_from(words).err();
    refused.map(|error| error.to_string())
}

fn check(options: &[(&[&str], &[&str])], accepted: &[&str], refused: &[&str]) {
    for (command, names) in options {
        for name in *names {
            for value in accepted {
                assert_eq!(refusal(command, name, value), None, "{command:?} {name}");
            }
            for value in refused {
                let message = refusal(command, name, value);
                let message = message.unwrap_or_else(|| panic!("{command:?} {name}={value}"));
                for unclear in ["literal", "digit found", "target type", "empty string"] {
                    assert!(!message.contains(unclear), "{message}");
                }
            }
        }
    }
}

#[test]
fn whole_numbers_may_have_thousands_in_every_option() {
    check(
        &WHOLE,
        &["1000", "1k", "0.5K", "1e3", " 7 "],
        &[
            "",
            "k",
            "-1",
            "1_000",
            "50%",
            "4KiB",
            "99999999999999999999",
        ],
    );
    assert_eq!(refusal(&LAB, "--max-rate", "2M"), None);
}

#[test]
fn durations_have_their_unit_in_every_option() {
    check(
        &DURATIONS,
        &["90s", "1m30s", "1.5h", "1h 30m", "500ms"],
        &["", "s", "-1s", "50%", "4KiB", "10M", "90S", "1,5s"],
    );
}

#[test]
fn sizes_have_the_same_units_in_every_option() {
    check(
        &SIZES,
        &["4096", "4KiB", "4kb", " 4 KiB", "4096K", "1.5KiB"],
        &["", "k", "-1", "1_000", "1e3", "0.3k", "99999999999T"],
    );
}

#[test]
fn percentages_may_have_their_sign() {
    for (command, option) in [
        (&RUN[..], "--read"),
        (&FILEIO, "--percentile"),
        (&["find", "rate", "smb://u@h/s"], "--precision"),
    ] {
        for value in ["50", "50%", "50 %", "0.5%"] {
            assert_eq!(refusal(command, option, value), None, "{option}");
        }
        for value in ["", "%", "-1", "101", "5k", "nan"] {
            assert!(refusal(command, option, value).is_some(), "{option}");
        }
    }
    assert_eq!(refusal(&FILEIO, "--report-interval", "10s"), None);
    let message = refusal(&FILEIO, "--file-rw-ratio", "3:2").unwrap();
    assert!(
        message.contains("expected a number of 0 or more"),
        "{message}"
    );
}
