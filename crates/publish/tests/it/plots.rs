//! Plots: their content, and whether points are drawn where the numbers say.

use resvg::tiny_skia::Pixmap;
use resvg::usvg::{Options, Tree, roxmltree};
use smbench_publish::plot::{Axis, Doubt, Line, Plot, Point, Quantity, Rasterizer, Standing};
use smbench_publish::report;
use smbench_report::doc::ServerCpuDoc;
use smbench_report::latency::{Hdr, pool};
use smbench_report::study::{Study, TransferMode};

use crate::samples::{dropped, full, point, result, run, study, transfer};

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
        .map(|point| (point.x, point.y, point.standing != Standing::Invalid))
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
    let study = study(&[("NAS", run(passes.clone()))]);
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
    assert_eq!(plot.notes, ["with a ring: client-limited"]);
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
    assert_eq!(plot.notes, ["with a ring: client-limited"]);
    let (mean, _) = doubts("response-mean");
    assert_eq!(mean, [Doubt::None, Doubt::Stalled, Doubt::None]);
    let (p99, plot) = doubts("response-p99");
    assert_eq!(p99, [Doubt::None, Doubt::Stalled, Doubt::LateAnswers]);
    let words = "with a ring: percentiles may be too high, answers were handled late";
    assert_eq!(plot.notes[0], words);
    assert!(plot.to_svg().unwrap().contains("late answers"));
    let (distribution, plot) = doubts("percentiles");
    let certain = distribution.iter().filter(|doubt| **doubt == Doubt::None);
    assert_eq!(certain.count(), 6, "up to p95");
    assert_eq!(distribution.last(), Some(&Doubt::LateAnswers));
    assert_eq!(
        plot.notes,
        ["NAS at 8 clients: p99 and higher may be too high, answers were handled late"]
    );
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
        .map(|point| point.standing == Standing::AfterGap);
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

/// Returns a plot with a line whose markers are circles over round numbers.
fn simple() -> Plot {
    let valid = |x: f64, y: f64, standing| Point {
        x,
        y,
        spread: None,
        standing,
        doubt: Doubt::None,
        label: String::new(),
    };
    Plot {
        name: "simple".to_owned(),
        title: "Simple".to_owned(),
        x: Axis::new("clients", Quantity::Clients),
        y: Axis::new("throughput", Quantity::Throughput),
        lines: vec![Line {
            name: "a".to_owned(),
            style: 0,
            points: vec![
                valid(0.0, 0.0, Standing::Valid),
                valid(5.0, 50.0, Standing::Invalid),
                valid(10.0, 100.0, Standing::Valid),
            ],
        }],
        notes: Vec::new(),
    }
}

#[test]
fn points_lie_where_the_axes_say() {
    let svg = simple().to_svg().unwrap();
    let tree = roxmltree::Document::parse(&svg).unwrap();
    let number = |node: &roxmltree::Node<'_, '_>, name: &str| -> f64 {
        node.attribute(name).unwrap().parse().unwrap()
    };
    let circles = || {
        tree.descendants()
            .filter(|node| node.has_tag_name("circle"))
    };
    let is_spot = |node: &roxmltree::Node<'_, '_>| node.attribute("class") == Some("point");
    let place = |node: roxmltree::Node<'_, '_>| (number(&node, "cx"), number(&node, "cy"));
    let spots: Vec<_> = circles().filter(is_spot).map(place).collect();
    let [start, middle, end] = spots[..] else {
        panic!("{spots:?}");
    };
    for (one, other) in [(start, middle), (middle, end)] {
        assert!(
            (other.0 - one.0 - (end.0 - start.0) / 2.0).abs() <= 1.0,
            "{spots:?}"
        );
        assert!(
            (other.1 - one.1 - (end.1 - start.1) / 2.0).abs() <= 1.0,
            "{spots:?}"
        );
    }
    assert!(end.0 > start.0 && end.1 < start.1, "to the right and up");
    // Each has the visible marker below it.
    for spot in &spots {
        let seen = |node: &roxmltree::Node<'_, '_>| !is_spot(node) && place(*node) == *spot;
        assert!(circles().any(|node| seen(&node)), "{spot:?}");
    }
    // The labels at the axes are where points of that value are.
    let text = |content: &str| {
        let mut texts = tree.descendants().filter(|node| node.has_tag_name("text"));
        texts.find(|node| node.text().is_some_and(|text| text.trim() == content))
    };
    let hundred = text("100").unwrap();
    assert!(
        (number(&hundred, "y") - end.1).abs() <= 8.0,
        "within a pixel"
    );
    let ten = text("10").unwrap();
    assert!((number(&ten, "x") - end.0).abs() <= 8.0, "within a pixel");
    // The line leaves out invalid points.
    let lines = tree
        .descendants()
        .filter(|node| node.has_tag_name("polyline"));
    let drawn = lines.filter_map(|node| node.attribute("points"));
    let whole = format!("{},{} {},{}", start.0, start.1, end.0, end.1);
    assert!(
        drawn.into_iter().any(|points| points.trim() == whole),
        "{svg}"
    );
}

#[test]
fn plots_in_pages_have_no_colour_of_their_own() {
    let svg = simple().to_inline_svg().unwrap();
    assert!(!svg.contains("\"#"), "{svg}");
    for variable in ["--ink", "--axis", "--grid", "--paper", "--line-0"] {
        assert!(svg.contains(&format!("\"var({variable})\"")), "{variable}");
    }
}

#[test]
fn pictures_have_lines_and_letters() {
    let png = Rasterizer::new().png(&simple()).unwrap();
    let picture = Pixmap::decode_png(&png).unwrap();
    let tree = Tree::from_str(&simple().to_svg().unwrap(), &Options::default()).unwrap();
    assert_eq!(picture.width(), 2 * tree.size().to_int_size().width());
    let count = |colour: (u8, u8, u8)| {
        let pixels = picture.pixels().iter();
        let same = pixels.filter(|pixel| (pixel.red(), pixel.green(), pixel.blue()) == colour);
        same.count()
    };
    // Lines are four pixels wide here; the inside of letters has one colour.
    assert!(count((0x00, 0x72, 0xB2)) > 1000, "the line");
    assert!(count((0x1B, 0x1F, 0x24)) > 1000, "titles");
    assert!(count((0x57, 0x60, 0x6A)) > 500, "numbers and axes");
}

#[test]
fn what_is_not_valid_is_named_in_the_legend() {
    assert!(simple().to_svg().unwrap().contains("not valid"));
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
        report.contains("Hollow, not valid: a at 2 clients: 1 client dropped out"),
        "{report}"
    );
}

/// Returns transfers of two sizes in one direction, and of one size in another. One
/// server has measured CPU figures, the other has none.
fn transfers() -> Study {
    let of = |throughput_mbps: f64, cpu: Option<(&str, f64)>| {
        let mut measured = point(20, 1, throughput_mbps, 400_000);
        let looked = ServerCpuDoc {
            source: "somewhere".to_owned(),
            not_measured: None,
            scope: None,
            cores: Some(4),
            busy_s: None,
            percent: None,
            us_per_op: None,
            mbps_per_percent: None,
            ops_per_s_per_percent: None,
        };
        measured.server_cpu = cpu.map(|(scope, percent)| ServerCpuDoc {
            scope: Some(scope.to_owned()),
            percent: Some(percent),
            ..looked
        });
        run(vec![measured])
    };
    let mut study = study(&[
        ("known", of(100.0, Some(("machine", 10.0)))),
        ("unknown", of(300.0, None)),
    ]);
    let transfers = [
        (TransferMode::Transmit, 65_536),
        (TransferMode::Transmit, 4096),
        (TransferMode::Receive, 4096),
    ];
    study.doc.transfers = transfers.map(|(mode, bytes)| transfer(mode, bytes)).into();
    let names = study.doc.transfers.iter().map(|made| made.profile.clone());
    study.doc.profiles = names.collect();
    let mut small = of(20.0, Some(("machine", 40.0)));
    small.load_points[0].generator_limited = Some(true);
    study.results.extend([
        result(0, 1, small),
        result(1, 1, of(30.0, None)),
        result(0, 2, of(10.0, Some(("machine", 10.0)))),
    ]);
    study
}

#[test]
fn transfers_are_plotted_by_the_size_of_requests() {
    let mut study = transfers();
    let throughput = plot(&study, "00-transmit-throughput");
    assert_eq!(throughput.x.quantity, Quantity::Bytes);
    let lines: Vec<_> = throughput.lines.iter().map(numbers).collect();
    assert_eq!(
        lines,
        [
            [(4096.0, 20.0, true), (65_536.0, 100.0, true)],
            [(4096.0, 30.0, true), (65_536.0, 300.0, true)]
        ]
    );
    let smallest = &throughput.lines[0].points[0];
    assert_eq!(smallest.doubt, Doubt::ClientLimited);
    assert!(
        smallest
            .label
            .starts_with("4 KiB, 20 clients: 20.0 Mbit/s; client-limited"),
        "{}",
        smallest.label
    );
    let index = plot(&study, "00-transmit-index");
    assert_eq!(
        numbers(&index.lines[0]),
        [(4096.0, 0.5, true), (65_536.0, 10.0, true)]
    );
    assert!(index.lines[1].points.is_empty(), "nobody knows its CPU");
    assert_eq!(index.lines[0].name, "known");
    let drawn = index.to_svg().unwrap();
    assert!(
        drawn.contains("64 KiB") && !drawn.contains("unknown"),
        "{drawn}"
    );
    // A client with two sessions counts as one.
    for transfer in &mut study.doc.transfers {
        transfer.generators_per_client = 2;
    }
    let twofold = plot(&study, "00-transmit-throughput");
    let label = &twofold.lines[0].points[0].label;
    assert!(label.starts_with("4 KiB, 10 clients: "), "{label}");
    let told = format!("{:?}", report(&study));
    assert!(told.contains("2 clients in them are one."), "{told}");
    // With one size there is nothing to draw.
    let is_of = |mode: &str| {
        let start = format!("00-{mode}-");
        report(&study)
            .plots()
            .any(|plot| plot.name.starts_with(&start))
    };
    assert_eq!((is_of("transmit"), is_of("receive")), (true, false));

    // Figures that cannot be compared have separate lines.
    for result in study.results.iter_mut().filter(|result| result.server == 1) {
        let cpu = transfers().results[0].run.load_points[0].server_cpu.clone();
        let cpu = cpu.map(|cpu| ServerCpuDoc {
            scope: Some("processes".to_owned()),
            ..cpu
        });
        result.run.load_points[0].server_cpu = cpu;
    }
    let mixed = plot(&study, "00-transmit-index");
    let names: Vec<_> = mixed.lines.iter().map(|line| &*line.name).collect();
    assert_eq!(
        names,
        ["known (CPU of machine)", "unknown (CPU of processes)"]
    );
    assert!(
        mixed.notes[1].ends_with("do not compare"),
        "{:?}",
        mixed.notes
    );
    // A line of both kinds says so, no matter which kind its smallest size has.
    let largest = &mut study.results[0].run.load_points[0];
    let cpu = largest.server_cpu.as_mut().unwrap();
    cpu.scope = Some("processes".to_owned());
    let both = plot(&study, "00-transmit-index");
    assert_eq!(both.lines[0].name, "known (CPU of processes and machine)");
}
