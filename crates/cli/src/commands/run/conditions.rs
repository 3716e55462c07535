//! The conditions of `--fail-if`: their outcomes, exit code and JUnit document.

use std::path::Path;

use smbench_report::threshold::{NotMeasured, ThresholdJudgement};
use smbench_report::{RunDoc, Threshold};

use crate::failure::{Exit, Failure};
use crate::junit::{self, JunitCase, JunitOutcome};

/// Name of the JUnit test suite.
pub(super) const SUITE: &str = "smbench run";

/// The outcome of a condition, or why there is none.
pub(super) type JudgedThreshold = Result<ThresholdJudgement, NotMeasured>;

pub(super) fn judge_thresholds(doc: &RunDoc, thresholds: &[Threshold]) -> Vec<JudgedThreshold> {
    let thresholds = thresholds.iter();
    thresholds.map(|threshold| threshold.judge(doc)).collect()
}

/// Returns a line for each condition, after one for a run that is not valid.
pub(super) fn told(judged: &[JudgedThreshold], invalid: Option<&str>) -> Vec<String> {
    let invalid = invalid.map(|reason| format!("the run is not valid: {reason}"));
    let judged = judged.iter().map(|judged| match judged {
        Ok(judgement) => judgement.to_string(),
        Err(error) => error.to_string(),
    });
    invalid.into_iter().chain(judged).collect()
}

/// Returns the exit code for the conditions.
pub(super) fn exit_of(judged: &[JudgedThreshold]) -> Exit {
    let exits = judged.iter().map(|judged| match judged {
        Ok(judgement) if judgement.failed => Exit::Failed,
        Ok(_) => Exit::Done,
        Err(_) => Exit::Usage,
    });
    exits.max().unwrap_or(Exit::Done)
}

/// Writes the file of `--junit`.
pub(super) fn save_cases(
    path: Option<&Path>,
    invalid: Option<&str>,
    judged: &[JudgedThreshold],
) -> Result<(), Failure> {
    let Some(path) = path else {
        return Ok(());
    };
    let mut cases = vec![JunitCase {
        name: junit::VALID.to_owned(),
        outcome: match invalid {
            None => JunitOutcome::Passed,
            Some(_) => JunitOutcome::Failed,
        },
        message: invalid.unwrap_or_default().to_owned(),
    }];
    cases.extend(judged.iter().map(|judged| match judged {
        Ok(judgement) => JunitCase {
            name: judgement.condition.clone(),
            outcome: match judgement.failed {
                true => JunitOutcome::Failed,
                false => JunitOutcome::Passed,
            },
            message: judgement.found.clone(),
        },
        Err(error) => JunitCase {
            name: error.condition.clone(),
            outcome: JunitOutcome::Failed,
            message: error.to_string(),
        },
    }));
    junit::save(path, SUITE, &cases)
}
