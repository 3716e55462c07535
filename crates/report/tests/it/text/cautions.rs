//! Cautions: what a reader must know before a number is quoted.

use std::collections::BTreeMap;
use std::time::Duration;

use insta::assert_snapshot;
use smbench_model::Nanos;
use smbench_model::record::LatencyNoise;
use smbench_report::doc::{CachingDoc, ListingsDoc, LoadPointDoc};
use smbench_report::{render, text};

use super::body;
use crate::samples::{document, dropped, point, run};

#[test]
fn a_busy_generator_is_named_where_nobody_has_judged_it() {
    let mut idle = point(4, 1, 100);
    idle.client.cpu_user = Duration::from_secs(9);
    idle.client.cpu_system = Duration::from_secs(7);
    let mut busy = point(8, 1, 100);
    busy.client.cpu_user = Duration::from_secs(9);
    busy.client.cpu_system = Duration::from_secs(10);
    let mut doc = document(&run(vec![idle, busy]));
    for point in &mut doc.load_points {
        point.generator = None;
    }
    let text = render(&doc);
    let caution = "client-limited at 8 clients: smbench used 95 % of the time of its 2 threads\n";
    assert!(text.contains(caution), "{text}");
    assert_eq!(text.matches("client-limited").count(), 1, "{text}");
}

#[test]
fn a_client_limited_load_point_is_marked_and_explained_once() {
    let reason = "thread 0 ran 97 % of the time; add threads or machines";
    let limited = |clients, repeat| {
        let mut limited = point(clients, repeat, 1600);
        limited.generator.limited = Some(reason.to_owned());
        limited
    };
    let mut invalid = dropped(point(32, 1, 100), 1);
    invalid.generator.limited = Some(reason.to_owned());
    let text = render(&document(&run(vec![
        point(8, 1, 1500),
        limited(16, 1),
        limited(24, 1),
        invalid,
    ])));
    let table: Vec<_> = body(&text).lines().take(9).collect();
    assert_snapshot!(table.join("\n"), @"
    clients  Mbit/s   ops/s       mean        p50        p95        p99      p99.9        max  errors  us/op
          8    61.4    1876    1.22 ms    1.00 ms    2.00 ms    2.00 ms    2.00 ms    30.0 ms       0   26.7
         16  ~ 65.5  ~ 2001  ~ 1.21 ms  ~ 1.00 ms  ~ 2.00 ms  ~ 2.00 ms  ~ 2.00 ms  ~ 30.0 ms       0   25.0
         24  ~ 65.5  ~ 2001  ~ 1.21 ms  ~ 1.00 ms  ~ 2.00 ms  ~ 2.00 ms  ~ 2.00 ms  ~ 30.0 ms       0   25.0
       ! 32     4.1     126    1.43 ms    1.00 ms    2.00 ms    2.00 ms    30.0 ms    30.0 ms       0    397
    us/op: CPU time of smbench per operation, without the server's
    ~: client-limited, throughput and response times are not to be trusted
    ! 32 clients, pass 1: not valid: 1 of 32 clients dropped out
      client 0: connection reset by the server
    ");
    assert_eq!(text.matches("client-limited at").count(), 1, "{text}");
    let from_peak = "; client-limited, so the server may do more\n";
    assert!(text.replace("\n  ", " ").contains(from_peak), "{text}");
    let above = render(&document(&run(vec![point(8, 1, 1700), limited(16, 1)])));
    let above_peak = "; client-limited above it, at 16 clients\n";
    assert!(above.replace("\n  ", " ").contains(above_peak), "{above}");
    assert!(text.contains("\nclient-limited at 16, 24 clients: at 24, thread 0 ran 97 %"));
    assert!(
        text.lines().all(|line| line.chars().count() <= 105),
        "{text}"
    );
}

/// Late answers affect only percentiles, and a local server takes CPU time.
/// Throughput stays valid in both cases, so no row is marked.
#[test]
fn what_leaves_throughput_alone_is_said_once_and_marks_no_row() {
    let shared = "thread 0 lacked a CPU 67 % of the time; the server had it";
    let blurred = |clients, repeat, late_us: u64| {
        let mut point = point(clients, repeat, 1600);
        point.generator.shared_cpus = Some(shared.to_owned());
        point.generator.latency_noise = vec![
            LatencyNoise {
                quantile: 0.95,
                late: Nanos(late_us * 1000),
            },
            LatencyNoise {
                quantile: 0.999,
                late: Nanos(late_us * 3000),
            },
        ];
        point
    };
    let doc = document(&run(vec![
        point(1, 1, 500),
        blurred(4, 1, 200),
        blurred(8, 1, 400),
        blurred(16, 1, 300),
        point(1, 2, 500),
        blurred(4, 2, 200),
        point(8, 2, 400),
        blurred(16, 2, 300),
    ]));
    assert_eq!(
        text::cautions(&doc),
        [
            "latency noise at 4 to 16 clients: at 8, p95 may be 400 us too high, p99.9 1.20 ms in pass 1",
            "shared CPUs at 4 to 16 clients: at 16, thread 0 lacked a CPU 67 % of the time; the \
             server had it",
        ]
    );
    assert!(!render(&doc).contains('~'));
    let json: serde_json::Value = serde_json::from_str(&doc.to_json()).unwrap();
    let second = &json["load_points"][1];
    assert_eq!(second["generator_limited"], false);
    assert_eq!(second["generator"]["shared_cpus"], shared);
    assert_eq!(
        second["latency_noise_ns"],
        serde_json::json!({"p95": 200_000, "p999": 600_000})
    );
    assert!(json["load_points"][0].get("latency_noise_ns").is_none());
}

#[test]
fn each_kind_of_caution_takes_a_line_whatever_the_number_of_load_points() {
    let doubtful = |clients| {
        let mut doubtful = point(clients, 1, 1600);
        let waited = "thread 10 lacked a CPU 100 % of the time; cause unknown";
        doubtful.generator.shared_cpus = Some(waited.to_owned());
        let noise = |quantile| LatencyNoise {
            quantile,
            late: Nanos(400_000_000),
        };
        doubtful.generator.latency_noise = vec![noise(0.99), noise(0.999)];
        doubtful.held_back = Duration::from_secs(u64::from(clients));
        doubtful.credit_starved = Duration::from_secs(u64::from(clients));
        doubtful
    };
    let text = render(&document(&run((1..=16)
        .chain([20])
        .map(doubtful)
        .collect())));
    let cautions = text.split_once("\npeak ").unwrap().1;
    let cautions = cautions.split_once("\n\n").unwrap().0;
    let cautions: Vec<_> = cautions.lines().skip(1).collect();
    assert_snapshot!(cautions.join("\n"), @"
      20 clients
    curve: no overall response time: operations per second are highest at 1 client: fewer than 3 load
      points lead there; rightmost valid load 20 clients, mean 1.21 ms
    latency noise at all load points: at 20, p99 may be 400 ms too high, p99.9 400 ms
    shared CPUs at all load points: at 20, thread 10 lacked a CPU 100 % of the time; cause unknown
    held back at all load points: at 20, sockets took no more 10 % of the clients' time
    starved of credits at all load points: at 20, 10 % of the clients' time: the server granted too few
    ");
}

#[test]
fn a_stall_at_the_end_of_the_window_marks_its_row() {
    let mut stalled = point(8, 1, 1600);
    stalled.punctuality.unanswered = 8;
    stalled.punctuality.unanswered_max = Nanos(1_500_000_000);
    stalled.punctuality.in_flight_max = Nanos(1_500_000_000);
    let mut healthy = point(4, 1, 1600);
    healthy.punctuality.unanswered = 4;
    // Longer than p99.9, as requests in flight often are, but not than the longest.
    healthy.punctuality.unanswered_max = Nanos(40_000_000);
    healthy.punctuality.in_flight_max = Nanos(40_000_000);
    let doc = document(&run(vec![healthy, stalled]));
    let flags: Vec<_> = doc.load_points.iter().map(|point| point.stalled).collect();
    assert_eq!(flags, [Some(false), Some(true)]);
    let text = render(&doc);
    let table: Vec<_> = body(&text).lines().take(5).collect();
    assert_snapshot!(table.join("\n"), @"
    clients  Mbit/s  ops/s       mean        p50        p95        p99      p99.9        max  errors  us/op
          4    65.5   2001    1.21 ms    1.00 ms    2.00 ms    2.00 ms    2.00 ms    30.0 ms       0   25.0
          8    65.5   2001  * 1.21 ms  * 1.00 ms  * 2.00 ms  * 2.00 ms  * 2.00 ms  * 30.0 ms       0   25.0
    us/op: CPU time of smbench per operation, without the server's
    *: stalled at the end of the window, the latencies miss it
    ");
    assert!(text.contains(
        "\nstalled at 8 clients: a request in flight when the window closed took 1.50 s\n"
    ));
}

/// Releases before stalls were judged had one verdict for three findings.
#[test]
fn the_verdict_of_an_older_release_is_read_for_what_it_meant() {
    let with = |clients, reason: &str| {
        let mut point = point(clients, 1, 1600);
        point.generator.limited = Some(reason.to_owned());
        point
    };
    let mut doc = document(&run(vec![
        with(
            4,
            "one event in a hundred was seen 599 us late or more, beside a median",
        ),
        with(
            8,
            "thread 0 used a CPU 27 % of the time, waited for one 67 %: the server here shares them",
        ),
        with(
            16,
            "thread 0 used a CPU 97 % of the time: give it more threads, CPUs or machines",
        ),
    ]));
    for point in &mut doc.load_points {
        point.stalled = None;
    }
    let limited: Vec<_> = doc
        .load_points
        .iter()
        .map(LoadPointDoc::is_client_limited)
        .collect();
    assert_eq!(limited, [false, false, true]);
    let names: Vec<_> = text::cautions(&doc)
        .iter()
        .map(|line| line.split_once(':').unwrap().0.to_owned())
        .collect();
    assert_eq!(
        names,
        [
            "client-limited at 16 clients",
            "latency noise at 4 clients",
            "shared CPUs at 8 clients"
        ]
    );
}

/// The reason of an invalid load point is beside it, not among the cautions.
#[test]
fn cautions_are_about_valid_load_points() {
    let mut limited = dropped(point(16, 1, 1600), 1);
    limited.generator.limited = Some("thread 0 ran 97 % of the time".to_owned());
    limited.held_back = Duration::from_secs(100);
    let doc = document(&run(vec![point(4, 1, 1600), limited]));
    assert_eq!(text::cautions(&doc), Vec::<String>::new());
}

#[test]
fn oplocks_that_no_open_asked_for_are_not_granted() {
    let mut doc = document(&run(vec![point(4, 1, 100)]));
    let mut line = |granted: &[(&str, u64)]| {
        let granted = granted
            .iter()
            .map(|&(name, opens)| (name.to_owned(), opens));
        doc.load_points[0].caching = Some(CachingDoc {
            granted: granted.collect(),
            breaks: 0,
            moot: 0,
            listings: None,
        });
        text::remarks(&doc)
    };
    let none = line(&[]);
    assert_eq!(
        none,
        "oplocks: 4 clients: no open asked for one; 0 breaks\n"
    );
    let some = line(&[("lease-rh", 7), ("none", 2)]);
    assert_eq!(
        some,
        "oplocks: 4 clients: granted 7 lease-rh, 2 none; 0 breaks\n"
    );
}

#[test]
fn listings_from_memory_are_named_because_no_sum_has_them() {
    let mut doc = document(&run(vec![point(4, 1, 100)]));
    let of_point = &mut doc.load_points[0];
    let mut list = of_point.ops["read"].clone();
    list.count = 812;
    of_point.ops.insert("list_cached".to_owned(), list);
    of_point.caching = Some(CachingDoc {
        granted: BTreeMap::from([("dir-lease-rh".to_owned(), 4)]),
        breaks: 1,
        moot: 0,
        listings: Some(ListingsDoc {
            kept: 4,
            held: 3,
            stale: 0,
        }),
    });
    let granted = "oplocks: 4 clients: granted 4 dir-lease-rh; 1 break; \
                   4 listings kept, 3 at the end; 0 stale answers";
    let left_out = "; not in ops/s and response times: 812 listings from memory";
    assert_eq!(text::remarks(&doc), format!("{granted}{left_out}\n"));
    doc.load_points[0].ops.remove("list_cached");
    assert_eq!(text::remarks(&doc), format!("{granted}\n"));
}
