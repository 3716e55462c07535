//! A comparison as a whole.

use serde::Serialize;

use super::error::CompareError;
use super::pair::Pair;
use super::words::{difference, profiles};
use crate::doc::ToolDoc;

/// Runs compared with the first of them, or each server compared with its own
/// baseline.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Comparison {
    /// [`crate::doc::SCHEMA_VERSION`] of the program that wrote the comparison.
    pub schema_version: u32,
    /// The program that made the comparison.
    pub tool: ToolDoc,
    /// The compared pairs, in the order the inputs were given.
    pub pairs: Vec<Pair>,
    /// Results without a counterpart, one sentence each.
    pub unmatched: Vec<String>,
    /// Results of the built-in server that a folder had besides others, one sentence per
    /// folder. They are not compared.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<String>,
}

impl Comparison {
    /// Removes pairs of runs that did different work. Each becomes a sentence of
    /// `unmatched`.
    ///
    /// # Errors
    ///
    /// [`CompareError::OtherWork`] if no pair is left.
    pub fn of_same_work(mut self) -> Result<Self, CompareError> {
        let refused: Vec<_> = self.pairs.iter().filter_map(Pair::other_work).collect();
        self.pairs.retain(|pair| pair.other_work().is_none());
        self.unmatched
            .extend(refused.iter().map(CompareError::to_string));
        match refused.into_iter().next() {
            Some(first) if self.pairs.is_empty() => Err(first),
            _ => Ok(self),
        }
    }
}

impl Pair {
    /// Returns the error for a pair whose plans have different work.
    fn other_work(&self) -> Option<CompareError> {
        let mut differences = self.workload.iter();
        let first = differences.find(|difference| difference.is_of_planned_work())?;
        let profile = profiles(self);
        Some(CompareError::OtherWork {
            baseline: self.baseline.name.clone(),
            other: self.other.name.clone(),
            difference: profile.unwrap_or_else(|| difference(self, first)),
        })
    }
}
