//! The events of a proxy, and the messages that its host gets once.

use std::time::Duration;

use crate::hosts::message::MessageBody;
use crate::hosts::{ALIVE_INTERVAL, ALIVE_INTERVAL_AFTER_CANCEL};
use crate::worker::schedule::Schedule;

/// How often a proxy looks whether the set-up is to end.
const SETUP_LOOK_INTERVAL: Duration = Duration::from_millis(150);

/// Messages that the host gets once.
#[derive(Default)]
pub(super) struct SentOnce {
    pub(super) cancel: bool,
    pub(super) enough: bool,
    /// The begin of the load.
    pub(super) begin: bool,
    /// Whether the schedules are over.
    pub(super) over: bool,
}

impl SentOnce {
    /// Returns how often the proxy looks around.
    pub(super) const fn look_interval(&self) -> Duration {
        match (self.cancel, self.begin) {
            (true, _) => ALIVE_INTERVAL_AFTER_CANCEL,
            (false, true) => ALIVE_INTERVAL,
            (false, false) => SETUP_LOOK_INTERVAL,
        }
    }
}

/// Something that a proxy has to react to.
pub(super) enum ProxyEvent {
    Received(MessageBody),
    /// The schedule has changed, or there will be none.
    Schedule(Option<Schedule>),
    /// It is time to look around.
    Tick,
}
