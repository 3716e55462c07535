//! Result documents of smbench: `RunRecord` -> [`RunDoc`] -> text, CSV, JSON.
//!
//! - [`doc`]: the versioned JSON document, and how it is read and written
//! - [`latency`]: latency summaries, and the histograms that a document contains
//! - [`curve`]: passes averaged to a curve over clients, and its peak
//! - [`statistics`]: confidence intervals, and whether a window was steady
//! - [`change`]: how far two measurements differ, and how much of that may be noise
//! - [`metric`]: the metrics that can be compared, by name
//! - [`compare`]: comparisons of runs
//! - [`calibration`]: the highest load that a machine can generate
//! - [`published`]: the tables of published studies: changes from a baseline,
//!   scaling, dips, efficiency
//! - [`study`]: runs of several servers that belong together
//! - [`plan`]: the plan of a run in words
//! - [`table`]: a table as a value, for every kind of output
//! - [`units`]: the only place that formats numbers
//! - [`text`]: a document as text, and parts of it as tables and lines
//! - [`write_csv`], [`write_study_csv`]: documents as rows
//! - [`write_iometer_csv`]: documents as rows of Iometer's result file
//! - [`fileio`]: the report of a test as `sysbench fileio` prints it
//! - [`IntervalLog`]: latencies over time for the HdrHistogram tools

pub mod calibration;
pub mod change;
pub mod compare;
mod convert;
mod csv;
pub mod curve;
pub mod doc;
pub mod fileio;
mod hlog;
mod iometer;
pub mod latency;
pub mod metric;
mod passes;
pub mod percentile;
pub mod plan;
pub mod published;
mod replayed;
pub mod server_cpu;
pub mod statistics;
pub mod study;
pub mod table;
pub mod text;
pub mod units;

pub use convert::Disclosure;
pub use csv::{write_csv, write_study_csv};
pub use doc::{CalibrationDoc, FlushDoc, LoadError, Place, RunDoc, SaveError};
pub use hlog::IntervalLog;
pub use iometer::write_iometer_csv;
pub use text::render;
