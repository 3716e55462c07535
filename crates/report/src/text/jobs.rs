//! Jobs: load points that ended when each client had done its number of actions.

use smbench_model::kind::OpKind;

use crate::doc::{LoadPointDoc, OpDoc, RunDoc, is_asked_for};
use crate::table::{Cell, Column, Table};
use crate::units::{self, plain};

/// Name of the operation whose count is that of directories.
const WALK: &str = OpKind::Walk.name();
/// Name of an action that took no request. Without it, a job has fewer actions than were asked for.
const FROM_MEMORY: &str = OpKind::ListCached.name();

/// Returns the files among the entries of a walk: those that are no directories of it. Where a
/// directory could not be listed, they are not known.
fn files(point: &LoadPointDoc, name: &str, op: &OpDoc, walks: u64) -> Option<u64> {
    let is_whole = name == WALK && op.errors == 0 && point.valid;
    // A walk begins in a directory that is no entry.
    let roots = walks * u64::from(point.clients);
    let directories = op.count.checked_sub(roots)?;
    op.entries
        .unwrap_or(0)
        .checked_sub(directories)
        .filter(|_| is_whole)
}

/// Returns how long each job took, and its rates; `None` if load points ended by the clock.
#[must_use]
pub fn jobs(doc: &RunDoc) -> Option<Table> {
    let each = doc.plan.count?;
    let ops = || doc.load_points.iter().flat_map(|point| point.ops.values());
    let lists = ops().any(|op| op.entries.is_some());
    let mut names = doc.load_points.iter().flat_map(|point| point.ops.keys());
    let walks = names.any(|name| name == WALK);
    let carries = ops().any(|op| op.bytes > 0);
    let mut columns = vec![
        Column::number("clients"),
        Column::text("op"),
        Column::number("count"),
    ];
    columns.extend(walks.then(|| Column::number("files")));
    columns.extend(lists.then(|| Column::number("entries")));
    columns.extend(["seconds", "per second"].map(Column::number));
    columns.extend(walks.then(|| Column::number("files/s")));
    columns.extend(lists.then(|| Column::number("entries/s")));
    columns.extend(carries.then(|| Column::number("MB/s")));
    let row = |point: &LoadPointDoc, name: &str, op: &OpDoc| {
        let per_s = |amount: u64| (point.window_s > 0.0).then(|| amount as f64 / point.window_s);
        let mark = if point.valid { "" } else { "! " };
        let rate = |amount: u64| Cell::of(per_s(amount), units::rate).marked(mark);
        let megabytes = per_s(op.bytes).map(|bytes| bytes / 1e6);
        let files = files(point, name, op, each);
        let mut cells = vec![
            Cell::load("", point.load()),
            Cell::from(plain(name)),
            Cell::count(op.count),
        ];
        cells.extend(walks.then(|| Cell::or_dash(files.map(Cell::count))));
        cells.extend(lists.then(|| Cell::count(op.entries.unwrap_or(0))));
        cells.extend([
            Cell::number(point.window_s, format!("{:.3}", point.window_s)),
            rate(op.count),
        ]);
        cells.extend(walks.then(|| Cell::of(files.and_then(per_s), units::rate).marked(mark)));
        cells.extend(lists.then(|| rate(op.entries.unwrap_or(0))));
        cells.extend(carries.then(|| Cell::of(megabytes, units::throughput).marked(mark)));
        cells
    };
    let points = doc.load_points.iter();
    let rows = points.flat_map(|point| {
        let is_shown = |name: &str| is_asked_for(name) || name == FROM_MEMORY;
        let ops = point.ops.iter().filter(move |(name, _)| is_shown(name));
        ops.map(move |(name, op)| row(point, name, op))
    });
    let title = "each client's work from beginning to end";
    let mut table = Table::of(title, columns, rows.collect());
    let of_walks = "count: directories that were listed, by all clients in all loops";
    table.notes.extend(walks.then(|| of_walks.to_owned()));
    Some(table)
}
