//! The end of a run: its document with the outcomes of conditions, its files, its
//! messages and its exit code.

use smbench_model::record::{RecycleBin, RunRecord};
use smbench_report::RunDoc;
use smbench_report::doc::OutcomeDoc;
use smbench_report::text::reason_in_brief;

use super::context::{Ran, RunContext};
use super::publish::publish;
use super::state;
use crate::advice::cleanup_command;
use crate::args::OutputArgs;
use crate::conditions::{EndedBy, exit_of, save_cases};
use crate::failure::{Exit, Failure};
use crate::request::{RunRequest, RunServer};
use crate::results::Results;
use crate::searching::Searching;
use crate::verdict::{ClientLimited, MissedRate, Strictness};
use smbench_runner::run::finished;

/// Saves and prints the result, and reports problems with it.
pub(super) fn conclude(
    request: &RunRequest,
    record: &RunRecord,
    ended_by: &EndedBy,
    search: Option<&Searching>,
    results: &mut Results,
    context: &RunContext<'_>,
    logged: Result<(), Failure>,
) -> Result<Ran, Failure> {
    let mut doc = finished(record, request.disclosure(), search);
    let cleaned_up = report_leftover(&doc, request, context);
    let cleaned_up = cleaned_up.max(state::conclude(doc.noted.as_ref(), request, context));
    if doc.outcome == OutcomeDoc::Interrupted && !doc.is_measured() {
        return Err(Failure::Interrupted);
    }
    let gate = &context.gate;
    let (mut exit, reason) = strictness(context.output).judge(&doc);
    if matches!(ended_by, EndedBy::Gate(_)) {
        exit = Exit::Failed;
    }
    doc.conditions = gate.outcomes(&doc, ended_by);
    context.unsaved.begin();
    let saved = results.save(&doc);
    context.unsaved.end();
    let path = results.path().filter(|_| saved.is_ok());
    let invalid = reason.as_deref().unwrap_or("interrupted");
    let invalid = (exit != Exit::Done).then_some(invalid);
    let written = publish(&doc, path, invalid, context);
    let cases = save_cases(gate.junit, invalid, &doc.conditions);
    if let Some(reason) = reason {
        let brief = reason_in_brief(&reason);
        let is_alone = context.output.quiet;
        context.complain(if is_alone { &reason } else { brief });
    }
    let exit = exit.max(cleaned_up).max(exit_of(&doc.conditions));
    let ended = context.with_files(Ok(exit), saved.and(written).and(cases).and(logged));
    Ok(Ran { doc, ended })
}

/// Reports files that remain on the server. Returns the exit code for them.
fn report_leftover(doc: &RunDoc, request: &RunRequest, context: &RunContext<'_>) -> Exit {
    if let Some(kept) = &doc.space_kept {
        context.complain(kept);
    }
    match (&doc.leftover, &request.server) {
        (None, RunServer::Given(_)) if doc.space_kept.is_some() => Exit::Setup,
        // The server has just refused what `cleanup` would do.
        (Some(leftover), RunServer::Given(_))
            if RecycleBin::refuses(&doc.recycle_bins, leftover) =>
        {
            context.complain(leftover);
            Exit::Setup
        }
        (Some(leftover), RunServer::Given(server)) => {
            context.complain(format_args!(
                "{leftover}; remove it with: {}",
                cleanup_command(&server.target.redacted(), request.draft.dialects())
            ));
            Exit::Setup
        }
        // Files on an embedded server are removed together with the server.
        _ => Exit::Done,
    }
}

/// Returns what fails a valid run.
fn strictness(output: &OutputArgs) -> Strictness {
    Strictness {
        missed_rate: MissedRate::given(output.allow_missed_rate),
        client_limited: ClientLimited::given(output.strict),
    }
}
