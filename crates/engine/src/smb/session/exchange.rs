//! Single exchanges: sends requests and waits for their answers, within the time
//! limit of set-up requests.
//!
//! Invariant: after a failure or an interrupted wait, the session takes no further
//! request. A late answer could otherwise be taken for the answer to another
//! request.

use smbench_protocol::connection::{Binding, Chain, EMPTY_BODY};
use smbench_protocol::credit::charge_for;
use smbench_protocol::frame::Payload;
use smbench_protocol::handshake::{SessionSetup, SetupProgress};
use smbench_protocol::header::Command;
use smbench_protocol::{
    Channels, Connection, Credentials, Event, HandshakeError, NtStatus, ProtocolError,
    SessionConfig, SessionIndex,
};
use tokio::io::AsyncWriteExt;
use tokio::time::timeout;

use super::{
    RECEIVE_CHUNK_LEN, Reply, SET_UP, Session, SessionError, StepFailure, StreamState, caching,
    send_and_receive,
};
use crate::machine::clock;

/// Tag of a single request, and of the first request of a chain.
const FIRST_TAG: u32 = 0;

impl Session {
    /// Sends one request and waits for its final answer. If the session has
    /// expired, reauthenticates and sends the request once more.
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

    pub(super) async fn attempt(
        &mut self,
        doing: &str,
        command: Command,
        payload_len: u32,
        body: &[u8],
    ) -> Result<Reply, SessionError> {
        self.check_step(doing)?;
        let mut out = Vec::with_capacity(body.len() + 128);
        let charge = charge_for(payload_len);
        self.afford(doing, &[charge]).await?;
        self.connection
            .request(self.current, command, charge, FIRST_TAG, &mut out, |out| {
                out.extend_from_slice(body);
            })
            .map_err(|_| self.no_credit(doing))?;
        let [reply] = self.replies(doing, out).await?;
        Ok(reply)
    }

    /// Waits for the answer to an ECHO.
    pub(crate) async fn ask_whether_alive(&mut self) -> Result<(), SessionError> {
        let body = |out: &mut Vec<u8>| out.extend_from_slice(&EMPTY_BODY);
        let echo = self.call("ask whether the server is alive", Command::Echo, 0, body);
        echo.await.map(|_| ())
    }

    /// Sends related requests in one frame and waits for the final answer to each.
    /// `build` gives them the tags from 0. If the session has expired, they are
    /// built and sent once more as in [`Session::call`], because the server carried
    /// none of them out (MS-SMB2 3.3.5.2.9).
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
        self.afford(doing, &[1; N]).await?;
        build(self.connection.chain(self.current, &mut out))
            .finish()
            .map_err(|_| self.no_credit(doing))?;
        self.replies(doing, out).await
    }

    /// Sets up a further session on the connection, or binds the connection to the
    /// session of `binding`, and makes that session the current one.
    pub(crate) async fn open_another(
        &mut self,
        binding: Option<Binding>,
    ) -> Result<SessionIndex, SessionError> {
        self.check_step(SET_UP)?;
        self.afford(SET_UP, &[1]).await?;
        self.credentials = self.endpoint.credentials().await?;
        let config = self.endpoint.config(self.credentials.clone());
        let mut out = Vec::with_capacity(1024);
        let is_further = binding.is_none();
        let begun = SessionSetup::start(config, binding, &mut self.connection, FIRST_TAG, &mut out);
        let mut opening = begun.map_err(|source| self.not_logged_on(source))?;
        if is_further {
            opening = opening.or_logged_off();
        }
        let opened = self
            .exchange(SET_UP, out, |connection, event, out| match event {
                Event::Completed(done) if done.tag == FIRST_TAG => {
                    match opening.receive(connection, done, out) {
                        Ok(SetupProgress::Ready(session)) => Some(Ok(session)),
                        Ok(SetupProgress::NotYet) => None,
                        Ok(SetupProgress::Unfinished) => Some(Err(opening.give_up(connection))),
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

    /// Appends the first request of a further session, with this tag. The new
    /// session has the options of the others, but no further connections.
    pub(crate) fn begin_log_on(
        &mut self,
        credentials: &Credentials,
        tag: u32,
        out: &mut Vec<u8>,
    ) -> Result<SessionSetup, HandshakeError> {
        let config = SessionConfig {
            channels: Channels::One,
            ..self.endpoint.config(credentials.clone())
        };
        SessionSetup::start(config, None, &mut self.connection, tag, out)
            .map(SessionSetup::or_logged_off)
    }

    pub(super) fn check_step(&self, doing: &str) -> Result<(), SessionError> {
        match self.state {
            StreamState::InStep => Ok(()),
            StreamState::Lost => Err(self.endpoint.failed(doing, StepFailure::OutOfStep)),
        }
    }

    /// Waits until the credits suffice for requests of these charges.
    /// Acknowledgements of breaks hold credits until they are answered.
    pub(super) async fn afford(
        &mut self,
        doing: &str,
        charges: &[u16],
    ) -> Result<(), SessionError> {
        while self.connection.in_flight() > 0 && !self.connection.affords(charges) {
            self.exchange(doing, Vec::new(), |connection, _, _| {
                let is_over = connection.in_flight() == 0 || connection.affords(charges);
                is_over.then_some(())
            })
            .await?;
        }
        Ok(())
    }

    /// Waits until all requests have been answered, including acknowledgements of
    /// breaks.
    pub(crate) async fn settle(&mut self) -> Result<(), SessionError> {
        const DOING: &str = "agree to what it takes back";
        while self.connection.in_flight() > 0 {
            self.exchange(DOING, Vec::new(), |connection, _, _| {
                (connection.in_flight() == 0).then_some(())
            })
            .await?;
        }
        Ok(())
    }

    pub(super) fn no_credit(&self, doing: &str) -> SessionError {
        self.endpoint.failed(doing, StepFailure::NoCredit)
    }

    pub(super) fn not_logged_on(&self, source: HandshakeError) -> SessionError {
        self.endpoint.not_logged_on(&self.credentials, source)
    }

    /// Sends the encoded requests and waits for the answers to the first N tags.
    async fn replies<const N: usize>(
        &mut self,
        doing: &str,
        out: Vec<u8>,
    ) -> Result<[Reply; N], SessionError> {
        let mut replies = [const { None }; N];
        self.exchange(doing, out, |_, event, _| {
            if let Event::Completed(done) = event
                && let Some(reply) = replies.get_mut(done.tag as usize)
            {
                *reply = Some(Reply {
                    status: done.status,
                    message: done.message().to_vec(),
                });
            }
            replies.iter().all(Option::is_some).then_some(())
        })
        .await?;
        Ok(replies.map(|reply| {
            reply.unwrap_or_else(|| unreachable!("the exchange ends when all are there"))
        }))
    }

    /// Sends `out` and passes each received event to `take`, until `take` returns a
    /// result. `take` may append further requests to send.
    pub(super) async fn exchange<T>(
        &mut self,
        doing: &str,
        out: Vec<u8>,
        take: impl FnMut(&mut Connection, &Event<'_>, &mut Vec<u8>) -> Option<T>,
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
        mut take: impl FnMut(&mut Connection, &Event<'_>, &mut Vec<u8>) -> Option<T>,
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
                let mut messages = self.connection.open(frame)?;
                while let Some(message) = messages.next_message().map_err(ProtocolError::from)? {
                    let event = self.connection.receive(message)?;
                    match &event {
                        Event::Break(notification) => self.cache.broken(notification, |_| None),
                        Event::Completed(done) if done.tag >= caching::FIRST_TAG => {
                            let answered = self.cache.answered(done.tag, done.status, clock::now());
                            if let Some(answered) = answered {
                                self.cache.settle(answered);
                            }
                        }
                        _ => {}
                    }
                    // Events that arrive with the last answer are processed as
                    // well.
                    result = result.or(take(&mut self.connection, &event, &mut out));
                }
            }
            if self.cache.is_due() {
                // Other clients wait for the acknowledgement; this session's own
                // next request may wait for it as well.
                let now = clock::now();
                let cache = &mut self.cache;
                cache.acknowledge(&mut self.connection, now, &mut out, |_| true);
            }
            if let Some(result) = result {
                self.stream.write_all(&out).await?;
                return Ok(result);
            }
        }
    }
}
