//! Searches that do not come to their own end, and servers that refuse or stall.

use std::time::Duration;

use nix::sys::signal::Signal;
use serde_json::Value;
use smbench_lab::{EmbeddedOptions, EmbeddedServer};

use super::{SHORT, find, server};
use crate::door::{DoorPolicy, open_door};
use crate::support::{Place, is_machine_busy, json, wait_until};

/// Waits until the search has `count` probes on disk.
fn wait_for_probes(place: &Place, count: usize) {
    place.wait_for_load_points(count);
    assert!(place.document()["find"]["probes"].as_array().unwrap().len() >= count);
}

/// The bounds are the highest load that held and the lowest that broke. On a busy machine, the
/// first probe may break.
fn assert_bounds(found: &Value) {
    let bound = |verdict: &str, further: fn(f64, f64) -> f64| {
        let probes = found["probes"].as_array().unwrap().iter();
        let of_verdict = probes.filter(|probe| probe["verdict"] == verdict);
        let loads = of_verdict.map(|probe| probe["load"].as_f64().unwrap());
        loads.reduce(further)
    };
    let held = bound("held", f64::max);
    let broke = bound("broke", f64::min);
    assert!(held.or(broke).is_some(), "{found:#}");
    assert_eq!(found["held_at"].as_f64(), held, "{found:#}");
    assert_eq!(found["broke_at"].as_f64(), broke, "{found:#}");
}

/// The directory is gone, and no file is open.
fn assert_clean(server: &EmbeddedServer) {
    wait_until(|| server.memory().counts().open_handles == 0);
    assert_eq!(server.memory().paths(), Vec::<String>::new());
}

#[test]
fn a_search_that_is_interrupted_keeps_its_probes_and_tells_the_bounds() {
    let server = server(EmbeddedOptions::default());
    let (place, url) = (Place::new(), server.url());
    let args = [
        "find",
        "rate",
        &url,
        "-p=read-4k",
        "-c=4",
        "--start=50",
        "--max=400",
    ];
    let running = place.start_as(server.password(), &[&args[..], &SHORT].concat());
    wait_for_probes(&place, 2);
    running.signal(Signal::SIGINT);
    let said = running.wait();
    assert_eq!(said.code(), Some(130), "{said:?}");
    let found = &place.document()["find"];
    assert_eq!(
        (&found["end"], &found["result"]),
        (&"unfinished".into(), &Value::Null)
    );
    assert_bounds(found);
    assert_clean(&server);
}

#[test]
fn a_server_that_goes_away_ends_a_search_with_its_probes() {
    let server = server(EmbeddedOptions::default());
    let (place, url) = (Place::new(), server.url());
    let args = [
        "find",
        "rate",
        &url,
        "-p=read-4k",
        "-c=4",
        "--start=50",
        "--max=400",
    ];
    let running = place.start_as(server.password(), &[&args[..], &SHORT].concat());
    wait_for_probes(&place, 2);
    server.stop();
    let said = running.wait();
    assert!([Some(3), Some(4)].contains(&said.code()), "{said:?}");
    let doc = place.document();
    let found = &doc["find"];
    assert_eq!(found["result"], Value::Null);
    assert_bounds(found);
    let count = |list: &Value| list.as_array().unwrap().len();
    assert!(
        count(&found["probes"]) <= count(&doc["load_points"]),
        "{found:#}"
    );
}

/// No probe is blamed on a server that is gone.
#[test]
fn a_server_that_goes_away_ends_a_search_for_log_ons() {
    let server = server(EmbeddedOptions::default());
    let (place, url) = (Place::new(), server.url());
    let args = ["find", "logons", &url, "--start=10", "--max=40", "-c=4"];
    let held = ["--hold=2s", "--out=results"];
    let running = place.start_as(server.password(), &[&args[..], &held].concat());
    wait_for_probes(&place, 1);
    server.stop();
    let said = running.wait();
    assert!([Some(3), Some(4)].contains(&said.code()), "{said:?}");
    let found = &place.document()["find"];
    assert_eq!(
        (&found["end"], &found["result"]),
        (&"unfinished".into(), &Value::Null),
        "{found:#}"
    );
    for probe in found["probes"].as_array().unwrap() {
        assert_eq!(probe["verdict"], "held", "{found:#}");
    }
}

/// A probe that must have five failures at least says so, and a shorter one says nothing.
#[test]
fn log_ons_are_too_many_where_every_fiftieth_is_refused() {
    let server = server(EmbeddedOptions::default());
    let door = open_door(server.address(), DoorPolicy::RefuseEvery(50));
    let (place, url) = (Place::new(), door.url());
    let args = ["find", "logons", &url, "--start=250", "--probes=3", "-c=32"];
    let held = [
        "--until=failed >= 2%",
        "--hold=4s",
        "--out=results",
        "--json=-",
    ];
    let said = place.smbench_as(server.password(), &[&args[..], &held].concat());
    let doc = json(&said.stdout);
    let found = &doc["find"];
    let points = doc["load_points"].as_array().unwrap();
    let probes = found["probes"].as_array().unwrap();
    assert_eq!(probes.len(), points.len());
    let first = &probes[0]["verdict"];
    assert!(first == "broke" || is_machine_busy(), "{found:#}");
    for (probe, point) in probes.iter().zip(points) {
        let of_logons = &point["whole"]["session"];
        let count = |what: &str| of_logons[what].as_u64().unwrap();
        let (failed, all) = (count("errors"), count("errors") + count("count"));
        assert!(all < 50 || failed > 0, "{point:#}");
        let is_limited = probe["verdict"] == "client_limited" && is_machine_busy();
        if all >= 250 && !is_limited {
            assert_eq!(probe["verdict"], "broke", "{found:#}");
            assert!(probe["reason"].as_str().unwrap().contains("errors"));
        } else {
            // A busy machine may have no time for more.
            assert_ne!(probe["verdict"], "held", "{found:#}");
        }
    }
    assert_eq!(found["result"], Value::Null, "{found:#}");
}

#[test]
fn sessions_that_are_interrupted_while_they_are_set_up_are_reported() {
    let server = server(EmbeddedOptions::default());
    let door = open_door(server.address(), DoorPolicy::LetIn);
    let (place, url) = (Place::new(), door.url());
    let args = ["find", "sessions", &url, "--setup-rate=50", "--out=results"];
    let running = place.start_as(server.password(), &args);
    wait_until(|| door.seen() >= 20);
    running.signal(Signal::SIGINT);
    let said = running.wait();
    assert_eq!(said.code(), Some(130), "{said:?}");
    let found = &place.document()["find"];
    assert_eq!(
        (&found["end"], &found["result"]),
        (&"unfinished".into(), &Value::Null)
    );
    assert!(found["held_at"].as_f64().unwrap() >= 2.0, "{found:#}");
    assert_clean(&server);
}

/// One of 100 attempts is the limit exactly.
#[test]
fn sessions_are_found_where_every_hundredth_is_refused() {
    let server = server(EmbeddedOptions::default());
    let door = open_door(server.address(), DoorPolicy::RefuseEvery(100));
    let (place, url) = (Place::new(), door.url());
    let args = [
        "find",
        "sessions",
        &url,
        "--max=1000",
        "--until=failed >= 1%",
    ];
    let held = [
        "--hold=200ms",
        "--keep-alive=100ms",
        "--out=results",
        "--json=-",
    ];
    let said = place.smbench_as(server.password(), &[&args[..], &held].concat());
    assert_eq!(said.code(), Some(0), "{said:?}");
    let found = &json(&said.stdout)["find"];
    assert_eq!(found["end"], "found", "{found:#}");
    let tried = found["broke_at"].as_f64().unwrap();
    assert!((100.0..300.0).contains(&tried), "{found:#}");
}

/// A probe whose clients are refused breaks the limit, and does not end the search.
#[test]
fn clients_that_are_refused_break_a_probe() {
    let server = server(EmbeddedOptions {
        max_connections: Some(6),
        ..EmbeddedOptions::default()
    });
    let limits = [
        "-p=read-4k",
        "--slo=p99 < 60s",
        "--start=2",
        "--confirm=1/1",
    ];
    let (said, found) = find("clients", &server, &[&limits[..], &SHORT].concat());
    assert_eq!(said.code(), Some(0), "{said:?}");
    // One of the six connections is that of the run.
    assert_eq!(
        (&found["end"], &found["result"]),
        (&"found".into(), &5.0.into()),
        "{found:#}"
    );
    let reason = found["broke_reason"].as_str().unwrap();
    assert!(reason.contains("could not be set up"), "{reason}");
}

/// Log-ons are due by the clock, so those that had to wait show it.
#[test]
fn a_stall_shows_in_the_latency_of_log_ons() {
    let server = server(EmbeddedOptions::default());
    let stall = Duration::from_secs(2);
    let door = open_door(server.address(), DoorPolicy::HoldBackOnce(30, stall));
    let (place, url) = (Place::new(), door.url());
    let run = [
        "run",
        &url,
        "-p=logons",
        "-c=256",
        "--rate=40",
        "--duration=4s",
    ];
    let more = [
        "--ramp-up=50ms",
        "--ramp-down=0s",
        "--out=results",
        "--json=-",
    ];
    let said = place.smbench_as(server.password(), &[&run[..], &more].concat());
    let latency = &json(&said.stdout)["load_points"][0]["latency_ns"];
    let (p90, max) = (
        latency["p90"].as_f64().unwrap(),
        latency["max"].as_f64().unwrap(),
    );
    // Half of the log-ons of the window came during the stall, and waited for its end.
    assert!(p90 > 1e9 && max > 1.5e9, "{latency:#}");
}
