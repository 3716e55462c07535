//! Result documents of smbench: `RunRecord` -> [`RunDoc`] -> text, CSV, JSON.
//!
//! - [`doc`]: the versioned JSON document, and reading and writing it
//! - [`latency`]: latency summaries and the histograms a document carries
//! - [`curve`]: passes averaged to a curve over clients, and its peak
//! - [`statistics`]: confidence intervals, and whether a window was steady
//! - [`change`]: how far two measurements are apart, and what of it is noise
//! - [`metric`]: what is compared, by name
//! - [`compare`]: runs held against each other
//! - [`calibration`]: what a machine can generate at most
//! - [`published`]: the tables of published studies: changes from a baseline, scaling,
//!   dips, efficiency
//! - [`study`]: runs of several servers that belong together
//! - [`table`]: a table as a value, for every kind of output
//! - [`units`]: the one place that prints numbers
//! - [`text`]: a document as text, and parts of it as tables and lines;
//!   [`write_csv`], [`write_study_csv`]: as rows; [`write_iometer_csv`]: as Iometer's
//! - [`fileio`]: the report of a test as `sysbench fileio` prints it
//! - [`IntervalLog`]: latencies over time for the HdrHistogram tools

pub mod calibration;
pub mod change;
pub mod compare;
mod csv;
pub mod curve;
pub mod doc;
pub mod fileio;
mod hlog;
mod iometer;
pub mod latency;
pub mod metric;
pub mod percentile;
pub mod published;
mod replayed;
pub mod statistics;
pub mod study;
pub mod table;
pub mod text;
pub mod units;

pub use calibration::CalibrationDoc;
pub use csv::{write_csv, write_study_csv};
pub use doc::{Disclosure, FlushDoc, LoadError, Place, RunDoc, SaveError};
pub use hlog::IntervalLog;
pub use iometer::write_iometer_csv;
pub use text::render;
