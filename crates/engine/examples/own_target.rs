//! A target that is not an SMB server, with operations that no profile describes.
//! It is a store behind a channel, and its clients mostly read the first blocks.
//! `cargo run --release -p smbench-engine --example own_target`.

#![expect(clippy::print_stdout, reason = "that is what it is for")]

use std::error::Error;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use smbench_engine::driver::*;
use smbench_engine::run::{PlannedRun, SessionError, execute};
use smbench_engine::{Cancel, Plan, RunOptions, Target, Unobserved};
use smbench_formats::profile;
use smbench_model::Nanos;
use smbench_model::kind::OpKind;
use smbench_model::operations::{Mix, Operation};
use smbench_model::record::{Outcome, ServerFacts};
use smbench_model::spec::WorkSpec;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

const BLOCK_LEN: u64 = 4096;
/// A request for one block, with the channel that takes the answer.
struct BlockRequest {
    call: Call,
    answers: UnboundedSender<(Call, Vec<u8>)>,
}

fn serve(mut requests: UnboundedReceiver<BlockRequest>) {
    let store = vec![0xA5; 1 << 20];
    while let Some(BlockRequest { call, answers }) = requests.blocking_recv() {
        let from = call.operation.offset as usize;
        let block = &store[from..from + call.operation.length as usize];
        let _ = answers.send((call, block.to_vec()));
    }
}

/// Connects clients to the store.
#[derive(Clone)]
struct Store(UnboundedSender<BlockRequest>);

impl Connector for Store {
    type Driver = BlockReader;

    async fn open(&self, clients: &[u32]) -> Result<Opened<BlockReader>, SessionError> {
        let (answers, answered) = unbounded_channel();
        let (requests, received) = (self.0.clone(), Vec::new());
        let driver = BlockReader {
            requests,
            answers,
            answered,
            received,
        };
        Ok(Opened::new(driver, 0, vec![Nanos(0); clients.len()]))
    }
}

/// The driver of one group of clients.
struct BlockReader {
    requests: UnboundedSender<BlockRequest>,
    answers: UnboundedSender<(Call, Vec<u8>)>,
    answered: UnboundedReceiver<(Call, Vec<u8>)>,
    received: Vec<(Call, Vec<u8>)>,
}

impl Driver for BlockReader {
    fn submit(
        &mut self,
        &call: &Call,
        _: &mut Scratch,
        _: impl FnOnce(&mut Vec<u8>),
    ) -> Result<(), Busy> {
        let answers = self.answers.clone();
        // If the store is gone, the operation limit will report it.
        let _ = self.requests.send(BlockRequest { call, answers });
        Ok(())
    }

    fn poll_receive(
        &mut self,
        context: &mut Context<'_>,
        _: &mut Scratch,
    ) -> Poll<Result<usize, Dropped>> {
        let polled = self
            .answered
            .poll_recv_many(context, &mut self.received, 64);
        Poll::Ready(Ok(ready!(polled)))
    }

    fn take_answers(
        &mut self,
        _: usize,
        _: Nanos,
        _: &mut Scratch,
        sink: &mut impl Sink,
    ) -> Result<(), Dropped> {
        self.received.drain(..).try_for_each(|(call, block)| {
            sink.answer(&Answer {
                data: Some(&block),
                ..Answer::success(call.slot, block.len() as u32)
            })
        })
    }
}

pub(crate) fn main() -> Result<(), Box<dyn Error>> {
    let (requests, received) = unbounded_channel();
    std::thread::spawn(move || serve(received));
    // The profile sets the possible operations, the number of clients and the
    // duration.
    let mut profile = profile::load("read-4k")?;
    profile.spec.run = RunOptions {
        work: WorkSpec {
            clients: Some("8".parse()?),
            outstanding: Some(4),
            duration: Some(Duration::from_millis(500)),
            ..WorkSpec::default()
        },
        ..RunOptions::default()
    };
    let plan = Plan::of(&profile, Target::none())?;

    // Every other read of a client is of the first block; the others go through the
    // blocks in order.
    let read = Mix::new(&plan.only().workload).operation(OpKind::Read, 0, 0, BLOCK_LEN as u32);
    let read = read.ok_or("the profile reads nothing")?;
    let streams = move |client| {
        let mut count = u64::from(client);
        move || {
            count += 1;
            let offset = count % 2 * (count % 256) * BLOCK_LEN;
            Operation { offset, ..read }
        }
    };
    let server = ServerFacts::other("channel://store");
    let run = PlannedRun::of(&plan).on_target(server, Store(requests), streams);
    let record = execute(run, &mut Unobserved, &Cancel::default())?;
    assert_eq!(record.outcome, Outcome::Complete);
    let point = &record.load_points[0];
    assert_eq!((&point.invalid, point.clients_served), (&None, 8));
    let reads = point.ops.window(OpKind::Read);
    assert_eq!(reads.bytes, BLOCK_LEN * reads.count());
    println!("{} reads in {:?}", reads.count(), point.window);
    Ok(())
}
