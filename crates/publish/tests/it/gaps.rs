//! Reports of studies that are empty or incomplete: they name the gaps.

use std::fs;

use smbench_publish::plot::PointValidity;
use smbench_publish::{Report, report, save, to_html, to_markdown};
use smbench_report::study::{ComparisonKind, Study};

use crate::samples::{comparison, dropped, point, run, server, study};

/// Returns the report, and its text in both formats. Writing it is a part of the
/// test.
fn texts(study: &Study) -> (Report, String) {
    let folder = tempfile::tempdir().unwrap();
    let written = save(study, folder.path()).unwrap();
    let report = report(study);
    assert_eq!(written.plot_count, report.plots().count());
    assert_eq!(
        fs::read_dir(&written.plots).unwrap().count(),
        3 * written.plot_count,
        "an SVG, a PNG and a CSV of each"
    );
    let page = fs::read_to_string(&written.page).unwrap();
    assert_eq!(page, to_html(&report).unwrap());
    let markdown = fs::read_to_string(&written.markdown).unwrap();
    assert_eq!(markdown, to_markdown(&report));
    let csv = fs::read_to_string(&written.csv).unwrap();
    assert!(
        csv.starts_with("server,profile,clients,repeat,valid,"),
        "{csv}"
    );
    (report, markdown)
}

#[test]
fn nothing_measured() {
    let mut study = study(&[("a", run(vec![point(1, 1, 5.0, 1000)]))]);
    study.results.clear();
    let (report, text) = texts(&study);
    assert_eq!(report.plots().count(), 0);
    assert!(text.contains("Nothing has been measured yet"), "{text}");
    assert!(text.contains("It has no results."), "{text}");
}

#[test]
fn nothing_asked_for() {
    let mut study = study(&[]);
    study.doc.profiles.clear();
    study.doc.command.clear();
    let (report, text) = texts(&study);
    assert_eq!(report.plots().count(), 0);
    assert!(text.contains("Nothing has been measured yet"), "{text}");
}

#[test]
fn a_server_without_results_is_named() {
    let mut study = study(&[(
        "here",
        run(vec![point(1, 1, 5.0, 1000), point(2, 1, 6.0, 1000)]),
    )]);
    study.doc.servers.push(server("there"));
    study.doc.profiles.push("web-server".to_owned());
    let (report, text) = texts(&study);
    assert!(text.contains("Not measured: there."), "{text}");
    assert!(
        text.contains("Nothing has been measured with this profile."),
        "{text}"
    );
    let lines: Vec<_> = report.plots().map(|plot| plot.lines.len()).collect();
    assert_eq!(lines, [1; 6]);
}

#[test]
fn a_run_that_was_stopped_before_its_first_load_point() {
    let (report, text) = texts(&study(&[("a", run(Vec::new()))]));
    assert_eq!(report.plots().count(), 0);
    assert!(
        text.contains("Nothing has been measured with this profile."),
        "{text}"
    );
}

#[test]
fn one_load_point_is_a_table_and_no_plot_by_clients() {
    let one = |clients| run(vec![point(clients, 1, 5.0, 100_000)]);
    let mut study = study(&[("a", one(8)), ("b", one(4))]);
    study.doc.comparisons = vec![comparison("a and b", ComparisonKind::Change, &["a", "b"])];
    let (report, text) = texts(&study);
    let titles: Vec<_> = report.plots().map(|plot| &plot.title[..]).collect();
    assert!(
        titles.iter().all(|title| !title.contains("by clients")),
        "{titles:?}"
    );
    let table = "| server | clients | Mbit/s | mean response | p99 |\n\
                 | --- | ---: | ---: | ---: | ---: |\n\
                 | a | 8 | 5.0 | 145 us | 500 us |\n\
                 | b | 4 | 5.0 | 145 us | 500 us |\n";
    assert!(text.contains(table), "{text}");
}

#[test]
fn nothing_valid_and_no_operation() {
    let mut idle = dropped(point(8, 1, 0.0, 1000));
    idle.ops.clear();
    idle.latency_ns = None;
    idle.ops_per_s = 0.0;
    idle.series = None;
    let (report, text) = texts(&study(&[("a", run(vec![idle]))]));
    assert!(text.contains("no operation was answered"), "{text}");
    assert!(text.contains("No operations were measured."), "{text}");
    assert!(text.contains("1 client dropped out"), "{text}");
    assert!(text.contains(r"| a | 8 | \! 0.00 | - | - |"), "{text}");
    assert_eq!(report.plots().count(), 0);
}

#[test]
fn a_window_of_one_second_has_no_course() {
    let mut short = point(8, 1, 5.0, 1000);
    for columns in short.series.iter_mut().map(|series| &mut series.all) {
        columns.p50_ns.truncate(1);
        columns.p99_ns.truncate(1);
    }
    let (report, _) = texts(&study(&[("a", run(vec![short]))]));
    let names: Vec<_> = report.plots().map(|plot| &plot.name[..]).collect();
    assert_eq!(names, ["01-file-server-percentiles"]);
}

/// A server without quotable results is marked hollow everywhere.
#[test]
fn a_server_without_a_valid_load_point_is_marked_everywhere() {
    let (report, text) = texts(&study(&[("a", run(vec![dropped(point(8, 1, 5.0, 1000))]))]));
    let courses: Vec<_> = report
        .plots()
        .filter(|plot| plot.name.contains("-time-"))
        .collect();
    assert_eq!(courses.len(), 2);
    for plot in courses {
        let points = &plot.lines[0].points;
        assert_eq!(points.len(), 10, "{}", plot.name);
        let mut standings = points.iter().map(|point| point.validity);
        assert!(
            standings.all(|validity| validity == PointValidity::Invalid),
            "{}",
            plot.name
        );
    }
    for part in [
        r"| a | \! 8 | 1000 |",
        r"- \!: not valid: no pass there is",
        r"a: operations at 8 clients",
        r"| read | \! 1000 | \! 100 % |",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
}

#[test]
fn no_load_that_all_bore() {
    let one = run(vec![point(1, 1, 5.0, 1000), point(2, 1, 6.0, 1000)]);
    let other = run(vec![
        point(4, 1, 5.0, 1000),
        dropped(point(2, 1, 6.0, 1000)),
    ]);
    let (report, text) = texts(&study(&[("one", one), ("other", other)]));
    let plot = report
        .plots()
        .find(|plot| plot.name.ends_with("percentiles"))
        .unwrap();
    assert!(
        plot.title.ends_with("at each server's peak"),
        "{}",
        plot.title
    );
    let names: Vec<_> = plot.lines.iter().map(|line| &line.name[..]).collect();
    assert_eq!(names, ["one (2 clients)", "other (4 clients)"]);
    assert!(
        text.contains("no load point is valid for all servers"),
        "{text}"
    );
}

#[test]
fn numbers_that_no_machine_reaches_are_drawn_all_the_same() {
    let (report, _) = texts(&study(&[(
        "a",
        run(vec![
            point(1, 1, 1e300, 1),
            point(u32::MAX, 1, 1e-300, 60_000_000_000),
        ]),
    )]));
    assert_eq!(report.plots().count(), 6);
}
