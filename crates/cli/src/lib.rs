//! Measures SMB file servers: plans, runs, results and comparisons for programs.
//!
//! A program depends on this crate alone:
//!
//! ```toml
//! smbench = { version = "0.1", default-features = false }
//! ```
//!
//! ```no_run
//! use std::time::Duration;
//!
//! let run = smbench::Run::on("smb://alice@nas/bench")
//!     .password("secret")
//!     .profile("file-server")
//!     .clients([1, 8])
//!     .duration(Duration::from_secs(10));
//! let finished = run.execute()?;
//! print!("{}", smbench::report::render(&finished.doc));
//! # Ok::<(), smbench::Error>(())
//! ```
//!
//! | item | for |
//! |---|---|
//! | [`Run`] | a run: server, workload, options; blocking, or as a future |
//! | [`Target`], [`Profile`], [`RunOptions`], [`Plan`] | what a run is made of |
//! | [`RunEvent`], [`Observer`], [`Cancel`] | to watch a run, and to stop it |
//! | [`Finished`], [`RunRecord`], [`RunDoc`] | its measurements, and its document |
//! | [`Error`] | why nothing was measured |
//! | [`compare`], [`merge`] | changes between results; parts of one run |
//! | [`driver`] | a target of one's own |
//!
//! [`engine`], [`formats`], [`model`] and [`report`] have all the rest.
//!
//! | feature | what it adds |
//! |---|---|
//! | `lab` | the module `lab`: a server in this process, for tests |
//! | `runner` | the module `runner`: searches and suites |
//! | `smb-rs` | a second client |
//! | `command` | the command `smbench`, with `lab` and `runner`. On by default, as is `smb-rs` |

#[cfg(feature = "command")]
mod advice;
#[cfg(feature = "command")]
mod args;
mod builder;
#[cfg(feature = "command")]
mod calibrate;
#[cfg(feature = "command")]
mod child;
#[cfg(feature = "command")]
#[doc(hidden)]
pub mod command;
#[cfg(feature = "command")]
mod commands;
#[cfg(feature = "command")]
mod embedded;
mod error;
#[cfg(feature = "command")]
mod exit;
#[cfg(feature = "command")]
mod exporter;
#[cfg(feature = "command")]
mod files;
#[cfg(feature = "command")]
mod live;
#[cfg(feature = "command")]
mod login;
#[cfg(feature = "command")]
mod output;
#[cfg(feature = "command")]
mod password;
#[cfg(feature = "command")]
mod progress;
#[cfg(feature = "command")]
mod recycled;
#[cfg(feature = "command")]
mod requests;
#[cfg(feature = "command")]
mod signals;
#[cfg(feature = "command")]
mod users;
mod written;

#[cfg(feature = "command")]
use smbench_runner::{
    calibration, conditions, failure, hosts, junit, lab_facts, observer, request, results,
    searching, study, suite, time_left, unsaved, verdict, watch,
};

#[cfg(feature = "lab")]
pub use smbench_lab as lab;
#[cfg(feature = "runner")]
pub use smbench_runner as runner;
pub use {
    smbench_engine as engine, smbench_formats as formats, smbench_model as model,
    smbench_report as report,
};

#[doc(inline)]
pub use smbench_engine::driver;
#[doc(inline)]
pub use smbench_engine::run::{Progress, RunEvent, each_event, events};
#[doc(inline)]
pub use smbench_engine::{Cancel, Observer};
#[doc(inline)]
pub use smbench_formats::profile;
#[doc(inline)]
pub use smbench_model::spec::{GeneratorSpec, SessionsSpec, WorkSpec};
#[doc(inline)]
pub use smbench_model::{Plan, Profile, RunOptions, RunRecord, Spec, Target};
#[doc(inline)]
pub use smbench_report::{RunDoc, compare, merge};

pub use crate::builder::{Finished, Run};
pub use crate::error::Error;
