//! Why runs are not held against each other.

/// Why there is nothing to compare.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CompareError {
    /// One result alone.
    #[error("nothing to compare {path} with: give another result, or a study of several servers")]
    Alone {
        /// The file or folder.
        path: String,
    },
    /// Several servers, of which any could be meant.
    #[error(
        "{path} has several results ({names}), {single} has one: give two studies, or the results \
         one by one"
    )]
    Several {
        /// The folder with several.
        path: String,
        /// Their names.
        names: String,
        /// The one with one.
        single: String,
    },
    /// Two studies of different servers or profiles.
    #[error("{baseline} and {other} have no server with the same profile in common")]
    NoPair {
        /// The one folder.
        baseline: String,
        /// The other.
        other: String,
    },
    /// Runs at different numbers of clients.
    #[error("no load point in common: {baseline}, {other}")]
    NoLoadPoint {
        /// The one, with its load points.
        baseline: String,
        /// The other.
        other: String,
    },
    /// A study with too few results.
    #[error("nothing to compare: {missing}")]
    NotMeasured {
        /// What was not measured, a sentence each.
        missing: String,
    },
    /// A run of which nothing may be quoted.
    #[error("nothing to compare: no load point in {names} is valid and saw an operation")]
    NotQuotable {
        /// It, or both.
        names: String,
    },
    /// Two runs that were to do different work.
    #[error(
        "{baseline} and {other} did different work ({difference}): add --force to compare them \
         anyway"
    )]
    OtherWork {
        /// The one.
        baseline: String,
        /// The other.
        other: String,
        /// The first difference.
        difference: String,
    },
    /// A condition asks for what was not measured.
    #[error("--fail-if '{condition}': {reason}")]
    NoData {
        /// The condition as it was written.
        condition: String,
        /// What is missing.
        reason: String,
    },
}
