//! Whole listings of folders of several sizes: their time against the number of entries. The
//! profiles that list have sections of their own, too.

use std::collections::BTreeMap;

use smbench_report::curve::CurveRow;
use smbench_report::study::Study;
use smbench_report::table::{Cell, Column, Table};
use smbench_report::units;

use super::profile::{ProfileContent, clients, limits};
use crate::plot::{Axis, Doubt, Line, Plot, PlotPoint, PointValidity, Quantity};
use crate::report::Section;

/// The operation that lists a folder.
const LIST: &str = "list";

/// Listings of one folder on one server, at its fewest clients.
struct Listed<'a> {
    server: usize,
    name: &'a str,
    /// Names in the folder.
    entries: u64,
    row: &'a CurveRow<'a>,
    /// Mean time of a whole listing.
    mean_ns: f64,
}

/// Returns the section; `None` unless folders of different sizes were listed.
pub(super) fn section(study: &Study, profiles: &[ProfileContent<'_>]) -> Option<Section> {
    let servers = profiles.iter().flat_map(|profile| &profile.servers);
    let listed = servers.filter_map(|server| {
        let row = server.curve.rows.first()?;
        Some(Listed {
            server: server.number,
            name: server.name,
            entries: entries(row)?,
            row,
            mean_ns: row.latency_ns?.mean,
        })
    });
    let listed: Vec<_> = listed.collect();
    let mut by_size: BTreeMap<u64, Vec<&Listed<'_>>> = BTreeMap::new();
    for listing in &listed {
        by_size.entry(listing.entries).or_default().push(listing);
    }
    if by_size.len() < 2 {
        return None;
    }
    let mut section = Section::new("Results: listings by entries");
    section.plot(plot(study, &by_size));
    section.table(table(study, &by_size));
    Some(section)
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

/// Plots the time of a listing against the entries, with a line for each server.
fn plot(study: &Study, by_size: &BTreeMap<u64, Vec<&Listed<'_>>>) -> Plot {
    let lines = (0..study.doc.servers.len()).filter_map(|server| {
        let all = by_size.values().flatten();
        let mut found = all.filter(|listed| listed.server == server).peekable();
        let name = found.peek()?.name.to_owned();
        Some(Line {
            name,
            style: server,
            points: found.map(|listed| point(listed)).collect(),
        })
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

fn point(listed: &Listed<'_>) -> PlotPoint {
    let mut label = format!(
        "{} entries, {}: {}",
        listed.entries,
        clients(listed.row.clients),
        units::latency(listed.mean_ns)
    );
    if let Some(reasons) = limits(listed.row) {
        label += &format!("; client-limited: {reasons}");
    }
    PlotPoint {
        x: listed.entries as f64,
        y: listed.mean_ns,
        spread: None,
        validity: if listed.row.is_valid() {
            PointValidity::Valid
        } else {
            PointValidity::Invalid
        },
        doubt: Doubt::of_mean(&listed.row.passes),
        label,
    }
}

/// Returns the times of all servers, with a row for each number of entries.
fn table(study: &Study, by_size: &BTreeMap<u64, Vec<&Listed<'_>>>) -> Table {
    let of_server = |listed: &&&Listed<'_>, server| listed.server == server;
    let has_any = |server: &usize| {
        let mut all = by_size.values().flatten();
        all.any(|listed| of_server(&listed, *server))
    };
    let servers: Vec<_> = (0..study.doc.servers.len()).filter(has_any).collect();
    let mut columns = vec![Column::number("entries")];
    let names = servers.iter().map(|server| study.doc.server_name(*server));
    columns.extend(names.map(Column::number));
    let rows = by_size.iter().map(|(entries, listed)| {
        let mut cells = vec![Cell::count(*entries)];
        cells.extend(servers.iter().map(|server| {
            let found = listed.iter().find(|listed| of_server(listed, *server));
            Cell::latency(found.map(|listed| listed.mean_ns))
        }));
        cells
    });
    Table {
        title: "Mean time of a whole listing".to_owned(),
        columns,
        rows: rows.collect(),
        notes: Vec::new(),
    }
}
