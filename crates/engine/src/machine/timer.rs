//! A kernel timer with nanosecond resolution.

use std::io;
use std::rc::Rc;
use std::task::Poll;

use nix::sys::time::TimeSpec;
use nix::sys::timerfd::{ClockId, Expiration, TimerFd, TimerFlags, TimerSetTimeFlags};
use smbench_model::Nanos;

use crate::machine::poller::{FileKind, PolledFile, Poller};

/// A timer that wakes a task of [`Tasks`](crate::machine::tasks::Tasks).
///
/// It is in the same epoll set as the sockets, so its expiry is noticed in the order of events.
pub(crate) struct Timer {
    // Closed before its number in the set is free.
    timer: TimerFd,
    file: PolledFile,
}

impl Timer {
    pub(crate) fn new(poller: &Rc<Poller>) -> io::Result<Self> {
        let timer = descriptor()?;
        let file = PolledFile::new(poller, &timer, FileKind::Timer)?;
        Ok(Self { timer, file })
    }

    /// Sets the timer to expire once, after this time. This replaces an earlier
    /// setting.
    pub(crate) fn set(&self, after: Nanos) -> io::Result<()> {
        set(&self.timer, after)
    }

    /// Returns `Ready` once for each time that the timer has expired. Else, the current task
    /// is polled again when it expires.
    pub(crate) fn poll_expired(&self) -> Poll<io::Result<()>> {
        self.file.poll_read(|| Ok(self.timer.wait()?))
    }
}

pub(super) fn descriptor() -> io::Result<TimerFd> {
    let flags = TimerFlags::TFD_NONBLOCK | TimerFlags::TFD_CLOEXEC;
    Ok(TimerFd::new(ClockId::CLOCK_MONOTONIC, flags)?)
}

pub(super) fn set(timer: &TimerFd, after: Nanos) -> io::Result<()> {
    // Zero would turn the timer off.
    let after = TimeSpec::from_duration(after.max(Nanos(1)).into());
    Ok(timer.set(Expiration::OneShot(after), TimerSetTimeFlags::empty())?)
}
