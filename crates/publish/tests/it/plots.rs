//! Plots: their content, and whether points are drawn where the numbers say.

mod drawn;
mod failover;
mod listings;
mod populations;
mod stages;
mod transfers;

use resvg::usvg::roxmltree;
use smbench_publish::plot::{Doubt, Line, Plot, PointValidity, Quantity};
use smbench_publish::report;
use smbench_report::latency::{Hdr, pool};
use smbench_report::study::Study;

use crate::samples::{dropped, full, point, run, study};

/// Returns a plot of the report on a study.
fn plot(study: &Study, name: &str) -> Plot {
    let report = report(study);
    let plot = report.plots().find(|plot| plot.name == name);
    plot.unwrap_or_else(|| panic!("no {name}")).clone()
}

/// Returns the numbers of a line: x, y, and whether they may be quoted.
fn numbers(line: &Line) -> Vec<(f64, f64, bool)> {
    let points = line.points.iter();
    points
        .map(|point| (point.x, point.y, point.validity != PointValidity::Invalid))
        .collect()
}

#[test]
fn throughput_is_that_of_the_valid_passes() {
    let plot = plot(&full(), "01-file-server-throughput");
    assert_eq!(
        numbers(&plot.lines[0]),
        [(1.0, 41.0, true), (8.0, 305.0, true), (16.0, 285.0, true)]
    );
    assert_eq!(
        numbers(&plot.lines[1]),
        [(1.0, 51.0, true), (8.0, 508.0, true), (16.0, 20.0, false)]
    );
    // Two passes: the lower and the higher value. Three: 508 +- t(2) sd / sqrt(3).
    assert_eq!(plot.lines[0].points[1].spread, Some((300.0, 310.0)));
    let (low, high) = plot.lines[1].points[1].spread.unwrap();
    let half = 4.302_652_73 * 112.0_f64.sqrt() / 3.0_f64.sqrt();
    assert!((low - (508.0 - half)).abs() < 1e-6 && (high - (508.0 + half)).abs() < 1e-6);
    assert_eq!(plot.lines[1].points[2].spread, None, "not valid");
    let label = &plot.lines[1].points[2].label;
    assert!(
        label.ends_with("; not valid: 1 client dropped out"),
        "{label}"
    );
}

/// A response time is over all operations, and passes differ in their number of
/// operations. So a bar around the mean over passes might not contain the point.
#[test]
fn bars_of_response_times_go_from_the_lowest_pass_to_the_highest() {
    let quick = |repeat| {
        let mut quick = point(8, repeat, 300.0, 100_000);
        let read = quick.ops.get_mut("read").unwrap();
        read.hdr = Hdr::from(&pool([&read.hdr; 3]));
        read.count *= 3;
        quick
    };
    let passes = vec![quick(1), quick(2), point(8, 3, 300.0, 9_000_000)];
    let others = vec![point(16, 1, 300.0, 400_000)];
    let study = study(&[("NAS", run([passes.clone(), others].concat()))]);
    for name in ["response-mean", "response-p99"] {
        let plot = plot(&study, &format!("01-file-server-{name}"));
        let point = &plot.lines[0].points[0];
        let each = passes.iter().map(|pass| match name {
            "response-mean" => pass.latency_ns.unwrap().mean,
            _ => pass.latency_ns.unwrap().p99 as f64,
        });
        let each: Vec<_> = each.collect();
        assert_eq!(point.spread, Some((each[0], each[2])));
        assert!(each[0] <= point.y && point.y <= each[2], "{}", point.y);
        assert!(
            point
                .label
                .ends_with(" are the lowest and the highest of 3 passes"),
            "{}",
            point.label
        );
    }
}

#[test]
fn points_that_the_generator_limited_have_a_ring_and_a_caption() {
    let mut limited = point(8, 1, 300.0, 400_000);
    limited.generator_limited = Some(true);
    let study = study(&[("NAS", run(vec![point(1, 1, 41.0, 400_000), limited]))]);
    let plot = plot(&study, "01-file-server-throughput");
    let limits: Vec<_> = plot.lines[0]
        .points
        .iter()
        .map(|point| point.doubt)
        .collect();
    assert_eq!(limits, [Doubt::None, Doubt::ClientLimited]);
    let label = &plot.lines[0].points[1].label;
    assert!(
        label.ends_with("; client-limited: no reason given"),
        "{label}"
    );
    assert_eq!(plot.notes.len(), 1);
    assert!(plot.notes[0].starts_with("Ring at a throughput: client-limited."));
    let svg = plot.to_svg().unwrap();
    let tree = roxmltree::Document::parse(&svg).unwrap();
    let circles = tree
        .descendants()
        .filter(|node| node.has_tag_name("circle"));
    let (data, drawn): (Vec<_>, Vec<_>) =
        circles.partition(|node| node.attribute("class") == Some("point"));
    let limits: Vec<_> = data
        .iter()
        .map(|node| node.attribute("data-doubt"))
        .collect();
    assert_eq!(limits, [None, Some("client-limited")]);
    // One ring is around its point, the other in the legend.
    let radius =
        |node: &roxmltree::Node<'_, '_>| node.attribute("r").unwrap().parse::<u32>().unwrap();
    let marker = drawn.iter().map(radius).min().unwrap();
    assert_eq!(drawn.iter().filter(|node| radius(node) > marker).count(), 2);
    assert!(svg.contains("client-limited"));
}

/// Late answers leave throughput alone, and a client-limited point has right percentiles.
#[test]
fn percentiles_that_may_be_wrong_have_a_ring_in_plots_of_response_times() {
    let mut limited = point(1, 1, 41.0, 400_000);
    limited.generator_limited = Some(true);
    let mut late = point(8, 1, 300.0, 400_000);
    late.latency_noise_ns.insert("p99".to_owned(), 300_000);
    let mut stalled = point(4, 1, 200.0, 400_000);
    stalled.stalled = Some(true);
    stalled.stalled_ns = Some(1_500_000_000);
    let study = study(&[("NAS", run(vec![limited, stalled, late]))]);
    let doubts = |name: &str| {
        let plot = plot(&study, &format!("01-file-server-{name}"));
        let points = plot.lines[0].points.iter();
        (points.map(|point| point.doubt).collect::<Vec<_>>(), plot)
    };
    let (throughput, plot) = doubts("throughput");
    assert_eq!(throughput, [Doubt::ClientLimited, Doubt::None, Doubt::None]);
    // All kinds are explained below the first plot that has any, and nowhere else.
    let words = [
        "Ring at a throughput: client-limited.",
        "Ring at a response time: it may be too high, because answers were handled late.",
        "Square: the response time misses a stall at the end of the window.",
    ];
    for words in words {
        assert!(plot.notes[0].contains(words), "{:?}", plot.notes);
    }
    let (mean, _) = doubts("response-mean");
    assert_eq!(mean, [Doubt::None, Doubt::Stalled, Doubt::None]);
    let (p99, plot) = doubts("response-p99");
    assert_eq!(p99, [Doubt::None, Doubt::Stalled, Doubt::LateAnswers]);
    assert_eq!(plot.notes, [""; 0]);
    assert!(plot.to_svg().unwrap().contains("late answers"));
    let (distribution, plot) = doubts("percentiles");
    let certain = distribution.iter().filter(|doubt| **doubt == Doubt::None);
    assert_eq!(certain.count(), 6, "up to p95");
    assert_eq!(distribution.last(), Some(&Doubt::LateAnswers));
    assert_eq!(plot.notes, [""; 0]);
    let is_late = |name: &str| doubts(name).0.contains(&Doubt::LateAnswers);
    assert_eq!(["time-median", "time-p99"].map(is_late), [false, true]);
}

#[test]
fn percentiles_are_those_of_the_histograms_at_a_load_all_bore() {
    let plot = plot(&full(), "01-file-server-percentiles");
    assert!(plot.title.ends_with("at 8 clients"), "{}", plot.title);
    // Over 2 passes: 900 reads each of 400 us and of 500 us. Then 99 each of 2 ms
    // and of 2.5 ms, and one each of 20 ms and of 25 ms.
    let points = &plot.lines[0].points;
    let at = |x: f64| {
        points
            .iter()
            .find(|point| (point.x - x).abs() < 1e-6 * x)
            .unwrap()
            .y
    };
    let near = |x: f64, ns: f64| assert!((at(x) / ns - 1.0).abs() < 2e-3, "{x}: {}", at(x));
    near(1.0, 400e3);
    near(4.0 / 3.0, 400e3);
    near(2.0, 500e3);
    near(10.0, 500e3);
    near(20.0, 2.5e6);
    near(1000.0, 2.5e6);
    near(2000.0, 25e6);
    assert_eq!(points.last().unwrap().x, 2000.0, "the slowest of 2000");
}

#[test]
fn time_is_that_of_the_first_pass_and_gaps_stay_gaps() {
    let mut one = point(8, 1, 100.0, 1_000_000);
    one.series.as_mut().unwrap().all.p99_ns[4] = None;
    let study = study(&[("a", run(vec![one, point(8, 2, 100.0, 9_000_000)]))]);
    let plot = plot(&study, "01-file-server-time-p99");
    let points = &plot.lines[0].points;
    let seconds: Vec<_> = points.iter().map(|point| point.x).collect();
    assert_eq!(seconds, [1.0, 2.0, 3.0, 4.0, 6.0, 7.0, 8.0, 9.0, 10.0]);
    assert_eq!(points[0].y, 5e6);
    assert_eq!(points[1].y, 6e6);
    let gaps = points
        .iter()
        .map(|point| point.validity == PointValidity::AfterGap);
    let gaps: Vec<_> = gaps.collect();
    assert_eq!(
        gaps,
        [true, false, false, false, true, false, false, false, false]
    );
}

#[test]
fn long_windows_keep_their_highest_intervals() {
    let mut long = point(8, 1, 100.0, 1_000_000);
    // The last interval ends with the window.
    long.window_s = 999.5;
    let all = &mut long.series.as_mut().unwrap().all;
    all.count = vec![1; 1000];
    all.p99_ns = (0..1000)
        .map(|second| Some(1000 + second * 7 % 100))
        .collect();
    all.p99_ns[500] = Some(77_777);
    let study = study(&[("a", run(vec![long]))]);
    let plot = plot(&study, "01-file-server-time-p99");
    let points = &plot.lines[0].points;
    assert_eq!(points.len(), 112, "of 9 intervals each");
    assert_eq!(points.last().unwrap().x, 999.5);
    let highest = points.iter().find(|point| point.y == 77_777.0).unwrap();
    assert_eq!(highest.x, 504.0);
}

#[test]
fn what_moves_no_data_is_plotted_by_operations() {
    let mut points = vec![point(1, 1, 0.0, 1_000_000), point(8, 1, 0.0, 2_000_000)];
    points[0].ops_per_s = 100.0;
    points[1].ops_per_s = 300.0;
    let plot = plot(&study(&[("a", run(points))]), "01-file-server-operations");
    assert_eq!(
        numbers(&plot.lines[0]),
        [(1.0, 100.0, true), (8.0, 300.0, true)]
    );
    assert_eq!(plot.y.quantity, Quantity::Rate);
}

#[test]
fn what_is_not_valid_is_named_in_the_legend() {
    assert!(drawn::simple().to_svg().unwrap().contains("not valid"));
    let study = study(&[(
        "a",
        run(vec![
            point(1, 1, 5.0, 1000),
            dropped(point(2, 1, 5.0, 1000)),
        ]),
    )]);
    let named = plot(&study, "01-file-server-throughput");
    assert!(named.to_svg().unwrap().contains("not valid"));
    let report = format!("{:?}", report(&study));
    assert!(
        report.contains("Hollow, not valid, !: a at 2 clients: 1 client dropped out"),
        "{report}"
    );
}
