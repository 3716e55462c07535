//! The conditions that make a run fail: their outcomes, exit code and JUnit document, and the
//! end of a run that has failed one.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

use smbench_engine::Cancel;
use smbench_model::plan::Plan;
use smbench_model::record::{Outcome, RunRecord};
use smbench_model::setting::{self, Advice};
use smbench_model::units::format_duration;
use smbench_report::doc::{ConditionDoc, ConditionOutcome};
use smbench_report::threshold::{NotMeasured, UnfinishedPoint};
use smbench_report::{RunDoc, Threshold};

use crate::failure::{Exit, Failure};
use crate::junit::{Junit, JunitCase, JunitOutcome, VALID};
use crate::watch::IntervalReport;

/// Name of the JUnit test suite.
pub const SUITE: &str = "smbench run";

/// The conditions that make a run fail.
#[derive(Clone, Copy, Default)]
pub struct Gate<'a> {
    /// The conditions.
    pub thresholds: &'a [Threshold],
    /// Measured time of a load point after which a failed condition stops the run.
    pub abort_after: Option<Duration>,
    /// File for the outcomes, as JUnit tests.
    pub junit: Option<&'a Junit<'a>>,
}

/// The condition that stopped a run.
#[derive(Clone, Default)]
pub struct AbortReason(Rc<RefCell<Option<ConditionDoc>>>);

impl AbortReason {
    /// Takes the condition, if one has stopped the run.
    pub fn take(&self) -> Option<ConditionDoc> {
        self.0.borrow_mut().take()
    }
}

/// What ended a run.
#[derive(Clone, Debug)]
pub enum EndedBy {
    /// Its plan, its user or its server.
    Run,
    /// A condition, before the plan was carried out.
    Gate(ConditionDoc),
}

impl EndedBy {
    /// Returns what ended a run, and notes in its record if that was a condition.
    pub fn of(aborted: Option<ConditionDoc>, record: &mut RunRecord) -> Self {
        match (aborted, &record.outcome) {
            (Some(judged), Outcome::Interrupted) => {
                let (condition, found) = (&judged.condition, &judged.found);
                let reason = format!("{} '{condition}' failed: {found}", setting::FAIL_IF);
                record.outcome = Outcome::Aborted(reason);
                Self::Gate(judged)
            }
            _ => Self::Run,
        }
    }
}

impl Gate<'_> {
    /// Returns the outcomes of all conditions.
    pub fn outcomes(&self, doc: &RunDoc, ended_by: &EndedBy) -> Vec<ConditionDoc> {
        match ended_by {
            EndedBy::Run => self.thresholds.iter().map(|one| one.judge(doc)).collect(),
            // It does not have the values of the other conditions.
            EndedBy::Gate(failed) => {
                let others = self.thresholds.iter().map(Threshold::skipped);
                let others = others.filter(|other| other.condition != failed.condition);
                [vec![failed.clone()], others.collect()].concat()
            }
        }
    }

    /// Checks what can be checked before a run. Returns a line for each condition that cannot
    /// end it early.
    pub fn check(&self, plan: &Plan) -> Result<Vec<String>, Failure> {
        let mistake = |error: NotMeasured| Failure::Usage(error.to_string());
        let mut thresholds = self.thresholds.iter();
        thresholds.try_for_each(|threshold| threshold.check(plan).map_err(mistake))?;
        let Some(after) = self.abort_after else {
            return Ok(Vec::new());
        };
        if after >= plan.work.duration {
            return Err(Failure::Usage(format!(
                "{} {} is not shorter than the measured time of {}",
                Advice("@abort_on_fail"),
                format_duration(after),
                format_duration(plan.work.duration)
            )));
        }
        let point = UnfinishedPoint::of(plan);
        let late = self.thresholds.iter().filter(|of| !of.can_abort(&point));
        let lines = late.map(|threshold| {
            format!(
                "{} '{threshold}' is judged at the end of the run, not by {}",
                setting::FAIL_IF,
                Advice("@abort_on_fail")
            )
        });
        Ok(lines.collect())
    }

    /// Returns a function that stops the run when a condition has failed, and where it
    /// leaves the reason. `None` if the run need not stop.
    pub fn abort(
        &self,
        plan: &Plan,
        cancel: &Cancel,
    ) -> Option<(AbortReason, IntervalReport<'static>)> {
        let after = self.abort_after?;
        let reason = AbortReason::default();
        let (thresholds, cancel, left) = (self.thresholds.to_vec(), cancel.clone(), reason.clone());
        let mut point = UnfinishedPoint::of(plan);
        let report: IntervalReport<'_> = Box::new(move |interval| {
            point.add(interval);
            if point.length() < after || cancel.is_cancelled() {
                return;
            }
            let mut judged = thresholds
                .iter()
                .filter_map(|one| one.judge_unfinished(&point));
            if let Some(judged) = judged.find(|judged| judged.failed) {
                left.0.replace(Some(judged));
                cancel.cancel();
            }
        });
        Some((reason, report))
    }
}

/// Returns the exit code for the conditions.
pub fn exit_of(judged: &[ConditionDoc]) -> Exit {
    let exits = judged.iter().map(|judged| match judged.outcome {
        ConditionOutcome::Failed => Exit::Failed,
        ConditionOutcome::Passed | ConditionOutcome::Skipped => Exit::Done,
        ConditionOutcome::Unknown => Exit::Usage,
    });
    exits.max().unwrap_or(Exit::Done)
}

/// Writes the outcomes as JUnit tests, if that is asked for.
pub fn save_cases(
    junit: Option<&Junit<'_>>,
    invalid: Option<&str>,
    judged: &[ConditionDoc],
) -> Result<(), Failure> {
    let Some(junit) = junit else {
        return Ok(());
    };
    let mut cases = vec![JunitCase {
        name: VALID.to_owned(),
        outcome: match invalid {
            None => JunitOutcome::Passed,
            Some(_) => JunitOutcome::Failed,
        },
        message: invalid.unwrap_or_default().to_owned(),
    }];
    cases.extend(judged.iter().map(|judged| JunitCase {
        name: judged.condition.clone(),
        outcome: match judged.outcome {
            ConditionOutcome::Passed => JunitOutcome::Passed,
            ConditionOutcome::Skipped => JunitOutcome::Skipped,
            ConditionOutcome::Failed | ConditionOutcome::Unknown => JunitOutcome::Failed,
        },
        message: judged.found.clone(),
    }));
    junit.save(&cases)
}
