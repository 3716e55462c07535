//! The cost of some hundred sessions, set up by the command.

use crate::support::Place;

/// Returns the largest resident set of a run with this number of sessions, in
/// bytes. Each number has its own run, so results of other load points do not
/// count. The server has its own process.
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
