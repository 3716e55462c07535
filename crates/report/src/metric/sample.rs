//! Passes at one load, with their response times pooled once for all metrics.

use std::cell::OnceCell;

use crate::doc::{LoadPointDoc, OpDoc};
use crate::latency::{Hdr, LatencyDoc, pool};

/// Passes at one load, of all operations or of one kind.
pub struct PassSample<'a> {
    pub(super) passes: &'a [&'a LoadPointDoc],
    pub(super) op: Option<&'a str>,
    times: OnceCell<Option<PooledTimes>>,
}

/// Response times of several passes together.
pub(super) struct PooledTimes {
    /// Those of all passes.
    pub(super) all: LatencyDoc,
    /// Those without each of the passes, in their order.
    pub(super) without: Vec<LatencyDoc>,
}

impl<'a> PassSample<'a> {
    /// Builds the sample of one kind of operation, or of all that the workload asked for.
    #[must_use]
    pub fn new(passes: &'a [&'a LoadPointDoc], op: Option<&'a str>) -> Self {
        Self {
            passes,
            op,
            times: OnceCell::new(),
        }
    }

    /// Returns the pooled response times; `None` if there are no operations without one
    /// of the passes.
    pub(super) fn times(&self) -> Option<&PooledTimes> {
        let pooled = || {
            let passes = self.passes.iter().map(|pass| pool(self.histograms(pass)));
            let (all, without) = LatencyDoc::with_and_without(&passes.collect::<Vec<_>>())?;
            Some(PooledTimes { all, without })
        };
        self.times.get_or_init(pooled).as_ref()
    }

    fn histograms(&self, pass: &'a LoadPointDoc) -> impl Iterator<Item = &'a Hdr> {
        let (all, one) = match self.op {
            None => (Some(pass.asked_for()), None),
            Some(op) => (None, pass.ops.get(op)),
        };
        all.into_iter().flatten().chain(one).map(OpDoc::response)
    }
}
