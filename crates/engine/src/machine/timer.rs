//! A kernel timer with nanosecond resolution.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};

use nix::sys::time::TimeSpec;
use nix::sys::timerfd::{ClockId, Expiration, TimerFd, TimerFlags, TimerSetTimeFlags};
use smbench_model::Nanos;

/// A file that is readable once the timer has expired.
#[derive(Debug)]
pub(super) struct KernelTimer(TimerFd);

impl KernelTimer {
    pub(super) fn new() -> io::Result<Self> {
        let flags = TimerFlags::TFD_NONBLOCK | TimerFlags::TFD_CLOEXEC;
        Ok(Self(TimerFd::new(ClockId::CLOCK_MONOTONIC, flags)?))
    }

    /// Sets the timer to expire once, after this time.
    pub(super) fn set(&self, after: Nanos) -> io::Result<()> {
        // Zero would turn the timer off.
        let after = TimeSpec::from_duration(after.max(Nanos(1)).into());
        let expiration = Expiration::OneShot(after);
        Ok(self.0.set(expiration, TimerSetTimeFlags::empty())?)
    }

    /// Takes the expiry. Fails with `WouldBlock` if the timer has not expired.
    pub(super) fn take_expiry(&self) -> io::Result<()> {
        Ok(self.0.wait()?)
    }
}

impl AsFd for KernelTimer {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}
