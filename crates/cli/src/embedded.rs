//! The embedded server, and the other end of bare sockets, as separate processes.
//! So the generator's CPU and memory in a result are the generator's alone.
//!
//! Invariant: a server never outlives this process, however this process ends. The
//! server's standard input is a pipe that only this process holds, and the server
//! ends when the pipe closes.

use std::env;
use std::io::{self, BufRead as _, BufReader};
use std::iter;
use std::net::SocketAddr;
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use smbench_model::secret::Secret;
use smbench_model::target::Target;

use crate::child::end_within;
use crate::failure::Failure;
use crate::password::VARIABLE;

/// Longest time until the server prints its address.
const START_LIMIT: Duration = Duration::from_secs(20);
/// Longest time in which the server may end without being killed. It has to drain
/// its connections.
const STOP_LIMIT: Duration = Duration::from_secs(10);

/// A running embedded server; dropping it ends the server.
#[derive(Debug)]
pub(crate) struct Embedded(#[expect(dead_code, reason = "ends the server")] Helper);

impl Embedded {
    /// Starts a server and waits until it listens. Returns the server and its only
    /// share.
    pub(crate) fn start() -> Result<(Self, Target), Failure> {
        let (helper, mut lines) = Helper::start(&["embedded", "--stop-at-eof"])?;
        let target = announced(&mut lines).ok_or_else(Helper::silent)?;
        Ok((Self(helper), target))
    }
}

/// A process that answers on bare sockets; dropping it ends the process.
#[derive(Debug)]
pub(crate) struct Responder(#[expect(dead_code, reason = "ends it")] Helper);

impl Responder {
    /// Starts the process and waits until it listens. Returns it and its address.
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
    /// Starts `smbench lab` with these arguments. Returns the process, and the
    /// lines that it writes within [`START_LIMIT`].
    fn start(args: &[&str]) -> Result<(Self, impl Iterator<Item = String> + use<>), Failure> {
        let failed = || Failure::io("start the embedded server");
        let mut process = Command::new(this_program().map_err(failed())?)
            .arg("lab")
            .args(args)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            // Ctrl-C in the terminal is for the run, which still needs the server.
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
        end_within(&mut self.process, STOP_LIMIT);
    }
}

/// Returns the file of this program. Without /proc, as in an empty root, it is what the program
/// was called as.
fn this_program() -> io::Result<PathBuf> {
    env::current_exe().or_else(|reason| env::args_os().next().map(PathBuf::from).ok_or(reason))
}

/// Returns the lines of an output as they arrive, until the time limit.
fn lines(stdout: ChildStdout) -> impl Iterator<Item = String> + use<> {
    let (send, lines) = mpsc::channel();
    thread::spawn(move || {
        for line in BufReader::new(stdout).lines().map_while(Result::ok) {
            // The receiver is dropped once it has the lines that it needs.
            let _ = send.send(line);
        }
    });
    let deadline = Instant::now() + START_LIMIT;
    iter::from_fn(move || {
        let left = deadline.saturating_duration_since(Instant::now());
        lines.recv_timeout(left).ok()
    })
}

/// Reads the output of `smbench lab`: the URL, and the password on the next line.
fn announced(lines: &mut impl Iterator<Item = String>) -> Option<Target> {
    let (mut target, _) = Target::parse(&lines.next()?).ok()?;
    let line = lines.next()?;
    let password = line.strip_prefix(VARIABLE)?.strip_prefix('=')?;
    target.password = Secret::new(password);
    Some(target)
}
