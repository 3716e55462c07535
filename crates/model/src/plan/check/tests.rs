use std::sync::Arc;
use std::time::{Duration, SystemTime};

use smbench_protocol::NtStatus;

use super::*;
use crate::load::Ramp;
use crate::plan::resolve::tests::{captured, plan, recorded, resolve};
use crate::spec::RunOptions;
use crate::trace::{Builder, RecordOrder, Step};
use crate::work::Population;
use crate::workload::Replay;

type Change = fn(&mut Plan);

#[test]
fn a_changed_plan_is_refused_with_its_first_fault() {
    let changes: [(Change, &str); 16] = [
        (
            |plan| plan.only_mut().clients.clear(),
            "there are no load points: give one or more numbers of clients",
        ),
        (
            |plan| plan.only_mut().clients.push(0),
            "a load point has 0 clients: give 1 to 100000",
        ),
        (
            |plan| plan.only_mut().clients = vec![1, 100_001],
            "a load point has 100001 clients: give 1 to 100000",
        ),
        (
            |plan| plan.only_mut().outstanding = 0,
            "outstanding is 0: give 1 to 1024",
        ),
        (
            |plan| plan.work.repeat = 0,
            "repeat is 0: it must be at least 1",
        ),
        (
            |plan| plan.work.repeat = 1001,
            "repeat is 1001: the most is 1000",
        ),
        (
            |plan| plan.generator.threads = 0,
            "threads is 0: give 1 to 1024",
        ),
        (
            |plan| plan.generator.setup_rate = Some(0),
            "setup_rate is 0: give 1 to 1000000 sessions per second",
        ),
        (
            |plan| plan.work.duration = Duration::ZERO,
            "duration is 0s: the measured window needs at least 1ms, such as 30s",
        ),
        (
            |plan| plan.work.until_steady = Some(Duration::from_secs(4)),
            "until_steady is 4s: give at least 5s, so that it can be judged",
        ),
        (
            |plan| {
                plan.work.duration = Duration::from_secs(30);
                plan.work.until_steady = Some(Duration::from_secs(29));
            },
            "until_steady is 29s: give at least 30s, so that it can be judged",
        ),
        (
            |plan| {
                plan.work.ramp_up = Duration::ZERO;
                plan.only_mut().ramp = Ramp::Linear;
            },
            "ramp linear means nothing without ramp_up: give that as well, or drop it",
        ),
        (|plan| plan.work.ramp_down = Duration::MAX, "ramp_down is "),
        (
            |plan| plan.sessions.connections.sessions_per_connection = 0,
            "sessions_per_connection is 0: give 1 to 256",
        ),
        (
            |plan| plan.sessions.connections.connections_per_session = 0,
            "connections_per_session is 0: give 1 to 32",
        ),
        (
            |plan| plan.sessions.connections.credits = Some(0),
            "credits is 0: give 1 to 8192",
        ),
    ];
    assert_refused(&changes);
}

/// Checks that a plan with each of the changes is refused with these words.
fn assert_refused(changes: &[(Change, &str)]) {
    for (change, words) in changes {
        let mut plan = plan("read-4k");
        assert_eq!(plan.check(), Ok(()));
        change(&mut plan);
        let message = plan.check().unwrap_err().to_string();
        assert!(message.starts_with(words), "{message}");
    }
}

#[test]
fn a_part_of_the_clients_fits_the_load_points() {
    assert_refused(&[
        (
            |plan| {
                plan.generator.part = ClientPart::Range("0..8/16".parse().unwrap());
            },
            "client_range 0..8/16 needs one load point of 16 clients in one pass",
        ),
        (
            |plan| {
                plan.only_mut().clients = vec![8];
                plan.generator.part = ClientPart::Range("0..8/16".parse().unwrap());
            },
            "client_range 0..8/16 needs one load point of 16 clients in one pass",
        ),
        (
            |plan| plan.generator.begin_at = Some(SystemTime::UNIX_EPOCH),
            "begin_at needs one load point in one pass",
        ),
        (
            |plan| {
                plan.work.stages = "2m:8".parse().ok();
                plan.generator.part = ClientPart::Range("0..4/8".parse().unwrap());
            },
            "the load has stages: leave out client_range",
        ),
        (
            |plan| {
                plan.work.stages = "2m:8".parse().ok();
                plan.generator.parts = PartRecords::Kept;
            },
            "the load has stages: leave out parts",
        ),
        (
            |plan| {
                plan.generator.part = ClientPart::Host { host: 0, of: 2 };
                plan.only_mut().verify = Verify::ReadBack;
                plan.only_mut().workload.requests = Requests::Divided {
                    readers_percent: 50.0,
                };
            },
            "verify needs private files on several hosts",
        ),
    ]);
}

#[test]
fn a_copy_of_a_capture_is_in_one_process() {
    let mut plan = resolve(&captured(3), &RunOptions::default()).unwrap();
    plan.only_mut().clients = vec![6];
    let refused = |plan: &mut Plan, part: ClientPart| {
        plan.generator.part = part;
        plan.check().map_err(|problem| problem.to_string())
    };
    let range = |text: &str| ClientPart::Range(text.parse().unwrap());
    let host = |of| ClientPart::Host { host: 0, of };
    for whole in [ClientPart::All, host(1), range("0..3/6"), range("3..6/6")] {
        assert_eq!(refused(&mut plan, whole), Ok(()), "{whole:?}");
    }
    for (torn, words) in [
        (
            host(2),
            "a copy of the capture has 3 clients that wait for each other, and several hosts",
        ),
        (range("0..4/6"), "client_range 0..4/6 has a part of a copy"),
        (range("2..6/6"), "client_range 2..6/6 has a part of a copy"),
        (
            range("0..6:3/6"),
            "client_range 0..6:3/6 has a part of a copy",
        ),
    ] {
        let message = refused(&mut plan, torn).unwrap_err();
        assert!(message.starts_with(words), "{message}");
    }
    // Copies of one client are independent.
    let mut plan = resolve(&captured(1), &RunOptions::default()).unwrap();
    assert_eq!(refused(&mut plan, host(2)), Ok(()));
}

#[test]
fn populations_fit_together() {
    fn add<'a>(plan: &'a mut Plan, names: [Option<&'static str>; 2]) -> &'a mut Plan {
        let first = plan.only().clone();
        plan.work.populations = Vec::from(names.map(|name| Population {
            name: name.map(str::to_owned),
            ..first.clone()
        }));
        plan
    }
    const BOTH: [Option<&str>; 2] = [Some("office"), Some("backup")];
    let mut several = plan("read-4k");
    assert_eq!(add(&mut several, BOTH).check(), Ok(()));
    assert_eq!(several.work.load_points(), [2, 8, 16, 32]);
    assert_refused(&[
        (
            |plan| plan.work.populations.clear(),
            "there are no load points",
        ),
        (
            |plan| {
                add(plan, [Some("office"), None]);
            },
            "there are several populations: give each a name of its own",
        ),
        (
            |plan| {
                add(plan, [Some("office"); 2]);
            },
            "there are several populations: give each a name of its own",
        ),
        (
            |plan| add(plan, BOTH).work.populations[1].clients = vec![1],
            "there are several populations: give all the same number of load points",
        ),
        (
            |plan| {
                let one = add(plan, BOTH).work.populations.pop().unwrap();
                plan.work.populations = vec![one; 17];
            },
            "there are several populations: give at most 16",
        ),
        (
            |plan| {
                plan.only_mut().clients = vec![2];
                let rates = vec!["5".parse().unwrap(), "6".parse().unwrap()];
                add(plan, BOTH).work.populations[0].rates = rates;
            },
            "there are several populations: give each one rate at most",
        ),
        (
            |plan| {
                let mut replay = resolve(&recorded(), &RunOptions::default()).unwrap();
                let Requests::Replay(work) = &mut replay.only_mut().workload.requests else {
                    unreachable!("it is a replay");
                };
                work.loops = Some(1);
                add(plan, BOTH).work.populations[1].workload = replay.only().workload.clone();
            },
            "there are several populations: give none that ends with its work",
        ),
        (
            |plan| {
                let range = "0..1/2".parse().unwrap();
                add(plan, BOTH).generator.part = ClientPart::Range(range);
            },
            "there are several populations: leave out client_range",
        ),
        (
            |plan| add(plan, BOTH).generator.parts = PartRecords::Kept,
            "there are several populations: leave out parts",
        ),
        (
            |plan| add(plan, BOTH).work.populations[1].outstanding = 0,
            "outstanding is 0: give 1 to 1024",
        ),
    ]);
}

#[test]
fn a_replay_has_one_request_in_flight() {
    let mut plan = resolve(&recorded(), &RunOptions::default()).unwrap();
    assert_eq!(plan.check(), Ok(()));
    plan.work.until_steady = Some(Duration::from_secs(60));
    assert_eq!(plan.check(), Ok(()));
    plan.only_mut().outstanding = 2;
    assert!(matches!(plan.check(), Err(Problem::InReplay { .. })));
    let mut by_handle = Builder::default();
    by_handle.order(RecordOrder::ByHandle);
    let step = Step::Mkdir("a");
    by_handle.push(&step, NtStatus::SUCCESS, None).unwrap();
    let recording = by_handle.finish("captured".to_owned(), 1, [0; 32]);
    let replay = Replay::new(Arc::new(recording.into()));
    plan.only_mut().workload.requests = Requests::Replay(replay);
    assert_eq!(plan.check(), Ok(()));
}

/// Plain verified runs end with their load, as before.
#[test]
fn clients_read_once_more_where_writes_may_be_lost() {
    let mut plan = plan("file-server");
    plan.sessions.failover.reconnect = Some(Duration::from_secs(1));
    assert!(!plan.reads_finally());
    plan.only_mut().verify = Verify::ReadBack;
    assert!(plan.reads_finally() && plan.closes() && !plan.work.closes());
    plan.sessions.failover.reconnect = None;
    assert!(!plan.reads_finally() && !plan.closes());
    plan.work.events = vec!["at 1s: exec true".parse().unwrap()];
    assert!(plan.reads_finally());
    let changes: [Change; 3] = [
        |plan| plan.only_mut().workload.files.scope = Scope::Shared,
        |plan| {
            plan.only_mut().workload.requests = Requests::Data {
                read_percent: 100.0,
                flush_every_writes: None,
            };
        },
        |plan| plan.work.stages = "2s:5,0s:1,1s:1".parse().ok(),
    ];
    for change in changes {
        let mut plan = plan.clone();
        change(&mut plan);
        assert!(!plan.reads_finally());
    }
}
