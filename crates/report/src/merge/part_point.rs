//! A load point of one part, as all steps of a merge read it.

use std::time::SystemTime;

use smbench_model::kind::OpKind;
use smbench_model::record::OperationFailure;

use super::error::MergeError;
use super::part::Part;
use crate::doc::{ConcurrencyDoc, GeneratorDoc, LoadPointDoc, SeriesDoc};
use crate::latency::Hdr;

/// A load point of one part, with what every part has.
pub(super) struct PartPoint<'a> {
    pub(super) name: &'a str,
    pub(super) path: &'a str,
    pub(super) at: usize,
    pub(super) part: &'a Part,
    pub(super) point: &'a LoadPointDoc,
    /// When its window opened.
    pub(super) opened: SystemTime,
    pub(super) series: &'a SeriesDoc,
    pub(super) generator: &'a GeneratorDoc,
    pub(super) concurrency: ConcurrencyDoc,
    pub(super) sessions: &'a Hdr,
}

impl PartPoint<'_> {
    /// Returns a text with the name of the machine before it.
    pub(super) fn named(&self, text: &str) -> String {
        format!("{}: {text}", self.name)
    }

    /// Returns the error for a load point that contradicts itself.
    pub(super) fn damaged(&self, detail: &str) -> MergeError {
        MergeError::damaged(self.path, format!("load_points[{}]: {detail}", self.at))
    }

    /// Returns the kind of operation with this name.
    pub(super) fn kind(&self, name: &str) -> Result<OpKind, MergeError> {
        let unknown = || self.damaged(&format!("there is no operation {name}"));
        OpKind::named(name).ok_or_else(unknown)
    }

    /// Returns the cause of a failure with this name.
    pub(super) fn cause(&self, name: &str) -> Result<OperationFailure, MergeError> {
        let unknown = || self.damaged(&format!("there is no failure {name}"));
        OperationFailure::from_name(name).ok_or_else(unknown)
    }
}
