//! The machines that generated the load, where there were several.

use itertools::Itertools as _;

use crate::curve::Curve;
use crate::doc::{GeneratorDoc, HostPointDoc, LoadPointDoc, LoopDoc, RunDoc};
use crate::table::{Cell, Column, Table};
use crate::units::{self, plain};

/// Highest number of machines that a line names one by one.
const NAMED_MAX: usize = 6;

/// Returns the load point whose machines are shown: one at the peak, or at the last load if the
/// clock set the load.
fn shown(doc: &RunDoc) -> Option<&LoadPointDoc> {
    let curve = Curve::of(&doc.load_points);
    let peak = curve.peak_row().filter(|_| doc.pacing == LoopDoc::Closed);
    let row = peak.or(curve.rows.last())?;
    let mut passes = row.passes.iter();
    passes.find(|point| !point.hosts.is_empty()).copied()
}

/// Returns the machines with their clients, operations and CPU use; `None` if there was one.
#[must_use]
pub fn machines(doc: &RunDoc) -> Option<Table> {
    let point = shown(doc)?;
    let columns = [
        Column::text("machine"),
        Column::number("clients"),
        Column::number("ops/s"),
        Column::number("share"),
        Column::number("cores busy"),
        Column::number("errors"),
        Column::number("window opened"),
        Column::text("generator"),
    ];
    let row = |host: &HostPointDoc| {
        let busy = host
            .client
            .filter(|_| point.window_s > 0.0)
            .map(|client| client.cpu_s() / point.window_s);
        let share = host.share.map(|share| share * 100.0);
        vec![
            Cell::from(plain(&host.name)),
            Cell::count(host.clients.into()),
            Cell::number(host.ops_per_s, units::rate(host.ops_per_s)),
            Cell::of(share, units::percent),
            Cell::of(busy, units::cores),
            Cell::count(host.errors),
            Cell::number(host.window_skew_ns as f64, skew(host.window_skew_ns)),
            Cell::from(verdict(host.generator.as_ref())),
        ]
    };
    let title = match doc.load_points.len() {
        1 => "Machines".to_owned(),
        _ => format!("Machines at {}", point.load()),
    };
    let rows = point.hosts.iter().map(row).collect();
    Some(Table::of(title, columns.into(), rows))
}

/// Describes when a window opened, seen from that of the first machine.
fn skew(ns: i64) -> String {
    let time = || units::latency(ns.unsigned_abs() as f64);
    match ns {
        0 => "0".to_owned(),
        1.. => format!("+{}", time()),
        _ => format!("-{}", time()),
    }
}

fn verdict(generator: Option<&GeneratorDoc>) -> &'static str {
    match generator {
        None => "not known",
        Some(generator) if generator.limited => "client-limited",
        Some(generator) if generator.shared_cpus.is_some() => "shared CPUs",
        Some(generator) if generator.back_pressure.is_some() => "held back",
        Some(_) => "not the limit",
    }
}

/// Returns the number of machines and their shares in a line; `None` if there was one machine.
pub(super) fn in_brief(doc: &RunDoc) -> Option<String> {
    let hosts = &shown(doc)?.hosts;
    let shares = hosts.iter().map(|host| {
        let share = host.share.map_or_else(|| "none".to_owned(), percent);
        format!("{} {share}", plain(&host.name))
    });
    let shares = match hosts.len() {
        ..=NAMED_MAX => shares.format(", ").to_string(),
        _ => {
            let shares = hosts.iter().map(|host| host.share.unwrap_or(0.0));
            let (least, most) = shares.minmax_by(f64::total_cmp).into_option()?;
            format!("{} to {} each", percent(least), percent(most))
        }
    };
    Some(format!("{}: {shares} of the operations", hosts.len()))
}

fn percent(share: f64) -> String {
    units::percent(share * 100.0)
}
