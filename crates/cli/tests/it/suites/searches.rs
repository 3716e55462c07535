//! Searches for limits in suites.

use std::num::NonZeroU32;

use nix::sys::signal::Signal;
use serde_json::Value;
use smbench_lab::{EmbeddedOptions, EmbeddedServer, ServicePace};

use super::{named, read, start, suite};
use crate::support::{Place, text, wait_until};

const SEARCHES: &str = r#"
passes = 2
[[find]]
name = "sessions"
kind = "sessions"
until = "failed >= 5%"
hold = "200ms"
keep_alive = "100ms"
max = 100
[[find]]
name = "rate"
kind = "rate"
profile = "read-4k"
start = 100
max = 400
confirm = "1/1"
[find.run]
clients = "8"
duration = "300ms"
ramp_up = "50ms"
ramp_down = "20ms"
"#;

/// Starts a server with limits on connections and on operations per second.
fn limited(connections: usize) -> EmbeddedServer {
    EmbeddedServer::start(EmbeddedOptions {
        max_connections: Some(connections),
        pace: ServicePace::Rate(NonZeroU32::new(5000).unwrap()),
        ..EmbeddedOptions::default()
    })
    .unwrap()
}

fn pass(place: &Place, search: &str, number: u32) -> Value {
    read(&place.path(&format!("study/runs/01-nas/{search}/pass-{number}.json")))
}

/// Asserts that a search for the rate has an answer, and returns it. The server keeps up with
/// the highest rate, a busy machine with less.
fn rate_found(rate: &Value) -> f64 {
    let found = &rate["find"];
    let result = found["result"].as_f64().unwrap();
    match found["end"].as_str() {
        Some("never_broke") => assert_eq!(result, 400.0, "{found:#}"),
        Some("found") => assert!(0.0 < result && result < 400.0, "{found:#}"),
        _ => panic!("{found:#}"),
    }
    result
}

/// A search has an answer for each pass, and a suite that is given again searches no more.
#[test]
fn the_limits_of_a_server_are_found_in_each_pass() {
    let server = limited(30);
    let place = Place::new();
    let file = place.write("limits.toml", SEARCHES);
    let nas = named("nas", &server);
    let args = [text(&file), &nas, "--calibration=off", "--out=study"];
    let said = suite(&place, server.password(), &args);
    assert_eq!(said.code(), Some(0), "{said:?}");
    let mut answers = Vec::new();
    let mut rates = Vec::new();
    for number in [1, 2] {
        let [sessions, rate] = ["01-sessions", "02-rate"].map(|name| pass(&place, name, number));
        assert_eq!(sessions["find"]["end"], "found", "{sessions:#}");
        assert_eq!(sessions["find"]["result"], 30.0);
        assert_eq!(sessions["plan"]["profile"], "sessions");
        rates.push(rate_found(&rate));
        let probes = rate["find"]["probes"].as_array().unwrap().len();
        assert_eq!(rate["load_points"].as_array().unwrap().len(), probes);
        answers.push((sessions["started"].clone(), rate["started"].clone()));
    }
    assert!(said.stdout.contains("\nlimits\n"), "{said:?}");
    assert!(said.stdout.contains("30 ± 0"), "{said:?}");
    if rates == [400.0, 400.0] {
        assert!(said.stdout.contains("at least 400"), "{said:?}");
    }
    let again = suite(&place, server.password(), &args);
    assert_eq!(again.code(), Some(0), "{again:?}");
    assert_eq!(again.stdout, said.stdout);
    for (number, (sessions, rate)) in (1..).zip(answers) {
        assert_eq!(pass(&place, "01-sessions", number)["started"], sessions);
        assert_eq!(pass(&place, "02-rate", number)["started"], rate);
    }
    // Another limit is another study.
    let other = SEARCHES.replace("failed >= 5%", "failed >= 2%");
    place.write("limits.toml", &other);
    let refused = suite(&place, server.password(), &args);
    refused.failed_with(2, &["use another --out"]);
}

/// The next invocation begins the search anew.
#[test]
fn a_search_of_a_suite_that_is_interrupted_begins_anew() {
    let server = limited(30);
    let place = Place::new();
    let one = SEARCHES.replace("passes = 2", "passes = 1");
    let (_, rate) = one.rsplit_once("[[find]]").unwrap();
    let file = place.write("limits.toml", &format!("[[find]]{rate}"));
    let nas = named("nas", &server);
    let args = [text(&file), &nas, "--calibration=off", "--out=study"];
    let running = start(&place, server.password(), &args);
    let document = place.path("study/runs/01-nas/01-rate/pass-1.json");
    wait_until(|| document.exists());
    running.signal(Signal::SIGINT);
    let said = running.wait();
    assert_eq!(said.code(), Some(130), "{said:?}");
    let found = read(&document)["find"].clone();
    assert_eq!(found["end"], "unfinished", "{found:#}");
    assert!(!found["probes"].as_array().unwrap().is_empty());
    wait_until(|| server.memory().counts().open_handles == 0);
    assert_eq!(server.memory().paths(), Vec::<String>::new());
    let said = suite(&place, server.password(), &args);
    assert_eq!(said.code(), Some(0), "{said:?}");
    let doc = read(&document);
    rate_found(&doc);
    assert_eq!(doc["load_points"][0]["rate"], 100.0);
}

#[test]
fn searches_that_make_no_sense_are_refused() {
    let place = Place::new();
    for (lines, said) in [
        (
            "kind = \"rate\"\nuntil = \"failed >= 1%\"",
            "kind = \"rate\" has no until",
        ),
        ("kind = \"clients\"", "give a condition"),
        (
            "kind = \"sessions\"\nmax = 1",
            "max is 1: give 2 to 100000 sessions",
        ),
        (
            "kind = \"sessions\"\nslo = [\"p99 < 1s\"]",
            "kind = \"sessions\" has no slo",
        ),
        ("kind = \"rate\"\nslo = [\"p98 < 1s\"]", "p98"),
        ("kind = \"speed\"", "unknown variant `speed`"),
        (
            "kind = \"logons\"\n[find.run]\nrate = 5",
            "has no rate in its run",
        ),
    ] {
        place.write("limits.toml", &format!("[[find]]\nname = \"x\"\n{lines}\n"));
        let args = [
            "suite",
            "./limits.toml",
            "--server=a=smb://u@127.0.0.1/x",
            "--out=study",
        ];
        place.smbench(&args).failed_with(2, &[said]);
    }
}

/// Without the other search, and with as little time for each as `--quick` leaves.
#[test]
fn the_limits_of_two_servers_are_compared() {
    let few = limited(20);
    let many = EmbeddedServer::start(EmbeddedOptions {
        max_connections: Some(30),
        password: Some(few.password().into()),
        ..EmbeddedOptions::default()
    })
    .unwrap();
    let place = Place::new();
    let compared = "[[comparisons]]\ntitle = \"from few to many\"\nkind = \"change\"\n";
    let file = place.write("limits.toml", &format!("{SEARCHES}{compared}"));
    let (few_url, many_url) = (named("few", &few), named("many", &many));
    // Only one of the searches.
    let searched = [text(&file), &few_url, &many_url, "-p=sessions", "--quick"];
    let args = [&searched[..], &["--calibration=off", "--out=study"]].concat();
    let said = suite(&place, few.password(), &args);
    assert_eq!(said.code(), Some(0), "{said:?}");
    let searches = std::fs::read_dir(place.path("study/runs/01-few")).unwrap();
    assert_eq!(searches.count(), 1);
    let rows: Vec<Vec<&str>> = said
        .stdout
        .lines()
        .map(|line| line.split_whitespace().collect())
        .collect();
    let begins = |words: &[&str]| rows.iter().any(|row| row.starts_with(words));
    assert!(said.stdout.contains("from few to many: limits"), "{said:?}");
    assert!(
        begins(&["sessions", "few", "sessions", "20", "±", "0"]),
        "{said:?}"
    );
    // 30 is half as much again as 20, in every pass.
    assert!(
        begins(&["sessions", "many", "sessions", "30", "±", "0", "+50", "%"]),
        "{said:?}"
    );
}

/// Load points that differ in their rate are measured once each, also after an interruption.
#[test]
fn a_suite_with_a_list_of_rates_continues_where_it_was_interrupted() {
    let server = limited(100);
    let place = Place::new();
    let rates = "clients = \"4\"\n[run]\nduration = \"300ms\"\nramp_up = \"50ms\"\n\
                 [[profiles]]\nprofile = \"read-4k\"\n\
                 [profiles.run]\nrate = \"100..1000:100\"\n";
    let file = place.write("rates.toml", rates);
    let nas = named("nas", &server);
    let args = [text(&file), &nas, "--calibration=off", "--out=study"];
    let running = start(&place, server.password(), &args);
    let document = place.path("study/runs/01-nas/01-read-4k/pass-1.json");
    wait_until(|| document.exists());
    running.signal(Signal::SIGINT);
    let said = running.wait();
    assert_eq!(said.code(), Some(130), "{said:?}");
    let before = read(&document)["load_points"].as_array().unwrap().clone();
    let complete = |point: &&Value| point["valid"] == true;
    let before: Vec<_> = before.iter().take_while(complete).cloned().collect();
    assert!((1..10).contains(&before.len()), "{said:?}");
    suite(&place, server.password(), &args).ended();
    let doc = read(&document);
    let points = doc["load_points"].as_array().unwrap();
    let measured: Vec<_> = points.iter().map(|point| &point["rate"]).collect();
    let asked: Vec<_> = (1..=10).map(|at| f64::from(at * 100)).collect();
    assert_eq!(measured, asked);
    assert_eq!(points[..before.len()], before);
    let report = place.smbench(&["report", "study"]);
    assert_eq!(report.code(), Some(0), "{report:?}");
    let page = std::fs::read_to_string(place.path("study/report/index.html")).unwrap();
    let scope = "1 server, 1 profile, 10 load points, 1 pass";
    assert!(page.contains(scope), "{page}");
}
