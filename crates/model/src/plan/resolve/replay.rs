//! Resolves the recording to replay, and refuses options that a replay does not
//! support.

use std::sync::Arc;
use std::time::Duration;

use super::PlanSources;
use crate::access::Access;
use crate::bounds::SPEED_MAX;
use crate::contents::Verify;
use crate::files::{FileSet, Layout, Scope};
use crate::load::LoadModel;
use crate::plan::{Plan, PlanError, Problem};
use crate::trace::Recording;
use crate::work::WorkSpec;
use crate::workload::{Replay, Requests, Timing, Workload};

impl PlanSources<'_> {
    /// Has a capture replayed once, unless a window is asked for: a further pass finds the files
    /// as the one before left them, and answers differ from the recorded ones.
    pub(super) fn pass_once(&self, merged: &mut WorkSpec) {
        let has_window = merged.duration.is_some()
            || merged.until_steady.is_some()
            || merged.ramp_up.is_some()
            || merged.ramp_down.is_some()
            || merged.event.is_some();
        if self.profile.is_of_capture() && !has_window {
            merged.loops.get_or_insert(1);
        }
    }

    /// Returns the recording of the profile, if it has one.
    pub(super) fn recording(&self, merged: &WorkSpec) -> Result<Option<Arc<Recording>>, PlanError> {
        let profile = self.profile;
        let Some(capture) = profile.spec.netbench else {
            return Ok(profile.recording.clone());
        };
        let spec = &profile.spec;
        for (name, is_given) in [
            ("read_percent", spec.read_percent.is_some()),
            ("split", spec.split.is_some()),
            ("[[operations]]", !spec.operations.is_empty()),
            ("[[sizes]]", !spec.sizes.is_empty()),
            ("[[pattern]]", !spec.pattern.is_empty()),
            ("flush_every_writes", spec.flush_every_writes.is_some()),
            ("access", spec.access.is_some()),
        ] {
            if is_given {
                return Err(self.in_profile(Problem::InReplay {
                    what: name,
                    why: "netbench says what is done; drop one of them",
                }));
            }
        }
        let Some(generate) = profile.netbench else {
            let problem = Problem::Without("netbench", "a generator of its trace");
            return Err(self.in_profile(problem));
        };
        let trace = generate(capture, merged.seed.unwrap_or(1));
        Ok(Some(Arc::new(trace.into())))
    }

    /// Resolves a replay of this recording with the options given.
    pub(super) fn replay(
        &self,
        recording: Arc<Recording>,
        merged: &WorkSpec,
    ) -> Result<Workload, PlanError> {
        if merged.loops == Some(0) {
            return Err(self.in_option("loops", Problem::LoopsZero));
        }
        if merged.file_size.is_some() {
            return Err(self.not_in_replay("file_size", "files are as large as recorded"));
        }
        let timing = merged.timing.unwrap_or_default();
        let speed = self.speed(timing, merged)?;
        if timing == Timing::Recorded && !recording.has_times() {
            let problem = Problem::NoTimes(recording.summary().source.clone());
            return Err(self.in_option("timing", problem));
        }
        Ok(Workload {
            sizes: Vec::new(),
            files: FileSet {
                scope: Scope::Private,
                count: recording.files_per_client(),
                size: 0,
                layout: Layout::Flat,
            },
            requests: Requests::Replay(Replay {
                recording,
                timing,
                speed,
                loops: merged.loops,
            }),
            access: Access::Sequential,
        })
    }

    /// Resolves how many times as fast as recorded a replay is.
    fn speed(&self, timing: Timing, merged: &WorkSpec) -> Result<f64, PlanError> {
        match merged.speed {
            Some(speed) if !(speed > 0.0 && speed <= SPEED_MAX) => {
                Err(self.in_option("speed", Problem::Speed(speed)))
            }
            Some(_) if timing == Timing::Fast => {
                let problem = Problem::Without("speed", "recorded timing");
                Err(self.in_option("speed", problem))
            }
            speed => Ok(speed.unwrap_or(1.0)),
        }
    }

    /// Resolves the load model of a replay at the recorded instants.
    pub(super) fn recorded(&self, merged: &WorkSpec) -> Result<LoadModel, PlanError> {
        let why = "timing is recorded; drop one of them";
        match (&merged.rate, merged.think_time) {
            (None, None) => Ok(LoadModel::Recorded),
            (Some(_), _) => Err(self.not_in_replay("rate", why)),
            (None, Some(_)) => Err(self.not_in_replay("think_time", why)),
        }
    }

    /// Refuses a rate or a think time for a recording with pauses. The pauses are
    /// the waits of the recorded clients, and either option would silently replace
    /// them.
    pub(super) fn check_pauses(&self, replay: &Replay, merged: &WorkSpec) -> Result<(), PlanError> {
        if !replay.recording.has_pauses() {
            return Ok(());
        }
        let name = match (&merged.rate, merged.think_time) {
            (Some(_), _) => "rate",
            (None, Some(Duration::ZERO) | None) => return Ok(()),
            (None, Some(_)) => "think_time",
        };
        Err(self.in_option(name, Problem::Pauses(name)))
    }

    pub(super) fn check_replay(&self, plan: &Plan) -> Result<(), PlanError> {
        let Some(replay) = plan.only().workload.replay() else {
            return Ok(());
        };
        plan.check_order()
            .map_err(|problem| self.in_option("outstanding", problem))?;
        if plan.only().verify != Verify::Off {
            let why = "the recording has no data; drop it";
            return Err(self.not_in_replay("verify", why));
        }
        for (name, ramp) in [
            ("ramp_up", plan.work.ramp_up),
            ("ramp_down", plan.work.ramp_down),
        ] {
            if replay.loops.is_some() && !ramp.is_zero() {
                let why = "with loops everything is measured; give 0s";
                return Err(self.not_in_replay(name, why));
            }
        }
        Ok(())
    }

    fn not_in_replay(&self, what: &'static str, why: &'static str) -> PlanError {
        self.in_option(what, Problem::InReplay { what, why })
    }
}
