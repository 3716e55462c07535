//! The embedded server as a process of its own, so that the generator's CPU and
//! memory in a result are the generator's alone; and what else answers on this
//! machine.
//!
//! Invariant: a server ends with this process, however that ends: it serves
//! until its standard input, a pipe that only this process holds, is closed.

use std::io::{BufRead as _, BufReader};
use std::iter;
use std::net::SocketAddr;
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
pub(crate) struct Embedded(#[expect(dead_code, reason = "ends the server")] Helper);

impl Embedded {
    /// Starts a server and waits until it listens; it and its one share.
    pub(crate) fn start() -> Result<(Self, Target), Failure> {
        let (helper, mut lines) = Helper::start(&["embedded", "--stop-at-eof"])?;
        let target = announced(&mut lines).ok_or_else(Helper::silent)?;
        Ok((Self(helper), target))
    }
}

/// The other end of bare sockets; dropping it ends it.
#[derive(Debug)]
pub(crate) struct Responder(#[expect(dead_code, reason = "ends it")] Helper);

impl Responder {
    /// Starts it and waits until it listens; it and where.
    pub(crate) fn start() -> Result<(Self, SocketAddr), Failure> {
        let (helper, mut lines) = Helper::start(&["loopback"])?;
        let address = lines.next().and_then(|line| line.parse().ok());
        Ok((Self(helper), address.ok_or_else(Helper::silent)?))
    }
}

/// Another process of this program.
#[derive(Debug)]
struct Helper {
    process: Child,
    stop: Option<ChildStdin>,
}

impl Helper {
    /// Starts `smbench lab` with these arguments; the process, and the lines that it
    /// writes within [`START_LIMIT`].
    fn start(args: &[&str]) -> Result<(Self, impl Iterator<Item = String> + use<>), Failure> {
        let failed = || Failure::io("start the embedded server");
        let mut process = Command::new(std::env::current_exe().map_err(failed())?)
            .arg("lab")
            .args(args)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            // The terminal's Ctrl-C is for the run, which still needs the server.
            .process_group(0)
            .spawn()
            .map_err(failed())?;
        let stdout = process.stdout.take();
        let stop = process.stdin.take();
        let helper = Self { process, stop };
        let lines = stdout.map(lines).ok_or_else(Self::silent)?;
        Ok((helper, lines))
    }

    fn silent() -> Failure {
        Failure::Embedded("its process did not say where it listens".to_owned())
    }
}

impl Drop for Helper {
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

/// Lines of an output, as they come, until it has taken too long.
fn lines(stdout: ChildStdout) -> impl Iterator<Item = String> + use<> {
    let (send, lines) = mpsc::channel();
    thread::spawn(move || {
        for line in BufReader::new(stdout).lines().map_while(Result::ok) {
            // The receiver is gone once it has what it wants.
            let _ = send.send(line);
        }
    });
    let deadline = Instant::now() + START_LIMIT;
    iter::from_fn(move || {
        let left = deadline.saturating_duration_since(Instant::now());
        lines.recv_timeout(left).ok()
    })
}

/// Reads what `smbench lab` prints: the URL, and the password on the next line.
fn announced(lines: &mut impl Iterator<Item = String>) -> Option<Target> {
    let (mut target, _) = Target::parse(&lines.next()?).ok()?;
    let line = lines.next()?;
    let password = line.strip_prefix(VARIABLE)?.strip_prefix('=')?;
    target.password = Secret::new(password);
    Some(target)
}
