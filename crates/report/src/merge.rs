//! Joins the documents of the parts of one run into the document that one process with all
//! clients would have written.
//!
//! Invariants:
//!
//! - Counts and sums are added. Percentiles, means and maxima come from pooled histograms.
//!   The functions of `crate::convert` compute whatever follows from these.
//! - What cannot be one run is an error. What is one run but must not be quoted is a load
//!   point that is not valid.
//! - The order in which parts are given does not matter: they are sorted by their clients.
//!
//! Of the generator, parts only have summaries. So the merged one has the worst of all parts.

mod error;
mod hosts;
mod machines;
mod matching;
mod operations;
mod part;
mod part_point;
mod point;
mod run;
mod series;
mod window;

pub use error::MergeError;
pub use part::SavedPart;

use crate::doc::RunDoc;

/// Joins the parts of one run. Each was made with `--client-range`.
///
/// # Errors
///
/// If the parts are not all parts of one run, or if a document is damaged.
pub fn merge(parts: Vec<SavedPart>) -> Result<RunDoc, MergeError> {
    let parts = part::of_one_run(parts)?;
    let count = parts.first().map_or(0, |part| part.doc.load_points.len());
    let load_points = (0..count).map(|at| point::merged(&point::measured(&parts, at)?));
    run::merged(&parts, load_points.collect::<Result<_, _>>()?)
}
