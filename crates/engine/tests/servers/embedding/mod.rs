//! Drivers and streams from outside, and what a run owes to its seed alone.

use std::collections::BTreeMap;
use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::thread;
use std::time::Duration;

use smbench_engine::clock::Nanos;
use smbench_engine::driver::{
    Answer, Busy, Call, Connector, Driver, Dropped, Extent, NtStatus, Null, NullDriver, Opened,
    Scratch, Sink,
};
use smbench_engine::loopback::{self, Loopback};
use smbench_engine::pattern::{self, Stamp};
use smbench_engine::plan::{Limits, Plan, Spacing};
use smbench_engine::profile::{self, Profile};
use smbench_engine::record::{OpKind, Origin, Outcome, RunRecord, ServerFacts};
use smbench_engine::run::{RunError, Unobserved, execute_on, execute_streams};
use smbench_engine::spec::RunOptions;
use smbench_engine::stream::{Drawn, Mix, Operation, Streams};
use smbench_engine::target::Target;
use smbench_engine::{Cancel, SessionError};
use smbench_lab::{EmbeddedOptions, EmbeddedServer};

use crate::support::{short, target};

/// What each client was seen to do, in order.
type Seen = Arc<Mutex<BTreeMap<u32, Vec<Operation>>>>;
/// The first bytes that each client wrote.
type Written = Arc<Mutex<BTreeMap<u32, Vec<u8>>>>;

/// The null target, which writes down what is asked of it.
#[derive(Clone, Default)]
struct Recording {
    seen: Seen,
    written: Written,
}

struct Recorded {
    clients: Box<[u32]>,
    of_run: Recording,
    null: NullDriver,
}

/// More than is compared is not kept.
const KEPT: usize = 5_000;

impl Connector for Recording {
    type Driver = Recorded;

    async fn open(&self, clients: &[u32]) -> Result<Opened<Recorded>, SessionError> {
        let opened = Null.open(clients).await?;
        let driver = Recorded {
            clients: clients.into(),
            of_run: self.clone(),
            null: opened.driver,
        };
        Ok(Opened::new(
            driver,
            opened.connections,
            opened.session_setup,
        ))
    }
}

impl Driver for Recorded {
    fn submit(
        &mut self,
        call: &Call,
        scratch: &mut Scratch,
        data: impl FnOnce(&mut Vec<u8>),
    ) -> Result<(), Busy> {
        let client = self.clients[call.member];
        let mut seen = self.of_run.seen.lock().unwrap();
        let of_client = seen.entry(client).or_default();
        if of_client.len() < KEPT {
            of_client.push(call.operation);
        }
        if call.operation.kind == OpKind::Write {
            let mut written = self.of_run.written.lock().unwrap();
            written.entry(client).or_insert_with(|| {
                let mut first = Vec::new();
                data(&mut first);
                first
            });
        }
        self.null.submit(call, scratch, |_| {})
    }

    fn poll_receive(
        &mut self,
        context: &mut Context<'_>,
        scratch: &mut Scratch,
    ) -> Poll<Result<usize, Dropped>> {
        self.null.poll_receive(context, scratch)
    }

    fn take_answers(
        &mut self,
        received: usize,
        now: Nanos,
        scratch: &mut Scratch,
        sink: &mut impl Sink,
    ) -> Result<(), Dropped> {
        self.null.take_answers(received, now, scratch, sink)
    }
}

fn plan(profile: &str, options: RunOptions) -> Plan {
    let mut profile = profile::load(profile).unwrap();
    profile.spec.run = options;
    Plan::of(&profile, Target::none()).unwrap()
}

fn run(plan: &Plan, connector: impl Connector, streams: impl Streams) -> RunRecord {
    let server = ServerFacts::other("null://here");
    let cancel = Cancel::default();
    execute_on(plan, server, connector, streams, &mut Unobserved, &cancel).unwrap()
}

fn drawn(plan: &Plan) -> Drawn {
    Drawn {
        mix: Mix::new(&plan.workload),
        seed: plan.seed,
    }
}

#[test]
fn the_same_seed_gives_the_same_operations_on_any_number_of_threads() {
    // Reads, writes and flushes; every command, most in chains of several
    // requests; the same with clients that share a driver.
    // And where they are due by the clock.
    for (profile, sessions_per_connection, outstanding, rate) in [
        ("file-server", 1, 1, None),
        ("all-commands", 1, 1, None),
        ("all-commands", 3, 1, None),
        ("file-server", 2, 4, None),
        ("file-server", 1, 2, Some("1000/client")),
    ] {
        let seen_with = |threads, seed| {
            let plan = plan(
                profile,
                RunOptions {
                    clients: Some("14".parse().unwrap()),
                    threads: Some(threads),
                    seed: Some(seed),
                    outstanding: Some(outstanding),
                    sessions_per_connection: Some(sessions_per_connection),
                    rate: rate.map(|rate| rate.parse().unwrap()),
                    arrivals: rate.map(|_| Spacing::Exponential),
                    ..short()
                },
            );
            let recording = Recording::default();
            let record = run(&plan, recording.clone(), drawn(&plan));
            assert_eq!(record.outcome, Outcome::Complete);
            assert_eq!(record.load_points[0].invalid, None);
            assert_eq!(record.driver, Origin::Own);
            assert_eq!(record.operations, Origin::Plan);
            std::mem::take(&mut *recording.seen.lock().unwrap())
        };
        let alone = seen_with(1, 7);
        assert_eq!(alone.len(), 14);
        for threads in [2, 7] {
            let seen = seen_with(threads, 7);
            for (client, theirs) in &seen {
                let both = alone[client].len().min(theirs.len());
                assert!(both >= 100, "{profile}, client {client}: {both} operations");
                assert_eq!(
                    alone[client][..both],
                    theirs[..both],
                    "{profile}, {threads}"
                );
            }
            assert!(seen.keys().eq(alone.keys()));
        }
        // Not because all were alike.
        let other = seen_with(2, 8);
        assert_ne!(alone[&0][..100], other[&0][..100], "{profile}");
        assert_ne!(alone[&0][..100], alone[&1][..100], "{profile}");
    }
}

#[test]
fn what_is_written_differs_from_run_to_run_though_the_operations_do_not() {
    let options = RunOptions {
        clients: Some("2".parse().unwrap()),
        ..short()
    };
    let plan = plan("file-server", options);
    let runs = [(); 2].map(|()| {
        let recording = Recording::default();
        let record = run(&plan, recording.clone(), drawn(&plan));
        (record.salt, recording)
    });
    let [(one, ours), (other, theirs)] = &runs;
    assert_ne!(one, other);
    let first = |of_run: &Recording, client| {
        let seen = of_run.seen.lock().unwrap();
        let write = seen[&client].iter().find(|op| op.kind == OpKind::Write);
        let written = of_run.written.lock().unwrap();
        (*write.unwrap(), written[&client].clone())
    };
    for client in [0, 1] {
        let [(same, our_data), (write, their_data)] = [ours, theirs].map(|run| first(run, client));
        assert_eq!(same, write);
        let stamp = Stamp {
            client,
            file: write.file,
            generation: 1,
            run: 1,
        };
        for (data, salt) in [(&our_data, *one), (&their_data, *other)] {
            let mut expected = Vec::new();
            let length = write.length as usize;
            pattern::append(&mut expected, length, write.offset, stamp, salt);
            assert_eq!(*data, expected);
        }
        assert_ne!(our_data, their_data);
    }
}

#[test]
fn operations_of_ones_own_run_on_a_share() {
    let server = EmbeddedServer::start(EmbeddedOptions::default()).unwrap();
    let mut profile = profile::load("file-server").unwrap();
    profile.spec.run = RunOptions {
        clients: Some("3".parse().unwrap()),
        ..short()
    };
    let plan = Plan::of(&profile, target(&server.url(), server.password())).unwrap();
    let mix = Mix::new(&plan.workload);
    let write = mix.operation(OpKind::Write, 0, 0, 512).unwrap();
    let read = mix.operation(OpKind::Read, 0, 4096, 1024).unwrap();
    let streams = move |_| {
        let mut count = 0;
        move || {
            count += 1;
            if count % 3 == 0 { write } else { read }
        }
    };
    let record = execute_streams(&plan, streams, &mut Unobserved, &Cancel::default()).unwrap();
    assert_eq!(record.outcome, Outcome::Complete);
    assert_eq!(record.leftover, None);
    assert_eq!(
        (record.driver, record.operations),
        (Origin::Plan, Origin::Own)
    );
    let point = &record.load_points[0];
    assert_eq!(point.invalid, None);
    let (reads, writes) = (
        point.ops.whole(OpKind::Read),
        point.ops.whole(OpKind::Write),
    );
    assert!(writes.count > 0);
    assert_eq!(reads.bytes, 1024 * reads.count);
    assert_eq!(writes.bytes, 512 * writes.count);
    // Each client is at most one or two of three ahead.
    assert!(reads.count.abs_diff(2 * writes.count) <= 6);
}

#[test]
fn operations_beyond_the_plan_drop_their_client() {
    let plan = plan(
        "read-4k",
        RunOptions {
            clients: Some("2".parse().unwrap()),
            ..short()
        },
    );
    let read = Mix::new(&plan.workload).operation(OpKind::Read, 0, 0, 4096);
    let read = read.unwrap();
    let kind = OpKind::Write;
    for (wrong, words) in [
        (
            Operation { action: 1, ..read },
            "action 1, but the plan has 1",
        ),
        (
            Operation { kind, ..read },
            "a write for action 0, which begins with a read",
        ),
        (Operation { file: 1, ..read }, "a read of file 1 of 1"),
        (
            Operation {
                offset: 1 << 20,
                ..read
            },
            "a read of 4096 bytes at 1048576; the plan allows for 1 to 4096 bytes in files of \
             1048576, in units of 1",
        ),
        (
            Operation {
                length: 4097,
                ..read
            },
            "a read of 4097 bytes at 0; the plan allows for 1 to 4096 bytes in files of 1048576, in \
             units of 1",
        ),
    ] {
        let streams = move |client| {
            let mut count = 0;
            move || {
                count += 1;
                if client == 1 && count == 10 {
                    wrong
                } else {
                    read
                }
            }
        };
        let record = run(&plan, Null, streams);
        let point = &record.load_points[0];
        let dropouts: Vec<_> = point
            .dropouts
            .iter()
            .map(|d| (d.client, &*d.reason))
            .collect();
        let reason = format!("the stream of operations has {words}");
        assert_eq!(dropouts, [(1, &*reason)]);
        assert!(point.invalid.is_some());
    }
}

/// What is wrong with a driver.
#[derive(Clone, Copy, Debug)]
enum Wrong {
    NeverOpens,
    NeverAnswers,
    SaysNothingOverAndOver,
    AnswersTwice,
    AnswersAnySlot,
    TakesNothing,
}

#[derive(Clone)]
struct Misbehaving(Wrong);

struct Misbehaver {
    wrong: Wrong,
    slots: Vec<u32>,
}

impl Connector for Misbehaving {
    type Driver = Misbehaver;

    async fn open(&self, _: &[u32]) -> Result<Opened<Misbehaver>, SessionError> {
        if matches!(self.0, Wrong::NeverOpens) {
            std::future::pending::<()>().await;
        }
        let (wrong, slots) = (self.0, Vec::new());
        Ok(Opened::new(Misbehaver { wrong, slots }, 0, vec![Nanos(0)]))
    }
}

impl Driver for Misbehaver {
    fn submit(
        &mut self,
        call: &Call,
        _: &mut Scratch,
        _: impl FnOnce(&mut Vec<u8>),
    ) -> Result<(), Busy> {
        match self.wrong {
            Wrong::TakesNothing => return Err(Busy::Room),
            Wrong::AnswersTwice => self.slots.extend([call.slot; 2]),
            Wrong::AnswersAnySlot => self.slots.push(call.slot + 1000),
            _ => {}
        }
        Ok(())
    }

    fn poll_receive(
        &mut self,
        _: &mut Context<'_>,
        _: &mut Scratch,
    ) -> Poll<Result<usize, Dropped>> {
        match self.wrong {
            Wrong::NeverAnswers | Wrong::TakesNothing => Poll::Pending,
            _ => Poll::Ready(Ok(0)),
        }
    }

    fn take_answers(
        &mut self,
        _: usize,
        _: Nanos,
        _: &mut Scratch,
        sink: &mut impl Sink,
    ) -> Result<(), Dropped> {
        self.slots.drain(..).try_for_each(|slot| {
            sink.answer(&Answer {
                slot,
                extent: Extent::Final,
                status: NtStatus::SUCCESS,
                moved: 4096,
                data: None,
            })
        })
    }
}

#[test]
fn a_driver_that_misbehaves_costs_its_clients_and_no_more() {
    for (wrong, words) in [
        (
            Wrong::NeverOpens,
            "the connector was not ready within 200ms",
        ),
        (Wrong::NeverAnswers, "no answer to a read within 200ms"),
        (
            Wrong::TakesNothing,
            "its driver took no operation within 200ms",
        ),
        (
            Wrong::SaysNothingOverAndOver,
            "no answer to a read within 200ms",
        ),
        (
            Wrong::AnswersTwice,
            "answered slot 0, in which no call was under way",
        ),
        (
            Wrong::AnswersAnySlot,
            "answered slot 1000, in which no call was under way",
        ),
    ] {
        let mut plan = plan(
            "read-4k",
            RunOptions {
                clients: Some("1".parse().unwrap()),
                ..short()
            },
        );
        plan.limits.setup = Duration::from_millis(200);
        plan.limits.operation = Duration::from_millis(200);
        let outcome = execute_on(
            &plan,
            ServerFacts::other("wrong://here"),
            Misbehaving(wrong),
            drawn(&plan),
            &mut Unobserved,
            &Cancel::default(),
        );
        let told = match outcome {
            Err(RunError::Session(error)) => error.to_string(),
            Err(error) => panic!("{wrong:?}: {error}"),
            Ok(record) => record.load_points[0].dropouts[0].reason.clone(),
        };
        assert!(told.contains(words), "{wrong:?}: {told}");
    }
}

/// The null target with a driver that panics at its tenth call.
#[derive(Clone)]
struct Panicking;

struct Panicker {
    calls: u32,
    null: NullDriver,
}

impl Connector for Panicking {
    type Driver = Panicker;

    async fn open(&self, clients: &[u32]) -> Result<Opened<Panicker>, SessionError> {
        let opened = Null.open(clients).await?;
        let (calls, null) = (0, opened.driver);
        let driver = Panicker { calls, null };
        Ok(Opened::new(
            driver,
            opened.connections,
            opened.session_setup,
        ))
    }
}

impl Driver for Panicker {
    fn submit(
        &mut self,
        call: &Call,
        scratch: &mut Scratch,
        data: impl FnOnce(&mut Vec<u8>),
    ) -> Result<(), Busy> {
        self.calls += 1;
        assert!(self.calls < 10, "ten is too many");
        self.null.submit(call, scratch, data)
    }

    fn poll_receive(
        &mut self,
        context: &mut Context<'_>,
        scratch: &mut Scratch,
    ) -> Poll<Result<usize, Dropped>> {
        self.null.poll_receive(context, scratch)
    }

    fn take_answers(
        &mut self,
        received: usize,
        now: Nanos,
        scratch: &mut Scratch,
        sink: &mut impl Sink,
    ) -> Result<(), Dropped> {
        self.null.take_answers(received, now, scratch, sink)
    }
}

#[test]
fn a_panic_is_told_of_whose_it_is() {
    let plan = plan(
        "read-4k",
        RunOptions {
            clients: Some("2".parse().unwrap()),
            ..short()
        },
    );
    let server = || ServerFacts::other("null://here");
    let cancel = Cancel::default();
    let read = Mix::new(&plan.workload)
        .operation(OpKind::Read, 0, 0, 4096)
        .unwrap();
    let streams = move |client| {
        let mut count = 0;
        move || {
            count += 1;
            assert!(client == 0 || count < 10, "client {client} has had enough");
            read
        }
    };
    for (outcome, words) in [
        (
            execute_on(
                &plan,
                server(),
                Panicking,
                drawn(&plan),
                &mut Unobserved,
                &cancel,
            ),
            "the program's own driver panicked, which is no bug in smbench: ten is too many",
        ),
        (
            execute_on(&plan, server(), Null, streams, &mut Unobserved, &cancel),
            "the program's own stream of operations panicked, which is no bug in smbench: client 1 \
             has had enough",
        ),
    ] {
        let told = outcome.err().unwrap().to_string();
        assert!(told.ends_with(words), "{told}");
    }
}

/// A target of bare sockets moves what SMB would, small and large, both ways; an end
/// that says too much, or goes away, drops the client.
#[test]
fn bare_sockets_move_every_byte() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let server = listener.local_addr().unwrap();
    thread::spawn(move || loopback::serve(&listener));
    for (read_percent, size) in [
        (100.0, "512"),
        (100.0, "64KiB"),
        (0.0, "64KiB"),
        (50.0, "1MiB"),
    ] {
        let toml = format!(
            "read_percent = {read_percent}\n[files]\nsize = \"1MiB\"\n[[sizes]]\nsize = \"{size}\"\nweight = 100\n"
        );
        let profile = Profile::parse("loopback", &toml).unwrap();
        let options = RunOptions {
            outstanding: Some(2),
            ..short()
        };
        let plan = Plan::resolve(&profile, &options, Target::none(), Limits::default(), 2).unwrap();
        let drawn = Drawn {
            mix: Mix::new(&plan.workload),
            seed: 1,
        };
        let record = run(&plan, Loopback { server }, drawn);
        let point = &record.load_points[0];
        assert_eq!(point.invalid, None, "{size}");
        assert_eq!(point.setup.connections, u64::from(point.clients));
        for (kind, share) in [
            (OpKind::Read, read_percent),
            (OpKind::Write, 100.0 - read_percent),
        ] {
            let moved = point.ops.window(kind);
            assert_eq!(moved.count() > 0, share > 0.0, "{size} {kind:?}");
            assert_eq!(
                moved.bytes,
                moved.count() * u64::from(plan.largest_request())
            );
        }
    }
}

#[test]
fn an_end_that_says_too_much_or_goes_away_drops_the_client() {
    let plan = Plan::of(
        &Profile::from_spec("loopback", profile::load("read-4k").unwrap().spec),
        Target::none(),
    );
    let plan = Plan {
        load_points: vec![1],
        duration: Duration::from_millis(100),
        ramp_up: Duration::ZERO,
        ..plan.unwrap()
    };
    for (answer, words) in [
        (&[0; 8192][..], "more than was asked for"),
        (&[], "closed the connection"),
    ] {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let server = listener.local_addr().unwrap();
        let peer = thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let mut request = [0; 117];
            stream.read_exact(&mut request).unwrap();
            stream.write_all(answer).unwrap();
        });
        let drawn = Drawn {
            mix: Mix::new(&plan.workload),
            seed: 1,
        };
        let record = run(&plan, Loopback { server }, drawn);
        peer.join().unwrap();
        let dropouts = &record.load_points[0].dropouts;
        assert!(dropouts[0].reason.contains(words), "{dropouts:?}");
    }
}
