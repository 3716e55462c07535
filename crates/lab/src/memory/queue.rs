//! A queue in front of a share, which makes a server whose limit is known.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::{Instant, sleep_until};

/// One place that serves reads and writes one after the other, each for the same time.
/// With arrivals at random it is the queue M/D/1.
#[derive(Debug)]
pub(super) struct ServiceQueue {
    service: Duration,
    /// When the last operation so far is done.
    busy_until: Mutex<Option<Instant>>,
}

impl ServiceQueue {
    pub(super) const fn new(service: Duration) -> Self {
        Self {
            service,
            busy_until: Mutex::new(None),
        }
    }

    /// Waits in the queue, and for the end of the service.
    pub(super) async fn serve(&self) {
        let done = {
            let mut until = self
                .busy_until
                .lock()
                .unwrap_or_else(PoisonError::into_inner);
            let now = Instant::now();
            let begins = until.map_or(now, |until| until.max(now));
            *until.insert(begins + self.service)
        };
        sleep_until(done).await;
    }
}
