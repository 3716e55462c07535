//! Reasons why documents are not the parts of one run.

use smbench_model::setting::CLIENT_RANGE;

use crate::units::{counted, plain};

/// Reason why documents cannot be merged. Each is one line.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MergeError {
    /// There is nothing to join.
    #[error("a merge needs the results of two or more parts, and {} given", match .0 {
        1 => "1 is".to_owned(),
        count => format!("{count} are"),
    })]
    TooFew(usize),
    /// The run had all clients.
    #[error(
        "{path} is not a part of a run: make each part with `smbench run URL {CLIENT_RANGE} \
         FROM..TO/ALL`"
    )]
    NotAPart {
        /// Path of the document.
        path: String,
    },
    /// The release is not the one that merges. It may have other keys.
    #[error(
        "{path} was written by smbench {}, and this is smbench {this}: make and merge all parts \
         with one release", plain(.release)
    )]
    Release {
        /// Path of the document.
        path: String,
        /// The release that wrote it.
        release: String,
        /// This release.
        this: String,
    },
    /// The load points were chosen during the run.
    #[error("{path} is the result of a search, which has no parts: merge results of `smbench run`")]
    Search {
        /// Path of the document.
        path: String,
    },
    /// Each part had a server of its own.
    #[error(
        "{path} was measured on a built-in server of its own: run all parts on one server, and \
         give its URL"
    )]
    OwnServer {
        /// Path of the document.
        path: String,
    },
    /// Each part counted events on its own.
    #[error(
        "{path} is a fileio test with a number of events, which each part counts on its own: run \
         the parts with a time instead"
    )]
    Events {
        /// Path of the document.
        path: String,
    },
    /// Nothing was measured.
    #[error("{path} has no measured load point: run all parts again")]
    NotMeasured {
        /// Path of the document.
        path: String,
    },
    /// The document contradicts itself, or lacks a key.
    #[error("{path} is damaged: {}: copy it again from where it was made", plain(.detail))]
    Damaged {
        /// Path of the document.
        path: String,
        /// What is wrong.
        detail: String,
    },
    /// The operations are not those of one run.
    #[error(
        "{one} and {other} have different work: plan.digest is {} and {}: run all parts with the \
         same options", plain(&.digests.0), plain(&.digests.1)
    )]
    OtherWork {
        /// Path of one document.
        one: String,
        /// Path of the other document.
        other: String,
        /// Digests of the two.
        digests: (String, String),
    },
    /// The parts are of runs with different numbers of clients.
    #[error(
        "{one} is a part of {}, and {other} of {}: merge the parts of one run",
        counted(u64::from(.of.0), "client"), counted(u64::from(.of.1), "client")
    )]
    OtherClients {
        /// Path of one document.
        one: String,
        /// Path of the other document.
        other: String,
        /// Numbers of clients of the two runs.
        of: (u32, u32),
    },
    /// A value differs that is the same in all parts of one run.
    #[error(
        "{one} and {other} are not parts of one run: {key} is {} and {}: run all parts with the \
         same options on the same server", plain(&.values.0), plain(&.values.1)
    )]
    OtherValue {
        /// Path of one document.
        one: String,
        /// Path of the other document.
        other: String,
        /// Key of the value.
        key: String,
        /// Values in the two documents.
        values: (String, String),
    },
    /// Clients are in two parts.
    #[error("{one} and {other} both have {clients}: merge parts that have each client once")]
    Overlap {
        /// Path of one document.
        one: String,
        /// Path of the other document.
        other: String,
        /// The clients that both have.
        clients: String,
    },
    /// Clients are in no part.
    #[error("{clients} in no part: give the results of all parts")]
    Missing {
        /// The clients, with the verb.
        clients: String,
    },
}

impl MergeError {
    /// Returns the error for a document that contradicts itself.
    pub(super) fn damaged(path: &str, detail: impl Into<String>) -> Self {
        Self::Damaged {
            path: path.to_owned(),
            detail: detail.into(),
        }
    }
}
