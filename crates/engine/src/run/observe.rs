//! Progress reports of a run. Measuring code never prints; a caller may supply an
//! observer.

use std::ffi::OsString;

use smbench_model::Nanos;
use smbench_model::cpu::UnreadServer;
use smbench_model::progress::{MeasuredInterval, Progress};
use smbench_model::record::{LoadPointRecord, RunRecord};

/// Interval between two progress reports to the observer.
pub(super) const PROGRESS_INTERVAL: Nanos = Nanos(500_000_000);

/// Receives the progress and the results of a run.
pub trait Observer {
    /// Called a few times per second, from the thread that called
    /// [`crate::run::execute`].
    fn progress(&mut self, progress: &Progress);

    /// Called when the run has created its directory on the share, with the path
    /// from the share's root. If this process is killed, the directory stays;
    /// [`crate::probe::remove_remains`] removes it.
    fn directory_claimed(&mut self, _directory: &str) {}

    /// Returns variables for the commands before and after a load point, in addition to those
    /// of the load point.
    fn hook_environment(&self) -> Vec<(String, OsString)> {
        Vec::new()
    }

    /// Called for each interval of a measured window, in order, up to a second
    /// after its end, from the same thread. An observer that blocks the run for
    /// half a minute misses some intervals.
    fn interval_ended(&mut self, _interval: &MeasuredInterval<'_>) {}

    /// Called once if the load has stages, before its set-up, with what cannot be read of the
    /// server between them. An error refuses the run.
    fn server_unread(&mut self, _unread: &UnreadServer) -> Result<(), String> {
        Ok(())
    }

    /// Called once, before the first load point. `record` has none yet.
    fn run_begins(&mut self, _record: &RunRecord) {}

    /// Called under load when a stage of it has ended, in order. The row is the load point that
    /// the stage becomes, without what is known only when the load has ended. Not called for the
    /// last stage.
    fn stage_ended(&mut self, _row: &LoadPointRecord) {}

    /// Called when a load point has ended, before the next one starts. This is the
    /// time to write `record` to disk.
    fn load_point_ended(&mut self, record: &RunRecord);
}

/// An observer that ignores all reports.
#[derive(Clone, Copy, Debug, Default)]
pub struct Unobserved;

impl Observer for Unobserved {
    fn progress(&mut self, _: &Progress) {}
    fn load_point_ended(&mut self, _: &RunRecord) {}
}
