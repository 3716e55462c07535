//! Suites that are refused before any connection is made.

use super::resolved;
use crate::failure::Exit;

const URL: &str = "[[servers]]\nname = \"a\"\nurl = \"smb://ann@host/s\"\n";

/// Checks that a suite is refused as bad usage, with all parts in one line.
#[track_caller]
fn refused(name_or_path: &str, options: &[&str], parts: &[&str]) {
    smbench_model::setting::spell(crate::advice::flag);
    let failure = resolved(name_or_path, options).unwrap_err();
    assert_eq!(failure.exit(), Exit::Usage, "{failure}");
    let line = failure.to_string();
    for part in parts {
        assert!(line.contains(part), "{part:?} is missing: {line}");
    }
    assert!(!line.contains('\n') && !line.contains("hunter2"), "{line}");
}

/// Checks that a suite with this text is refused.
#[track_caller]
fn refused_text(text: &str, options: &[&str], parts: &[&str]) {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(
        folder.path().join("one.txt"),
        "Mkdir \"\\a\" NT_STATUS_OK\n",
    )
    .unwrap();
    let path = folder.path().join("suite.toml");
    std::fs::write(&path, text).unwrap();
    refused(path.to_str().unwrap(), options, parts);
}

#[test]
fn servers_that_make_no_sense_are_refused() {
    for (spec, parts) in [
        ("", &["has no servers"][..]),
        (
            "[[servers]]\nname = \"a\"",
            &["server `a`", "give url, or samba"],
        ),
        (
            "[[servers]]\nname = \"a\"\nurl = \"smb://h/s\"\nsamba = []",
            &["url and samba are both given"],
        ),
        (
            "[[servers]]\nname = \"a\"\nsamba = []\nflush = \"ignores\"",
            &["flush goes with url"],
        ),
        (
            "[[servers]]\nname = \"a\"\nsamba = [\"x\"]",
            &["samba line \"x\""],
        ),
        (
            "[[servers]]\nname = \"a\"\nsamba = [\"# strict sync = no\"]",
            &["server `a`: samba line \"# strict sync = no\": expected one line"],
        ),
        ("[[servers]]\nname = \" \"\nsamba = []", &["needs a name"]),
        (
            "[[servers]]\nname = \"a\"\nurl = \"smb://ann:hunter2@host/s\"",
            &["the URL holds a password"],
        ),
        (
            "[[servers]]\nname = \"a\"\nurl = \"http://h/s\"",
            &["scheme is http"],
        ),
        (
            "[[servers]]\nname = \"a\"\nsamba = []\n[[servers]]\nname = \"A\"\nsamba = []",
            &["two servers are called `A`"],
        ),
        (
            &format!("{URL}server_metrics = \"here\""),
            &["server `a`", "server_metrics: "],
        ),
        (
            &format!("{URL}run.seed = 2"),
            &["server `a`", "run has other keys than oplock, dialect, "],
        ),
        (
            &format!("{URL}run.connections_per_session = 0"),
            &[
                "profile file-server, server `a`: ",
                "connections_per_session",
            ],
        ),
    ] {
        refused_text(spec, &[], parts);
    }
}

#[test]
fn work_that_makes_no_sense_is_refused() {
    for (spec, parts) in [
        ("passes = 0", &["passes is 0"][..]),
        ("profiles = [\"nope\"]", &["unknown profile `nope`"]),
        (
            "profiles = [\"read-4k\", \"read-4k\"]",
            &["two profiles are called `read-4k`"],
        ),
        ("[run]\nclients = \"1\"", &["[run] has clients or repeat"]),
        (
            "[[profiles]]\nprofile = \"read-4k\"\nrun.repeat = 2",
            &["profile read-4k has clients or repeat"],
        ),
        (
            "[run]\nduration = \"0\"",
            &["suite ", "profile file-server: duration is 0s"],
        ),
        (
            "[[comparisons]]\ntitle = \"t\"\nservers = [\"b\"]",
            &["comparison `t`: there is no server `b`"],
        ),
        (
            "[[comparisons]]\ntitle = \"t\"\nkind = \"gain\"",
            &["comparison `t`: kind = \"gain\" is gone: write kind = \"change\" and baseline = "],
        ),
        ("[transfers]", &["[transfers] has no sizes"]),
        (
            "[transfers]\nsizes = [\"0\"]",
            &["profile transmit-0B: a size is 0"],
        ),
        (
            "[transfers]\nsizes = [\"2GiB\"]",
            &["size 2 GiB is more than 1 GiB"],
        ),
        (
            "[transfers]\nsizes = [\"4k\", \"4k\"]",
            &["two profiles are called `transmit-4KiB`"],
        ),
        (
            "clients = \"60000\"\n[transfers]\nsizes = [\"4KiB\"]\nmodes = [\"duplex\"]",
            &[
                "profile duplex-4KiB, with 2 sessions for each client: `120000` in the client list \
                 asks for more than 100000 clients",
            ],
        ),
        (
            "[run]\nsessions_per_connection = 1\n[transfers]\nsizes = [\"4KiB\"]\nmodes = [\"duplex\"]",
            &[
                "profile duplex-4KiB: sessions_per_connection is 1, but a client of this transfer \
                 has 2 sessions: leave the key out",
            ],
        ),
    ] {
        refused_text(&format!("{spec}\n{URL}"), &[], parts);
    }
}

#[test]
fn several_smbd_need_a_scratch_samba_and_events_run_no_command() {
    let back = "[run]\nreconnect = \"60s\"\n";
    for (spec, part) in [
        (
            "[[servers]]\nname = \"a\"\nsamba = []\nnodes = 2".to_owned(),
            "server `a`: nodes means nothing without reconnect: give that in [run] as well",
        ),
        (
            format!("{back}[[servers]]\nname = \"a\"\nsamba = []\nnodes = 1"),
            "server `a`: nodes is 1: give 2 to 8",
        ),
        (
            format!("events = [\"at 1s: exec reboot\"]\n{URL}"),
            "`at 1s: exec reboot` runs a command, which a suite never does",
        ),
        (
            format!("{back}{URL}\nnodes = 2"),
            "nodes in [[servers]] goes with samba, not with url",
        ),
    ] {
        refused_text(&spec, &[], &[part]);
    }
}

#[test]
fn a_command_line_that_makes_no_sense_is_refused() {
    let server = "--server=a=smb://ann@h/s";
    for (name, options, part) in [
        (
            "nope",
            &[][..],
            "unknown suite `nope`: expected one of adapter, curve, dir-leases, failover, folders, limits-2005",
        ),
        ("/dev/zero", &[], "failed to read /dev/zero: larger than"),
        ("missing.toml", &[], "missing.toml: the file does not exist"),
        (
            "veritest-2003",
            &["--server=smb://ann:hunter2@h/s"],
            "expected NAME=URL",
        ),
        (
            "veritest-2003",
            &["--server=a=smb://ann:hunter2@h/s"],
            "--server a: the URL holds a password",
        ),
        (
            "veritest-2003",
            &[server, "--server-flush=b=honours"],
            "--server-flush b: no --server has that name",
        ),
        (
            "veritest-2003",
            &[server, "--server-write=b=waits"],
            "--server-write b: no --server has that name",
        ),
        (
            "veritest-2003",
            &[server, "--duration=0"],
            "--duration: duration is 0s",
        ),
        (
            "adapter",
            &[server, "--profile=duplex-3KiB"],
            "unknown profile `duplex-3KiB`",
        ),
    ] {
        refused(name, options, &[part]);
    }
    let replay = "profiles = [\"loadfile:one.txt\"]\n[run]\nloops = 1\nramp_up = \"0s\"\n\
                  ramp_down = \"0s\"\n";
    let parts = [
        "--quick sets ramp_up: ramp_up cannot be had in a replay: ",
        "give 0s (--ramp-up)",
    ];
    refused_text(&format!("{replay}{URL}"), &["--quick"], &parts);
    let skipped = "--skip-unknown means nothing without a loadfile";
    refused_text(URL, &["--skip-unknown"], &[skipped]);
}
