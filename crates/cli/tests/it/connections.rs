//! Options for the connections of a run.

use crate::support::{Place, SHORT, embedded};

#[test]
fn source_addresses_are_used_and_recorded() {
    let server = embedded();
    let place = Place::new();
    let more = ["--clients=8", "--source-ip=127.0.0.2, 127.0.0.3,127.0.0.4"];
    place
        .run(&server.url(), server.password(), &more)
        .succeeded();
    let doc = place.document();
    assert_eq!(doc["plan"]["source_ip"], "127.0.0.2-127.0.0.4");
    assert_eq!(doc["load_points"][0]["valid"], true);
}

#[test]
fn source_addresses_of_elsewhere_are_refused() {
    let server = embedded();
    for (list, code, part) in [
        (
            "127.0.0.1-2",
            2,
            "'--source-ip <LIST>': `127.0.0.1-2` in the",
        ),
        (
            "192.0.2.1",
            3,
            "failed to connect from 192.0.2.1: Cannot assign",
        ),
        ("::1", 3, "from ::1: the server has no IPv6 address"),
    ] {
        let place = Place::new();
        let source = format!("--source-ip={list}");
        let said = place.run(&server.url(), server.password(), &[&source]);
        said.failed_with(code, &[part]);
        assert!(place.results().is_empty());
    }
}

#[test]
fn a_profile_may_name_source_addresses() {
    let place = Place::new();
    let profile = "read_percent = 100\nsizes = [{ size = 512, weight = 100 }]\n\
                   [run]\nclients = \"2\"\nsource_ip = \"127.0.0.5\"\n";
    place.write("mine.toml", profile);
    let mut args = vec!["run", "--profile=mine.toml"];
    args.extend(SHORT);
    place.smbench(&args).succeeded();
    assert_eq!(place.document()["plan"]["source_ip"], "127.0.0.5");
}

#[test]
fn a_cap_on_credits_is_kept_recorded_and_reported() {
    let place = Place::new();
    let mut args = vec!["run", "--clients=1", "--outstanding=8", "--credits=1"];
    args.extend(SHORT);
    let said = place.smbench(&args);
    said.succeeded();
    assert!(
        said.stdout.contains("starved of credits"),
        "{}",
        said.stdout
    );
    let doc = place.document();
    assert_eq!(doc["plan"]["credits"], 1);
    assert!(doc["load_points"][0]["credit_starved_s"].as_f64().unwrap() > 0.0);
}

#[test]
fn sessions_on_a_connection_are_recorded_and_reported() {
    let server = embedded();
    let place = Place::new();
    let more = ["--clients=1,6", "--sessions-per-connection=4", "--verify"];
    let said = place.run(&server.url(), server.password(), &more);
    said.succeeded();
    let text = "1 outstanding per client, 4 sessions per connection,";
    assert!(said.stdout.contains(text), "{}", said.stdout);
    let doc = place.document();
    assert_eq!(doc["plan"]["sessions_per_connection"], 4);
    assert_eq!(doc["plan"]["connections_per_session"], 1);
    for (at, sessions, connections) in [(0, 1, 1), (1, 6, 2)] {
        let setup = &doc["load_points"][at]["setup"];
        assert_eq!(setup["sessions"], sessions);
        assert_eq!(setup["connections"], connections);
    }
}

#[test]
fn several_connections_are_refused_where_a_session_cannot_have_them() {
    let server = embedded();
    let place = Place::new();
    let several = "--connections-per-session=2";
    let refused = place.run(&server.url(), server.password(), &[several]);
    let parts = [
        "offers no session on several connections",
        several.split_once('=').unwrap().0,
    ];
    refused.failed_with(3, &parts);
    for (args, part) in [
        (
            [several, "--dialect=2.0.2..2.1"],
            "--connections-per-session: connections_per_session is 2, but dialect is 2.1: several \
             connections need 3.0 or newer",
        ),
        (
            ["--connections-per-session=33", "--quiet"],
            "connections_per_session is 33: give 1 to 32",
        ),
        (
            ["--sessions-per-connection=0", "--quiet"],
            "sessions_per_connection is 0: give 1 to 256",
        ),
    ] {
        let refused = place.run(&server.url(), server.password(), &args);
        refused.failed_with(2, &[part]);
    }
    assert!(place.results().is_empty());
}

#[test]
fn a_plan_tells_of_connections_that_are_shared() {
    let place = Place::new();
    let said = place.smbench(&[
        "plan",
        "--clients=1,10",
        "--sessions-per-connection=4",
        "--connections-per-session=2",
        "--credits=16",
        "--source-ip=127.0.0.2",
    ]);
    said.succeeded();
    for text in [
        ", 4 sessions per connection, 2 connections per session, at most 16 credits, from 127.0.0.2, ",
        "sessions     11 in all, up to 10 at a time on 6 connections\n",
    ] {
        assert!(said.stdout.contains(text), "{text}: {}", said.stdout);
    }
}
