//! Suites: several servers, or settings of a server, under the same profiles and load
//! points, for a comparison.
//!
//! ```text
//! suite file -> SuiteSpec    spec, source        as written
//!  + options -> Suite        resolve, given,     checked: plans, hosts, the study's document
//!                            chosen, searches,
//!                            servers,
//!                            comparisons
//!            -> Folder       folder, passes,     load points and searches that are measured,
//!                            parts, sittings,    and the rest
//!                            difference
//!            -> passes       runner, host,       one engine run each, on one server; before that,
//!                            remains             leftovers of an earlier invocation are removed
//! ```
//!
//! Not here: studies and how their folders are read ([`smbench_report::study`]),
//! and how runs are measured ([`smbench_engine`]).

mod chosen;
mod client;
mod comparisons;
mod difference;
mod folder;
mod given;
mod host;
pub mod options;
mod parts;
mod passes;
mod remains;
mod resolve;
mod runner;
mod searches;
mod servers;
mod sittings;
mod source;
mod spec;
mod transfers;

pub use folder::Folder;
pub use resolve::Suite;
pub use runner::{Control, Runner};
pub use source::{BUILTIN, Source, list, text};
pub use spec::SuiteSpec;
