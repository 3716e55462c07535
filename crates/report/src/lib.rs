//! Result documents of smbench: `RunRecord` -> [`RunDoc`] -> text, CSV, JSON.
//!
//! - [`doc`]: the versioned JSON document, and reading and writing it
//! - [`latency`]: latency summaries and the histograms a document carries
//! - [`curve`]: passes averaged to a curve over clients, and its peak
//! - [`units`]: the one place that prints numbers
//! - [`render`]: a document as text; [`write_csv`]: as rows

mod csv;
pub mod curve;
pub mod doc;
pub mod latency;
mod text;
pub mod units;

pub use csv::write_csv;
pub use doc::{Disclosure, LoadError, Place, RunDoc, SaveError};
pub use text::render;
