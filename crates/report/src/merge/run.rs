//! The merged document around its load points.

use itertools::Itertools as _;
use smbench_model::files::Scope;

use super::error::MergeError;
use super::hosts::hosts;
use super::part::Part;
use crate::curve::total;
use crate::doc::{
    LoadPointDoc, OutcomeDoc, PlanDoc, RunDoc, SCHEMA_VERSION, ToolDoc, TreeOriginDoc,
};
use crate::passes::summary;
use crate::units::counted;

/// Returns the document of the run with these load points.
///
/// It has neither command nor calibration: no single command made it, and the ceiling of one
/// machine is not that of all. Conditions were judged on the parts, so they are left out.
pub(super) fn merged(parts: &[Part], load_points: Vec<LoadPointDoc>) -> Result<RunDoc, MergeError> {
    let (repeats, peak, curve) = summary(&load_points);
    let first = &parts[0].doc;
    let (outcome, outcome_reason) = outcome(parts);
    let mut server = first.server.clone();
    let notes = parts
        .iter()
        .flat_map(|part| part.doc.server.notes.iter().cloned());
    server.notes = notes.chain(own_files(parts)).unique().collect();
    Ok(RunDoc {
        schema_version: SCHEMA_VERSION,
        tool: ToolDoc::this(),
        started: started(parts)?,
        outcome,
        outcome_reason,
        label: common(parts, |doc| &doc.label),
        note: common(parts, |doc| &doc.note),
        command: Vec::new(),
        plan: plan(parts),
        pacing: first.pacing,
        server,
        machine: first.machine.clone(),
        hosts: hosts(parts),
        calibration: None,
        load_points,
        repeats,
        peak,
        curve,
        soak: None,
        find: None,
        conditions: Vec::new(),
        noted: None,
        leftover: joined(
            parts
                .iter()
                .filter_map(|part| Some((part, part.doc.leftover.as_deref()?))),
        ),
        recycle_bins: parts
            .iter()
            .flat_map(|part| part.doc.recycle_bins.clone())
            .collect(),
        space_kept: joined(
            parts
                .iter()
                .filter_map(|part| Some((part, part.doc.space_kept.as_deref()?))),
        ),
        space_unchecked: joined(
            parts
                .iter()
                .filter_map(|part| Some((part, part.doc.space_unchecked.as_deref()?))),
        ),
    })
}

/// Returns the plan of the run. Its threads and sessions per second are those of all machines
/// together, and so are its files.
fn plan(parts: &[Part]) -> PlanDoc {
    let plans = || parts.iter().map(|part| &part.doc.plan);
    let threads = plans().map(|plan| plan.generator.threads);
    let pinned = plans().map(|plan| plan.generator.pin_threads);
    let mut rates = plans().map(|plan| plan.generator.setup_rate);
    let sources = plans().filter_map(|plan| plan.sessions.source_ip.as_deref());
    let sources = sources.unique().join(",");
    let mut plan = parts[0].doc.plan.clone();
    plan.generator.client_range = None;
    plan.generator.threads = threads.fold(0, u32::saturating_add);
    plan.generator.pin_threads = pinned
        .map(|pin| pin.unwrap_or(false))
        .reduce(|one, other| one && other);
    // Hosts of one run keep to its rate together. Of other parts, a machine without a limit
    // leaves the run without one.
    if !are_hosts(parts) {
        let sum = rates.try_fold(0_u32, |sum, rate| Some(sum.saturating_add(rate?)));
        plan.generator.setup_rate = sum;
    }
    plan.sessions.source_ip = Some(sources).filter(|sources| !sources.is_empty());
    plan.bytes_on_share = total(plans().map(|plan| plan.bytes_on_share));
    plan
}

/// Returns whether the parts are those of hosts of one run, which share its directory.
fn are_hosts(parts: &[Part]) -> bool {
    parts.iter().all(|part| part.range.step > 1)
}

/// Explains that each part had files of its own which one process would have had once.
fn own_files(parts: &[Part]) -> Option<String> {
    if are_hosts(parts) {
        return None;
    }
    let workload = &parts[0].doc.plan.workload;
    let is_prepared = workload.fileio.as_ref().is_some_and(|test| test.prepared)
        || parts[0].doc.server.tree == Some(TreeOriginDoc::Prepared);
    let count = counted(parts.len() as u64, "part");
    if workload.replay.is_some() {
        return Some(format!(
            "each of the {count} replayed the file in a directory of its own: a name that all \
             clients share exists once in each"
        ));
    }
    (workload.scope == Scope::Shared && !is_prepared).then(|| {
        format!(
            "each of the {count} shared files of its own among its clients, and one process would \
             have shared the same files among all"
        )
    })
}

/// Returns the earliest start.
fn started(parts: &[Part]) -> Result<String, MergeError> {
    let mut starts = Vec::new();
    for part in parts {
        let started = &part.doc.started;
        let at = humantime::parse_rfc3339(started);
        let at = at.map_err(|_| MergeError::damaged(&part.path, "started is no time"))?;
        starts.push((at, started));
    }
    let first = starts.into_iter().min_by_key(|(at, _)| *at);
    Ok(first.map_or_else(String::new, |(_, started)| started.clone()))
}

/// Returns the worst outcome. A part that was aborted is worse than one that the user
/// interrupted.
fn outcome(parts: &[Part]) -> (OutcomeDoc, Option<String>) {
    let of = |outcome| move |part: &&Part| part.doc.outcome == outcome;
    let worst = [OutcomeDoc::Aborted, OutcomeDoc::Interrupted];
    let worst = worst
        .into_iter()
        .find(|&outcome| parts.iter().any(|part| of(outcome)(&part)));
    let worst = worst.unwrap_or(OutcomeDoc::Complete);
    let reasons = parts
        .iter()
        .filter(of(worst))
        .filter_map(|part| Some((part, part.doc.outcome_reason.as_deref()?)));
    (worst, joined(reasons))
}

/// Joins texts with the names of the machines before them.
fn joined<'a>(texts: impl Iterator<Item = (&'a Part, &'a str)>) -> Option<String> {
    let mut texts = texts.map(|(part, text)| format!("{}: {text}", part.name));
    let first = texts.next()?;
    Some([first].into_iter().chain(texts).join("; "))
}

/// Returns a text that all parts have.
fn common(parts: &[Part], of: fn(&RunDoc) -> &Option<String>) -> Option<String> {
    let mut texts = parts.iter().map(|part| of(&part.doc));
    texts.all_equal_value().ok().cloned().flatten()
}
