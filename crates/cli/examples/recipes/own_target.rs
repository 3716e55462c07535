//! A target of one's own.

use std::error::Error;
use std::task::{Context, Poll};
use std::time::Duration;

use smbench::driver::{Answer, Busy, Call, Connector, Driver, Dropped, Opened, Scratch, Sink};
use smbench::engine::run::{PlannedRun, SessionError, execute};
use smbench::model::Nanos;
use smbench::model::kind::OpKind;
use smbench::model::operations::{Drawn, Mix};
use smbench::model::record::ServerFacts;
use smbench::report::Disclosure;
use smbench::{Cancel, Run, RunDoc, RunEvent, Target, each_event};

/// Sets up a driver for each group of clients.
#[derive(Clone)]
struct BlockStore;

impl Connector for BlockStore {
    type Driver = BlockStoreClient;

    async fn open(&self, clients: &[u32]) -> Result<Opened<BlockStoreClient>, SessionError> {
        let session_setup = vec![Nanos(0); clients.len()];
        Ok(Opened::new(BlockStoreClient::default(), 0, session_setup))
    }
}

/// The client of a store that only takes blocks.
#[derive(Default)]
struct BlockStoreClient {
    block: Vec<u8>,
    /// Slots and bytes of the calls to answer.
    calls: Vec<(u32, u32)>,
}

impl Driver for BlockStoreClient {
    fn submit(
        &mut self,
        call: &Call,
        _: &mut Scratch,
        data: impl FnOnce(&mut Vec<u8>),
    ) -> Result<(), Busy> {
        if call.operation.kind == OpKind::Write {
            self.block.clear();
            data(&mut self.block);
        }
        self.calls.push((call.slot, call.operation.length));
        Ok(())
    }

    // A driver with a socket polls it here.
    fn poll_receive(
        &mut self,
        _: &mut Context<'_>,
        _: &mut Scratch,
    ) -> Poll<Result<usize, Dropped>> {
        match self.calls.len() {
            0 => Poll::Pending,
            calls => Poll::Ready(Ok(calls)),
        }
    }

    fn take_answers(
        &mut self,
        _: usize,
        _: Nanos,
        _: &mut Scratch,
        sink: &mut impl Sink,
    ) -> Result<(), Dropped> {
        self.calls
            .drain(..)
            .try_for_each(|(slot, moved)| sink.answer(&Answer::success(slot, moved)))
    }
}

pub fn own_target() -> Result<(), Box<dyn Error>> {
    // The plan sets the operations, the clients and the duration. It needs no server.
    let plan = Run::on_target(Target::none())
        .profile("file-server")
        .clients([8])
        .duration(Duration::from_millis(500))
        .plan()?;
    let operations = Drawn {
        mix: Mix::new(&plan.only().workload),
        seed: plan.work.seed,
    };
    let mut watch = each_event(|event| {
        if let RunEvent::LoadPointEnded(point) = event {
            println!("{} clients are done", point.clients);
        }
    });
    let server = ServerFacts::other("memory://store");
    let cancel = Cancel::default();
    let run = PlannedRun::of(&plan).on_target(server, BlockStore, operations);
    let record = execute(run, &mut watch, &cancel)?;
    let doc = RunDoc::from_record(&record, Disclosure::default());
    assert_eq!(doc.server.url, "memory://store");
    assert!(doc.load_points[0].bytes_written > 0);
    Ok(())
}
