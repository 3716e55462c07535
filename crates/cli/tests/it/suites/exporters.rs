//! Suites whose exporter of CPU counters does not answer.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::thread;

use super::{pass, suite, with};
use crate::support::{Place, embedded, text};

/// Returns a suite of two passes on a server with an exporter.
fn metered(server: &str, exporter: &str) -> String {
    format!(
        "clients = \"1\"\npasses = 2\n[[servers]]\nname = \"memory\"\nurl = \"{server}\"\n\
         server_metrics = \"{exporter}\"\n"
    )
}

/// Answers as an exporter does, `requests` times, and is gone then.
fn exporter(requests: usize) -> (String, thread::JoinHandle<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/metrics", listener.local_addr().unwrap());
    let answering = thread::spawn(move || {
        for _ in 0..requests {
            let (mut socket, _) = listener.accept().unwrap();
            let _ = socket.read(&mut [0; 4096]).unwrap();
            let line =
                |mode: &str| format!("node_cpu_seconds_total{{cpu=\"0\",mode=\"{mode}\"}} 1\n");
            let body = line("idle") + &line("user");
            let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n", body.len());
            socket.write_all((head + &body).as_bytes()).unwrap();
        }
    });
    (url, answering)
}

#[test]
fn an_exporter_that_ends_during_a_suite_costs_the_cpu_columns_alone() {
    let server = embedded();
    let place = Place::new();
    // Before the suite, before the first pass, and at both ends of its window.
    let (url, answering) = exporter(4);
    let file = place.write("suite.toml", &metered(&server.url(), &url));
    let said = suite(&place, server.password(), &with(&[text(&file), "--quiet"]));
    answering.join().unwrap();
    assert_eq!(said.status.code(), Some(0), "{}", said.stderr);
    assert!(
        said.stderr.contains("may lack the server's CPU time"),
        "{}",
        said.stderr
    );
    let second = pass(&place, "01-memory", "file-server", 2).unwrap();
    assert_eq!(second["load_points"][0]["valid"], true);
    let reason = &second["load_points"][0]["server_cpu"]["not_measured"];
    assert!(reason.is_string(), "{reason}");
}

#[test]
fn an_exporter_that_is_missing_is_found_before_the_first_pass() {
    let server = embedded();
    let place = Place::new();
    let (url, answering) = exporter(0);
    answering.join().unwrap();
    let file = place.write("suite.toml", &metered(&server.url(), &url));
    let said = suite(&place, server.password(), &with(&[text(&file), "--quiet"]));
    assert_eq!(said.status.code(), Some(3));
    let reason = "memory: failed to read CPU counters from http://127.0.0.1:";
    assert!(said.stderr.contains(reason), "{}", said.stderr);
    assert!(pass(&place, "01-memory", "file-server", 1).is_none());
}
