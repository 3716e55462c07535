//! Windows of parts that were not one window.

use smbench_report::doc::{LoadPointDoc, Named, ReplayDoc};
use smbench_report::merge::{SavedPart, merge};

use super::two_parts;

/// Returns why the merged load point is not valid.
fn reason(parts: Vec<SavedPart>) -> Option<String> {
    let point = merge(parts).unwrap().load_points.remove(0);
    assert_eq!(point.valid, point.invalid_reason.is_none());
    point.invalid_reason
}

/// Returns two parts of a replay with a number of loops.
fn replays() -> Vec<SavedPart> {
    let mut parts = two_parts();
    for SavedPart { doc, .. } in &mut parts {
        doc.plan.workload.replay = Some(ReplayDoc {
            source: "client.txt".to_owned(),
            sha256: "00".to_owned(),
            lines: 1,
            operations: [].into(),
            skipped: [].into(),
            closed: 0,
            bytes_read: 0,
            bytes_written: 0,
            timing: Named::Foreign("fast".to_owned()),
            loops: Some(1),
            length_s: None,
            speed: None,
            clients_per_copy: None,
            recorded_users: None,
            recorded: [].into(),
        });
    }
    parts
}

#[test]
fn windows_may_be_one_percent_apart() {
    let mut parts = two_parts();
    let opened = |parts: &mut Vec<SavedPart>, time: &str| {
        parts[1].doc.load_points[0].window_opened = Some(format!("2027-01-15T08:00:{time}Z"));
    };
    opened(&mut parts, "00.050000");
    assert_eq!(reason(parts.clone()), None);
    opened(&mut parts, "00.250000");
    let expected = "part-1: its window opened 250 ms after that of part-0: the windows overlap \
                    for 95 %, and 99 % is the least";
    assert_eq!(reason(parts.clone()).as_deref(), Some(expected));
    opened(&mut parts, "59.000000");
    let apart = reason(parts).unwrap();
    assert!(apart.contains("the windows overlap for 0 %"), "{apart}");
}

#[test]
fn windows_by_the_clock_have_one_length() {
    let mut parts = two_parts();
    parts[1].doc.load_points[0].window_s = 4.9;
    let expected = "part-1: its window took 4.9 s, and that of part-0 5 s: they may differ by 1 %";
    assert_eq!(reason(parts.clone()).as_deref(), Some(expected));
    parts[1].doc.load_points[0].window_s = 4.98;
    let merged = merge(parts).unwrap();
    let point = &merged.load_points[0];
    assert!(point.valid);
    assert_eq!((point.window_s, point.ops_per_s), (5.0, 16.0));
}

#[test]
fn replays_with_loops_end_with_their_last_client() {
    let mut parts = replays();
    parts[0].doc.load_points[0].window_s = 2.5;
    let merged = merge(parts.clone()).unwrap();
    let point = &merged.load_points[0];
    assert_eq!(point.invalid_reason, None);
    assert_eq!((point.window_s, point.ops_per_s), (5.0, 16.0));
    // What was in flight is spread over the longest window.
    let in_flight = |point: &LoadPointDoc| point.concurrency.unwrap().in_flight_mean;
    let [one, other] = [0, 1].map(|at: usize| in_flight(&parts[at].doc.load_points[0]));
    let expected = (one * 2.5 + other * 5.0) / 5.0;
    assert!((in_flight(point) - expected).abs() < 1e-12);
    parts[1].doc.load_points[0].window_opened = Some("2027-01-15T08:00:01Z".to_owned());
    let late = reason(parts).unwrap();
    assert!(
        late.starts_with("part-1: its window opened 1.00 s after"),
        "{late}"
    );
}
