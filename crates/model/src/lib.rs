//! The values of a run: the work that a user asks for and the measurements of it.
//!
//! * A [`spec`] is a description as written, a [`profile`] is a named one, and a
//!   [`plan`] is a complete, valid one.
//! * [`operations`] are the requests of each client, a function of plan and seed.
//! * A [`record`] has the measurements of a run.
//!
//! The modules from [`access`] to [`workload`] hold the parts of a plan. Not here:
//! time, files, sockets and threads. [`Plan::of`](plan::Plan::of) alone asks the
//! system for its number of CPUs.

pub mod access;
pub mod action;
pub mod bounds;
pub mod contents;
pub mod cpu;
pub mod fileio;
pub mod files;
pub mod generator;
pub mod kind;
pub mod limits;
pub mod lists;
pub mod load;
pub mod login;
mod nanos;
pub mod operations;
pub mod plan;
pub mod profile;
pub mod progress;
#[doc(hidden)]
pub mod random;
pub mod record;
pub mod secret;
pub mod sessions;
pub mod spec;
pub mod target;
pub mod trace;
pub mod units;
pub mod url;
pub mod work;
pub mod workload;

pub use nanos::Nanos;
