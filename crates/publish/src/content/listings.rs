//! Whole listings of folders of several sizes: their time against the number of entries. Listings
//! that ask the server for something else stand apart. The profiles that list have sections of
//! their own, too.

use std::collections::{BTreeMap, BTreeSet};
use std::iter;

use itertools::Itertools as _;
use smbench_report::RunDoc;
use smbench_report::curve::CurveRow;
use smbench_report::doc::OperationDoc;
use smbench_report::table::{Cell, Column, Table};
use smbench_report::units;

use super::curves;
use super::latency::validity;
use super::point_metric::MEAN;
use super::profile::{MeasuredServer, ProfileContent, clients, limits, reasons};
use crate::plot::{Axis, Doubt, Line, Plot, PlotPoint, Quantity};
use crate::report::Section;

/// The operation that lists a folder.
const LIST: &str = "list";

/// Listings on one server that ask for the same.
struct ListingLine<'a> {
    server: &'a MeasuredServer<'a>,
    asked: Vec<&'a OperationDoc>,
    /// The profile, if an earlier line is of the same listings with as many entries.
    profile: Option<&'a str>,
    /// The load point of the fewest clients by the entries of a listing.
    rows: BTreeMap<u64, &'a CurveRow<'a>>,
}

/// Returns the section; `None` unless folders of different sizes were listed.
pub(super) fn section(profiles: &[ProfileContent<'_>]) -> Option<Section> {
    let lines = lines(profiles);
    if lines.iter().all(|line| line.rows.len() < 2) {
        return None;
    }
    let names = names(&lines);
    let mut section = Section::new("Results: listings by entries");
    section.plot(plot(&lines, &names));
    section.table(table(&lines, &names));
    Some(section)
}

/// Returns the listings of all profiles, those of a server together.
fn lines<'a>(profiles: &'a [ProfileContent<'a>]) -> Vec<ListingLine<'a>> {
    let mut lines: Vec<ListingLine<'a>> = Vec::new();
    let of_profile = |profile: &'a ProfileContent<'a>| {
        let servers = profile.servers.iter();
        servers.map(move |server| (profile.name, server))
    };
    for (profile, server) in profiles.iter().flat_map(of_profile) {
        let first = server.curve.rows.first();
        let first = first.filter(|row| row.latency_ns.is_some());
        let Some((entries, row)) = first.and_then(|row| Some((entries(row)?, row))) else {
            continue;
        };
        let asked = asked(server.run);
        let is_alike =
            |line: &ListingLine<'_>| line.server.number == server.number && line.asked == asked;
        let has_alike = lines.iter().any(is_alike);
        let mut alike = lines.iter_mut().filter(|line| is_alike(line));
        match alike.find(|line| !line.rows.contains_key(&entries)) {
            Some(line) => {
                line.rows.insert(entries, row);
            }
            None => lines.push(ListingLine {
                server,
                profile: has_alike.then_some(profile),
                rows: BTreeMap::from([(entries, row)]),
                asked,
            }),
        }
    }
    lines.sort_by_key(|line| line.server.number);
    lines
}

/// Returns the names that each listing of a load point had; `None` unless clients did nothing but
/// list.
fn entries(row: &CurveRow<'_>) -> Option<u64> {
    let is_other = |done: u64, lists: u64| done != lists;
    let (mut lists, mut names) = (0, 0);
    for pass in &row.passes {
        let list = pass.ops.get(LIST)?;
        if is_other(pass.asked_for().map(|op| op.count).sum(), list.count) {
            return None;
        }
        lists += list.count;
        names += list.entries?;
    }
    names.checked_div(lists)
}

/// Returns the operations of a run that list, each once.
fn asked(run: &RunDoc) -> Vec<&OperationDoc> {
    let workloads = run.plan.workloads();
    let mut asked: Vec<&OperationDoc> = Vec::new();
    for op in workloads.flat_map(|workload| &workload.operations) {
        let is_same = |known: &&OperationDoc| known.parameters == op.parameters;
        if op.op == LIST && !asked.iter().any(is_same) {
            asked.push(op);
        }
    }
    asked
}

/// Returns the names of the lines: the servers, and what tells lines of a server apart.
fn names(lines: &[ListingLine<'_>]) -> Vec<String> {
    let asked = || lines.iter().flat_map(|line| line.asked.iter().copied());
    let keys: BTreeSet<_> = asked().flat_map(|op| op.parameters.keys()).collect();
    let differs = |key: &&String| !asked().map(|op| op.parameters.get(*key)).all_equal();
    let differing: Vec<_> = keys.into_iter().filter(differs).collect();
    let of_one = |op: &&OperationDoc| differing.iter().map(|key| op.parameter(key)).join(", ");
    let name = |line: &ListingLine<'_>| {
        let mut words: Vec<_> = line.asked.iter().map(of_one).collect();
        words.retain(|words| !words.is_empty());
        let asked = words.join(" and ");
        let asked = Some(&asked[..]).filter(|words| !words.is_empty());
        let words = asked.into_iter().chain(line.profile).join(", ");
        if words.is_empty() {
            line.server.name.to_owned()
        } else {
            format!("{} ({words})", line.server.name)
        }
    };
    lines.iter().map(name).collect()
}

/// Plots the time of a listing against the entries. The first line of a server has its style.
fn plot(lines: &[ListingLine<'_>], names: &[String]) -> Plot {
    let styles = lines.iter().map(|line| line.server.number + 1);
    let mut free = styles.max().unwrap_or(0)..;
    let mut before = None;
    let lines = lines.iter().zip(names).map(|(line, name)| {
        let style = line.server.number;
        let is_further = before.replace(style) == Some(style);
        let other = is_further.then(|| free.next()).flatten();
        Line {
            name: name.clone(),
            style: other.unwrap_or(style),
            points: {
                let rows = line.rows.iter();
                rows.filter_map(|(entries, row)| point(*entries, row))
                    .collect()
            },
        }
    });
    Plot {
        // 00, because profiles are counted from 1.
        name: "00-listings".to_owned(),
        title: "time of a whole listing by entries".to_owned(),
        x: Axis::new("entries", Quantity::Entries),
        y: Axis::new("mean time of a listing", Quantity::WideLatency),
        lines: lines.collect(),
        notes: Vec::new(),
        marks: Vec::new(),
    }
}

fn point(entries: u64, row: &CurveRow<'_>) -> Option<PlotPoint> {
    let mean_ns = (MEAN.of_row)(row)?;
    let mut label = format!(
        "{entries} entries, {}: {}",
        clients(row.clients),
        units::latency(mean_ns)
    );
    if let Some(reasons) = limits(row) {
        label += &format!("; client-limited: {reasons}");
    }
    if !row.is_valid() {
        label += &format!("; not valid: {}", reasons(row));
    }
    Some(PlotPoint {
        x: entries as f64,
        y: mean_ns,
        spread: None,
        validity: validity(row),
        doubt: Doubt::of_mean(&row.passes),
        label,
    })
}

/// Returns the times with a column for each line, and a row for each number of entries.
fn table(lines: &[ListingLine<'_>], names: &[String]) -> Table {
    let sizes: BTreeSet<_> = lines.iter().flat_map(|line| line.rows.keys()).collect();
    let columns = iter::once(Column::number("entries")).chain(names.iter().map(Column::number));
    let rows = sizes.into_iter().map(|entries| {
        let cells = lines.iter().map(|line| {
            let row = line.rows.get(entries);
            Cell::or_dash(row.map(|row| curves::cell(row, &MEAN)))
        });
        let entries = iter::once(Cell::count(*entries));
        entries.chain(cells).collect::<Vec<_>>()
    });
    let shown = lines.iter().flat_map(|line| line.rows.values().copied());
    Table {
        title: "Mean time of a whole listing".to_owned(),
        columns: columns.collect(),
        rows: rows.collect(),
        notes: curves::marks(shown, &[&MEAN]),
    }
}
