//! Probes of one search that contradict each other, and the range in which its answer lies.

use crate::doc::{ContradictionDoc, ProbeDoc, ProbeOutcome};

impl ContradictionDoc {
    /// Compares the highest load that held with the lowest one that broke. Returns `None` if
    /// the first is below the second.
    pub(super) fn of(probes: &[ProbeDoc]) -> Option<Self> {
        let loads = |verdict: ProbeOutcome| {
            let of_verdict = probes.iter().filter(move |probe| probe.verdict == verdict);
            of_verdict.map(|probe| probe.load)
        };
        let numbers = |verdict: ProbeOutcome, load: f64| {
            let numbered = (1..).zip(probes);
            let alike =
                numbered.filter(|(_, probe)| (probe.verdict, probe.load) == (verdict, load));
            alike.map(|(number, _)| number).collect()
        };
        let held = || loads(ProbeOutcome::Held);
        let broke = || loads(ProbeOutcome::Broke);
        let held_at = held().max_by(f64::total_cmp)?;
        let broke_at = broke().min_by(f64::total_cmp)?;
        (held_at >= broke_at).then(|| Self {
            held_at,
            held_in: numbers(ProbeOutcome::Held, held_at),
            broke_at,
            broke_in: numbers(ProbeOutcome::Broke, broke_at),
            at_least: held()
                .filter(|load| *load < broke_at)
                .max_by(f64::total_cmp),
            below: broke()
                .filter(|load| *load > held_at)
                .min_by(f64::total_cmp),
        })
    }

    /// Returns the same with other numbers of probes, which begin after `before` others.
    pub(super) fn after(mut self, before: u32) -> Self {
        let numbers = self.held_in.iter_mut().chain(&mut self.broke_in);
        numbers.for_each(|number| *number += before);
        self
    }
}
