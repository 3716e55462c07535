//! Streams in commands: how many frames were late, and how many streams a server carries.

use std::fs;
use std::time::Duration;

use smbench_lab::{EmbeddedOptions, EmbeddedServer, ServicePace};

use crate::support::{Place, json};

const PROFILE: &str = "stream = { frame = \"64KiB\", fps = 30 }";
const SHORT: [&str; 7] = [
    "-p=./stream.toml",
    "--duration=1s",
    "--ramp-up=500ms",
    // Longer than the buffers, so that each frame has its instant before the load ends.
    "--ramp-down=200ms",
    "--threads=2",
    "--out=results",
    "--json=-",
];

fn place() -> Place {
    let place = Place::new();
    fs::write(place.path("stream.toml"), PROFILE).unwrap();
    place
}

/// A server that reads 100 frames per second.
fn server() -> EmbeddedServer {
    EmbeddedServer::start(EmbeddedOptions {
        pace: ServicePace::OneByOne(Duration::from_millis(10)),
        ..EmbeddedOptions::default()
    })
    .unwrap()
}

#[test]
fn late_frames_are_in_the_document_and_fail_a_condition() {
    let server = server();
    let place = place();
    let run = ["run", &server.url(), "-c=8", "--fail-if=late > 0.1%"];
    let said = place.smbench_as(server.password(), &[&run[..], &SHORT].concat());
    assert_eq!(said.code(), Some(1), "{said:?}");
    let doc = json(&said.stdout);
    let streams = &doc["load_points"][0]["streams"];
    assert_eq!(streams["frames"], 240, "{streams}");
    assert_eq!(doc["load_points"][0]["offered"]["operations"], 240);
    let (late, share) = (&streams["late"], &streams["late_share"]);
    let late = late.as_f64().unwrap();
    assert!(late > 60.0, "{streams}");
    assert_eq!(share.as_f64().unwrap(), late / 240.0);
    assert!(streams["longest_late_ns"].as_u64().unwrap() > 0);
    assert_eq!(doc["plan"]["stream"]["frame_bytes"], 65536);
    assert_eq!(doc["conditions"][0]["metric"], "late");
    let [result] = &place.results()[..] else {
        panic!("one result")
    };
    let text = place.smbench(&["show", result.to_str().unwrap()]);
    assert!(text.stdout.contains("8 streams: "), "{text:?}");
    assert!(text.stdout.contains(" of 240 frames late "), "{text:?}");
}

#[test]
fn a_search_finds_how_many_streams_a_server_carries() {
    let server = server();
    let place = place();
    let find = ["find", "clients", &server.url(), "--slo=late < 0.1%"];
    let more = ["--start=2", "--max=8", "--confirm=1/1"];
    let said = place.smbench_as(server.password(), &[&find[..], &more, &SHORT].concat());
    let doc = json(&said.stdout);
    let found = &doc["find"];
    let probes = found["probes"].as_array().unwrap();
    let held = |clients: f64| {
        let mut probes = probes.iter();
        probes
            .find(|probe| probe["load"] == clients)
            .map(|probe| &probe["verdict"])
    };
    // The server takes 100 frames per second, and 8 streams ask for 240.
    assert!(held(8.0).is_none_or(|verdict| verdict != "held"), "{found}");
    let result = found["result"].as_f64().unwrap_or(0.0);
    assert!(result <= 3.0, "{found}");
}

#[test]
fn late_needs_a_stream() {
    let place = Place::new();
    let args = [
        "run",
        "smb://ann@192.0.2.1/x",
        "-p=read-4k",
        "--fail-if=late > 0",
    ];
    let said = place.smbench(&args);
    assert_eq!(said.code(), Some(2), "{said:?}");
    let expected = "'late > 0' cannot be judged: profile read-4k has no stream";
    assert!(said.stderr.contains(expected), "{said:?}");
}
