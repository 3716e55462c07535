//! Asking a run to stop from outside.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tokio::sync::Notify;

use crate::clock::{self, Nanos};

/// A request to stop, shared by everything that works on a run. Clones are the
/// same request.
#[derive(Clone, Debug, Default)]
pub struct Cancel {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    /// When it was asked for first; [`Nanos::MAX`] until then.
    at: AtomicU64,
    changed: Notify,
}

impl Default for Shared {
    fn default() -> Self {
        Self {
            at: AtomicU64::new(Nanos::MAX.0),
            changed: Notify::new(),
        }
    }
}

impl Cancel {
    /// Stops the run as soon as what is in flight has been answered; files on
    /// the share are removed and what was measured is kept. May be called from
    /// any thread, any number of times.
    pub fn cancel(&self) {
        // The earliest, should several ask at once.
        self.shared.at.fetch_min(clock::now().0, Ordering::AcqRel);
        self.shared.changed.notify_waiters();
    }

    /// Whether [`Cancel::cancel`] was called.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.at() < Nanos::MAX
    }

    /// When [`Cancel::cancel`] was first called; [`Nanos::MAX`] while it was not.
    pub(crate) fn at(&self) -> Nanos {
        Nanos(self.shared.at.load(Ordering::Acquire))
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
