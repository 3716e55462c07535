//! Several sessions that share the work on a tree.

use std::cell::Cell;
use std::ops::Range;
use std::rc::Rc;
use std::time::Duration;

use tokio::task::JoinSet;

use crate::machine::cancel::Cancel;
use crate::smb::session::{Endpoint, SessionError};
use crate::smb::share::ShareSession;

/// Interval between two reports of the progress.
const TICK: Duration = Duration::from_millis(200);

/// Sessions that work at the same time.
pub(super) struct Crew {
    sessions: Vec<ShareSession>,
    cancel: Cancel,
}

impl Crew {
    /// Sets up `count` sessions.
    pub(super) async fn open(
        endpoint: &Endpoint,
        count: u32,
        cancel: &Cancel,
    ) -> Result<Self, SessionError> {
        let mut sessions = Vec::new();
        for _ in 0..count {
            if cancel.is_cancelled() {
                return Err(SessionError::Interrupted);
            }
            sessions.push(ShareSession::open(endpoint).await?);
        }
        let cancel = cancel.clone();
        Ok(Self { sessions, cancel })
    }

    /// Hands out these numbers in their order, up to `at_once` of them to one session. Calls
    /// `tell` at an interval and at the end. The first failure ends the work.
    pub(super) async fn each<S>(
        &mut self,
        numbers: Range<u32>,
        at_once: u32,
        step: S,
        tell: &mut dyn FnMut(),
    ) -> Result<(), SessionError>
    where
        S: AsyncFn(&mut ShareSession, Range<u32>) -> Result<(), SessionError> + 'static,
    {
        let (next, step) = (Rc::new(Cell::new(numbers.start)), Rc::new(step));
        let mut running = JoinSet::new();
        for mut session in self.sessions.drain(..) {
            let (next, step, cancel) = (Rc::clone(&next), Rc::clone(&step), self.cancel.clone());
            running.spawn_local(async move {
                while next.get() < numbers.end && !cancel.is_cancelled() {
                    let from = next.get();
                    next.set(numbers.end.min(from.saturating_add(at_once)));
                    step(&mut session, from..next.get()).await?;
                }
                Ok::<_, SessionError>(session)
            });
        }
        let mut tick = tokio::time::interval(TICK);
        loop {
            tokio::select! {
                ended = running.join_next() => match ended {
                    // Dropping the set aborts the other tasks.
                    Some(ended) => self.sessions.push(ended.map_err(|_| SessionError::Panicked {
                        doing: "work on the tree",
                    })??),
                    None => break,
                },
                _ = tick.tick() => tell(),
                () = self.cancel.cancelled() => return Err(SessionError::Interrupted),
            }
        }
        tell();
        if self.cancel.is_cancelled() {
            Err(SessionError::Interrupted)
        } else {
            Ok(())
        }
    }

    /// Ends the sessions.
    pub(super) async fn log_off(self) {
        for session in self.sessions {
            session.log_off().await;
        }
    }
}
