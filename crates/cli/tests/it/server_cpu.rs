//! CPU time of the server: from its processes, from a real exporter, and from peers
//! that are not exporters.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpListener;
use std::process::{Child, ChildStderr, Command, Stdio};
use std::thread;

use serde_json::Value;
use smbench_lab::{MemoryCounts, SambaOptions, ScratchSamba, Tool, require};

use crate::support::{Place, embedded};

const NODE_EXPORTER: Tool = Tool::new("prometheus-node-exporter", "prometheus-node-exporter");

/// Debian's node_exporter on its own port; dropping it ends it.
struct Exporter {
    process: Child,
    url: String,
    /// Kept open, because the exporter ends when it cannot write its log.
    _log: BufReader<ChildStderr>,
}

impl Exporter {
    fn start() -> Self {
        let mut process = Command::new(NODE_EXPORTER.find().unwrap())
            .args([
                "--web.listen-address=127.0.0.1:0",
                "--collector.disable-defaults",
            ])
            .arg("--collector.cpu")
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut log = BufReader::new(process.stderr.take().unwrap());
        let mut line = String::new();
        let address = loop {
            line.clear();
            assert!(
                log.read_line(&mut line).unwrap() > 0,
                "node_exporter has ended"
            );
            if let Some((_, address)) = line.split_once("\"Listening on\" address=") {
                break address.trim().to_owned();
            }
        };
        let url = format!("http://{address}");
        Self {
            process,
            url,
            _log: log,
        }
    }
}

impl Drop for Exporter {
    fn drop(&mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }
}

/// Runs for a second. Returns the server CPU of the single load point, and the
/// text.
fn measured(place: &Place, url: &str, password: &str, more: &[&str]) -> (Value, String) {
    let mut args = vec!["--profile=read-4k", "--clients=2", "--details"];
    args.extend(more);
    if !more.iter().any(|option| option.starts_with("--duration")) {
        args.push("--duration=1s");
    }
    let said = place.run(url, password, &args);
    said.succeeded();
    let doc = place.document();
    let point = &doc["load_points"][0];
    assert_eq!(point["valid"], true);
    (point["server_cpu"].clone(), said.stdout)
}

fn number(cpu: &Value, key: &str) -> f64 {
    let number = cpu[key].as_f64();
    number.unwrap_or_else(|| panic!("no {key} in {cpu}"))
}

#[test]
fn a_server_on_this_machine_is_found_by_its_port() {
    let Some(samba) = ScratchSamba::or_skip(SambaOptions::default()) else {
        return;
    };
    let (cpu, text) = measured(&Place::new(), &samba.url(), samba.password(), &[]);
    let source = cpu["source"].as_str().unwrap();
    assert!(source.starts_with("smbd (process "), "{source}");
    assert_eq!(cpu["scope"], "processes");
    // The server read data, so it used CPU time, but not more than possible.
    assert!(number(&cpu, "busy_s") > 0.0);
    assert!(number(&cpu, "percent") < 101.0, "{cpu}");
    assert!(number(&cpu, "us_per_op") > 0.0);
    assert!(text.contains("CPU of the server: smbd (process "), "{text}");
}

#[test]
fn an_exporter_tells_what_the_whole_machine_did() {
    if let Err(skip) = require(&[NODE_EXPORTER]) {
        return eprintln!("{skip}");
    }
    let (server, exporter) = (embedded(), Exporter::start());
    let metrics = format!("--server-metrics={}", exporter.url);
    let place = Place::new();
    let (cpu, text) = measured(&place, &server.url(), server.password(), &[&metrics]);
    assert_eq!(cpu["scope"], "machine");
    assert_eq!(cpu["source"], format!("{}/metrics", exporter.url));
    let cores = number(&cpu, "cores");
    assert!(cores >= 1.0 && number(&cpu, "busy_s") > 0.0, "{cpu}");
    assert!(number(&cpu, "percent") <= 100.0, "{cpu}");
    let share = number(&cpu, "busy_s")
        / cores
        / place.document()["load_points"][0]["window_s"]
            .as_f64()
            .unwrap();
    assert!(
        (share * 100.0 - number(&cpu, "percent")).abs() < 1e-6,
        "{cpu}"
    );
    assert!(
        text.contains("all that its machine did, as reported by http://"),
        "{text}"
    );
}

/// Returns the option for a peer whose URL has a secret.
fn metrics_of(peer: &TcpListener) -> String {
    let address = peer.local_addr().unwrap();
    format!("--server-metrics=http://{address}/m?token=hunter2")
}

#[test]
fn a_peer_that_does_not_answer_is_found_before_anything_is_written() {
    let (place, server) = (Place::new(), embedded());
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let said = place.run(&server.url(), server.password(), &[&metrics_of(&silent)]);
    said.failed_with(
        3,
        &[
            "failed to read CPU counters from http://127.0.0.1:",
            "no answer",
            "check --server-metrics",
        ],
    );
    assert!(!said.stderr.contains("hunter2"), "{}", said.stderr);
    assert_eq!(server.memory().counts(), MemoryCounts::default());
}

/// A peer that gives wrong answers under load affects only the CPU columns of a
/// run. The query in its URL may be a secret: only the peer receives it.
#[test]
fn a_peer_that_lies_under_load_costs_the_cpu_column_alone() {
    let server = embedded();
    let liar = TcpListener::bind("127.0.0.1:0").unwrap();
    // Its answers before the load and when the window opens, and its answer when
    // the window closes.
    let counters: [([&str; 2], &str); 5] = [
        (["100", "50"], "went back"),
        (["100", "-100"], "makes no sense"),
        (["100", "1e308"], "faster than time"),
        (["100", "100"], "stood still"),
        (["100", "many"], "makes no sense"),
    ];
    let cases = counters.map(|(_, reason)| (metrics_of(&liar), reason));
    let lies = thread::spawn(move || {
        let answers = counters.iter().flat_map(|([one, two], _)| [one, one, two]);
        for seconds in answers {
            let (mut socket, _) = liar.accept().unwrap();
            let line = |mode: &str| {
                format!("node_cpu_seconds_total{{cpu=\"0\",mode=\"{mode}\"}} {seconds}\n")
            };
            let body = line("idle") + &line("user");
            let mut request = [0; 4096];
            let length = socket.read(&mut request).unwrap();
            assert!(request[..length].starts_with(b"GET /m?token=hunter2 "));
            let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n", body.len());
            socket.write_all((head + &body).as_bytes()).unwrap();
        }
    });
    for (url, reason) in &cases {
        let place = Place::new();
        let (cpu, text) = measured(
            &place,
            &server.url(),
            server.password(),
            &[url, "--duration=200ms"],
        );
        let kept = fs::read_to_string(&place.results()[0]).unwrap();
        assert!(
            kept.contains("--server-metrics=http://127.0.0.1:"),
            "{kept}"
        );
        assert!(!kept.contains("hunter2"), "{kept}");
        assert!(cpu["source"].as_str().unwrap().ends_with("/m?..."), "{cpu}");
        let not_measured = cpu["not_measured"].as_str().unwrap();
        assert!(not_measured.contains(reason), "{not_measured}");
        assert_eq!(
            (&cpu["percent"], &cpu["mbps_per_percent"]),
            (&Value::Null, &Value::Null)
        );
        assert!(text.contains("CPU of the server: not measured: "), "{text}");
    }
    lies.join().unwrap();
    let off = measured(
        &Place::new(),
        &server.url(),
        server.password(),
        &["--server-metrics=off"],
    );
    assert_eq!(off.0["busy_s"], Value::Null);
}

#[test]
fn a_url_that_is_none_is_refused_before_anything_happens() {
    let place = Place::new();
    for (url, says) in [
        ("files:9100", "http://"),
        ("http://u:hunter2@a", "would be shown"),
    ] {
        let said = place.smbench(&["run", &format!("--server-metrics={url}")]);
        said.failed_with(2, &["--server-metrics", says]);
        assert!(!said.stderr.contains("hunter2"), "{}", said.stderr);
    }
    assert!(!place.path("results").exists());
}
