//! The full screen of `--live`, on the pseudo-terminal of `script` (util-linux).

use std::io::{Read as _, Write as _};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::support::{Place, embedded, run_args, wait_until};

/// What goes to the second page of a terminal, and back.
const ENTER: &str = "\x1b[?1049h";
const LEAVE: &str = "\x1b[?1049l";
/// Shows the cursor.
const CURSOR: &str = "\x1b[?25h";

/// Ends with a line once the terminal shows what is typed, as it does by default.
const UNTIL_SANE: &str = "until stty -a | grep -q ' icanon.* echo '; do sleep 0.1; done; echo sane";

/// `smbench` on a terminal of 80x24, followed by a shell command.
struct OnTerminal {
    script: Child,
    keys: Option<ChildStdin>,
    reader: Option<JoinHandle<()>>,
    shown: Arc<Mutex<Vec<u8>>>,
}

impl OnTerminal {
    fn start(place: &Place, password: &str, args: &[&str]) -> Self {
        let command = format!(
            "trap : INT; stty rows 24 cols 80; \
             sh -c 'echo \"pid=$$.\"; exec \"$SMBENCH\" {}'; code=$?; {UNTIL_SANE}; exit $code",
            args.join(" ")
        );
        let mut script = Command::new("script")
            .args(["--quiet", "--return", "--command", &command, "/dev/null"])
            .current_dir(place.path(""))
            .env("SMBENCH", env!("CARGO_BIN_EXE_smbench"))
            .env("SMBENCH_PASSWORD", password)
            .env("TERM", "xterm")
            .env("SHELL", "/bin/sh")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let shown = Arc::new(Mutex::new(Vec::new()));
        let (mut from, into) = (script.stdout.take().unwrap(), Arc::clone(&shown));
        let reader = thread::spawn(move || {
            let mut chunk = [0; 4096];
            while let Ok(length @ 1..) = from.read(&mut chunk) {
                into.lock().unwrap().extend_from_slice(&chunk[..length]);
            }
        });
        Self {
            keys: script.stdin.take(),
            script,
            reader: Some(reader),
            shown,
        }
    }

    fn so_far(&self) -> String {
        String::from_utf8_lossy(&self.shown.lock().unwrap()).into_owned()
    }

    fn wait_for(&self, part: &str) {
        wait_until(|| self.so_far().contains(part));
    }

    fn press(&mut self, keys: &[u8]) {
        self.keys.as_mut().unwrap().write_all(keys).unwrap();
    }

    fn send(&self, signal: Signal) {
        let shown = self.so_far();
        let (_, rest) = shown.split_once("pid=").unwrap();
        let (pid, _) = rest.split_once('.').unwrap();
        kill(Pid::from_raw(pid.parse().unwrap()), signal).unwrap();
    }

    /// Waits for the end. Returns the exit code, and what was shown before, during and
    /// after the screen.
    fn wait(mut self) -> (Option<i32>, [String; 3]) {
        wait_until(|| self.script.try_wait().unwrap().is_some());
        self.reader.take().unwrap().join().unwrap();
        let shown = self.so_far();
        let parts: Vec<_> = shown
            .split(ENTER)
            .flat_map(|part| part.split(LEAVE))
            .collect();
        let [before, during, after] = parts[..] else {
            panic!("not one screen: {shown:?}");
        };
        assert!(after.contains("sane"), "{shown:?}");
        let parts = [before, during, after].map(str::to_owned);
        (self.script.wait().unwrap().code(), parts)
    }
}

impl Drop for OnTerminal {
    fn drop(&mut self) {
        // Fails if it has already ended.
        let _ = self.script.kill();
        let _ = self.script.wait();
    }
}

#[test]
fn the_result_follows_the_screen() {
    let (server, place) = (embedded(), Place::new());
    let url = server.url();
    let args = run_args(&url, &["--live", "--clients=1,2"]);
    let (code, [_, during, after]) = OnTerminal::start(&place, server.password(), &args).wait();
    assert_eq!(code, Some(0), "{after}");
    for part in ["Operations", "Cautions", "Ctrl-C:"] {
        assert!(during.contains(part), "{part}: {during:?}");
    }
    assert!(after.contains("Saved to results/"), "{after:?}");
}

#[test]
fn a_run_continues_without_the_screen_after_q() {
    let (server, place) = (embedded(), Place::new());
    let url = server.url();
    let args = run_args(&url, &["--live", "--clients=1", "--duration=3s"]);
    let mut running = OnTerminal::start(&place, server.password(), &args);
    running.wait_for("Cautions");
    running.press(b"q");
    let (code, [_, _, after]) = running.wait();
    assert_eq!(code, Some(0), "{after}");
    let progress = after.find("point 1/1: 1 client");
    let result = after.find("Saved to results/");
    assert!(progress.is_some() && progress < result, "{after:?}");
}

#[test]
fn ctrl_c_stops_the_run_and_its_message_follows_the_screen() {
    let (server, place) = (embedded(), Place::new());
    let url = server.url();
    let args = run_args(&url, &["--live", "--clients=1", "--duration=60s"]);
    let mut running = OnTerminal::start(&place, server.password(), &args);
    running.wait_for("measuring");
    running.press(b"\x03");
    let (code, [_, _, after]) = running.wait();
    assert_eq!(code, Some(130), "{after}");
    let stopping = after.find("smbench: stopping: ");
    let result = after.find("Saved to results/");
    assert!(stopping.is_some() && stopping < result, "{after:?}");
}

#[test]
fn a_killed_run_leaves_the_terminal_as_it_was() {
    let (server, place) = (embedded(), Place::new());
    let url = server.url();
    let args = run_args(&url, &["--live", "--clients=1", "--duration=60s"]);
    let running = OnTerminal::start(&place, server.password(), &args);
    running.wait_for("measuring");
    running.send(Signal::SIGKILL);
    let (code, [_, _, after]) = running.wait();
    assert_eq!(code, Some(137), "{after}");
    assert!(after.contains(CURSOR), "{after:?}");
}
