//! The embedded server as a process of its own, so that the generator's CPU and
//! memory in a result are the generator's alone.
//!
//! Invariant: the server ends with this process, however that ends: it serves
//! until its standard input, a pipe that only this process holds, is closed.

use std::io::{BufRead as _, BufReader};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use smbench_engine::target::{Secret, Target};

use crate::failure::Failure;
use crate::password::VARIABLE;

/// How long the server may take until it says where it is.
const START_LIMIT: Duration = Duration::from_secs(20);
/// How long it may take to end by itself, with connections to drain.
const STOP_LIMIT: Duration = Duration::from_secs(10);
const STOP_INTERVAL: Duration = Duration::from_millis(5);

/// A running server; dropping it ends it.
#[derive(Debug)]
pub(crate) struct Embedded {
    process: Child,
    stop: Option<ChildStdin>,
}

impl Embedded {
    /// Starts a server and waits until it listens; it and its one share.
    pub(crate) fn start() -> Result<(Self, Target), Failure> {
        let failed = || Failure::io("start the embedded server");
        let mut process = Command::new(std::env::current_exe().map_err(failed())?)
            .args(["lab", "embedded", "--stop-at-eof"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            // The terminal's Ctrl-C is for the run, which still needs the server.
            .process_group(0)
            .spawn()
            .map_err(failed())?;
        let stdout = process.stdout.take();
        let stop = process.stdin.take();
        let server = Self { process, stop };
        let target = stdout.and_then(announced).ok_or_else(|| {
            Failure::Embedded("its process did not say where it listens".to_owned())
        })?;
        Ok((server, target))
    }
}

impl Drop for Embedded {
    fn drop(&mut self) {
        drop(self.stop.take());
        let deadline = Instant::now() + STOP_LIMIT;
        while let Ok(None) = self.process.try_wait() {
            if Instant::now() >= deadline {
                // Fails only when it has just ended.
                let _ = self.process.kill();
                let _ = self.process.wait();
                return;
            }
            thread::sleep(STOP_INTERVAL);
        }
    }
}

/// Reads what `smbench lab` prints: the URL, and the password on the next line.
fn announced(stdout: ChildStdout) -> Option<Target> {
    let (send, lines) = mpsc::channel();
    thread::spawn(move || {
        for line in BufReader::new(stdout).lines().map_while(Result::ok) {
            // The receiver is gone once it has what it wants.
            let _ = send.send(line);
        }
    });
    let deadline = Instant::now() + START_LIMIT;
    let next = || {
        let left = deadline.saturating_duration_since(Instant::now());
        lines.recv_timeout(left).ok()
    };
    let (mut target, _) = Target::parse(&next()?).ok()?;
    let line = next()?;
    let password = line.strip_prefix(VARIABLE)?.strip_prefix('=')?;
    target.password = Secret::new(password);
    Some(target)
}
