//! Authenticated sessions on one TCP connection, with one request at a time, for
//! set-up, preparation and clean-up. The measured load is driven by [`crate::run`],
//! which takes over the parts of a [`Session`].

pub(crate) mod caching;
pub(crate) mod cifs;
mod endpoint;
mod error;
mod exchange;
mod files;
mod logoff;
mod logoff_scope;
mod reauthentication;
mod steps;
mod stream;
mod who;

use std::time::Duration;

use smbench_model::record::SetupPhase;
use smbench_model::sessions::Caching;
use smbench_protocol::command::close::CloseRequest;
use smbench_protocol::command::create::{CreateRequest, CreateResponse};
use smbench_protocol::command::create_context::GrantedContexts;
use smbench_protocol::connection::EMPTY_BODY;
use smbench_protocol::connection::{Binding, SessionTerms};
use smbench_protocol::header::Command;
use smbench_protocol::{
    Connection, Credentials, DecodeError, FileId, Handshake, HandshakeProgress, NtStatus,
    ProtocolError, SessionIndex,
};
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::machine::cancel::Cancel;
use caching::Cache;
pub(crate) use endpoint::{Endpoint, random_u64};
pub use error::{SessionError, StepFailure};
pub(crate) use logoff_scope::LogoffScope;
pub(crate) use steps::SetupSteps;
pub(crate) use stream::SessionStream;
pub use who::LogonIdentity;

/// Limit for the log-off; after that the socket is closed without it.
pub(crate) const LOGOFF_LIMIT: Duration = Duration::from_secs(5);

/// Maximum number of ECHOs sent to earn the credits of a connection's window.
const EARNING_ECHOS: u32 = 64;

/// The answer to one request.
pub(crate) struct Reply {
    pub(crate) status: NtStatus,
    /// Header and body of the answer.
    pub(crate) message: Vec<u8>,
}

/// A session ready for use, or several on one connection.
#[derive(Debug)]
pub(crate) struct Session {
    pub(crate) stream: SessionStream,
    pub(crate) connection: Connection,
    /// Oplocks and leases granted on this connection.
    pub(crate) cache: Cache,
    /// Credentials of the last log-on.
    pub(crate) credentials: Credentials,
    /// The session in which requests are made.
    current: SessionIndex,
    /// How long the steps of the first set-up took.
    pub(crate) steps: SetupSteps,
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
        let steps = SetupSteps::begin();
        let stream = SessionStream::connect(endpoint).await?;
        Self::set_up(stream, credentials, binding, steps).await
    }

    /// Works like [`Session::open_channel`], on a new connection.
    pub(crate) async fn bind(
        stream: SessionStream,
        binding: Binding,
    ) -> Result<Self, SessionError> {
        let credentials = stream.endpoint.credentials().await?;
        Self::set_up(stream, credentials, Some(binding), SetupSteps::begin()).await
    }

    async fn set_up(
        mut stream: SessionStream,
        credentials: Credentials,
        binding: Option<Binding>,
        mut steps: SetupSteps,
    ) -> Result<Self, SessionError> {
        steps.reach(SetupPhase::Negotiate);
        let connection = shake_hands(&mut stream, &credentials, binding, &mut steps).await;
        let connection = connection.map_err(|error| error.in_phase(steps.phase()))?;
        steps.end();
        Ok(Self {
            steps,
            stream,
            cache: Cache::new(Caching::None, connection.negotiated().dialect, 0),
            connection,
            credentials,
            current: SessionIndex::FIRST,
        })
    }

    /// Makes the next log-on on this connection that of a client.
    pub(crate) fn log_on_as(&mut self, client: u32) {
        self.stream.log_on_as(client);
    }

    /// Returns the endpoint for further connections of the same sessions: at the
    /// server address of this connection.
    pub(crate) fn beside(&self) -> Result<Endpoint, SessionError> {
        let SessionStream {
            socket, endpoint, ..
        } = &self.stream;
        let address = socket.of_tokio().and_then(TcpStream::peer_addr);
        let address = address.map_err(|source| endpoint.failed("connect once more", source))?;
        Ok(endpoint.at_address(address))
    }

    /// Makes further connections of the same sessions be with the server address of this one.
    pub(crate) fn keep_address(&mut self) -> Result<(), SessionError> {
        self.stream.endpoint = self.beside()?;
        Ok(())
    }

    /// Returns the endpoint of this connection. Its address is sure after [`Self::keep_address`].
    pub(crate) const fn endpoint(&self) -> &Endpoint {
        &self.stream.endpoint
    }

    /// Lets the next session on this connection take the place of an earlier one; 0 for none.
    pub(crate) fn replace_next(&mut self, previous_session: u64) {
        let endpoint = self.stream.endpoint.clone();
        self.stream.endpoint = endpoint.in_place_of(previous_session);
    }

    /// Returns the result of the log-on to the current session.
    pub(crate) fn terms(&self) -> &SessionTerms {
        self.connection.terms(self.current)
    }

    /// Works like [`Session::call`], but returns an error for any status except
    /// success.
    pub(crate) fn expect(
        &mut self,
        doing: &str,
        command: Command,
        payload_len: u32,
        body: impl FnOnce(&mut Vec<u8>),
    ) -> impl Future<Output = Result<Vec<u8>, SessionError>> {
        let encoded = exchange::encoded(payload_len, body);
        self.expect_encoded(doing, command, payload_len, encoded)
    }

    async fn expect_encoded(
        &mut self,
        doing: &str,
        command: Command,
        payload_len: u32,
        encoded: Vec<u8>,
    ) -> Result<Vec<u8>, SessionError> {
        let reply = self
            .call_encoded(doing, command, payload_len, encoded)
            .await?;
        if reply.status == NtStatus::SUCCESS {
            return Ok(reply.message);
        }
        Err(self.refused(doing, reply.status))
    }

    /// Shortens the limits; see [`Endpoint::impatient`].
    pub(crate) fn lose_patience(&mut self) {
        self.stream.lose_patience();
    }

    /// Host, port and share, for messages.
    pub(crate) fn share(&self) -> String {
        self.stream.endpoint.share()
    }

    pub(crate) fn refused(&self, doing: &str, status: NtStatus) -> SessionError {
        self.stream.refused(doing, status)
    }

    /// Returns the error for a request about the share that failed.
    pub(crate) fn failed_on_share(&self, doing: &str, source: StepFailure) -> SessionError {
        self.stream.endpoint.failed_on_share(doing, source)
    }

    /// Returns the error for a malformed answer to a request.
    pub(crate) fn malformed(&self, doing: &str, error: DecodeError) -> SessionError {
        self.stream.malformed(doing, error)
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
        let created = self.try_create(doing, request).await?;
        created.map_err(|status| self.refused(doing, status))
    }

    /// Sends a CREATE and returns its answer with the granted contexts, or the status with which
    /// the server refused it.
    pub(crate) async fn try_create(
        &mut self,
        doing: &str,
        request: &CreateRequest<'_>,
    ) -> Result<Result<(CreateResponse, GrantedContexts), NtStatus>, SessionError> {
        let mut body = Vec::with_capacity(256);
        // The encoder counts offsets from the header, which has a fixed size.
        request.encode(&mut body).map_err(|_| SessionError::Path {
            doing: doing.to_owned(),
        })?;
        let reply = self.call(doing, Command::Create, 0, |out| {
            out.extend_from_slice(&body);
        });
        let Reply { status, message } = reply.await?;
        if status != NtStatus::SUCCESS {
            return Ok(Err(status));
        }
        let decoded = CreateResponse::decode(&message)
            .and_then(|created| Ok((created, GrantedContexts::decode(&message)?)));
        decoded
            .map(Ok)
            .map_err(|error| self.malformed(doing, error))
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

    /// Sends ECHOs until the requested credits are available, at most
    /// [`EARNING_ECHOS`]. Servers grant few credits at a time. Without enough credits
    /// for one large request, a window could not begin.
    pub(crate) async fn earn_credits(&mut self) -> Result<(), SessionError> {
        const DOING: &str = "earn credits";
        for _ in 0..EARNING_ECHOS {
            if self.connection.credits() >= u32::from(self.stream.endpoint.credit_target) {
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
                let ends = [Command::TreeDisconnect, Command::Logoff];
                if self.calls_without_data("log off", ends).await.is_err() {
                    return;
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

/// Sets up a session on a new connection. `steps` has the phase of the request in flight.
async fn shake_hands(
    stream: &mut SessionStream,
    credentials: &Credentials,
    binding: Option<Binding>,
    steps: &mut SetupSteps,
) -> Result<Connection, SessionError> {
    let mut out = Vec::with_capacity(1024);
    let config = stream.endpoint.config(credentials.clone());
    let begun = Handshake::start(config, binding, &mut out);
    let mut handshake =
        begun.map_err(|source| stream.endpoint.not_logged_on(credentials, source))?;
    let mut ready: Option<Connection> = None;
    let shaken = stream.exchange(SET_UP, out, |frame, out| {
        let mut messages = match &mut ready {
            None => handshake.open(frame)?,
            // Unsolicited messages may follow the last answer.
            Some(connection) => connection.open(frame)?,
        };
        while let Some(message) = messages.next_message().map_err(ProtocolError::from)? {
            if let Some(connection) = &mut ready {
                connection.receive(message)?;
                continue;
            }
            match handshake.receive(message, out) {
                Ok(HandshakeProgress::Ready(connection)) => ready = Some(connection),
                Ok(_) => steps.reach(phase_of(handshake.awaited())),
                Err(error) => return Ok(Some(Err(error))),
            }
        }
        Ok(ready.is_some().then_some(Ok(())))
    });
    let shaken = shaken.await?;
    shaken.map_err(|source| stream.endpoint.not_logged_on(credentials, source))?;
    Ok(ready.unwrap_or_else(|| unreachable!("the exchange ends when it is there")))
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
