//! The adapter suite: sizes and directions as a table ranked by P/E.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use serde_json::Value;
use smbench_lab::{Tool, require};
use smbench_report::doc::{
    CalibrationDoc, CeilingDoc, CeilingTarget, MachineDoc, SCHEMA_VERSION, SysbenchDoc, ToolDoc,
};

use crate::support::{Place, Said, embedded, json, text};

const SUITE: &str = r#"
clients = "4"
profiles = ["web-server"]
[transfers]
sizes = ["4KiB", "2MiB"]
[[servers]]
name = "Samba"
samba = ["smb2 max read = 1048576", "smb2 max write = 1048576"]
"#;

fn suite(place: &Place, password: &str, args: &[&str]) -> Said {
    let mut all = vec![
        "suite",
        "--ramp-up=50ms",
        "--ramp-down=20ms",
        "--threads=2",
        "--out=study",
        "--quiet",
    ];
    all.extend(args);
    if !args.iter().any(|arg| arg.starts_with("--duration")) {
        all.push("--duration=300ms");
    }
    place.smbench_as(password, &all)
}

fn pass(place: &Place, server: &str, profile: &str) -> Option<Value> {
    let path = place.path(&format!("study/runs/{server}/{profile}/pass-1.json"));
    let text = fs::read_to_string(path).ok()?;
    Some(json(&text))
}

#[test]
fn sizes_and_directions_become_a_ranked_table() {
    if let Err(skip) = require(&[Tool::SMBD, Tool::PDBEDIT]) {
        return eprintln!("{skip}");
    }
    let server = embedded();
    let place = Place::new();
    let file = place.write("adapter.toml", SUITE);
    let named = format!("--server=memory={}", server.url());
    let mut kept = calibration(70_001.0);
    for ceiling in &mut kept.ceilings {
        ceiling.bytes = 4 << 10;
    }
    kept.save(&place.path("named.json")).unwrap();
    // Long enough for a transfer of 2 MiB on a busy machine.
    let longer = "--duration=1s";
    let args = [text(&file), &named, longer, "--calibration=named.json"];
    let said = suite(&place, server.password(), &args);
    assert_eq!(said.code(), Some(0), "{said:?}");
    assert_eq!(said.stderr, "", "{said:?}");
    for part in [
        "plan     2 servers with 6 transfers, web-server, 1 load point",
        "traffic through the adapter by access pattern, ranked by P/E",
        "duplex, 2 MiB",
        "Samba takes READ up to 1 MiB and WRITE up to 1 MiB: split transmit, 2 MiB; receive",
        "CPU of all servers: the processes that serve; ",
        // The calibration may be too low for the suite.
        "generator's limit",
        "calibration: ",
    ] {
        assert!(said.stdout.contains(part), "{part}: {said:?}");
    }
    for (server, profiles) in [("01-memory", 7), ("02-samba", 7)] {
        let found = fs::read_dir(place.path(&format!("study/runs/{server}"))).unwrap();
        assert_eq!(found.count(), profiles, "{server}");
    }
    // Each direction moves data in that direction only. Duplex moves data in both,
    // from two sessions on each client's connection.
    for (profile, clients, reads, writes) in [
        ("01-transmit-4kib", 4, true, false),
        ("03-receive-4kib", 4, false, true),
        ("05-duplex-4kib", 8, true, true),
    ] {
        let run = pass(&place, "02-samba", profile).unwrap();
        let point = &run["load_points"][0];
        assert_eq!(point["valid"], true, "{profile}");
        assert_eq!(point["clients"], clients);
        assert_eq!(point["setup"]["connections"], 4);
        let moved = |key: &str| point[key].as_u64().unwrap() > 0;
        assert_eq!(
            (moved("bytes_read"), moved("bytes_written")),
            (reads, writes)
        );
        assert_eq!(run["plan"]["workload"]["access"], "sequential");
    }
    let study = place.json("study/study.json");
    assert_eq!(study["transfers"][4]["generators_per_client"], 2);
    assert_eq!(study["load_points"], serde_json::json!([4]));

    // All is measured, so nothing runs again; the report has the table.
    let before = fs::metadata(place.path("study/calibration.json")).unwrap();
    let again = suite(&place, server.password(), &args[..3]);
    assert_eq!(again.code(), Some(0), "{again:?}");
    assert_eq!(again.stdout, said.stdout);
    let after = fs::metadata(place.path("study/calibration.json")).unwrap();
    assert_eq!(before.modified().unwrap(), after.modified().unwrap());
    let page = fs::read_to_string(place.path("study/report/report.md")).unwrap();
    assert!(page.contains("ranked by P/E"), "{page}");
    assert!(page.contains("Results: transfers"), "{page}");
}

/// Returns a calibration of another machine, with this rate of reads and writes of
/// 64 KiB.
fn calibration(rate: f64) -> CalibrationDoc {
    let ceiling = |op: &str| CeilingDoc {
        target: CeilingTarget::Embedded,
        op: op.to_owned(),
        bytes: 64 << 10,
        threads: 2,
        clients: 32,
        ops_per_s: Some(rate),
        throughput_mbps: Some(rate * 0.524_288),
        cpu_us_per_op: Some(10.0),
        not_measured: None,
    };
    CalibrationDoc {
        schema_version: SCHEMA_VERSION,
        tool: ToolDoc::this(),
        started: "2026-01-31T12:00:00Z".to_owned(),
        machine: MachineDoc::default(),
        duration_s: 3.0,
        ceilings: ["read", "write"].map(ceiling).into(),
        sysbench: SysbenchDoc::default(),
    }
}

#[test]
fn parts_of_the_built_in_suite_can_be_picked() {
    let server = embedded();
    let place = Place::new();
    let named = format!("--server=memory={}", server.url());
    let mut args = [
        "adapter",
        &named,
        "--points=2",
        "--profile=duplex-64KiB",
        "--profile=receive-8MiB",
        // On a busy machine, 8 MiB take longer than the window of the other tests.
        "--duration=1s",
        "",
    ];
    // A named calibration replaces the study's. If it is off, it is left out but
    // stays in the folder.
    let kept = || CalibrationDoc::load(&place.path("study/calibration.json")).unwrap();
    for (rate, option) in [
        (70_001.0, "--calibration=named.json"),
        (80_001.0, "--calibration=named.json"),
        (80_001.0, "--calibration=off"),
    ] {
        calibration(rate).save(&place.path("named.json")).unwrap();
        args[6] = option;
        let said = suite(&place, server.password(), &args);
        said.ended();
        let page = fs::read_to_string(place.path("study/report/report.md")).unwrap();
        let is_shown = option != "--calibration=off";
        let line = format!("calibration: this machine did at most {rate} ");
        assert_eq!(said.stdout.contains(&line), is_shown, "{said:?}");
        let section = "Calibration of the generator";
        assert_eq!(page.contains(section), is_shown, "{page}");
        assert_eq!(kept(), calibration(rate));
    }
    let run = pass(&place, "01-memory", "01-duplex-64kib").unwrap();
    assert_eq!(run["load_points"][0]["clients"], 4);
    let run = pass(&place, "01-memory", "02-receive-8mib").unwrap();
    assert_eq!(run["plan"]["workload"]["file_bytes"], 8 << 20);

    // An unreadable calibration stays, and a message says what to do.
    place.write("study/calibration.json", "{");
    let unread = suite(&place, server.password(), &args[..6]);
    assert_eq!(unread.code(), Some(0), "{unread:?}");
    for part in [
        "smbench: failed to read study/calibration.json: not an smbench result: ",
        "; the study is shown without it; remove that file, and the suite measures anew\n",
    ] {
        assert!(unread.stderr.contains(part), "{part}: {unread:?}");
    }
}

/// A server without room reports that before anything is written, and only the
/// profiles that do not fit are left out.
#[test]
fn a_server_without_room_is_reported_before_anything_is_written() {
    if let Err(skip) = require(&[Tool::SMBD, Tool::PDBEDIT]) {
        return eprintln!("{skip}");
    }
    let place = Place::new();
    // smbd calls this to get a disk's size and free space, in KiB.
    let script = place.write("dfree", "#!/bin/sh\necho 9000 3000\n");
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
    let toml = format!(
        "clients = \"2\"\n[transfers]\nsizes = [\"4KiB\", \"2MiB\"]\nmodes = [\"receive\"]\n\
         [[servers]]\nname = \"full\"\nsamba = [\"dfree command = {}\"]\n",
        text(&script)
    );
    let file = place.write("full.toml", &toml);
    let said = suite(&place, "", &[text(&file), "--calibration=off"]);
    assert_eq!(said.code(), Some(3), "{said:?}");
    assert!(
        said.stderr
            .contains("2.9 MiB free, but the run needs 4 MiB"),
        "{said:?}"
    );
    assert!(pass(&place, "01-full", "01-receive-4kib").is_some());
    assert!(pass(&place, "01-full", "02-receive-2mib").is_none());
}
