//! What TCP did on the connections to the server, as a table and in a line.

use crate::curve::{Curve, CurveRow};
use crate::doc::{TcpCountersDoc, TcpDoc};
use crate::statistics::per;
use crate::table::{Cell, Column, Table};
use crate::units::{self, counted, plain};

/// Returns the table of TCP's counters. If nothing was measured, the table has only a title
/// that says why. `None` if nobody asked for it.
#[must_use]
pub fn tcp(curve: &Curve<'_>) -> Option<Table> {
    let docs = || curve.rows.iter().flat_map(docs);
    let reason = docs().find_map(|doc| doc.not_measured.as_deref());
    if docs().all(|doc| doc.counters.is_none()) {
        return Some(Table {
            title: format!("TCP: not measured: {}", plain(reason?)),
            ..Table::default()
        });
    }
    let columns = [
        "clients",
        "connections",
        "RTT least",
        "RTT median",
        "RTT longest",
        "sent again",
        "of segments",
        "out of order",
        "window full",
    ];
    let mut notes = vec![
        "RTT: smoothed round-trip time, with the server's time until it acknowledges; least: of \
         all connections"
            .to_owned(),
    ];
    let ended: u64 = docs()
        .filter_map(|doc| Some(u64::from(doc.counters?.ended)))
        .sum();
    if ended > 0 {
        let connections = counted(ended, "connection");
        notes.push(format!(
            "{connections} ended within a window and are not counted"
        ));
    }
    notes.extend(reason.map(|reason| format!("-: not measured: {}", plain(reason))));
    Some(Table {
        title: "TCP: connections of smbench in the window".to_owned(),
        columns: columns.map(Column::number).into(),
        rows: curve.rows.iter().map(cells).collect(),
        notes,
    })
}

fn docs<'a>(row: &'a CurveRow<'_>) -> impl Iterator<Item = &'a TcpDoc> + Clone {
    row.passes.iter().filter_map(|pass| pass.tcp.as_ref())
}

/// Returns the counters of all passes of a row, if each has them.
fn counters(row: &CurveRow<'_>) -> Option<TcpCountersDoc> {
    let of_passes = row.passes.iter().map(|pass| pass.tcp.as_ref()?.counters);
    let of_passes: Option<Vec<_>> = of_passes.collect();
    of_passes?.into_iter().reduce(TcpCountersDoc::and)
}

/// Returns the median round-trip time; of several passes, the mean of their medians.
fn median_ns(row: &CurveRow<'_>) -> Option<f64> {
    let medians = docs(row).filter_map(|doc| Some(doc.counters?.rtt_ns?.p50? as f64));
    let medians: Vec<_> = medians.collect();
    (!medians.is_empty()).then(|| medians.iter().sum::<f64>() / medians.len() as f64)
}

fn cells(row: &CurveRow<'_>) -> Vec<Cell> {
    let counters = counters(row);
    let passes = row.passes.len().max(1) as u64;
    let count = |of: fn(&TcpCountersDoc) -> u64| {
        Cell::or_dash(counters.as_ref().map(|counters| Cell::count(of(counters))))
    };
    let connections = counters.map(|of| Cell::count(u64::from(of.connections) / passes));
    let rtt = counters.and_then(|of| of.rtt_ns);
    let window_full = counters.map(|of| per(of.receive_window_limited_s, of.busy_s) * 100.0);
    vec![
        Cell::load("", row.load()),
        Cell::or_dash(connections),
        Cell::latency(rtt.map(|rtt| rtt.least as f64)),
        Cell::latency(median_ns(row)),
        Cell::latency(rtt.map(|rtt| rtt.max as f64)),
        count(|of| of.retransmitted),
        count(|of| of.segments_sent),
        count(|of| of.out_of_order),
        Cell::of(window_full, units::utilisation),
    ]
}

/// Describes the counters of a row in a line; `None` if nobody asked for them.
pub(super) fn in_brief(row: &CurveRow<'_>) -> Option<String> {
    let doc = docs(row).next()?;
    let Some(counters) = counters(row) else {
        let reason = doc.not_measured.as_deref().unwrap_or("no counters");
        return Some(format!("not measured: {}", plain(reason)));
    };
    let rtt = counters.rtt_ns.map(|rtt| {
        format!(
            "round trip {} to {}, least {}; ",
            units::latency(rtt.min as f64),
            units::latency(rtt.max as f64),
            units::latency(rtt.least as f64)
        )
    });
    Some(format!(
        "at {}: {}{} of {} sent again, {} received out of order",
        row.load(),
        rtt.unwrap_or_default(),
        counters.retransmitted,
        counted(counters.segments_sent, "segment"),
        counters.out_of_order
    ))
}
