//! Runs against a real Samba.

use std::fs;
use std::path::Path;

use nix::sys::signal::Signal;
use smbench_lab::{SambaOptions, SambaShare, ScratchSamba, ShareAccess};

use crate::support::{Place, run_args, wait_until};

/// Starts a Samba with a read-only share; `None` if Samba is missing.
fn samba() -> Option<ScratchSamba> {
    let read_only = SambaShare {
        name: "fixed".to_owned(),
        access: ShareAccess::ReadOnly,
        lines: Vec::new(),
    };
    let options = SambaOptions {
        shares: vec![read_only],
        ..SambaOptions::default()
    };
    ScratchSamba::or_skip(options)
}

fn count(folder: &Path) -> usize {
    fs::read_dir(folder).unwrap().count()
}

#[test]
fn a_run_and_everything_that_can_be_wrong_with_it() {
    let Some(samba) = samba() else { return };
    let place = Place::new();
    let said = place.run(&samba.url(), "wrong", &[]);
    said.failed_with(3, &["failed to log on as user", "LOGON_FAILURE"]);
    let said = place.run(&samba.url_of("nothing"), samba.password(), &[]);
    said.failed_with(3, &["failed to connect to share 'nothing'"]);
    let said = place.run(&samba.url_of("fixed"), samba.password(), &[]);
    said.failed_with(3, &["the share is read-only"]);
    assert!(!place.path("results").exists());

    let args = ["--clients=1,4", "--verify", "--sign=required"];
    let said = place.run(&samba.url(), samba.password(), &args);
    said.succeeded();
    let doc = place.document();
    assert_eq!(doc["server"]["signing"], "aes-128-gmac");
    let points = doc["load_points"].as_array().unwrap();
    assert_eq!(points.len(), 2);
    assert!(
        points.iter().all(|point| point["valid"] == true),
        "{points:?}"
    );
    assert_eq!(count(&samba.data_dir()), 0);
}

#[test]
fn an_interrupt_leaves_nothing_and_a_kill_is_cleaned_up() {
    let Some(samba) = samba() else { return };
    let place = Place::new();
    let url = samba.url();
    let args = run_args(&url, &["--clients=1,2", "--duration=1s"]);
    let running = place.start_as(samba.password(), &args);
    place.wait_for_load_points(1);
    running.signal(Signal::SIGINT);
    let said = running.wait();
    assert_eq!(said.code(), Some(130), "{said:?}");
    assert_eq!(count(&samba.data_dir()), 0);

    let place = Place::new();
    let running = place.start_as(samba.password(), &args);
    place.wait_for_load_points(1);
    running.signal(Signal::SIGKILL);
    running.wait();
    assert_eq!(count(&samba.data_dir()), 1);
    wait_until(|| {
        let said = place.smbench_as(samba.password(), &["cleanup", &url]);
        said.succeeded();
        said.stdout.starts_with("removed smbench-")
    });
    assert_eq!(count(&samba.data_dir()), 0);
}
