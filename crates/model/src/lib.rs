//! The values of a run: the work that a user asks for and the measurements of it.
//!
//! In the order of use:
//!
//! 1. A [`Spec`] is a description as written, with [`RunOptions`]. A [`Profile`] is a
//!    named one.
//! 2. A [`Plan`] is a complete, valid description, for a [`Target`].
//! 3. [`operations`] are the requests of each client, a function of plan and seed.
//! 4. A [`RunRecord`] has the measurements of a run.
//!
//! The modules hold the parts of these. Not here: time, files, sockets and threads.
//! [`Plan::of`] alone asks the system for its number of CPUs.

pub mod access;
pub mod action;
pub mod bounds;
pub mod contents;
pub mod cpu;
mod digest;
pub mod event;
pub mod fileio;
pub mod files;
pub mod generator;
pub mod hooks;
pub mod kind;
pub mod limits;
pub mod lists;
pub mod load;
pub mod login;
mod nanos;
pub mod operations;
mod options;
pub mod part;
pub mod plan;
pub mod profile;
pub mod progress;
#[doc(hidden)]
pub mod random;
pub mod record;
pub mod search;
pub mod secret;
pub mod sessions;
pub mod setting;
pub mod spec;
pub mod stages;
pub mod steadiness;
pub mod target;
pub mod trace;
pub mod tree;
pub mod unit;
pub mod units;
mod url;
pub mod work;
pub mod workload;

pub use nanos::Nanos;
pub use plan::Plan;
pub use profile::Profile;
pub use record::RunRecord;
pub use spec::{RunOptions, Spec};
pub use target::Target;
