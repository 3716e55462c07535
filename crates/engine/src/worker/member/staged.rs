//! How punctual a client is in each stage of a load.

use std::rc::Rc;

use smbench_model::Nanos;
use smbench_model::record::Punctuality;
use smbench_model::stages::Stages;

/// The instants at which the stages of a load end.
#[derive(Clone, Debug)]
pub(crate) struct StageEnds(Rc<[Nanos]>);

impl StageEnds {
    /// Returns the ends of stages whose window opens at `open`.
    pub(crate) fn of(stages: &Stages, open: Nanos) -> Self {
        Self(
            stages
                .places()
                .map(|place| open + place.end().into())
                .collect(),
        )
    }
}

/// Counts of a client by stage.
pub(super) struct StagedCounts {
    ends: StageEnds,
    counts: Box<[Punctuality]>,
}

impl StagedCounts {
    pub(super) fn new(ends: &StageEnds) -> Self {
        Self {
            ends: ends.clone(),
            counts: ends.0.iter().map(|_| Punctuality::default()).collect(),
        }
    }

    /// Returns the counts of the stage at an instant; those of the last one after the end.
    pub(super) fn at(&mut self, at: Nanos) -> Option<&mut Punctuality> {
        let stage = self.ends.0.partition_point(|end| *end <= at);
        let last = self.counts.len().checked_sub(1)?;
        self.counts.get_mut(stage.min(last))
    }

    pub(super) fn all(&self) -> &[Punctuality] {
        &self.counts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_instant_belongs_to_one_stage() {
        let stages: Stages = "10s:5,0s:1,5s:9".parse().unwrap();
        let mut staged = StagedCounts::new(&StageEnds::of(&stages, Nanos(3)));
        let second = |seconds: u64| Nanos(seconds * 1_000_000_000);
        for at in [
            second(0),
            second(10),
            second(10) + Nanos(3),
            second(15),
            second(99),
        ] {
            staged.at(at).unwrap().due += 1;
        }
        let due: Vec<_> = staged.all().iter().map(|stage| stage.due).collect();
        assert_eq!(due, [2, 3]);
    }
}
