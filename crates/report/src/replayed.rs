//! Operations of a replay that did not go as recorded.
//!
//! A server may refuse an operation, or do less than the operation asked for. It
//! then did not do the work that its throughput is quoted with. Shares are of all
//! operations, ramps included. Not here: recorded and seen statuses, which are in
//! the document ([`crate::doc::DifferenceDoc`]).

use std::collections::BTreeMap;

use itertools::Itertools as _;

use crate::curve::{CurveRow, total};
use crate::doc::is_asked_for;
use crate::statistics::per;
use crate::units::{percent, plain};

/// Share of all operations below which differences affect no number. Example: every
/// client makes the same folder, and only one can. That is a few in a million.
const SHARE_WORTH_TELLING: f64 = 0.001;

/// Operations of several passes of load points, and how many differed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Replayed {
    /// Number of all operations, including those that differed.
    all: u64,
    /// Number of operations that did not go as recorded, by kind.
    otherwise: BTreeMap<String, u64>,
}

impl Replayed {
    /// Sums up the passes that the numbers of these rows come from.
    pub(crate) fn of<'a>(rows: impl IntoIterator<Item = &'a CurveRow<'a>>) -> Self {
        let mut sum = Self::default();
        for pass in rows.into_iter().flat_map(|row| &row.passes) {
            let whole = pass.whole.iter();
            let asked_for = whole.filter(|(name, _)| is_asked_for(name));
            let answered = asked_for.flat_map(|(_, totals)| [totals.count, totals.errors]);
            let otherwise = pass.differences.iter();
            let counts = otherwise.map(|found| found.count);
            sum.all = total([sum.all].into_iter().chain(answered).chain(counts));
            for found in &pass.differences {
                let count = sum.otherwise.entry(found.op.clone()).or_default();
                *count = count.saturating_add(found.count);
            }
        }
        sum
    }

    /// Returns the kinds with at least one operation that did not go as recorded.
    pub(crate) fn kinds(&self) -> impl Iterator<Item = &str> {
        self.otherwise.keys().map(String::as_str)
    }

    /// Returns the operations of this kind that did not go as recorded, as a share
    /// of all operations from 0 to 1. Without operations the share is 0.
    pub(crate) fn share(&self, kind: &str) -> f64 {
        self.share_of(self.otherwise.get(kind).copied().unwrap_or_default())
    }

    /// Returns whether the share of differences is large enough to report.
    pub(crate) fn is_worth_telling(&self) -> bool {
        self.share_of(self.count()) > SHARE_WORTH_TELLING
    }

    /// Returns a text: `5553 of 458344 operations (1.21 %) did not go as recorded:
    /// 5553 flush`.
    pub(crate) fn told(&self) -> String {
        let kinds = self.otherwise.iter();
        let kinds = kinds.sorted_by_key(|(_, count)| std::cmp::Reverse(**count));
        let mut kinds = kinds.map(|(kind, count)| format!("{count} {}", plain(kind)));
        let count = self.count();
        format!(
            "{count} of {} operations ({}) did not go as recorded: {}",
            self.all,
            percent(self.share_of(count) * 100.0),
            kinds.join(", ")
        )
    }

    fn count(&self) -> u64 {
        total(self.otherwise.values().copied())
    }

    fn share_of(&self, count: u64) -> f64 {
        per(count as f64, self.all as f64)
    }
}

/// Returns whether two shares differ so much that the two servers did different
/// work.
pub(crate) fn is_other_work(one: f64, other: f64) -> bool {
    (one - other).abs() > SHARE_WORTH_TELLING
}
