//! External drivers and streams that violate their contract. They are untrusted,
//! and only their own clients are affected.

use std::task::{Context, Poll};
use std::time::Duration;

use smbench_engine::Cancel;
use smbench_engine::driver::{
    Answer, Busy, Call, Connector, Driver, Dropped, Null, NullDriver, Opened, Scratch, Sink,
};
use smbench_engine::run::SessionError;
use smbench_engine::run::{PlannedRun, RunError, Unobserved, execute};
use smbench_model::Nanos;
use smbench_model::kind::OpKind;
use smbench_model::operations::{Mix, Operation};
use smbench_model::record::ServerFacts;
use smbench_model::spec::{RunOptions, WorkSpec};

use super::{drawn, plan, run};
use crate::support::short;

#[test]
fn operations_beyond_the_plan_drop_their_client() {
    let plan = plan(
        "read-4k",
        RunOptions {
            work: WorkSpec {
                clients: Some("2".parse().unwrap()),
                ..short().work
            },
            ..short()
        },
    );
    let read = Mix::new(&plan.only().workload).operation(OpKind::Read, 0, 0, 4096);
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

/// The fault of a driver.
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
        self.slots
            .drain(..)
            .try_for_each(|slot| sink.answer(&Answer::success(slot, 4096)))
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
                work: WorkSpec {
                    clients: Some("1".parse().unwrap()),
                    duration: Some(Duration::from_millis(300)),
                    ..short().work
                },
                ..short()
            },
        );
        plan.limits.setup = Duration::from_millis(200);
        plan.limits.operation = Duration::from_millis(200);
        let outcome = {
            let server = ServerFacts::other("wrong://here");
            let run = PlannedRun::of(&plan).on_target(server, Misbehaving(wrong), drawn(&plan));
            execute(run, &mut Unobserved, &Cancel::default())
        };
        let message = match outcome {
            Err(RunError::Session(error)) => error.to_string(),
            Err(error) => panic!("{wrong:?}: {error}"),
            Ok(record) => record.load_points[0].dropouts[0].reason.clone(),
        };
        assert!(message.contains(words), "{wrong:?}: {message}");
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
fn a_panic_names_whose_it_is() {
    let plan = plan(
        "read-4k",
        RunOptions {
            work: WorkSpec {
                clients: Some("2".parse().unwrap()),
                ..short().work
            },
            ..short()
        },
    );
    let server = || ServerFacts::other("null://here");
    let cancel = Cancel::default();
    let read = Mix::new(&plan.only().workload)
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
    for (run, words) in [
        (
            PlannedRun::of(&plan).on_target(server(), Panicking, drawn(&plan)),
            "the program's own driver panicked; this is not a bug in smbench: ten is too many",
        ),
        (
            PlannedRun::of(&plan).on_target(server(), Null, streams),
            "the program's own stream of operations panicked; this is not a bug in smbench: client 1 \
             has had enough",
        ),
    ] {
        let outcome = execute(run, &mut Unobserved, &cancel);
        let message = outcome.err().unwrap().to_string();
        assert!(message.ends_with(words), "{message}");
    }
}
