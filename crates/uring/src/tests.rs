//! Rings with sockets of this machine. Where its kernel refuses io_uring, as in many
//! containers, the tests hold a ring to the same refusal.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread;
use std::time::Instant;

use super::*;

/// Longer than any step of these tests takes.
const LIMIT: Duration = Duration::from_secs(30);
const SIZE: RingSize = RingSize {
    sockets: 4,
    buffers: 4,
    buffer_len: 1000,
    batch: 4,
};

/// Returns a ring, or `None` if the kernel refuses io_uring to everybody.
fn ring(size: RingSize) -> Option<Ring> {
    let error = match Ring::new(size) {
        Ok(ring) => return Some(ring),
        Err(error) => error,
    };
    let mut parameters = [0_u64; 16];
    // SAFETY: the parameters have 120 bytes.
    let file = unsafe { libc::syscall(libc::SYS_io_uring_setup, 1, parameters.as_mut_ptr()) };
    let refused = io::Error::last_os_error();
    assert!(
        file < 0,
        "the kernel permits io_uring, but not ours: {error}"
    );
    assert_eq!(error.raw_os_error(), refused.raw_os_error());
    None
}

fn pair() -> (OwnedFd, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let ours = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let (theirs, _) = listener.accept().unwrap();
    theirs.set_read_timeout(Some(LIMIT)).unwrap();
    theirs.set_write_timeout(Some(LIMIT)).unwrap();
    (ours.into(), theirs)
}

/// Waits until the ring says that something has happened, as an observer of edges does.
fn wait(ring: &mut Ring) {
    let mut polled = libc::pollfd {
        fd: ring.signal().unwrap().as_raw_fd(),
        events: libc::POLLIN,
        revents: 0,
    };
    // SAFETY: one structure, and a limit in milliseconds.
    let ready = unsafe { libc::poll(&raw mut polled, 1, 30_000) };
    assert_eq!(ready, 1, "nothing happened");
    let mut count = [0; 8];
    // SAFETY: the length of the buffer.
    let read = unsafe { libc::read(polled.fd, count.as_mut_ptr().cast(), count.len()) };
    assert_eq!(read, 8);
}

/// Returns the next event, with a limit.
fn next(ring: &mut Ring) -> RingEvent {
    let begin = Instant::now();
    ring.signal().unwrap();
    loop {
        if let Some(event) = ring.next_event() {
            return event;
        }
        assert!(begin.elapsed() < LIMIT, "no event");
        ring.turn().unwrap();
        if let Some(event) = ring.next_event() {
            return event;
        }
        wait(ring);
    }
}

/// Collects this many bytes of a socket; other events are not expected.
fn collect(ring: &mut Ring, from: SocketNumber, count: usize) -> Vec<u8> {
    let mut all = Vec::new();
    while all.len() < count {
        match next(ring) {
            RingEvent::Received {
                socket,
                buffer,
                len,
            } => {
                assert_eq!(socket, from);
                all.extend_from_slice(&buffer[..len]);
                ring.provide(buffer);
            }
            RingEvent::Sent { how, .. } => how.unwrap(),
            RingEvent::Ended { .. } => panic!("ended after {} bytes", all.len()),
        }
    }
    all
}

fn pattern(count: usize) -> Vec<u8> {
    (0..count).map(|at| (at * 7 % 251) as u8).collect()
}

#[test]
fn bytes_go_both_ways() {
    let Some(mut ring) = ring(SIZE) else { return };
    let (ours, mut theirs) = pair();
    let socket = ring.add(ours).unwrap();
    for round in 1..50 {
        let mut bytes = pattern(round);
        ring.send(socket, &mut bytes).unwrap();
        assert!(bytes.is_empty());
        ring.turn().unwrap();
        let mut read = vec![0; round];
        theirs.read_exact(&mut read).unwrap();
        assert_eq!(read, pattern(round));
        theirs.write_all(&read).unwrap();
        assert_eq!(collect(&mut ring, socket, round), pattern(round));
    }
}

/// More sockets than places in the queue, each with a request.
#[test]
fn a_full_queue_is_emptied_by_itself() {
    let sockets = 64;
    let Some(mut ring) = ring(RingSize { sockets, ..SIZE }) else {
        return;
    };
    let mut peers = Vec::new();
    for _ in 0..sockets {
        let (ours, theirs) = pair();
        peers.push((ring.add(ours).unwrap(), theirs));
    }
    assert!(ring.add(pair().0).is_err());
    for (socket, _) in &peers {
        let mut bytes = vec![socket.index() as u8; 3];
        ring.send(*socket, &mut bytes).unwrap();
    }
    ring.turn().unwrap();
    for (socket, theirs) in &mut peers {
        let mut read = [0; 3];
        theirs.read_exact(&mut read).unwrap();
        assert_eq!(read, [socket.index() as u8; 3]);
        theirs.write_all(&read).unwrap();
    }
    let mut answered = 0;
    while answered < sockets {
        match next(&mut ring) {
            RingEvent::Received { buffer, len, .. } => {
                assert_eq!(len, 3);
                answered += 1;
                ring.provide(buffer);
            }
            RingEvent::Sent { how, .. } => how.unwrap(),
            RingEvent::Ended { why, .. } => panic!("{why:?}"),
        }
    }
}

/// The reader keeps every buffer for a while. The kernel stops receiving until
/// it gets some back. No byte is lost.
#[test]
fn exhausted_buffers_delay_bytes_and_lose_none() {
    const BYTES: usize = 300_000;
    let Some(mut ring) = ring(SIZE) else { return };
    let (ours, mut theirs) = pair();
    let socket = ring.add(ours).unwrap();
    let writing = thread::spawn(move || theirs.write_all(&pattern(BYTES)).map(|()| theirs));
    let (mut all, mut held) = (Vec::new(), Vec::new());
    while all.len() < BYTES {
        if held.len() == usize::from(SIZE.buffers) {
            ring.turn().unwrap();
            assert!(ring.next_event().is_none());
            assert!(!ring.sockets[socket.index()].is_receiving);
            held.drain(..).for_each(|buffer| ring.provide(buffer));
        }
        match next(&mut ring) {
            RingEvent::Received { buffer, len, .. } => {
                all.extend_from_slice(&buffer[..len]);
                held.push(buffer);
                let all_held = held.len() == usize::from(SIZE.buffers);
                let begin = Instant::now();
                while all_held && ring.sockets[socket.index()].is_receiving && all.len() < BYTES {
                    assert!(begin.elapsed() < LIMIT, "the receive did not end");
                    ring.turn().unwrap();
                    assert!(ring.next_event().is_none());
                }
            }
            event => panic!("{event:?} after {} bytes", all.len()),
        }
    }
    assert!(all == pattern(BYTES));
    drop(writing.join().unwrap().unwrap());
}

/// Sends more than a socket takes at once, while nobody reads.
#[test]
fn a_full_socket_is_waited_for_by_the_kernel() {
    const BYTES: usize = 32 << 20;
    let Some(mut ring) = ring(SIZE) else { return };
    let (ours, mut theirs) = pair();
    let socket = ring.add(ours).unwrap();
    ring.send(socket, &mut pattern(BYTES)).unwrap();
    ring.turn().unwrap();
    assert!(ring.next_event().is_none());
    let again = ring.send(socket, &mut vec![1]).unwrap_err();
    assert_eq!(again.kind(), io::ErrorKind::ResourceBusy);
    let reading = thread::spawn(move || {
        let mut read = vec![0; BYTES];
        theirs.read_exact(&mut read).map(|()| (theirs, read))
    });
    let event = next(&mut ring);
    assert!(
        matches!(event, RingEvent::Sent { how: Ok(()), .. }),
        "{event:?}"
    );
    let (_theirs, read) = reading.join().unwrap().unwrap();
    assert!(read == pattern(BYTES));
}

#[test]
fn closed_and_broken_sockets_are_told() {
    let Some(mut ring) = ring(SIZE) else { return };
    let (ours, mut theirs) = pair();
    let socket = ring.add(ours).unwrap();
    theirs.write_all(b"last").unwrap();
    drop(theirs);
    assert_eq!(collect(&mut ring, socket, 4), b"last");
    let event = next(&mut ring);
    assert!(
        matches!(event, RingEvent::Ended { why: Ok(()), .. }),
        "{event:?}"
    );
    // The peer answers bytes that come too late with a reset.
    ring.send(socket, &mut vec![1; 10]).unwrap();
    assert!(matches!(next(&mut ring), RingEvent::Sent { .. }));
    thread::sleep(Duration::from_millis(50));
    ring.send(socket, &mut vec![1; 10]).unwrap();
    let event = next(&mut ring);
    assert!(
        matches!(event, RingEvent::Sent { how: Err(_), .. }),
        "{event:?}"
    );
}

/// A ring ends while requests are in flight: one receives, one sends and nobody reads.
#[test]
fn a_ring_ends_with_requests_in_flight() {
    let Some(mut ring) = ring(SIZE) else { return };
    let (ours, mut theirs) = pair();
    let (others, _silent) = pair();
    ring.add(ours).unwrap();
    let socket = ring.add(others).unwrap();
    ring.send(socket, &mut pattern(32 << 20)).unwrap();
    ring.turn().unwrap();
    assert!(ring.sockets.iter().all(|socket| socket.is_receiving));
    assert!(ring.end());
    drop(ring);
    // The socket is closed, so its peer reads the end.
    let mut rest = Vec::new();
    assert_eq!(theirs.read_to_end(&mut rest).unwrap(), 0);
}

/// Waiting in the ring itself: for an event, and in vain.
#[test]
fn a_wait_ends_with_an_event_or_its_limit() {
    let Some(mut ring) = ring(SIZE) else { return };
    let (ours, mut theirs) = pair();
    ring.add(ours).unwrap();
    ring.wait(Duration::from_millis(1)).unwrap();
    assert!(ring.next_event().is_none());
    theirs.write_all(b"ab").unwrap();
    ring.wait(LIMIT).unwrap();
    let event = ring.next_event();
    assert!(
        matches!(event, Some(RingEvent::Received { len: 2, .. })),
        "{event:?}"
    );
}

/// A kernel that refuses io_uring_setup, as with seccomp in containers.
#[test]
fn a_kernel_without_support_is_an_error() {
    let statement = |code: u32, k: u32| libc::sock_filter {
        code: code as u16,
        jt: 0,
        jf: 0,
        k,
    };
    let refusing = thread::spawn(move || {
        let mut filter = [
            statement(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0),
            libc::sock_filter {
                jf: 1,
                ..statement(
                    libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K,
                    libc::SYS_io_uring_setup as u32,
                )
            },
            statement(libc::BPF_RET | libc::BPF_K, libc::SECCOMP_RET_ERRNO | 1),
            statement(libc::BPF_RET | libc::BPF_K, libc::SECCOMP_RET_ALLOW),
        ];
        let program = libc::sock_fprog {
            len: filter.len() as u16,
            filter: filter.as_mut_ptr(),
        };
        // SAFETY: the filter lives until the calls return, and concerns this thread alone.
        unsafe {
            assert_eq!(libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
            let mode = libc::SECCOMP_MODE_FILTER;
            assert_eq!(
                libc::prctl(libc::PR_SET_SECCOMP, mode, &raw const program),
                0
            );
        }
        Ring::new(SIZE).err().map(|error| error.kind())
    });
    assert_eq!(
        refusing.join().unwrap(),
        Some(io::ErrorKind::PermissionDenied)
    );
}
