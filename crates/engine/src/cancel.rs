//! Asking a run to stop from outside.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::Notify;

/// A request to stop, shared by everything that works on a run. Clones are the
/// same request.
#[derive(Clone, Debug, Default)]
pub struct Cancel {
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    stopped: AtomicBool,
    changed: Notify,
}

impl Cancel {
    /// Stops the run as soon as what is in flight has been answered; files on
    /// the share are removed and what was measured is kept. May be called from
    /// any thread, any number of times.
    pub fn cancel(&self) {
        self.shared.stopped.store(true, Ordering::Release);
        self.shared.changed.notify_waiters();
    }

    /// Whether [`Cancel::cancel`] was called.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.shared.stopped.load(Ordering::Acquire)
    }

    /// Waits for [`Cancel::cancel`].
    pub(crate) async fn cancelled(&self) {
        // Registered before the check, so that no call falls in between.
        let changed = self.shared.changed.notified();
        if !self.is_cancelled() {
            changed.await;
        }
    }
}
