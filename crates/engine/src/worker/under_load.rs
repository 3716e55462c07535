//! A token of each worker that is under load.

use std::convert::Infallible;
use std::time::Duration;

use tokio::sync::{mpsc, watch};

/// Longest time for which a thread keeps its sessions after its load. The last reading
/// takes a few milliseconds, or some seconds if the server's counters are read. Other workers
/// may still have load.
const KEPT_MAX: Duration = Duration::from_secs(10);

/// A token that a worker keeps until its load has ended. Without any token left,
/// there is no load.
#[derive(Clone)]
pub(crate) struct UnderLoad {
    token: mpsc::Sender<Infallible>,
    read: watch::Receiver<()>,
}

/// Receives nothing, and ends when there is no load.
pub(crate) type LoadGone = mpsc::Receiver<Infallible>;

/// Keeps the sessions of workers whose load has ended, until it is dropped.
pub(crate) type KeptSessions = watch::Sender<()>;

impl UnderLoad {
    pub(crate) fn new() -> (Self, LoadGone, KeptSessions) {
        let (token, gone) = mpsc::channel(1);
        let (kept, read) = watch::channel(());
        (Self { token, read }, gone, kept)
    }

    /// Gives the token back.
    pub(crate) fn end(self) -> AfterLoad {
        drop(self.token);
        AfterLoad(self.read)
    }
}

/// The time between the load of a worker and its log-offs.
pub(crate) struct AfterLoad(watch::Receiver<()>);

impl AfterLoad {
    /// Waits until the sessions are not needed any more.
    pub(crate) async fn until_read(mut self) {
        let read = async { while self.0.changed().await.is_ok() {} };
        // Without the last reading, log-offs may fall into it.
        let _ = tokio::time::timeout(KEPT_MAX, read).await;
    }
}

#[cfg(test)]
mod tests {
    use std::future::ready;
    use std::pin::pin;

    use super::*;

    #[tokio::test]
    async fn sessions_are_kept_until_the_last_reading() {
        let (under_load, mut gone, kept) = UnderLoad::new();
        let after_load = under_load.end();
        assert_eq!(gone.recv().await, None);
        let mut waiting = pin!(after_load.until_read());
        tokio::select! {
            biased;
            () = &mut waiting => panic!("the log-offs began before the last reading"),
            () = ready(()) => {}
        }
        drop(kept);
        waiting.await;
    }
}
