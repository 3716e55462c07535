//! SMB workload engine: carries out plans and measures them.
//!
//! Programs depend on the crate `smbench`, which has parts of this crate as the module
//! `engine`, beside documents, comparisons and a builder of runs.
//!
//! A program uses the items of the root in this order:
//!
//! | item | for |
//! |---|---|
//! | [`Target`] | the share, and the account that logs on |
//! | [`Profile`] | the workload. [`smbench_formats::profile::load`] returns a built-in one or reads a file |
//! | [`RunOptions`] | the options of a run; a profile has them in `spec.run` |
//! | [`Plan`] | profile and target, resolved: complete and valid |
//! | [`execute()`] | runs a plan, and blocks its thread |
//! | [`PlannedRun`] | a plan with load points, operations or a target of your own |
//! | [`Observer`], [`Unobserved`] | progress and finished load points, or none |
//! | [`Cancel`] | stops a run from any thread; the measured results are kept |
//! | [`RunRecord`] | the measurements |
//! | [`RunError`] | why nothing could be measured |
//!
//! ```no_run
//! use smbench_engine::{Cancel, Plan, Target, Unobserved, execute};
//! use smbench_formats::profile;
//!
//! let target = Target::with_password("smb://alice@nas/bench", "secret")?;
//! let profile = profile::load("file-server")?;
//! let plan = Plan::of(&profile, target)?;
//! let record = execute(&plan, &mut Unobserved, &Cancel::default())?;
//! for point in &record.load_points {
//!     let all = point.ops.window_all();
//!     println!("{} clients: {} operations", point.clients, all.count());
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Behind these items:
//!
//! * [`run`] has events in a channel for applications on tokio, runs on several hosts,
//!   and the details of progress and errors.
//! * [`driver`] has the traits of a target of your own.
//! * [`probe`] examines a server, and removes the files of killed runs.
//! * The crate [`smbench_model`] has the parts of plans and records, and
//!   [`smbench_formats`] reads profile files and loadfiles.
//!
//! Within an application on tokio, start a run with `spawn_blocking`. Latencies are
//! nanoseconds, sizes bytes, rates operations per second. `examples/` has complete
//! programs: `run_a_plan`, `inside_tokio`, `own_target`.

pub mod driver;
mod drivers;
#[cfg(feature = "fuzzing")]
#[doc(hidden)]
pub mod fuzzing;
pub mod hosts;
mod machine;
pub mod probe;
pub mod run;
mod smb;
mod worker;

#[doc(inline)]
pub use smbench_model::{
    plan::Plan, profile::Profile, record::RunRecord, spec::RunOptions, target::Target,
};

#[doc(inline)]
pub use crate::machine::cancel::Cancel;
#[doc(inline)]
pub use crate::run::{Observer, PlannedRun, RunError, Unobserved, execute};

/// For the command, benches and tests only.
#[doc(hidden)]
pub use crate::{
    drivers::loopback,
    machine::{clock, storage},
    smb::prepared,
};
