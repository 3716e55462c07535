//! Parts of a run on one server, and `smbench merge`.

use std::time::{Duration, SystemTime};

use crate::support::{Place, Running, embedded, run_args};

/// A recording with a bounded number of operations.
const RECORDING: &str = r#"Mkdir "\client1" NT_STATUS_OK
NTCreateX "\client1\a.dat" 0x40 0x3 1001 NT_STATUS_OK
WriteX 1001 0 4096 4096 NT_STATUS_OK
ReadX 1001 0 4096 4096 NT_STATUS_OK
ReadX 1001 0 512 512 NT_STATUS_OK
Close 1001 NT_STATUS_OK
Deltree "\client1" NT_STATUS_OK
"#;

/// Long enough to set up the sessions of both parts.
const LEAD: Duration = Duration::from_secs(10);

/// Runs the parts at the same time, and saves them as `part-0.json`, `part-1.json` and so on.
fn run_parts(place: &Place, (url, password): (&str, &str), ranges: &[&str], more: &[&str]) {
    let begin = humantime::format_rfc3339_millis(SystemTime::now() + LEAD);
    let begin = format!("--begin-at={begin}");
    let started: Vec<_> = ranges
        .iter()
        .enumerate()
        .map(|(at, range)| {
            let range = format!("--client-range={range}");
            let file = format!("--json=part-{at}.json");
            let own = [&range, &begin, &file, "--ramp-up=0s", "--threads=1"];
            let own = own.map(|option: &str| option);
            let mut command = place.command(&run_args(url, &[&own[..], more].concat()));
            command.env("SMBENCH_PASSWORD", password);
            Running::spawn(command)
        })
        .collect();
    for running in started {
        let said = running.wait();
        assert_eq!(said.code(), Some(0), "{said:?}");
        let begin = said.stderr.strip_prefix("smbench: the load begins at ");
        assert_eq!(begin.map(|at| at.lines().count()), Some(1), "{said:?}");
    }
}

#[test]
fn merged_parts_have_the_operations_of_one_process() {
    let (place, server) = (Place::new(), embedded());
    place.write("client.txt", RECORDING);
    let (url, password) = (server.url(), server.password());
    let replay = [
        "--profile=loadfile:client.txt",
        "--loops=20",
        "--duration=1m",
        "--ramp-down=0s",
    ];
    run_parts(&place, (&url, password), &["0..1/3", "1..3/3"], &replay);
    let whole = ["--clients=3", "--ramp-up=0s", "--json=one.json"];
    let whole = [&whole[..], &replay].concat();
    place.run(&url, password, &whole).succeeded();
    let args = ["merge", "part-1.json", "part-0.json", "--out=whole.json"];
    let said = place.smbench(&args);
    said.succeeded();
    for part in [
        "\nMachines 2: part-0 33.33 %, part-1 66.67 % of",
        "\nSaved to whole.json\n",
    ] {
        assert!(said.stdout.contains(part), "{part}: {said:?}");
    }
    let [merged, one] = ["whole.json", "one.json"].map(|name| place.json(name));
    assert_eq!(merged["plan"]["digest"], one["plan"]["digest"]);
    assert_eq!(
        merged["plan"]["bytes_on_share"],
        one["plan"]["bytes_on_share"]
    );
    let [merged, one] = [&merged, &one].map(|doc| &doc["load_points"][0]);
    for key in [
        "valid",
        "clients",
        "clients_served",
        "bytes_read",
        "bytes_written",
        "errors",
        "whole",
        "failures",
        "differences",
    ] {
        assert_eq!(merged[key], one[key], "{key}");
    }
    for key in ["min", "max", "mean", "jain_index"] {
        assert_eq!(merged["fairness"][key], one["fairness"][key], "{key}");
    }
    for (kind, op) in merged["ops"].as_object().unwrap() {
        assert_eq!(op["count"], one["ops"][kind]["count"], "{kind}");
    }
    assert_eq!(merged["hosts"].as_array().unwrap().len(), 2);
    let said = place.smbench(&["show", "whole.json", "--details"]);
    said.succeeded();
    assert!(said.stdout.contains("\nMachines\n"), "{said:?}");
}

#[test]
fn windows_by_the_clock_are_merged() {
    let (place, server) = (Place::new(), embedded());
    let ranges = ["0..1/2", "1..2/2"];
    let options = ["--profile=read-4k", "--duration=1s"];
    run_parts(
        &place,
        (&server.url(), server.password()),
        &ranges,
        &options,
    );
    let args = ["merge", "part-0.json", "part-1.json", "--out=whole.json"];
    place.smbench(&args).succeeded();
    let whole = place.json("whole.json");
    let point = &whole["load_points"][0];
    assert_eq!(point["window_s"], 1.0);
    let counts = [0, 1].map(|at| {
        let part = place.json(&format!("part-{at}.json"));
        part["load_points"][0]["ops"]["read"]["count"]
            .as_u64()
            .unwrap()
    });
    assert_eq!(point["ops"]["read"]["count"], counts[0] + counts[1]);

    // A part that is given twice, or alone, or overwritten.
    for (args, message) in [
        (
            ["part-0.json", "part-0.json", "--out=x.json"],
            "both have client 0 of 2",
        ),
        (
            ["part-0.json", "whole.json", "--out=x.json"],
            "whole.json is not a part of a run",
        ),
        (
            ["part-0.json", "part-1.json", "--out=./part-1.json"],
            "would overwrite a part",
        ),
        (
            ["part-0.json", "part-2.json", "--out=x.json"],
            "part-2.json: the file does not exist",
        ),
    ] {
        let args = [&["merge"][..], &args].concat();
        place.smbench(&args).failed_with(2, &[message]);
    }
    let lonely = ["merge", "part-0.json", "--out=x.json"];
    place
        .smbench(&lonely)
        .failed_with(2, &["two or more parts, and 1 is given"]);
    let nowhere = ["merge", "part-0.json", "part-1.json", "--out=none/x.json"];
    place
        .smbench(&nowhere)
        .failed_with(3, &["failed to write none/x.json"]);

    // Windows that were not at the same time.
    let mut late = place.json("part-1.json");
    late["load_points"][0]["window_opened"] = "2026-01-01T00:00:00.000000Z".into();
    place.write("part-1.json", &late.to_string());
    let said = place.smbench(&args);
    assert_eq!(said.code(), Some(4), "{said:?}");
    let message = "smbench: 1 of 1 load point not valid, first the one of 2 clients: part-0: its \
                   window opened ";
    assert!(said.stderr.starts_with(message), "{said:?}");
    assert_eq!(place.json("whole.json")["load_points"][0]["valid"], false);
}
