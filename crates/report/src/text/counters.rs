//! The server's own counters beside those of the generator.

use itertools::Itertools as _;

use crate::curve::Curve;
use crate::doc::{CallCountersDoc, CommandCountersDoc, LoadPointDoc, ServerCountersDoc};
use crate::table::{Cell, Column, Table};
use crate::units::{self, counted, plain};

/// Number of calls into the file system that are shown, those with the most time.
const CALLS_MAX: usize = 8;

/// What a server without counts of requests may lack.
const NO_COUNTS: &str = "the server counted no requests; Samba counts them with `smbd profiling level = on` in smb.conf";

/// Returns the load point whose counters are shown: at the peak, else the last one.
fn shown<'a>(curve: &Curve<'a>) -> Option<(&'a LoadPointDoc, &'a ServerCountersDoc)> {
    let row = curve.peak_row().or(curve.rows.last())?;
    let mut passes = row.passes.iter().copied();
    passes.find_map(|pass| Some((pass, pass.server_counters.as_ref()?)))
}

/// Returns the tables of the server's counters: requests, and its calls into the file system.
/// Empty if nobody asked for them.
#[must_use]
pub fn server_counters(curve: &Curve<'_>) -> Vec<Table> {
    let Some((point, doc)) = shown(curve) else {
        return Vec::new();
    };
    if let Some(reason) = &doc.not_measured {
        let title = format!("Counters of the server: not measured: {}", plain(reason));
        return vec![Table {
            title,
            ..Table::default()
        }];
    }
    let at = point.load();
    let title = format!("Counters of the server at {at}: {}", plain(&doc.source));
    if doc.commands.is_empty() {
        let notes = [Some(NO_COUNTS.to_owned()), open(doc), memory(doc)];
        return vec![Table {
            title,
            notes: notes.into_iter().flatten().collect(),
            ..Table::default()
        }];
    }
    let columns = [
        Column::text("request"),
        Column::number("sent"),
        Column::number("counted"),
        Column::number("mean here"),
        Column::number("mean at the server"),
        Column::number("difference"),
    ];
    let row = |(name, of): (&String, &CommandCountersDoc)| {
        vec![
            Cell::from(plain(name)),
            Cell::or_dash(of.sent.map(Cell::count)),
            Cell::count(of.counted),
            Cell::latency(of.service_mean_ns),
            Cell::latency(of.server_mean_ns),
            Cell::latency(of.difference_ns.map(|ns| ns.max(0.0))),
        ]
    };
    let mut notes = vec![
        "from the first operation to the last, ramps included; mean here: of the window; \
         difference: network and queues"
            .to_owned(),
    ];
    notes.extend(open(doc));
    notes.extend(memory(doc));
    let requests = Table {
        title,
        columns: columns.into(),
        rows: doc.commands.iter().map(row).collect(),
        notes,
    };
    std::iter::once(requests).chain(calls(doc)).collect()
}

/// Returns the calls into the file system that took the most time.
fn calls(doc: &ServerCountersDoc) -> Option<Table> {
    let time = |of: &CallCountersDoc| of.mean_ns.unwrap_or(0.0) * of.count as f64;
    let rows = doc
        .calls
        .iter()
        .sorted_by(|one, other| time(other.1).total_cmp(&time(one.1)))
        .take(CALLS_MAX)
        .map(|(name, of)| {
            vec![
                Cell::from(plain(name)),
                Cell::count(of.count),
                Cell::latency(of.mean_ns),
                Cell::latency(of.mean_ns.map(|_| time(of))),
            ]
        })
        .collect_vec();
    let columns = [
        Column::text("call"),
        Column::number("count"),
        Column::number("mean"),
        Column::number("sum"),
    ];
    let title = "Calls of the server into its file system, by their time";
    (!rows.is_empty()).then(|| Table::of(title, columns.into(), rows))
}

fn open(doc: &ServerCountersDoc) -> Option<String> {
    let parts = [
        (doc.sessions, "session"),
        (doc.tree_connects, "connected share"),
        (doc.open_files, "open file"),
    ];
    let mut parts = parts
        .into_iter()
        .filter_map(|(count, thing)| Some(counted(count?, thing)));
    let parts = parts.join(", ");
    (!parts.is_empty()).then(|| format!("open at the end of the load: {parts}"))
}

fn memory(doc: &ServerCountersDoc) -> Option<String> {
    let memory = doc.memory.as_ref()?;
    let bytes = units::bytes;
    let each = memory.per_session_bytes;
    let each = each.map(|each| format!(", {} for each session", bytes(each)));
    Some(format!(
        "memory of the server: {} before the load, {} after it{}",
        bytes(memory.before_bytes),
        bytes(memory.after_bytes),
        each.unwrap_or_default()
    ))
}

/// Describes the counters in a line, at the peak; `None` if nobody asked for them.
pub(super) fn in_brief(curve: &Curve<'_>) -> Option<String> {
    let (point, doc) = shown(curve)?;
    if let Some(reason) = &doc.not_measured {
        return Some(format!("not measured: {}", plain(reason)));
    }
    let most = doc.commands.iter().max_by_key(|(_, of)| of.counted);
    let requests = most.map(|(name, of)| {
        let sent = of.sent.map(|sent| format!(" of {sent}"));
        let there = of.server_mean_ns.map(units::latency);
        let here = of.service_mean_ns.map(units::latency);
        let times = there.zip(here);
        let times = times.map(|(there, here)| format!(", mean {there} of {here} here"));
        format!(
            "{} {} counted{}{}",
            plain(name),
            of.counted,
            sent.unwrap_or_default(),
            times.unwrap_or_default()
        )
    });
    let mut parts = requests.into_iter().chain(open(doc)).chain(memory(doc));
    Some(format!("at {}: {}", point.load(), parts.join("; ")))
}
