//! External drivers and streams, and results that depend only on the seed.

mod changed;
mod held_up;
mod misbehaving;
mod populations;
mod sockets;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::Duration;

use smbench_engine::Cancel;
use smbench_engine::driver::{
    Busy, Call, Connector, Driver, Dropped, Null, NullDriver, Opened, Scratch, Sink,
};
use smbench_engine::run::SessionError;
use smbench_engine::run::{PlannedRun, Unobserved, execute};
use smbench_formats::profile;
use smbench_lab::{EmbeddedOptions, EmbeddedServer};
use smbench_model::Nanos;
use smbench_model::contents::block::{self, Stamp};
use smbench_model::kind::OpKind;
use smbench_model::load::Spacing;
use smbench_model::operations::{Drawn, Mix, Operation, Streams};
use smbench_model::plan::Plan;
use smbench_model::profile::Profile;
use smbench_model::record::{Origin, Outcome, RunRecord, ServerFacts};
use smbench_model::spec::RunOptions;
use smbench_model::spec::{GeneratorSpec, SessionsSpec, WorkSpec};
use smbench_model::target::Target;

use crate::support::{assert_undisturbed, short, target};

/// Operations of each client, in order.
type Seen = Arc<Mutex<BTreeMap<u32, Vec<Operation>>>>;
/// First bytes that each client wrote.
type Written = Arc<Mutex<BTreeMap<u32, Vec<u8>>>>;

/// The null target with a record of its calls.
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

/// Maximum number of operations kept; more are not compared.
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

/// Makes a plan of a built-in profile, or of the text of a profile.
fn plan(profile: &str, options: RunOptions) -> Plan {
    let mut profile = if profile.contains('\n') {
        Profile::parse("written", profile).unwrap()
    } else {
        profile::load(profile).unwrap()
    };
    profile.spec.run = options;
    Plan::of(&profile, Target::none()).unwrap()
}

fn run(plan: &Plan, connector: impl Connector, streams: impl Streams) -> RunRecord {
    let server = ServerFacts::other("null://here");
    let cancel = Cancel::default();
    let run = PlannedRun::of(plan).on_target(server, connector, streams);
    execute(run, &mut Unobserved, &cancel).unwrap()
}

fn drawn(plan: &Plan) -> Drawn {
    Drawn {
        mix: Mix::new(&plan.only().workload),
        seed: plan.work.seed,
    }
}

/// An access pattern with both directions, some random accesses, and bursts.
const BURSTS: &str = "[[pattern]]\nsize = \"4KiB\"\nweight = 50\nreads = 60\nrandom = 50\n\
    delay = \"1ms\"\nburst = 40\n[[pattern]]\nsize = \"512\"\nweight = 50\nreads = 100\n\
    random = 30\nreply = \"1KiB\"\n";

/// A workload in which some clients read and the others write.
const DIVIDED: &str = "read_percent = 50\nsplit = \"clients\"\n[[sizes]]\nsize = \"4KiB\"\n\
    weight = 60\n[[sizes]]\nsize = \"512\"\nweight = 40\n";

#[test]
fn the_same_seed_gives_the_same_operations_on_any_number_of_threads() {
    // The cases are:
    // - reads, writes and flushes,
    // - every command, mostly in chains of several requests,
    // - the same with clients that share a driver,
    // - access patterns,
    // - clients with different parts of the work.
    // One case has instants due by the clock.
    for (profile, sessions_per_connection, outstanding, rate) in [
        ("file-server", 1, 1, None),
        ("all-commands", 1, 1, None),
        ("all-commands", 3, 1, None),
        ("file-server", 2, 4, None),
        ("file-server", 1, 2, Some("1000/client")),
        (BURSTS, 1, 2, None),
        (DIVIDED, 2, 1, None),
    ] {
        let seen_in = |window: Duration, threads, seed| {
            let plan = plan(
                profile,
                RunOptions {
                    work: WorkSpec {
                        clients: Some("14".parse().unwrap()),
                        seed: Some(seed),
                        outstanding: Some(outstanding),
                        rate: rate.map(|rate| rate.parse().unwrap()),
                        arrivals: rate.map(|_| Spacing::Exponential),
                        duration: Some(window),
                        ..short().work
                    },
                    generator: GeneratorSpec {
                        threads: Some(threads),
                        ..short().generator
                    },
                    sessions: SessionsSpec {
                        sessions_per_connection: Some(sessions_per_connection),
                        ..short().sessions
                    },
                },
            );
            let recording = Recording::default();
            let record = run(&plan, recording.clone(), drawn(&plan));
            assert_eq!(record.outcome, Outcome::Complete);
            assert_undisturbed(&record.load_points[0]);
            assert_eq!(record.driver, Origin::Own);
            assert_eq!(record.operations, Origin::Plan);
            std::mem::take(&mut *recording.seen.lock().unwrap())
        };
        // On a busy machine a client may need a longer window for 100 operations.
        let seen_with = |threads, seed| {
            (0..7)
                .map(|longer| seen_in(Duration::from_millis(150 << longer), threads, seed))
                .find(|seen| seen.len() == 14 && seen.values().all(|one| one.len() >= 100))
                .expect("100 operations of each client in a window of 9.6 s")
        };
        let alone = seen_with(1, 7);
        assert_eq!(alone.len(), 14);
        for threads in [2, 7] {
            let seen = seen_with(threads, 7);
            for (client, theirs) in &seen {
                let both = alone[client].len().min(theirs.len());
                assert_eq!(
                    alone[client][..both],
                    theirs[..both],
                    "{profile}, {threads}"
                );
            }
            assert!(seen.keys().eq(alone.keys()));
        }
        if profile == DIVIDED {
            let kind = |of_client: &Vec<Operation>| of_client[0].kind;
            let readers = alone.values().filter(|seen| kind(seen) == OpKind::Read);
            assert_eq!(readers.count(), 7);
            let alike = |seen: &Vec<Operation>| seen.iter().all(|one| one.kind == kind(seen));
            assert!(alone.values().all(alike));
        }
        // Other seeds and other clients give other operations.
        let other = seen_with(2, 8);
        assert_ne!(alone[&0][..100], other[&0][..100], "{profile}");
        assert_ne!(alone[&0][..100], alone[&1][..100], "{profile}");
    }
}

#[test]
fn what_is_written_differs_from_run_to_run_though_the_operations_do_not() {
    let options = RunOptions {
        work: WorkSpec {
            clients: Some("2".parse().unwrap()),
            ..short().work
        },
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
            block::append(&mut expected, length, write.offset, stamp, salt);
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
        work: WorkSpec {
            clients: Some("3".parse().unwrap()),
            ..short().work
        },
        ..short()
    };
    let plan = Plan::of(&profile, target(&server.url(), server.password())).unwrap();
    let mix = Mix::new(&plan.only().workload);
    let write = mix.operation(OpKind::Write, 0, 0, 512).unwrap();
    let read = mix.operation(OpKind::Read, 0, 4096, 1024).unwrap();
    let streams = move |_| {
        let mut count = 0;
        move || {
            count += 1;
            if count % 3 == 0 { write } else { read }
        }
    };
    let run = PlannedRun::of(&plan).with_operations(streams);
    let record = execute(run, &mut Unobserved, &Cancel::default()).unwrap();
    assert_eq!(record.outcome, Outcome::Complete);
    assert_eq!(record.leftover, None);
    assert_eq!(
        (record.driver, record.operations),
        (Origin::Plan, Origin::Own)
    );
    let point = &record.load_points[0];
    assert_undisturbed(point);
    let (reads, writes) = (
        point.ops.whole(OpKind::Read),
        point.ops.whole(OpKind::Write),
    );
    assert!(writes.count > 0);
    assert_eq!(reads.bytes, 1024 * reads.count);
    assert_eq!(writes.bytes, 512 * writes.count);
    // Each client is at most one or two operations of three ahead.
    assert!(reads.count.abs_diff(2 * writes.count) <= 6);
}
