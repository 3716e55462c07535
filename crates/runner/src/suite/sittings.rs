//! Passes that were measured in several invocations of a suite, each of which
//! continued where the one before had stopped. This module tells what of a document counts
//! as measured, and joins the results into one document. A search is never continued.

use smbench_model::plan::Plan;
use smbench_report::RunDoc;
use smbench_report::doc::{FindEnd, LoadPointDoc, PlanDoc};

/// Returns whether the search of a document has come to its end, with or without an answer.
pub(super) fn has_ended(run: &RunDoc) -> bool {
    let find = run.find.as_ref();
    find.is_some_and(|find| find.end != FindEnd::Unfinished)
}

/// Returns whether the last load point of an unfinished run counts as measured,
/// valid or not. It does if its window was over before the run ended or the server
/// was lost.
pub(super) fn is_done(point: &LoadPointDoc, plan: &Plan) -> bool {
    let is_whole = point.window_s >= plan.work.duration.as_secs_f64();
    let is_lost = point.dropouts.len() as u64 >= u64::from(point.clients);
    point.valid || (is_whole && !is_lost)
}

/// Joins the results of two invocations for a pass into one document.
pub(super) fn joined(before: Option<RunDoc>, now: RunDoc, plan: &Plan) -> RunDoc {
    let started = now.started.clone();
    let mut run = match before {
        None => now,
        Some(mut before) => {
            let terms = |run: &RunDoc| {
                let server = &run.server;
                format!(
                    "{}, signing {}, encryption {}",
                    server.protocol(),
                    server.signing,
                    server.encryption
                )
            };
            let (old, new) = (terms(&before), terms(&now));
            let note = if old == new {
                format!("this pass was interrupted and went on at {started}")
            } else {
                format!("this pass was interrupted and went on at {started} with {new}")
            };
            before.server.notes.push(note);
            let (old, new) = (&before.server, &now.server);
            let half_known: Vec<_> = [
                ("program", old.software.is_some(), new.software.is_some()),
                ("storage", old.storage.is_some(), new.storage.is_some()),
            ]
            .into_iter()
            .filter(|(_, old, new)| old != new)
            .map(|(what, ..)| format!("the {what} is known of only one part of this pass"))
            .collect();
            before.server.notes.extend(half_known);
            let parts = RunDoc::pooled(vec![before, now]);
            parts.unwrap_or_else(|| unreachable!("two documents make one"))
        }
    };
    // The plan of the whole pass, not only of its remaining part.
    run.plan = PlanDoc::from(plan);
    run
}
