//! Loads with stages on several hosts: together they follow the lines, and their parts add up.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use smbench_engine::run::PlannedCourse;
use smbench_engine::{Cancel, Observer};
use smbench_formats::profile;
use smbench_model::kind::{Direction, OpKind};
use smbench_model::plan::Plan;
use smbench_model::profile::Profile;
use smbench_model::progress::Progress;
use smbench_model::record::{ChurnRecord, LoadPointRecord, Outcome, RunRecord, StageRecord};
use smbench_model::spec::{GeneratorSpec, RunOptions, WorkSpec};
use smbench_model::work::Population;

use super::mesh::{run_observed, start};
use super::{plan_of, server};

/// Number of hosts.
const HOSTS: u32 = 3;

/// Returns the options of a load with this work.
fn staged(work: WorkSpec) -> RunOptions {
    RunOptions {
        work: WorkSpec {
            ramp_down: Some(Duration::from_millis(100)),
            ..work
        },
        generator: GeneratorSpec {
            threads: Some(1),
            ..GeneratorSpec::default()
        },
        ..RunOptions::default()
    }
}

/// Returns the options of a load with these stages.
fn stages(text: &str) -> RunOptions {
    staged(WorkSpec {
        stages: Some(text.parse().unwrap()),
        ..WorkSpec::default()
    })
}

/// Keeps the rows that are shown under load, and does something at the first one.
struct Rows<F> {
    seen: Vec<LoadPointRecord>,
    at_first: F,
}

impl<F: FnMut()> Observer for Rows<F> {
    fn progress(&mut self, _: &Progress) {}

    fn stage_ended(&mut self, row: &LoadPointRecord) {
        if self.seen.is_empty() {
            (self.at_first)();
        }
        self.seen.push(row.clone());
    }

    fn load_point_ended(&mut self, _: &RunRecord) {}
}

/// What all hosts measured together, and the parts of those that are not the first.
struct Measured {
    stages: Vec<LoadPointRecord>,
    parts: Vec<Vec<StageRecord>>,
}

/// Runs a plan on all hosts, of which the others have the plan `theirs`. What they have measured
/// adds up in each stage.
fn measured(plan: &Plan, theirs: &Plan) -> Measured {
    let (first, others) = start(HOSTS, std::slice::from_ref(theirs));
    let mut rows = Rows {
        seen: Vec::new(),
        at_first: || {},
    };
    let mut course = PlannedCourse::of(plan);
    let cancel = Cancel::default();
    let record = run_observed(&first, plan, &mut course, &mut rows, &cancel).unwrap();
    drop(first);
    let parts = others.join().into_iter().map(|(ended, mut records)| {
        ended.unwrap();
        records.remove(0).load_points.remove(0).stages
    });
    assert_eq!(record.outcome, Outcome::Complete);
    let all = Measured {
        stages: record.load_points,
        parts: parts.collect(),
    };
    for at in 0..all.stages.len() {
        assert_adds_up(&all, at);
    }
    assert!(!rows.seen.is_empty() && rows.seen.len() < all.stages.len());
    for (row, stage) in rows.seen.iter().zip(&all.stages) {
        let hosts = |of: &LoadPointRecord| -> Vec<_> {
            let hosts = of.hosts.iter();
            hosts.map(|host| (host.clients, host.operations)).collect()
        };
        assert_eq!((row.clients, hosts(row)), (stage.clients, hosts(stage)));
    }
    all
}

/// Checks the sums of a stage, by its index, over hosts and populations.
fn assert_adds_up(all: &Measured, at: usize) {
    let stage = &all.stages[at];
    assert_eq!(stage.stage.unwrap().number as usize, at + 1);
    assert!(stage.dropouts.is_empty(), "{:?}", stage.dropouts);
    assert_eq!(stage.ops.errors(), 0, "{:?}", stage.ops.failures());
    let names: Vec<_> = stage.hosts.iter().map(|host| &host.name[..]).collect();
    assert_eq!(names, ["node0", "node1", "node2"]);
    let hosts = || stage.hosts.iter();
    assert_eq!(hosts().map(|host| host.clients).sum::<u32>(), stage.clients);
    assert_eq!(
        hosts().map(|host| host.operations).sum::<u64>(),
        stage.ops.window_all().count()
    );
    let bytes = [Direction::Read, Direction::Write].map(|way| stage.ops.window_bytes(way));
    assert_eq!(
        hosts().map(|host| host.bytes).sum::<u64>(),
        bytes.iter().sum::<u64>()
    );
    let used = hosts().map(|host| host.client.unwrap().cpu_user);
    assert_eq!(used.sum::<Duration>(), stage.client.cpu_user);
    assert!(stage.memory.unwrap().own.is_some());
    for (host, part) in hosts().skip(1).zip(&all.parts) {
        let of_host = (part[at].clients, part[at].ops.window_all().count());
        assert_eq!((host.clients, host.operations), of_host);
        assert!(host.clock.is_some() && host.generator.is_some());
    }
    if stage.populations.is_empty() {
        return;
    }
    let populations = || stage.populations.iter();
    let clients = populations().map(|part| part.clients);
    assert_eq!(clients.sum::<u32>(), stage.clients);
    for kind in OpKind::ALL {
        let counts = populations().map(|part| part.ops.window(kind).count());
        assert_eq!(counts.sum::<u64>(), stage.ops.window(kind).count());
    }
}

#[test]
fn hosts_have_their_parts_of_each_stage_and_population() {
    let server = server();
    let read = profile::load("read-4k").unwrap();
    let mut plan = plan_of(&read, &stages("1s:12,1s:12,1s:3"), &server);
    let office = plan.only_mut();
    office.name = Some("office".to_owned());
    (office.share, office.clients) = (Some(75.0), vec![9]);
    let editors = Population {
        name: Some("editors".to_owned()),
        share: Some(25.0),
        clients: vec![3],
        ..office.clone()
    };
    plan.work.populations.push(editors);
    // The first host says where the line begins.
    let mut theirs = plan.clone();
    theirs.work.stages.as_mut().unwrap().begin = 12.0;
    let all = measured(&plan, &theirs);
    let clients = |of: fn(&LoadPointRecord) -> Vec<u32>| -> Vec<Vec<u32>> {
        all.stages.iter().map(of).collect()
    };
    let of_hosts = clients(|stage| stage.hosts.iter().map(|host| host.clients).collect());
    assert_eq!(of_hosts, [[4, 4, 4], [4, 4, 4], [2, 1, 0]]);
    let of_each = clients(|stage| stage.populations.iter().map(|one| one.clients).collect());
    assert_eq!(of_each, [[9, 3], [9, 3], [2, 1]]);
    for part in &all.parts {
        assert_eq!((part[0].place.from, part[2].place.from), (0.0, 12.0));
    }
}

/// Arrivals of a line are exact, also if the server is slow: the area below it, per stage.
#[test]
fn the_rate_of_all_hosts_follows_its_line() {
    let server = server();
    let read = profile::load("read-4k").unwrap();
    let mut options = stages("1s:1000/s,1s:1000/s,1s:0/s");
    options.work.clients = Some("6".parse().unwrap());
    let plan = plan_of(&read, &options, &server);
    let all = measured(&plan, &plan);
    for (at, expected) in [500.0, 1000.0, 500.0].into_iter().enumerate() {
        let due = all.stages[at].punctuality.due as f64;
        assert!((due - expected).abs() <= expected * 0.005, "{at}: {due}");
        for part in &all.parts {
            let due = part[at].punctuality.due as f64;
            // Each of the two clients may have one more or less.
            assert!((due - expected / 3.0).abs() <= 2.0, "{at}: {due}");
        }
    }
}

#[test]
fn frames_of_all_hosts_are_those_of_their_stages() {
    let server = server();
    let stream = Profile::parse("here", "stream = { frame = \"4KiB\", fps = 40 }").unwrap();
    let plan = plan_of(&stream, &stages("0s:6,1s:6,0s:3,1s:3"), &server);
    let all = measured(&plan, &plan);
    for (at, streams) in [6_u32, 3].into_iter().enumerate() {
        let frames = |of: u64, streams: u32| {
            let expected = f64::from(streams) * 40.0;
            let differs = (of as f64 - expected).abs();
            assert!(differs <= f64::from(streams), "{at}: {of} frames");
        };
        let stage = all.stages[at].punctuality;
        assert_eq!(stage.frames.frames, stage.due);
        frames(stage.due, streams);
        for part in &all.parts {
            frames(part[at].punctuality.frames.frames, streams / HOSTS);
        }
    }
}

#[test]
fn rows_of_a_soak_have_the_churn_of_all_hosts() {
    let server = server();
    let mut options = staged(WorkSpec {
        clients: Some("6".parse().unwrap()),
        soak: Some(Duration::from_secs(3)),
        ..WorkSpec::default()
    });
    // Each client leaves twice in a row.
    options.sessions.churn = Some("200%/s".parse().unwrap());
    options.sessions.vanish = Some("100%".parse().unwrap());
    let plan = plan_of(&profile::load("read-4k").unwrap(), &options, &server);
    let all = measured(&plan, &plan);
    assert_eq!(all.stages.len(), 3);
    let (mut of_all, mut of_others) = (ChurnRecord::default(), vec![0; all.parts.len()]);
    for (at, row) in all.stages.iter().enumerate() {
        assert_eq!(row.clients, 6);
        let churn = row.ops.churn().cloned().unwrap_or_default();
        assert_eq!(churn.log_on.get().len(), churn.back);
        of_all.left += churn.left;
        of_all.back += churn.back;
        assert_eq!(churn.away_at_end(), of_all.left - of_all.back, "{at}");
        of_all.silent += churn.silent;
        of_all.silent_ended += churn.silent_ended;
        assert_eq!(churn.silent_at_end(), of_all.silent_at_end(), "{at}");
        let lefts = all.parts.iter().map(|part| part[at].ops.churn());
        let lefts = lefts.map(|churn| churn.map_or(0, |churn| churn.left));
        for (sum, left) in of_others.iter_mut().zip(lefts) {
            *sum += left;
        }
    }
    assert!(of_all.back <= of_all.left && of_all.left <= 6 * 7);
    assert!(of_all.silent > 0);
    assert!(of_others.iter().all(|left| *left > 0), "{of_others:?}");
    assert!(of_all.left > of_others.iter().sum::<u64>());
}

#[test]
fn a_host_that_is_lost_leaves_the_stages_before_that_whole() {
    let server = server();
    let read = profile::load("read-4k").unwrap();
    let mut options = stages("1s:6,60s:6");
    options.work.clients = Some("6".parse().unwrap());
    let plan = plan_of(&read, &options, &server);
    let (first, others) = start(HOSTS, std::slice::from_ref(&plan));
    let trouble = Arc::clone(&others.troubles[2]);
    let mut rows = Rows {
        seen: Vec::new(),
        at_first: || trouble.cut.store(true, Ordering::Relaxed),
    };
    let mut course = PlannedCourse::of(&plan);
    let cancel = Cancel::default();
    let record = run_observed(&first, &plan, &mut course, &mut rows, &cancel).unwrap();
    drop(first);
    let lost = "host node2 is lost: no message from it for 5 s";
    assert_eq!(record.outcome, Outcome::Aborted(lost.to_owned()));
    let [before, after] = &record.load_points[..] else {
        panic!("there are two stages: {:?}", record.load_points.len());
    };
    assert_eq!((before.dropouts.len(), before.hosts.len()), (0, 3));
    // On a busy machine, windows of a second may be too far apart.
    let reason = before.invalid.as_deref().unwrap_or_default();
    assert!(!reason.contains("is lost"), "{reason}");
    assert!(after.invalid.is_some());
    let clients: Vec<_> = after.dropouts.iter().map(|one| one.client).collect();
    assert_eq!(clients, [2, 5]);
    for one in &after.dropouts {
        assert_eq!(one.reason, lost);
        assert!(one.after_s.is_some_and(|after_s| after_s >= 1.0), "{one:?}");
    }
    let ends = others.join().into_iter().map(|(ended, _)| ended.is_ok());
    assert_eq!(ends.collect::<Vec<_>>(), [true, false]);
}
