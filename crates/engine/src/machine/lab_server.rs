//! Stops the processes of a lab server for a time, and sends signals to them. A lab server is a
//! Samba that smbench has started on this machine.
//!
//! Invariants: no other server gets a signal. A stopped server runs again after its time, even if
//! this process is killed.

use std::collections::BTreeSet;
use std::fs;
use std::net::SocketAddr;
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, Stdio};
use std::str::FromStr as _;
use std::time::Duration;

use nix::sys::signal::{Signal, kill, killpg};
use nix::unistd::Pid;

use super::server_cpu::processes::Listeners;

/// What the command line of a lab server contains: the name of its folder.
const FOLDER: &str = "smbench-samba-";

/// A lab server on this machine.
#[derive(Debug)]
pub(crate) struct LabServer {
    listeners: Listeners,
    address: SocketAddr,
}

impl LabServer {
    /// Finds the lab server at an address of this machine. Must not run under load, because it
    /// reads every descriptor of every process.
    ///
    /// # Errors
    /// Why there is none.
    pub(crate) fn of(address: Option<SocketAddr>) -> Result<Self, String> {
        let address = address.ok_or("the server is on another machine")?;
        let listeners = Listeners::of(address)?;
        let is_of_lab = |pid: i32| {
            let command_line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            String::from_utf8_lossy(&command_line).contains(FOLDER)
        };
        if listeners.pids().all(is_of_lab) {
            Ok(Self { listeners, address })
        } else {
            Err(format!("{} is another server", listeners.name()))
        }
    }

    /// Stops all processes of the server. They run again when the returned value is dropped, at
    /// the latest after this time.
    ///
    /// # Errors
    /// Why no process was stopped.
    pub(crate) fn stop(&self, most: Duration) -> Result<StoppedServer, String> {
        let mut stopped = BTreeSet::new();
        // A process that still ran may have started another one.
        loop {
            let members = self.listeners.members()?;
            let running = members.into_iter().filter(|pid| !stopped.contains(pid));
            let sent = sent(running, Signal::SIGSTOP);
            if sent.is_empty() {
                break;
            }
            stopped.extend(sent);
        }
        if stopped.is_empty() {
            return Err("found no process of the server".to_owned());
        }
        let seconds = format!("{:.3}", most.as_secs_f64());
        // In a group of its own, it outlives this process.
        let guard = Command::new("/bin/sh")
            .args(["-c", "sleep \"$0\"; kill -CONT \"$@\"", &seconds])
            .args(stopped.iter().map(ToString::to_string))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .process_group(0)
            .spawn();
        Ok(StoppedServer {
            pids: stopped,
            guard: guard.ok(),
        })
    }

    /// Sends a signal to each process that serves a connection, and not to the one that accepts
    /// them. Returns how many got it.
    ///
    /// # Errors
    /// Why none did.
    pub(crate) fn signal(&self, name: &str) -> Result<usize, String> {
        let signal = Signal::from_str(&format!("SIG{name}"));
        let signal = signal.map_err(|error| error.to_string())?;
        match sent(self.listeners.serving(self.address)?.into_iter(), signal).len() {
            0 => Err("found no process that serves a connection".to_owned()),
            count => Ok(count),
        }
    }
}

/// Sends a signal to processes. Returns those that got it; the others have ended.
fn sent(pids: impl Iterator<Item = i32>, signal: Signal) -> Vec<i32> {
    let got = pids.filter(|pid| kill(Pid::from_raw(*pid), signal).is_ok());
    got.collect()
}

/// A lab server whose processes are stopped.
#[derive(Debug)]
pub(crate) struct StoppedServer {
    pids: BTreeSet<i32>,
    /// A process that lets the server run again if this process is killed.
    guard: Option<Child>,
}

impl StoppedServer {
    /// Returns the number of processes.
    pub(crate) fn count(&self) -> usize {
        self.pids.len()
    }
}

impl Drop for StoppedServer {
    fn drop(&mut self) {
        sent(self.pids.iter().copied(), Signal::SIGCONT);
        if let Some(guard) = &mut self.guard {
            // Linux process ids stay far below 2^31. Its number is its own until it is waited
            // for.
            let _ = killpg(Pid::from_raw(guard.id().cast_signed()), Signal::SIGKILL);
            let _ = guard.wait();
        }
    }
}
