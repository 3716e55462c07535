//! Authenticated sessions on one TCP connection, with one request at a time, for
//! set-up, preparation and clean-up. The measured load is driven by [`crate::run`],
//! which takes over the parts of a [`Session`].

pub(crate) mod caching;
pub(crate) mod cifs;
mod endpoint;
mod error;
mod exchange;
mod files;
mod reauthentication;
mod steps;
mod who;

use std::time::Duration;

use smbench_model::record::SetupPhase;
use smbench_model::sessions::Caching;
use smbench_protocol::command::close::CloseRequest;
use smbench_protocol::command::create::{CreateRequest, CreateResponse};
use smbench_protocol::command::create_context::GrantedContexts;
use smbench_protocol::connection::EMPTY_BODY;
use smbench_protocol::connection::{Binding, SessionTerms};
use smbench_protocol::frame::{FrameError, Inbound, Messages, Payload};
use smbench_protocol::header::Command;
use smbench_protocol::{
    Connection, Credentials, DecodeError, FileId, Handshake, HandshakeProgress, NtStatus,
    ProtocolError, SessionIndex,
};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::machine::cancel::Cancel;
use caching::Cache;
pub(crate) use endpoint::{Endpoint, random, random_u64};
pub use error::{SessionError, StepFailure};
pub(crate) use steps::SetupSteps;
pub use who::LogonIdentity;

/// Size of the receive buffer in bytes; holds any set-up answer in one piece.
const RECEIVE_CHUNK_LEN: usize = 16 * 1024;
/// Limit for the log-off; after that the socket is closed without it.
pub(crate) const LOGOFF_LIMIT: Duration = Duration::from_secs(5);

/// The answer to one request.
pub(crate) struct Reply {
    pub(crate) status: NtStatus,
    /// Header and body of the answer.
    pub(crate) message: Vec<u8>,
}

/// A session ready for use, or several on one connection.
#[derive(Debug)]
pub(crate) struct Session {
    pub(crate) stream: TcpStream,
    pub(crate) inbound: Inbound,
    pub(crate) connection: Connection,
    /// Oplocks and leases granted on this connection.
    pub(crate) cache: Cache,
    endpoint: Endpoint,
    /// Credentials of the last log-on.
    pub(crate) credentials: Credentials,
    state: StreamState,
    /// The session in which requests are made.
    current: SessionIndex,
    /// How long the steps of the first set-up took.
    pub(crate) steps: SetupSteps,
}

/// Whether client and server agree on the position in the byte stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum StreamState {
    /// Every request made here has been answered.
    InStep,
    /// One request was not answered. Only a part of it may have been sent, or only
    /// a part of its answer received, and the rest may still arrive.
    Lost,
}

/// Name of the action during set-up, for messages.
const SET_UP: &str = "set up a session";

impl Session {
    /// Connects, authenticates and connects to the share.
    pub(crate) async fn open(endpoint: &Endpoint) -> Result<Self, SessionError> {
        Self::connect(endpoint, None).await
    }

    /// Connects and binds this connection as another channel to the session of
    /// `binding`.
    pub(crate) async fn open_channel(
        endpoint: &Endpoint,
        binding: Binding,
    ) -> Result<Self, SessionError> {
        Self::connect(endpoint, Some(binding)).await
    }

    async fn connect(endpoint: &Endpoint, binding: Option<Binding>) -> Result<Self, SessionError> {
        let credentials = endpoint.credentials().await?;
        let mut steps = SetupSteps::begin();
        let stream = endpoint.connect().await?;
        steps.reach(SetupPhase::Negotiate);
        let limit = endpoint.limits.setup;
        let session = Self::shake_hands(endpoint, credentials, stream, binding, &mut steps);
        let session = match timeout(limit, session).await {
            Ok(session) => session,
            Err(_) => Err(endpoint.timed_out(SET_UP)),
        };
        session.map_err(|error| error.in_phase(steps.phase()))
    }

    /// Sets up a session on a new connection. `steps` has the phase of the request in
    /// flight.
    async fn shake_hands(
        endpoint: &Endpoint,
        credentials: Credentials,
        mut stream: TcpStream,
        binding: Option<Binding>,
        steps: &mut SetupSteps,
    ) -> Result<Self, SessionError> {
        let refuse = |source| endpoint.not_logged_on(&credentials, source);
        let broken = |error: ProtocolError| endpoint.failed(SET_UP, error);
        let mut out = Vec::with_capacity(1024);
        let config = endpoint.config(credentials.clone());
        let mut handshake = Handshake::start(config, binding, &mut out).map_err(refuse)?;
        let mut inbound = Inbound::default();
        let mut chunk = vec![0; RECEIVE_CHUNK_LEN];
        let mut is_smb = false;
        loop {
            let mut input = send_and_receive(&mut stream, &mut out, &mut chunk)
                .await
                .map_err(|source| endpoint.failed(SET_UP, source))?;
            while let Some(frame) =
                inbound
                    .next(&mut input, Payload::Keep)
                    .map_err(|error| match error {
                        FrameError::Type(byte) if !is_smb => endpoint.not_smb(byte),
                        error => broken(error.into()),
                    })?
            {
                is_smb = true;
                let mut messages = handshake.open(frame).map_err(broken)?;
                while let Some(message) = messages
                    .next_message()
                    .map_err(|error| broken(error.into()))?
                {
                    let HandshakeProgress::Ready(mut connection) =
                        handshake.receive(message, &mut out).map_err(refuse)?
                    else {
                        steps.reach(phase_of(handshake.awaited()));
                        continue;
                    };
                    // The bytes after the last answer are kept: unsolicited messages, or
                    // a part of one.
                    take_unasked(&mut connection, messages).map_err(broken)?;
                    while let Some(frame) = inbound
                        .next(&mut input, Payload::Keep)
                        .map_err(|error| broken(error.into()))?
                    {
                        let messages = connection.open(frame).map_err(broken)?;
                        take_unasked(&mut connection, messages).map_err(broken)?;
                    }
                    steps.end();
                    return Ok(Self {
                        steps: *steps,
                        stream,
                        inbound,
                        cache: Cache::new(Caching::None, connection.negotiated().dialect, 0),
                        connection,
                        endpoint: endpoint.clone(),
                        credentials: credentials.clone(),
                        state: StreamState::InStep,
                        current: SessionIndex::FIRST,
                    });
                }
            }
        }
    }

    /// Returns the endpoint for further connections of the same sessions: at the
    /// server address of this connection.
    pub(crate) fn beside(&self) -> Result<Endpoint, SessionError> {
        let address = self.stream.peer_addr();
        let address =
            address.map_err(|source| self.endpoint.failed("connect once more", source))?;
        Ok(self.endpoint.at_address(address))
    }

    /// Returns the result of the log-on to the current session.
    pub(crate) fn terms(&self) -> &SessionTerms {
        self.connection.terms(self.current)
    }

    /// Works like [`Session::call`], but returns an error for any status except
    /// success.
    pub(crate) async fn expect(
        &mut self,
        doing: &str,
        command: Command,
        payload_len: u32,
        body: impl FnOnce(&mut Vec<u8>),
    ) -> Result<Vec<u8>, SessionError> {
        let reply = self.call(doing, command, payload_len, body).await?;
        if reply.status == NtStatus::SUCCESS {
            return Ok(reply.message);
        }
        Err(self.refused(doing, reply.status))
    }

    /// Shortens the limits; see [`Endpoint::impatient`].
    pub(crate) fn lose_patience(&mut self) {
        self.endpoint = self.endpoint.impatient();
    }

    /// Host, port and share, for messages.
    pub(crate) fn share(&self) -> String {
        self.endpoint.share()
    }

    pub(crate) fn refused(&self, doing: &str, status: NtStatus) -> SessionError {
        self.failed_on_share(doing, StepFailure::Refused(status))
    }

    /// Returns the error for a request about the share that failed.
    pub(crate) fn failed_on_share(&self, doing: &str, source: StepFailure) -> SessionError {
        self.endpoint.failed_on_share(doing, source)
    }

    /// Returns the error for a malformed answer to a request.
    pub(crate) fn malformed(&self, doing: &str, error: DecodeError) -> SessionError {
        self.endpoint.failed(doing, ProtocolError::from(error))
    }

    /// Sends a CREATE and returns its answer.
    pub(crate) async fn create(
        &mut self,
        doing: &str,
        request: &CreateRequest<'_>,
    ) -> Result<CreateResponse, SessionError> {
        let (created, _) = self.create_with(doing, request).await?;
        Ok(created)
    }

    /// Sends a CREATE and returns its answer with the granted contexts.
    pub(crate) async fn create_with(
        &mut self,
        doing: &str,
        request: &CreateRequest<'_>,
    ) -> Result<(CreateResponse, GrantedContexts), SessionError> {
        let mut body = Vec::with_capacity(256);
        // The encoder counts offsets from the header, which has a fixed size.
        request.encode(&mut body).map_err(|_| SessionError::Path {
            doing: doing.to_owned(),
        })?;
        let message = self
            .expect(doing, Command::Create, 0, |out| {
                out.extend_from_slice(&body);
            })
            .await?;
        let decoded = CreateResponse::decode(&message)
            .and_then(|created| Ok((created, GrantedContexts::decode(&message)?)));
        decoded.map_err(|error| self.malformed(doing, error))
    }

    /// Sends a CLOSE.
    pub(crate) async fn close(&mut self, doing: &str, file: FileId) -> Result<(), SessionError> {
        let request = CloseRequest {
            file_id: file,
            flags: 0,
        };
        self.expect(doing, Command::Close, 0, |out| request.encode(out))
            .await
            .map(|_| ())
    }

    /// Sends ECHOs until the requested credits are available, at most `echos` of
    /// them. Servers grant few credits at a time. Without enough credits for one
    /// large request, a window could not begin.
    pub(crate) async fn earn_credits(&mut self, echos: u32) -> Result<(), SessionError> {
        const DOING: &str = "earn credits";
        for _ in 0..echos {
            if self.connection.credits() >= u32::from(self.endpoint.credit_target) {
                break;
            }
            self.expect(DOING, Command::Echo, 0, |out| {
                out.extend_from_slice(&EMPTY_BODY);
            })
            .await?;
        }
        Ok(())
    }

    /// Sends TREE_DISCONNECT and LOGOFF; failures are ignored.
    pub(crate) async fn log_off(self) {
        let session = self.current;
        self.log_off_all([session]).await;
    }

    /// Sends TREE_DISCONNECT and LOGOFF in each of these sessions. All of them
    /// together have the time limit of one log-off.
    pub(crate) async fn log_off_all(mut self, sessions: impl IntoIterator<Item = SessionIndex>) {
        let log_off = async {
            for session in sessions {
                self.current = session;
                for command in [Command::TreeDisconnect, Command::Logoff] {
                    let bodyless = |out: &mut Vec<u8>| out.extend_from_slice(&EMPTY_BODY);
                    if self.call("log off", command, 0, bodyless).await.is_err() {
                        return;
                    }
                }
            }
        };
        // If the server does not answer, closing the socket is enough.
        let _ = timeout(LOGOFF_LIMIT, log_off).await;
    }
}

/// Returns the phase of a request of the set-up.
const fn phase_of(command: Command) -> SetupPhase {
    match command {
        Command::Negotiate => SetupPhase::Negotiate,
        Command::TreeConnect => SetupPhase::TreeConnect,
        _ => SetupPhase::LogOn,
    }
}

/// Processes messages that arrive while no request is in flight.
fn take_unasked(
    connection: &mut Connection,
    mut messages: Messages<'_>,
) -> Result<(), ProtocolError> {
    while let Some(message) = messages.next_message()? {
        connection.receive(message)?;
    }
    Ok(())
}

/// Sends and clears `out`, and returns the next bytes that the server sends.
async fn send_and_receive<'a>(
    stream: &mut TcpStream,
    out: &mut Vec<u8>,
    chunk: &'a mut [u8],
) -> std::io::Result<&'a mut [u8]> {
    stream.write_all(out).await?;
    out.clear();
    match stream.read(chunk).await? {
        0 => Err(std::io::Error::new(
            std::io::ErrorKind::UnexpectedEof,
            "the server closed the connection",
        )),
        len => Ok(&mut chunk[..len]),
    }
}

/// Does `work` until it ends or a cancel drops it.
pub(crate) async fn unless<T>(
    cancel: &Cancel,
    work: impl Future<Output = Result<T, SessionError>>,
) -> Result<T, SessionError> {
    tokio::select! {
        biased;
        () = cancel.cancelled() => Err(SessionError::Interrupted),
        done = work => done,
    }
}

#[cfg(test)]
mod tests;
