//! Load points of units on a server, from the profile to the curve.

use serde_json::{Value, json as value};
use smbench_lab::{EmbeddedOptions, EmbeddedServer};

use crate::support::{Place, Said};

const JOBS: &str = r#"
name = "jobs"
unit = "JOB"
[[population]]
name = "build"
profile = "small.toml"
per_unit = 2
rate = "20/client"
[[population]]
name = "check"
profile = "small.toml"
per_unit = 1
rate = "10/client"
"#;

const SMALL: &str = r#"
read_percent = 80
sizes = [{ size = "4KiB", weight = 100 }]
"#;

fn place(jobs: &str) -> Place {
    let place = Place::new();
    place.write("small.toml", SMALL);
    place.write("jobs.toml", jobs);
    place
}

/// Runs one to three units, and returns the result and the document.
fn run(limits: &str) -> (Said, Value) {
    let server = EmbeddedServer::start(EmbeddedOptions::default()).unwrap();
    let place = place(&format!("{JOBS}\n[unit_limits]\n{limits}\n"));
    let args = ["-p", "jobs.toml", "--units", "1..3", "--duration", "1s"];
    let said = place.run(&server.url(), server.password(), &args);
    let doc = place.document();
    (said, doc)
}

#[test]
fn load_points_of_units_have_clients_of_each_population() {
    // A busy machine may reach any share of a rate.
    let (said, doc) = run("slowest_percent = 0\nmean_percent = 0");
    said.ended();
    let text = &said.stdout;
    assert_eq!(doc["plan"]["unit"]["name"], "JOB");
    assert_eq!(doc["plan"]["load_points"], value!([3, 6, 9]));
    for (point, units) in doc["load_points"].as_array().unwrap().iter().zip(1..) {
        assert_eq!(
            (&point["units"], &point["clients"]),
            (&value!(units), &value!(units * 3))
        );
        for (part, rate) in point["populations"]
            .as_array()
            .unwrap()
            .iter()
            .zip([20.0, 10.0])
        {
            let reached = &part["reached"];
            let asked = reached["requested_ops_per_s"].as_f64().unwrap();
            assert!((asked - rate).abs() <= 1.0, "{reached}");
            assert!(
                reached["slowest_percent"].as_f64().unwrap() >= 0.0,
                "{reached}"
            );
        }
    }
    assert!(doc["curve"].is_object(), "{}", doc["curve"]);
    assert!(text.contains("JOB of 3 clients"), "{text}");
    assert!(text.contains("asked/s"), "{text}");
}

#[test]
fn a_load_point_of_units_that_misses_a_limit_is_not_valid() {
    let (said, doc) = run("slowest_percent = 0\nmean_percent = 0\nmean_latency = \"1us\"");
    assert_eq!(said.code(), Some(4), "{said:?}");
    let text = &said.stdout;
    for point in doc["load_points"].as_array().unwrap() {
        assert_eq!(point["valid"], false);
        let reason = point["invalid_reason"].as_str().unwrap();
        assert!(reason.starts_with("the mean response time is "), "{reason}");
    }
    assert!(text.contains("and the limit"), "{text}");
}

#[test]
fn a_search_tries_whole_units_of_any_number_of_populations() {
    let server = EmbeddedServer::start(EmbeddedOptions::default()).unwrap();
    let (alone, _) = JOBS.rsplit_once("[[population]]").unwrap();
    for (jobs, clients) in [(JOBS, 3), (&alone.replace("= 2", "= 5"), 5)] {
        let place = place(jobs);
        let find = |more: &[&str]| {
            let url = server.url();
            let args = ["find", "clients", &url, "-p", "jobs.toml"];
            let slo = ["--slo", "p99 < 60s"];
            place.smbench_as(server.password(), &[&args[..], &slo, more].concat())
        };
        let short = ["--duration=300ms", "--ramp-up=50ms", "--ramp-down=20ms"];
        let said = find(&[&short[..], &["--max=17", "--out=results"]].concat());
        // A busy machine may reach any share of a rate.
        assert!(matches!(said.code(), Some(0 | 4)), "{said:?}");
        let doc = place.document();
        let points = doc["load_points"].as_array().unwrap();
        assert!(!points.is_empty());
        for point in points {
            assert_eq!(point["clients"].as_u64().unwrap() % clients, 0, "{point}");
            assert!(point["units"].is_u64(), "{point}");
        }
        let said = find(&["--max", "2"]);
        assert_eq!(said.code(), Some(2));
        let expected = format!("one unit JOB has {clients} clients: search up to more");
        assert!(said.stderr.contains(&expected), "{said:?}");
    }
}
