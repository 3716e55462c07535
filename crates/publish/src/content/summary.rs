//! The first section of a report: the answer in sentences, the costs of events, a plot for each
//! profile, and the peaks.

use smbench_report::doc::{OutcomeDoc, RunDoc, SoakDoc};
use smbench_report::names::said_once;
use smbench_report::published::{
    Contender, adapter, contenders, dips, efficiency_at_peaks, event_costs, found, headlines,
    limits, peaks,
};
use smbench_report::study::Study;
use smbench_report::table::Table;
use smbench_report::text::interrupted;
use smbench_report::units::counted;

use super::curves;
use super::profile::ProfileContent;
use crate::report::Section;

pub(super) fn section(study: &Study, profiles: &[ProfileContent<'_>]) -> Section {
    let mut section = Section::new("Result");
    if study.results.is_empty() {
        section.text("Nothing has been measured yet: this study has no results.");
    }
    let is_transfer = |profile: &ProfileContent<'_>| study.doc.transfer(profile.name).is_some();
    let whole = || profiles.iter().filter(|profile| !is_transfer(profile));
    let answers = whole().flat_map(|profile| headlines(study, profile.number));
    let found = whole().flat_map(|profile| found(study, profile.number));
    let soaks = whole().flat_map(soaks);
    section.list(answers.chain(found).chain(soaks).collect());
    section.list(unfinished(study));
    for profile in whole() {
        let costs = event_costs(study, profile.number);
        costs.into_iter().for_each(|table| {
            section.table(Table {
                title: format!("{}: {}", profile.name, table.title),
                ..table
            });
        });
    }
    let measured = || whole().filter(|profile| !profile.servers.is_empty());
    for profile in measured().filter(|profile| !profile.has_one_point()) {
        section.plot(curves::height_plot(profile, &profile.stem, |_| true));
    }
    let adapter = adapter(study);
    // With a single load point, the adapter table already has all peaks.
    let has_peaks = adapter.is_some() && study.doc.load_points.len() == 1;
    adapter.into_iter().for_each(|table| section.table(table));
    let measured = profiles
        .iter()
        .filter(|profile| !profile.servers.is_empty());
    for profile in measured.filter(|_| !has_peaks) {
        let contenders = contenders(study, profile.number);
        section.table(Table {
            title: format!("{}: peaks", profile.name),
            ..peaks(&of_interest(contenders, profile))
        });
    }
    limits(study)
        .into_iter()
        .for_each(|table| section.table(table));
    section
}

/// Returns how the servers behave beyond their peaks, and how much CPU they use there.
pub(super) fn beyond_the_peaks(study: &Study, profile: &ProfileContent<'_>) -> Section {
    let mut part = Section::new("Beyond the peak, and efficiency");
    let contenders = contenders(study, profile.number);
    dips(&contenders)
        .into_iter()
        .for_each(|table| part.table(table));
    let efficiency = efficiency_at_peaks(study, profile.number);
    efficiency.into_iter().for_each(|table| part.table(table));
    part
}

/// Describes the study in a few labelled lines.
pub(super) fn scope(study: &Study) -> Vec<(&'static str, String)> {
    let doc = &study.doc;
    let count = |number: usize, thing| counted(number as u64, thing);
    let mut scope = vec![count(doc.servers.len(), "server")];
    scope.extend(doc.searches_in_words());
    let profiles = doc.profiles.len() - doc.searches.len().min(doc.profiles.len());
    if profiles > 0 {
        scope.push(count(profiles, "profile"));
    }
    if !doc.load_points.is_empty() {
        let points = count(study.load_points(), "load point");
        scope.push(match study.rates() {
            Some(_) => points,
            None => format!("up to {points}"),
        });
    }
    scope.push(smbench_report::plan::passes(doc.passes));
    let scope = scope.join(", ");
    let mut facts = vec![("study", doc.name.clone()), ("scope", scope)];
    if !doc.started.is_empty() {
        facts.push(("started", doc.started.clone()));
    }
    facts
}

/// Returns whether anything drifted in the soaks of a profile, in sentences.
fn soaks(profile: &ProfileContent<'_>) -> Vec<String> {
    let sentences = profile.servers.iter().flat_map(|server| {
        let soak = server.run.soak.as_ref().map(SoakDoc::sentences);
        let sentences = soak.unwrap_or_default().into_iter();
        sentences.map(|words| (server.name, words))
    });
    let said = said_once(sentences, profile.servers.len()).into_iter();
    said.map(|words| format!("{}: {words}.", profile.name))
        .collect()
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
            OutcomeDoc::Interrupted => {
                interrupted(&result.run).unwrap_or_else(|| "interrupted".to_owned())
            }
            OutcomeDoc::Aborted => "aborted".to_owned(),
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
