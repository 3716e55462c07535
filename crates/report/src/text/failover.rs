//! Events of load points, and what the lost connections after them cost.

use std::cmp::Reverse;

use smbench_model::record::{FinalRead, OperationFailure};

use crate::curve::total;
use crate::doc::{EventDoc, InBlackoutDoc, LoadPointDoc, OpDoc, RunDoc};
use crate::event_costs::{self, cells, finds_lost_writes, name};
use crate::latency::{LatencyDoc, pool};
use crate::table::{Cell, Column, Table};
use crate::units::{self, counted, plain};

use super::remarks::cause;

/// Returns a row for each event of each load point; `None` if there was none.
#[must_use]
pub fn failover(doc: &RunDoc) -> Option<Table> {
    let points = doc.load_points.iter();
    let rows = points.flat_map(|point| {
        let events = point.events.iter();
        events.map(move |event| row(doc, point, event))
    });
    let rows: Vec<_> = rows.collect();
    if rows.is_empty() {
        return None;
    }
    let mut columns = places(doc);
    columns.push(Column::text("event"));
    columns.extend(event_costs::columns());
    let title = "events: clients, blackouts, handles, requests";
    let mut table = Table::of(title, columns, rows);
    table.notes = notes(doc);
    Some(table)
}

fn row(doc: &RunDoc, point: &LoadPointDoc, event: &EventDoc) -> Vec<Cell> {
    let mut row = place(doc, point);
    row.push(Cell::from(name(event)));
    row.extend(cells(event));
    row
}

/// Returns the columns of [`place`].
fn places(doc: &RunDoc) -> Vec<Column> {
    let pass = (doc.passes() > 1).then(|| Column::number("pass"));
    let clients = [Column::number("clients")].into_iter();
    clients.chain(pass).collect()
}

/// Returns the load, and the pass if there are several.
fn place(doc: &RunDoc, point: &LoadPointDoc) -> Vec<Cell> {
    let mark = if point.valid { "" } else { "! " };
    let pass = (doc.passes() > 1).then(|| Cell::count(point.repeat.into()));
    let load = [Cell::load(mark, point.load())].into_iter();
    load.chain(pass).collect()
}

/// Returns the latencies of each load point with the operations that were in a blackout, and
/// without them; `None` if there were none.
#[must_use]
pub fn blackouts(doc: &RunDoc) -> Option<Table> {
    let points = doc.load_points.iter().filter_map(|point| {
        let late = point.in_blackout.as_ref().filter(|late| late.count > 0)?;
        Some((point, late))
    });
    let points: Vec<_> = points.collect();
    let is_paced = points.iter().any(|(_, late)| late.response_hdr.is_some());
    let mut columns = places(doc);
    columns.extend([Column::text("operations"), Column::number("count")]);
    let times: &[&str] = if is_paced {
        &["service", "response"]
    } else {
        &["latency"]
    };
    for of in times {
        columns.extend(["p50", "p99", "max"].map(|name| Column::number(format!("{of} {name}"))));
    }
    let rows = points.into_iter().flat_map(|(point, late)| {
        let rows = with_and_without(point, late);
        rows.map(|(name, count, times)| {
            let mut row = place(doc, point);
            row.extend([Cell::from(name), Cell::count(count)]);
            let [service, response] = times;
            for times in std::iter::once(service).chain(is_paced.then_some(response)) {
                let of = |of: fn(LatencyDoc) -> u64| times.map(|times| of(times) as f64);
                let times = [of(|of| of.p50), of(|of| of.p99), of(|of| of.max)];
                row.extend(times.map(Cell::latency));
            }
            row
        })
    });
    let rows: Vec<_> = rows.collect();
    let title = "latencies with and without operations in a blackout";
    (!rows.is_empty()).then(|| Table::of(title, columns, rows))
}

/// Returns all operations of a load point and those outside of blackouts: their name, their
/// number, and their service and response times.
fn with_and_without(
    point: &LoadPointDoc,
    late: &InBlackoutDoc,
) -> [(&'static str, u64, [Option<LatencyDoc>; 2]); 2] {
    let service = pool(point.asked_for().map(|op: &OpDoc| &op.hdr));
    let all = [LatencyDoc::of(&service), point.latency_ns];
    let others = [late.others_service_ns, late.others_latency_ns];
    let count = service.len();
    [
        ("all", count, all),
        ("outside", count.saturating_sub(late.count), others),
    ]
}

/// Returns what the columns do not say: handles that were lost, by the server's answer, locks, and
/// the read after the load.
fn notes(doc: &RunDoc) -> Vec<String> {
    let events = || doc.load_points.iter().flat_map(|point| &point.events);
    let mut by = std::collections::BTreeMap::<&str, u64>::new();
    for (status, count) in events().flat_map(|event| &event.handles_lost_by) {
        *by.entry(status).or_default() += count;
    }
    let caching_lost = total(events().map(|event| event.caching_lost));
    let weaker = (caching_lost > 0).then(|| {
        let handles = counted(caching_lost, "kept handle");
        format!("{handles} with a lower oplock or lease than before")
    });
    let sum = |of: fn(&EventDoc) -> u64| total(events().map(of));
    let (kept, gone) = (sum(|event| event.locks_kept), sum(|event| event.locks_lost));
    let locks =
        (kept + gone > 0).then(|| format!("{kept} of {} kept", counted(kept + gone, "lock")));
    let channels = total(events().map(|event| event.channels_lost));
    let gone_on = (channels > 0).then(|| {
        let connections = counted(channels, "connection");
        format!("{connections} lost by clients that went on with another one")
    });
    let reads = doc
        .load_points
        .iter()
        .filter_map(|point| point.verification);
    let read = reads
        .filter_map(|reads| reads.final_read)
        .reduce(FinalRead::and);
    let read = read.map(|FinalRead { due, checked }| {
        let blocks = counted(due, "written block");
        format!("{checked} of {blocks} of 512 bytes checked after the load")
    });
    let lost = by.into_iter();
    let lost = lost.map(|(status, count)| {
        let handles = counted(count, "handle");
        match status {
            "not-granted" => format!("{handles} lost that the server had not promised to keep"),
            status => format!("{handles} lost with {}", plain(status)),
        }
    });
    lost.chain(weaker)
        .chain(locks)
        .chain(gone_on)
        .chain(read)
        .chain(failed(events()))
        .collect()
}

/// Returns what failed after events in another way than without an answer, a line for each of the
/// most frequent causes.
fn failed<'a>(events: impl Iterator<Item = &'a EventDoc>) -> Vec<String> {
    /// The document has the rest.
    const SHOWN: usize = 10;
    let mut counts = std::collections::BTreeMap::<_, u64>::new();
    for event in events {
        let answered = event.failures.iter();
        for of in answered.filter(|of| of.status != OperationFailure::Lost.name()) {
            let cause = cause(&of.status, of.code.as_deref());
            *counts
                .entry((name(event), plain(&of.op), cause))
                .or_default() += of.count;
        }
    }
    let mut counts: Vec<_> = counts.into_iter().collect();
    counts.sort_by_key(|(_, count)| Reverse(*count));
    let line = |((event, op, cause), count)| {
        let times = counted(count, "time");
        format!("failed after {event}: {op}, {cause}: {times}")
    };
    counts.into_iter().take(SHOWN).map(line).collect()
}

/// Describes the lost connections of all load points in a sentence; `None` if there were none.
#[must_use]
pub fn failover_in_brief(doc: &RunDoc) -> Option<String> {
    let events = || doc.load_points.iter().flat_map(|point| &point.events);
    let sum = |of: fn(&EventDoc) -> u64| total(events().map(of));
    let clients = sum(|event| event.clients);
    if clients == 0 {
        // Clients that dropped out lost theirs, too.
        if doc
            .load_points
            .iter()
            .any(|point| !point.dropouts.is_empty())
        {
            return None;
        }
        return events()
            .next()
            .map(|_| "no client lost its connection".to_owned());
    }
    let away = sum(|event| event.clients_away);
    let longest = events().filter_map(|event| event.blackout_ns.as_ref());
    let longest = longest.map(|blackout| blackout.max).max();
    let mut parts = vec![match longest {
        Some(longest) => format!(
            "{} of {} came back, the last after {}",
            clients - away,
            counted(clients, "lost client"),
            units::latency(longest as f64)
        ),
        None => format!("none of {} came back", counted(clients, "lost client")),
    }];
    let (kept, lost) = (
        sum(|event| event.handles_kept),
        sum(|event| event.handles_lost),
    );
    if kept + lost > 0 {
        parts.push(format!("{kept} of {} kept", counted(kept + lost, "handle")));
    }
    let failed = sum(|event| event.operations_failed);
    parts.push(format!("{} failed", counted(failed, "operation")));
    let faults = || doc.load_points.iter().filter_map(|point| point.verify);
    let lost = total(faults().map(|faults| faults.lost));
    if lost > 0 || finds_lost_writes(doc) {
        parts.push(counted(lost, "lost write"));
    }
    let doubled = total(faults().map(|faults| faults.doubled));
    let torn = total(faults().map(|faults| faults.torn));
    let others = [(doubled, "doubled write"), (torn, "torn write")].into_iter();
    let others = others.filter(|(count, _)| *count > 0);
    parts.extend(others.map(|(count, what)| counted(count, what)));
    Some(parts.join(", "))
}
