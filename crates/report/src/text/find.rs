//! The answer of a search as a sentence, and its probes as a table.

use super::summary::Tone;
use crate::doc::{FindDoc, FindEnd, FindKind, ProbeDoc, ProbeOutcome};
use crate::table::{Cell, Column, Table};
use crate::units::{counted, plain, rate};

/// Returns the answer of a search and what it means; without a label.
#[must_use]
pub fn answer(doc: &FindDoc) -> (Tone, String) {
    match doc.kind {
        FindKind::Sessions => sessions(doc),
        FindKind::Rate | FindKind::Clients | FindKind::Logons => load(doc),
    }
}

/// Returns the number of sessions that were open at the same time.
fn sessions(doc: &FindDoc) -> (Tone, String) {
    let held = doc.held_at.unwrap_or_default() as u64;
    let held = counted(held, "session");
    let held = format!("{held} at the same time, one of them smbench's own");
    let last = doc.probes.last();
    let reason = last.map(|probe| plain(&probe.reason)).unwrap_or_default();
    match doc.end {
        FindEnd::Found => (Tone::Peak, format!("{held}; {reason}")),
        FindEnd::NeverBroke => {
            let more = "--max allows no more: the limit is higher";
            (Tone::Caution, format!("{held}; {more}; {reason}"))
        }
        FindEnd::ClientLimited => {
            let why = "this machine, not the server, was the limit";
            (Tone::Problem, format!("at least {held}: {why}; {reason}"))
        }
        _ => (Tone::Problem, "not finished".to_owned()),
    }
}

/// Returns the highest load that held.
fn load(doc: &FindDoc) -> (Tone, String) {
    let load = |at: f64| doc.kind.print(at);
    let limit = match &doc.limit[..] {
        [] => "the server reached the rate, which".to_owned(),
        all => plain(&all.join(", ")),
    };
    let reason = doc.broke_reason.as_deref().map(plain).unwrap_or_default();
    let broke = doc.broke_at.map(|at| format!("{}: {reason}", load(at)));
    let broke = broke.unwrap_or_else(|| "none".to_owned());
    let known = match (doc.held_at, doc.broke_at) {
        (None, None) => "no probe ended".to_owned(),
        (Some(held), None) => format!("{} held, and nothing broke it", load(held)),
        (None, Some(_)) => format!("nothing held; broken at {broke}"),
        (Some(held), Some(_)) => format!("{} held; broken at {broke}", load(held)),
    };
    let held = |result: f64| {
        let tries = || doc.probes.iter().filter(|probe| probe.load == result);
        let held = tries().filter(|probe| probe.verdict == ProbeOutcome::Held);
        let (held, of) = (held.count(), counted(tries().count() as u64, "probe"));
        format!("{}: {limit} held in {held} of {of}", load(result))
    };
    match (doc.end, doc.result) {
        (FindEnd::Found, Some(result)) => {
            (Tone::Peak, format!("{}; broken at {broke}", held(result)))
        }
        (FindEnd::NeverBroke, Some(result)) => {
            let more = "the highest load that --max allows: the limit is higher";
            (Tone::Caution, format!("{}; {more}", held(result)))
        }
        (FindEnd::NeverHeld, _) => {
            let lowest = format!("none: {limit} did not hold at the lowest load");
            (Tone::Problem, format!("{lowest}, {broke}"))
        }
        (FindEnd::ClientLimited, _) => {
            let last = doc.probes.last().map(|probe| plain(&probe.reason));
            let text = format!(
                "none: smbench was the bottleneck, not the server ({}); {known}",
                last.unwrap_or_default()
            );
            (Tone::Problem, text)
        }
        (FindEnd::Unknown, _) => {
            let last = doc.probes.last().map(|probe| plain(&probe.reason));
            let text = format!("none: {}; {known}", last.unwrap_or_default());
            (Tone::Problem, text)
        }
        (FindEnd::ProbesUsedUp, _) => {
            let probes = counted(doc.probes.len() as u64, "probe");
            let text = format!("none after {probes}; {known}; give more with --probes");
            (Tone::Problem, text)
        }
        (FindEnd::Unfinished | FindEnd::Found | FindEnd::NeverBroke, _) => {
            (Tone::Problem, format!("not finished; {known}"))
        }
    }
}

/// Returns the probes of a search in their order.
#[must_use]
pub fn probes(doc: &FindDoc) -> Table {
    let row = |(number, probe): (usize, &ProbeDoc)| {
        vec![
            Cell::count(number as u64 + 1),
            match doc.kind {
                FindKind::Rate | FindKind::Logons => Cell::of(Some(probe.load), rate),
                FindKind::Clients | FindKind::Sessions => Cell::count(probe.load as u64),
            },
            Cell::of(Some(probe.ops_per_s), rate),
            outcome(probe.verdict).into(),
            plain(&probe.reason).into(),
        ]
    };
    let load = match doc.kind {
        FindKind::Rate => "asked ops/s",
        FindKind::Logons => "asked log-ons/s",
        FindKind::Clients => "clients",
        FindKind::Sessions => "attempts",
    };
    Table {
        title: String::new(),
        columns: vec![
            Column::number("probe"),
            Column::number(load),
            Column::number(match doc.kind {
                FindKind::Logons => "log-ons/s",
                _ => "ops/s",
            }),
            Column::text("limit"),
            Column::text("because"),
        ],
        rows: doc.probes.iter().enumerate().map(row).collect(),
        notes: Vec::new(),
    }
}

/// Returns a word for a verdict.
#[must_use]
pub const fn outcome(verdict: ProbeOutcome) -> &'static str {
    match verdict {
        ProbeOutcome::Held => "held",
        ProbeOutcome::Broke => "broke",
        ProbeOutcome::ClientLimited => "client-limited",
        ProbeOutcome::Unknown => "unknown",
    }
}
