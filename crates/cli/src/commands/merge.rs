//! `smbench merge`: joins the results of the parts of one run.

use std::fs;
use std::path::Path;

use smbench_report::doc::OutcomeDoc;
use smbench_report::merge::{SavedPart, merge};
use smbench_report::text::summary;
use smbench_report::{RunDoc, render};

use crate::args::MergeArgs;
use crate::failure::{Exit, Failure};
use crate::output::{complain, print, print_coloured};
use crate::verdict;

pub(super) fn merge_parts(args: &MergeArgs) -> Result<Exit, Failure> {
    if let Some(part) = args.parts.iter().find(|part| is_same_file(part, &args.out)) {
        return Err(Failure::Usage(format!(
            "--out {} would overwrite a part: give another file",
            part.display()
        )));
    }
    let parts = args.parts.iter().map(|path| {
        let doc = RunDoc::load(path)?;
        let path = path.display().to_string();
        Ok(SavedPart { path, doc })
    });
    let whole = merge(parts.collect::<Result<_, Failure>>()?)?;
    whole.save(&args.out)?;
    if args.details {
        print(&render(&whole))?;
    } else {
        print_coloured(&summary(&whole))?;
    }
    print(&format!("\nSaved to {}\n", args.out.display()))?;
    Ok(judge(&whole))
}

/// Returns whether two paths name one file, under whatever name.
fn is_same_file(part: &Path, out: &Path) -> bool {
    let real = |path: &Path| fs::canonicalize(path).ok();
    part == out || real(part).is_some_and(|part| real(out) == Some(part))
}

/// Returns the exit code, and tells why the result must not be quoted. Nobody interrupted the
/// merge, so a part that was interrupted is a reason like others.
fn judge(whole: &RunDoc) -> Exit {
    let Some((exit, reason)) = verdict::judge(whole) else {
        return Exit::Done;
    };
    match (whole.outcome, reason) {
        (OutcomeDoc::Interrupted, _) => {
            complain("a part of the run was interrupted");
            Exit::Invalid
        }
        (_, reason) => {
            reason.iter().for_each(complain);
            exit
        }
    }
}
