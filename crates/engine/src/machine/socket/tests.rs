use std::future::poll_fn;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream as Peer};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use tokio::io::AsyncReadExt;

use super::*;
use crate::machine::tasks::tests::in_time;
use crate::machine::tasks::{Tasks, on_tokio};

fn pair() -> (ConnectionSocket, Peer) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let stream = Peer::connect(listener.local_addr().unwrap()).unwrap();
    stream.set_nonblocking(true).unwrap();
    let stream = TcpStream::from_std(stream).unwrap();
    (stream.into(), listener.accept().unwrap().0)
}

/// Runs a test with tokio's socket, and with one in an epoll set: waited for there, and by
/// tokio.
fn everywhere(test: impl AsyncFnOnce(ConnectionSocket, Peer, Rc<Poller>) + Send + Copy + 'static) {
    for (is_polled, is_on_tokio) in [(false, false), (true, false), (true, true)] {
        in_time(async move || {
            let poller = Poller::new().unwrap();
            let (mut socket, peer) = pair();
            if is_polled {
                socket.enter(&poller).unwrap();
            }
            let mut tasks = Tasks::new(&poller).unwrap();
            let test = test(socket, peer, Rc::clone(&poller));
            if is_on_tokio {
                tasks.push(Box::pin(on_tokio(test)));
            } else {
                tasks.push(Box::pin(test));
            }
            assert_eq!(tasks.next().await.unwrap(), Some(()));
        });
    }
}

async fn receive(
    socket: &ConnectionSocket,
    room: &mut [u8],
    flags: RecvFlags,
) -> io::Result<usize> {
    poll_fn(|context| socket.poll_receive(context, room, flags)).await
}

async fn send_all(socket: &ConnectionSocket, bytes: &[u8]) -> io::Result<()> {
    let mut sent = 0;
    poll_fn(|context| {
        sent += socket.send_some(context, &bytes[sent..])?;
        if sent < bytes.len() {
            Poll::Pending
        } else {
            Poll::Ready(Ok(()))
        }
    })
    .await
}

/// Returns whether no byte is waiting. If so, arriving bytes wake the caller.
async fn is_empty(socket: &ConnectionSocket) -> bool {
    let mut room = [0; 1];
    poll_fn(|context| {
        let polled = socket.poll_receive(context, &mut room, RecvFlags::PEEK);
        Poll::Ready(polled.is_pending())
    })
    .await
}

#[test]
fn what_comes_after_less_than_there_was_room_for_wakes() {
    everywhere(async |socket, mut peer, _| {
        for flags in [RecvFlags::empty(), RecvFlags::TRUNC] {
            let mut room = [0; 8];
            for _ in 0..3 {
                peer.write_all(b"abc").unwrap();
                assert_eq!(receive(&socket, &mut room, flags).await.unwrap(), 3);
                assert!(is_empty(&socket).await);
                let mut later = peer.try_clone().unwrap();
                let later = thread::spawn(move || {
                    thread::sleep(Duration::from_millis(5));
                    later.write_all(b"de").unwrap();
                });
                assert_eq!(receive(&socket, &mut room, flags).await.unwrap(), 2);
                later.join().unwrap();
            }
            let kept = if flags.is_empty() { *b"dec" } else { [0; 3] };
            assert_eq!(room[..3], kept);
        }
    });
}

#[test]
fn as_much_as_there_is_room_for_leaves_the_rest_for_the_next_time() {
    everywhere(async |socket, mut peer, _| {
        peer.write_all(b"abcdef").unwrap();
        let mut room = [0; 4];
        for expected in [4, 2] {
            let received = receive(&socket, &mut room, RecvFlags::empty()).await;
            assert_eq!(received.unwrap(), expected);
        }
        assert_eq!(&room, b"efcd");
        assert!(is_empty(&socket).await);
    });
}

/// The end arrives together with the last bytes.
#[test]
fn the_end_comes_after_the_last_bytes_and_stays() {
    everywhere(async |socket, mut peer, _| {
        // One event reports the bytes and the end.
        assert!(is_empty(&socket).await);
        peer.write_all(b"abc").unwrap();
        drop(peer);
        let mut room = [0; 8];
        for expected in [3, 0, 0] {
            let received = receive(&socket, &mut room, RecvFlags::empty()).await;
            assert_eq!(received.unwrap(), expected);
        }
    });
}

#[test]
fn a_connection_that_is_reset_says_so() {
    everywhere(async |socket, mut peer, _| {
        assert!(is_empty(&socket).await);
        let later = thread::spawn(move || {
            thread::sleep(Duration::from_millis(5));
            // Closing with bytes left unread resets the connection.
            peer.read_exact(&mut [0]).unwrap();
        });
        send_all(&socket, b"abc").await.unwrap();
        let received = receive(&socket, &mut [0; 8], RecvFlags::empty()).await;
        assert_eq!(received.unwrap_err().kind(), io::ErrorKind::ConnectionReset);
        later.join().unwrap();
        assert!(send_all(&socket, b"abc").await.is_err());
    });
}

/// Other tasks run in between, and no byte is lost.
#[test]
fn bytes_without_end_are_received_with_pauses() {
    const BYTES: usize = 1000;
    everywhere(async |socket, mut peer, _| {
        peer.write_all(&[7; BYTES]).unwrap();
        let (mut received, mut pauses) = (0, 0);
        poll_fn(|context| {
            while received < BYTES {
                let polled = socket.poll_receive(context, &mut [0], RecvFlags::empty());
                let Poll::Ready(len) = polled else {
                    pauses += 1;
                    return Poll::Pending;
                };
                received += len.unwrap();
            }
            Poll::Ready(())
        })
        .await;
        assert!(pauses > 0);
    });
}

#[test]
fn a_full_socket_takes_no_more_and_wakes_when_it_does() {
    // More than the buffers of a socket hold on any machine that is set up as usual.
    const BYTES: usize = 64 << 20;
    everywhere(async |socket, mut peer, _| {
        let (full, is_full) = mpsc::channel();
        let receiving = thread::spawn(move || {
            is_full.recv().unwrap();
            let mut received = vec![0; BYTES];
            peer.read_exact(&mut received).unwrap();
            received
        });
        let bytes = vec![7; BYTES];
        let mut sent = 0;
        poll_fn(|context| {
            sent += socket.send_some(context, &bytes[sent..]).unwrap();
            if sent < BYTES {
                // Tokio learns at the first pause that the socket can be written to.
                if sent > 0 {
                    full.send(()).unwrap();
                }
                Poll::Pending
            } else {
                Poll::Ready(())
            }
        })
        .await;
        assert!(receiving.join().unwrap() == bytes);
    });
}

/// Bytes in the receive buffer survive the move of their socket.
#[test]
fn bytes_move_with_their_socket() {
    everywhere(async |mut socket, mut peer, poller| {
        let mut room = [0; 2];
        for _ in 0..3 {
            peer.write_all(b"abcd").unwrap();
            socket.enter(&poller).unwrap();
            assert!(socket.of_tokio().is_err());
            let received = receive(&socket, &mut room, RecvFlags::empty()).await;
            assert_eq!((received.unwrap(), &room), (2, b"ab"));
            let stream = socket.leave().unwrap();
            assert_eq!(on_tokio(stream.read_exact(&mut room)).await.unwrap(), 2);
            assert_eq!(&room, b"cd");
        }
        assert!(!poller.has_sockets());
    });
}
