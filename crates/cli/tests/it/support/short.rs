//! Runs with short windows.

use std::fs;

use super::{Place, Said, run_args};

/// Most runs for one whose windows all have an operation.
const RUNS_MAX: u32 = 5;
/// The reason of a window that is too short for a busy machine.
const TOO_SHORT: &str = "no operation completed in the window";

impl Place {
    /// Runs `--target url` with short windows and these further options. A busy machine may
    /// leave such a window without an operation. The run is then repeated, and its result
    /// removed.
    pub(crate) fn run(&self, url: &str, password: &str, more: &[&str]) -> Said {
        let args = run_args(url, more);
        let mut said = self.smbench_as(password, &args);
        for _ in 1..RUNS_MAX {
            if !said.stderr.contains(TOO_SHORT) {
                break;
            }
            fs::remove_dir_all(self.path("results")).unwrap();
            said = self.smbench_as(password, &args);
        }
        said
    }
}
