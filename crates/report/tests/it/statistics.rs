//! Load points over time, over clients and over passes.

use std::time::Duration;

use insta::assert_snapshot;
use serde_json::{Value, json};
use smbench_model::Nanos;
use smbench_model::kind::OpKind;
use smbench_model::load::{LoadModel, Spacing};
use smbench_model::record::{Fairness, Phase, Punctuality, Recorder, Tally, Times};
use smbench_report::doc::LoadPointDoc;
use smbench_report::{RunDoc, render, text, write_csv};

use crate::samples::{book, document, metadata_point, point, run};
use crate::text::body;

fn first_point(doc: &RunDoc) -> Value {
    let mut json: Value = serde_json::from_str(&doc.to_json()).unwrap();
    json["load_points"][0].take()
}

#[test]
fn a_series_has_a_value_per_interval_and_takes_a_line_per_column() {
    let mut record = point(8, 1, 400);
    let last = Recorder::default();
    record.window = Duration::from_millis(10_500);
    record.series.set(10, &last);
    let doc = document(&run(vec![record]));
    let series = &first_point(&doc)["series"];
    assert_eq!(series["interval_s"], 1.0);
    let reads = &series["ops"]["read"];
    let mut counts = vec![400; 10];
    counts.push(0);
    assert_eq!(reads["count"], json!(counts));
    assert_eq!(reads["bytes"][0], 400 * 4096);
    assert_eq!(reads["errors"][0], 0);
    assert_eq!(reads["p50_ns"][9].as_u64().unwrap() / 10_000, 100);
    assert_eq!(reads["p99_ns"][10], Value::Null);
    assert_eq!(series["all"]["count"][0], 400 + 100 + 1);
    assert_eq!(series["all"]["max_ns"][0].as_u64().unwrap() / 1_000_000, 30);
    let one_line = format!("\"count\": {}", serde_json::to_string(&counts).unwrap());
    assert!(doc.to_json().contains(&one_line));
    let read: RunDoc = serde_json::from_str(&doc.to_json()).unwrap();
    assert_eq!(read, doc);
}

#[test]
fn a_load_that_falls_is_not_steady_and_says_so() {
    let mut record = point(8, 1, 400);
    for second in 5..10 {
        let mut fewer = Recorder::default();
        for _ in 0..200 {
            fewer.success(OpKind::Read, 4096, Nanos(1_000_000));
        }
        record.series.set(second, &fewer);
    }
    let many = document(&run(vec![record.clone(); 7]));
    assert_eq!(render(&many).matches("not steady").count(), 1);
    let falling = document(&run(vec![record]));
    let steady = first_point(&falling)["steady"].take();
    assert_eq!(steady["is_steady"], false);
    let words = format!(
        "\nnot steady at 8 clients: {}\n",
        steady["reason"].as_str().unwrap()
    );
    assert!(render(&falling).contains(&words), "{words}");
    let level = document(&run(vec![point(8, 1, 400)]));
    assert_eq!(first_point(&level)["steady"]["is_steady"], true);
    assert!(!render(&level).contains("steady"));
    // Without data, operations are judged.
    let metadata = document(&run(vec![metadata_point(8, 100)]));
    assert_eq!(first_point(&metadata)["steady"]["is_steady"], true);
    let mut short = point(8, 1, 400);
    short.window = Duration::from_millis(4999);
    let short = document(&run(vec![short]));
    assert_eq!(first_point(&short)["steady"]["is_steady"], Value::Null);
    assert!(!render(&short).contains("steady"));
}

#[test]
fn fairness_is_over_clients() {
    let mut record = point(4, 1, 400);
    let even = document(&run(vec![record.clone()]));
    assert_eq!(first_point(&even)["fairness"]["jain_index"], 1.0);
    record.fairness = Fairness::default();
    for operations in [100, 300, 500, 700] {
        record.fairness.add(operations, Nanos(operations * 1000));
    }
    let uneven = document(&run(vec![record]));
    let fairness = &first_point(&uneven)["fairness"];
    assert_eq!(
        (&fairness["min"], &fairness["max"]),
        (&json!(100), &json!(700))
    );
    assert_eq!(fairness["mean"], 400.0);
    assert_eq!(fairness["jain_index"], 256.0 / 336.0);
    let words =
        "\nuneven at 4 clients: clients completed 100 to 700 operations, fairness index 0.76\n";
    assert!(render(&uneven).contains(words), "{}", render(&uneven));
    assert!(!render(&even).contains("uneven"));
}

#[test]
fn clients_without_an_answer_are_reported() {
    let mut record = point(4, 1, 400);
    let all = document(&run(vec![record.clone()]));
    assert!(!render(&all).contains("unserved"));
    record.clients_served = 3;
    let mut record = run(vec![record]);
    let words = "\nunserved at 4 clients: 1 of 4 clients completed nothing in the window\n";
    let text = render(&document(&record));
    assert!(text.contains(words), "{text}");
    // At a rate such a client may have had nothing to do.
    record.plan.only_mut().load = rate("1000");
    assert!(!render(&document(&record)).contains("unserved"));
}

#[test]
fn closed_loops_show_what_took_longer_than_their_latencies_say() {
    let mut record = point(4, 1, 400);
    let none = document(&run(vec![record.clone()]));
    assert_eq!(first_point(&none)["unanswered_ns_max"], Value::Null);
    record.punctuality.unanswered = 4;
    for (waited, is_reported) in [(45_000_000, false), (2_500_000_000, true)] {
        record.punctuality.unanswered_max = Nanos(waited);
        record.punctuality.in_flight_max = Nanos(waited);
        let doc = document(&run(vec![record.clone()]));
        assert_eq!(first_point(&doc)["unanswered_ns_max"], waited);
        let text = render(&doc);
        let words =
            "\nstalled at 4 clients: a request in flight when the window closed took 2.50 s\n";
        assert_eq!(text.contains(words), is_reported, "{text}");
        let read: RunDoc = serde_json::from_str(&doc.to_json()).unwrap();
        assert_eq!(read, doc);
    }
}

#[test]
fn what_was_in_flight_is_held_against_littles_law() {
    // Per second 400 reads of 1 ms, 100 writes of 2 ms, one flush of 30 ms.
    let mut record = point(4, 1, 400);
    let right = document(&run(vec![record.clone()]));
    let concurrency = first_point(&right)["concurrency"].take();
    assert_eq!(concurrency["in_flight_mean"], 0.63);
    let ratio = concurrency["littles_ratio"].as_f64().unwrap();
    assert!((ratio - 1.0).abs() < 1e-3, "{ratio}");
    assert!(!render(&right).contains("in flight at"));
    record.in_flight = record.in_flight.mul_f64(0.9);
    let text = render(&document(&run(vec![record])));
    assert!(
        text.contains(
            "\nin flight at 4 clients: 0.57 requests counted, 0.63 by Little's law; look"
        ),
        "{text}"
    );
}

#[test]
fn passes_have_confidence_intervals() {
    let passes = [1400, 1600, 1500].into_iter().zip(1..);
    let points = passes.map(|(reads, pass)| point(8, pass, reads)).collect();
    let doc = document(&run(points));
    let json: Value = serde_json::from_str(&doc.to_json()).unwrap();
    let repeats = &json["repeats"][0];
    assert_eq!(
        (&repeats["clients"], &repeats["passes"]),
        (&json!(8), &json!(3))
    );
    let ops = &repeats["ops_per_s"];
    assert_eq!((&ops["mean"], &ops["sd"]), (&json!(1876.0), &json!(125.0)));
    let half = 4.302_653 * 125.0 / 3.0_f64.sqrt();
    assert!((ops["ci95"].as_f64().unwrap() - half).abs() < 1e-3);
    assert_eq!(repeats["latency_p99_ns"]["sd"], 0.0);
    let once = document(&run(vec![point(8, 1, 400)])).to_json();
    assert!(!once.contains("repeats"));
}

/// Operations that the server asked for are measured, but no figure of the workload
/// includes them. That holds for the table, the peak and the sums of the CSV.
#[test]
fn what_the_server_asked_for_is_in_no_sum() {
    let mut record = point(8, 1, 400);
    let plain = document(&run(vec![record.clone()]));
    book(&mut record.ops, Phase::Window, |second| {
        for _ in 0..1000 {
            second.success(OpKind::OplockBreak, 0, Nanos(5_000_000_000));
            second.success(OpKind::Reauthentication, 0, Nanos(9_000_000_000));
        }
    });
    let doc = document(&run(vec![record]));
    assert_eq!(doc.peak, plain.peak);
    assert_eq!(
        doc.load_points[0].latency_ns,
        plain.load_points[0].latency_ns
    );
    assert_eq!(doc.load_points[0].ops["oplock_break"].count, 1000);
    let all = |doc: &RunDoc| {
        let mut csv = Vec::new();
        write_csv(doc, &mut csv).unwrap();
        let csv = String::from_utf8(csv).unwrap();
        csv.lines().nth(1).unwrap().to_owned()
    };
    assert_eq!(all(&doc), all(&plain));
    let first_row = |doc: &RunDoc| {
        let text = render(doc);
        let table = text.lines().skip_while(|line| !line.starts_with("clients"));
        table.take(2).map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(first_row(&doc), first_row(&plain));
}

/// At a rate every table shows response times, because they include the time in the
/// queue.
#[test]
fn at_a_rate_tables_report_response_times() {
    let mut record = point(8, 1, 0);
    record.ops = Tally::default();
    let mut second = Recorder::expecting([OpKind::Read], &rate("1000"));
    for _ in 0..1000 {
        let times = Times {
            service: Nanos(1_000_000),
            response: Nanos(70_000_000),
        };
        second.success(OpKind::Read, 4096, times);
    }
    record.ops.add(&second, Phase::Window);
    record.punctuality = Punctuality {
        due: 10_000,
        answered: 9950,
        in_flight_max: Nanos(3_000_000_000),
        late: 2500,
        dropped: 100,
        unanswered: 150,
        unanswered_max: Nanos(3_000_000_000),
        delay_max: Nanos(69_000_000),
        ..Punctuality::default()
    };
    let mut record = run(vec![record]);
    record.plan.only_mut().load = rate("1000");
    let doc = document(&record);
    let json = first_point(&doc);
    assert_eq!(
        json["ops"]["read"]["service_ns"]["p50"].as_u64().unwrap() / 100_000,
        10
    );
    for latency in [&json["ops"]["read"]["response_ns"], &json["latency_ns"]] {
        assert_eq!(latency["p50"].as_u64().unwrap() / 1_000_000, 70);
    }
    assert_eq!(json["offered"]["ops_per_s"], 1000.0);
    assert_eq!(json["offered"]["unanswered"], 150);
    let text = render(&doc);
    assert!(text.contains(
        "load     1000 operations/s, constant arrivals, at most 4 outstanding per client"
    ));
    let table = body(&text).split_once("\n\n").unwrap().0;
    assert_snapshot!(table, @"
    clients  Mbit/s  ops/s  reached   resp p50   serv p50   resp p99   serv p99  resp p99.9  errors
          8     3.3    100   99.5 %  * 70.1 ms  * 1.00 ms  * 70.1 ms  * 1.00 ms   * 70.1 ms       0
    resp: response time, from when an operation was due until its answer
    serv: service time, from when it was sent until its answer
    *: stalled at the end of the window, the latencies miss it
    rate reached at 8 clients
    of the operations at 8 clients, 25 % were sent over 1 ms late, by up to 69.0 ms, 1 % were not sent
    ");
    assert!(!text.contains("peak"), "{text}");
    let caution = "stalled at 8 clients: a request in flight when the window closed took 3.00 s\n";
    assert!(text.contains(caution), "{text}");
    let read: RunDoc = serde_json::from_str(&doc.to_json()).unwrap();
    assert_eq!(read, doc);
    // Releases that did not count unanswered operations did not report them either.
    let mut older: Value = serde_json::from_str(&doc.to_json()).unwrap();
    let point = older["load_points"][0].as_object_mut().unwrap();
    assert!(point.remove("stalled").is_some());
    assert!(point.remove("stalled_ns").is_some());
    let offered = point["offered"].as_object_mut().unwrap();
    for key in ["unanswered", "unanswered_ns_max"] {
        assert!(offered.remove(key).is_some());
    }
    let older: RunDoc = serde_json::from_value(older).unwrap();
    let offered = older.load_points[0].offered.unwrap();
    assert_eq!((offered.unanswered, offered.unanswered_ns_max), (0, 0));
    assert!(!render(&older).contains("stalled"));
}

/// A server that reaches only a tenth of the rate. All operations that completed in
/// the window had been due before it.
#[test]
fn a_rate_that_was_not_reached_is_said_below_the_table() {
    let at = |clients, due, answered| {
        let mut point = point(clients, 1, 400);
        point.punctuality = Punctuality {
            due,
            answered,
            dropped: due - answered,
            unanswered: due - answered,
            unanswered_max: Nanos(9_000_000_000),
            ..Punctuality::default()
        };
        point
    };
    let mut record = run(vec![
        at(4, 1_000_000, 95_360),
        at(8, 10_000, 9901),
        at(16, 1_000_000, 400_000),
    ]);
    record.plan.only_mut().load = rate("100000");
    let doc = document(&record);
    let missed: Vec<_> = doc
        .load_points
        .iter()
        .map(LoadPointDoc::misses_rate)
        .collect();
    assert_eq!(missed, [true, false, true]);
    let json = first_point(&doc);
    assert_eq!(json["offered"]["rate_missed"], true);
    assert_eq!(json["offered"]["answered"], 95_360);
    let text = render(&doc);
    let table = body(&text).split_once("\n\n").unwrap().0;
    assert_snapshot!(table, @"
    clients  Mbit/s  ops/s  reached  resp p50  serv p50  resp p99  serv p99  resp p99.9  errors
          4    16.4    501   9.54 %   1.00 ms   1.00 ms   2.00 ms   2.00 ms     30.0 ms       0
          8    16.4    501  99.01 %   1.00 ms   1.00 ms   2.00 ms   2.00 ms     30.0 ms       0
         16    16.4    501     40 %   1.00 ms   1.00 ms   2.00 ms   2.00 ms     30.0 ms       0
    resp: response time, from when an operation was due until its answer
    serv: service time, from when it was sent until its answer
    rate not reached at 4, 16 clients: 9536 of 100000 operations/s (9.54 %) at 4 clients; lower rate, or
      raise clients or outstanding
    rate reached at 8 clients
    of the operations at 8 clients, 0.99 % were not sent
    ");
    assert_eq!(
        text::missed_rate(&doc).unwrap(),
        "rate not reached at 4, 16 clients: 9536 of 100000 operations/s (9.54 %) at 4 clients"
    );
}

/// A load point that is not valid has a reason of its own, so it is not among all.
#[test]
fn a_rate_is_not_called_reached_at_load_points_that_are_not_valid() {
    let at = |clients| {
        let mut point = point(clients, 1, 400);
        (point.punctuality.due, point.punctuality.answered) = (10_000, 10_000);
        point
    };
    let mut record = run(vec![at(4), at(8), at(16)]);
    record.plan.only_mut().load = rate("1000");
    let mut doc = document(&record);
    assert_eq!(
        text::rate_remarks(&doc),
        ["rate reached at all load points"]
    );
    doc.load_points[2].valid = false;
    let of_valid = "rate reached at all valid load points";
    assert_eq!(text::rate_remarks(&doc), [of_valid]);
}

/// A short stall at the end of a window leaves operations unsent, but the rate is
/// not missed.
#[test]
fn a_rate_is_missed_by_more_than_one_percent_and_a_tenth_of_a_second() {
    let misses = |window_s, due, answered| {
        let mut point = point(4, 1, 400);
        point.window = Duration::from_secs(window_s);
        point.punctuality = Punctuality {
            due,
            answered,
            ..Punctuality::default()
        };
        let mut record = run(vec![point]);
        record.plan.only_mut().load = rate("1000");
        document(&record).load_points[0].misses_rate()
    };
    assert!(!misses(2, 2000, 1900), "100 ms of 2 s");
    assert!(misses(2, 2000, 1890));
    assert!(!misses(60, 60_000, 59_400), "1 % of a minute");
    assert!(misses(60, 60_000, 59_300));
    // Operations that waited before the window were sent in it.
    assert!(!misses(2, 2000, 2100));
}

fn rate(text: &str) -> LoadModel {
    LoadModel::Rate {
        rate: text.parse().unwrap(),
        arrivals: Spacing::Fixed,
    }
}
