//! Process groups of servers, which are ended as a whole, and programs that run
//! for a limited time.
//!
//! If this process dies without cleaning up, a server must end when the pipe on
//! its standard input closes. `smbd` in the foreground does that, and its
//! children follow. Other servers need a shell around them.
//!
//! Invariant: the leader is reaped last. Its process id names the group, so the
//! id cannot be reused while signals are sent to it.

use std::fs;
use std::io::{self, Read, Write as _};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, Output, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, killpg};
use nix::sys::wait::{Id, WaitPidFlag, WaitStatus, waitid};
use nix::unistd::Pid;

/// Limit for a server to end after SIGTERM.
const TERM_LIMIT: Duration = Duration::from_secs(5);
/// Limit for the kernel to end a server after SIGKILL.
const KILL_LIMIT: Duration = Duration::from_secs(5);
/// Limit for a program that runs and ends: it reads and writes a few files.
const OUTPUT_LIMIT: Duration = Duration::from_secs(20);
/// Interval between two checks of ending processes.
const POLL_INTERVAL: Duration = Duration::from_millis(10);

/// A process group that a child leads. Dropping it ends every member.
#[derive(Debug)]
pub(crate) struct ProcessGroup {
    leader: Child,
    /// Limit for the group to end after SIGTERM.
    term_limit: Duration,
}

impl ProcessGroup {
    /// Starts `command` as the leader of a new group. Its standard input is a
    /// pipe that closes when this process ends for any reason.
    pub(crate) fn spawn(command: &mut Command) -> io::Result<Self> {
        let leader = command.stdin(Stdio::piped()).process_group(0).spawn()?;
        Ok(Self {
            leader,
            term_limit: TERM_LIMIT,
        })
    }

    /// Returns whether the leader has ended, without reaping it.
    pub(crate) fn has_exited(&self) -> bool {
        let flags = WaitPidFlag::WEXITED | WaitPidFlag::WNOHANG | WaitPidFlag::WNOWAIT;
        let status = waitid(Id::Pid(self.id()), flags);
        !matches!(status, Ok(WaitStatus::StillAlive))
    }

    /// Returns the process ids of all members that still run.
    pub(crate) fn members(&self) -> Vec<u32> {
        running_members(self.leader.id())
    }

    fn id(&self) -> Pid {
        // Linux process ids stay far below 2^31 (PID_MAX_LIMIT is 2^22).
        Pid::from_raw(self.leader.id().cast_signed())
    }

    fn is_empty_within(&self, limit: Duration) -> bool {
        let deadline = Instant::now() + limit;
        loop {
            if self.members().is_empty() {
                return true;
            }
            if Instant::now() >= deadline {
                return false;
            }
            thread::sleep(POLL_INTERVAL);
        }
    }
}

impl Drop for ProcessGroup {
    fn drop(&mut self) {
        // The signals fail only if no member is left, which is the goal.
        let _ = killpg(self.id(), Signal::SIGTERM);
        if !self.is_empty_within(self.term_limit) {
            let _ = killpg(self.id(), Signal::SIGKILL);
            self.is_empty_within(KILL_LIMIT);
        }
        let _ = self.leader.wait();
    }
}

/// Runs a program until it ends, with `input` as its standard input. Kills it and what it
/// has started after [`OUTPUT_LIMIT`].
pub(crate) fn output(command: &mut Command, input: &str) -> io::Result<Output> {
    output_within(command, input, OUTPUT_LIMIT)
}

fn output_within(command: &mut Command, input: &str, limit: Duration) -> io::Result<Output> {
    let deadline = Instant::now() + limit;
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0)
        .spawn()?;
    let group = Pid::from_raw(child.id().cast_signed());
    let (stdout, stderr) = (read(child.stdout.take()), read(child.stderr.take()));
    if let Some(mut stdin) = child.stdin.take() {
        // The input fits into a pipe. If the program has already ended, its
        // status shows that.
        let _ = stdin.write_all(input.as_bytes());
    }
    let late = || {
        let limit_s = limit.as_secs_f64();
        io::Error::new(
            io::ErrorKind::TimedOut,
            format!("it did not end within {limit_s} s"),
        )
    };
    let status = loop {
        match child.try_wait()? {
            Some(status) => break status,
            None if Instant::now() >= deadline => {
                // These calls fail only if the program has just ended.
                let _ = killpg(group, Signal::SIGKILL);
                let _ = child.wait();
                return Err(late());
            }
            None => thread::sleep(POLL_INTERVAL),
        }
    };
    // Programs that it has started may still hold the streams open.
    let left = || deadline.saturating_duration_since(Instant::now()) + KILL_LIMIT;
    Ok(Output {
        status,
        stdout: stdout.recv_timeout(left()).map_err(|_| late())?,
        stderr: stderr.recv_timeout(left()).map_err(|_| late())?,
    })
}

/// Reads a stream to its end in a thread, and sends all of it.
fn read(stream: Option<impl Read + Send + 'static>) -> Receiver<Vec<u8>> {
    let (send, all) = mpsc::channel();
    thread::spawn(move || {
        let mut bytes = Vec::new();
        if let Some(mut stream) = stream {
            // A stream that cannot be read further counts as ended.
            let _ = stream.read_to_end(&mut bytes);
        }
        // The receiver is gone if the program took too long.
        let _ = send.send(bytes);
    });
    all
}

/// Returns the running members of the process group `group`, without those that
/// have ended and are not reaped yet.
fn running_members(group: u32) -> Vec<u32> {
    let Ok(processes) = fs::read_dir("/proc") else {
        return Vec::new();
    };
    processes
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<u32>().ok())
        .filter(|pid| {
            // The file is unreadable if the process has ended since the folder
            // was listed.
            fs::read_to_string(format!("/proc/{pid}/stat"))
                .is_ok_and(|stat| running_group(&stat) == Some(group))
        })
        .collect()
}

/// Returns the process group in a line of `/proc/PID/stat`, unless the process
/// is dead.
fn running_group(stat: &str) -> Option<u32> {
    // The name in parentheses may contain any character, also parentheses.
    let (_, fields) = stat.rsplit_once(')')?;
    let mut fields = fields.split_ascii_whitespace();
    let state = fields.next()?;
    let group = fields.nth(1)?.parse().ok()?;
    (!matches!(state, "Z" | "X")).then_some(group)
}

#[cfg(test)]
mod tests {
    use super::{ProcessGroup, output, output_within, running_group, running_members};
    use std::process::Command;
    use std::thread;
    use std::time::Duration;

    #[test]
    fn process_groups_are_read_from_stat_lines() {
        assert_eq!(running_group("12 (smbd) S 1 34 34 0"), Some(34));
        assert_eq!(running_group("12 (a) Z (b) R 1 34 34 0"), Some(34));
        assert_eq!(running_group("12 (smbd) Z 1 34 34 0"), None);
        assert_eq!(running_group(""), None);
    }

    /// Waits until the group of `leader` has `count` members.
    fn wait_for(leader: u32, count: usize) {
        for _ in 0..500 {
            if running_members(leader).len() == count {
                return;
            }
            thread::sleep(Duration::from_millis(10));
        }
        panic!("the group has {:?}", running_members(leader));
    }

    #[test]
    fn dropping_a_group_ends_members_that_ignore_a_request() {
        let script = "trap '' TERM; sleep 600 & sleep 600 & wait; wait";
        let mut group = ProcessGroup::spawn(Command::new("sh").args(["-c", script])).unwrap();
        group.term_limit = Duration::from_millis(100);
        let leader = group.leader.id();
        wait_for(leader, 3);
        assert!(!group.has_exited());
        drop(group);
        assert_eq!(running_members(leader), [] as [u32; 0]);
    }

    #[test]
    fn an_ended_leader_is_noticed_and_its_children_are_ended() {
        let script = "sleep 600 & exit 3";
        let group = ProcessGroup::spawn(Command::new("sh").args(["-c", script])).unwrap();
        let leader = group.leader.id();
        while !group.has_exited() {
            thread::yield_now();
        }
        wait_for(leader, 1);
        drop(group);
        assert_eq!(running_members(leader), [] as [u32; 0]);
    }

    #[test]
    fn a_program_that_does_not_end_is_ended() {
        let script = "cat; echo done >&2; exit 3";
        let said = output(Command::new("sh").args(["-c", script]), "a\nb\n").unwrap();
        assert_eq!(said.status.code(), Some(3));
        assert_eq!(
            (&said.stdout[..], &said.stderr[..]),
            (&b"a\nb\n"[..], &b"done\n"[..])
        );
        let limit = Duration::from_millis(100);
        let error = output_within(Command::new("sleep").arg("600"), "", limit).unwrap_err();
        assert_eq!(error.to_string(), "it did not end within 0.1 s");
    }
}
