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

mod prepared;

mod cancel;
pub mod clock;
pub mod driver;
pub mod fileio;
#[cfg(feature = "fuzzing")]
pub mod fuzzing;
pub mod iometer;
mod kerberos;
pub mod loadfile;
pub mod loopback;
pub mod probe;
mod process;
pub mod profile;
pub mod run;
pub mod server_cpu;
mod session;
mod share;
mod socket;
pub mod storage;
pub mod trace;

pub use smbench_model::contents::{block as pattern, verify};
pub use smbench_model::lists::{clients, sources};
pub use smbench_model::operations as stream;
pub use smbench_model::{login, netbench, plan, record, spec, target, units};

pub use cancel::Cancel;
pub use kerberos::TicketError;
pub use session::{SessionError, Who};
pub use share::Cleanup;

/// Compiles the code in the README.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;
