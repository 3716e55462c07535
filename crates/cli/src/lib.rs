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
//! | [`profile`] | built-in profiles, and those of files |
//! | [`Spec`], [`WorkSpec`], [`SessionsSpec`], [`GeneratorSpec`] | profiles and options made in code |
//! | [`RunEvent`], [`Progress`], [`Observer`], [`Cancel`] | to watch a run, and to stop it |
//! | [`events`], [`each_event`] | observers that fill a channel, or call a function |
//! | [`Finished`], [`RunRecord`], [`RunDoc`] | its measurements, and its document |
//! | [`Error`] | why nothing was measured |
//! | [`compare`], [`merge`] | changes between results; parts of one run |
//! | [`driver`] | a target of one's own |
//!
//! The modules [`model`], [`formats`], [`engine`] and [`report`] have the parts of these:
//! values of plans and records, readers, errors, documents and tables.
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

pub mod engine {
    //! Runs: plans that are carried out, targets and operations of your own.

    pub use smbench_engine::{
        Cancel, Observer, Plan, PlannedRun, Profile, RunError, RunOptions, RunRecord, Target,
        Unobserved, driver, execute,
    };

    pub mod run {
        //! Runs, what they report, and why they fail.

        pub use smbench_engine::hosts::HostsError;
        pub use smbench_engine::run::{
            AuthError, CapacityError, Command, Course, DecodeError, Demand, EachEvent, Events,
            FrameError, HandshakeError, KerberosError, Live, LogonIdentity, MalformedFile,
            MeasuredInterval, MetricsError, NtStatus, Observer, Pause, PlannedCourse, PlannedRun,
            PointNumber, PopulationInterval, Principal, Progress, ProtocolError, RunError,
            RunEvent, ServiceTicket, SessionError, Stage, StateFile, StepFailure, TicketError,
            Undecipherable, Unobserved, each_event, events, execute,
        };
    }

    #[cfg(feature = "runner")]
    pub mod hosts {
        //! Several hosts that carry out one run together.

        pub use smbench_engine::hosts::{FirstHost, OtherHost, SendPassword};
    }

    pub mod probe {
        //! What killed runs have left on a share, and what a share still holds after a crash.
        //!
        //! ```no_run
        //! use std::path::Path;
        //!
        //! use smbench::engine::probe::verify_after;
        //! use smbench::engine::run::{PlannedRun, StateFile, Unobserved, execute};
        //! use smbench::model::limits::Limits;
        //! use smbench::{Cancel, Run};
        //!
        //! let plan = Run::on("smb://alice@nas/bench").password("secret").plan()?;
        //! let state = Path::new("writes.state");
        //! let noted = PlannedRun::of(&plan).noting(Some(StateFile::create(state)?));
        //! execute(noted, &mut Unobserved, &Cancel::default())?;
        //!
        //! // When the server is back after its crash:
        //! let sessions = &plan.sessions;
        //! let (target, options) = (&sessions.target, sessions.options);
        //! let after = verify_after(target, options, Limits::default(), state, &mut |_, _| ())?;
        //! println!("{} blocks have lost what the server promised", after.fates.broken());
        //! # Ok::<(), Box<dyn std::error::Error>>(())
        //! ```

        pub use smbench_engine::probe::{
            AfterError, Cleanup, cleanup, remove_remains, verify_after,
        };
    }
}

pub mod formats {
    //! Readers of profiles and of files of other programs.

    pub use smbench_capture::RecordingError;
    pub use smbench_formats::{iometer, loadfile, netbench, profile, shape};
}

pub mod model {
    //! The work that is asked for, and its measurements: the parts of plans and records.

    pub use smbench_model::{
        Nanos, Plan, Profile, RunOptions, RunRecord, Spec, Target, access, action, bounds, cpu,
        event, fileio, files, generator, hooks, kind, limits, lists, load, login, part, plan,
        profile, progress, record, secret, sessions, setting, spec, stages, steadiness, target,
        trace, tree, unit, units, work, workload,
    };

    #[cfg(feature = "runner")]
    pub use smbench_model::search;

    pub mod contents {
        //! Contents of files: their blocks and their verification.

        pub use smbench_model::contents::{Verify, after, block, notes, verify};
    }

    pub mod operations {
        //! The operations of each client: drawn, recorded, or of your own.

        pub use smbench_model::operations::{
            Drawn, Mix, OpStream, Operation, RequestResult, Stream, Streams, replay,
        };
    }
}

pub mod report {
    //! Documents of results as values, JSON, text and CSV, and their comparison.

    pub use smbench_report::{
        Comparison, Condition, Curve, Disclosure, FactSource, FlushDoc, Input, IntervalLog, Load,
        LoadError, RunDoc, SaveError, ServerLocation, Study, Threshold, TimeLimit, WriteDoc,
        WritePolicyDoc, block, change, compare, curve, doc, doubt, latency, load, merge, metric,
        percentile, plan, render, server_cpu, statistics, study, table, text, threshold, units,
        write_csv, write_iometer_csv, write_study_csv,
    };

    #[cfg(feature = "runner")]
    pub use smbench_report::{Find, checkup, find};
}
