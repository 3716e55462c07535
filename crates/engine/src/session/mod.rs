//! One authenticated session on one TCP connection, driven one request at a
//! time: for set-up, preparation and clean-up. The measured load is driven by
//! [`crate::run`], which takes the parts of a [`Session`] over.

pub(crate) mod caching;
mod endpoint;
mod error;
mod reauthentication;
mod who;

use std::time::Duration;

use smbench_protocol::command::close::CloseRequest;
use smbench_protocol::command::create::{CreateRequest, CreateResponse};
use smbench_protocol::command::create_context::GrantedContexts;
use smbench_protocol::connection::EMPTY_BODY;
use smbench_protocol::credit::charge_for;
use smbench_protocol::frame::{Inbound, Messages, Payload};
use smbench_protocol::header::Command;
use smbench_protocol::{
    Chain, Connection, Credentials, Event, FileId, Handshake, NtStatus, Progress, ProtocolError,
};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::clock;
use crate::plan::Caching;
use caching::Cache;
pub(crate) use endpoint::{Endpoint, random, random_u64};
pub use error::SessionError;
pub use who::Who;

/// Enough for any set-up answer in one piece.
const RECEIVE_CHUNK_LEN: usize = 16 * 1024;
/// How long a polite good-bye may take before the socket is just closed.
pub(crate) const LOGOFF_LIMIT: Duration = Duration::from_secs(5);

/// What one request was answered.
pub(crate) struct Reply {
    pub(crate) status: NtStatus,
    /// Header and body.
    pub(crate) message: Vec<u8>,
}

/// A session ready for use.
#[derive(Debug)]
pub(crate) struct Session {
    pub(crate) stream: TcpStream,
    pub(crate) inbound: Inbound,
    pub(crate) connection: Connection,
    /// What it was granted to cache.
    pub(crate) cache: Cache,
    endpoint: Endpoint,
    /// What it has logged on with.
    credentials: Credentials,
    state: State,
}

/// Whether both sides still agree on where in the stream they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Every request made has been answered.
    InStep,
    /// One has not: half of it may have been sent, half of its answer may have
    /// been read, and the rest of that may still come.
    Lost,
}

/// Whether more is waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Exchange {
    Open,
    Complete,
}

impl Session {
    /// Connects, authenticates and connects to the share.
    pub(crate) async fn open(endpoint: &Endpoint) -> Result<Self, SessionError> {
        let credentials = endpoint.credentials().await?;
        let stream = endpoint.connect().await?;
        let limit = endpoint.limits.setup;
        match timeout(limit, Self::shake_hands(endpoint, credentials, stream)).await {
            Ok(session) => session,
            Err(_) => Err(SessionError::Timeout {
                doing: "set up a session".to_owned(),
                at: endpoint.at(),
                limit,
            }),
        }
    }

    async fn shake_hands(
        endpoint: &Endpoint,
        credentials: Credentials,
        mut stream: TcpStream,
    ) -> Result<Self, SessionError> {
        const DOING: &str = "set up a session";
        let refuse = |source| SessionError::Handshake {
            at: endpoint.at(),
            who: Who::from(&credentials),
            share: endpoint.target.share.clone(),
            source,
        };
        let broken = |source: ProtocolError| SessionError::Protocol {
            doing: DOING.to_owned(),
            at: endpoint.at(),
            source,
        };
        let mut out = Vec::with_capacity(1024);
        let mut handshake =
            Handshake::start(endpoint.config(credentials.clone()), &mut out).map_err(refuse)?;
        let mut inbound = Inbound::default();
        let mut chunk = vec![0; RECEIVE_CHUNK_LEN];
        loop {
            stream
                .write_all(&out)
                .await
                .map_err(|source| endpoint.io(DOING, source))?;
            out.clear();
            let len = receive(&mut stream, &mut chunk)
                .await
                .map_err(|source| endpoint.io(DOING, source))?;
            let mut input = &mut chunk[..len];
            while let Some(frame) = inbound
                .next(&mut input, Payload::Keep)
                .map_err(|error| broken(error.into()))?
            {
                let mut messages = handshake.open(frame).map_err(broken)?;
                while let Some(message) = messages
                    .next_message()
                    .map_err(|error| broken(error.into()))?
                {
                    match handshake.receive(message, &mut out).map_err(refuse)? {
                        Progress::Continue => {}
                        Progress::Ready(mut connection) => {
                            // What came with the last answer is not lost: it
                            // was not asked for, or is half of a message.
                            take_unasked(&mut connection, messages).map_err(broken)?;
                            while let Some(frame) = inbound
                                .next(&mut input, Payload::Keep)
                                .map_err(|error| broken(error.into()))?
                            {
                                let messages = connection.open(frame).map_err(broken)?;
                                take_unasked(&mut connection, messages).map_err(broken)?;
                            }
                            return Ok(Self {
                                stream,
                                inbound,
                                cache: Cache::new(
                                    Caching::None,
                                    connection.negotiated().dialect,
                                    0,
                                ),
                                connection,
                                endpoint: endpoint.clone(),
                                credentials: credentials.clone(),
                                state: State::InStep,
                            });
                        }
                    }
                }
            }
        }
    }

    /// Sends one request and waits for its final answer. A session that has
    /// expired is authenticated again first. After a failure, or when the wait
    /// was cut short, the session takes no further request: an answer that
    /// comes late must not be taken for that of another.
    pub(crate) async fn call(
        &mut self,
        doing: &str,
        command: Command,
        payload_len: u32,
        body: impl FnOnce(&mut Vec<u8>),
    ) -> Result<Reply, SessionError> {
        let mut encoded = Vec::with_capacity(payload_len as usize + 128);
        body(&mut encoded);
        let reply = self.attempt(doing, command, payload_len, &encoded).await?;
        if reply.status != NtStatus::NETWORK_SESSION_EXPIRED {
            return Ok(reply);
        }
        self.reauthenticate().await?;
        self.attempt(doing, command, payload_len, &encoded).await
    }

    async fn attempt(
        &mut self,
        doing: &str,
        command: Command,
        payload_len: u32,
        body: &[u8],
    ) -> Result<Reply, SessionError> {
        self.check_step(doing)?;
        let mut out = Vec::with_capacity(body.len() + 128);
        self.connection
            .request(command, charge_for(payload_len), 0, &mut out, |out| {
                out.extend_from_slice(body);
            })
            .map_err(|_| self.no_credit(doing))?;
        let [reply] = self.converse(doing, &out).await?;
        Ok(reply)
    }

    /// Sends related requests in one frame and waits for the final answer to
    /// each; `build` gives them the tags from 0. As with [`Session::call`],
    /// they are built and sent once more where the session has expired: none
    /// was carried out then (MS-SMB2 3.3.5.2.9).
    pub(crate) async fn chain<const N: usize>(
        &mut self,
        doing: &str,
        build: impl for<'a> Fn(Chain<'a>) -> Chain<'a>,
    ) -> Result<[Reply; N], SessionError> {
        let replies = self.attempt_chain(doing, &build).await?;
        let expired = |reply: &Reply| reply.status == NtStatus::NETWORK_SESSION_EXPIRED;
        if !replies.first().is_some_and(expired) {
            return Ok(replies);
        }
        self.reauthenticate().await?;
        self.attempt_chain(doing, &build).await
    }

    async fn attempt_chain<const N: usize>(
        &mut self,
        doing: &str,
        build: &impl for<'a> Fn(Chain<'a>) -> Chain<'a>,
    ) -> Result<[Reply; N], SessionError> {
        self.check_step(doing)?;
        let mut out = Vec::with_capacity(1024);
        build(self.connection.chain(&mut out))
            .finish()
            .map_err(|_| self.no_credit(doing))?;
        self.converse(doing, &out).await
    }

    fn check_step(&self, doing: &str) -> Result<(), SessionError> {
        match self.state {
            State::InStep => Ok(()),
            State::Lost => Err(SessionError::OutOfStep {
                doing: doing.to_owned(),
                at: self.endpoint.at(),
            }),
        }
    }

    fn no_credit(&self, doing: &str) -> SessionError {
        SessionError::NoCredit {
            doing: doing.to_owned(),
            at: self.endpoint.at(),
        }
    }

    /// Sends what was encoded and waits for the answers to tags 0 to N - 1.
    async fn converse<const N: usize>(
        &mut self,
        doing: &str,
        out: &[u8],
    ) -> Result<[Reply; N], SessionError> {
        let mut replies = [const { None }; N];
        self.exchange(doing, out, |event| {
            if let Event::Completed(done) = event
                && let Some(reply) = replies.get_mut(done.tag as usize)
            {
                *reply = Some(Reply {
                    status: done.status,
                    message: done.message().to_vec(),
                });
            }
            match replies.iter().all(Option::is_some) {
                true => Exchange::Complete,
                false => Exchange::Open,
            }
        })
        .await?;
        Ok(replies.map(|reply| {
            reply.unwrap_or_else(|| unreachable!("the exchange is complete when all are there"))
        }))
    }

    /// Sends `out` and hands what comes to `take` until that has all it needs.
    async fn exchange(
        &mut self,
        doing: &str,
        out: &[u8],
        take: impl FnMut(&Event<'_>) -> Exchange,
    ) -> Result<(), SessionError> {
        let limit = self.endpoint.limits.setup;
        self.state = State::Lost;
        match timeout(limit, self.exchange_unbounded(doing, out, take)).await {
            Ok(exchanged) => exchanged?,
            Err(_) => {
                return Err(SessionError::Timeout {
                    doing: doing.to_owned(),
                    at: self.endpoint.at(),
                    limit,
                });
            }
        }
        self.state = State::InStep;
        Ok(())
    }

    async fn exchange_unbounded(
        &mut self,
        doing: &str,
        out: &[u8],
        mut take: impl FnMut(&Event<'_>) -> Exchange,
    ) -> Result<(), SessionError> {
        let endpoint = &self.endpoint;
        let broken = |source: ProtocolError| SessionError::Protocol {
            doing: doing.to_owned(),
            at: endpoint.at(),
            source,
        };
        self.stream
            .write_all(out)
            .await
            .map_err(|source| endpoint.io(doing, source))?;
        let mut chunk = vec![0; RECEIVE_CHUNK_LEN];
        let mut exchange = Exchange::Open;
        while exchange == Exchange::Open {
            let len = receive(&mut self.stream, &mut chunk)
                .await
                .map_err(|source| endpoint.io(doing, source))?;
            let mut input = &mut chunk[..len];
            while let Some(frame) = self
                .inbound
                .next(&mut input, Payload::Keep)
                .map_err(|error| broken(error.into()))?
            {
                let mut messages = self.connection.open(frame).map_err(broken)?;
                while let Some(message) = messages
                    .next_message()
                    .map_err(|error| broken(error.into()))?
                {
                    let event = self.connection.receive(message).map_err(broken)?;
                    match &event {
                        Event::Break(notification) => self.cache.broken(notification, |_| None),
                        Event::Completed(done) => {
                            // One of its own, which nobody else waits for.
                            let _ = self.cache.answered(done.tag, done.status);
                        }
                        _ => {}
                    }
                    if take(&event) == Exchange::Complete {
                        exchange = Exchange::Complete;
                    }
                }
            }
            if self.cache.is_due() {
                // Others wait for it, this session's own next request maybe too.
                let mut out = Vec::new();
                let now = clock::now();
                self.cache.acknowledge(&mut self.connection, now, &mut out);
                self.stream
                    .write_all(&out)
                    .await
                    .map_err(|source| endpoint.io(doing, source))?;
            }
        }
        Ok(())
    }

    /// Like [`Session::call`], where any status but success is an error.
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

    /// See [`Endpoint::impatient`].
    pub(crate) fn lose_patience(&mut self) {
        self.endpoint = self.endpoint.impatient();
    }

    /// Host, port and share, for messages.
    pub(crate) fn share(&self) -> String {
        self.endpoint.share()
    }

    pub(crate) fn refused(&self, doing: &str, status: NtStatus) -> SessionError {
        SessionError::Refused {
            doing: doing.to_owned(),
            at: self.share(),
            status,
        }
    }

    /// A malformed answer to a request.
    pub(crate) fn malformed(
        &self,
        doing: &str,
        source: smbench_protocol::DecodeError,
    ) -> SessionError {
        SessionError::Protocol {
            doing: doing.to_owned(),
            at: self.endpoint.at(),
            source: source.into(),
        }
    }

    /// CREATE.
    pub(crate) async fn create(
        &mut self,
        doing: &str,
        request: &CreateRequest<'_>,
    ) -> Result<CreateResponse, SessionError> {
        let (created, _) = self.create_with(doing, request).await?;
        Ok(created)
    }

    /// CREATE, and what it was granted beyond its fields.
    pub(crate) async fn create_with(
        &mut self,
        doing: &str,
        request: &CreateRequest<'_>,
    ) -> Result<(CreateResponse, GrantedContexts), SessionError> {
        let mut body = Vec::with_capacity(256);
        // The encoder counts offsets from the header, which is of fixed size.
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

    /// CLOSE.
    pub(crate) async fn close(&mut self, doing: &str, file: FileId) -> Result<(), SessionError> {
        let request = CloseRequest {
            file_id: file,
            flags: 0,
        };
        self.expect(doing, Command::Close, 0, |out| request.encode(out))
            .await
            .map(|_| ())
    }

    /// Sends ECHOs until the credits asked for are there, at most `echos` of
    /// them: servers grant few at a time, and a window without the credits for
    /// even one large request could not begin.
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

    /// TREE_DISCONNECT and LOGOFF; the outcome changes nothing for us.
    pub(crate) async fn log_off(mut self) {
        let farewell = async {
            for command in [Command::TreeDisconnect, Command::Logoff] {
                let bodyless = |out: &mut Vec<u8>| out.extend_from_slice(&EMPTY_BODY);
                if self.call("log off", command, 0, bodyless).await.is_err() {
                    break;
                }
            }
        };
        // A server that does not answer sees the socket close.
        let _ = timeout(LOGOFF_LIMIT, farewell).await;
    }
}

/// Takes messages while no request is in flight.
fn take_unasked(
    connection: &mut Connection,
    mut messages: Messages<'_>,
) -> Result<(), ProtocolError> {
    while let Some(message) = messages.next_message()? {
        connection.receive(message)?;
    }
    Ok(())
}

async fn receive(stream: &mut TcpStream, chunk: &mut [u8]) -> std::io::Result<usize> {
    match stream.read(chunk).await? {
        0 => Err(std::io::Error::new(
            std::io::ErrorKind::UnexpectedEof,
            "the server closed the connection",
        )),
        len => Ok(len),
    }
}

#[cfg(test)]
mod tests;
