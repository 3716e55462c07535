//! A signal that stops a run from outside.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use smbench_model::Nanos;
use tokio::sync::Notify;

use crate::machine::clock;

/// A request to stop, shared by all parts of a run. Clones share one state: a
/// cancel on any of them stops the run.
#[derive(Clone, Debug, Default)]
pub struct Cancel {
    shared: Arc<CancelState>,
}

#[derive(Debug)]
struct CancelState {
    /// Instant of the earliest cancel; [`Nanos::MAX`] until there is one.
    at: AtomicU64,
    changed: Notify,
    /// A cancel that also counts.
    parent: Option<Cancel>,
}

impl Default for CancelState {
    fn default() -> Self {
        Self {
            at: AtomicU64::new(Nanos::MAX.0),
            changed: Notify::new(),
            parent: None,
        }
    }
}

impl Cancel {
    /// Stops the run as soon as the requests in flight have been answered. Files on
    /// the share are removed, and the measured results are kept. May be called from
    /// any thread, any number of times.
    pub fn cancel(&self) {
        // Keeps the earliest instant if several threads cancel at once.
        self.shared.at.fetch_min(clock::now().0, Ordering::AcqRel);
        self.shared.changed.notify_waiters();
    }

    /// Returns whether [`Cancel::cancel`] was called.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.at() < Nanos::MAX
    }

    /// Returns a cancel of its own that this one also cancels.
    #[must_use]
    pub fn child(&self) -> Self {
        let shared = CancelState {
            parent: Some(self.clone()),
            ..CancelState::default()
        };
        Self {
            shared: Arc::new(shared),
        }
    }

    /// Returns the instant of the first [`Cancel::cancel`]; [`Nanos::MAX`] before
    /// that.
    pub(crate) fn at(&self) -> Nanos {
        let own = Nanos(self.shared.at.load(Ordering::Acquire));
        match &self.shared.parent {
            None => own,
            Some(parent) => own.min(parent.at()),
        }
    }

    /// Waits for [`Cancel::cancel`].
    pub(crate) async fn cancelled(&self) {
        // Registered before the check; otherwise a cancel between the two would be
        // missed.
        let changed = self.shared.changed.notified();
        if self.is_cancelled() {
            return;
        }
        match &self.shared.parent {
            None => changed.await,
            Some(parent) => tokio::select! {
                () = changed => {}
                () = Box::pin(parent.cancelled()) => {}
            },
        }
    }
}
