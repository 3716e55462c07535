//! Bare sockets: a target that moves as many bytes each way as SMB would, and does
//! nothing else. An operation on it costs only the loop, the record and the
//! kernel's TCP. The cost of SMB comes on top of that.
//!
//! A request begins with two lengths in little-endian 32-bit words: its own, and
//! that of the answer. The rest of a request may be any bytes, and so may an
//! answer. [`serve`] answers the requests of a connection in their order. Messages
//! are as long as the SMB2 messages of unsigned READs and WRITEs, frames included
//! (MS-SMB2 2.1, 2.2.1.2, 2.2.19 to 2.2.22).

use std::collections::VecDeque;
use std::io::{self, ErrorKind, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener};
use std::task::{Context, Poll};
use std::thread;

use rustix::net::RecvFlags;
use smbench_model::Nanos;
use smbench_model::kind::OpKind;
use tokio::net::TcpStream;

use crate::drivers::driver::{
    Answer, Busy, Call, Connector, Driver, LoadSockets, Opened, Scratch, Sink,
};
use crate::drivers::dropped::{Dropped, received};
use crate::machine::socket::ConnectionSocket;
use crate::machine::{clock, process};
use crate::smb::session::SessionError;

/// Bytes of a READ request: length prefix, header and body.
const READ_REQUEST_LEN: usize = 4 + 64 + 49;
/// Bytes of a WRITE request without its data: length prefix, header and body.
const WRITE_REQUEST_LEN: usize = 4 + 64 + 48;
/// Bytes of an answer without the data of a READ: length prefix, header and body.
const ANSWER_LEN: usize = 4 + 64 + 16;
/// Bytes of the two lengths at the start of a request.
const HEAD_LEN: usize = 8;
/// Longest message that [`serve`] accepts, in bytes. SMB messages are far smaller.
const MESSAGE_LEN_MAX: usize = 16 << 20;
/// Bytes that [`serve`] reads at a time.
const SERVED_LEN: usize = 256 * 1024;
/// Bytes received of an answer of [`LARGE_LEN`] or more. The kernel drops the rest,
/// as it drops payloads of READs that are not verified.
const RECEIVED_LEN: usize = 4096 + 256;
const LARGE_LEN: usize = 16 * 1024;

/// Answers requests on one thread for each connection, until the process ends.
/// Raises the process's soft limit on open files to the hard one.
///
/// # Errors
/// If connections cannot be accepted any more.
pub fn serve(listener: &TcpListener) -> io::Result<()> {
    process::raise_descriptor_limit();
    loop {
        let (stream, _) = listener.accept()?;
        stream.set_nodelay(true)?;
        // The thread ends when its client disconnects or sends an invalid request.
        thread::Builder::new().spawn(move || answer(stream))?;
    }
}

fn answer(mut stream: std::net::TcpStream) -> io::Result<()> {
    let mut input = vec![0; SERVED_LEN];
    let mut output = Vec::new();
    let mut held = 0;
    loop {
        while held < HEAD_LEN {
            held += some(stream.read(&mut input[held..])?)?;
        }
        let word = |at: usize| {
            let bytes = input[at..].first_chunk().copied().unwrap_or_default();
            u32::from_le_bytes(bytes) as usize
        };
        let (request, answer) = (word(0), word(4));
        if request < HEAD_LEN || request.max(answer) > MESSAGE_LEN_MAX {
            return Err(ErrorKind::InvalidData.into());
        }
        // The rest of a request that does not fit into the buffer is read and
        // discarded.
        let mut missing = request.saturating_sub(held);
        if missing == 0 {
            input.copy_within(request..held, 0);
            held -= request;
        } else {
            held = 0;
        }
        while missing > 0 {
            let room = missing.min(SERVED_LEN);
            missing -= some(stream.read(&mut input[..room])?)?;
        }
        if output.len() < answer {
            output.resize(answer, 0x5A);
        }
        stream.write_all(&output[..answer])?;
    }
}

/// Returns `len`, or an error if it is 0, which means the end of the stream.
fn some(len: usize) -> io::Result<usize> {
    match len {
        0 => Err(ErrorKind::UnexpectedEof.into()),
        len => Ok(len),
    }
}

/// Connects each group of clients to a [`serve`].
#[derive(Clone, Copy, Debug)]
pub struct Loopback {
    /// Address on which [`serve`] listens.
    pub server: SocketAddr,
}

impl Connector for Loopback {
    type Driver = LoopbackDriver;

    /// One socket: the other end of the connection belongs to another process.
    fn descriptors_per_group(&self) -> u32 {
        1
    }

    async fn open(&self, clients: &[u32]) -> Result<Opened<LoopbackDriver>, SessionError> {
        let begin = clock::now();
        let failed = |error: io::Error| {
            SessionError::Other(format!("failed to connect to {}: {error}", self.server))
        };
        let stream = TcpStream::connect(self.server).await.map_err(failed)?;
        stream.set_nodelay(true).map_err(failed)?;
        let driver = LoopbackDriver {
            socket: stream.into(),
            calls: VecDeque::new(),
            unsent: Vec::new(),
        };
        let took = clock::now().since(begin);
        Ok(Opened::new(driver, 1, vec![took; clients.len()]))
    }
}

/// A connection and the calls in flight on it.
#[derive(Debug)]
pub struct LoopbackDriver {
    socket: ConnectionSocket,
    /// Calls in flight, in the order in which they will be answered.
    calls: VecDeque<Waiting>,
    /// Bytes that the socket has not taken yet.
    unsent: Vec<u8>,
}

#[derive(Clone, Copy, Debug)]
struct Waiting {
    slot: u32,
    moved: u32,
    /// Bytes of the answer, and how many of them have not arrived yet.
    answer: usize,
    missing: usize,
}

impl Driver for LoopbackDriver {
    fn begin_load(&mut self, sockets: &LoadSockets) -> Result<(), Dropped> {
        sockets.take(&mut self.socket)
    }

    fn has_room(&self, _: &Scratch) -> bool {
        self.unsent.is_empty()
    }

    fn submit(
        &mut self,
        call: &Call,
        scratch: &mut Scratch,
        data: impl FnOnce(&mut Vec<u8>),
    ) -> Result<(), Busy> {
        let moved = call.operation.length;
        let (request, carried, answer) = match call.operation.kind {
            OpKind::Write => (WRITE_REQUEST_LEN, moved as usize, ANSWER_LEN),
            _ => (READ_REQUEST_LEN, 0, ANSWER_LEN + moved as usize),
        };
        let out = &mut scratch.output;
        let begin = out.len();
        out.extend_from_slice(&((request + carried) as u32).to_le_bytes());
        out.extend_from_slice(&(answer as u32).to_le_bytes());
        out.resize(begin + request, 0);
        if carried > 0 {
            data(out);
        }
        self.calls.push_back(Waiting {
            slot: call.slot,
            moved,
            answer,
            missing: answer,
        });
        Ok(())
    }

    fn flush(&mut self, context: &mut Context<'_>, scratch: &mut Scratch) -> Result<(), Dropped> {
        if self.unsent.is_empty() {
            let sent = self.socket.send_some(context, &scratch.output)?;
            self.unsent.extend_from_slice(&scratch.output[sent..]);
            scratch.output.clear();
        } else {
            self.unsent.append(&mut scratch.output);
            let sent = self.socket.send_some(context, &self.unsent)?;
            self.unsent.drain(..sent);
        }
        Ok(())
    }

    fn poll_receive(
        &mut self,
        context: &mut Context<'_>,
        scratch: &mut Scratch,
    ) -> Poll<Result<usize, Dropped>> {
        let input = &mut scratch.input;
        let (len, flags) = match self.calls.front() {
            Some(call) if call.answer < LARGE_LEN => (input.len(), RecvFlags::empty()),
            Some(call) if call.answer == call.missing => (RECEIVED_LEN, RecvFlags::empty()),
            Some(call) => (call.missing.min(input.len()), RecvFlags::TRUNC),
            None => (input.len(), RecvFlags::empty()),
        };
        let polled = self.socket.poll_receive(context, &mut input[..len], flags);
        polled.map(|len| received(len, 0))
    }

    fn take_answers(
        &mut self,
        received: usize,
        _: Nanos,
        _: &mut Scratch,
        sink: &mut impl Sink,
    ) -> Result<(), Dropped> {
        let mut left = received;
        while left > 0 {
            let Some(call) = self.calls.front_mut() else {
                let words = "the other end has sent more than was asked for";
                return Err(Dropped::Other(words.to_owned()));
            };
            let part = left.min(call.missing);
            call.missing -= part;
            left -= part;
            if call.missing > 0 {
                break;
            }
            let Waiting { slot, moved, .. } = *call;
            self.calls.pop_front();
            sink.answer(&Answer::success(slot, moved))?;
        }
        Ok(())
    }
}
