//! Result documents of smbench: `RunRecord` -> [`RunDoc`] -> text, CSV, JSON.
//!
//! In the order of use:
//!
//! 1. [`RunDoc::from_record`] builds the document of a run; [`Disclosure`] adds what
//!    no measurement shows. [`RunDoc::save`] writes it, [`RunDoc::load`] reads it.
//! 2. [`render`] prints a document. [`Curve`] has its load points as values.
//! 3. [`write_csv`], [`write_iometer_csv`] and [`IntervalLog`] are for other programs.
//! 4. [`compare::compare`] turns [`Input`]s into a [`Comparison`]; a [`Condition`]
//!    judges it.
//! 5. [`merge::merge`] joins the parts of one run.
//! 6. [`Study`] has the runs of several servers that belong together.
//!
//! Behind them:
//!
//! - [`doc`]: the types of documents, and how they are read and written
//! - [`plan`]: the plan of a run in words
//! - [`threshold`]: conditions on the values of one run
//! - [`find`]: the search for the highest load at which conditions hold
//! - [`text`]: parts of the printed document as tables and lines
//! - [`latency`], [`percentile`]: latency summaries, and the histograms of a document
//! - [`metric`], [`change`]: the metrics that can be compared, and how far two
//!   measurements differ
//! - [`statistics`]: confidence intervals, and whether a window was steady
//! - [`doubt`]: values that may be wrong though their load point is valid, and their marks
//! - [`names`]: names of servers in sentences
//! - [`calibration`]: the highest load that a machine can generate
//! - [`checkup`]: short load points of different kinds, and what is remarkable
//! - [`server_cpu`]: the kinds of CPU time that a server may have been measured by
//! - [`published`]: the tables of published studies: changes from a baseline,
//!   scaling, dips, efficiency
//! - [`fileio`]: the report of a test as `sysbench fileio` prints it
//! - [`block`], [`table`], [`units`]: elements of a text and tables as values, and the format of
//!   numbers

pub mod after;
pub mod block;
pub mod calibration;
pub mod change;
pub mod checkup;
pub mod compare;
mod convert;
mod csv;
pub mod curve;
pub mod doc;
pub mod doubt;
mod event_costs;
pub mod fileio;
pub mod find;
mod hlog;
mod iometer;
pub mod latency;
pub mod load;
pub mod merge;
pub mod metric;
pub mod names;
mod passes;
pub mod percentile;
pub mod plan;
mod population;
pub mod published;
mod replayed;
pub mod server_cpu;
mod soak;
pub mod statistics;
pub mod study;
pub mod table;
pub mod text;
pub mod threshold;
mod tone;
pub mod units;

// Documents.
pub use convert::Disclosure;
pub use doc::{
    CalibrationDoc, FactSource, FlushDoc, LoadError, RunDoc, SaveError, ServerLocation, WriteDoc,
    WritePolicyDoc,
};

// Their output.
pub use csv::{write_csv, write_study_csv};
pub use curve::Curve;
pub use find::Find;
pub use hlog::IntervalLog;
pub use iometer::write_iometer_csv;
pub use load::Load;
pub use text::render;
pub use threshold::{Threshold, TimeLimit};

// Several of them.
pub use compare::{Comparison, Condition, Input};
pub use study::Study;
