//! Errors of comparisons.

use smbench_model::setting::{FAIL_IF, FORCE};

/// Reason why runs cannot be compared.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CompareError {
    /// The input is a single result.
    #[error("{path} is a single result: compare needs two results, or a study of several servers")]
    Alone {
        /// The file or folder.
        path: String,
    },
    /// The input has several results, and it is unclear which one to compare.
    #[error(
        "{path} has several results ({names}), {single} has one: give two studies, or the results \
         one by one"
    )]
    Several {
        /// The folder with several results.
        path: String,
        /// Names of those results.
        names: String,
        /// The input with one result.
        single: String,
    },
    /// Two studies have no server or profile in common.
    #[error("{baseline} and {other} have no server with the same profile in common")]
    NoPair {
        /// Folder of the baseline.
        baseline: String,
        /// The other folder.
        other: String,
    },
    /// The runs have no number of clients in common.
    #[error("no load point in common: {baseline}, {other}")]
    NoLoadPoint {
        /// The baseline with its load points.
        baseline: String,
        /// The other run with its load points.
        other: String,
    },
    /// A study has too few results.
    #[error("nothing to compare: {missing}")]
    NotMeasured {
        /// The missing results, a sentence each.
        missing: String,
    },
    /// A run has no load point that may be quoted.
    #[error("nothing to compare: no valid load point with operations in {names}")]
    NotQuotable {
        /// Name of that run, or of both.
        names: String,
    },
    /// The plans of two runs have different work.
    #[error(
        "{baseline} and {other} did different work ({difference}): add {FORCE} to compare them \
         anyway"
    )]
    OtherWork {
        /// Label of the baseline.
        baseline: String,
        /// Label of the other run.
        other: String,
        /// The first difference.
        difference: String,
    },
    /// One of the runs is a search, or they search for different things.
    #[error("{baseline} is {kind}, and {other} is {other_kind}: they cannot be compared")]
    OtherKind {
        /// Name of the baseline.
        baseline: String,
        /// Kind of the baseline.
        kind: &'static str,
        /// Name of the other run.
        other: String,
        /// Kind of the other run.
        other_kind: &'static str,
    },
    /// A condition needs a value that was not measured.
    #[error("{FAIL_IF} '{condition}': {reason}")]
    NoData {
        /// The condition as the user wrote it.
        condition: String,
        /// The missing value.
        reason: String,
    },
}
