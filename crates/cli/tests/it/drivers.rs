//! `--driver`: the same command line with another client.

use nix::sys::signal::Signal;
use serde_json::Value;

use crate::support::{Place, embedded, free_port, run_args, wait_until};

fn document(more: &[&str]) -> Value {
    let server = embedded();
    let place = Place::new();
    let more = [&["--clients=1,4", "--outstanding=4", "--verify"][..], more].concat();
    let said = place.run(&server.url(), server.password(), &more);
    said.succeeded();
    assert_eq!(
        said.stdout.contains(", driver smb-rs"),
        more.contains(&"--driver=smb-rs")
    );
    assert_eq!(server.memory().paths(), Vec::<String>::new());
    place.document()
}

#[test]
fn both_drivers_leave_the_same_document() {
    let [native, by_default, smb_rs] =
        [&["--driver=native"][..], &[], &["--driver=smb-rs"]].map(document);
    assert_eq!(native["plan"]["driver"], "native");
    assert_eq!(by_default["plan"], native["plan"]);
    assert_eq!(smb_rs["plan"]["driver"], "smb-rs");
    assert_eq!(smb_rs["plan"]["digest"], native["plan"]["digest"]);
    // The settings of the driver itself, not those of the other one.
    assert_eq!(native["server"]["signing"], "off");
    assert_eq!(smb_rs["server"]["signing"], "aes-128-cmac");
    for key in ["dialect", "encryption", "max_read_bytes", "max_write_bytes"] {
        assert_eq!(smb_rs["server"][key], native["server"][key], "{key}");
    }
    for doc in [native, smb_rs] {
        let points = doc["load_points"].as_array().unwrap();
        assert_eq!(points.len(), 2);
        for point in points {
            assert_eq!(point["valid"], true, "{point}");
            for op in ["read", "write"] {
                assert!(point["ops"][op]["count"].as_u64().unwrap() > 0, "{op}");
            }
        }
    }
}

#[test]
fn what_the_driver_cannot_do_is_refused_before_anything_is_asked_of_the_server() {
    let place = Place::new();
    let url = format!("smb://ann@127.0.0.1:{}/bench", free_port());
    for (option, part) in [
        ("--sign=off", "--sign: the driver smb-rs signs whatever"),
        (
            "--signing-algorithm=aes-128-cmac",
            "--signing-algorithm: the driver smb-rs leaves",
        ),
        ("--cipher=aes-256-gcm", "--cipher: the driver smb-rs leaves"),
    ] {
        let said = place.run(&url, "x", &["--driver=smb-rs", option]);
        said.failed_with(2, &[part, "--driver native"]);
    }
    let said = place.run(&url, "x", &["--driver=smb-rs", "--profile=metadata"]);
    let part = "--driver: the driver smb-rs has no call for operation create_query_close, ";
    said.failed_with(2, &[part, "of profile metadata: use --driver native"]);
    let said = place.run(&url, "x", &["--driver=smbclient"]);
    said.failed_with(2, &["--driver", "native", "smb-rs"]);
    assert!(!place.path("results").exists());
}

#[test]
fn a_dead_server_and_a_wrong_password_end_as_with_the_native_driver() {
    let server = embedded();
    let nobody = format!("smb://ann@127.0.0.1:{}/bench", free_port());
    let said = |url: &str, driver: &str| {
        let place = Place::new();
        let said = place.run(url, "wrong", &[driver]);
        said.failed_with(3, &["failed to "]);
        said.stderr
    };
    for url in [server.url(), nobody] {
        assert_eq!(said(&url, "--driver=smb-rs"), said(&url, "--driver=native"));
    }
}

#[test]
fn a_server_that_dies_costs_only_its_load_point() {
    let server = embedded();
    let place = Place::new();
    let url = server.url();
    let args = run_args(&url, &["--driver=smb-rs", "--clients=2,3", "--duration=1s"]);
    let running = place.start_as(server.password(), &args);
    place.wait_for_load_points(1);
    let before = server.memory().counts().reads;
    wait_until(|| server.memory().counts().reads > before);
    server.stop();
    let said = running.wait();
    assert_eq!(said.code(), Some(4), "{said:?}");
    let expected = "run aborted: all 3 clients lost 127.0.0.1";
    assert!(said.stderr.contains(expected), "{said:?}");
    // One line about the files that remain on the share, one about the run.
    assert_eq!(said.stderr.lines().count(), 2, "{said:?}");
    let doc = place.document();
    assert_eq!(doc["outcome"], "aborted");
    assert_eq!(doc["load_points"][0]["valid"], true);
    assert_eq!(doc["load_points"][1]["valid"], false);
}

#[test]
fn an_interrupt_under_load_leaves_nothing() {
    let server = embedded();
    let place = Place::new();
    let url = server.url();
    let more = [
        "--driver=smb-rs",
        "--clients=3",
        "--outstanding=4",
        "--ramp-up=20s",
    ];
    let running = place.start_as(server.password(), &run_args(&url, &more));
    wait_until(|| server.memory().counts().reads > 0);
    running.signal(Signal::SIGINT);
    let said = running.wait();
    assert_eq!(said.code(), Some(130), "{said:?}");
    assert!(!said.stderr.contains("panicked"), "{said:?}");
    assert!(place.results().is_empty());
    assert_eq!(server.memory().paths(), Vec::<String>::new());
}
