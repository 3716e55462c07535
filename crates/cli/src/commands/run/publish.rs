//! The text and the files of a finished run.

use std::path::Path;

use smbench_report::doc::{ConditionOutcome, FindKind};
use smbench_report::text::to_markdown;
use smbench_report::{RunDoc, ServerLocation};

use super::NextSteps;
use super::context::RunContext;
use crate::args::Destination;
use crate::failure::Failure;
use crate::files::{save_csv, write};
use crate::output::print;

/// Writes the result to standard output and to files. Unknown conditions go to standard
/// error, and failed ones if there is no text on standard output.
pub(super) fn publish(
    doc: &RunDoc,
    path: Option<&Path>,
    invalid: Option<&str>,
    context: &RunContext<'_>,
) -> Result<(), Failure> {
    let output = context.output;
    let has_text = !output.is_stdout_taken()?;
    for judged in &doc.conditions {
        match judged.outcome {
            ConditionOutcome::Unknown => context.complain(judged),
            ConditionOutcome::Failed if !has_text => context.complain(judged),
            _ => {}
        }
    }
    if output.json == Some(Destination::Stdout) {
        print(&doc.to_json())?;
    } else if has_text {
        (context.presentation.show)(doc)?;
        print(&closing(doc, path, context.presentation.next_steps))?;
    }
    if let Some(to) = &output.markdown {
        write(to, &to_markdown(doc, invalid))?;
    }
    output.csv.iter().try_for_each(|to| save_csv(doc, to))
}

/// Returns the end of the text: what to do next, and where the result is.
fn closing(doc: &RunDoc, path: Option<&Path>, next_steps: NextSteps) -> String {
    let mut text = String::new();
    if next_steps == NextSteps::Shown && doc.server.place == ServerLocation::Embedded {
        let command = match doc.find.as_ref().map(|find| find.kind) {
            None => "run smb://USER@HOST/SHARE --long",
            Some(FindKind::Rate) => "find rate smb://USER@HOST/SHARE --slo 'p99 < 10ms' -d 30s",
            Some(FindKind::Logons) => "find logons smb://USER@HOST/SHARE --hold 1m",
            Some(FindKind::Sessions) => {
                "find sessions smb://USER@HOST/SHARE --until 'failed >= 5%'"
            }
            Some(FindKind::Clients) => {
                "find clients smb://USER@HOST/SHARE --slo 'p99 < 10ms' -d 30s"
            }
        };
        text += "\nThis was a demo in memory. To measure your server:\n";
        text += &format!("  smbench {command}\n");
    }
    if let Some(path) = path.map(Path::display) {
        text += &format!("\nSaved to {path}\n");
        if next_steps == NextSteps::Shown {
            text += &format!("More:    smbench show --details {path}\n");
        }
    }
    text
}
