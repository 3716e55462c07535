//! Streams of operations: those drawn from a workload, and those of others.

use std::sync::Arc;

use super::{Mix, OpStream, Operation};
use crate::plan::Plan;
use crate::record::Origin;

/// What one client does, action by action, without end. Closures are streams.
///
/// An [`Operation`] is the first request of an action of the plan's [`Mix`],
/// which [`Mix::operation`] makes; the further requests of an action follow by
/// themselves ([`Mix::after`]), so that what was opened is closed.
pub trait Stream: 'static {
    /// The first request of the next action. It is called on a worker thread,
    /// between operations: what takes long here delays them.
    fn next(&mut self) -> Operation;
}

/// The streams of all clients. Each worker thread has a clone. Closures that make
/// a client's stream are such.
///
/// Where a client's stream depends on nothing but its number, a run does the
/// same on any number of threads.
pub trait Streams: Clone + Send + 'static {
    /// That of one client.
    type Stream: Stream;

    /// The stream of `client` (from 0), from its first action; once at each load
    /// point.
    fn of_client(&self, client: u32) -> Self::Stream;

    /// Whether these are the operations that `plan` stands for; what the record
    /// says of them.
    fn origin(&self, _plan: &Plan) -> Origin {
        Origin::Own
    }
}

impl<F: FnMut() -> Operation + 'static> Stream for F {
    fn next(&mut self) -> Operation {
        self()
    }
}

impl<F: Fn(u32) -> S + Clone + Send + 'static, S: Stream> Streams for F {
    type Stream = S;

    fn of_client(&self, client: u32) -> S {
        self(client)
    }
}

/// The streams that a workload and a seed stand for: what runs when nobody
/// brings streams of their own.
#[derive(Clone, Debug, PartialEq)]
pub struct Drawn {
    /// What is drawn from.
    pub mix: Arc<Mix>,
    /// Seed of every draw.
    pub seed: u64,
}

impl Streams for Drawn {
    type Stream = OpStream;

    fn of_client(&self, client: u32) -> OpStream {
        OpStream::new(&self.mix, self.seed, client)
    }

    fn origin(&self, plan: &Plan) -> Origin {
        match self.seed == plan.seed && self.mix == Mix::new(&plan.workload) {
            true => Origin::Plan,
            false => Origin::Own,
        }
    }
}

impl Stream for OpStream {
    fn next(&mut self) -> Operation {
        Self::next(self)
    }
}
