//! Sockets on io_uring: many of them share one system call.
//!
//! A [`Ring`] belongs to one thread. It receives into buffers that all its sockets share,
//! and sends what was queued since the last [`Ring::turn`] in the same system call that
//! fetches what has arrived. The kernel must be Linux 6.1 or newer, and permit io_uring.
//!
//! Only the floor client of the benches uses it. It shows what io_uring would save; the
//! engine has no such transport (benches/README.md says why).
//!
//! This is the only crate of smbench with `unsafe` code. Its invariant: memory that the
//! kernel may read or write belongs to the ring, and is freed only after the kernel has let
//! go of it.

mod buffers;
mod event;

use std::io;
use std::mem::ManuallyDrop;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::sync::atomic::{Ordering, fence};
use std::time::Duration;

use io_uring::types::{CancelBuilder, Fixed, SubmitArgs, Timespec};
use io_uring::{IoUring, cqueue, opcode, squeue};

use buffers::Buffers;
pub use event::{RingEvent, RingSize, SocketNumber};

/// Number of the group of receive buffers; a ring has one.
const GROUP: u16 = 0;
/// The kind of a request, in the upper half of its number. The lower half is the socket's.
const RECEIVE: u64 = 1 << 32;
const SEND: u64 = 2 << 32;
/// Have the kernel run what it has deferred, and publish completions.
const GET_EVENTS: u32 = 1;
/// Send all bytes, and raise no SIGPIPE.
const SEND_FLAGS: i32 = libc::MSG_WAITALL | libc::MSG_NOSIGNAL;
/// Greatest number of buffers that are kept for further sends.
const SPARE_MAX: usize = 64;
/// Greatest number of places for completions. With more, the kernel keeps a list, which is
/// slower.
const COMPLETIONS_MAX: u32 = 16 * 1024;
/// How often a request is tried where the queue is full.
const PUSHES: u32 = 4;
/// How long a ring that ends waits for the kernel, at most this many times.
const END_WAIT: Duration = Duration::from_millis(100);
const END_WAITS: u32 = 20;

/// An io_uring with sockets.
pub struct Ring {
    ring: IoUring,
    /// Freed by hand, after the kernel has let go of it.
    buffers: ManuallyDrop<Buffers>,
    /// By number.
    sockets: Vec<RingMember>,
    /// Sockets that do not receive, because the kernel had no buffer left.
    starved: Vec<u32>,
    spare: Vec<Vec<u8>>,
    /// Sends that no system call has taken yet.
    queued: usize,
    /// Signalled by the kernel when there is something to fetch, once somebody asks for it.
    signal: Option<OwnedFd>,
}

/// A socket, and its requests that the kernel has not finished.
struct RingMember {
    /// Keeps the socket open; the ring has its own reference.
    _file: OwnedFd,
    is_receiving: bool,
    /// Bytes that are being sent.
    sending: Option<Vec<u8>>,
}

impl Ring {
    /// Makes a ring.
    ///
    /// # Errors
    /// If the kernel does not permit io_uring, or is too old, or too few files may be open.
    pub fn new(size: RingSize) -> io::Result<Self> {
        let completions = size.sockets.max(size.batch).saturating_mul(2);
        let ring = IoUring::builder()
            .setup_single_issuer()
            .setup_defer_taskrun()
            .setup_taskrun_flag()
            .setup_submit_all()
            .setup_cqsize(completions.min(COMPLETIONS_MAX))
            .build(size.batch)?;
        let submitter = ring.submitter();
        submitter.register_files_sparse(size.sockets.max(1))?;
        let buffers = Buffers::new(&submitter, size.buffers, size.buffer_len)?;
        Ok(Self {
            buffers: ManuallyDrop::new(buffers),
            sockets: Vec::with_capacity(size.sockets as usize),
            starved: Vec::new(),
            spare: Vec::new(),
            queued: 0,
            signal: None,
            ring,
        })
    }

    /// Adds a connected socket, which receives from now on, until the ring ends.
    ///
    /// # Errors
    /// If the ring has as many sockets as it may have, or the kernel refuses this one.
    pub fn add(&mut self, file: OwnedFd) -> io::Result<SocketNumber> {
        let number = self.sockets.len() as u32;
        let files = [file.as_raw_fd()];
        self.ring
            .submitter()
            .register_files_update(number, &files)?;
        self.sockets.push(RingMember {
            _file: file,
            is_receiving: false,
            sending: None,
        });
        self.receive(number)?;
        Ok(SocketNumber(number))
    }

    fn receive(&mut self, number: u32) -> io::Result<()> {
        let entry = opcode::RecvMulti::new(Fixed(number), GROUP).build();
        self.push(&entry.user_data(RECEIVE | u64::from(number)))?;
        self.sockets[number as usize].is_receiving = true;
        Ok(())
    }

    fn push(&mut self, entry: &squeue::Entry) -> io::Result<()> {
        for _ in 0..PUSHES {
            // SAFETY: what the entry points to belongs to the ring until its completion.
            if unsafe { self.ring.submission().push(entry) }.is_ok() {
                return Ok(());
            }
            self.submit()?;
        }
        Err(io::ErrorKind::ResourceBusy.into())
    }

    /// Queues bytes to be sent, in one piece. Takes the bytes, and leaves an empty buffer.
    ///
    /// # Errors
    /// If there are no bytes or more than 2 GiB, or if earlier bytes are still being sent. Also
    /// if the kernel takes no request; the bytes are lost then.
    pub fn send(&mut self, socket: SocketNumber, bytes: &mut Vec<u8>) -> io::Result<()> {
        let SocketNumber(number) = socket;
        let Ok(len @ 1..) = i32::try_from(bytes.len()) else {
            return Err(io::ErrorKind::InvalidInput.into());
        };
        let empty = self.spare.pop().unwrap_or_default();
        let socket = &mut self.sockets[socket.index()];
        if socket.sending.is_some() {
            return Err(io::ErrorKind::ResourceBusy.into());
        }
        let sending = socket.sending.insert(std::mem::replace(bytes, empty));
        let entry = opcode::Send::new(Fixed(number), sending.as_ptr(), len.cast_unsigned());
        let entry = entry.flags(SEND_FLAGS);
        let pushed = self.push(&entry.build().user_data(SEND | u64::from(number)));
        match pushed {
            Ok(()) => self.queued += 1,
            Err(_) => self.sockets[number as usize].sending = None,
        }
        pushed
    }

    /// Returns a file that becomes readable whenever something has happened, for an observer
    /// of edges.
    ///
    /// # Errors
    /// If the system has no such file left.
    pub fn signal(&mut self) -> io::Result<BorrowedFd<'_>> {
        let signal = match self.signal.take() {
            Some(signal) => signal,
            None => {
                // SAFETY: a system call with two numbers.
                let file = unsafe { libc::eventfd(0, libc::EFD_CLOEXEC | libc::EFD_NONBLOCK) };
                if file < 0 {
                    return Err(io::Error::last_os_error());
                }
                // SAFETY: the file is new, and nobody else has it.
                let signal = unsafe { OwnedFd::from_raw_fd(file) };
                self.ring.submitter().register_eventfd(file)?;
                signal
            }
        };
        let signal: &OwnedFd = self.signal.insert(signal);
        Ok(signal.as_fd())
    }

    /// Gives a buffer to the kernel, to receive into.
    pub fn provide(&mut self, buffer: Box<[u8]>) {
        self.buffers.provide(buffer);
    }

    /// Sends what is queued.
    ///
    /// # Errors
    /// If the kernel takes no request.
    pub fn submit(&mut self) -> io::Result<()> {
        let queued = self.ring.submission().len() as u32;
        self.queued = 0;
        self.enter(queued, 0)
    }

    /// Sends what is queued, and fetches what has happened. Does not wait. Afterwards,
    /// [`Ring::next_event`] has the events. If it has none, nothing has happened, and
    /// [`Ring::signal`] becomes readable when something does. After [`Ring::provide`], and
    /// after the first call of [`Ring::signal`], take a turn before you wait for it.
    ///
    /// # Errors
    /// If the kernel takes no request.
    pub fn turn(&mut self) -> io::Result<()> {
        self.receive_again()?;
        self.queued = 0;
        // The caller needs no signal for what this call completes.
        self.ring.completion().disable_eventfd();
        loop {
            if self.is_any_due() {
                let queued = self.ring.submission().len() as u32;
                self.enter(queued, GET_EVENTS)?;
            } else {
                self.ring.completion().enable_eventfd();
                // The kernel gave no signal for earlier completions.
                fence(Ordering::SeqCst);
                if !self.is_any_due() && self.ring.completion().is_empty() {
                    return Ok(());
                }
                self.ring.completion().disable_eventfd();
            }
            if !self.ring.completion().is_empty() {
                return Ok(());
            }
        }
    }

    /// Returns whether requests are queued, or the kernel has deferred work. It runs only
    /// some of that at a time, and not all of it completes a request.
    fn is_any_due(&mut self) -> bool {
        let submission = self.ring.submission();
        !submission.is_empty() || submission.taskrun() || submission.cq_overflow()
    }

    /// Sends what is queued, and waits until something has happened, or for this time.
    ///
    /// # Errors
    /// If the kernel takes no request.
    pub fn wait(&mut self, limit: Duration) -> io::Result<()> {
        self.receive_again()?;
        let limit = Timespec::from(limit);
        let arguments = SubmitArgs::new().timespec(&limit);
        // The sends complete at once, and are nothing to wait for.
        let wanted = 1 + std::mem::take(&mut self.queued);
        let waited = self.ring.submitter().submit_with_args(wanted, &arguments);
        or_not_yet(waited.map(drop))
    }

    /// Has sockets receive again that had no buffer to receive into.
    fn receive_again(&mut self) -> io::Result<()> {
        while self.buffers.is_any_provided()
            && let Some(&number) = self.starved.last()
        {
            self.receive(number)?;
            self.starved.pop();
        }
        Ok(())
    }

    fn enter(&self, queued: u32, flags: u32) -> io::Result<()> {
        // SAFETY: no argument but numbers.
        let entered = unsafe { self.ring.submitter().enter::<()>(queued, 0, flags, None) };
        or_not_yet(entered.map(drop))
    }

    /// Returns the next event of those that were fetched.
    pub fn next_event(&mut self) -> Option<RingEvent> {
        loop {
            let completion = self.ring.completion().next()?;
            let number = completion.user_data() as u32;
            let event = match completion.user_data() - u64::from(number) {
                RECEIVE => self.received(number, &completion),
                SEND => self.sent(number, completion.result()),
                _ => None,
            };
            if event.is_some() {
                return event;
            }
        }
    }

    fn received(&mut self, number: u32, completion: &cqueue::Entry) -> Option<RingEvent> {
        let (result, flags) = (completion.result(), completion.flags());
        let buffer = cqueue::buffer_select(flags);
        let buffer = buffer.and_then(|buffer| self.buffers.take(buffer));
        let socket = self.sockets.get_mut(number as usize)?;
        socket.is_receiving = cqueue::more(flags);
        // A receive that ended only for want of buffers or of places for completions.
        let is_cut_short = !socket.is_receiving && (result > 0 || result == -libc::ENOBUFS);
        if is_cut_short {
            self.starved.push(number);
        }
        let socket = SocketNumber(number);
        match (result, buffer) {
            (1.., Some(buffer)) => {
                return Some(RingEvent::Received {
                    socket,
                    len: buffer.len().min(result as usize),
                    buffer,
                });
            }
            (_, Some(unused)) => self.buffers.provide(unused),
            (_, None) => {}
        }
        let why = match result {
            0.. => Ok(()),
            _ if is_cut_short => return None,
            error => Err(io::Error::from_raw_os_error(-error)),
        };
        Some(RingEvent::Ended { socket, why })
    }

    fn sent(&mut self, number: u32, result: i32) -> Option<RingEvent> {
        let socket = self.sockets.get_mut(number as usize)?;
        let mut bytes = socket.sending.take()?;
        let how = match result {
            sent @ 0.. if sent as usize == bytes.len() => Ok(()),
            0.. => Err(io::ErrorKind::WriteZero.into()),
            error => Err(io::Error::from_raw_os_error(-error)),
        };
        bytes.clear();
        if self.spare.len() < SPARE_MAX {
            self.spare.push(bytes);
        }
        Some(RingEvent::Sent {
            socket: SocketNumber(number),
            how,
        })
    }

    /// Ends all requests. Returns whether the kernel has let go of all memory.
    fn end(&mut self) -> bool {
        let limit = Timespec::from(END_WAIT);
        let mut waits = 0;
        while waits < END_WAITS {
            let _ = self
                .ring
                .submitter()
                .register_sync_cancel(Some(limit), CancelBuilder::any());
            let mut is_idle = true;
            while self.next_event().is_some() {
                is_idle = false;
            }
            waits += u32::from(is_idle);
            let mut sockets = self.sockets.iter();
            if !sockets.any(|socket| socket.is_receiving || socket.sending.is_some()) {
                return true;
            }
            self.starved.clear();
            let _ = self.wait(END_WAIT);
        }
        false
    }
}

/// Takes a call that was interrupted, that waited in vain, or before which completions must be
/// taken, for one that has done nothing.
fn or_not_yet(called: io::Result<()>) -> io::Result<()> {
    match called {
        Err(error)
            if matches!(
                error.raw_os_error(),
                Some(libc::EINTR | libc::EBUSY | libc::ETIME)
            ) =>
        {
            Ok(())
        }
        called => called,
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        if self.end() {
            // The kernel reads the list of buffers until it is told to forget it.
            let forgotten = self.ring.submitter().unregister_buf_ring(GROUP);
            if forgotten.is_ok() {
                // SAFETY: the kernel has let go of the buffers, and the ring ends.
                unsafe { ManuallyDrop::drop(&mut self.buffers) };
            }
            return;
        }
        // Memory that the kernel may still use is never freed.
        let sockets = self.sockets.iter_mut();
        sockets
            .filter_map(|socket| socket.sending.take())
            .for_each(std::mem::forget);
    }
}

#[cfg(test)]
mod tests;
