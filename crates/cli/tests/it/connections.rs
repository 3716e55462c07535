//! Options that say which connections a run makes.

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
fn a_cap_on_credits_is_kept_recorded_and_told() {
    let place = Place::new();
    let mut args = vec!["run", "--clients=1", "--outstanding=8", "--credits=1"];
    args.extend(SHORT);
    let said = place.smbench(&args);
    said.succeeded();
    let told = "of the clients' time at 1 client, pass 1: no connection used more than 1 credit";
    assert!(said.stdout.contains(told), "{}", said.stdout);
    let doc = place.document();
    assert_eq!(doc["plan"]["credits"], 1);
    assert!(doc["load_points"][0]["credit_starved_s"].as_f64().unwrap() > 0.0);
}
