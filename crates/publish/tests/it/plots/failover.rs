//! Load points with events.

use smbench_publish::{report, to_markdown};
use smbench_report::doc::EventDoc;

use super::plot;
use crate::samples::{point, run, study};

fn event(text: &str, at_s: Option<f64>) -> EventDoc {
    let event = serde_json::json!({
        "kind": "drop", "event": text, "at_s": at_s, "clients": 4, "clients_away": 0,
        "blackout_ns": null, "handles_kept": 0, "handles_lost": 0, "requests_repeated": 0,
        "operations_failed": 0,
    });
    serde_json::from_value(event).unwrap()
}

#[test]
fn plots_over_time_have_a_line_with_a_label_for_each_event() {
    let mut with_events = point(8, 1, 300.0, 400_000);
    with_events.events = vec![
        event("at 7s: exec ./fail <node>", Some(7.0)),
        event("at 3s: drop 100%", Some(3.002)),
        // It never came, because the load ended before.
        event("at 9s: drop 50%", None),
    ];
    // The other server had the same events, and was without an answer for an interval.
    let mut other = with_events.clone();
    let series = other.series.as_mut().unwrap();
    series.all.bytes[3] = 0;
    series.all.p99_ns[3] = None;
    let events = study(&[("NAS", run(vec![with_events])), ("Samba", run(vec![other]))]);
    for name in ["time-events", "time-median", "time-p99"] {
        let plot = plot(&events, &format!("01-file-server-{name}"));
        let marks: Vec<_> = plot
            .marks
            .iter()
            .map(|mark| (mark.x, &*mark.label))
            .collect();
        assert_eq!(
            marks,
            [(3.002, "3s: drop 100%"), (7.0, "7s: exec ./fail <node>")]
        );
        let svg = plot.to_svg().unwrap();
        for label in ["3s: drop 100%", "7s: exec ./fail &lt;node&gt;"] {
            assert!(svg.contains(label), "{svg}");
        }
    }
    let plot_of_events = plot(&events, "01-file-server-time-events");
    let [nas, samba] = &plot_of_events.lines[..] else {
        panic!("a line for each server");
    };
    assert_eq!((nas.points.len(), samba.points.len()), (10, 10));
    assert!(
        nas.points[3].y > 3.0 && nas.points[3].x == 4.0,
        "{:?}",
        nas.points[3]
    );
    assert_eq!(samba.points[3].y, 0.0);

    let without = study(&[("NAS", run(vec![point(8, 1, 300.0, 400_000)]))]);
    let report = report(&without);
    assert!(report.plots().all(|plot| plot.marks.is_empty()));
    assert!(
        report
            .plots()
            .all(|plot| !plot.name.ends_with("time-events"))
    );
}

#[test]
fn what_events_cost_comes_before_the_peaks() {
    let mut measured = point(8, 1, 300.0, 400_000);
    measured.events = vec![event("at 3s: drop 100%", Some(3.0))];
    let text = to_markdown(&report(&study(&[("NAS", run(vec![measured]))])));
    let at = |part: &str| {
        let found = text.find(part);
        found.unwrap_or_else(|| panic!("no {part} in {text}"))
    };
    assert!(at("**file-server: what each event costs**") < at("**file-server: peaks**"));
    assert!(at("| 3s drop 100% | NAS | 4 | 0 | - |") < at("**file-server: peaks**"));
}
