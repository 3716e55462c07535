//! The same loop on io_uring: one system call sends the requests that became due together,
//! up to 16, and receives what has arrived. It looks at the clock once per system call.

use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout};
use smbench_uring::{Ring, RingEvent, RingSize, SocketNumber};

use crate::log_on::LoggedOn;
use crate::{FloorAnswer, FloorFailure, FloorReading, RAMP_UP, usage};

/// Sends in one system call, at most.
const BATCH: u32 = 16;
/// Longer than any answer takes.
const LIMIT: Duration = Duration::from_secs(30);

/// Where the thread waits for answers.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wait {
    /// In the ring, which is the least.
    Ring,
    /// In an epoll set that has the ring, as a thread must that also waits for timers and
    /// other sockets in tokio.
    Epoll,
}

/// Fails if the kernel refuses io_uring.
pub(crate) fn probe() -> std::io::Result<String> {
    Ring::new(size(1)).map(|_| "the kernel permits io_uring".to_owned())
}

fn size(sockets: u32) -> RingSize {
    RingSize {
        sockets,
        buffers: 32,
        buffer_len: 16 * 1024,
        batch: 64,
    }
}

/// Measures reads for this number of seconds.
pub(crate) fn measure(
    sessions: Vec<LoggedOn>,
    seconds: u64,
    wait: Wait,
) -> Result<String, FloorFailure> {
    let mut ring = Ring::new(size(sessions.len() as u32))?;
    let epoll = Epoll::new(EpollCreateFlags::empty())?;
    let edges = EpollFlags::EPOLLIN | EpollFlags::EPOLLET;
    if wait == Wait::Epoll {
        epoll.add(ring.signal()?, EpollEvent::new(edges, 0))?;
    }
    let mut out = Vec::new();
    let mut clients = Vec::new();
    for session in sessions {
        let (stream, reading) = session.into_parts()?;
        let socket = ring.add(OwnedFd::from(stream))?;
        clients.push((reading, FloorAnswer::default()));
        send(&mut ring, socket, &mut clients[socket.index()].0, &mut out)?;
    }
    let begin = Instant::now();
    let end = begin + RAMP_UP + Duration::from_secs(seconds);
    let (mut operations, mut opened, mut heard) = (0, None, begin);
    loop {
        match wait {
            Wait::Ring => ring.wait(LIMIT)?,
            Wait::Epoll => ring.turn()?,
        }
        let (mut events, mut queued) = (0, 0);
        while let Some(event) = ring.next_event() {
            events += 1;
            match event {
                RingEvent::Received {
                    socket,
                    buffer,
                    len,
                } => {
                    let (reading, answer) = &mut clients[socket.index()];
                    let is_whole = answer.take(&buffer[..len], reading.places.status)?;
                    ring.provide(buffer);
                    if is_whole {
                        operations += 1;
                        send(&mut ring, socket, reading, &mut out)?;
                        queued += 1;
                    }
                    if queued == BATCH {
                        queued = 0;
                        ring.submit()?;
                    }
                }
                RingEvent::Sent { how, .. } => how?,
                RingEvent::Ended { why, .. } => {
                    why?;
                    return Err("the server closed the connection".into());
                }
            }
        }
        let now = Instant::now();
        let opening = begin + RAMP_UP;
        if now >= opening && opened.is_none() {
            opened = Some((usage()?, operations, now));
        }
        if let (Some((before, first, since)), true) = (opened, now >= end) {
            return Ok(crate::line(
                before,
                usage()?,
                operations - first,
                now - since,
            ));
        }
        if events > 0 {
            heard = now;
        } else if now - heard > LIMIT {
            return Err("no answer".into());
        } else if wait == Wait::Epoll {
            epoll.wait(&mut [EpollEvent::empty()], EpollTimeout::try_from(LIMIT)?)?;
        }
    }
}

fn send(
    ring: &mut Ring,
    socket: SocketNumber,
    reading: &mut FloorReading,
    out: &mut Vec<u8>,
) -> Result<(), FloorFailure> {
    out.extend_from_slice(reading.next());
    Ok(ring.send(socket, out)?)
}
