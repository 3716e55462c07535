//! Operations of a replay that did not go as recorded.
//!
//! A server may refuse an operation, or do less than the operation asked for. It
//! then did not do the work that its throughput is quoted with. Shares are of all
//! operations, ramps included. No count and no latency of [`crate::doc::OpDoc`]
//! contains these operations. Not here: the limit of a valid load point, which is
//! [`ReplayDifference::SHARE_MAX`].

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use itertools::Itertools as _;
use smbench_model::record::ReplayDifference;

use crate::doc::{LoadPointDoc, is_asked_for};
use crate::statistics::per;
use crate::table::Cell;
use crate::tone::Tone;
use crate::units::{percent, plain};

/// Share of all operations below which differences affect no number. Example: every
/// client makes the same folder, and only one can. That is a few in a million.
const SHARE_WORTH_REPORTING: f64 = 0.001;

/// Largest number of results that a line names.
const RESULTS_TOLD: usize = 3;

/// The result of an operation on a file that could not be opened. It follows from the open.
const CONSEQUENCE: &str = "STATUS_FILE_CLOSED";

/// The meaning of a column with these operations.
pub(crate) const NOTE: &str =
    "differ: operations that did not go as recorded, ramps included; no other column counts them";

/// Operations of several load points, and how many differed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Replayed {
    is_replay: bool,
    /// Number of operations that went as recorded or failed, by kind.
    answered: BTreeMap<String, u64>,
    /// Number of operations that did not go as recorded, by kind and result.
    otherwise: BTreeMap<(String, String), u64>,
}

impl Replayed {
    /// Sums up these load points.
    pub(crate) fn of<'a>(points: impl IntoIterator<Item = &'a LoadPointDoc>) -> Self {
        let mut sum = Self::default();
        for point in points {
            sum.is_replay |= point.replayed.is_some() || !point.differences.is_empty();
            let whole = point.whole.iter();
            for (name, totals) in whole.filter(|(name, _)| is_asked_for(name)) {
                let count = sum.answered.entry(name.clone()).or_default();
                *count = total([*count, totals.count, totals.errors].into_iter());
            }
            for found in &point.differences {
                let key = (found.op.clone(), found.seen.clone());
                let count = sum.otherwise.entry(key).or_default();
                *count = count.saturating_add(found.count);
            }
        }
        sum
    }

    /// Returns whether the load points are of a replay, as far as their documents show.
    pub(crate) const fn is_replay(&self) -> bool {
        self.is_replay
    }

    /// Returns the kinds with at least one operation that did not go as recorded.
    pub(crate) fn kinds(&self) -> BTreeSet<&str> {
        self.otherwise.keys().map(|(kind, _)| &**kind).collect()
    }

    /// Returns the operations of this kind that did not go as recorded, as a share
    /// of all operations from 0 to 1. Without operations the share is 0.
    pub(crate) fn share(&self, kind: &str) -> f64 {
        per(self.count_of(kind) as f64, self.all() as f64)
    }

    /// Returns the number of operations that did not go as recorded.
    pub(crate) fn count(&self) -> u64 {
        total(self.otherwise.values().copied())
    }

    /// Returns the number of operations of this kind that did not go as recorded.
    pub(crate) fn count_of(&self, kind: &str) -> u64 {
        let of_kind = self.otherwise.iter().filter(|((op, _), _)| op == kind);
        total(of_kind.map(|(_, count)| *count))
    }

    /// Returns the operations that did not go as recorded as a share of all, from 0 to 1.
    pub(crate) fn share_of_all(&self) -> f64 {
        per(self.count() as f64, self.all() as f64)
    }

    /// Returns the operations of this kind that did not go as recorded as a share of the
    /// kind, from 0 to 1.
    pub(crate) fn share_of_kind(&self, kind: &str) -> f64 {
        let differ = self.count_of(kind);
        let answered = self.answered.get(kind).copied().unwrap_or_default();
        per(differ as f64, answered.saturating_add(differ) as f64)
    }

    /// Returns whether the share of differences is large enough to report.
    pub(crate) fn is_worth_reporting(&self) -> bool {
        self.share_of_all() > SHARE_WORTH_REPORTING
    }

    /// Returns whether too many differ for a valid load point.
    pub(crate) fn is_too_many(&self) -> bool {
        self.share_of_all() > ReplayDifference::SHARE_MAX
    }

    /// Returns how serious the differences are.
    pub(crate) fn tone(&self) -> Tone {
        if self.is_too_many() {
            Tone::Problem
        } else if self.is_worth_reporting() {
            Tone::Caution
        } else {
            Tone::Plain
        }
    }

    /// Returns the cell of a table: `69363 (90 %)`.
    pub(crate) fn cell(&self) -> Cell {
        counted(self.count(), self.share_of_all())
    }

    /// Returns the same for one kind of operation.
    pub(crate) fn cell_of(&self, kind: &str) -> Cell {
        counted(self.count_of(kind), self.share_of_kind(kind))
    }

    /// Returns a narrow cell of a table: `90 %`.
    pub(crate) fn cell_in_brief(&self) -> Cell {
        match self.count() {
            0 => Cell::count(0),
            _ => Cell::of(Some(self.share_of_all() * 100.0), percent),
        }
    }

    /// Returns a text: `5553 of 458344 operations (1.21 %) did not go as recorded:
    /// 5553 flush`.
    pub(crate) fn text(&self) -> String {
        let kinds = self.kinds().into_iter();
        let kinds = kinds.map(|kind| (kind, self.count_of(kind)));
        let kinds = kinds.sorted_by_key(|(_, count)| Reverse(*count));
        let mut kinds = kinds.map(|(kind, count)| format!("{count} {}", plain(kind)));
        format!("{}: {}", self.how_many(), kinds.join(", "))
    }

    /// Returns the same with the most frequent results: `5553 flush
    /// got STATUS_NOT_SUPPORTED`. `None` if all operations went as recorded.
    pub(crate) fn results(&self) -> Option<String> {
        if self.otherwise.is_empty() {
            return None;
        }
        let results = self.otherwise.iter();
        let results = results
            .sorted_by_key(|((_, seen), count)| (Reverse(**count), seen == CONSEQUENCE))
            .map(|((op, seen), count)| format!("{count} {} got {}", plain(op), plain(seen)));
        let more = results.len().saturating_sub(RESULTS_TOLD);
        let more = (more > 0).then(|| format!(" and {more} more"));
        let results = results.take(RESULTS_TOLD).join(", ");
        Some(format!(
            "{}: {results}{}",
            self.how_many(),
            more.unwrap_or_default()
        ))
    }

    /// Returns a text: `5553 of 458344 operations (1.21 %) did not go as recorded`.
    pub(crate) fn how_many(&self) -> String {
        let (count, all) = (self.count(), self.all());
        let share = percent(self.share_of_all() * 100.0);
        format!("{count} of {all} operations ({share}) did not go as recorded")
    }

    /// Returns the number of all operations, including those that differed.
    fn all(&self) -> u64 {
        total(
            self.answered
                .values()
                .chain(self.otherwise.values())
                .copied(),
        )
    }
}

/// Adds counts so that a hostile document cannot make the sum overflow.
fn total(counts: impl Iterator<Item = u64>) -> u64 {
    counts.fold(0, u64::saturating_add)
}

fn counted(count: u64, share: f64) -> Cell {
    match count {
        0 => Cell::count(0),
        _ => Cell::number(
            count as f64,
            format!("{count} ({})", percent(share * 100.0)),
        ),
    }
}

/// Returns whether two shares differ so much that the two servers did different
/// work.
pub(crate) fn is_other_work(one: f64, other: f64) -> bool {
    (one - other).abs() > SHARE_WORTH_REPORTING
}
