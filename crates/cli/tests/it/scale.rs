//! Some hundred sessions, as the command sets them up, and what they cost.

use crate::support::{Place, embedded};

/// What a run of its own with so many sessions had resident at most, in bytes;
/// the server has a process of its own, and results of earlier load points have
/// no part in it.
fn resident(clients: u64) -> u64 {
    let place = Place::new();
    let said = place.smbench(&[
        "run",
        "--profile=read-4k",
        &format!("--clients={clients}"),
        "--duration=2s",
        "--ramp-up=200ms",
        "--ramp-down=20ms",
        "--threads=2",
        "--setup-rate=100000",
        "--out=results",
    ]);
    said.succeeded();
    let doc = place.document();
    assert_eq!(doc["plan"]["setup_rate"], 100_000);
    let point = &doc["load_points"][0];
    assert_eq!(point["clients_served"], clients);
    assert_eq!(point["setup"]["sessions"], clients);
    assert!(point["setup"]["sessions_per_s"].as_f64().unwrap() > 0.0);
    assert_eq!(point["errors"], 0);
    point["client"]["max_rss_bytes"].as_u64().unwrap()
}

#[test]
fn a_session_costs_a_few_kilobytes() {
    let each = resident(700).saturating_sub(resident(100)) / 600;
    assert!(each <= 8192, "{each} bytes per session");
}

#[test]
fn a_strict_run_ends_with_4_where_the_generator_was_the_limit() {
    let (place, server) = (Place::new(), embedded());
    // One thread that compares every byte of what keeps waiting for it.
    place.write(
        "verified.toml",
        "read_percent = 100\n[files]\nsize = \"1MiB\"\n[[sizes]]\nsize = \"1MiB\"\nweight = 100\n",
    );
    let options = [
        "--profile=verified.toml",
        "--clients=4",
        "--outstanding=16",
        "--threads=1",
        "--duration=1s",
        "--verify",
    ];
    let relaxed = place.run(&server.url(), server.password(), &options);
    relaxed.succeeded();
    let table = &relaxed.stdout;
    assert!(table.contains("~ 4"), "{table}");
    assert!(
        table.contains("\nclient-limited at 4 clients: throughput may be too low, because "),
        "{table}"
    );
    let mut strict = options.to_vec();
    strict.push("--strict");
    let said = place.run(&server.url(), server.password(), &strict);
    assert_eq!(said.code(), Some(4), "{said:?}");
    let expected = "client-limited at 1 of 1 load point, first at the one of 4 clients: worker thread \
                    0 ran";
    assert!(said.stderr.contains(expected), "{said:?}");
}
