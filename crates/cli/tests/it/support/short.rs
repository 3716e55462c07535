//! Runs with short windows, and whether the machine has time for them.

use std::fs;
use std::thread;

use super::{Place, Said, run_args};

/// A window in which any machine completes an operation.
const LONG: &str = "--duration=3s";
/// The reason of a window that is too short for a busy machine.
const TOO_SHORT: &str = "no operation completed in the window";

impl Place {
    /// Runs `--target url` with short windows and these further options. A busy machine may
    /// leave such a window without an operation. The run is then repeated once, with a long
    /// window, and the first result is removed.
    pub(crate) fn run(&self, url: &str, password: &str, more: &[&str]) -> Said {
        let said = self.smbench_as(password, &run_args(url, more));
        let is_given = more.iter().any(|option| option.starts_with("--duration"));
        if is_given || !said.stderr.contains(TOO_SHORT) {
            return said;
        }
        fs::remove_dir_all(self.path("results")).unwrap();
        self.smbench_as(password, &run_args(url, &[more, &[LONG]].concat()))
    }
}

/// Returns whether more programs wanted a CPU in the last minute than there are CPUs.
pub(crate) fn is_machine_busy() -> bool {
    let load = fs::read_to_string("/proc/loadavg").unwrap();
    let minute: f64 = load.split(' ').next().unwrap().parse().unwrap();
    minute > thread::available_parallelism().unwrap().get() as f64
}
