//! A gate: passes of a candidate, compared with a baseline until the conditions are decided.
//!
//! The candidate is a build of Samba, or any server. The baseline is a document, or passes
//! of another build that alternate with those of the candidate, so that a machine that
//! becomes slower is no change. The work is that of the baseline's document.
//!
//! Looking after every pass would find a change by chance sooner or later. So a failure needs
//! more evidence than in one comparison ([`Judgement::is_sure_at`]), and all looks together
//! are wrong in one of a thousand gates at most. Not here: how a condition is judged.

mod looks;

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use smbench_engine::Cancel;
use smbench_lab::{SambaOptions, ScratchSamba};
use smbench_model::plan::Plan;
use smbench_model::secret::Secret;
use smbench_model::target::Target;
use smbench_model::units::format_duration;
use smbench_report::compare::{Comparison, Condition, Input, Judgement, compare};
use smbench_report::{Disclosure, RunDoc};

use crate::account::GivenServer;
use crate::failure::Failure;
use crate::lab_facts::{LabFacts, samba_policies};
use crate::observer::RunObserver;
use crate::request::{RunRequest, disclosure};
use crate::results::{ResultFiles, Results};
use crate::run::{JobOutcome, RunJob, finished};
use crate::time_left::TimeLeft;
use crate::unsaved::Unsaved;
use crate::verdict::judge;
use crate::watch::{PointLines, RunPart};
use looks::{answer, passes_needed};

/// Passes of each side before the first look.
const PASSES_MIN: u32 = 3;

/// A server of a gate.
#[derive(Debug)]
pub enum GateServer {
    /// A scratch Samba that is started for each pass.
    Samba {
        /// The smbd to start; `None` for the installed one.
        smbd: Option<PathBuf>,
        /// Lines for the global section of its smb.conf.
        lines: Vec<String>,
    },
    /// An existing server.
    Given(Box<GivenServer>),
}

/// What the candidate is compared with.
#[derive(Debug)]
pub enum GateBaseline {
    /// The passes of a document.
    Document(Box<RunDoc>),
    /// Passes that alternate with those of the candidate.
    Server(GateServer),
}

/// A gate that is to be carried out.
pub struct BuildGate<'a> {
    /// The work; its server is not used.
    pub request: &'a RunRequest,
    /// What the candidate is compared with.
    pub baseline: GateBaseline,
    /// The server to judge.
    pub candidate: GateServer,
    /// Changes that fail the gate.
    pub conditions: &'a [Condition],
    /// Highest number of passes of each side.
    pub passes: u32,
    /// Time after which no further pass begins.
    pub limit: Duration,
    /// Where the documents of all passes go.
    pub files: &'a ResultFiles,
    /// Gets progress and messages.
    pub observer: &'a dyn RunObserver,
    /// Ends the gate in good order.
    pub cancel: &'a Cancel,
    /// Marks results that are not on disk yet.
    pub unsaved: &'a Unsaved,
}

/// The answer of a gate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GateAnswer {
    /// No condition failed, and the passes would have shown it.
    Passed,
    /// A condition failed.
    Failed,
    /// Neither can be told, for this reason.
    CannotTell(String),
}

/// What a gate has found.
#[derive(Debug)]
pub struct GateOutcome {
    /// The answer.
    pub answer: GateAnswer,
    /// Passes of the candidate.
    pub passes: u32,
    /// The comparison after the last pass, if there was one.
    pub comparison: Option<Comparison>,
    /// The judgement of each condition on it.
    pub judgements: Vec<Judgement>,
}

/// A side of a gate.
#[derive(Clone, Copy, PartialEq, Eq)]
enum GateSide {
    Baseline,
    Candidate,
}

impl GateSide {
    const fn name(self) -> &'static str {
        match self {
            Self::Baseline => "baseline",
            Self::Candidate => "candidate",
        }
    }
}

/// Why a pass has no result.
enum NoPass {
    Interrupted,
    Because(String),
}

impl BuildGate<'_> {
    /// Measures until the conditions are decided, or a limit is reached.
    ///
    /// # Errors
    /// [`Failure::Interrupted`], and what concerns the conditions or the files of results.
    pub fn run(&self) -> Result<GateOutcome, Failure> {
        let began = Instant::now();
        let (mut old, mut new) = (Vec::new(), Vec::new());
        let mut outcome = GateOutcome {
            answer: GateAnswer::CannotTell("no pass was measured".to_owned()),
            passes: 0,
            comparison: None,
            judgements: Vec::new(),
        };
        if let GateBaseline::Document(doc) = &self.baseline {
            old.push((**doc).clone());
        }
        for round in 1..=self.passes {
            if round > 1 && began.elapsed() >= self.limit {
                let limit = format_duration(self.limit);
                outcome.answer = GateAnswer::CannotTell(self.undecided(&outcome, &limit));
                return Ok(outcome);
            }
            for side in self.order(round) {
                let results = match side {
                    GateSide::Baseline => &mut old,
                    GateSide::Candidate => &mut new,
                };
                match self.pass(side, round)? {
                    Ok(doc) => results.push(doc),
                    Err(NoPass::Interrupted) => return Err(Failure::Interrupted),
                    Err(NoPass::Because(reason)) => {
                        let reason = format!("pass {round} of the {}: {reason}", side.name());
                        outcome.answer = GateAnswer::CannotTell(reason);
                        return Ok(outcome);
                    }
                }
            }
            outcome.passes = round;
            if round < PASSES_MIN {
                continue;
            }
            let comparison = compared(&old, &new)?;
            outcome.judgements = judgements(self.conditions, &comparison)?;
            outcome.comparison = Some(comparison);
            for judged in &outcome.judgements {
                let (condition, found) = (&judged.condition, judged.found());
                self.observer
                    .note(&format!("after pass {round}: {condition}: {found}"));
            }
            let look = round - PASSES_MIN + 1;
            let counts = |judged: &Judgement| self.counts(judged);
            let fewest = self.fewest(round);
            if let Some(answer) = answer(&outcome.judgements, look, fewest, counts) {
                outcome.answer = answer;
                return Ok(outcome);
            }
        }
        let limit = passes_in_words(self.passes);
        outcome.answer = GateAnswer::CannotTell(self.undecided(&outcome, &limit));
        Ok(outcome)
    }

    /// Returns the sides of a round, in an order that lets none profit from a drift.
    fn order(&self, round: u32) -> Vec<GateSide> {
        match (&self.baseline, round % 2) {
            (GateBaseline::Document(_), _) => vec![GateSide::Candidate],
            (GateBaseline::Server(_), 1) => vec![GateSide::Baseline, GateSide::Candidate],
            (GateBaseline::Server(_), _) => vec![GateSide::Candidate, GateSide::Baseline],
        }
    }

    /// Returns the smaller number of passes of both sides.
    fn fewest(&self, round: u32) -> u32 {
        match &self.baseline {
            GateBaseline::Document(doc) => round.min(passes_of(doc)),
            GateBaseline::Server(_) => round,
        }
    }

    /// Returns whether a failure counts. Passes that alternate have the same machine. Those of
    /// a document may have had another, so a figure that is not the server's own is none.
    fn counts(&self, judged: &Judgement) -> bool {
        matches!(self.baseline, GateBaseline::Server(_)) || !judged.is_open()
    }

    fn undecided(&self, outcome: &GateOutcome, limit: &str) -> String {
        let open = outcome.judgements.iter().find(|judged| !judged.passed());
        let needed = open.and_then(|judged| {
            let conditions = outcome.judgements.len();
            passes_needed(judged, self.fewest(outcome.passes), conditions)
        });
        let needed = needed.filter(|passes| *passes > outcome.passes);
        let needed = needed.map(|passes| format!("; it may need {passes} passes of each side"));
        let failed = || outcome.judgements.iter().filter(|judged| judged.failed);
        let why = if failed().any(|judged| !self.counts(judged)) {
            "; a change is there, but the generator was the limit: compare with passes of a build"
        } else if failed().next().is_some() {
            "; the change is beyond the limit, but may still be chance"
        } else {
            ""
        };
        let needed = needed.unwrap_or_default();
        format!("not decided after {limit}{why}{needed}")
    }

    /// Measures one pass of a side, on a server of its own.
    fn pass(&self, side: GateSide, round: u32) -> Result<Result<RunDoc, NoPass>, Failure> {
        let server = match (side, &self.baseline) {
            (GateSide::Baseline, GateBaseline::Server(server)) => server,
            _ => &self.candidate,
        };
        let place = format!("pass {round} of the {}", side.name());
        self.observer.within(&place);
        let (target, disclosure, samba) = match start(server) {
            Ok(started) => started,
            Err(failure) => return Ok(Err(NoPass::Because(failure.to_string()))),
        };
        let mut plan = self.request.plan(target);
        plan.work.repeat = 1;
        let files = ResultFiles {
            folder: self.files.folder.clone(),
            ..ResultFiles::default()
        };
        let mut results = Results::prepare(&files, &plan.work.profile, SystemTime::now())?;
        let disclosure = Disclosure {
            label: Some(format!("gate {}", side.name())),
            note: Some(place.clone()),
            ..disclosure
        };
        let record = self.measure(&plan, disclosure.clone(), &place, &mut results);
        self.observer.ended();
        drop(samba);
        if self.cancel.is_cancelled() {
            return Ok(Err(NoPass::Interrupted));
        }
        let mut doc = match record
            .record
            .map(|record| finished(&record, disclosure, None))
        {
            Ok(doc) => doc,
            Err(error) => {
                let failure = Failure::from(error);
                return Ok(Err(NoPass::Because(failure.to_string())));
            }
        };
        results.save(&doc)?;
        if let Some((_, reason)) = judge(&doc) {
            let reason = reason.unwrap_or_else(|| "it is not valid".to_owned());
            return Ok(Err(NoPass::Because(reason)));
        }
        for point in &mut doc.load_points {
            point.repeat = round;
        }
        Ok(Ok(doc))
    }

    fn measure(
        &self,
        plan: &Plan,
        disclosure: Disclosure,
        place: &str,
        results: &mut Results,
    ) -> JobOutcome {
        let mut left = TimeLeft::of_plans(std::iter::once(plan));
        let part = RunPart {
            left: &mut left,
            plan,
            place: Some(place),
            points: PointLines::Hidden,
        };
        let job = RunJob::simple(part, disclosure, self.observer, self.unsaved, self.cancel);
        job.measure(results)
    }
}

/// Starts a server, unless it exists.
fn start(server: &GateServer) -> Result<(Target, Disclosure, Option<ScratchSamba>), Failure> {
    match server {
        GateServer::Given(account) => {
            let target = account.with_password()?;
            let facts = LabFacts::of_environment(&target);
            let mut known = disclosure(Default::default());
            if let Some(facts) = facts {
                facts.add_to(&mut known);
            }
            Ok((target, known, None))
        }
        GateServer::Samba { smbd, lines } => {
            let samba = ScratchSamba::start(SambaOptions {
                smbd: smbd.clone(),
                extra_global: lines.clone(),
                ..SambaOptions::default()
            })?;
            let (mut target, _) = Target::parse(&samba.url())?;
            target.password = Secret::new(samba.password());
            let mut known = disclosure(samba_policies(lines));
            LabFacts::of_samba(&samba, lines).add_to(&mut known);
            Ok((target, known, Some(samba)))
        }
    }
}

fn passes_in_words(passes: u32) -> String {
    match passes {
        1 => "1 pass".to_owned(),
        several => format!("{several} passes"),
    }
}

/// Returns the number of passes of a document.
pub fn passes_of(doc: &RunDoc) -> u32 {
    let valid = doc.load_points.iter().filter(|point| point.valid);
    let mut passes: Vec<_> = valid.map(|point| point.repeat).collect();
    passes.sort_unstable();
    passes.dedup();
    passes.len() as u32
}

/// Compares the passes of the candidate with those of the baseline.
fn compared(old: &[RunDoc], new: &[RunDoc]) -> Result<Comparison, Failure> {
    let joined = [(old, "baseline"), (new, "candidate")].map(|(passes, name)| {
        let joined = RunDoc::pooled(passes.to_vec());
        joined.map(|run| Input::of_run(Path::new(name), run))
    });
    let inputs: Vec<_> = joined.into_iter().flatten().collect();
    Ok(compare(&inputs)?)
}

fn judgements(conditions: &[Condition], of: &Comparison) -> Result<Vec<Judgement>, Failure> {
    let mut all = Vec::new();
    for condition in conditions {
        for pair in &of.pairs {
            all.push(condition.judge(pair)?);
        }
    }
    Ok(all)
}

#[cfg(test)]
mod tests;
