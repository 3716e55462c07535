//! Sessions in CIFS on one TCP connection, with one request at a time: the counterpart of
//! [`Session`](super::Session).
//!
//! Invariant: after a failure or an interrupted wait, the session takes no further request.

mod files;

pub(crate) use files::SEARCH_ATTRIBUTES;

use smbench_model::record::SetupPhase;
use smbench_protocol::cifs::command::encode_empty;
use smbench_protocol::cifs::command::session::encode_logoff;
use smbench_protocol::cifs::handshake::{
    CifsHandshake, CifsProgress, CifsSetup, CifsSetupProgress,
};
use smbench_protocol::cifs::header::CifsCommand;
use smbench_protocol::cifs::{CifsConnection, CifsEvent};
use smbench_protocol::frame::{FrameError, Inbound, Payload};
use smbench_protocol::{
    Credentials, DecodeError, HandshakeError, NtStatus, ProtocolError, SessionIndex,
};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::steps::SetupSteps;
use super::{
    Endpoint, LOGOFF_LIMIT, RECEIVE_CHUNK_LEN, SET_UP, SessionError, StepFailure, StreamState,
    phase_of, send_and_receive,
};

/// Tag of the request in flight.
const TAG: u32 = 0;

/// A session ready for use, or several on one connection.
#[derive(Debug)]
pub(crate) struct CifsSession {
    pub(crate) stream: TcpStream,
    pub(crate) inbound: Inbound,
    pub(crate) connection: CifsConnection,
    endpoint: Endpoint,
    pub(crate) credentials: Credentials,
    state: StreamState,
    /// The session in which requests are made.
    pub(crate) current: SessionIndex,
    /// How long the steps of the first set-up took.
    pub(crate) steps: SetupSteps,
}

/// The answer to one request.
pub(crate) struct CifsReply {
    pub(crate) status: NtStatus,
    /// Header and body of the answer.
    pub(crate) message: Vec<u8>,
    /// Parameters and data, if it is that of a transaction.
    pub(crate) parameters: Vec<u8>,
    pub(crate) data: Vec<u8>,
}

impl CifsSession {
    /// Connects, authenticates and connects to the share.
    pub(crate) async fn open(endpoint: &Endpoint) -> Result<Self, SessionError> {
        let credentials = endpoint.credentials().await?;
        let mut steps = SetupSteps::begin();
        let stream = endpoint.connect().await?;
        steps.reach(SetupPhase::Negotiate);
        let limit = endpoint.limits.setup;
        let session = Self::shake_hands(endpoint, credentials, stream, &mut steps);
        let session = match timeout(limit, session).await {
            Ok(session) => session,
            Err(_) => Err(endpoint.timed_out(SET_UP)),
        };
        session.map_err(|error| error.in_phase(steps.phase()))
    }

    async fn shake_hands(
        endpoint: &Endpoint,
        credentials: Credentials,
        mut stream: TcpStream,
        steps: &mut SetupSteps,
    ) -> Result<Self, SessionError> {
        let refuse = |source| endpoint.not_logged_on(&credentials, source);
        let broken = |error: ProtocolError| endpoint.failed(SET_UP, error);
        let mut out = Vec::with_capacity(1024);
        let config = endpoint.config(credentials.clone());
        let mut handshake = CifsHandshake::start(config, &mut out).map_err(refuse)?;
        let mut inbound = Inbound::default();
        let mut chunk = vec![0; RECEIVE_CHUNK_LEN];
        loop {
            let mut input = send_and_receive(&mut stream, &mut out, &mut chunk)
                .await
                .map_err(|source| endpoint.failed(SET_UP, source))?;
            while let Some(frame) =
                inbound
                    .next(&mut input, Payload::Keep)
                    .map_err(|error| match error {
                        FrameError::Type(byte) => endpoint.not_smb(byte),
                        error => broken(error.into()),
                    })?
            {
                let received = handshake.receive(frame.into_message(), &mut out);
                let CifsProgress::Ready(connection) = received.map_err(refuse)? else {
                    steps.reach(phase_of(handshake.awaited()));
                    continue;
                };
                if !input.is_empty() {
                    return Err(broken(ProtocolError::NotAResponse));
                }
                steps.end();
                return Ok(Self {
                    steps: *steps,
                    stream,
                    inbound,
                    connection: *connection,
                    endpoint: endpoint.clone(),
                    credentials,
                    state: StreamState::InStep,
                    current: SessionIndex::FIRST,
                });
            }
        }
    }

    /// Sets up a further session on the connection, and makes it the current one.
    pub(crate) async fn open_another(&mut self) -> Result<SessionIndex, SessionError> {
        self.credentials = self.endpoint.credentials().await?;
        let mut out = Vec::with_capacity(1024);
        let begun = self.begin_log_on(&self.credentials.clone(), TAG, &mut out);
        let mut setup = begun.map_err(|source| self.not_logged_on(source))?;
        let opened = self
            .exchange(SET_UP, out, |connection, event, out| match event {
                CifsEvent::Completed(done) if done.tag == TAG => {
                    match setup.receive(connection, done, out) {
                        Ok(CifsSetupProgress::NotYet) => None,
                        Ok(CifsSetupProgress::Ready(session)) => Some(Ok(session)),
                        Err(source) => Some(Err(source)),
                    }
                }
                _ => None,
            })
            .await?;
        self.current = opened.map_err(|source| {
            // After a refusal the exchange is complete, and the other sessions stay.
            if !matches!(source, HandshakeError::Refused { .. }) {
                self.state = StreamState::Lost;
            }
            self.not_logged_on(source)
        })?;
        Ok(self.current)
    }

    /// Appends the first request of a further session, with this tag.
    pub(crate) fn begin_log_on(
        &mut self,
        credentials: &Credentials,
        tag: u32,
        out: &mut Vec<u8>,
    ) -> Result<CifsSetup, HandshakeError> {
        let config = self.endpoint.config(credentials.clone());
        CifsSetup::start(config, &mut self.connection, tag, out)
    }

    fn not_logged_on(&self, source: HandshakeError) -> SessionError {
        self.endpoint.not_logged_on(&self.credentials, source)
    }

    /// Sends one request and waits for its answer.
    pub(crate) async fn call(
        &mut self,
        doing: &str,
        command: CifsCommand,
        body: impl FnOnce(&mut Vec<u8>),
    ) -> Result<CifsReply, SessionError> {
        if self.state == StreamState::Lost {
            return Err(self.endpoint.failed(doing, StepFailure::OutOfStep));
        }
        let mut out = Vec::with_capacity(256);
        self.connection
            .request(self.current, command, TAG, &mut out, body)
            .map_err(|_| self.endpoint.failed(doing, StepFailure::NoCredit))?;
        let is_transaction = matches!(command, CifsCommand::Transaction2 | CifsCommand::NtTransact);
        let reply = self
            .exchange(doing, out, |_, event, _| match event {
                CifsEvent::Completed(done) if done.tag == TAG => Some(match is_transaction {
                    true => done.transaction().map(|(parameters, data)| CifsReply {
                        status: done.status,
                        message: done.message().to_vec(),
                        parameters: parameters.to_vec(),
                        data: data.to_vec(),
                    }),
                    false => Ok(CifsReply {
                        status: done.status,
                        message: done.message().to_vec(),
                        parameters: Vec::new(),
                        data: Vec::new(),
                    }),
                }),
                _ => None,
            })
            .await?;
        reply.map_err(|error| self.malformed(doing, error))
    }

    /// Works like [`CifsSession::call`], but returns an error for any status except
    /// success.
    pub(crate) async fn expect(
        &mut self,
        doing: &str,
        command: CifsCommand,
        body: impl FnOnce(&mut Vec<u8>),
    ) -> Result<CifsReply, SessionError> {
        let reply = self.call(doing, command, body).await?;
        match reply.status {
            NtStatus::SUCCESS => Ok(reply),
            status => Err(self.refused(doing, status)),
        }
    }

    pub(crate) fn refused(&self, doing: &str, status: NtStatus) -> SessionError {
        self.endpoint
            .failed_on_share(doing, StepFailure::Refused(status))
    }

    /// Returns the error for a malformed answer to a request.
    pub(crate) fn malformed(&self, doing: &str, error: DecodeError) -> SessionError {
        self.endpoint.failed(doing, ProtocolError::from(error))
    }

    /// Sends `out` and passes each received event to `take`, until `take` returns a
    /// result. `take` may append further requests to send.
    async fn exchange<T>(
        &mut self,
        doing: &str,
        out: Vec<u8>,
        take: impl FnMut(&mut CifsConnection, &CifsEvent<'_>, &mut Vec<u8>) -> Option<T>,
    ) -> Result<T, SessionError> {
        let limit = self.endpoint.limits.setup;
        self.state = StreamState::Lost;
        let result = match timeout(limit, self.exchange_unbounded(out, take)).await {
            Ok(result) => result.map_err(|failure| self.endpoint.failed(doing, failure))?,
            Err(_) => return Err(self.endpoint.timed_out(doing)),
        };
        self.state = StreamState::InStep;
        Ok(result)
    }

    async fn exchange_unbounded<T>(
        &mut self,
        mut out: Vec<u8>,
        mut take: impl FnMut(&mut CifsConnection, &CifsEvent<'_>, &mut Vec<u8>) -> Option<T>,
    ) -> Result<T, StepFailure> {
        let mut chunk = vec![0; RECEIVE_CHUNK_LEN];
        let mut result = None;
        loop {
            let mut input = send_and_receive(&mut self.stream, &mut out, &mut chunk).await?;
            while let Some(frame) = self
                .inbound
                .next(&mut input, Payload::Keep)
                .map_err(ProtocolError::from)?
            {
                let event = self.connection.receive(frame.into_message())?;
                if let CifsEvent::Break { session, broken } = &event {
                    // Nothing is cached, so the client agrees at once.
                    let session = session.unwrap_or(self.current);
                    self.connection
                        .release(session, broken.file, broken.level, &mut out);
                }
                result = result.or(take(&mut self.connection, &event, &mut out));
            }
            if let Some(result) = result {
                self.stream.write_all(&out).await?;
                return Ok(result);
            }
        }
    }

    /// Waits for the answer to an ECHO.
    pub(crate) async fn ask_whether_alive(&mut self) -> Result<(), SessionError> {
        const DOING: &str = "ask whether the server is alive";
        let body = smbench_protocol::cifs::command::close::encode_echo;
        self.call(DOING, CifsCommand::Echo, body).await.map(|_| ())
    }

    /// Shortens the limits; see [`Endpoint::impatient`].
    pub(crate) fn lose_patience(&mut self) {
        self.endpoint = self.endpoint.impatient();
    }

    /// Host, port and share, for messages.
    pub(crate) fn share(&self) -> String {
        self.endpoint.share()
    }

    /// Sends TREE_DISCONNECT and LOGOFF_ANDX; failures are ignored.
    pub(crate) async fn log_off(self) {
        let session = self.current;
        self.log_off_all([session]).await;
    }

    /// The same in each of these sessions. All of them together have the time limit of one
    /// log-off.
    pub(crate) async fn log_off_all(mut self, sessions: impl IntoIterator<Item = SessionIndex>) {
        const DOING: &str = "log off";
        let log_off = async {
            for session in sessions {
                self.current = session;
                let disconnected = self.call(DOING, CifsCommand::TreeDisconnect, encode_empty);
                if disconnected.await.is_err() {
                    return;
                }
                let logged_off = self.call(DOING, CifsCommand::LogoffAndX, encode_logoff);
                if logged_off.await.is_err() {
                    return;
                }
            }
        };
        // If the server does not answer, closing the socket is enough.
        let _ = timeout(LOGOFF_LIMIT, log_off).await;
    }
}
