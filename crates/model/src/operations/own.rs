//! Streams of operations: drawn from a workload, or supplied by an embedding
//! program.

use std::sync::Arc;

use super::{Mix, OpStream, Operation};
use crate::plan::Plan;
use crate::record::Origin;

/// The endless actions of one client. Closures implement it.
///
/// An [`Operation`] is the first request of an action of the plan's [`Mix`], made
/// by [`Mix::operation`]. The engine adds the further requests of the action
/// ([`Mix::after`]), so that every opened file is closed.
pub trait Stream: 'static {
    /// Returns the first request of the next action. A worker thread calls it
    /// between operations, so a slow implementation delays them.
    fn next(&mut self) -> Operation;
}

/// The streams of all clients. Each worker has a clone. Closures that make a
/// client's stream implement it.
///
/// If a client's stream depends only on its number, a run does the same work on any
/// number of threads.
pub trait Streams: Clone + Send + 'static {
    /// The stream of one client.
    type Stream: Stream;

    /// Returns the stream of `client` (from 0), from its first action. It is called
    /// once per load point.
    fn of_client(&self, client: u32) -> Self::Stream;

    /// Whether these are the operations of `plan`, or others. The record stores the
    /// answer.
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

/// The streams of a workload and a seed. They run unless an embedding program
/// supplies its own.
#[derive(Clone, Debug, PartialEq)]
pub struct Drawn {
    /// The mix to draw from.
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
        if self.seed == plan.work.drawing_seed() && self.mix == Mix::new(&plan.only().workload) {
            Origin::Plan
        } else {
            Origin::Own
        }
    }
}

impl Stream for OpStream {
    fn next(&mut self) -> Operation {
        Self::next(self)
    }
}
