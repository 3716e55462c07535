//! A shell command of the user: around load points while no load runs, or as an event of one.
//!
//! Invariant: when it has ended, or its limit is over, nothing of its process group is left.
//! So nothing that it has started runs later, unless that left the group on purpose
//! (setsid(1)). Waits end at a cancel, and none is without a limit.

use std::ffi::OsString;
use std::io::{self, Read, pipe};
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use nix::sys::signal::{Signal, killpg};
use nix::sys::wait::{Id, WaitPidFlag, waitid};
use nix::unistd::Pid;
use smbench_model::hooks::HookRecord;
use smbench_model::units::format_duration;

use crate::machine::cancel::Cancel;
use crate::machine::clock;

/// How much of the output is kept.
const OUTPUT_BYTES_MAX: usize = 16 << 10;
/// Interval between two checks for a cancel.
const CANCEL_INTERVAL: Duration = Duration::from_millis(50);
/// Limit of a command after a cancel.
const CANCELLED_LIMIT: Duration = Duration::from_secs(5);
/// How long the output may stay open after all processes of the group have ended.
const OUTPUT_LIMIT: Duration = Duration::from_millis(100);
/// What stands for the password in the output.
const HIDDEN: &str = "********";

/// A command, and what it runs with.
#[derive(Clone, Debug)]
pub(crate) struct ShellCommand {
    pub(crate) command: String,
    pub(crate) environment: Vec<(String, OsString)>,
    pub(crate) limit: Duration,
    /// Texts that the output must not show. Empty ones count for nothing.
    pub(crate) secrets: Vec<String>,
}

/// How a command has ended.
enum ShellEnd {
    Itself(ExitStatus),
    Killed(String),
}

/// The output so far.
#[derive(Debug, Default)]
struct Output {
    kept: Vec<u8>,
    bytes: u64,
}

impl ShellCommand {
    /// Runs the command to its end, blocking the thread.
    pub(crate) fn run(self, cancel: &Cancel) -> HookRecord {
        let began = clock::now();
        let output = Arc::default();
        let end = self.end(&output, cancel);
        let (exit, failure) = match end {
            Ok(ShellEnd::Itself(status)) => (status.code(), failure(status)),
            Ok(ShellEnd::Killed(why)) => (None, Some(why)),
            Err(error) => (None, Some(format!("did not start: {error}"))),
        };
        let Output { kept, bytes } =
            std::mem::take(&mut *output.lock().unwrap_or_else(PoisonError::into_inner));
        let text = String::from_utf8_lossy(&kept).into_owned();
        let secrets = self.secrets.iter().filter(|secret| !secret.is_empty());
        let output = secrets.fold(text, |text, secret| text.replace(secret, HIDDEN));
        let first = output.lines().map(str::trim).find(|line| !line.is_empty());
        let said = first.map(|line| format!(": {}", line.chars().take(200).collect::<String>()));
        HookRecord {
            took_s: Duration::from(clock::now().since(began)).as_secs_f64(),
            exit,
            failure: failure.map(|why| why + &said.unwrap_or_default()),
            output,
            output_bytes: bytes,
            command: self.command,
        }
    }

    fn end(&self, output: &Arc<Mutex<Output>>, cancel: &Cancel) -> io::Result<ShellEnd> {
        let (reader, writer) = pipe()?;
        let environment = self.environment.iter().map(|(name, value)| (name, value));
        let mut child = Command::new("/bin/sh")
            .args(["-c", &self.command])
            .envs(environment)
            .stdin(Stdio::null())
            .stdout(writer.try_clone()?)
            // The command and its end of the pipe are dropped at the end of this statement.
            .stderr(writer)
            .process_group(0)
            .spawn()?;
        let is_read = keep(reader, Arc::clone(output));
        let killed = self.killed(&child, cancel);
        // Whether it ended by itself or not, nothing of it may run under load. The number
        // of the group is its own until it is waited for.
        let _ = killpg(group(&child), Signal::SIGKILL);
        let status = child.wait()?;
        let _ = is_read.recv_timeout(OUTPUT_LIMIT);
        Ok(killed.map_or(ShellEnd::Itself(status), ShellEnd::Killed))
    }

    /// Waits until the shell has ended, without reaping it. Returns why it must be killed,
    /// if it does not end in time.
    fn killed(&self, child: &Child, cancel: &Cancel) -> Option<String> {
        let (tell, ended) = mpsc::channel();
        let leader = group(child);
        thread::spawn(move || {
            let _ = waitid(Id::Pid(leader), WaitPidFlag::WEXITED | WaitPidFlag::WNOWAIT);
            // The receiver is gone if the command was killed.
            let _ = tell.send(());
        });
        let began = clock::now();
        let since = |instant| Duration::from(clock::now().since(instant));
        loop {
            match ended.recv_timeout(CANCEL_INTERVAL) {
                Ok(()) | Err(RecvTimeoutError::Disconnected) => return None,
                Err(RecvTimeoutError::Timeout) => {}
            }
            if since(began) >= self.limit {
                let limit = format_duration(self.limit);
                return Some(format!("did not end within {limit} and was killed"));
            }
            if cancel.is_cancelled() && since(cancel.at().max(began)) >= CANCELLED_LIMIT {
                return Some("was killed after the interrupt".to_owned());
            }
        }
    }
}

fn group(child: &Child) -> Pid {
    // Linux process ids stay far below 2^31.
    Pid::from_raw(child.id().cast_signed())
}

/// Returns why an end counts as failure.
fn failure(status: ExitStatus) -> Option<String> {
    match (status.code(), status.signal()) {
        (Some(0), _) => None,
        (Some(code), _) => Some(format!("ended with exit status {code}")),
        (None, Some(signal)) => Some(format!("was killed by signal {signal}")),
        (None, None) => Some("ended without an exit status".to_owned()),
    }
}

/// Reads a pipe to its end in a thread, and keeps its beginning. The receiver learns of the
/// end.
fn keep(mut from: impl Read + Send + 'static, output: Arc<Mutex<Output>>) -> mpsc::Receiver<()> {
    let (tell, ended) = mpsc::channel();
    thread::spawn(move || {
        let mut buffer = [0; 8192];
        while let Ok(read @ 1..) = from.read(&mut buffer) {
            let mut output = output.lock().unwrap_or_else(PoisonError::into_inner);
            let left = OUTPUT_BYTES_MAX.saturating_sub(output.kept.len());
            output.kept.extend(&buffer[..read.min(left)]);
            output.bytes += read as u64;
        }
        let _ = tell.send(());
    });
    ended
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn ran(command: &str, limit: Duration) -> HookRecord {
        let shell = ShellCommand {
            command: command.to_owned(),
            environment: vec![("WHO".to_owned(), "ann".into())],
            limit,
            secrets: ["", "s3cret", "p4ss"].map(str::to_owned).into(),
        };
        shell.run(&Cancel::default())
    }

    const MINUTE: Duration = Duration::from_secs(60);

    #[test]
    fn output_and_status_of_a_command_are_kept_and_a_secret_is_not() {
        let hook = ran("echo \"$WHO s3cret\"; echo wrong >&2", MINUTE);
        assert_eq!(hook.output, "ann ********\nwrong\n");
        assert_eq!(
            (hook.exit, hook.failure, hook.output_bytes),
            (Some(0), None, 17)
        );
        let hook = ran("echo; echo no disk; exit 3", MINUTE);
        assert_eq!(hook.exit, Some(3));
        let expected = "ended with exit status 3: no disk";
        assert_eq!(hook.failure.as_deref(), Some(expected));
        let hook = ran("kill -9 $$", MINUTE);
        assert_eq!(hook.failure.as_deref(), Some("was killed by signal 9"));
        let hook = ran("head -c 1000000 /dev/zero", MINUTE);
        assert_eq!(
            (hook.output.len(), hook.output_bytes),
            (16 << 10, 1_000_000)
        );
    }

    /// Returns whether a process exists and is not a zombie.
    fn runs(pid: &str) -> bool {
        let stat = std::fs::read_to_string(Path::new("/proc").join(pid).join("stat"));
        stat.is_ok_and(|stat| !stat.rsplit(')').next().unwrap_or("").starts_with(" Z"))
    }

    /// Waits until the process whose number was printed has ended. A signal takes effect when
    /// the process has a CPU.
    fn assert_ends(hook: &HookRecord) {
        let pid: u32 = hook.output.trim().parse().unwrap();
        let began = clock::now();
        while runs(&pid.to_string()) {
            assert!(
                Duration::from(clock::now().since(began)) < MINUTE,
                "{hook:?}"
            );
            thread::sleep(CANCEL_INTERVAL);
        }
    }

    #[test]
    fn what_a_command_has_started_ends_with_it() {
        let hook = ran("sleep 600 & echo $!", MINUTE);
        assert_eq!(hook.failure, None);
        assert_ends(&hook);
        let hook = ran("sleep 600 & echo $!; wait", Duration::from_secs(3));
        let expected = "did not end within 3s and was killed";
        assert!(hook.failure.as_ref().unwrap().starts_with(expected));
        assert_eq!(hook.exit, None);
        assert_ends(&hook);
    }

    #[test]
    fn no_password_of_a_client_is_kept() {
        let hook = ran("echo p4ss and s3cret", MINUTE);
        assert_eq!(hook.output, "******** and ********\n");
    }

    #[test]
    fn an_interrupt_ends_a_command() {
        let cancel = Cancel::default();
        cancel.cancel();
        let shell = ShellCommand {
            command: "exec sleep 600".to_owned(),
            environment: Vec::new(),
            limit: MINUTE * 10,
            secrets: Vec::new(),
        };
        let hook = shell.run(&cancel);
        assert_eq!(
            hook.failure.as_deref(),
            Some("was killed after the interrupt")
        );
    }
}
