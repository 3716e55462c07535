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

mod cancel;
pub mod clients;
pub mod clock;
pub mod driver;
pub mod fileio;
#[cfg(feature = "fuzzing")]
pub mod fuzzing;
pub mod iometer;
mod kerberos;
pub mod loadfile;
pub mod login;
pub mod loopback;
pub mod netbench;
pub mod pattern;
pub mod plan;
pub mod probe;
mod process;
pub mod profile;
mod random;
pub mod record;
pub mod run;
pub mod server_cpu;
mod session;
mod share;
mod socket;
pub mod sources;
pub mod spec;
pub mod storage;
pub mod stream;
pub mod target;
pub mod trace;
pub mod units;
pub mod verify;

pub use cancel::Cancel;
pub use kerberos::TicketError;
pub use session::{SessionError, Who};
pub use share::Cleanup;

/// Compiles the code in the README.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;
