//! The socket of a connection: tokio's, and in the worker's epoll set under load.
//!
//! System calls under load are made directly, because each call through libc is a point at
//! which a thread can be cancelled, which costs time.

use std::io;
use std::rc::Rc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use rustix::fd::{AsFd as _, BorrowedFd};
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, recv, send};
use socket2::SockRef;
use tokio::io::Interest;
use tokio::net::TcpStream;
use tokio::task::coop;

use crate::machine::poller::Poller;
use crate::machine::poller::polled::PolledSocket;
use crate::machine::tcp;

/// The socket of a connection.
#[derive(Debug)]
pub(crate) enum ConnectionSocket {
    Tokio(TcpStream),
    Polled(PolledSocket),
    /// It could not change its place.
    Lost,
}

impl From<TcpStream> for ConnectionSocket {
    fn from(stream: TcpStream) -> Self {
        Self::Tokio(stream)
    }
}

impl ConnectionSocket {
    /// Moves the socket to this set, for the load.
    pub(crate) fn enter(&mut self, poller: &Rc<Poller>) -> io::Result<()> {
        *self = match std::mem::replace(self, Self::Lost) {
            Self::Tokio(stream) => Self::Polled(PolledSocket::new(poller, stream.into_std()?)?),
            Self::Polled(socket) => Self::Polled(socket),
            Self::Lost => return Err(lost()),
        };
        Ok(())
    }

    /// Returns tokio's socket. After the load, moves it back to tokio first.
    pub(crate) fn leave(&mut self) -> io::Result<&mut TcpStream> {
        if let Self::Polled(_) = self
            && let Self::Polled(socket) = std::mem::replace(self, Self::Lost)
        {
            *self = Self::Tokio(TcpStream::from_std(socket.leave()?)?);
        }
        match self {
            Self::Tokio(stream) => Ok(stream),
            Self::Polled(_) | Self::Lost => Err(lost()),
        }
    }

    /// Returns tokio's socket. Fails under load.
    pub(crate) fn of_tokio(&self) -> io::Result<&TcpStream> {
        match self {
            Self::Tokio(stream) => Ok(stream),
            Self::Polled(_) | Self::Lost => Err(lost()),
        }
    }

    /// Makes the connection end with a reset when it is closed, as if its path had failed.
    pub(crate) fn reset_on_close(&self) {
        let at_once = Some(Duration::ZERO);
        // Without the option, the connection ends in the usual way.
        let _ = match self {
            Self::Tokio(stream) => SockRef::from(stream).set_linger(at_once),
            Self::Polled(socket) => socket.options().set_linger(at_once),
            Self::Lost => Ok(()),
        };
    }

    /// Returns whether TCP waits in vain for the acknowledgement of what was sent: after two
    /// retransmissions in a row, about 600 ms on a fast network.
    pub(crate) fn is_unacknowledged(&self) -> bool {
        const RETRANSMISSIONS: u8 = 2;
        let of = |socket: SockRef<'_>| {
            let local = socket.local_addr().ok()?.as_socket()?;
            Some((local, socket.peer_addr().ok()?.as_socket()?))
        };
        let addresses = match self {
            Self::Tokio(stream) => of(SockRef::from(stream)),
            Self::Polled(socket) => of(socket.options()),
            Self::Lost => None,
        };
        addresses.is_some_and(|(local, server)| {
            let in_a_row = tcp::retransmissions_in_a_row(local, server);
            in_a_row.is_some_and(|count| count >= RETRANSMISSIONS)
        })
    }

    /// Returns whether the connection has ended, and everything received on it was read.
    pub(crate) fn has_ended(&self) -> bool {
        let peek = |stream: BorrowedFd<'_>| {
            let flags = RecvFlags::PEEK | RecvFlags::DONTWAIT;
            match recv(stream, &mut [0; 1], flags) {
                Ok((_, read)) => read == 0,
                Err(error) => error != Errno::AGAIN && error != Errno::INTR,
            }
        };
        match self {
            Self::Tokio(stream) => peek(stream.as_fd()),
            Self::Polled(socket) => peek(socket.as_fd()),
            Self::Lost => true,
        }
    }

    /// Receives the bytes that are there and fit into `room`, and waits if there are
    /// none. Returns 0 once the peer has closed. With [`RecvFlags::TRUNC`] the kernel drops
    /// the bytes, and `room`, which must not be empty, stays unchanged.
    #[inline]
    pub(crate) fn poll_receive(
        &self,
        context: &mut Context<'_>,
        room: &mut [u8],
        flags: RecvFlags,
    ) -> Poll<io::Result<usize>> {
        match self {
            Self::Polled(socket) => socket.receive(context, room, flags),
            Self::Tokio(stream) => poll_receive(stream, context, room, flags),
            Self::Lost => Poll::Ready(Err(lost())),
        }
    }

    /// Sends as many of the bytes as the socket has room for. The task is woken when
    /// there is more room. The caller must bound the length of `bytes`, because one
    /// call may send all of them.
    #[inline]
    pub(crate) fn send_some(&self, context: &mut Context<'_>, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Polled(socket) => socket.send(bytes),
            Self::Tokio(stream) => send_some(stream, context, bytes),
            Self::Lost => Err(lost()),
        }
    }
}

fn lost() -> io::Error {
    io::Error::new(
        io::ErrorKind::NotConnected,
        "the socket is not in its place",
    )
}

#[inline(never)]
fn poll_receive(
    stream: &TcpStream,
    context: &mut Context<'_>,
    room: &mut [u8],
    flags: RecvFlags,
) -> Poll<io::Result<usize>> {
    // The budget lets other tasks run if a server answers without a pause.
    let budget = ready!(coop::poll_proceed(context));
    let wanted = room.len();
    loop {
        let receive = || Ok(recv(stream, &mut *room, flags)?.1);
        if let Some(len) = attempt(stream, Interest::READABLE, wanted, receive)? {
            budget.made_progress();
            return Poll::Ready(Ok(len));
        }
        ready!(stream.poll_read_ready(context))?;
    }
}

#[inline(never)]
fn send_some(stream: &TcpStream, context: &mut Context<'_>, bytes: &[u8]) -> io::Result<usize> {
    let mut sent = 0;
    while sent < bytes.len() {
        let rest = &bytes[sent..];
        let transfer = || Ok(send(stream, rest, SendFlags::NOSIGNAL)?);
        match attempt(stream, Interest::WRITABLE, rest.len(), transfer)? {
            Some(len) => sent += len,
            None => match stream.poll_write_ready(context) {
                Poll::Ready(ready) => ready?,
                Poll::Pending => break,
            },
        }
    }
    Ok(sent)
}

/// Transfers up to `wanted` bytes if tokio's flags say that the socket is ready.
/// Returns the number of bytes, or `None` if the socket was not ready.
fn attempt(
    stream: &TcpStream,
    interest: Interest,
    wanted: usize,
    transfer: impl FnOnce() -> io::Result<usize>,
) -> io::Result<Option<usize>> {
    let mut transferred = None;
    let tried = stream.try_io(interest, || {
        let len = transfer()?;
        transferred = Some(len);
        // A short transfer has emptied or filled the socket. This error makes tokio clear its
        // flag until the system reports the socket ready again. Without it, a client with a
        // quick answer would continue at once, before the others.
        if 0 < len && len < wanted {
            Err(io::ErrorKind::WouldBlock.into())
        } else {
            Ok(())
        }
    });
    match (transferred, tried) {
        (Some(_), _) => Ok(transferred),
        (None, Err(error)) if error.kind() != io::ErrorKind::WouldBlock => Err(error),
        (None, _) => Ok(None),
    }
}

#[cfg(test)]
mod tests;
