//! The system calls of the load: bytes into a socket, and out of it.
//!
//! They are made directly. libc's are points at which a thread can be cancelled, which
//! each call pays for, and tokio's ask first whether the socket is ready, which it
//! nearly always is: who receives has been woken, and who sends finds room. tokio is
//! asked when it is not, and then wakes.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, recv, send};
use tokio::io::{AsyncWrite, Interest};
use tokio::net::TcpStream;
use tokio::task::coop;

/// Waits for bytes; as many as there are and fit, 0 once the peer has closed. With
/// [`RecvFlags::TRUNC`] they are dropped, and `room` stays as it is.
pub(in crate::run) fn poll_receive(
    stream: &TcpStream,
    context: &mut Context<'_>,
    room: &mut [u8],
    flags: RecvFlags,
) -> Poll<io::Result<usize>> {
    // A server that answers without end is not to keep the others from being heard.
    let budget = ready!(coop::poll_proceed(context));
    loop {
        let mut received = None;
        let tried = stream.try_io(Interest::READABLE, || {
            let (_, len) = recv(stream, &mut *room, flags)?;
            received = Some(len);
            // There was no more than that: what comes from now on wakes, so that nobody
            // has to ask for it in vain first.
            match 0 < len && len < room.len() {
                true => Err(io::ErrorKind::WouldBlock.into()),
                false => Ok(()),
            }
        });
        match (received, tried) {
            (Some(len), _) => {
                budget.made_progress();
                return Poll::Ready(Ok(len));
            }
            (None, Err(error)) if error.kind() != io::ErrorKind::WouldBlock => {
                return Poll::Ready(Err(error));
            }
            (None, _) => ready!(stream.poll_read_ready(context))?,
        }
    }
}

/// Sends as many of the bytes as the socket has room for; it wakes when there is more.
pub(in crate::run) fn send_some(
    stream: &mut TcpStream,
    context: &mut Context<'_>,
    bytes: &[u8],
) -> io::Result<usize> {
    let mut sent = 0;
    while sent < bytes.len() {
        let rest = &bytes[sent..];
        sent += match send(&*stream, rest, SendFlags::NOSIGNAL) {
            Ok(len) => len,
            Err(Errno::AGAIN) => match Pin::new(&mut *stream).poll_write(context, rest) {
                Poll::Ready(len) => len?,
                Poll::Pending => break,
            },
            Err(error) => return Err(error.into()),
        };
    }
    Ok(sent)
}
