//! What a run tells while it goes on. Measuring code never prints; whoever
//! runs a plan may listen.

use std::time::{Duration, SystemTime};

use crate::record::{Recorder, RunRecord};

/// Listens to a run.
pub trait Observer {
    /// Called a few times per second, from the thread that called
    /// [`crate::run::execute`].
    fn progress(&mut self, progress: &Progress);

    /// Called when the run has made the directory on the share that it works
    /// in, with its path from the share's root. Should this process be killed,
    /// it stays there: [`crate::probe::remove_remains`].
    fn directory_claimed(&mut self, _directory: &str) {}

    /// Called for each interval of a measured window, in order, up to a second
    /// after it is over, from the same thread. An observer that keeps the run
    /// waiting for half a minute misses some.
    fn interval_ended(&mut self, _interval: &MeasuredInterval<'_>) {}

    /// Called when a load point has ended, before the next one starts: the
    /// time to write `record` to disk.
    fn load_point_ended(&mut self, record: &RunRecord);
}

/// An observer that does not listen.
#[derive(Clone, Copy, Debug, Default)]
pub struct Unobserved;

impl Observer for Unobserved {
    fn progress(&mut self, _: &Progress) {}
    fn load_point_ended(&mut self, _: &RunRecord) {}
}

/// One interval of a measured window: a second, or as many as keep the window
/// at [`crate::record::INTERVALS_MAX`] intervals.
#[derive(Clone, Copy, Debug)]
pub struct MeasuredInterval<'a> {
    /// The load point.
    pub point: Point,
    /// Which pass, from 1.
    pub repeat: u32,
    /// Its number in the window, from 0.
    pub index: u32,
    /// When it began.
    pub start: SystemTime,
    /// How long it was.
    pub length: Duration,
    /// What completed in it, over all clients.
    pub ops: &'a Recorder,
}

/// Where a run is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Progress {
    /// Reaching the server and claiming a directory on the share.
    Connecting,
    /// Writing the files that will be read.
    Preparing {
        /// Bytes written so far.
        done: u64,
        /// Bytes in all.
        total: u64,
    },
    /// Setting up the sessions of a load point.
    SettingUp {
        /// Which load point.
        point: Point,
        /// Sessions that stand.
        ready: u32,
        /// Time since the first was begun with.
        elapsed: Duration,
    },
    /// Load is on, or has ended and its clients take their leave.
    Running {
        /// Which load point.
        point: Point,
        /// Ramp or window.
        stage: Stage,
        /// Time since the load began.
        elapsed: Duration,
        /// Ramps and window together.
        total: Duration,
        /// Of the last second that is over.
        live: Live,
    },
    /// Removing files from the share.
    CleaningUp,
}

/// One load point of the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Point {
    /// Which of all load points of all passes, from 1.
    pub number: u32,
    /// How many there are.
    pub of: u32,
    /// Its clients.
    pub clients: u32,
}

/// Part of a load point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Before the measured window.
    RampUp,
    /// The measured window.
    Measuring,
    /// After it.
    RampDown,
}

/// Figures of the last second that is over, ramps included; zeros in the first.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Live {
    /// Application megabits (10^6) per second.
    pub throughput_mbps: f64,
    /// Operations per second.
    pub ops_per_s: f64,
    /// 99th percentile of the latency, from due to done.
    pub p99: Duration,
}
