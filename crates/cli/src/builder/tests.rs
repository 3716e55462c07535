#![cfg(feature = "lab")]

use std::error::Error as _;
use std::sync::mpsc::{RecvTimeoutError, channel};

use smbench_engine::run::{Progress, RunEvent, each_event};
use smbench_lab::{EmbeddedOptions, EmbeddedServer};
use smbench_model::load::LoadModel;
use smbench_model::sessions::DialectRange;

use super::*;

fn server() -> EmbeddedServer {
    EmbeddedServer::start(EmbeddedOptions::default()).unwrap()
}

fn short(server: &EmbeddedServer) -> Run {
    Run::on_embedded(server)
        .profile("read-4k")
        .clients([1])
        .ramps(Duration::ZERO, Duration::ZERO)
        .duration(Duration::from_millis(100))
}

/// Embedding programs move these to other threads.
#[test]
fn a_run_its_future_and_its_outcome_may_change_threads() {
    fn is_send<T: Send>(_: &T) {}
    let run = Run::on("smb://ann@nas/bench").clients([0]);
    is_send(&run);
    is_send(&run.start());
    fn is_outcome<T: Send + Sync + 'static>() {}
    is_outcome::<Result<Finished, Error>>();
}

#[test]
fn the_first_mistake_is_named() {
    let on = || Run::on("smb://ann@nas/bench");
    let mistake = |run: Run| run.plan().unwrap_err();
    assert!(matches!(mistake(Run::on("nas")), Error::Target(_)));
    assert!(matches!(mistake(on().profile("files")), Error::Profile(_)));
    assert!(matches!(mistake(on().clients([1, 0])), Error::Clients(_)));
    assert!(matches!(mistake(on().clients([])), Error::Clients(_)));
    assert!(matches!(mistake(on().rate(0.0)), Error::Rate(_)));
    let first = mistake(Run::on("nas").clients([0]));
    assert!(matches!(first, Error::Target(_)), "{first}");
    let plan = mistake(on().duration(Duration::ZERO));
    assert!(matches!(plan, Error::Plan(_)));
    let reason = plan.source().unwrap().to_string();
    assert!(reason.contains("duration is 0s"), "{reason}");
}

#[test]
fn short_methods_set_the_options_of_the_plan() {
    let run = Run::on("smb://ann@nas/bench").rate(500.0).seed(7);
    let run = run.sign(Mode::Required).encrypt(Mode::Off);
    let plan = run.plan().unwrap();
    assert!(matches!(plan.only().load, LoadModel::Rate { rate, .. } if rate.per_second == 500.0));
    assert_eq!(plan.work.seed, 7);
    let session = plan.sessions.options;
    assert_eq!(session.signing, Mode::Required);
    assert_eq!(session.encryption, Mode::Off);
    assert_eq!(session.dialects, DialectRange::ALL);
}

#[test]
fn what_is_wrong_with_json_is_named() {
    let on = r#""server": "smb://ann@nas/bench""#;
    let mistake = |rest: &str| Run::from_json(&format!("{{{on}{rest}}}")).unwrap_err();
    assert!(matches!(mistake(""), Error::Workload));
    let both = r#", "profile": "read-4k", "workload": {}"#;
    assert!(matches!(mistake(both), Error::Workload));
    for (rest, word) in [
        (r#", "profil": "read-4k""#, "profil"),
        (
            r#", "profile": "read-4k", "run": {"client": "1"}"#,
            "client",
        ),
        (
            r#", "profile": "read-4k", "run": {"clients": "x"}"#,
            "client list",
        ),
        (r#", "profile": "read-4k", "password": "x""#, "password"),
    ] {
        let error = mistake(rest);
        let reason = error.source().unwrap().to_string();
        assert!(reason.contains(word), "{reason}");
        assert!(reason.contains("line 1"), "{reason}");
    }
}

/// A written plan is the plan of the same options in code.
#[test]
fn json_and_code_give_the_same_plan() {
    let written = r#"{
        "server": "smb://ann@nas/bench", "profile": "read-4k",
        "run": {"clients": "1,8", "duration": "10s"}
    }"#;
    let coded = Run::on("smb://ann@nas/bench")
        .profile("read-4k")
        .clients([1, 8])
        .duration(Duration::from_secs(10));
    let written = Run::from_json(written).unwrap().plan().unwrap();
    assert_eq!(written, coded.plan().unwrap());
}

#[test]
fn nothing_shows_the_password() {
    let server = server();
    let run = short(&server).label("mine");
    assert!(!format!("{run:?}").contains(server.password()));
    let finished = run.execute().unwrap();
    let json = finished.doc.to_json();
    assert!(!json.contains(server.password()));
    assert_eq!(finished.doc.label.as_deref(), Some("mine"));
    assert_eq!(finished.doc.server.notes, [IN_THIS_PROCESS]);
}

/// The caller's cancel may be that of further runs.
#[test]
fn a_run_that_has_ended_cancels_nothing() {
    let (server, cancel) = (server(), Cancel::default());
    let runtime = tokio::runtime::Builder::new_current_thread().build();
    let run = short(&server).cancel(cancel.clone()).start();
    let finished = runtime.unwrap().block_on(run).unwrap();
    assert_eq!(finished.doc.load_points.len(), 1);
    assert!(!cancel.is_cancelled());
}

#[test]
fn a_future_that_is_dropped_cancels_its_run() {
    let server = server();
    let (sender, receiver) = channel();
    let watch = each_event(move |event| {
        // Fails when the test has ended.
        let _ = sender.send(event);
    });
    let run = short(&server)
        .duration(Duration::from_secs(3600))
        .observer(watch);
    let future = run.start();
    let limit = Duration::from_secs(60);
    let next = || receiver.recv_timeout(limit);
    while !matches!(
        next().unwrap(),
        RunEvent::Progress(Progress::Running { .. })
    ) {}
    drop(future);
    // The channel closes with the thread of the run.
    let has_ended = (0..1000).any(|_| matches!(next(), Err(RecvTimeoutError::Disconnected)));
    assert!(has_ended);
    assert!(server.memory().paths().is_empty(), "its files are removed");
}
