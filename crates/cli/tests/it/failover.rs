//! Runs whose clients lose the server: for a time, for good, or together with smbench.

use std::fs;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use smbench_lab::{SambaOptions, ScratchSamba};

use crate::support::{Place, embedded, run_args, wait_until};

/// Tells that the window has begun.
const BEGUN: &str = "--event=at 0s: exec touch begun";

fn send(signal: Signal, processes: &[u32]) {
    for process in processes {
        // One may have ended.
        let _ = kill(Pid::from_raw(*process as i32), signal);
    }
}

/// The server has kept the handles of clients that never come back. A clean-up removes their
/// files as well.
#[test]
fn what_a_run_that_was_killed_in_a_blackout_left_is_cleaned_up() {
    let Some(samba) = ScratchSamba::or_skip(SambaOptions::default()) else {
        return;
    };
    let place = Place::new();
    let url = samba.url();
    let more = [
        "--clients=2",
        "--duration=10m",
        "--handles=durable",
        "--reconnect=5m",
        BEGUN,
        "--event=at 2s: drop 100%",
        "--event=at 3s: exec touch dropped",
    ];
    let running = place.start_as(samba.password(), &run_args(&url, &more));
    wait_until(|| place.path("begun").exists());
    // From now on nobody has an answer.
    let stopped = samba.server_pids();
    send(Signal::SIGSTOP, &stopped);
    wait_until(|| place.path("dropped").exists());
    running.signal(Signal::SIGKILL);
    running.wait();
    send(Signal::SIGCONT, &stopped);
    assert_eq!(fs::read_dir(samba.data_dir()).unwrap().count(), 1);
    wait_until(|| {
        let said = place.smbench_as(samba.password(), &["cleanup", &url]);
        said.stdout.starts_with("removed smbench-")
    });
    assert_eq!(fs::read_dir(samba.data_dir()).unwrap().count(), 0);
}

#[test]
fn a_server_that_never_comes_back_ends_the_run_and_its_results_are_saved() {
    let server = embedded();
    let place = Place::new();
    let url = server.url();
    let more = ["--clients=2", "--duration=1m", "--reconnect=1s", BEGUN];
    let running = place.start_as(server.password(), &run_args(&url, &more));
    wait_until(|| place.path("begun").exists());
    server.stop();
    let said = running.wait();
    assert_eq!(said.code(), Some(4), "{said:?}");
    let [left, ended] = said.stderr.lines().collect::<Vec<_>>()[..] else {
        panic!("not two lines: {said:?}");
    };
    assert!(left.contains(&format!("smbench cleanup '{url}'")), "{left}");
    assert!(
        ended.starts_with("smbench: run aborted: all 2 clients lost 127.0.0.1"),
        "{ended}"
    );
    let reason = ", and no new session could be set up within 1s: ";
    assert!(ended.contains(reason), "{ended}");
    assert!(said.stdout.contains("Saved to results/"), "{said:?}");
    let doc = place.document();
    assert_eq!(doc["outcome"], "aborted");
    let point = &doc["load_points"][0];
    assert_eq!(point["valid"], false);
    let event = &point["events"][0];
    assert_eq!(
        (&event["clients"], &event["clients_away"]),
        (&2.into(), &2.into())
    );
}

#[test]
fn a_command_of_an_event_that_fails_is_named_in_one_line() {
    let server = embedded();
    let place = Place::new();
    let more = [
        "--clients=2",
        "--duration=3s",
        "--event=at 100ms: exec echo no node; exit 7",
    ];
    let said = place.run(&server.url(), server.password(), &more);
    assert_eq!(said.code(), Some(4), "{said:?}");
    let [line] = said.stderr.lines().collect::<Vec<_>>()[..] else {
        panic!("not one line: {said:?}");
    };
    let reason = "the command of the event at 100ms ended with exit status 7: no node";
    assert!(line.starts_with("smbench: 1 of 1 load point"), "{line}");
    assert!(line.ends_with(reason), "{line}");
}
