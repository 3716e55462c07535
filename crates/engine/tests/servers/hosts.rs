//! One run on several hosts. They do exactly what one host would, and a host that is lost
//! ends the run with its name.

mod mesh;
mod searched;
mod staged;
mod trees;

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::{Duration, Instant};

use smbench_engine::Cancel;
use smbench_engine::run::{Unobserved, execute};
use smbench_formats::loadfile::{self, Unknown};
use smbench_formats::profile;
use smbench_lab::{EmbeddedOptions, EmbeddedServer, MemoryShare, ServicePace};
use smbench_model::kind::OpKind;
use smbench_model::limits::Limits;
use smbench_model::plan::Plan;
use smbench_model::profile::Profile;
use smbench_model::record::{LoadPointRecord, OpTotals, Outcome, RunRecord};
use smbench_model::secret::Secret;
use smbench_model::spec::{GeneratorSpec, RunOptions, SessionsSpec, Spec, WorkSpec};
use smbench_model::work::Population;

use crate::support::{assert_undisturbed, target};
use mesh::{run_first, start};

/// Limit for a run to begin on a busy machine.
const LOAD_LIMIT: Duration = Duration::from_secs(60);

/// A client's work with a beginning and an end, a status that is no success included.
const LOADFILE: &str = "\
NTCreateX \"\\clients\\client1\\a\" 0x40 2 1 NT_STATUS_OK
WriteX 1 0 4096 4096 NT_STATUS_OK
WriteX 1 4096 8192 8192 NT_STATUS_OK
ReadX 1 0 4096 4096 NT_STATUS_OK
Flush 1 NT_STATUS_OK
QUERY_FILE_INFORMATION 1 1005 NT_STATUS_OK
Close 1 NT_STATUS_OK
QUERY_PATH_INFORMATION \"\\clients\\client1\\none\" 1004 NT_STATUS_OBJECT_NAME_NOT_FOUND
Unlink \"\\clients\\client1\\a\" 0x16 NT_STATUS_OK
";

fn server() -> EmbeddedServer {
    EmbeddedServer::start(EmbeddedOptions::default()).unwrap()
}

fn plan_of(profile: &Profile, options: &RunOptions, server: &EmbeddedServer) -> Plan {
    let target = target(&server.url(), server.password());
    Plan::resolve(profile, options, target, Limits::default(), 2).unwrap()
}

fn replay() -> Profile {
    let trace = loadfile::parse("my.txt", LOADFILE.as_bytes(), Unknown::Refuse).unwrap();
    Profile {
        recording: Some(Arc::new(trace.into())),
        ..Profile::from_spec("my", Spec::default())
    }
}

/// Waits until clients of a run read, so that what follows hits a load point.
fn until_under_load(server: &MemoryShare) {
    let deadline = Instant::now() + LOAD_LIMIT;
    while server.counts().reads == 0 {
        assert!(Instant::now() < deadline, "no client reads");
        thread::sleep(Duration::from_millis(5));
    }
}

/// Returns the options of a run with these clients and this window, in seconds.
fn window(clients: &str, seconds: u64) -> RunOptions {
    RunOptions {
        work: WorkSpec {
            clients: Some(clients.parse().unwrap()),
            duration: Some(Duration::from_secs(seconds)),
            ramp_up: Some(Duration::from_millis(200)),
            ramp_down: Some(Duration::from_millis(100)),
            ..WorkSpec::default()
        },
        generator: GeneratorSpec {
            threads: Some(1),
            ..GeneratorSpec::default()
        },
        ..RunOptions::default()
    }
}

fn whole(point: &LoadPointRecord) -> Vec<(OpKind, OpTotals)> {
    let of_kind = |kind| (kind, point.ops.whole(kind));
    let all = OpKind::ALL.into_iter().map(of_kind);
    all.filter(|(_, totals)| *totals != OpTotals::default())
        .collect()
}

fn only_point(record: &RunRecord) -> &LoadPointRecord {
    assert_eq!(record.outcome, Outcome::Complete);
    assert_eq!(record.leftover, None);
    &record.load_points[0]
}

/// Each host has a part of each population, and all parts are in its numbers.
#[test]
fn populations_are_divided_among_hosts() {
    let server = server();
    let mut plan = plan_of(
        &profile::load("file-server").unwrap(),
        &window("4", 1),
        &server,
    );
    let office = plan.only_mut();
    office.name = Some("office".to_owned());
    let backup = Population {
        name: Some("backup".to_owned()),
        clients: vec![4],
        ..office.clone()
    };
    plan.work.populations.push(backup);
    let (first, others) = start(3, std::slice::from_ref(&plan));
    let together = run_first(&first, &plan, &Cancel::default()).unwrap();
    drop(first);
    for (ended, _) in others.join() {
        ended.unwrap();
    }
    let point = only_point(&together);
    let carried: Vec<_> = point.hosts.iter().map(|host| host.clients).collect();
    assert_eq!((point.clients, &carried[..]), (8, &[4, 2, 2][..]));
    let parts: Vec<_> = point
        .populations
        .iter()
        .map(|part| (&part.name[..], part.clients))
        .collect();
    assert_eq!(parts, [("office", 4), ("backup", 4)]);
    for (kind, all) in whole(point) {
        let parts = point.populations.iter().map(|part| part.ops.whole(kind));
        let sums = parts.fold((0, 0), |(count, bytes), part| {
            (count + part.count, bytes + part.bytes)
        });
        assert_eq!((all.count, all.bytes), sums, "{kind:?}");
    }
    for (at, interval) in point.series.all.iter().enumerate() {
        let parts = point
            .populations
            .iter()
            .filter_map(|part| part.series.all.get(at));
        assert_eq!(interval.count, parts.map(|part| part.count).sum::<u64>());
    }
    let served = point.populations.iter().map(|part| part.clients_served);
    assert_eq!(point.clients_served, served.sum::<u32>());
    let operations: u64 = point.hosts.iter().map(|host| host.operations).sum();
    assert_eq!(operations, point.ops.window_all().count());
    for part in &point.populations {
        assert!(part.ops.carried_out() > 0, "{}", part.name);
    }
}

#[test]
fn three_hosts_do_exactly_what_one_does() {
    let server = server();
    let options = RunOptions {
        work: WorkSpec {
            clients: Some("60".parse().unwrap()),
            loops: Some(1),
            ..WorkSpec::default()
        },
        sessions: SessionsSpec {
            sessions_per_connection: Some(4),
            ..SessionsSpec::default()
        },
        ..RunOptions::default()
    };
    let plan = plan_of(&replay(), &options, &server);
    let alone = execute(&plan, &mut Unobserved, &Cancel::default()).unwrap();
    let (first, others) = start(3, std::slice::from_ref(&plan));
    let together = run_first(&first, &plan, &Cancel::default()).unwrap();
    drop(first);
    let parts = others.join();
    let (one, three) = (only_point(&alone), only_point(&together));
    assert_eq!((one.invalid.clone(), three.invalid.clone()), (None, None));
    assert_eq!(whole(one), whole(three));
    assert_eq!(whole(three)[0].1.count, 60);
    assert_eq!(one.ops.failures(), three.ops.failures());
    assert_eq!(one.ops.differences(), three.ops.differences());
    assert_eq!((three.clients, three.clients_served), (60, 60));
    assert_eq!(three.setup.session.len(), 60);
    let carried: Vec<_> = three.hosts.iter().map(|host| host.clients).collect();
    assert_eq!(carried, [20, 20, 20]);
    let operations: u64 = three.hosts.iter().map(|host| host.operations).sum();
    assert_eq!(operations, three.ops.window_all().count());
    assert_eq!(three.hosts[1].operations, three.hosts[2].operations);
    for (ended, records) in parts {
        ended.unwrap();
        assert_eq!(whole(&records[0].load_points[0])[0].1.count, 20);
    }
}

#[test]
fn operations_of_hosts_are_merged_to_the_last_one() {
    let server = server();
    let plan = plan_of(
        &profile::load("file-server").unwrap(),
        &window("1,7", 2),
        &server,
    );
    let (first, others) = start(3, std::slice::from_ref(&plan));
    let together = run_first(&first, &plan, &Cancel::default()).unwrap();
    drop(first);
    let parts: Vec<_> = others
        .join()
        .into_iter()
        .map(|(_, records)| records)
        .collect();
    assert_eq!(together.load_points.len(), 2);
    // At the first load point only the first host has a client.
    assert!(together.load_points[0].hosts.is_empty());
    assert_eq!(parts[0][0].load_points.len(), 1);
    let point = &together.load_points[1];
    assert_undisturbed(point);
    let names: Vec<_> = point.hosts.iter().map(|host| &host.name[..]).collect();
    assert_eq!(names, ["node0", "node1", "node2"]);
    for (host, records) in point.hosts[1..].iter().zip(&parts) {
        let part = &records[0].load_points[0];
        assert_eq!(host.operations, part.ops.window_all().count());
        assert!(host.operations > 0 && host.clock.is_some());
        let clock = host.clock.unwrap();
        // Both clocks are the same one.
        assert!(clock.offset.unsigned_abs() <= clock.bound.0, "{clock:?}");
    }
    // Every second is complete, and is the sum of all hosts.
    let in_series: u64 = point.series.all.iter().map(|second| second.count).sum();
    assert_eq!(in_series, point.ops.window_all().count());
    assert_eq!(point.series.all.len(), 2);
}

#[test]
fn a_host_that_is_cut_off_ends_the_run_with_its_name() {
    let server = server();
    let plan = plan_of(
        &profile::load("read-4k").unwrap(),
        &window("6,12", 30),
        &server,
    );
    let (first, others) = start(3, std::slice::from_ref(&plan));
    let trouble = Arc::clone(&others.troubles[2]);
    let memory = server.memory().clone();
    let cutter = thread::spawn(move || {
        until_under_load(&memory);
        thread::sleep(Duration::from_secs(2));
        trouble.cut.store(true, Ordering::Relaxed);
    });
    let began = Instant::now();
    let record = run_first(&first, &plan, &Cancel::default()).unwrap();
    assert!(
        began.elapsed() < Duration::from_secs(30),
        "the window was not waited for"
    );
    drop(first);
    cutter.join().unwrap();
    let lost = "host node2 is lost: no message from it for 5 s";
    assert_eq!(record.outcome, Outcome::Aborted(lost.to_owned()));
    assert_eq!(record.leftover, None);
    assert_eq!(record.load_points.len(), 1);
    let point = &record.load_points[0];
    assert_eq!(point.invalid.as_deref(), Some(lost));
    assert!(point.ops.window_all().count() > 0);
    let ends: Vec<_> = others
        .join()
        .into_iter()
        .map(|(ended, _)| ended.is_ok())
        .collect();
    assert_eq!(ends, [true, false], "the lost host notices it, too");
}

#[test]
fn a_host_that_stood_still_makes_the_load_point_invalid() {
    let server = server();
    let plan = plan_of(&profile::load("read-4k").unwrap(), &window("3", 5), &server);
    let (first, others) = start(2, std::slice::from_ref(&plan));
    let trouble = Arc::clone(&others.troubles[1]);
    let memory = server.memory().clone();
    let holder = thread::spawn(move || {
        until_under_load(&memory);
        thread::sleep(Duration::from_secs(1));
        trouble.held.store(true, Ordering::Relaxed);
        thread::sleep(Duration::from_secs(2));
        trouble.held.store(false, Ordering::Relaxed);
    });
    let record = run_first(&first, &plan, &Cancel::default()).unwrap();
    drop(first);
    holder.join().unwrap();
    let reason = only_point(&record).invalid.clone().unwrap();
    assert!(
        reason.starts_with("host node1 stood still for "),
        "{reason}"
    );
    assert!(others.join()[0].0.is_ok());
}

#[test]
fn a_host_with_another_plan_is_named_before_anything_is_measured() {
    let server = server();
    let profile = profile::load("read-4k").unwrap();
    let plan = plan_of(&profile, &window("4", 1), &server);
    let other = plan_of(&profile, &window("4", 2), &server);
    let (first, others) = start(2, &[other]);
    let error = run_first(&first, &plan, &Cancel::default()).unwrap_err();
    let message = error.to_string();
    let expected = "host node1 cannot take part: its options, profiles or files differ";
    assert!(message.starts_with(expected), "{message}");
    drop(first);
    assert!(others.join()[0].0.is_ok());
}

/// A suite does not try again what would lock the account.
#[test]
fn a_refused_log_on_of_another_host_is_reported_as_one() {
    let server = server();
    let profile = profile::load("read-4k").unwrap();
    let plan = plan_of(&profile, &window("4", 1), &server);
    let mut other = plan.clone();
    other.sessions.target.password = Secret::new("wrong");
    let (first, others) = start(2, &[other]);
    let error = run_first(&first, &plan, &Cancel::default()).unwrap_err();
    assert!(error.is_of_log_on(), "{error}");
    let message = error.to_string();
    assert!(
        message.starts_with("host node1 cannot take part: failed to log on"),
        "{message}"
    );
    drop(first);
    assert!(others.join()[0].0.is_ok());
}

/// With a slow server, actions wait for those before them. Response times have that wait, in
/// every interval of every host.
#[test]
fn actions_at_a_rate_keep_their_response_times_on_all_hosts() {
    let server = EmbeddedServer::start(EmbeddedOptions {
        pace: ServicePace::OneByOne(Duration::from_millis(5)),
        ..EmbeddedOptions::default()
    });
    let server = server.unwrap();
    let mut options = window("2", 3);
    options.work.rate = Some("400".parse().unwrap());
    let plan = plan_of(&profile::load("read-4k").unwrap(), &options, &server);
    let (first, others) = start(2, std::slice::from_ref(&plan));
    let together = run_first(&first, &plan, &Cancel::default()).unwrap();
    drop(first);
    assert!(others.join()[0].0.is_ok());
    let point = &together.load_points[0];
    let read = point.ops.window(OpKind::Read);
    // Twice the possible rate: after a second half a second is waited for.
    assert!(read.latency().mean() > 10.0 * read.service.mean());
    for second in &point.series.all {
        let service = read.service.max();
        assert!(
            second.p50 > service,
            "{second:?}, longest service time {service} ns"
        );
    }
}

#[test]
fn a_host_that_is_interrupted_alone_makes_the_load_point_invalid() {
    let server = server();
    let plan = plan_of(&profile::load("read-4k").unwrap(), &window("4", 4), &server);
    let (first, others) = start(2, std::slice::from_ref(&plan));
    let cancel = others.cancels[0].clone();
    let memory = server.memory().clone();
    let user = thread::spawn(move || {
        until_under_load(&memory);
        thread::sleep(Duration::from_secs(1));
        cancel.cancel();
    });
    let record = run_first(&first, &plan, &Cancel::default()).unwrap();
    drop(first);
    user.join().unwrap();
    assert_eq!(
        record.load_points[0].invalid.as_deref(),
        Some("host node1: interrupted")
    );
    others.join();
}

#[test]
fn a_cancel_at_any_time_ends_the_run_on_all_hosts() {
    let server = server();
    let plan = plan_of(
        &profile::load("read-4k").unwrap(),
        &window("40", 20),
        &server,
    );
    for after in [0, 20, 60, 120, 250, 500, 900] {
        let (first, others) = start(3, std::slice::from_ref(&plan));
        let cancel = Cancel::default();
        let asked = cancel.clone();
        let user = thread::spawn(move || {
            thread::sleep(Duration::from_millis(after));
            asked.cancel();
        });
        let began = Instant::now();
        let record = run_first(&first, &plan, &cancel);
        assert!(
            began.elapsed() < Duration::from_secs(15),
            "after {after} ms"
        );
        assert_eq!(first.lost(), None, "after {after} ms");
        if let Ok(record) = record {
            assert_eq!(record.outcome, Outcome::Interrupted, "after {after} ms");
            assert_eq!(record.leftover, None);
        }
        drop(first);
        user.join().unwrap();
        for (ended, _) in others.join() {
            ended.unwrap();
        }
    }
}
