//! Runs the binary in its own folder, within a time limit.

mod short;

pub(crate) use short::is_machine_busy;

use std::fs;
use std::io::{BufRead as _, BufReader, Read};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;
use smbench_lab::{EmbeddedOptions, EmbeddedServer};
use tempfile::TempDir;

/// Longer than any test here takes on a loaded machine. A command that takes longer
/// hangs.
const LIMIT: Duration = Duration::from_secs(300);
const POLL_INTERVAL: Duration = Duration::from_millis(10);

/// Windows that are short enough for a test suite, and long enough to contain
/// operations.
pub(crate) const SHORT: [&str; 7] = [
    "--duration=300ms",
    "--ramp-up=50ms",
    "--ramp-down=20ms",
    "--threads=2",
    "--connect-timeout=5s",
    "--out=results",
    "--seed=7",
];

/// A temporary folder for commands.
pub(crate) struct Place {
    folder: TempDir,
}

/// Output of a finished command.
#[derive(Debug)]
pub(crate) struct Said {
    pub(crate) status: ExitStatus,
    pub(crate) stdout: String,
    /// The messages.
    pub(crate) stderr: String,
    /// Lines of standard error about load points of a run, and about a slow probe.
    pub(crate) points: Vec<String>,
}

/// A running command; killed if the test ends first.
pub(crate) struct Running {
    child: Child,
    stdout: Option<JoinHandle<()>>,
    stderr: Option<JoinHandle<()>>,
    printed: Buffer,
    complained: Buffer,
}

/// Output of a stream so far.
type Buffer = Arc<Mutex<Vec<u8>>>;

impl Place {
    pub(crate) fn new() -> Self {
        Self {
            folder: tempfile::tempdir().unwrap(),
        }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path(name);
        fs::write(&path, text).unwrap();
        path
    }

    pub(crate) fn json(&self, name: &str) -> Value {
        json(&fs::read_to_string(self.path(name)).unwrap())
    }

    /// Returns the command without a password in its environment.
    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_smbench"));
        command
            .args(args)
            .current_dir(self.folder.path())
            .env_remove("SMBENCH_PASSWORD")
            .env_remove("SMBENCH_TARGET")
            .stdin(Stdio::null());
        command
    }

    /// Returns the command with a shell command before it that sets a limit.
    pub(crate) fn limited(&self, limit: &str, args: &[&str]) -> Command {
        let script = format!("{limit}; exec \"$0\" \"$@\"");
        let binary = env!("CARGO_BIN_EXE_smbench");
        let mut command = Command::new("sh");
        command
            .args(["-c", &script, binary])
            .args(args)
            .current_dir(self.folder.path())
            .env_remove("SMBENCH_PASSWORD")
            .env_remove("SMBENCH_TARGET")
            .stdin(Stdio::null());
        command
    }

    pub(crate) fn smbench(&self, args: &[&str]) -> Said {
        Running::spawn(self.command(args)).wait()
    }

    /// Runs `smbench` with a password.
    pub(crate) fn smbench_as(&self, password: &str, args: &[&str]) -> Said {
        self.start_as(password, args).wait()
    }

    pub(crate) fn start_as(&self, password: &str, args: &[&str]) -> Running {
        let mut command = self.command(args);
        command.env("SMBENCH_PASSWORD", password);
        Running::spawn(command)
    }

    /// Returns the files that a run left in its folder of results. Temporary files
    /// of a killed run do not count.
    pub(crate) fn results(&self) -> Vec<PathBuf> {
        let Ok(entries) = fs::read_dir(self.path("results")) else {
            return Vec::new();
        };
        let paths = entries.map(|entry| entry.unwrap().path());
        paths
            .filter(|path| path.extension().is_none_or(|extension| extension != "tmp"))
            .collect()
    }

    /// Returns the single result document.
    pub(crate) fn document(&self) -> Value {
        let [path] = &self.results()[..] else {
            panic!("not one result: {:?}", self.results());
        };
        json(&fs::read_to_string(path).unwrap())
    }

    /// Waits until a result document contains this number of load points.
    pub(crate) fn wait_for_load_points(&self, count: usize) {
        wait_until(|| {
            self.results().iter().any(|path| {
                fs::read(path)
                    .ok()
                    .and_then(|bytes| serde_json::from_slice::<Value>(&bytes).ok())
                    .is_some_and(|doc| doc["load_points"].as_array().unwrap().len() == count)
            })
        });
    }
}

/// Returns `run --target url` with short windows. Of equal options, those in `more`
/// win.
pub(crate) fn run_args<'a>(url: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let name = |option: &str| option.split('=').next().unwrap_or_default().to_owned();
    let given: Vec<_> = more.iter().map(|option| name(option)).collect();
    let mut args = vec!["run", "--target", url];
    args.extend(SHORT.iter().filter(|short| !given.contains(&name(short))));
    args.extend(more);
    args
}

impl Running {
    pub(crate) fn spawn(command: Command) -> Self {
        Self::spawn_into(command, Stdio::piped())
    }

    /// Starts the command with this standard output, which is not collected.
    pub(crate) fn spawn_into(mut command: Command, stdout: impl Into<Stdio>) -> Self {
        let mut child = command
            .stdout(stdout)
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let (printed, complained) = (Buffer::default(), Buffer::default());
        let stdout = child.stdout.take().map(|from| collect(from, &printed));
        let stderr = collect(child.stderr.take().unwrap(), &complained);
        Self {
            child,
            stdout,
            stderr: Some(stderr),
            printed,
            complained,
        }
    }

    pub(crate) fn signal(&self, signal: Signal) {
        send(&self.child, signal);
    }

    pub(crate) fn wait(mut self) -> Said {
        let deadline = Instant::now() + LIMIT;
        let status = loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                break status;
            }
            assert!(Instant::now() < deadline, "the command hangs");
            thread::sleep(POLL_INTERVAL);
        };
        for reader in [self.stdout.take(), self.stderr.take()] {
            reader.into_iter().for_each(|reader| reader.join().unwrap());
        }
        let complained = so_far(&self.complained);
        let lines = complained.split_inclusive('\n');
        let is_progress = |line: &&str| is_point(line) || line.starts_with("smbench: trying ");
        let (points, messages): (Vec<_>, Vec<_>) = lines.partition(is_progress);
        Said {
            status,
            stdout: so_far(&self.printed),
            stderr: messages.concat(),
            points: points
                .iter()
                .map(|line| line.trim_end().to_owned())
                .collect(),
        }
    }

    pub(crate) fn has_ended(&mut self) -> bool {
        self.child.try_wait().unwrap().is_some()
    }

    /// Waits until standard output contains `part`.
    pub(crate) fn wait_for_stdout(&self, part: &str) {
        wait_until(|| so_far(&self.printed).contains(part));
    }

    /// Waits until standard error contains `part`.
    pub(crate) fn wait_for_stderr(&self, part: &str) {
        wait_until(|| so_far(&self.complained).contains(part));
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // Fails if the process has already ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn collect(mut from: impl Read + Send + 'static, into: &Buffer) -> JoinHandle<()> {
    let into = Arc::clone(into);
    thread::spawn(move || {
        let mut chunk = [0; 4096];
        while let Ok(len @ 1..) = from.read(&mut chunk) {
            into.lock().unwrap().extend_from_slice(&chunk[..len]);
        }
    })
}

/// Returns whether a line is about a finished load point of a run. Those of suites have
/// the server's name.
fn is_point(line: &str) -> bool {
    let parts = line
        .strip_prefix("smbench: ")
        .and_then(|line| line.split_once(": "));
    let Some((place, height)) = parts else {
        return false;
    };
    let is_place = place.ends_with(" client") || place.ends_with(" clients");
    let unit = height
        .split_whitespace()
        .nth(1)
        .map(|unit| unit.trim_end_matches([';', ',']));
    is_place && matches!(unit, Some("Mbit/s" | "ops/s")) && !place.contains(" on ")
}

fn so_far(buffer: &Buffer) -> String {
    String::from_utf8(buffer.lock().unwrap().clone()).unwrap()
}

impl Said {
    pub(crate) fn code(&self) -> Option<i32> {
        self.status.code()
    }

    /// Checks that the command ended with `code`, printed nothing, and wrote one
    /// line that contains all `parts`.
    #[track_caller]
    pub(crate) fn failed_with(&self, code: i32, parts: &[&str]) {
        assert_eq!(self.code(), Some(code), "{self:?}");
        assert_eq!(self.stdout, "", "{self:?}");
        let [line] = self.stderr.lines().collect::<Vec<_>>()[..] else {
            panic!("not one line: {self:?}");
        };
        assert!(line.starts_with("smbench: "), "{line}");
        for part in parts {
            assert!(line.contains(part), "{part:?} is missing: {line}");
        }
    }

    /// Checks that the command succeeded without a message on standard error.
    #[track_caller]
    pub(crate) fn succeeded(&self) {
        assert_eq!(self.code(), Some(0), "{self:?}");
        assert_eq!(self.stderr, "", "{self:?}");
    }

    /// Checks that the command succeeded. On a busy machine a load point may be invalid.
    #[track_caller]
    pub(crate) fn ended(&self) {
        let is_starved = self.code() == Some(4) && is_machine_busy();
        assert!(self.code() == Some(0) || is_starved, "{self:?}");
    }
}

/// A running `smbench lab`.
pub(crate) struct Lab {
    running: Child,
    pub(crate) url: String,
    pub(crate) password: String,
}

impl Lab {
    pub(crate) fn start(place: &Place, args: &[&str]) -> Self {
        Self::spawn(place.command(&["lab"]).args(args))
    }

    /// Starts it with `folder` for its temporary files.
    pub(crate) fn start_in(place: &Place, args: &[&str], folder: &Path) -> Self {
        Self::spawn(place.command(&["lab"]).args(args).env("TMPDIR", folder))
    }

    pub(crate) fn spawn(command: &mut Command) -> Self {
        let mut running = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(running.stdout.take().unwrap()).lines();
        let url = lines.next().unwrap().unwrap();
        let line = lines.next().unwrap().unwrap();
        let password = line.strip_prefix("SMBENCH_PASSWORD=").unwrap().to_owned();
        Self {
            running,
            url,
            password,
        }
    }

    pub(crate) fn signal(&self, signal: Signal) {
        send(&self.running, signal);
    }

    pub(crate) fn stop(self, signal: Signal) -> ExitStatus {
        self.signal(signal);
        self.wait()
    }

    /// Waits until it has ended without a signal.
    pub(crate) fn wait(mut self) -> ExitStatus {
        wait_until(|| self.running.try_wait().unwrap().is_some());
        self.running.wait().unwrap()
    }
}

impl Drop for Lab {
    fn drop(&mut self) {
        let _ = self.running.kill();
        let _ = self.running.wait();
    }
}

fn send(to: &Child, signal: Signal) {
    let pid = i32::try_from(to.id()).unwrap();
    kill(Pid::from_raw(pid), signal).unwrap();
}

pub(crate) fn embedded() -> EmbeddedServer {
    EmbeddedServer::start(EmbeddedOptions::default()).unwrap()
}

#[track_caller]
pub(crate) fn wait_until(mut is_so: impl FnMut() -> bool) {
    let deadline = Instant::now() + LIMIT;
    while !is_so() {
        assert!(Instant::now() < deadline, "waited in vain");
        thread::sleep(POLL_INTERVAL);
    }
}

#[track_caller]
pub(crate) fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

/// Returns a port on which no process listens.
pub(crate) fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap().port()
}

/// Returns whether the port of a `smb://user@127.0.0.1:PORT/share` accepts
/// connections.
pub(crate) fn answers(url: &str) -> bool {
    let (_, server) = url.split_once('@').unwrap();
    let (address, _) = server.split_once('/').unwrap();
    std::net::TcpStream::connect(address).is_ok()
}

pub(crate) fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}
