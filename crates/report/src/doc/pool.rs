//! Passes that were measured one by one, as one document.
//!
//! Not here: averages, which are [`crate::curve`]'s.

use super::{LoadPointDoc, MachineDoc, OutcomeDoc, PeakDoc, RepeatsDoc, RunDoc};
use crate::curve::Curve;

/// Said of passes on machines that differ in more than the CPUs they may use, which are
/// told of apart.
const OTHER_MACHINE: &str = "not the same machine generated the load of all passes, or it \
                             changed in between: which one a pass is from is not told";

impl RunDoc {
    /// The document with all its load points in pass `repeat`, from 1.
    #[must_use]
    pub fn as_pass(mut self, repeat: u32) -> Self {
        for point in &mut self.load_points {
            point.repeat = repeat;
        }
        self.summarised()
    }

    /// The load points of several documents of the same plan and server in one,
    /// otherwise as the first of them: with its start, plan and server, but the
    /// first outcome that is not "complete", with what the server was in others
    /// ([`super::ServerDoc::otherwise`]), with a note where others were generated on
    /// another machine, and with no number of CPUs of the generator's where that was not
    /// the same in all, as no share of them would be right. `None` without any.
    #[must_use]
    pub fn pooled(passes: Vec<Self>) -> Option<Self> {
        let mut passes = passes.into_iter();
        let mut all = passes.next()?;
        for pass in passes {
            all.server.add_pass(&pass.server);
            let mut notes = all.server.notes.iter();
            if is_from_elsewhere(&all, &pass) && !notes.any(|note| note == OTHER_MACHINE) {
                all.server.notes.push(OTHER_MACHINE.to_owned());
            }
            let differ = |(of_all, of_pass)| of_all != of_pass;
            if cpus(&all).zip(cpus(&pass)).is_some_and(differ) {
                all.machine = all.machine.map(|machine| MachineDoc {
                    cpus: None,
                    ..machine
                });
                let note = "not all passes had as many CPUs to generate their load: what share of \
                            them was used is not told";
                all.server.notes.push(note.to_owned());
            }
            all.load_points.extend(pass.load_points);
            if all.outcome == OutcomeDoc::Complete {
                (all.outcome, all.outcome_reason) = (pass.outcome, pass.outcome_reason);
            }
            all.leftover = all.leftover.or(pass.leftover);
        }
        let passes = all.load_points.iter().map(|point| point.repeat).max();
        all.plan.repeat = passes.unwrap_or(1);
        Some(all.summarised())
    }

    fn summarised(mut self) -> Self {
        (self.repeats, self.peak) = summary(&self.load_points);
        self
    }
}

/// Those that the generator could use.
fn cpus(run: &RunDoc) -> Option<u32> {
    run.machine.as_ref()?.cpus
}

/// Whether two runs were generated on machines that differ in more than the CPUs they
/// may use, as far as both are known.
fn is_from_elsewhere(all: &RunDoc, pass: &RunDoc) -> bool {
    let apart_from_cpus = |machine: &MachineDoc| MachineDoc {
        cpus: None,
        ..machine.clone()
    };
    let machines = all.machine.as_ref().zip(pass.machine.as_ref());
    machines.is_some_and(|(all, pass)| !apart_from_cpus(all).is_same(&apart_from_cpus(pass)))
}

/// What follows from several load points.
pub(super) fn summary(load_points: &[LoadPointDoc]) -> (Vec<RepeatsDoc>, Option<PeakDoc>) {
    let curve = Curve::of(load_points);
    let repeats = curve.rows.iter().filter_map(|row| row.repeats).collect();
    (repeats, curve.peak())
}
