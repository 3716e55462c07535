//! The progress of a run, which observers receive.

use std::time::{Duration, SystemTime};

use crate::load::Rate;
use crate::record::Recorder;

/// One interval of a measured window. It lasts one second, or longer if the window
/// would otherwise have more than [`crate::bounds::INTERVALS_MAX`] intervals.
#[derive(Clone, Copy, Debug)]
pub struct MeasuredInterval<'a> {
    /// The load point.
    pub point: PointNumber,
    /// Number of the interval in the window, from 0.
    pub index: u32,
    /// Start of the interval.
    pub start: SystemTime,
    /// Length of the interval.
    pub length: Duration,
    /// Operations of all clients that completed in the interval.
    pub ops: &'a Recorder,
    /// Those of each population, in the order of the plan; empty if there is only one.
    pub populations: &'a [PopulationInterval<'a>],
}

/// The operations of a population in an interval.
#[derive(Clone, Copy, Debug)]
pub struct PopulationInterval<'a> {
    /// Its name.
    pub name: &'a str,
    /// Its operations that completed in the interval.
    pub ops: &'a Recorder,
}

/// The current phase of a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Progress {
    /// Connecting to the server and claiming a directory on the share.
    Connecting,
    /// Writing the files of the workload.
    Preparing {
        /// Bytes written so far.
        done: u64,
        /// Bytes in total.
        total: u64,
    },
    /// Running a command around a load point, or waiting before it.
    Pausing {
        /// The load point.
        point: PointNumber,
        /// What the run waits for.
        pause: Pause,
        /// Time since it began.
        elapsed: Duration,
    },
    /// Setting up the sessions of a load point.
    SettingUp {
        /// The load point.
        point: PointNumber,
        /// Number of sessions that are set up.
        ready: u32,
        /// Time since the set-up of the first session began.
        elapsed: Duration,
    },
    /// Running the load, or logging off after it.
    Running {
        /// The load point.
        point: PointNumber,
        /// Ramp or window.
        stage: Stage,
        /// Time since the load began.
        elapsed: Duration,
        /// Length of ramps and window together.
        total: Duration,
        /// Figures of the last complete second.
        live: Live,
    },
    /// Reading once more what the clients have written, after the load.
    ReadingBack {
        /// The load point.
        point: PointNumber,
        /// Bytes read so far.
        done: u64,
        /// Bytes in total.
        total: u64,
        /// Estimated time until all of them are read, once it is known.
        left: Option<Duration>,
    },
    /// Removing files from the share.
    CleaningUp,
}

/// One load point of the run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PointNumber {
    /// Number among all load points of all passes, from 1.
    pub number: u32,
    /// Number of all load points of all passes.
    pub of: u32,
    /// Number of the pass, from 1.
    pub repeat: u32,
    /// Number of clients.
    pub clients: u32,
    /// The rate, where it is not the plan's.
    pub rate: Option<Rate>,
}

/// What a run waits for between load points.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pause {
    /// The command before the load point.
    Before,
    /// A quiet server.
    Quiet,
    /// The command after the load point.
    After,
}

/// Part of a load point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// The ramp before the measured window.
    RampUp,
    /// The measured window.
    Measuring,
    /// The ramp after the measured window.
    RampDown,
}

/// Figures of the last complete second, including ramps; zeros in the first second.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Live {
    /// Application megabits (10^6) per second.
    pub throughput_mbps: f64,
    /// Operations per second.
    pub ops_per_s: f64,
    /// 99th percentile of the latency, from the due instant to the answer.
    pub p99: Duration,
}
