use std::cell::RefCell;
use std::future::pending;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::AtomicU32;
use std::sync::mpsc;
use std::time::Duration;

use rustix::net::RecvFlags;
use smbench_model::Nanos;
use tokio::time::timeout;

use super::*;
use crate::machine::poller::PolledSocket;
use crate::machine::runtime;
use crate::machine::timer::Timer;

/// Longer than any of these tests takes.
const LIMIT: Duration = Duration::from_secs(30);

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

/// Runs `work` in a runtime like that of a worker, with and without a socket in the set.
fn with_and_without_a_socket(work: impl AsyncFn(Rc<Poller>)) {
    for has_socket in [true, false] {
        let limited = async {
            let poller = Poller::new().unwrap();
            let _idle = has_socket.then(|| socket(&poller));
            timeout(LIMIT, work(poller)).await.unwrap();
        };
        runtime::local().unwrap().block_on(limited);
    }
}

async fn all<T>(mut tasks: Tasks<'_, T>) -> Vec<T> {
    let mut ended = Vec::new();
    while let Some(output) = tasks.next().await.unwrap() {
        ended.push(output);
    }
    ended
}

#[test]
fn tasks_end_in_the_order_of_their_timers() {
    with_and_without_a_socket(async |poller| {
        let mut tasks = Tasks::new(&poller);
        tasks.push_helper(pending());
        for after in [30_u64, 10, 20] {
            let timer = Timer::new(&poller).unwrap();
            tasks.push(async move {
                timer.set(Nanos(after * 1_000_000)).unwrap();
                poll_fn(|_| timer.poll_expired()).await.unwrap();
                after
            });
        }
        assert_eq!(tasks.len(), 3);
        assert_eq!(all(tasks).await, [10, 20, 30]);
    });
}

#[test]
fn a_helper_that_fails_is_reported() {
    with_and_without_a_socket(async |poller| {
        let mut tasks = Tasks::new(&poller);
        tasks.push_helper(async { Ok(()) });
        tasks.push_helper(async { Err(io::ErrorKind::OutOfMemory.into()) });
        tasks.push(pending::<()>());
        let failed = tasks.next().await.unwrap_err();
        assert_eq!(failed.kind(), io::ErrorKind::OutOfMemory);
        assert_eq!(tasks.len(), 1);
    });
}

/// Wakes that had to wait for tokio's turn would take as many turns.
#[test]
fn another_thread_ends_the_wait() {
    const ROUNDS: u32 = 400;
    with_and_without_a_socket(async |poller| {
        let reached = Arc::new(AtomicU32::new(0));
        let (wakers, woken) = mpsc::channel::<Waker>();
        let rounds = Arc::clone(&reached);
        let other = thread::spawn(move || {
            for waker in woken {
                rounds.fetch_add(1, Ordering::SeqCst);
                waker.wake();
            }
        });
        let mut tasks = Tasks::new(&poller);
        tasks.push(async move {
            for round in 0..ROUNDS {
                let mut is_sent = false;
                poll_fn(|context| {
                    if !std::mem::replace(&mut is_sent, true) {
                        wakers.send(context.waker().clone()).unwrap();
                    }
                    match reached.load(Ordering::SeqCst) > round {
                        true => Poll::Ready(()),
                        false => Poll::Pending,
                    }
                })
                .await;
            }
        });
        let turns = Cell::new(0);
        let count_turns = poll_fn(|_| {
            turns.set(turns.get() + 1);
            Poll::<()>::Pending
        });
        let has_sockets = poller.has_sockets();
        tokio::select! {
            ended = tasks.next() => assert_eq!(ended.unwrap(), Some(())),
            () = count_turns => {}
        }
        if has_sockets {
            assert!(turns.get() < ROUNDS / 2, "{}", turns.get());
        }
        drop(tasks);
        other.join().unwrap();
    });
}

/// Timers of tokio expire although a socket always has bytes, and although what runs beside
/// the tasks drops their future each time.
#[test]
fn tokio_has_its_turns() {
    let poller = Poller::new().unwrap();
    let (socket, mut peer) = socket(&poller);
    let echoing = thread::spawn(move || {
        let mut byte = [0];
        while peer.read_exact(&mut byte).is_ok() && peer.write_all(&byte).is_ok() {}
    });
    let limited = async {
        let mut tasks = Tasks::new(&poller);
        tasks.push(async move {
            loop {
                assert_eq!(socket.send(&[7]).unwrap(), 1);
                assert_eq!(receive_byte(&socket).await, 7);
            }
        });
        let mut ticks = tokio::time::interval(Duration::from_millis(1));
        for _ in 0..10 {
            tokio::select! {
                ended = tasks.next() => assert_eq!(ended.unwrap(), Some(())),
                _ = ticks.tick() => {}
            }
        }
    };
    runtime::local().unwrap().block_on(limited);
    echoing.join().unwrap();
}

/// A debt to tokio outlives the future that made it.
#[test]
fn a_dropped_wait_still_owes_tokio_its_turn() {
    let owing = async {
        let poller = Poller::new().unwrap();
        let _idle = socket(&poller);
        let mut tasks = Tasks::<()>::new(&poller);
        tasks.push(pending());
        for _ in 0..3 {
            let once = poll_fn(|context| {
                let mut next = std::pin::pin!(tasks.next());
                assert!(next.as_mut().poll(context).is_pending());
                Poll::Ready(())
            });
            once.await;
            assert_eq!(tasks.turn, TokioTurn::Owed);
        }
    };
    runtime::local().unwrap().block_on(owing);
}

/// What waits for tokio is served at once, not at tokio's next turn, and sockets of the set
/// still wake.
#[test]
fn tokio_waits_for_all_while_a_task_needs_it() {
    const ROUNDS: u32 = 100;
    let both = async {
        let poller = Poller::new().unwrap();
        let (socket, mut peer) = socket(&poller);
        let socket = Rc::new(socket);
        let mut tasks = Tasks::new(&poller);
        let received = Rc::clone(&socket);
        tasks.push(async move {
            for round in 0..ROUNDS {
                assert_eq!(receive_byte(&received).await, round as u8);
            }
        });
        tasks.push(async move {
            for round in 0..ROUNDS {
                on_tokio(tokio::time::sleep(Duration::from_millis(1))).await;
                peer.write_all(&[round as u8]).unwrap();
            }
        });
        assert_eq!(timeout(LIMIT, all(tasks)).await.unwrap(), [(), ()]);
        assert_eq!(ON_TOKIO.get(), 0);
    };
    runtime::local().unwrap().block_on(both);
}

/// One task uses up the budget that tokio gives to all.
#[test]
fn a_greedy_task_leaves_budget_to_the_others() {
    with_and_without_a_socket(async |poller| {
        let is_done = Cell::new(false);
        let mut tasks = Tasks::new(&poller);
        tasks.push(on_tokio(async {
            while !is_done.get() {
                coop::consume_budget().await;
            }
        }));
        tasks.push(on_tokio(async {
            for _ in 0..1_000 {
                coop::consume_budget().await;
            }
            is_done.set(true);
        }));
        assert_eq!(all(tasks).await, [(), ()]);
    });
}

/// A task that wakes itself each time keeps no other from its events.
#[test]
fn a_busy_task_leaves_events_to_the_others() {
    with_and_without_a_socket(async |poller| {
        let (socket, mut peer) = socket(&poller);
        let is_done = Cell::new(false);
        let mut tasks = Tasks::new(&poller);
        tasks.push(poll_fn(|context| {
            context.waker().wake_by_ref();
            match is_done.get() {
                true => Poll::Ready(()),
                false => Poll::Pending,
            }
        }));
        tasks.push(async {
            for round in 0..100 {
                peer.write_all(&[round]).unwrap();
                assert_eq!(receive_byte(&socket).await, round);
            }
            is_done.set(true);
        });
        assert_eq!(all(tasks).await, [(), ()]);
    });
}

/// After the load, other tasks use the same sockets in another order.
#[test]
fn sockets_wake_the_tasks_that_use_them_now() {
    let both = async {
        let poller = Poller::new().unwrap();
        let mut sockets: Vec<_> = (0..3).map(|_| socket(&poller)).collect();
        for _ in 0..2 {
            sockets.rotate_left(1);
            let ends = RefCell::new(Vec::new());
            let mut tasks = Tasks::new(&poller);
            for (number, (socket, _)) in sockets.iter().enumerate() {
                let ends = &ends;
                tasks.push(async move {
                    assert_eq!(receive_byte(socket).await, number as u8);
                    ends.borrow_mut().push(number);
                });
            }
            let peers: Vec<_> = sockets.iter().map(|(_, peer)| peer.try_clone()).collect();
            let sending = thread::spawn(move || {
                for (number, peer) in peers.into_iter().enumerate().rev() {
                    thread::sleep(Duration::from_millis(5));
                    peer.unwrap().write_all(&[number as u8]).unwrap();
                }
            });
            assert_eq!(timeout(LIMIT, all(tasks)).await.unwrap().len(), 3);
            sending.join().unwrap();
            ends.borrow_mut().sort_unstable();
            assert_eq!(*ends.borrow(), [0, 1, 2]);
        }
    };
    runtime::local().unwrap().block_on(both);
}
