//! The content of a report on a study.
//!
//! Everything is computed from the study's documents alone. Missing parts of a
//! study are named, never made up. Not here: output formats.

mod comparisons;
mod curves;
mod disclosure;
mod doubt;
mod latency;
mod level;
mod methodology;
mod results;
mod summary;
mod transfers;

use smbench_report::RunDoc;
use smbench_report::curve::{Curve, Row};
use smbench_report::study::{Study, slug};

use crate::report::Report;

/// Builds the report on a study.
#[must_use]
pub fn report(study: &Study) -> Report {
    let profiles: Vec<_> = (0..study.doc.profiles.len())
        .map(|profile| Profile::of(study, profile))
        .collect();
    let mut sections = vec![summary::section(study, &profiles)];
    // Transfers are lines of one table, which has all of their numbers.
    let is_transfer = |profile: &&Profile<'_>| study.doc.transfer(profile.name).is_some();
    let whole = profiles.iter().filter(|profile| !is_transfer(profile));
    sections.extend(whole.map(results::section));
    let transfers: Vec<_> = profiles.iter().filter(is_transfer).collect();
    sections.extend(transfers::section(study, &transfers));
    sections.extend(comparisons::section(study, &profiles));
    sections.push(methodology::section(study, &profiles));
    sections.push(disclosure::section(study));
    Report {
        title: study.doc.title.clone(),
        sections,
    }
}

/// Results of one profile.
struct Profile<'a> {
    name: &'a str,
    /// Index of the profile in the study.
    number: usize,
    /// First part of its plots' names.
    stem: String,
    /// Servers with a result, in the order of the study.
    servers: Vec<Measured<'a>>,
    /// Names of servers that have no result.
    missing: Vec<&'a str>,
}

/// A server with its result of one profile.
struct Measured<'a> {
    /// Name of the server in the study.
    name: &'a str,
    /// Index of the server in the study. It decides the server's style in all
    /// plots.
    number: usize,
    run: &'a RunDoc,
    curve: Curve<'a>,
}

impl<'a> Profile<'a> {
    fn of(study: &'a Study, profile: usize) -> Self {
        let name = study.doc.profiles.get(profile).map_or("", String::as_str);
        let servers: Vec<_> = study
            .of_profile(profile)
            .filter(|result| !result.run.load_points.is_empty())
            .map(|result| Measured {
                name: server_name(study, result.server),
                number: result.server,
                run: &result.run,
                curve: Curve::of(&result.run.load_points),
            })
            .collect();
        let has = |server| servers.iter().any(|measured| measured.number == server);
        let missing = (0..study.doc.servers.len()).filter(|server| !has(*server));
        // Documents that were not planned together have one profile each.
        let is_planned = !study.doc.command.is_empty();
        let missing = missing.filter(|_| is_planned);
        let missing = missing.map(|server| server_name(study, server)).collect();
        Self {
            name,
            number: profile,
            stem: format!("{:02}-{}", profile + 1, slug(name)),
            servers,
            missing,
        }
    }

    /// Returns whether any data was moved. If not, the metric is operations per
    /// second.
    fn moves_data(&self) -> bool {
        let mut rows = self.servers.iter().flat_map(|server| &server.curve.rows);
        rows.any(|row| row.throughput_mbps > 0.0)
    }

    /// Returns whether every server has just one load point, which does not make a
    /// line.
    fn has_one_point(&self) -> bool {
        self.servers
            .iter()
            .all(|server| server.curve.rows.len() == 1)
    }
}

fn server_name(study: &Study, server: usize) -> &str {
    let server = study.doc.servers.get(server);
    server.map_or("", |server| &server.name)
}

/// Returns why passes of a row are not valid, each reason once.
fn reasons(row: &Row<'_>) -> String {
    let mut reasons = Vec::new();
    for pass in &row.invalid {
        let reason = pass.invalid_reason.as_deref().unwrap_or("no reason given");
        if !reasons.contains(&reason) {
            reasons.push(reason);
        }
    }
    reasons.join("; ")
}

/// Returns why the generator was the limit of a row, each reason once; `None` if it
/// was not the limit.
fn limits(row: &Row<'_>) -> Option<String> {
    let mut reasons = Vec::new();
    let limited = row.passes.iter().filter(|pass| pass.is_client_limited());
    for pass in limited {
        let told = pass
            .generator
            .as_ref()
            .and_then(|told| told.reason.as_deref());
        let reason = told.unwrap_or("no reason given");
        if !reasons.contains(&reason) {
            reasons.push(reason);
        }
    }
    (!reasons.is_empty()).then(|| reasons.join("; "))
}

fn clients(clients: u32) -> String {
    smbench_report::units::counted(clients.into(), "client")
}
