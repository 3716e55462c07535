//! Reports in a browser.

use std::fs;

use smbench_publish::save;
use smbench_report::study::Study;

use crate::chromium::{is_here, visit};
use crate::samples::full;

/// A point in the page: the plot, the line, x, y, and whether it is valid.
#[derive(Clone, Debug, PartialEq)]
struct Seen {
    plot: String,
    line: usize,
    x: f64,
    y: f64,
    is_valid: bool,
}

/// Returns the value of an attribute of the first element in `html`.
fn attribute<'a>(html: &'a str, name: &str) -> &'a str {
    let tag = &html[..html.find('>').unwrap()];
    let (_, value) = tag.split_once(&format!(" {name}=\"")).unwrap();
    value.split_once('"').unwrap().0
}

fn points(dom: &str) -> Vec<Seen> {
    let mut seen = Vec::new();
    for svg in dom.split("<svg ").skip(1) {
        // The same plot for wide screens has no name.
        if svg.starts_with("class=\"page\"") {
            continue;
        }
        let plot = attribute(&format!(" {svg}"), "data-plot").to_owned();
        for circle in svg.split("<circle class=\"point\"").skip(1) {
            let number = |name| attribute(circle, name).parse().unwrap();
            seen.push(Seen {
                plot: plot.clone(),
                line: attribute(circle, "data-line").parse().unwrap(),
                x: number("data-x"),
                y: number("data-y"),
                is_valid: attribute(circle, "data-standing") == "valid",
            });
        }
    }
    seen
}

/// Returns the expected points of the throughput plot, computed from the documents
/// by hand.
fn throughput(study: &Study) -> Vec<Seen> {
    let mut expected = Vec::new();
    for (line, result) in study.results.iter().enumerate() {
        let points = &result.run.load_points;
        let mut clients: Vec<_> = points.iter().map(|point| point.clients).collect();
        clients.sort_unstable();
        clients.dedup();
        for clients in clients {
            let passes = points.iter().filter(|point| point.clients == clients);
            let is_valid = passes.clone().any(|point| point.valid);
            let counted = passes.filter(|point| point.valid == is_valid);
            let values: Vec<_> = counted.map(|point| point.throughput_mbps).collect();
            expected.push(Seen {
                plot: "01-file-server-throughput".to_owned(),
                line,
                x: f64::from(clients),
                y: values.iter().sum::<f64>() / values.len() as f64,
                is_valid,
            });
        }
    }
    expected
}

#[test]
fn a_browser_finds_the_points_and_nothing_to_complain_of_or_to_ask_for() {
    if !is_here() {
        return;
    }
    let study = full();
    let folder = tempfile::tempdir().unwrap();
    let written = save(&study, folder.path()).unwrap();
    let visit = visit(&written.page);
    assert_eq!(visit.console, [""; 0]);
    assert_eq!(visit.requests, [""; 0]);

    let seen = points(&visit.dom);
    let of = |plot: &str| -> Vec<_> {
        seen.iter()
            .filter(|seen| seen.plot == plot)
            .cloned()
            .collect()
    };
    assert_eq!(of("01-file-server-throughput"), throughput(&study));
    // Every point of every plot, in the order of the report.
    let report = smbench_publish::report(&study);
    let mut all = Vec::new();
    for plot in report.plots() {
        for (number, line) in plot.lines.iter().enumerate() {
            all.extend(
                line.points
                    .iter()
                    .map(|point| (&plot.name[..], number, point.x, point.y)),
            );
        }
    }
    let seen: Vec<_> = seen
        .iter()
        .map(|seen| (&seen.plot[..], seen.line, seen.x, seen.y))
        .collect();
    assert_eq!(seen, all);
    assert!(
        visit
            .dom
            .contains("<title>Samba, ignores them: 8 clients, 508.0 Mbit/s; ")
    );
    let file = fs::read_to_string(&written.page).unwrap();
    assert_eq!(
        visit.dom.matches("<svg").count(),
        file.matches("<svg").count(),
        "no plot got lost in markup"
    );
}

/// The checks above detect a bad page.
#[test]
fn a_bad_page_is_found_out() {
    if !is_here() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let page = folder.path().join("bad.html");
    let html = "<!DOCTYPE html><title>bad</title><img src='http://files.example/x.png'>\
                <script>console.error('trouble')</script>";
    fs::write(&page, html).unwrap();
    let bad = visit(&page);
    assert!(
        bad.console.iter().any(|line| line.contains("trouble")),
        "{bad:?}"
    );
    assert_eq!(bad.requests, ["http://files.example/x.png"]);
}
