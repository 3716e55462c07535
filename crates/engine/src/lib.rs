//! SMB workload engine: Spec -> [`plan::Plan`] -> workers -> [`record`].
//!
//! * [`plan::Plan::of`] makes a plan from a [`profile`] (built in, a file, or a
//!   [`spec::Spec`] in code) and a [`target`].
//! * [`run::execute`] runs it, blocking its thread, and returns a
//!   [`record::RunRecord`]. An [`run::Observer`] receives progress and finished
//!   load points; [`run::events`] is one that fills a channel. [`Cancel`] stops a
//!   run from any thread, and the measured results are kept.
//! * [`run::execute_streams`] takes [operations of your own](stream::Streams), and
//!   [`run::execute_on`] also a [target of your own](driver).
//!
//! Within an application on tokio, start a run with `spawn_blocking`. Latencies are
//! nanoseconds, sizes bytes, rates operations per second.
//!
//! ```no_run
//! use smbench_engine::{Cancel, plan::Plan, profile, run, target::Target};
//!
//! let target = Target::with_password("smb://alice@nas/bench", "secret")?;
//! let plan = Plan::of(&profile::load("file-server")?, target)?;
//! let record = run::execute(&plan, &mut run::Unobserved, &Cancel::default())?;
//! for point in &record.load_points {
//!     let all = point.ops.window_all();
//!     println!("{} clients: {} operations", point.clients, all.count());
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! `examples/` has complete programs: `run_a_plan`, `inside_tokio`, `own_target`.

pub mod driver;
mod drivers;
pub mod fileio;
#[cfg(feature = "fuzzing")]
pub mod fuzzing;
mod machine;
pub mod probe;
pub mod run;
mod smb;
pub mod trace;
mod worker;

pub use drivers::loopback;
pub use machine::{clock, server_cpu, storage};
pub use smbench_formats::{iometer, loadfile, profile};
pub use smbench_model::contents::{block as pattern, verify};
pub use smbench_model::lists::{clients, sources};
pub use smbench_model::{login, operations as stream, plan, record, spec, target, units};

pub use crate::machine::cancel::Cancel;
pub use crate::smb::session::{SessionError, Who};
pub use crate::smb::share::Cleanup;
pub use crate::smb::tickets::TicketError;

/// Compiles the code in the README.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;
