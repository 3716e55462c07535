//! Operations in flight when the window closed: shown where few or none completed.

use std::time::Duration;

use insta::assert_snapshot;
use smbench_model::Nanos;
use smbench_model::kind::OpKind;
use smbench_model::record::{LoadPointRecord, Phase, Tally};
use smbench_report::{render, text};

use crate::samples::{book, document, point, run};

/// Returns a window of 10 s in which one log-on completed, if any, and four are in flight.
fn waiting(completed: u64) -> LoadPointRecord {
    let mut waiting = point(4, 1, 100);
    waiting.ops = Tally::default();
    book(&mut waiting.ops, Phase::Before, |ramp| {
        for _ in 0..8 {
            ramp.success(OpKind::LogOn, 0, Nanos(5_000_000_000));
        }
    });
    book(&mut waiting.ops, Phase::Window, |window| {
        for _ in 0..completed {
            window.success(OpKind::LogOn, 0, Nanos(5_000_000_000));
        }
    });
    book(&mut waiting.ops, Phase::Outside, |after| {
        for waited in [4_800_000_000, 4_700_000_000, 300, 200] {
            after.in_flight(OpKind::LogOn, Nanos(waited));
        }
    });
    waiting
}

#[test]
fn a_window_without_an_answer_has_a_row_of_what_it_waited_for() {
    let mut nothing = waiting(0);
    nothing.ops = Tally::default();
    book(&mut nothing.ops, Phase::Outside, |after| {
        after.in_flight(OpKind::Read, Nanos(1_000_000));
    });
    // The reason of another fault does not have it.
    nothing.invalid = Some("interrupted after 10 s of 20 s".to_owned());
    let doc = document(&run(vec![nothing]));
    let read = &doc.load_points[0].ops["read"];
    assert_eq!((read.count, read.in_flight), (0, Some(1)));
    let text = render(&doc);
    assert!(
        text.contains(
            "\n  1 read (none completed) was in flight when the window closed, for 1.00 ms\n"
        ),
        "{text}"
    );
    let table = text.split_once("operations at ").unwrap().1;
    let table = table.split_once("\n\n").unwrap().0;
    assert_snapshot!(table, @"
    4 clients
    op    count  share  Mbit/s  mean  p50  p95  p99  max  errors  in flight   waited
    read    ! 0      -       -     -    -    -    -    -       0          1  1.00 ms
    !: not valid
    in flight: not answered when the window closed; waited: the longest of these, until then
    ");
}

#[test]
fn few_answers_are_a_caution_and_a_reason_is_not_repeated() {
    let few = document(&run(vec![waiting(1)]));
    let point = &few.load_points[0];
    let of = &point.ops["log_on"];
    let times = (of.in_flight_ns_min, of.in_flight_ns_max);
    assert_eq!(
        (of.in_flight, times),
        (Some(4), (Some(200), Some(4_800_000_000)))
    );
    assert_eq!(point.ops_before, Some(8));
    let cautions = text::cautions(&few);
    let words = "unanswered at 4 clients: 4 log_on (1 completed) were in flight when the window \
                closed, the longest for 4.80 s";
    assert!(cautions.contains(&words.to_owned()), "{cautions:?}");
    let mut none = waiting(0);
    let reason = "no operation completed in the window: 4 log_on were in flight";
    none.invalid = Some(reason.to_owned());
    let text = render(&document(&run(vec![none])));
    assert!(!text.contains("when the window closed, the"), "{text}");
    assert!(text.contains("\n  use a longer duration\n"), "{text}");
    assert_eq!(
        text::reason_in_brief(&format!("4 clients: {reason}")),
        "4 clients: no operation completed in the window"
    );
    assert_eq!(text::reason_in_brief("4 errors: x"), "4 errors: x");
}

/// A closed loop always has operations in flight.
#[test]
fn an_ordinary_load_point_shows_none_of_it() {
    let mut usual = point(4, 1, 100);
    book(&mut usual.ops, Phase::Outside, |after| {
        after.in_flight(OpKind::Read, Nanos(3_000_000_000));
        // As many as completed, but not for long.
        for _ in 0..20 {
            after.in_flight(OpKind::Flush, Nanos(900_000_000));
        }
    });
    usual.window = Duration::from_secs(10);
    let doc = document(&run(vec![usual]));
    assert_eq!(doc.load_points[0].ops["flush"].in_flight, Some(20));
    let text = render(&doc);
    assert!(!text.contains("in flight"), "{text}");
}
