//! Ends of child processes.

use std::process::Child;
use std::thread;
use std::time::{Duration, Instant};

/// Interval between two checks.
const INTERVAL: Duration = Duration::from_millis(2);

/// Waits for a process that has been told to end, and kills it after `limit`.
pub(crate) fn end_within(process: &mut Child, limit: Duration) {
    let deadline = Instant::now() + limit;
    while let Ok(None) = process.try_wait() {
        if Instant::now() >= deadline {
            // Fails only if the process has just ended.
            let _ = process.kill();
            let _ = process.wait();
            return;
        }
        thread::sleep(INTERVAL);
    }
}
