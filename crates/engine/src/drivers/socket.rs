//! The system calls under load: send bytes to a socket, and receive bytes from it.
//!
//! They are made directly, because each call through libc is a point at which a
//! thread can be cancelled, which costs time. The calls first check tokio's flags,
//! which say whether a socket was last seen ready. Tokio's tasks and budgets are
//! used only if the socket was not ready.
//!
//! Caches are cold at each wake-up, so the number of lines of code counts. A receive that
//! took less than it had room for has emptied its socket. The next one then asks tokio at
//! once to be woken, and does not try in vain.

use std::io;
use std::task::{Context, Poll, ready};

use rustix::net::{RecvFlags, SendFlags, recv, send};
use tokio::io::Interest;
use tokio::net::TcpStream;
use tokio::task::coop;

use crate::drivers::dropped::Dropped;

/// What is known of the bytes that arrive at a socket.
#[derive(Debug, Default)]
pub(crate) struct Intake {
    /// Whether the last receive took everything that was there.
    is_empty: bool,
}

/// Receives the bytes that are there and fit into `room`, and waits if there are
/// none. Fails once the peer has closed. With [`RecvFlags::TRUNC`] the kernel drops
/// the bytes, and `room`, which must not be empty, stays unchanged.
pub(crate) fn poll_receive(
    stream: &TcpStream,
    intake: &mut Intake,
    context: &mut Context<'_>,
    room: &mut [u8],
    flags: RecvFlags,
) -> Poll<Result<usize, Dropped>> {
    let wanted = room.len();
    loop {
        if !intake.is_empty {
            // The budget lets other tasks run if a server answers without a pause.
            let budget = ready!(coop::poll_proceed(context));
            let receive = || Ok(recv(stream, &mut *room, flags)?.1);
            if let Some(len) = attempt(stream, Interest::READABLE, wanted, receive)? {
                budget.made_progress();
                intake.is_empty = 0 < len && len < wanted;
                return Poll::Ready(match len {
                    0 => Err(Dropped::Closed),
                    len => Ok(len),
                });
            }
        }
        // When the task is polled again, most often bytes have arrived.
        *intake = Intake::default();
        ready!(stream.poll_read_ready(context))?;
    }
}

/// Sends as many of the bytes as the socket has room for. The task is woken when
/// there is more room. The caller must bound the length of `bytes`, because one
/// call may send all of them.
pub(crate) fn send_some(
    stream: &TcpStream,
    context: &mut Context<'_>,
    bytes: &[u8],
) -> io::Result<usize> {
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
        // A short transfer has emptied or filled the socket. This error makes tokio
        // clear its flag until the system reports the socket ready again. That
        // saves a later call that would transfer nothing.
        match 0 < len && len < wanted {
            true => Err(io::ErrorKind::WouldBlock.into()),
            false => Ok(()),
        }
    });
    match (transferred, tried) {
        (Some(_), _) => Ok(transferred),
        (None, Err(error)) if error.kind() != io::ErrorKind::WouldBlock => Err(error),
        (None, _) => Ok(None),
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;
    use std::time::Duration;

    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;
    use tokio::time::timeout;

    use super::*;

    /// Longer than any step of these tests takes.
    const LIMIT: Duration = Duration::from_secs(30);

    async fn pair() -> (TcpStream, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let connecting = TcpStream::connect(listener.local_addr().unwrap());
        let (stream, accepted) = tokio::join!(connecting, listener.accept());
        (stream.unwrap(), accepted.unwrap().0)
    }

    async fn receive(
        stream: &TcpStream,
        intake: &mut Intake,
        room: &mut [u8],
        flags: RecvFlags,
    ) -> usize {
        let received = poll_fn(|context| poll_receive(stream, intake, context, room, flags));
        timeout(LIMIT, received).await.unwrap().unwrap()
    }

    /// Returns whether no byte is waiting. If so, arriving bytes wake the caller.
    async fn is_empty(stream: &TcpStream) -> bool {
        let mut room = [0; 1];
        poll_fn(|context| {
            // One that knows nothing looks itself.
            let intake = &mut Intake::default();
            let polled = poll_receive(stream, intake, context, &mut room, RecvFlags::PEEK);
            Poll::Ready(polled.is_pending())
        })
        .await
    }

    #[tokio::test]
    async fn what_comes_after_less_than_there_was_room_for_wakes() {
        for flags in [RecvFlags::empty(), RecvFlags::TRUNC] {
            let (stream, mut peer) = pair().await;
            let intake = &mut Intake::default();
            let mut room = [0; 8];
            for _ in 0..3 {
                peer.write_all(b"abc").await.unwrap();
                assert_eq!(receive(&stream, intake, &mut room, flags).await, 3);
                assert!(is_empty(&stream).await);
                let later = async {
                    tokio::time::sleep(Duration::from_millis(20)).await;
                    peer.write_all(b"de").await.unwrap();
                };
                let (len, ()) = tokio::join!(receive(&stream, intake, &mut room, flags), later);
                assert_eq!(len, 2);
            }
            let kept = if flags.is_empty() { *b"dec" } else { [0; 3] };
            assert_eq!(room[..3], kept);
        }
    }

    #[tokio::test]
    async fn as_much_as_there_is_room_for_leaves_the_rest_for_the_next_time() {
        let (stream, mut peer) = pair().await;
        let intake = &mut Intake::default();
        peer.write_all(b"abcdef").await.unwrap();
        let mut room = [0; 4];
        assert_eq!(
            receive(&stream, intake, &mut room, RecvFlags::empty()).await,
            4
        );
        assert_eq!(
            receive(&stream, intake, &mut room, RecvFlags::empty()).await,
            2
        );
        assert_eq!(&room, b"efcd");
        assert!(is_empty(&stream).await);
    }

    #[tokio::test]
    async fn the_end_comes_after_the_last_bytes_and_stays() {
        let (stream, mut peer) = pair().await;
        let intake = &mut Intake::default();
        peer.write_all(b"abc").await.unwrap();
        drop(peer);
        let mut room = [0; 8];
        assert_eq!(
            receive(&stream, intake, &mut room, RecvFlags::empty()).await,
            3
        );
        for _ in 0..2 {
            let flags = RecvFlags::empty();
            let at_end =
                poll_fn(|context| poll_receive(&stream, intake, context, &mut room, flags));
            let at_end = timeout(LIMIT, at_end).await.unwrap();
            assert!(matches!(at_end, Err(Dropped::Closed)), "{at_end:?}");
        }
    }

    /// Other tasks run in between, and no byte is lost.
    #[tokio::test]
    async fn bytes_without_end_are_received_with_pauses() {
        const BYTES: usize = 1000;
        let (stream, mut peer) = pair().await;
        peer.write_all(&[7; BYTES]).await.unwrap();
        let mut intake = Intake::default();
        let (mut received, mut pauses) = (0, 0);
        let all = poll_fn(|context| {
            while received < BYTES {
                let flags = RecvFlags::empty();
                let polled = poll_receive(&stream, &mut intake, context, &mut [0], flags);
                let Poll::Ready(len) = polled else {
                    pauses += 1;
                    return Poll::Pending;
                };
                received += len.unwrap();
            }
            Poll::Ready(())
        });
        timeout(LIMIT, all).await.unwrap();
        assert!(pauses > 0);
    }

    #[tokio::test]
    async fn a_full_socket_takes_no_more_and_wakes_when_it_does() {
        const BYTES: usize = 32 << 20;
        let (stream, mut peer) = pair().await;
        let bytes = vec![7; BYTES];
        let (mut sent, mut pauses) = (0, 0);
        let sending = poll_fn(|context| {
            sent += send_some(&stream, context, &bytes[sent..]).unwrap();
            match sent < BYTES {
                true => {
                    pauses += 1;
                    Poll::Pending
                }
                false => Poll::Ready(()),
            }
        });
        let receiving = async {
            let mut received = vec![0; BYTES];
            peer.read_exact(&mut received).await.unwrap();
            received
        };
        let ((), received) = timeout(LIMIT, async { tokio::join!(sending, receiving) })
            .await
            .unwrap();
        assert!(pauses > 0);
        assert!(received == bytes);
    }
}
