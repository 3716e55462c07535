//! Load models with servers that answer late. Every operation due by the clock is
//! counted, and its latency starts at its due instant.

mod counted;
mod delays;
mod ends;
mod unanswered;

use std::net::SocketAddr;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use smbench_engine::Cancel;
use smbench_engine::run::{Unobserved, execute};
use smbench_formats::loadfile;
use smbench_formats::loadfile::Unknown;
use smbench_lab::{EmbeddedOptions, EmbeddedServer};
use smbench_model::Nanos;
use smbench_model::kind::OpKind;
use smbench_model::limits::Limits;
use smbench_model::load::{Ramp, Spacing};
use smbench_model::plan::Plan;
use smbench_model::profile::Profile;
use smbench_model::record::{LoadPointRecord, Outcome};
use smbench_model::spec::{GeneratorSpec, WorkSpec};
use smbench_model::spec::{RunOptions, Spec};
use smbench_model::workload::Timing;
use smbench_protocol::header::Command;

use crate::hostile::relay::{Of, Reaction, Relay, Script};
use crate::support::{assert_undisturbed, plan, short, target};

const STALL: Duration = Duration::from_secs(1);
/// Longer than any run here.
const HANG: Duration = Duration::from_secs(120);

/// Options for 4 KiB reads of one client.
fn options() -> RunOptions {
    RunOptions {
        work: WorkSpec {
            clients: Some("1".parse().unwrap()),
            file_size: Some("64KiB".parse().unwrap()),
            duration: Some(Duration::from_millis(300)),
            ..short().work
        },
        ..short()
    }
}

fn only_point(plan: &Plan) -> LoadPointRecord {
    let record = execute(plan, &mut Unobserved, &Cancel::default()).unwrap();
    assert_eq!(record.outcome, Outcome::Complete);
    let mut points = record.load_points;
    assert_eq!(points.len(), 1);
    let point = points.remove(0);
    assert_undisturbed(&point);
    point
}

fn run(server: &EmbeddedServer, options: &RunOptions) -> LoadPointRecord {
    let target = target(&server.url(), server.password());
    only_point(&plan("read-4k", options, target))
}

/// Runs these options with a script between the client and its READs.
fn relayed(script: Script, options: &RunOptions) -> (LoadPointRecord, Vec<Duration>) {
    relayed_by(Relay::start, script, options)
}

/// Runs these options with a relay that `start` starts.
fn relayed_by(
    start: fn(SocketAddr, Of, Script) -> Relay,
    script: Script,
    options: &RunOptions,
) -> (LoadPointRecord, Vec<Duration>) {
    let server = EmbeddedServer::start(EmbeddedOptions::default()).unwrap();
    let relay = start(server.address(), Of::Command(Command::Read), script);
    let mut target = target(&server.url(), server.password());
    target.port = relay.port();
    let point = only_point(&plan("read-4k", options, target));
    (point, relay.held())
}

/// Two hundred reads are due while the server stalls, but only one is in flight.
/// Only a latency that counts from the due instant shows the others ("coordinated
/// omission", Gil Tene).
#[test]
fn a_stall_shows_in_response_times_and_hides_in_service_times() {
    let options = RunOptions {
        work: WorkSpec {
            rate: Some("200".parse().unwrap()),
            duration: Some(Duration::from_secs(5)),
            ..options().work
        },
        ..options()
    };
    let script: Script = |answer| match answer.nth {
        // Early, so that a slow machine reaches it in the window.
        60 => Reaction::send(&answer.message).after(STALL),
        _ => Reaction::send(&answer.message),
    };
    let (point, _) = relayed(script, &options);
    let reads = point.ops.window(OpKind::Read);
    let stalled = STALL.as_nanos() as u64;
    let corrected = reads.latency().value_at_quantile(0.995);
    let uncorrected = reads.service.value_at_quantile(0.995);
    assert!(corrected >= stalled * 9 / 10, "{corrected}");
    assert!(uncorrected < stalled / 2, "{uncorrected}");
    // The read in flight is in both.
    assert!(reads.service.max() >= stalled);
    // Every operation due in the window is counted, sent or not.
    let kept = point.punctuality;
    assert_eq!(kept.due, 1000, "{kept:?}");
    assert!(
        kept.late >= 180 && kept.late + kept.dropped <= kept.due,
        "{kept:?}"
    );
    assert!(kept.delay_max.0 >= stalled * 9 / 10, "{kept:?}");
}

/// Operations due in a window that closes during a stall are missing in its
/// latencies, so they are counted separately.
#[test]
fn what_is_unanswered_when_the_window_closes_is_counted() {
    let options = RunOptions {
        work: WorkSpec {
            rate: Some("1000".parse().unwrap()),
            duration: Some(Duration::from_secs(1)),
            ..options().work
        },
        ..options()
    };
    let script: Script = |answer| match answer.nth {
        500 => Reaction::send(&answer.message).after(STALL),
        _ => Reaction::send(&answer.message),
    };
    let (point, _) = relayed(script, &options);
    let kept = point.punctuality;
    assert_eq!(kept.due, 1000, "{kept:?}");
    assert!(kept.unanswered > 300, "{kept:?}");
    assert!(kept.unanswered >= kept.dropped, "{kept:?}");
    assert!(kept.unanswered_max > Nanos::from(STALL / 2), "{kept:?}");
    // The answer that the server holds back comes after the window.
    assert!(kept.in_flight_max >= Nanos::from(STALL), "{kept:?}");
    assert!(kept.answered <= 500, "{kept:?}");
    assert!(kept.answered + kept.unanswered >= kept.due, "{kept:?}");
}

/// A closed loop counts them as well, from the instant of sending. Answered
/// operations are not counted.
#[test]
fn what_is_under_way_when_a_closed_loop_ends_is_counted() {
    let options = RunOptions {
        work: WorkSpec {
            ramp_up: Some(Duration::ZERO),
            duration: Some(STALL / 2),
            ..options().work
        },
        ..options()
    };
    let stalled: Script = |answer| match answer.nth {
        20 => Reaction::send(&answer.message).after(STALL),
        _ => Reaction::send(&answer.message),
    };
    let (point, _) = relayed(stalled, &options);
    let kept = point.punctuality;
    let counts = (kept.due, kept.answered, kept.unanswered);
    assert_eq!(counts, (0, 0, 1), "{kept:?}");
    assert!(kept.unanswered_max >= Nanos::from(STALL), "{kept:?}");
    assert!(kept.in_flight_max >= Nanos::from(STALL), "{kept:?}");
    let (point, _) = relayed(|answer| Reaction::send(&answer.message), &options);
    let kept = point.punctuality;
    assert!(kept.unanswered <= 1, "{kept:?}");
    assert!(kept.unanswered_max < Nanos::from(STALL), "{kept:?}");
    assert!(kept.in_flight_max < Nanos::from(STALL), "{kept:?}");
}

/// A replay with recorded instants counts the operations that a slow server left no
/// time for, although a replay never skips operations.
#[test]
fn what_was_recorded_and_never_sent_is_counted() {
    const HELD: Duration = Duration::from_millis(20);
    let server = EmbeddedServer::start(EmbeddedOptions::default()).unwrap();
    let script: Script = |answer| Reaction::send(&answer.message).after(HELD);
    let relay = Relay::start(server.address(), Of::Command(Command::Write), script);
    let mut target = target(&server.url(), server.password());
    target.port = relay.port();
    // One record per millisecond, for twice the length of the window.
    let mut loadfile = "5.000 NTCreateX \"\\a\" 0x40 0x2 1 NT_STATUS_OK\n".to_owned();
    for ms in 1..1000 {
        loadfile += &format!("5.{ms:03} WriteX 1 0 512 512 NT_STATUS_OK\n");
    }
    let trace = loadfile::parse("my.txt", loadfile.as_bytes(), Unknown::Refuse).unwrap();
    let profile = Profile {
        recording: Some(Arc::new(trace.into())),
        ..Profile::from_spec("my", Spec::default())
    };
    let options = RunOptions {
        work: WorkSpec {
            clients: Some("1".parse().unwrap()),
            timing: Some(Timing::Recorded),
            duration: Some(Duration::from_millis(500)),
            ramp_up: Some(Duration::ZERO),
            ..short().work
        },
        ..short()
    };
    let plan = Plan::resolve(&profile, &options, target, Limits::default(), 2).unwrap();
    let point = only_point(&plan);
    let kept = point.punctuality;
    assert_eq!(kept.due, 500, "{kept:?}");
    let [created, written] =
        [OpKind::Create, OpKind::Write].map(|kind| point.ops.window(kind).count());
    assert!(created == 1 && written <= 500 / 20, "{created} {written}");
    // At the end of the window some operations are sent but not answered.
    assert!(kept.dropped + created + written >= 500 - 4, "{kept:?}");
    assert!(kept.unanswered >= kept.dropped, "{kept:?}");
    assert!(
        kept.unanswered_max > Nanos::from(Duration::from_millis(300)),
        "{kept:?}"
    );
}

/// A run that is cancelled while an answer is outstanding continues to wait for it.
/// Operations due after the cancel do not count, because the window is over.
#[test]
fn nothing_is_due_in_a_window_that_was_cancelled() {
    const RATE: f64 = 1000.0;
    let options = RunOptions {
        work: WorkSpec {
            rate: Some("1000".parse().unwrap()),
            duration: Some(HANG),
            ..options().work
        },
        ..options()
    };
    let script: Script = |answer| match answer.nth {
        500 => Reaction::send(&answer.message).after(STALL),
        _ => Reaction::send(&answer.message),
    };
    let server = EmbeddedServer::start(EmbeddedOptions::default()).unwrap();
    let relay = Relay::start(server.address(), Of::Command(Command::Read), script);
    let mut target = target(&server.url(), server.password());
    target.port = relay.port();
    let plan = plan("read-4k", &options, target);
    let cancel = Cancel::default();
    let record = thread::scope(|scope| {
        let running = scope.spawn(|| execute(&plan, &mut Unobserved, &cancel));
        while relay.seen() <= 500 && !running.is_finished() {
            thread::sleep(Duration::from_millis(1));
        }
        cancel.cancel();
        running.join().unwrap().unwrap()
    });
    assert_eq!(record.outcome, Outcome::Interrupted);
    let point = &record.load_points[0];
    let in_window = point.window.as_secs_f64() * RATE;
    let due = point.punctuality.due as f64;
    let in_stall = STALL.as_secs_f64() * RATE;
    assert!(
        (due - in_window).abs() < in_stall / 2.0,
        "{due} {in_window}"
    );
}

/// Operations that the server has no time for are discarded and counted.
#[test]
fn load_beyond_the_server_is_late_or_dropped_but_never_forgotten() {
    let options = RunOptions {
        work: WorkSpec {
            rate: Some("500/client".parse().unwrap()),
            clients: Some("2".parse().unwrap()),
            ramp_down: Some(Duration::ZERO),
            ..options().work
        },
        ..options()
    };
    let script: Script = |answer| Reaction::send(&answer.message).after(Duration::from_millis(20));
    let (point, _) = relayed(script, &options);
    let kept = point.punctuality;
    assert_eq!(kept.due, 300, "{kept:?}");
    // Each client can have received at most 15 answers.
    assert!(kept.dropped >= 300 - 2 * 16 - 2 * 3, "{kept:?}");
    assert!(kept.answered <= 2 * 16, "{kept:?}");
    assert_eq!(kept.answered, point.ops.window(OpKind::Read).count());
}

/// Arrivals are drawn for each client, not for each thread.
#[test]
fn threads_do_not_change_what_is_due() {
    let server = EmbeddedServer::start(EmbeddedOptions::default()).unwrap();
    for arrivals in [Spacing::Fixed, Spacing::Exponential] {
        let due: Vec<_> = [1, 2, 7]
            .into_iter()
            .map(|threads| {
                let options = RunOptions {
                    work: WorkSpec {
                        rate: Some("3000".parse().unwrap()),
                        arrivals: Some(arrivals),
                        clients: Some("7".parse().unwrap()),
                        seed: Some(11),
                        ..options().work
                    },
                    generator: GeneratorSpec {
                        threads: Some(threads),
                        ..options().generator
                    },
                    ..options()
                };
                run(&server, &options).punctuality.due
            })
            .collect();
        assert!(
            due.iter().all(|&count| count == due[0] && count > 700),
            "{due:?}"
        );
    }
}

#[test]
fn clients_that_think_ask_no_more_often_than_they_say() {
    let server = EmbeddedServer::start(EmbeddedOptions::default()).unwrap();
    let options = RunOptions {
        work: WorkSpec {
            think_time: Some(Duration::from_millis(20)),
            clients: Some("3".parse().unwrap()),
            outstanding: Some(2),
            ..options().work
        },
        ..options()
    };
    let point = run(&server, &options);
    let (count, slots) = (point.ops.window(OpKind::Read).count(), 3 * 2);
    assert!(count <= slots * 16, "{count}");
    assert!(point.ops.whole(OpKind::Read).count > 0);
    assert_eq!(point.punctuality.dropped, 0);
    assert_eq!(point.punctuality.answered, count);
    // Random think times have the same mean, but are sometimes short.
    let exponential = RunOptions {
        work: WorkSpec {
            think_distribution: Some(Spacing::Exponential),
            ..options.work
        },
        ..options
    };
    assert!(run(&server, &exponential).ops.whole(OpKind::Read).count > 0);
}

#[test]
fn clients_join_one_by_one_in_closed_loops_and_at_rates() {
    let server = EmbeddedServer::start(EmbeddedOptions::default()).unwrap();
    for rate in [None, Some("2000")] {
        let options = RunOptions {
            work: WorkSpec {
                rate: rate.map(|rate| rate.parse().unwrap()),
                ramp: Some(Ramp::Linear),
                ramp_up: Some(Duration::from_millis(200)),
                clients: Some("5".parse().unwrap()),
                ..options().work
            },
            ..options()
        };
        let point = run(&server, &options);
        assert!(point.ops.whole(OpKind::Read).count > 0);
        let due = if rate.is_some() { 600 } else { 0 };
        assert_eq!(point.punctuality.due, due);
    }
}
