//! Looks at the server, at TCP and at this process: on threads of their own, because a server's
//! exporter may be slow.

use smbench_model::Nanos;
use smbench_model::record::StageMemory;
use tokio::runtime::Runtime;
use tokio::sync::mpsc;
use tokio::task::{JoinHandle, JoinSet};

use super::{StageInstants, StageReading, UsageReading};
use crate::machine::process;
use crate::machine::server_cpu::{Meter, Reading};
use crate::machine::tcp::{TcpReading, TcpWatch};

/// Returns a runtime that makes readings in the order in which they are started. On a busy machine,
/// the reading at the end of a short window would otherwise be made before the one at its start.
pub(super) fn one_reading_at_a_time() -> std::io::Result<Runtime> {
    tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .max_blocking_threads(1)
        .build()
}

/// Reads the server and TCP.
#[derive(Clone)]
pub(super) struct Look {
    pub(super) server: Meter,
    pub(super) tcp: Option<TcpWatch>,
}

impl Look {
    fn read(&self) -> (Reading, Option<TcpReading>) {
        self.server
            .read_after(|| self.tcp.as_ref().map(TcpWatch::read))
    }

    /// Reads on another thread, because a server's exporter may be slow.
    pub(super) fn start(&self) -> JoinHandle<(Reading, Option<TcpReading>)> {
        let look = self.clone();
        tokio::task::spawn_blocking(move || look.read())
    }

    /// Returns memory and handles after a reading of the server.
    fn memory(&self, server: &Reading) -> StageMemory {
        StageMemory {
            own: process::own_bytes(),
            server: self.server.memory(server),
            server_handles: self.server.handles(),
        }
    }
}

/// Reads between stages.
pub(super) struct StageLooks {
    look: Look,
    /// The instants between stages.
    pub(super) ends: Vec<Nanos>,
    /// The number of readings so far.
    done: usize,
    /// `None` if the load has no stages.
    tell: Option<mpsc::UnboundedSender<StageReading>>,
    /// The readings that were started.
    started: JoinSet<()>,
}

impl StageLooks {
    pub(super) fn new(
        look: &Look,
        ends: StageInstants,
        tell: mpsc::UnboundedSender<StageReading>,
    ) -> Self {
        Self {
            look: look.clone(),
            tell: ends.is_some().then_some(tell),
            ends: ends.unwrap_or_default(),
            done: 0,
            started: JoinSet::new(),
        }
    }

    /// Reads on another thread, and tells what it has read.
    pub(super) fn start(&mut self, used: UsageReading) {
        let Some(tell) = self.tell.clone() else {
            return;
        };
        let (look, number) = (self.look.clone(), self.done);
        self.done += 1;
        self.started.spawn_blocking(move || {
            let (server, tcp) = look.read();
            let memory = look.memory(&server);
            // The coordinator may have ended already and dropped the receiver.
            let _ = tell.send(StageReading {
                number,
                used,
                server,
                tcp,
                memory,
            });
        });
    }

    /// Waits for the readings that were started: a runtime that ends drops those that no thread
    /// has taken up yet.
    pub(super) async fn finish(mut self) {
        // One that panicked has told nothing, which a record of its stage shows.
        while self.started.join_next().await.is_some() {}
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn readings_are_made_in_the_order_in_which_they_are_started() {
        let (made, order) = std::sync::mpsc::channel();
        let runtime = one_reading_at_a_time().unwrap();
        runtime.block_on(async {
            let readings = [20, 10, 0].map(|millis| {
                let made = made.clone();
                tokio::task::spawn_blocking(move || {
                    std::thread::sleep(Duration::from_millis(millis));
                    made.send(millis).unwrap();
                })
            });
            for reading in readings {
                reading.await.unwrap();
            }
        });
        drop(made);
        assert_eq!(order.iter().collect::<Vec<_>>(), [20, 10, 0]);
    }
}
