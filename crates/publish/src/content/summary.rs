//! The first section of a report: the subject of the study, and the peaks.

use smbench_report::block::Block;
use smbench_report::doc::{OutcomeDoc, RunDoc};
use smbench_report::published::{Contender, adapter, contenders, dips, efficiency_at_peaks, peaks};
use smbench_report::study::Study;
use smbench_report::table::Table;
use smbench_report::units::counted;

use super::profile::ProfileContent;
use crate::report::Section;

pub(super) fn section(study: &Study, profiles: &[ProfileContent<'_>]) -> Section {
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
            smbench_report::plan::passes(doc.passes)
        ),
    ));
    section.add(Block::facts(facts));
    if study.results.is_empty() {
        section.text("Nothing has been measured yet: this study has no results.");
    }
    section.list(unfinished(study));
    let adapter = adapter(study);
    // With a single load point, the adapter table already has all peaks.
    let is_told = adapter.is_some() && doc.load_points.len() == 1;
    adapter.into_iter().for_each(|table| section.table(table));
    for profile in profiles.iter().filter(|_| !is_told) {
        if !profile.servers.is_empty() {
            let contenders = contenders(study, profile.number);
            section.table(Table {
                title: format!("{}: peaks", profile.name),
                ..peaks(&of_interest(contenders.clone(), profile))
            });
            dips(&contenders)
                .into_iter()
                .for_each(|table| section.table(table));
            if let Some(mut table) = efficiency_at_peaks(study, profile.number) {
                table.title = format!("{}: {}", profile.name, table.title);
                section.table(table);
            }
        }
    }
    section
}

/// Selects the contenders with results, even if none of these may be quoted.
fn of_interest(contenders: Vec<Contender>, profile: &ProfileContent<'_>) -> Vec<Contender> {
    let has = |of: &Contender| profile.servers.iter().any(|server| server.name == of.name);
    contenders.into_iter().filter(has).collect()
}

/// Names runs that did not go as planned, a line each.
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
        let server = study.doc.server_name(result.server);
        let reason = outcome_reason.as_ref().map(|reason| format!(": {reason}"));
        Some(format!(
            "{server}, {}: {what}{}",
            plan.profile,
            reason.unwrap_or_default()
        ))
    });
    runs.collect()
}
