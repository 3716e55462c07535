//! The byte stream of sessions that make one request at a time: sends requests and passes
//! on the frames that arrive, within the time limit of set-up requests.
//!
//! Invariant: after a failure or an interrupted wait, the stream takes no further request.
//! A late answer could otherwise be taken for the answer to another request.

use std::net::SocketAddr;

use smbench_protocol::frame::{Frame, FrameError, Inbound, Payload};
use smbench_protocol::{Credentials, DecodeError, NtStatus, ProtocolError};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::machine::socket::ConnectionSocket;

use super::{Endpoint, SessionError, StepFailure};

/// Size of the receive buffer in bytes; holds any set-up answer in one piece.
const RECEIVE_CHUNK_LEN: usize = 16 * 1024;

/// A TCP connection, and what is received of the next frame.
#[derive(Debug)]
pub(crate) struct SessionStream {
    pub(crate) socket: ConnectionSocket,
    pub(crate) inbound: Inbound,
    pub(super) endpoint: Endpoint,
    state: StreamState,
}

/// Whether client and server agree on the position in the byte stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum StreamState {
    /// Nothing was received yet.
    New,
    /// Every request made here has been answered.
    InStep,
    /// One request was not answered. Only a part of it may have been sent, or only
    /// a part of its answer received, and the rest may still arrive.
    Lost,
}

/// Takes a frame, may append requests to send, and returns whether the exchange is over.
type TakeFrame<'a> = dyn FnMut(Frame<'_>, &mut Vec<u8>) -> Result<bool, StepFailure> + 'a;

impl SessionStream {
    /// Connects to the server.
    pub(crate) async fn connect(endpoint: &Endpoint) -> Result<Self, SessionError> {
        Ok(Self {
            socket: endpoint.connect().await?.into(),
            inbound: Inbound::default(),
            endpoint: endpoint.clone(),
            state: StreamState::New,
        })
    }

    /// Returns the server's address of this connection. Under load, the socket does not tell it.
    pub(crate) fn server(&self) -> Option<SocketAddr> {
        self.socket.of_tokio().and_then(TcpStream::peer_addr).ok()
    }

    /// Returns the number of that address, of those that clients try in turn.
    pub(crate) fn node(&self) -> Option<usize> {
        let address = self.server()?;
        let mut nodes = self.endpoint.nodes().iter();
        nodes.position(|node| *node == address)
    }

    /// Returns an error if a request was not answered.
    pub(super) fn check_step(&self, doing: &str) -> Result<(), SessionError> {
        match self.state {
            StreamState::New | StreamState::InStep => Ok(()),
            StreamState::Lost => Err(self.endpoint.failed(doing, StepFailure::OutOfStep)),
        }
    }

    /// Permits no further request.
    pub(super) const fn lose_step(&mut self) {
        self.state = StreamState::Lost;
    }

    /// Makes the next log-on that of a client.
    pub(super) fn log_on_as(&mut self, client: u32) {
        self.endpoint = self.endpoint.clone().for_client(client);
    }

    /// Shortens the limits; see [`Endpoint::impatient`].
    pub(super) fn lose_patience(&mut self) {
        self.endpoint = self.endpoint.impatient();
    }

    /// Returns the error for a request that the server refused.
    pub(super) fn refused(&self, doing: &str, status: NtStatus) -> SessionError {
        self.endpoint
            .failed_on_share(doing, StepFailure::Refused(status))
    }

    /// Returns the error for a malformed answer to a request.
    pub(super) fn malformed(&self, doing: &str, error: DecodeError) -> SessionError {
        self.endpoint.failed(doing, ProtocolError::from(error))
    }

    /// Returns the credentials to reauthenticate a session that logged on with `used`. The
    /// future borrows nothing, so the driver of the session can do other work while a KDC
    /// is asked.
    pub(crate) fn renewal(
        &self,
        used: &Credentials,
    ) -> impl Future<Output = Result<Credentials, SessionError>> + use<> {
        let (endpoint, used) = (self.endpoint.clone(), used.clone());
        async move { endpoint.renewed(&used).await }
    }

    /// Sends `out` and passes each received frame to `take`, until `take` returns a
    /// result. `take` may append further requests to send. Frames that arrive with the
    /// last answer are passed on as well.
    pub(super) async fn exchange<T>(
        &mut self,
        doing: &str,
        out: Vec<u8>,
        mut take: impl FnMut(Frame<'_>, &mut Vec<u8>) -> Result<Option<T>, StepFailure>,
    ) -> Result<T, SessionError> {
        let mut result = None;
        let mut take = |frame: Frame<'_>, out: &mut Vec<u8>| {
            let taken = take(frame, out)?;
            result = result.take().or(taken);
            Ok(result.is_some())
        };
        self.exchange_until(doing, out, &mut take).await?;
        Ok(result.unwrap_or_else(|| unreachable!("the exchange ends with a result")))
    }

    /// Sends `out` and passes each received frame to `is_over`, until that returns `true` and
    /// the other frames that came with it are passed on.
    async fn exchange_until(
        &mut self,
        doing: &str,
        out: Vec<u8>,
        is_over: &mut TakeFrame<'_>,
    ) -> Result<(), SessionError> {
        let limit = self.endpoint.limits.setup;
        let mut is_first = self.state == StreamState::New;
        self.state = StreamState::Lost;
        let exchanged = timeout(limit, self.exchange_unbounded(out, is_over, &mut is_first)).await;
        let Ok(exchanged) = exchanged else {
            return Err(self.endpoint.timed_out(doing));
        };
        exchanged.map_err(|failure| match failure {
            StepFailure::Protocol(ProtocolError::Frame(FrameError::Type(byte))) if is_first => {
                self.endpoint.not_smb(byte)
            }
            failure => self.endpoint.failed(doing, failure),
        })?;
        self.state = StreamState::InStep;
        Ok(())
    }

    /// `is_first` is whether the first frame is still to come.
    async fn exchange_unbounded(
        &mut self,
        mut out: Vec<u8>,
        take: &mut TakeFrame<'_>,
        is_first: &mut bool,
    ) -> Result<(), StepFailure> {
        let stream = self.socket.leave()?;
        let mut chunk = Vec::with_capacity(RECEIVE_CHUNK_LEN);
        let mut is_over = false;
        loop {
            stream.write_all(&out).await?;
            out.clear();
            chunk.clear();
            if stream.read_buf(&mut chunk).await? == 0 {
                return Err(closed().into());
            }
            let mut input = &mut chunk[..];
            while let Some(frame) = self
                .inbound
                .next(&mut input, Payload::Keep)
                .map_err(ProtocolError::from)?
            {
                *is_first = false;
                is_over = take(frame, &mut out)?;
            }
            if is_over {
                stream.write_all(&out).await?;
                return Ok(());
            }
        }
    }
}

fn closed() -> std::io::Error {
    std::io::Error::new(
        std::io::ErrorKind::UnexpectedEof,
        "the server closed the connection",
    )
}
