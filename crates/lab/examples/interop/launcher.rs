//! Servers as processes: a launcher prints what it serves, and serves until SIGTERM.

use std::fs::{self, File};
use std::io::{BufRead as _, BufReader};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;

/// Limit for a launcher to serve. The first time, it downloads the server.
const START_LIMIT: Duration = Duration::from_secs(1500);
/// Limit for a launcher to end after SIGTERM. It kills what is left after 8 s.
const STOP_LIMIT: Duration = Duration::from_secs(15);
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// A server that can be tried.
pub(crate) struct Subject {
    pub(crate) name: &'static str,
    script: &'static str,
    arguments: &'static [&'static str],
}

pub(crate) const SUBJECTS: [Subject; 7] = [
    subject("samba", "samba.sh", &["installed"]),
    subject("samba-trixie", "samba.sh", &["trixie"]),
    subject("samba-backports", "samba.sh", &["trixie-backports"]),
    subject("ksmbd", "ksmbd.sh", &[]),
    subject("impacket", "impacket.sh", &["smb2"]),
    subject("impacket-cifs", "impacket.sh", &["cifs"]),
    subject("embedded", "embedded.sh", &[]),
];

/// The names of the servers, in the order of the page.
pub(crate) const NAMES: [&str; SUBJECTS.len()] = {
    let (mut names, mut at) = ([""; SUBJECTS.len()], 0);
    while at < SUBJECTS.len() {
        names[at] = SUBJECTS[at].name;
        at += 1;
    }
    names
};

const fn subject(
    name: &'static str,
    script: &'static str,
    arguments: &'static [&'static str],
) -> Subject {
    Subject {
        name,
        script,
        arguments,
    }
}

/// A server that serves. Dropping it ends the processes of its launcher.
pub(crate) struct Launched {
    launcher: Child,
    pub(crate) version: String,
    pub(crate) settings: String,
    pub(crate) url: String,
    pub(crate) password: String,
}

impl Launched {
    /// Starts a server. An error is the reason why it cannot be had.
    pub(crate) fn start(
        repository: &Path,
        folder: &Path,
        subject: &Subject,
        smbench: &Path,
    ) -> Result<Self, String> {
        let script = repository.join("crates/lab/interop").join(subject.script);
        let errors = folder.join(format!("{}.log", subject.name));
        let log =
            File::create(&errors).map_err(|error| format!("{}: {error}", errors.display()))?;
        // The launcher ends if this process dies for any reason.
        let mut launcher = Command::new("setpriv")
            .args(["--pdeathsig", "TERM", "bash"])
            .arg(script)
            .args(subject.arguments)
            .env("SMBENCH", smbench)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(log)
            .process_group(0)
            .spawn()
            .map_err(|error| format!("setpriv: {error}"))?;
        let lines = launcher.stdout.take().map(lines);
        let mut server = Self {
            launcher,
            version: String::new(),
            settings: String::new(),
            url: String::new(),
            password: String::new(),
        };
        if lines.is_some_and(|lines| server.read(&lines)) {
            Ok(server)
        } else {
            // Its last words may come after the end of its output.
            server.stop();
            let said = fs::read_to_string(&errors).unwrap_or_default();
            let last = said.lines().rfind(|line| !line.trim().is_empty());
            Err(last.unwrap_or("it did not serve in time").to_owned())
        }
    }

    /// Reads the lines of the launcher until it serves. Returns whether it does.
    fn read(&mut self, lines: &Receiver<String>) -> bool {
        let deadline = Instant::now() + START_LIMIT;
        while self.url.is_empty() || self.password.is_empty() {
            let left = deadline.saturating_duration_since(Instant::now());
            let Ok(line) = lines.recv_timeout(left) else {
                return false;
            };
            if line.starts_with("smb://") {
                self.url = line;
            } else if let Some((key, value)) = line.split_once('=') {
                let field = match key {
                    "version" => &mut self.version,
                    "settings" => &mut self.settings,
                    "SMBENCH_PASSWORD" => &mut self.password,
                    _ => continue,
                };
                value.clone_into(field);
            }
        }
        true
    }

    /// Returns the address and port in the URL.
    pub(crate) fn address(&self) -> &str {
        let (_, rest) = self.url.split_once('@').unwrap_or_default();
        rest.split('/').next().unwrap_or_default()
    }

    /// Returns whether the launcher has ended.
    pub(crate) fn has_ended(&mut self) -> bool {
        !matches!(self.launcher.try_wait(), Ok(None))
    }

    fn stop(&mut self) {
        let group = Pid::from_raw(self.launcher.id().cast_signed());
        // Signals fail if no process is left.
        let _ = killpg(group, Signal::SIGTERM);
        let deadline = Instant::now() + STOP_LIMIT;
        while !self.has_ended() && Instant::now() < deadline {
            thread::sleep(POLL_INTERVAL);
        }
        let _ = killpg(group, Signal::SIGKILL);
        let _ = self.launcher.wait();
    }
}

impl Drop for Launched {
    fn drop(&mut self) {
        self.stop();
    }
}

/// Reads lines in a thread, so that waiting for one has a limit.
fn lines(stdout: ChildStdout) -> Receiver<String> {
    let (send, lines) = mpsc::channel();
    thread::spawn(move || {
        for line in BufReader::new(stdout).lines().map_while(Result::ok) {
            // Further lines are read and dropped, so that the launcher never blocks.
            let _ = send.send(line);
        }
    });
    lines
}
