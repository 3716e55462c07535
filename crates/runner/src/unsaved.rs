//! Results that a run has not saved yet. A user who leaves at once does not lose
//! them.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Whether a load point is in progress that is not on disk yet. Clones share the
/// state.
#[derive(Clone, Debug, Default)]
pub struct Unsaved {
    shared: Arc<UnsavedState>,
}

#[derive(Debug, Default)]
struct UnsavedState {
    is_unsaved: Mutex<bool>,
    saved: Condvar,
}

impl Unsaved {
    /// Marks that measuring or saving begins.
    pub fn begin(&self) {
        *self.lock() = true;
    }

    /// Marks that nothing is left to save, or that saving failed.
    pub fn end(&self) {
        *self.lock() = false;
        self.shared.saved.notify_all();
    }

    /// Waits until nothing is left to save, but no longer than `limit`.
    pub fn wait(&self, limit: Duration) {
        let saved = &self.shared.saved;
        // The result is the same if the limit was reached.
        let _ = saved.wait_timeout_while(self.lock(), limit, |is_unsaved| *is_unsaved);
    }

    #[cfg(test)]
    pub(crate) fn is_there(&self) -> bool {
        *self.lock()
    }

    fn lock(&self) -> MutexGuard<'_, bool> {
        let is_unsaved = self.shared.is_unsaved.lock();
        is_unsaved.unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::thread;

    use super::*;

    #[test]
    fn leaving_waits_for_what_is_being_saved() {
        let (unsaved, is_saved) = (Unsaved::default(), AtomicBool::new(false));
        unsaved.begin();
        thread::scope(|scope| {
            let leaving = scope.spawn(|| {
                unsaved.wait(Duration::MAX);
                is_saved.load(Ordering::SeqCst)
            });
            is_saved.store(true, Ordering::SeqCst);
            unsaved.end();
            assert!(leaving.join().unwrap());
        });
    }

    #[test]
    fn leaving_does_not_wait_for_ever() {
        let unsaved = Unsaved::default();
        unsaved.wait(Duration::MAX);
        unsaved.begin();
        unsaved.wait(Duration::from_millis(1));
    }
}
