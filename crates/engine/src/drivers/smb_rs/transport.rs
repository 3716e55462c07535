//! The transport for smb-rs: a TCP connection made by [`crate::smb::session`], with one
//! write per message.
//!
//! Invariant: every failure is `NotConnected` for smb-rs, because it would retry
//! other errors without end. The [`TransportState`] keeps the true reason. smb-rs's own
//! transport leaves Nagle's algorithm on, and writes length and message separately.
//! On loopback that costs a delayed ACK for each request.

use std::future::Future;
use std::io::{ErrorKind, IoSlice};
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::task::Waker;

use futures_util::task::AtomicWaker;
use smb::transport::error::Result;
use smb::transport::{IoVec, SmbTransport, SmbTransportRead, SmbTransportWrite, TransportError};
use smbench_protocol::header::{Flags, Header};
use tokio::io::{AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};

use crate::drivers::dropped::{Dropped, LinkCause};

/// Answers up to this length arrive with their length prefix in one `recv`.
const RECEIVE_LEN: usize = 16 * 1024;
/// The length prefix of a message has three bytes (MS-SMB2 2.1).
const MESSAGE_LEN_MAX: usize = 0xFF_FFFF;

type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Protection of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Form {
    Plain,
    Signed,
    Encrypted,
}

impl Form {
    fn of(message: &[u8]) -> Self {
        match Header::decode(message) {
            Ok(header) if header.flags.contains(Flags::SIGNED) => Self::Signed,
            Ok(_) => Self::Plain,
            // The only other messages sent have an SMB2 TRANSFORM_HEADER (MS-SMB2
            // 2.2.41).
            Err(_) => Self::Encrypted,
        }
    }
}

/// State of a connection that smb-rs does not report.
#[derive(Debug)]
pub(super) struct TransportState {
    lost: OnceLock<Dropped>,
    waker: AtomicWaker,
    sent: AtomicU64,
    sent_last: AtomicU8,
}

impl TransportState {
    /// Returns the reason why the connection is lost, if it is.
    pub(super) fn lost(&self) -> Option<Dropped> {
        self.lost.get().cloned()
    }

    /// Registers a waker to be woken when the connection is lost. This is needed
    /// because smb-rs forgets a request that is sent just when its receiving half
    /// ends.
    pub(super) fn wake_when_lost(&self, waker: &Waker) {
        self.waker.register(waker);
    }

    /// Returns the number of messages sent so far.
    pub(super) fn sent(&self) -> u64 {
        self.sent.load(Ordering::Relaxed)
    }

    /// Returns the protection of the last message sent.
    pub(super) fn form(&self) -> Form {
        match self.sent_last.load(Ordering::Relaxed) {
            sent if sent == Form::Encrypted as u8 => Form::Encrypted,
            sent if sent == Form::Signed as u8 => Form::Signed,
            _ => Form::Plain,
        }
    }

    #[expect(clippy::needless_pass_by_value, reason = "the shape `map_err` wants")]
    fn lose(&self, error: std::io::Error) -> TransportError {
        let reason = match error.kind() {
            ErrorKind::UnexpectedEof => LinkCause::Closed,
            _ => LinkCause::Io(error.to_string()),
        };
        // The first reason is the true one; later errors follow from it.
        let _ = self.lost.set(reason.of_connection(0));
        self.waker.wake();
        TransportError::NotConnected
    }
}

/// A connected socket with smb-rs's transport traits.
pub(super) struct Transport {
    remote: SocketAddr,
    receiving: Receiving,
    sending: Sending,
}

struct Receiving {
    socket: BufReader<OwnedReadHalf>,
    line: Arc<TransportState>,
}

struct Sending {
    socket: OwnedWriteHalf,
    line: Arc<TransportState>,
}

impl Transport {
    pub(crate) fn new(stream: TcpStream) -> std::io::Result<(Self, Arc<TransportState>)> {
        let line = Arc::new(TransportState {
            lost: OnceLock::new(),
            waker: AtomicWaker::new(),
            sent: AtomicU64::new(0),
            sent_last: AtomicU8::new(Form::Plain as u8),
        });
        let remote = stream.peer_addr()?;
        let (receiving, sending) = stream.into_split();
        let transport = Self {
            remote,
            receiving: Receiving {
                socket: BufReader::with_capacity(RECEIVE_LEN, receiving),
                line: Arc::clone(&line),
            },
            sending: Sending {
                socket: sending,
                line: Arc::clone(&line),
            },
        };
        Ok((transport, line))
    }
}

impl Sending {
    async fn send_message(&mut self, message: &IoVec) -> std::io::Result<()> {
        let length = message.total_size();
        if length > MESSAGE_LEN_MAX {
            return Err(ErrorKind::InvalidInput.into());
        }
        let form = message.first().map_or(Form::Plain, |part| Form::of(part));
        self.line.sent_last.store(form as u8, Ordering::Relaxed);
        self.line.sent.fetch_add(1, Ordering::Relaxed);
        let prefix = (length as u32).to_be_bytes();
        let mut slices = Vec::with_capacity(1 + message.len());
        slices.push(IoSlice::new(&prefix));
        slices.extend(message.iter().map(|part| IoSlice::new(part)));
        let mut rest = &mut slices[..];
        while !rest.is_empty() {
            match self.socket.write_vectored(rest).await? {
                0 => return Err(ErrorKind::WriteZero.into()),
                written => IoSlice::advance_slices(&mut rest, written),
            }
        }
        Ok(())
    }
}

impl SmbTransportRead for Receiving {
    fn receive_exact<'a>(&'a mut self, buffer: &'a mut [u8]) -> BoxFuture<'a, Result<()>> {
        Box::pin(async move {
            match self.socket.read_exact(buffer).await {
                Ok(_) => Ok(()),
                Err(error) => Err(self.line.lose(error)),
            }
        })
    }
}

impl SmbTransportWrite for Sending {
    fn send_raw<'a>(&'a mut self, bytes: &'a [u8]) -> BoxFuture<'a, Result<()>> {
        Box::pin(async move {
            let written = self.socket.write_all(bytes).await;
            written.map_err(|error| self.line.lose(error))
        })
    }

    fn send<'a>(&'a mut self, message: &'a IoVec) -> BoxFuture<'a, Result<()>> {
        Box::pin(async move {
            let sent = self.send_message(message).await;
            sent.map_err(|error| self.line.lose(error))
        })
    }
}

impl SmbTransportRead for Transport {
    fn receive_exact<'a>(&'a mut self, buffer: &'a mut [u8]) -> BoxFuture<'a, Result<()>> {
        self.receiving.receive_exact(buffer)
    }
}

impl SmbTransportWrite for Transport {
    fn send_raw<'a>(&'a mut self, bytes: &'a [u8]) -> BoxFuture<'a, Result<()>> {
        self.sending.send_raw(bytes)
    }

    fn send<'a>(&'a mut self, message: &'a IoVec) -> BoxFuture<'a, Result<()>> {
        self.sending.send(message)
    }
}

impl SmbTransport for Transport {
    fn connect<'a>(&'a mut self, _: &'a str, _: SocketAddr) -> BoxFuture<'a, Result<()>> {
        Box::pin(std::future::ready(Err(TransportError::AlreadyConnected)))
    }

    fn default_port(&self) -> u16 {
        self.remote.port()
    }

    fn split(self: Box<Self>) -> Result<(Box<dyn SmbTransportRead>, Box<dyn SmbTransportWrite>)> {
        Ok((Box::new(self.receiving), Box::new(self.sending)))
    }

    fn remote_address(&self) -> Result<SocketAddr> {
        Ok(self.remote)
    }
}
