//! Searches: for the highest rate, for the most clients, and for the most sessions.

mod ends;

use std::fs;
use std::num::NonZeroU64;
use std::time::Duration;

use serde_json::Value;
use smbench_lab::{
    EmbeddedOptions, EmbeddedServer, Fault, SambaOptions, ScratchSamba, ServicePace, ShareAccess,
};

use crate::support::{Place, Said, is_machine_busy, json, wait_until};

/// Short probes.
const SHORT: [&str; 6] = [
    "--duration=300ms",
    "--ramp-up=50ms",
    "--ramp-down=20ms",
    "--threads=2",
    "--out=results",
    "--json=-",
];

fn server(options: EmbeddedOptions) -> EmbeddedServer {
    EmbeddedServer::start(options).unwrap()
}

/// A server that serves a known number of operations per second.
fn limited(service_time: Duration) -> EmbeddedServer {
    server(EmbeddedOptions {
        pace: ServicePace::OneByOne(service_time),
        ..EmbeddedOptions::default()
    })
}

/// Most searches for one that a busy machine did not disturb.
const SEARCHES_MAX: u32 = 8;

/// Runs a search and returns its part of the document, which agrees with the load points.
fn find(kind: &str, server: &EmbeddedServer, more: &[&str]) -> (Said, Value) {
    let (said, doc) = search(kind, server, more);
    (said, doc["find"].clone())
}

/// Runs a search and returns its document. On a busy machine a short probe may have no
/// operation, or lack the CPU. It then says nothing about the server, and the search is
/// repeated. On a machine with CPUs to spare the first search counts.
fn search(kind: &str, server: &EmbeddedServer, more: &[&str]) -> (Said, Value) {
    let url = server.url();
    let args = [&["find", kind, &url][..], more].concat();
    let mut searches = (0..SEARCHES_MAX).map(|_| {
        let place = Place::new();
        let said = place.smbench_as(server.password(), &args);
        assert_eq!(server.memory().counts().open_handles, 0);
        let doc = json(&said.stdout);
        assert_eq!(place.document(), doc);
        let points = doc["load_points"].as_array().unwrap();
        let probes = doc["find"]["probes"].as_array().unwrap();
        assert_eq!(probes.len(), points.len());
        (said, doc)
    });
    let found = searches.find(|(_, doc)| !is_disturbed(&doc["find"]) || !is_machine_busy());
    found.expect("a search that the machine does not disturb")
}

/// Returns whether a probe lacked an operation or the CPU.
fn is_disturbed(found: &Value) -> bool {
    let mut probes = found["probes"].as_array().unwrap().iter();
    probes.any(|probe| {
        let reason = probe["reason"].as_str().unwrap();
        probe["verdict"] == "client_limited" || reason.starts_with("no operation completed")
    })
}

fn verdicts(found: &Value) -> Vec<&str> {
    let probes = found["probes"].as_array().unwrap().iter();
    probes
        .map(|probe| probe["verdict"].as_str().unwrap())
        .collect()
}

/// The server takes 500 operations per second: no answer may be above it.
#[test]
fn the_rate_of_a_server_is_found() {
    let server = limited(Duration::from_millis(2));
    let args = [&["-p=read-4k", "-c=16", "--start=100"][..], &SHORT].concat();
    let (said, found) = find("rate", &server, &args);
    assert_eq!(said.code(), Some(0), "{said:?}");
    assert_eq!(found["end"], "found", "{found:#}");
    let (result, broke) = (
        found["result"].as_f64().unwrap(),
        found["broke_at"].as_f64().unwrap(),
    );
    assert!(result < 520.0 && broke <= result * 1.0201, "{found:#}");
    assert!(verdicts(&found).contains(&"broke"));
    // A busy machine may break the first probe, and never all that are below the limit.
    assert!(said.stderr.contains("probe 1: 100 ops/s "), "{said:?}");
    assert!(
        said.stderr.contains(" ops/s held: rate reached"),
        "{said:?}"
    );
}

/// With one request in service at a time, and 10 ms for each, N clients wait N x 10 ms.
#[test]
fn the_clients_of_a_server_are_found() {
    let server = limited(Duration::from_millis(10));
    let limits = ["-p=read-4k", "--slo=mean < 45ms", "--precision=1"];
    let (said, found) = find("clients", &server, &[&limits[..], &SHORT].concat());
    assert_eq!(said.code(), Some(0), "{said:?}");
    // A busy machine adds to the wait, and never takes from it.
    let result = found["result"].as_f64().unwrap();
    assert!((1.0..=4.0).contains(&result), "{found:#}");
    assert_eq!(found["limit"], serde_json::json!(["mean < 45ms"]));
}

/// A condition can be on one operation of a mix: here on whole listings of 2000 files. Clients
/// pause, so that a busy machine has time for them.
#[test]
fn the_clients_that_may_browse_a_folder_are_found() {
    let server = server(EmbeddedOptions::default());
    let args = [
        "-p=browse",
        "--slo=list p95 < 200ms",
        "--start=1",
        "--max=2",
        "--confirm=1/1",
        "--think-time=20ms",
        "--duration=3s",
        "--ramp-up=50ms",
        "--ramp-down=20ms",
        "--threads=1",
        "--out=results",
        "--json=-",
    ];
    let (said, doc) = search("clients", &server, &args);
    assert_eq!(said.code(), Some(0), "{said:?}");
    let found = &doc["find"];
    assert_eq!(found["limit"], serde_json::json!(["list p95 < 200ms"]));
    let end = found["end"].as_str().unwrap();
    assert!(["found", "never_broke"].contains(&end), "{found:#}");
    let result = found["result"].as_f64().unwrap();
    assert!((1.0..=2.0).contains(&result), "{found:#}");
    let points = doc["load_points"].as_array().unwrap();
    for (verdict, point) in verdicts(found).into_iter().zip(points) {
        let of_lists = &point["ops"]["list"];
        let p95 = of_lists["response_ns"]["p95"].as_u64().unwrap();
        // A probe that smbench limited may be either.
        let wrong = if p95 < 200_000_000 { "broke" } else { "held" };
        assert_ne!(verdict, wrong, "{found:#}");
        let number = |key: &str| of_lists[key].as_u64().unwrap();
        let with_marker = 2001;
        assert_eq!(number("entries"), number("count") * with_marker);
    }
}

#[test]
fn a_limit_that_is_never_broken_or_never_held_is_said() {
    let server = limited(Duration::from_millis(10));
    let never_broken = ["-p=read-4k", "--slo=p99 < 60s", "--max=2"];
    let (said, found) = find("clients", &server, &[&never_broken[..], &SHORT].concat());
    assert_eq!(said.code(), Some(0), "{said:?}");
    assert_eq!(
        (&found["end"], &found["result"]),
        (&"never_broke".into(), &2.0.into())
    );
    let never_held = ["-p=read-4k", "--slo=p99 < 1us", "--start=4"];
    let (said, found) = find("clients", &server, &[&never_held[..], &SHORT].concat());
    assert_eq!(said.code(), Some(4));
    let text = "the limit was not found: nothing held";
    assert!(said.stderr.contains(text), "{said:?}");
    assert_eq!(
        (&found["end"], &found["result"]),
        (&"never_held".into(), &Value::Null)
    );
}

/// A share of failed operations is allowed where a condition says so.
#[test]
fn failed_operations_break_a_limit_unless_it_allows_them() {
    // A busy machine may not read much more often in a window.
    let every = NonZeroU64::new(10).unwrap();
    let server = server(EmbeddedOptions {
        fault: Fault::FailReadEvery(every),
        access: ShareAccess::ReadWrite,
        ..EmbeddedOptions::default()
    });
    let at_most = ["-p=read-4k", "--max=2", "--start=2", "--confirm=1/1"];
    let strict = [&at_most[..], &["--slo=p99 < 60s"], &SHORT].concat();
    let (_, found) = find("clients", &server, &strict);
    assert_eq!(found["end"], "never_held");
    let lenient = [
        &at_most[..],
        &["--slo=p99 < 60s", "--slo=errors < 30%"],
        &SHORT,
    ]
    .concat();
    let (said, found) = find("clients", &server, &lenient);
    assert_eq!(said.code(), Some(0), "{said:?}");
    assert_eq!(found["end"], "never_broke", "{found:#}");
}

#[test]
fn options_that_contradict_a_search_are_refused() {
    for (args, said) in [
        (&["rate", "--rate=5"][..], "--rate: the search chooses it"),
        (
            &["rate", "-c=1,2"],
            "--clients: a search for a rate has one number of clients",
        ),
        (
            &["clients", "-c=1", "--slo=p99 < 1s"],
            "--clients: the search chooses them",
        ),
        (
            &["clients"],
            "--slo: give a condition, such as --slo 'p99 < 10ms'",
        ),
        (
            &["clients", "--slo=p99 < 1s", "--repeat=2"],
            "--repeat: the search repeats probes",
        ),
        (
            &["clients", "--slo=flush p99 < 1s", "-p=read-4k"],
            "profile read-4k has no flush",
        ),
        (
            &["rate", "--start=2000", "--max=1000"],
            "--start 2000 is more than --max 1000",
        ),
        (&["rate", "--confirm=3/2"], "write it as 2/3"),
        (&["rate", "--precision=0"], "the precision is more than 0 %"),
        (&["sessions", "--until=failed > 5%"], "write 'failed >= N%'"),
        (&["sessions", "--max=1"], "1 is not from 2 to 100000"),
        (
            &["rate", "--strict"],
            "--strict: a search ends where smbench is the limit",
        ),
        (
            &["logons", "--slo=flush p99 < 1s"],
            "profile logons has no flush",
        ),
    ] {
        let args = [&["find"], args].concat();
        Place::new().smbench(&args).failed_with(2, &[said]);
    }
}

/// The limit counts connections, one of which is smbench's own.
#[test]
fn the_sessions_of_the_embedded_server_are_found_exactly() {
    let server = server(EmbeddedOptions {
        max_connections: Some(60),
        ..EmbeddedOptions::default()
    });
    let held = [
        "--hold=200ms",
        "--keep-alive=100ms",
        "--out=results",
        "--json=-",
    ];
    let (said, found) = find("sessions", &server, &[&held[..], &["--max=500"]].concat());
    assert_eq!(said.code(), Some(0), "{said:?}");
    assert_eq!(
        (&found["end"], &found["result"]),
        (&"found".into(), &60.0.into())
    );
    assert!(
        found["broke_reason"]
            .as_str()
            .unwrap()
            .contains(" at negotiate (")
    );
    let (said, found) = find("sessions", &server, &[&held[..], &["--max=40"]].concat());
    assert_eq!(said.code(), Some(0), "{said:?}");
    assert_eq!(
        (&found["end"], &found["result"]),
        (&"never_broke".into(), &40.0.into())
    );
    wait_until(|| server.memory().counts().open_handles == 0);
}

/// smbd counts two more processes than connections.
#[test]
fn the_sessions_of_samba_are_found() {
    let Some(samba) = ScratchSamba::or_skip(SambaOptions {
        extra_global: vec!["max smbd processes = 50".to_owned()],
        ..SambaOptions::default()
    }) else {
        return;
    };
    let (place, url) = (Place::new(), samba.url());
    let args = ["find", "sessions", &url, "--max=500", "--json=-"];
    let held = ["--hold=1s", "--keep-alive=500ms", "--out=results"];
    let said = place.smbench_as(samba.password(), &[&args[..], &held].concat());
    assert_eq!(said.code(), Some(0), "{said:?}");
    let found = &json(&said.stdout)["find"];
    assert_eq!(found["end"], "found", "{found:#}");
    let result = found["result"].as_f64().unwrap();
    assert!((45.0..=50.0).contains(&result), "{found:#}");
}

/// Each log-on is a session of its own, with a time for each of its phases.
#[test]
fn the_log_ons_of_a_server_are_found() {
    let server = server(EmbeddedOptions::default());
    let args = [
        "--start=5",
        "--max=10",
        "--hold=500ms",
        "--out=results",
        "--json=-",
    ];
    let (said, doc) = search("logons", &server, &args);
    assert_eq!(said.code(), Some(0), "{said:?}");
    let found = &doc["find"];
    assert_eq!(
        (&found["end"], &found["result"]),
        (&"never_broke".into(), &10.0.into())
    );
    assert_eq!(found["limit"], serde_json::json!(["errors < 1%"]));
    for point in doc["load_points"].as_array().unwrap() {
        let count = |kind: &str| point["whole"][kind]["count"].as_u64().unwrap();
        assert!(count("session") > 0, "{point:#}");
        let parts = ["connect", "negotiate", "log_on", "tree_connect"];
        for part in parts.map(|part| format!("session_{part}")) {
            assert_eq!(count(&part), count("session"), "{part}");
        }
        assert_eq!(count("session_end"), count("session"));
    }
}

/// A server that takes fewer connections than there are log-ons at the same time.
#[test]
fn log_ons_that_a_server_refuses_are_counted_with_their_status() {
    let server = server(EmbeddedOptions {
        max_connections: Some(2),
        ..EmbeddedOptions::default()
    });
    let place = Place::new();
    let url = server.url();
    let run = ["run", &url, "-p=logons", "-c=8", "--ramp-up=0s"];
    // With a window that any machine has log-ons in.
    let more = ["--duration=5s", "--out=results", "--json=-"];
    let said = place.smbench_as(server.password(), &[&run[..], &more].concat());
    assert_eq!(said.code(), Some(4), "{said:?}");
    let point = &json(&said.stdout)["load_points"][0];
    assert!(point["errors"].as_u64().unwrap() > 0, "{point:#}");
    let failure = &point["failures"][0];
    assert_eq!(failure["op"], "session", "{failure:#}");
    assert_eq!(
        failure["status"], "STATUS_CONNECTION_DISCONNECTED",
        "{failure:#}"
    );
}

#[test]
fn a_session_of_its_own_is_the_only_operation_of_its_mix() {
    let mix = "operations = [{ op = \"session\", weight = 50 }, { op = \"echo\", weight = 50 }]";
    let place = Place::new();
    place.write("mixed.toml", mix);
    let said = place.smbench(&["plan", "-p", "mixed.toml"]);
    said.failed_with(2, &["operation session is one of several"]);
}

/// Several searches with one label are passes of one.
#[test]
fn searches_with_one_label_are_joined() {
    let server = server(EmbeddedOptions {
        max_connections: Some(25),
        ..EmbeddedOptions::default()
    });
    let (place, url) = (Place::new(), server.url());
    let args = ["find", "sessions", &url, "--max=100", "--label=nas"];
    let held = ["--hold=100ms", "--keep-alive=50ms", "--out=results"];
    for _ in 0..5 {
        let said = place.smbench_as(server.password(), &[&args[..], &held].concat());
        assert_eq!(said.code(), Some(0), "{said:?}");
    }
    let said = place.smbench(&["report", "results", "--out=report"]);
    assert_eq!(said.code(), Some(0), "{said:?}");
    let page = fs::read_to_string(place.path("report/index.html")).unwrap();
    let text = "25 sessions until failed &gt;= 1%: mean of 5 searches (25, 25, 25, 25, 25), \
                95 % interval 25 to 25";
    assert!(page.contains(text), "{page}");
}
