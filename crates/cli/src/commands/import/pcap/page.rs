//! The summary of a capture, or two side by side, as a page of plots.

use std::cmp::Reverse;

use smbench_capture::{CaptureSummary, CommandSummary, ConcurrencyInterval};
use smbench_publish::plot::{Axis, Doubt, Line, Plot, PlotPoint, PointValidity, Quantity};
use smbench_publish::{Report, ReportBlock, Section, WriteError, to_html};
use smbench_report::block::Block;
use smbench_report::units::{bytes, latency, percent, seconds};

use crate::failure::Failure;

/// Commands in the plot of service times.
const COMMANDS_MAX: usize = 6;

/// Captures of a page with their names.
type Captures<'a> = [(&'a str, &'a CaptureSummary)];

/// Returns the page. The blocks are those of the text.
pub(super) fn page(captures: &Captures<'_>, blocks: Vec<Block>) -> Result<String, Failure> {
    let names: Vec<_> = captures.iter().map(|(name, _)| *name).collect();
    let plots = plots(captures).into_iter().filter(|plot| !plot.is_empty());
    let section = |title: &str, blocks| Section {
        title: title.to_owned(),
        blocks,
        parts: Vec::new(),
    };
    let report = Report {
        title: format!("Capture {}", names.join(" and ")),
        day: String::new(),
        lines: Vec::new(),
        sections: vec![
            section("Plots", plots.map(ReportBlock::Plot).collect()),
            section(
                "Numbers",
                blocks.into_iter().map(ReportBlock::Plain).collect(),
            ),
        ],
    };
    to_html(&report).map_err(|error| WriteError::from(error).into())
}

fn plots(captures: &Captures<'_>) -> Vec<Plot> {
    let mut plots = Vec::new();
    let intervals = captures.iter().map(|(_, one)| one.concurrency.interval_s);
    let longest = intervals.clone().max().unwrap_or(0);
    // Counts of intervals that differ in length do not compare.
    if intervals.min() == Some(longest) {
        plots.push(over_time(
            captures,
            "requests",
            format!("requests in each interval of {longest} s"),
            |interval| interval.requests,
        ));
        plots.push(over_time(
            captures,
            "in-flight",
            format!("most requests in flight, each {longest} s"),
            |interval| interval.in_flight,
        ));
    }
    plots.push(service_times(captures));
    plots.push(sizes(captures));
    plots
}

const fn point(x: f64, y: f64, label: String) -> PlotPoint {
    PlotPoint {
        x,
        y,
        spread: None,
        validity: PointValidity::Valid,
        doubt: Doubt::None,
        label,
    }
}

fn over_time(
    captures: &Captures<'_>,
    name: &str,
    title: String,
    of: fn(&ConcurrencyInterval) -> u64,
) -> Plot {
    let lines = captures.iter().enumerate().map(|(style, (name, summary))| {
        let length = summary.concurrency.interval_s;
        let intervals = (0..).zip(&summary.concurrency.intervals);
        let points = intervals.map(|(number, interval): (u64, _)| {
            let begin = (number * length) as f64;
            let label = format!("from {}: {}", seconds(begin), of(interval));
            point(begin, of(interval) as f64, label)
        });
        Line {
            name: (*name).to_owned(),
            style,
            points: points.collect(),
        }
    });
    Plot {
        name: name.to_owned(),
        x: Axis::new("time since the first request", Quantity::Time),
        y: Axis::new(title.clone(), Quantity::Index),
        title,
        lines: lines.collect(),
        notes: vec!["CHANGE_NOTIFY is left out, because it waits for other clients".to_owned()],
        marks: Vec::new(),
    }
}

/// Returns the name of a line: of a command, and of its capture if there are two.
fn line_name(command: &str, capture: &str, captures: &Captures<'_>) -> String {
    match captures {
        [_] => command.to_owned(),
        _ => format!("{command}, {capture}"),
    }
}

/// Plots percentiles of the commands that took most time in total.
fn service_times(captures: &Captures<'_>) -> Plot {
    let total = |command: &CommandSummary| {
        let mean = command.service_ns.map_or(0.0, |times| times.mean);
        // The cast is safe: it only orders commands.
        (mean * command.answered as f64) as u64
    };
    let first = captures.iter().take(1).flat_map(|(_, one)| &one.commands);
    // They wait for other clients.
    let mut shown: Vec<_> = first.filter(|(name, _)| *name != "change_notify").collect();
    shown.sort_by_key(|(name, command)| (Reverse(total(command)), *name));
    shown.truncate(COMMANDS_MAX);
    let mut lines = Vec::new();
    for (name, _) in shown {
        for (capture, summary) in captures {
            let Some(command) = summary.commands.get(name) else {
                continue;
            };
            let line = Line {
                name: line_name(name, capture, captures),
                style: lines.len(),
                points: percentiles(command),
            };
            lines.push(line);
        }
    }
    Plot {
        name: "service-times".to_owned(),
        title: "service times by command".to_owned(),
        x: Axis::new("percentile", Quantity::Percentile),
        y: Axis::new("service time", Quantity::WideLatency),
        lines,
        marks: Vec::new(),
        notes: vec![format!(
            "the {COMMANDS_MAX} commands with most service time in total, without CHANGE_NOTIFY"
        )],
    }
}

fn percentiles(command: &CommandSummary) -> Vec<PlotPoint> {
    let Some(times) = command.service_ns else {
        return Vec::new();
    };
    let known = [
        (1.0, times.min, "fastest"),
        (2.0, times.p50, "p50"),
        (10.0, times.p90, "p90"),
        (20.0, times.p95, "p95"),
        (100.0, times.p99, "p99"),
        (1000.0, times.p999, "p99.9"),
    ];
    // A percentile needs as many answers as its inverse share.
    let known = known.iter().filter(|(x, ..)| *x <= command.answered as f64);
    let points = known.map(|(x, time, name)| {
        let time = *time as f64;
        point(*x, time, format!("{name}: {}", latency(time)))
    });
    points.collect()
}

/// Plots which share of the requests is at most as large as each size.
fn sizes(captures: &Captures<'_>) -> Plot {
    let mut lines = Vec::new();
    for name in super::summary::SIZED {
        for (capture, summary) in captures {
            let Some(command) = summary.commands.get(name) else {
                continue;
            };
            let all = command.sized();
            // A logarithmic axis has no zero.
            let mut sum = command.sizes.get(&0).copied().unwrap_or(0);
            let sized = command.sizes.iter().filter(|(size, _)| **size > 0);
            let points = sized.map(|(&size, &count)| {
                sum += count;
                let share = 100.0 * sum as f64 / all as f64;
                let label = format!("{} or less: {}", bytes(size), percent(share));
                point(size as f64, share, label)
            });
            let line = Line {
                name: line_name(name, capture, captures),
                style: lines.len(),
                points: points.collect(),
            };
            lines.push(line);
        }
    }
    Plot {
        name: "sizes".to_owned(),
        title: "sizes of reads and writes".to_owned(),
        x: Axis::new("bytes asked for", Quantity::Bytes),
        y: Axis::new("requests that are not larger, %", Quantity::Index),
        lines,
        notes: Vec::new(),
        marks: Vec::new(),
    }
}
