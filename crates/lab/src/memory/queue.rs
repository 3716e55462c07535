//! A queue in front of a share, which makes a server whose limit is known.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::{Instant, sleep_until};

use crate::options::ServicePace;

/// How much of its rate a token bucket saves: enough to lose nothing while the machine
/// runs something else for a moment.
const SAVED: Duration = Duration::from_millis(20);

/// One place that serves reads and writes one after the other, each for the same time.
///
/// Without savings, it is idle while the queue is empty. With arrivals at random it is the
/// queue M/D/1. If it saves, it is a token bucket: up to that much of its rate is served at
/// once.
#[derive(Debug)]
pub(super) struct ServiceQueue {
    service: Duration,
    saved: Duration,
    /// When the last operation so far is done.
    busy_until: Mutex<Option<Instant>>,
}

impl ServiceQueue {
    /// Returns the queue of a share; `None` for one that serves all at once.
    pub(super) fn of(pace: ServicePace) -> Option<Self> {
        let (service, saved) = match pace {
            ServicePace::Unlimited => return None,
            ServicePace::OneByOne(service) => (service, Duration::ZERO),
            ServicePace::Rate(per_second) => (Duration::from_secs(1) / per_second.get(), SAVED),
        };
        Some(Self {
            service,
            saved,
            busy_until: Mutex::new(None),
        })
    }

    /// Waits in the queue, and for the end of the service.
    pub(super) async fn serve(&self) {
        let now = Instant::now();
        let done = self.served_at(now);
        if done > now {
            sleep_until(done).await;
        }
    }

    /// Returns when an operation is served that arrives now.
    fn served_at(&self, now: Instant) -> Instant {
        let mut until = self
            .busy_until
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let earliest = now.checked_sub(self.saved).unwrap_or(now);
        let begins = until.map_or(earliest, |until| until.max(earliest));
        *until.insert(begins + self.service)
    }
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU32;

    use super::*;

    /// Returns how long the last of some operations takes that arrive at once.
    fn last_of(pace: ServicePace, operations: u32) -> Duration {
        let queue = ServiceQueue::of(pace).unwrap();
        let now = Instant::now() + Duration::from_secs(1);
        let done = (0..operations).map(|_| queue.served_at(now)).last();
        done.unwrap().duration_since(now)
    }

    #[test]
    fn a_share_takes_as_many_operations_as_its_pace_allows() {
        let second = Duration::from_secs(1);
        assert_eq!(last_of(ServicePace::OneByOne(second / 500), 500), second);
        // The first 20 ms of the rate are saved.
        let bucket = ServicePace::Rate(NonZeroU32::new(1000).unwrap());
        assert_eq!(last_of(bucket, 1020), second);
        assert_eq!(last_of(bucket, 20), Duration::ZERO);
    }
}
