//! Turns of tokio's, and waits on tokio.

use super::*;

/// Timers of tokio expire although a socket always has bytes, and although what runs beside
/// the tasks drops their future each time.
#[test]
fn tokio_has_its_turns() {
    in_time(async || {
        let poller = Poller::new().unwrap();
        let (socket, mut peer) = socket(&poller);
        let echoing = thread::spawn(move || {
            let mut byte = [0];
            while peer.read_exact(&mut byte).is_ok() && peer.write_all(&byte).is_ok() {}
        });
        let mut tasks = Tasks::new(&poller).unwrap();
        tasks.push(Box::pin(async move {
            loop {
                assert_eq!(socket.send(&[7]).unwrap(), 1);
                assert_eq!(receive_byte(&socket).await, 7);
            }
        }));
        for _ in 0..10 {
            tokio::select! {
                ended = tasks.next() => assert_eq!(ended.unwrap(), Some(())),
                () = tokio::time::sleep(Duration::from_millis(1)) => {}
            }
        }
        drop(tasks);
        echoing.join().unwrap();
    });
}

/// A debt to tokio outlives the future that made it.
#[test]
fn a_dropped_wait_still_owes_tokio_its_turn() {
    in_time(async || {
        let poller = Poller::new().unwrap();
        let _idle = socket(&poller);
        let mut tasks = Tasks::<()>::new(&poller).unwrap();
        tasks.push(Box::pin(pending()));
        for _ in 0..3 {
            poll_fn(|context| {
                let mut next = pin!(tasks.next());
                assert!(next.as_mut().poll(context).is_pending());
                Poll::Ready(())
            })
            .await;
            assert_eq!(tasks.turn, TokioTurn::Owed);
        }
    });
}

/// Tokio serves a task on tokio at once, not at its next turn. Sockets of the set still wake
/// their tasks.
#[test]
fn tokio_waits_for_all_while_a_task_needs_it() {
    const ROUNDS: u8 = 100;
    in_time(async || {
        let poller = Poller::new().unwrap();
        let (socket, mut peer) = socket(&poller);
        let received = Cell::new(0);
        let mut tasks = Tasks::new(&poller).unwrap();
        tasks.push(Box::pin(async {
            for round in 0..ROUNDS {
                assert_eq!(receive_byte(&socket).await, round);
                received.set(round + 1);
            }
        }));
        tasks.push(Box::pin(on_tokio(async {
            for round in 0..ROUNDS {
                tokio::time::sleep(Duration::from_millis(1)).await;
                peer.write_all(&[round]).unwrap();
            }
            while received.get() < ROUNDS {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        })));
        assert_eq!(tasks.next().await.unwrap(), Some(()));
        assert_eq!(received.get(), ROUNDS);
        assert_eq!(tasks.next().await.unwrap(), Some(()));
        // The poller waited at no time, so no turn was needed.
        assert_eq!(tasks.turn, TokioTurn::Unset);
        assert_eq!(ON_TOKIO.get(), 0);
    });
}

/// Waits on tokio and waits of the poller alternate.
#[test]
fn tokio_waits_from_time_to_time() {
    in_time(async || {
        let poller = Poller::new().unwrap();
        let (socket, mut peer) = socket(&poller);
        let echoing = thread::spawn(move || {
            let mut byte = [0];
            while peer.read_exact(&mut byte).is_ok() {
                thread::sleep(Duration::from_millis(1));
                peer.write_all(&byte).unwrap();
            }
        });
        let mut tasks = Tasks::new(&poller).unwrap();
        tasks.push(Box::pin(async move {
            for round in 0..100 {
                assert_eq!(socket.send(&[round]).unwrap(), 1);
                assert_eq!(receive_byte(&socket).await, round);
                on_tokio(tokio::time::sleep(Duration::from_millis(1))).await;
            }
        }));
        assert_eq!(tasks.next().await.unwrap(), Some(()));
        assert!(tasks.nested.is_some());
        drop(tasks);
        echoing.join().unwrap();
    });
}

/// The poller leaves tokio some turns after tokio had to wait for it.
#[test]
fn tokio_waits_no_longer_than_needed() {
    in_time(async || {
        let poller = Poller::new().unwrap();
        let _idle = socket(&poller);
        let mut tasks = Tasks::new(&poller).unwrap();
        tasks.push(Box::pin(on_tokio(tokio::time::sleep(
            Duration::from_millis(1),
        ))));
        tasks.push(Box::pin(pending()));
        assert_eq!(tasks.next().await.unwrap(), Some(()));
        assert!(tasks.nested.is_some());
        while tasks.nested.is_some() {
            tokio::select! {
                ended = tasks.next() => assert_eq!(ended.unwrap(), Some(())),
                () = tokio::time::sleep(Duration::from_millis(100)) => {}
            }
        }
        assert!(tasks.unused_turns > UNUSED_TURNS_MAX);
    });
}

/// Tasks that use up the budget that tokio gives to all leave enough to another one.
#[test]
fn greedy_tasks_leave_budget_to_the_others() {
    with_and_without_a_socket(async |poller| {
        let is_done = Cell::new(false);
        let greedy = async || {
            while !is_done.get() {
                coop::consume_budget().await;
            }
        };
        let mut tasks = Tasks::new(&poller).unwrap();
        tasks.push(Box::pin(on_tokio(greedy())));
        tasks.push(Box::pin(on_tokio(async {
            for _ in 0..1_000 {
                coop::consume_budget().await;
            }
            is_done.set(true);
        })));
        tasks.push(Box::pin(on_tokio(greedy())));
        assert_eq!(all(&mut tasks).await, [(); 3]);
    });
}

/// A timer of the set is noticed although tasks use up the budget.
#[test]
fn greedy_tasks_keep_no_timer_from_expiring() {
    in_time(async || {
        let poller = Poller::new().unwrap();
        let is_done = Cell::new(false);
        let mut tasks = Tasks::new(&poller).unwrap();
        tasks.push_helper(async {
            wait_until(&poller, clock::now() + Nanos(1_000_000)).await;
            is_done.set(true);
            Ok(())
        });
        for _ in 0..3 {
            tasks.push(Box::pin(async {
                while !is_done.get() {
                    coop::consume_budget().await;
                }
            }));
        }
        assert_eq!(all(&mut tasks).await, [(); 3]);
    });
}
