//! Opens a page in a real browser within a time limit, and leaves no process or
//! folder behind.

use std::fs::{self, File};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use serde_json::Value;
use smbench_lab::{Tool, require};

const CHROMIUM: Tool = Tool::new("chromium", "chromium");

/// Longer than a page takes on a loaded machine. If it takes longer, the browser
/// hangs.
const LIMIT: Duration = Duration::from_secs(120);
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// Result of opening a page in a browser.
#[derive(Debug)]
pub(crate) struct Visit {
    /// The document as the browser parsed it.
    pub(crate) dom: String,
    /// The browser's console, a line each.
    pub(crate) console: Vec<String>,
    /// URLs that the page requested.
    pub(crate) requests: Vec<String>,
}

/// Returns whether a browser is installed. Without one, the test passes with a
/// message.
#[expect(clippy::print_stderr, reason = "a skipped test says so")]
pub(crate) fn is_here() -> bool {
    match require(&[CHROMIUM]) {
        Ok(()) => true,
        Err(skip) => {
            eprintln!("{skip}");
            false
        }
    }
}

/// Opens a file in the browser.
pub(crate) fn visit(page: &Path) -> Visit {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let mut command = Command::new(CHROMIUM.find().unwrap());
    command
        // Tests may run as root, for whom the browser's sandbox does not work.
        .args([
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            "--no-first-run",
        ])
        // The browser's own requests fail.
        .args([
            "--disable-background-networking",
            "--disable-component-update",
        ])
        .arg("--host-resolver-rules=MAP * ~NOTFOUND")
        .args(["--enable-logging=stderr", "--v=0", "--dump-dom"])
        .arg(format!("--user-data-dir={}", at("profile").display()))
        .arg(format!("--log-net-log={}", at("net.json").display()))
        .arg(format!("file://{}", page.display()))
        .env("HOME", folder.path())
        .stdin(Stdio::null())
        .stdout(File::create(at("dom")).unwrap())
        .stderr(File::create(at("log")).unwrap());
    Browser::start(&mut command).wait();
    let log = String::from_utf8_lossy(&fs::read(at("log")).unwrap()).into_owned();
    Visit {
        dom: fs::read_to_string(at("dom")).unwrap(),
        console: log
            .lines()
            .filter(|line| line.contains(":CONSOLE"))
            .map(str::to_owned)
            .collect(),
        requests: requests(&fs::read_to_string(at("net.json")).unwrap()),
    }
}

/// Returns the URLs of requests in a net log whose origin is a page. The browser's
/// own requests have no origin.
fn requests(log: &str) -> Vec<String> {
    let log: Value = serde_json::from_str(log).unwrap();
    let events = log["events"].as_array().unwrap();
    assert!(!events.is_empty(), "a log of what happened");
    let parameters = events.iter().map(|event| &event["params"]);
    let of_pages = parameters.filter(|params| {
        let initiator = params["initiator"].as_str();
        initiator.is_some_and(|initiator| initiator != "not an origin")
    });
    of_pages
        .map(|params| params["url"].as_str().unwrap().to_owned())
        .collect()
}

/// The browser and all processes it starts, which are in one process group.
struct Browser(Child);

impl Browser {
    fn start(command: &mut Command) -> Self {
        Self(command.process_group(0).spawn().unwrap())
    }

    fn wait(mut self) {
        let deadline = Instant::now() + LIMIT;
        let status = loop {
            if let Some(status) = self.0.try_wait().unwrap() {
                break status;
            }
            assert!(Instant::now() < deadline, "the browser hangs");
            thread::sleep(POLL_INTERVAL);
        };
        assert!(status.success(), "{status}");
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // Fails if all have ended, as they should.
        let _ = killpg(Pid::from_raw(self.0.id() as i32), Signal::SIGKILL);
        let _ = self.0.wait();
    }
}
