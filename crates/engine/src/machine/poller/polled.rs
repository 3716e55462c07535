//! The files that tasks wait for in the set of a poller: sockets and timers.

use std::hint;
use std::io;
use std::net::TcpStream;
use std::rc::Rc;
use std::task::{Context, Poll};

use rustix::event::epoll;
use rustix::fd::{AsFd as _, BorrowedFd};
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, recv, send};
use smbench_model::Nanos;
use socket2::SockRef;

use super::{FileKind, PolledFile, Poller};
use crate::machine::timer::KernelTimer;

/// Receives of a task after which other tasks have a turn.
const RECEIVES_MAX: u32 = 128;

/// A socket in a set.
#[derive(Debug)]
pub(crate) struct PolledSocket {
    stream: TcpStream,
    file: PolledFile,
}

impl PolledSocket {
    /// Adds a socket that does not block.
    pub(crate) fn new(poller: &Rc<Poller>, stream: TcpStream) -> io::Result<Self> {
        let file = PolledFile::new(poller, &stream, FileKind::Socket)?;
        Ok(Self { stream, file })
    }

    /// Returns the socket for reading and setting its options.
    pub(crate) fn options(&self) -> SockRef<'_> {
        SockRef::from(&self.stream)
    }

    /// Returns the descriptor of the socket.
    pub(crate) fn as_fd(&self) -> BorrowedFd<'_> {
        self.stream.as_fd()
    }

    /// Takes the socket out of the set.
    pub(crate) fn leave(self) -> io::Result<TcpStream> {
        epoll::delete(&self.file.poller.set, &self.stream)?;
        Ok(self.stream)
    }

    /// Receives the bytes that are there. If there are none, the current task is polled again
    /// when some have arrived. Returns 0 once the peer has closed.
    pub(crate) fn receive(
        &self,
        context: &Context<'_>,
        room: &mut [u8],
        flags: RecvFlags,
    ) -> Poll<io::Result<usize>> {
        let PolledFile {
            poller, readiness, ..
        } = &self.file;
        // The sockets of a task count together, or they would take turns without end.
        if poller.receives.get() == RECEIVES_MAX {
            hint::cold_path();
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        let wanted = room.len();
        self.file.poll_read(|| {
            let len = recv(&self.stream, room, flags)?.1;
            poller.receives.set(poller.receives.get() + 1);
            // A short receive has emptied the socket. After the end, no further event comes.
            let is_emptied = 0 < len && len < wanted && !readiness.is_ended.get();
            readiness.is_readable.set(!is_emptied);
            Ok(len)
        })
    }

    /// Sends as many of the bytes as the socket has room for. The current task is polled
    /// again when there is more room.
    pub(crate) fn send(&self, bytes: &[u8]) -> io::Result<usize> {
        let is_writable = &self.file.readiness.is_writable;
        let mut sent = 0;
        while sent < bytes.len() && is_writable.get() {
            match send(&self.stream, &bytes[sent..], SendFlags::NOSIGNAL) {
                Ok(len) => sent += len,
                Err(Errno::WOULDBLOCK) => is_writable.set(false),
                Err(error) => return Err(error.into()),
            }
        }
        if sent < bytes.len() {
            hint::cold_path();
            self.file.await_event();
        }
        Ok(sent)
    }
}

/// A timer in a set. Its expiry is noticed in the order of events.
pub(crate) struct PolledTimer {
    // Closed before its number in the set is free.
    timer: KernelTimer,
    file: PolledFile,
}

impl PolledTimer {
    /// Makes a timer that is not set.
    pub(crate) fn new(poller: &Rc<Poller>) -> io::Result<Self> {
        let timer = KernelTimer::new()?;
        let file = PolledFile::new(poller, &timer, FileKind::Timer)?;
        Ok(Self { timer, file })
    }

    /// Sets the timer to expire once, after this time. This replaces an earlier
    /// setting.
    pub(crate) fn set(&self, after: Nanos) -> io::Result<()> {
        self.timer.set(after)
    }

    /// Returns `Ready` once for each time that the timer has expired. Else, the current task
    /// is polled again when it expires.
    pub(crate) fn poll_expired(&self) -> Poll<io::Result<()>> {
        self.file.poll_read(|| self.timer.take_expiry())
    }
}
