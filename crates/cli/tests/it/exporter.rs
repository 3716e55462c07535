//! `run --metrics` as a scraper sees it.

use std::collections::BTreeMap;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::thread;
use std::time::Duration;

use crate::support::{Place, Running, embedded, free_port, json, run_args};

/// Returns the answer to a request; `None` before the exporter starts and after it ends.
fn get(port: u16, path: &str) -> Option<String> {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).ok()?;
    let accept = "Accept: application/openmetrics-text";
    let request = format!("GET {path} HTTP/1.1\r\nHost: smbench\r\n{accept}\r\n\r\n");
    stream.write_all(request.as_bytes()).ok()?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).ok()?;
    Some(answer)
}

/// Returns the values of a metric by operation.
fn by_op(answer: &str, metric: &str) -> BTreeMap<String, u64> {
    let lines = answer.lines().filter_map(|line| line.strip_prefix(metric));
    let values = lines.filter_map(|line| {
        let (op, value) = line.strip_prefix("{op=\"")?.split_once("\"} ")?;
        Some((op.to_owned(), value.parse().ok()?))
    });
    values.collect()
}

#[test]
fn totals_are_those_of_the_document() {
    let (place, server) = (Place::new(), embedded());
    let port = free_port();
    let metrics = format!("--metrics=127.0.0.1:{port}");
    let url = server.url();
    // The last interval is reported within a second; the ramp-down is longer.
    let more = [
        "--clients=1,2",
        "--duration=1s",
        "--ramp-down=3s",
        "--json=-",
        &metrics,
    ];
    let mut command = place.command(&run_args(&url, &more));
    command.env("SMBENCH_PASSWORD", server.password());
    let mut running = Running::spawn(command);
    let mut last = String::new();
    while !running.has_ended() {
        let answer = get(port, "/metrics").filter(|answer| answer.ends_with("# EOF\n"));
        last = answer.unwrap_or(last);
        thread::sleep(Duration::from_millis(50));
    }
    let doc = json(&running.wait().stdout);
    assert!(last.starts_with("HTTP/1.1 200 OK\r\n"), "{last}");
    assert!(last.contains("\nsmbench_clients 2\n"), "{last}");
    let points = doc["load_points"].as_array().unwrap();
    for op in ["read", "write"] {
        let sum = |key: &str| -> u64 {
            let values = points.iter().map(|point| point["ops"][op][key].as_u64());
            values.map(Option::unwrap).sum()
        };
        for (metric, key) in [
            ("smbench_operations_total", "count"),
            ("smbench_payload_bytes_total", "bytes"),
            ("smbench_errors_total", "errors"),
            ("smbench_response_seconds_count", "count"),
        ] {
            let found = by_op(&last, metric);
            assert_eq!(found.get(op), Some(&sum(key)), "{metric} {op}: {last}");
        }
    }
}

#[test]
fn an_address_in_use_is_refused_before_the_load() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let metrics = format!("--metrics={}", taken.local_addr().unwrap());
    let said = Place::new().smbench(&["run", &metrics]);
    said.failed_with(3, &["failed to serve metrics on 127.0.0.1:", "in use"]);
}
