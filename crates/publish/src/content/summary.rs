//! What a report begins with: what was studied, and the peaks.

use smbench_report::curve::Row;
use smbench_report::doc::{OutcomeDoc, RunDoc};
use smbench_report::published::{adapter, contenders, dips};
use smbench_report::study::Study;
use smbench_report::table::{Cell, Column, Table};
use smbench_report::units::{self, counted};

use super::Profile;
use crate::report::{Block, Section};

pub(super) fn section(study: &Study, profiles: &[Profile<'_>]) -> Section {
    let mut section = Section::new("Summary");
    let doc = &study.doc;
    let mut facts = vec![("study", doc.name.clone())];
    if !doc.started.is_empty() {
        facts.push(("started", doc.started.clone()));
    }
    let count = |number: usize, thing| counted(number as u64, thing);
    facts.push((
        "extent",
        format!(
            "{}, {}, {}, {}",
            count(doc.servers.len(), "server"),
            count(doc.profiles.len(), "profile"),
            count(doc.load_points.len(), "load point"),
            match doc.passes {
                1 => "1 pass".to_owned(),
                passes => format!("{passes} passes"),
            }
        ),
    ));
    let facts = facts.into_iter();
    let facts = facts.map(|(label, text)| (label.to_owned(), text));
    section.blocks.push(Block::Facts(facts.collect()));
    if study.results.is_empty() {
        section.text("Nothing has been measured yet: this study has no results.");
    }
    section.list(unfinished(study));
    let adapter = adapter(study);
    // The peaks of a single load point are all in that.
    let is_told = adapter.is_some() && doc.load_points.len() == 1;
    section.blocks.extend(adapter.map(Block::Table));
    for profile in profiles.iter().filter(|_| !is_told) {
        if !profile.servers.is_empty() {
            section.table(peaks(profile));
            let contenders = contenders(study, profile.number);
            section.blocks.extend(dips(&contenders).map(Block::Table));
        }
    }
    section
}

/// Runs that did not go as planned, a line each.
fn unfinished(study: &Study) -> Vec<String> {
    let runs = study.results.iter().filter_map(|result| {
        let RunDoc {
            outcome,
            outcome_reason,
            plan,
            ..
        } = &result.run;
        let what = match outcome {
            OutcomeDoc::Complete => return None,
            OutcomeDoc::Interrupted => "interrupted",
            OutcomeDoc::Aborted => "aborted",
        };
        let server = super::server_name(study, result.server);
        let reason = outcome_reason.as_ref().map(|reason| format!(": {reason}"));
        Some(format!(
            "{server}, {}: {what}{}",
            plan.profile,
            reason.unwrap_or_default()
        ))
    });
    runs.collect()
}

/// The peak of each server.
fn peaks(profile: &Profile<'_>) -> Table {
    let moves_data = profile.moves_data();
    let mut columns = vec![Column::text("server")];
    columns.extend(
        [
            match moves_data {
                true => "peak, Mbit/s",
                false => "peak, operations/s",
            },
            "clients",
            "mean response",
            "p99",
            "passes",
            "within 95 %, clients",
        ]
        .map(Column::number),
    );
    let rows = profile.servers.iter().map(|server| {
        let Some(peak) = server.curve.peak() else {
            let dashes = (1..columns.len()).map(|_| Cell::or_dash(None));
            return [Cell::from(server.name)]
                .into_iter()
                .chain(dashes)
                .collect();
        };
        let (from, to) = (
            peak.within_95_percent_from_clients,
            peak.within_95_percent_clients,
        );
        vec![
            server.name.into(),
            match moves_data {
                true => Cell::of(Some(peak.throughput_mbps), units::throughput),
                false => Cell::of(peak.ops_per_s, units::rate),
            },
            match server
                .curve
                .peak_row()
                .is_some_and(Row::is_generator_limited)
            {
                true => Cell::number(peak.clients.into(), format!("~ {}", peak.clients)),
                false => Cell::count(peak.clients.into()),
            },
            Cell::latency(Some(peak.latency_mean_ns)),
            Cell::latency(Some(peak.latency_p99_ns as f64)),
            Cell::count(peak.passes.into()),
            match from == to {
                true => from.to_string().into(),
                false => format!("{from} to {to}").into(),
            },
        ]
    });
    let rows: Vec<_> = rows.collect();
    let has_no_peak = |row: &Vec<Cell>| Table::cell(row, 1) == "-";
    let is_limited = |row: &Vec<Cell>| Table::cell(row, 2).starts_with('~');
    let mut notes = Vec::new();
    if rows.iter().any(has_no_peak) {
        notes.push("-: no valid load point saw an operation".to_owned());
    }
    if rows.iter().any(is_limited) {
        notes.push("~: the generator, not the server, was the limit there".to_owned());
    }
    Table {
        title: format!("{}: peaks", profile.name),
        notes,
        columns,
        rows,
    }
}
