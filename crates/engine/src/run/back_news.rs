//! News that clients have come back after a loss, for whoever holds the run's directories: the
//! event that ended their connections may have ended another one.

use std::cell::Cell;

use smbench_model::record::{EventKind, Recorder};
use tokio::sync::Notify;

/// Whether clients have come back since the last look.
#[derive(Default)]
pub(crate) struct BackNews {
    are_back: Cell<bool>,
    changed: Notify,
}

impl BackNews {
    /// Looks for clients that came back in an interval.
    pub(super) fn look_at(&self, over: &Recorder) {
        let events = over.events();
        let is_news = |kind| matches!(kind, EventKind::LinkBack | EventKind::ChannelBack);
        // Those that are left out may be any.
        if events.left_out() > 0 || events.kept().iter().any(|event| is_news(event.kind)) {
            self.are_back.set(true);
            self.wake();
        }
    }

    /// Ends a wait for news, although there may be none.
    pub(super) fn wake(&self) {
        self.changed.notify_one();
    }

    /// Waits for news, or for a call of [`Self::wake`].
    pub(super) async fn woken(&self) {
        self.changed.notified().await;
    }

    /// Returns whether clients have come back since the last call.
    pub(super) fn take(&self) -> bool {
        self.are_back.take()
    }
}

#[cfg(test)]
mod tests {
    use smbench_model::Nanos;
    use smbench_model::record::LoadEvent;

    use super::*;

    #[tokio::test]
    async fn only_clients_that_come_back_are_news() {
        let news = BackNews::default();
        let mut over = Recorder::default();
        for (kind, is_news) in [(EventKind::LinkLost, false), (EventKind::LinkBack, true)] {
            over.event(LoadEvent {
                at: Nanos(1),
                kind,
                clients: 1,
            });
            news.look_at(&over);
            assert_eq!(news.take(), is_news, "{kind:?}");
        }
        assert!(!news.take());
        // They came before the wait for them.
        news.woken().await;
    }
}
