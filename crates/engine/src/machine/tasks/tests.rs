mod turns;

use std::future::pending;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use rustix::net::RecvFlags;
use smbench_model::Nanos;

use super::*;
use crate::machine::clock;
use crate::machine::poller::polled::PolledSocket;
use crate::machine::poller::polled::PolledTimer;
use crate::machine::runtime;

/// Longer than any of these tests takes.
const LIMIT: Duration = Duration::from_secs(60);

/// Adds a socket to the set; its peer is returned as well.
fn socket(poller: &Rc<Poller>) -> (PolledSocket, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let stream = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    stream.set_nonblocking(true).unwrap();
    let peer = listener.accept().unwrap().0;
    (PolledSocket::new(poller, stream).unwrap(), peer)
}

async fn receive_byte(socket: &PolledSocket) -> u8 {
    let mut byte = [0];
    let received = poll_fn(|context| socket.receive(context, &mut byte, RecvFlags::empty()));
    assert_eq!(received.await.unwrap(), 1);
    byte[0]
}

/// Runs `work` on a thread and a runtime like those of a worker. Fails if it does not end.
pub(in crate::machine) fn in_time(work: impl AsyncFnOnce() + Send + 'static) {
    let (ends, ended) = mpsc::channel();
    let working = thread::spawn(move || {
        runtime::local().unwrap().block_on(work());
        ends.send(()).unwrap();
    });
    let waited = ended.recv_timeout(LIMIT);
    assert_ne!(waited, Err(RecvTimeoutError::Timeout), "it does not end");
    if let Err(panic) = working.join() {
        resume_unwind(panic);
    }
}

/// Runs `work` with and without a socket in the set.
fn with_and_without_a_socket(work: impl AsyncFnOnce(Rc<Poller>) + Send + Copy + 'static) {
    for has_socket in [true, false] {
        in_time(async move || {
            let poller = Poller::new().unwrap();
            let _idle = has_socket.then(|| socket(&poller));
            work(poller).await;
        });
    }
}

async fn all<T>(tasks: &mut Tasks<'_, T>) -> Vec<T> {
    let mut ended = Vec::new();
    while let Some(output) = tasks.next().await.unwrap() {
        ended.push(output);
    }
    ended
}

/// Waits until a timer of the set expires.
async fn wait_until(poller: &Rc<Poller>, at: Nanos) {
    let timer = PolledTimer::new(poller).unwrap();
    timer.set(at.since(clock::now())).unwrap();
    poll_fn(|_| timer.poll_expired()).await.unwrap();
}

#[test]
fn tasks_end_in_the_order_of_their_timers() {
    with_and_without_a_socket(async |poller| {
        let mut tasks = Tasks::new(&poller).unwrap();
        tasks.push_helper(pending());
        let begin = clock::now();
        for after in [300_000_000, 100_000_000, 200_000_000] {
            let poller = &poller;
            tasks.push(Box::pin(async move {
                wait_until(poller, begin + Nanos(after)).await;
                after
            }));
        }
        assert_eq!(tasks.left, 3);
        let ended = all(&mut tasks).await;
        assert_eq!(ended, [100_000_000, 200_000_000, 300_000_000]);
    });
}

#[test]
fn a_helper_that_fails_is_reported() {
    with_and_without_a_socket(async |poller| {
        let mut tasks = Tasks::new(&poller).unwrap();
        tasks.push_helper(async { Ok(()) });
        tasks.push_helper(async { Err(io::ErrorKind::OutOfMemory.into()) });
        tasks.push(Box::pin(pending::<()>()));
        let failed = tasks.next().await.unwrap_err();
        assert_eq!(failed.kind(), io::ErrorKind::OutOfMemory);
        assert_eq!(tasks.left, 1);
    });
}

/// A wake that had to wait for tokio's turn would need a turn of its own.
#[test]
fn another_thread_ends_the_wait() {
    const ROUNDS: u32 = 400;
    in_time(async || {
        let poller = Poller::new().unwrap();
        let _idle = socket(&poller);
        let reached = Arc::new(AtomicU32::new(0));
        let (wakers, woken) = mpsc::channel::<Waker>();
        let rounds = Arc::clone(&reached);
        let other = thread::spawn(move || {
            for waker in woken {
                rounds.fetch_add(1, Ordering::SeqCst);
                waker.wake();
            }
        });
        let mut tasks = Tasks::new(&poller).unwrap();
        tasks.push(Box::pin(async move {
            for round in 0..ROUNDS {
                let mut is_sent = false;
                poll_fn(|context| {
                    if !std::mem::replace(&mut is_sent, true) {
                        wakers.send(context.waker().clone()).unwrap();
                    }
                    if reached.load(Ordering::SeqCst) > round {
                        Poll::Ready(())
                    } else {
                        Poll::Pending
                    }
                })
                .await;
            }
        }));
        let turns = Cell::new(0);
        let count_turns = poll_fn(|_| {
            turns.set(turns.get() + 1);
            Poll::<()>::Pending
        });
        tokio::select! {
            ended = tasks.next() => assert_eq!(ended.unwrap(), Some(())),
            () = count_turns => {}
        }
        assert!(turns.get() < ROUNDS * 9 / 10, "{}", turns.get());
        other.join().unwrap();
    });
}

/// One task wakes itself twice in each poll. Another task still receives its events, and the
/// list of due tasks stays short.
#[test]
fn a_busy_task_leaves_events_to_the_others() {
    with_and_without_a_socket(async |poller| {
        let is_polled = poller.has_sockets();
        let (socket, mut peer) = socket(&poller);
        let is_done = Cell::new(false);
        let mut tasks = Tasks::new(&poller).unwrap();
        if !is_polled {
            tasks.push_helper(on_tokio(pending()));
        }
        tasks.push(Box::pin(poll_fn(|context| {
            context.waker().wake_by_ref();
            context.waker().wake_by_ref();
            if is_done.get() {
                Poll::Ready(())
            } else {
                Poll::Pending
            }
        })));
        tasks.push(Box::pin(async {
            for round in 0..100 {
                peer.write_all(&[round]).unwrap();
                assert_eq!(receive_byte(&socket).await, round);
            }
            is_done.set(true);
        }));
        assert_eq!(all(&mut tasks).await, [(), ()]);
        assert!(tasks.due.capacity() < 64, "{}", tasks.due.capacity());
    });
}

/// After the load, fewer tasks use the same sockets in another order.
#[test]
fn sockets_wake_the_tasks_that_use_them_now() {
    in_time(async || {
        let poller = Poller::new().unwrap();
        let mut sockets: Vec<_> = (0..4).map(|_| socket(&poller)).collect();
        for number in [4, 3, 1] {
            let peers: Vec<_> = sockets.iter().map(|(_, peer)| peer.try_clone()).collect();
            // Its event is taken in before there are tasks.
            sockets[0].1.write_all(b"a").unwrap();
            let mut tasks = Tasks::new(&poller).unwrap();
            for (index, (socket, _)) in sockets.iter().take(number).enumerate() {
                tasks.push(Box::pin(async move {
                    while receive_byte(socket).await != b'!' {}
                    index
                }));
            }
            // The others have an event for a task that is not there any more.
            let sending = thread::spawn(move || {
                for peer in peers.into_iter().rev() {
                    thread::sleep(Duration::from_millis(5));
                    peer.unwrap().write_all(b"abc!").unwrap();
                }
            });
            let mut ended = all(&mut tasks).await;
            ended.sort_unstable();
            assert!(ended.into_iter().eq(0..number));
            sending.join().unwrap();
            drop(tasks);
            sockets.truncate(number);
            sockets.rotate_left(1);
        }
    });
}

/// A task that panics ends the others. One of them panics once more at that.
#[test]
fn a_panic_passes_once() {
    struct PanicsOnDrop;
    impl Drop for PanicsOnDrop {
        fn drop(&mut self) {
            panic!("second");
        }
    }
    with_and_without_a_socket(async |poller| {
        let panicking = catch_unwind(AssertUnwindSafe(|| {
            let mut tasks = Tasks::new(&poller).unwrap();
            tasks.push(Box::pin(async {
                let _panics = PanicsOnDrop;
                pending::<()>().await;
            }));
            tasks.push(Box::pin(async { panic!("first") }));
            let mut context = Context::from_waker(Waker::noop());
            let polled = pin!(tasks.next()).poll(&mut context);
            assert!(polled.is_pending());
        }));
        let said = panicking.unwrap_err();
        assert_eq!(said.downcast_ref::<&str>(), Some(&"first"));
    });
}
