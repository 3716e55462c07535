//! Sessions in CIFS on one TCP connection, with one request at a time: the counterpart of
//! [`Session`](super::Session).

mod files;

pub(crate) use files::{SEARCH_ATTRIBUTES, number_of};

use smbench_model::record::SetupPhase;
use smbench_protocol::cifs::command::encode_empty;
use smbench_protocol::cifs::command::lock::CifsBreak;
use smbench_protocol::cifs::command::session::encode_logoff;
use smbench_protocol::cifs::handshake::{
    CifsHandshake, CifsProgress, CifsSetup, CifsSetupProgress,
};
use smbench_protocol::cifs::header::{CIFS_HEADER_LEN, CifsCommand};
use smbench_protocol::cifs::{CifsConnection, CifsEvent};
use smbench_protocol::{Credentials, HandshakeError, NtStatus, ProtocolError, SessionIndex};
use tokio::time::timeout;

use super::steps::SetupSteps;
use super::{Endpoint, LOGOFF_LIMIT, SET_UP, SessionError, SessionStream, StepFailure, phase_of};

/// Tag of the request in flight. Slots, whose requests may still be in flight at a log-off,
/// have others.
const TAG: u32 = u32::MAX;
/// Name of the action, for messages.
const RENEWING: &str = "authenticate again";

/// A session ready for use, or several on one connection.
#[derive(Debug)]
pub(crate) struct CifsSession {
    pub(crate) stream: SessionStream,
    pub(crate) connection: CifsConnection,
    pub(crate) credentials: Credentials,
    /// The session in which requests are made.
    pub(crate) current: SessionIndex,
    /// The breaks that were acknowledged at once.
    pub(crate) breaks: Vec<CifsBreak>,
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

/// Encodes a body after room for the header: the encoders count offsets from there.
fn encoded(body: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    let mut encoded = vec![0; CIFS_HEADER_LEN];
    body(&mut encoded);
    encoded
}

impl CifsSession {
    /// Connects, authenticates and connects to the share.
    pub(crate) async fn open(endpoint: &Endpoint) -> Result<Self, SessionError> {
        let credentials = endpoint.credentials().await?;
        let mut steps = SetupSteps::begin();
        let mut stream = SessionStream::connect(endpoint).await?;
        steps.reach(SetupPhase::Negotiate);
        let connection = shake_hands(&mut stream, &credentials, &mut steps).await;
        let connection = connection.map_err(|error| error.in_phase(steps.phase()))?;
        steps.end();
        Ok(Self {
            steps,
            stream,
            connection,
            credentials,
            current: SessionIndex::FIRST,
            breaks: Vec::new(),
        })
    }

    /// Makes the next log-on on this connection that of a client.
    pub(crate) fn log_on_as(&mut self, client: u32) {
        self.stream.log_on_as(client);
    }

    /// Sets up a further session on the connection, and makes it the current one.
    pub(crate) async fn open_another(&mut self) -> Result<SessionIndex, SessionError> {
        self.stream.check_step(SET_UP)?;
        self.credentials = self.stream.endpoint.credentials().await?;
        let mut out = Vec::with_capacity(1024);
        let begun = self.begin_log_on(&self.credentials.clone(), TAG, &mut out);
        let setup = begun.map_err(|source| self.not_logged_on(source))?;
        self.current = self.set_up(SET_UP, setup, out).await?;
        Ok(self.current)
    }

    /// Sends the first request of a set-up, and carries it out.
    async fn set_up(
        &mut self,
        doing: &str,
        mut setup: CifsSetup,
        out: Vec<u8>,
    ) -> Result<SessionIndex, SessionError> {
        let set_up = self
            .exchange(doing, out, |connection, event, out| match event {
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
        set_up.map_err(|source| {
            // After a refusal the exchange is complete, and the other sessions stay.
            if !matches!(source, HandshakeError::Refused { .. }) {
                self.stream.lose_step();
            }
            self.not_logged_on(source)
        })
    }

    /// Authenticates the session again; files stay open. After a failure the session takes
    /// no further request.
    pub(crate) async fn reauthenticate(&mut self) -> Result<(), SessionError> {
        self.stream.check_step(RENEWING)?;
        let credentials = self.stream.renewal(&self.credentials).await?;
        let mut out = Vec::with_capacity(1024);
        let setup = self.begin_renewal(self.current, &credentials, TAG, &mut out)?;
        self.credentials = credentials;
        let renewed = self.set_up(RENEWING, setup, out).await;
        renewed.map(|_| ()).inspect_err(|_| self.stream.lose_step())
    }

    /// Appends the first request of a reauthentication, with this tag.
    pub(crate) fn begin_renewal(
        &mut self,
        session: SessionIndex,
        credentials: &Credentials,
        tag: u32,
        out: &mut Vec<u8>,
    ) -> Result<CifsSetup, SessionError> {
        let config = self.stream.endpoint.config(credentials.clone());
        CifsSetup::renew(config, session, &mut self.connection, tag, out)
            .map_err(|source| self.not_renewed(credentials, source))
    }

    /// Returns the error for a session that could not be reauthenticated.
    pub(crate) fn not_renewed(&self, used: &Credentials, source: HandshakeError) -> SessionError {
        self.stream.endpoint.not_logged_on(used, source)
    }

    /// Appends the first request of a further session, with this tag.
    pub(crate) fn begin_log_on(
        &mut self,
        credentials: &Credentials,
        tag: u32,
        out: &mut Vec<u8>,
    ) -> Result<CifsSetup, HandshakeError> {
        let config = self.stream.endpoint.config(credentials.clone());
        CifsSetup::start(config, &mut self.connection, tag, out)
    }

    fn not_logged_on(&self, source: HandshakeError) -> SessionError {
        self.stream
            .endpoint
            .not_logged_on(&self.credentials, source)
    }

    /// Sends one request and waits for its answer. If the session has expired,
    /// reauthenticates and sends the request once more.
    pub(crate) fn call(
        &mut self,
        doing: &str,
        command: CifsCommand,
        body: impl FnOnce(&mut Vec<u8>),
    ) -> impl Future<Output = Result<CifsReply, SessionError>> {
        self.call_encoded(doing, command, encoded(body))
    }

    async fn call_encoded(
        &mut self,
        doing: &str,
        command: CifsCommand,
        encoded: Vec<u8>,
    ) -> Result<CifsReply, SessionError> {
        let body = &encoded[CIFS_HEADER_LEN..];
        let reply = self.attempt(doing, command, body).await?;
        if reply.status != NtStatus::NETWORK_SESSION_EXPIRED {
            return Ok(reply);
        }
        self.reauthenticate().await?;
        self.attempt(doing, command, body).await
    }

    async fn attempt(
        &mut self,
        doing: &str,
        command: CifsCommand,
        body: &[u8],
    ) -> Result<CifsReply, SessionError> {
        self.stream.check_step(doing)?;
        let mut out = Vec::with_capacity(body.len() + 64);
        self.connection
            .request(self.current, command, TAG, &mut out, |out| {
                out.extend_from_slice(body);
            })
            .map_err(|_| self.stream.endpoint.failed(doing, StepFailure::NoCredit))?;
        let is_transaction = matches!(command, CifsCommand::Transaction2 | CifsCommand::NtTransact);
        let reply = self
            .exchange(doing, out, |_, event, _| match event {
                CifsEvent::Completed(done) if done.tag == TAG => Some(if is_transaction {
                    done.transaction().map(|(parameters, data)| CifsReply {
                        status: done.status,
                        message: done.message().to_vec(),
                        parameters: parameters.to_vec(),
                        data: data.to_vec(),
                    })
                } else {
                    Ok(CifsReply {
                        status: done.status,
                        message: done.message().to_vec(),
                        parameters: Vec::new(),
                        data: Vec::new(),
                    })
                }),
                _ => None,
            })
            .await?;
        reply.map_err(|error| self.stream.malformed(doing, error))
    }

    /// Works like [`CifsSession::call`], but returns an error for any status except
    /// success.
    pub(crate) fn expect(
        &mut self,
        doing: &str,
        command: CifsCommand,
        body: impl FnOnce(&mut Vec<u8>),
    ) -> impl Future<Output = Result<CifsReply, SessionError>> {
        self.expect_encoded(doing, command, encoded(body))
    }

    async fn expect_encoded(
        &mut self,
        doing: &str,
        command: CifsCommand,
        encoded: Vec<u8>,
    ) -> Result<CifsReply, SessionError> {
        let reply = self.call_encoded(doing, command, encoded).await?;
        match reply.status {
            NtStatus::SUCCESS => Ok(reply),
            status => Err(self.stream.refused(doing, status)),
        }
    }

    /// Sends `out` and passes each received event to `take`, until `take` returns a
    /// result. `take` may append further requests to send.
    async fn exchange<T>(
        &mut self,
        doing: &str,
        out: Vec<u8>,
        mut take: impl FnMut(&mut CifsConnection, &CifsEvent<'_>, &mut Vec<u8>) -> Option<T>,
    ) -> Result<T, SessionError> {
        let Self {
            stream,
            connection,
            current,
            breaks,
            ..
        } = self;
        let exchanged = stream.exchange(doing, out, |frame, out| {
            let event = connection.receive(frame.into_message())?;
            if let CifsEvent::Break { session, broken } = event {
                // Nothing is cached, so the client agrees at once.
                connection.release(session.unwrap_or(*current), broken, out);
                breaks.push(broken);
            }
            Ok(take(connection, &event, out))
        });
        exchanged.await
    }

    /// Waits for the answer to an ECHO.
    pub(crate) async fn ask_whether_alive(&mut self) -> Result<(), SessionError> {
        const DOING: &str = "ask whether the server is alive";
        let body = smbench_protocol::cifs::command::close::encode_echo;
        self.call(DOING, CifsCommand::Echo, body).await.map(|_| ())
    }

    /// Shortens the limits; see [`Endpoint::impatient`].
    pub(crate) fn lose_patience(&mut self) {
        self.stream.lose_patience();
    }

    /// Host, port and share, for messages.
    pub(crate) fn share(&self) -> String {
        self.stream.endpoint.share()
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

/// Sets up a session on a new connection. `steps` has the phase of the request in flight.
async fn shake_hands(
    stream: &mut SessionStream,
    credentials: &Credentials,
    steps: &mut SetupSteps,
) -> Result<CifsConnection, SessionError> {
    let mut out = Vec::with_capacity(1024);
    let config = stream.endpoint.config(credentials.clone());
    let begun = CifsHandshake::start(config, &mut out);
    let mut handshake =
        begun.map_err(|source| stream.endpoint.not_logged_on(credentials, source))?;
    let mut is_ready = false;
    let shaken = stream.exchange(SET_UP, out, |frame, out| {
        if is_ready {
            return Err(ProtocolError::NotAResponse.into());
        }
        match handshake.receive(frame.into_message(), out) {
            Ok(CifsProgress::Ready(connection)) => {
                is_ready = true;
                Ok(Some(Ok(*connection)))
            }
            Ok(_) => {
                steps.reach(phase_of(handshake.awaited()));
                Ok(None)
            }
            Err(error) => Ok(Some(Err(error))),
        }
    });
    let shaken = shaken.await?;
    shaken.map_err(|source| stream.endpoint.not_logged_on(credentials, source))
}
