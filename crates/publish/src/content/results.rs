//! The section with all results of one profile.

use smbench_report::names::said_once;
use smbench_report::study::Study;
use smbench_report::text;

use super::profile::{MeasuredServer, ProfileContent};
use super::{curves, failover, latency, populations, summary};
use crate::report::Section;

pub(super) fn section(study: &Study, profile: &ProfileContent<'_>) -> Section {
    let mut section = Section::new(format!("Results: {}", profile.name));
    if profile.servers.is_empty() {
        section.text("Nothing has been measured with this profile.");
        return section;
    }
    if !profile.missing.is_empty() {
        section.text(format!("Not measured: {}.", profile.missing.join("; ")));
    }
    section.part(curves::part(profile));
    section.part(populations::part(study, profile));
    section.part(summary::beyond_the_peaks(study, profile));
    section.part(latency::percentiles(profile));
    section.part(latency::over_time(profile));
    if let Some(part) = failover::over_time(profile) {
        section.part(part);
    }
    section.part(operations(profile));
    section.part(load_points(profile));
    section.part(remarks(profile));
    section
}

/// Returns only the numbers and the remarks on them. `generators` is the number of
/// generators per client.
pub(super) fn numbers(profile: &ProfileContent<'_>, generators: u32) -> Section {
    let mut part = Section::new(profile.name);
    if generators > 1 {
        part.text(format!(
            "Each client has {generators} sessions on its connection here. The tables count \
             sessions: {generators} clients in them are one."
        ));
    }
    part.blocks.extend(load_points(profile).blocks);
    part.list(all_lines(profile));
    part
}

/// Returns the operations of each server at its peak.
fn operations(profile: &ProfileContent<'_>) -> Section {
    let mut part = Section::new("Operations");
    for server in &profile.servers {
        match text::operations(&server.run.plan.workload, &server.curve) {
            Some(mut table) => {
                table.title = format!("{}: {}", server.name, table.title);
                part.table(table);
            }
            None => part.text(format!("{}: no operation was answered.", server.name)),
        }
        if let Some(mut table) = text::operations_of_populations(&server.curve) {
            table.title = format!("{}: {}", server.name, table.title);
            part.table(table);
        }
    }
    part
}

/// Returns every load point of each server.
fn load_points(profile: &ProfileContent<'_>) -> Section {
    let mut part = Section::new("Load points");
    for server in &profile.servers {
        let mut table = text::load_points(&server.curve);
        table.title = server.name.to_owned();
        let peak = text::peak_line(server.run.pacing, &server.curve);
        table.notes.extend(peak);
        part.table(table);
        let cpus = server.run.generator_cpus();
        let more = [
            text::repeats(&server.curve),
            text::server_cpu(&server.curve),
            Some(text::generator_cpu(&server.curve, cpus)),
            text::tcp(&server.curve),
            text::machines(server.run),
        ];
        let counters = text::server_counters(&server.curve);
        let tables = text::tables_of_load_points(server.run, &server.curve);
        for mut table in tables.chain(more.into_iter().flatten()).chain(counters) {
            table.title = format!("{}: {}", server.name, table.title);
            part.table(table);
        }
    }
    part
}

/// Returns the remarks on the load points.
fn remarks(profile: &ProfileContent<'_>) -> Section {
    let mut part = Section::new("Remarks");
    part.list(all_lines(profile));
    if part.blocks.is_empty() {
        part.text("None: all load points are valid, and nothing held the load back.");
    }
    part
}

/// Returns the remarks on all servers, each once.
fn all_lines(profile: &ProfileContent<'_>) -> Vec<String> {
    let of_server = |server| lines(server).into_iter();
    let servers = profile.servers.iter();
    let lines = servers.flat_map(|server| of_server(server).map(|line| (server.name, line)));
    said_once(lines, profile.servers.len())
}

fn lines(server: &MeasuredServer<'_>) -> Vec<String> {
    let mut lines = unfolded(&text::footnotes(&server.curve));
    lines.extend(text::rate_remarks(server.run));
    lines.extend(
        text::stream_remarks(server.run)
            .into_iter()
            .map(|(_, words)| words),
    );
    lines.extend(unfolded(&text::remarks(server.run)));
    lines.extend(text::cautions(server.run));
    lines.extend(text::reached(server.run));
    lines
}

/// The lines of a text, where an indented line explains the one before.
fn unfolded(text: &str) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for line in text.lines() {
        match lines.last_mut() {
            // An indented line explains the line before.
            Some(last) if line.starts_with(' ') => {
                let joint = if last.ends_with(':') { " " } else { ": " };
                *last += joint;
                *last += line.trim();
            }
            _ => lines.push(line.trim().to_owned()),
        }
    }
    lines
}
