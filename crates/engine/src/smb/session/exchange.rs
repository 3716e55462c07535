//! Single exchanges: sends requests and waits for their answers, within the time
//! limit of set-up requests.

use smbench_protocol::connection::{Binding, Chain, EMPTY_BODY};
use smbench_protocol::credit::charge_for;
use smbench_protocol::handshake::{SessionSetup, SetupProgress};
use smbench_protocol::header::Command;
use smbench_protocol::{
    Channels, Connection, Credentials, Event, HandshakeError, NtStatus, ProtocolError,
    SessionConfig, SessionIndex,
};

use super::{Reply, SET_UP, Session, SessionError, StepFailure, caching};
use crate::machine::clock;

/// Tag of a single request, and of the first request of a chain.
const FIRST_TAG: u32 = 0;

/// Encodes a body that has this many bytes of data.
pub(super) fn encoded(payload_len: u32, body: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    let mut encoded = Vec::with_capacity(payload_len as usize + 128);
    body(&mut encoded);
    encoded
}

impl Session {
    /// Sends one request and waits for its final answer. If the session has
    /// expired, reauthenticates and sends the request once more.
    pub(crate) fn call(
        &mut self,
        doing: &str,
        command: Command,
        payload_len: u32,
        body: impl FnOnce(&mut Vec<u8>),
    ) -> impl Future<Output = Result<Reply, SessionError>> {
        self.call_encoded(doing, command, payload_len, encoded(payload_len, body))
    }

    pub(super) async fn call_encoded(
        &mut self,
        doing: &str,
        command: Command,
        payload_len: u32,
        encoded: Vec<u8>,
    ) -> Result<Reply, SessionError> {
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
        self.stream.check_step(doing)?;
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

    /// Sends requests without data, all at once if the credits suffice, and waits for their
    /// answers.
    pub(super) async fn calls_without_data<const N: usize>(
        &mut self,
        doing: &str,
        commands: [Command; N],
    ) -> Result<(), SessionError> {
        let bodyless = |out: &mut Vec<u8>| out.extend_from_slice(&EMPTY_BODY);
        self.stream.check_step(doing)?;
        self.afford(doing, &[1; N]).await?;
        if !self.connection.affords(&[1; N]) {
            for command in commands {
                self.call(doing, command, 0, bodyless).await?;
            }
            return Ok(());
        }
        let mut out = Vec::with_capacity(256);
        for (tag, command) in (FIRST_TAG..).zip(commands) {
            self.connection
                .request(self.current, command, 1, tag, &mut out, bodyless)
                .map_err(|_| self.no_credit(doing))?;
        }
        self.replies::<N>(doing, out).await?;
        Ok(())
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
        self.stream.check_step(doing)?;
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
        self.stream.check_step(SET_UP)?;
        self.afford(SET_UP, &[1]).await?;
        self.credentials = self.stream.endpoint.credentials().await?;
        let config = self.stream.endpoint.config(self.credentials.clone());
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
                self.stream.lose_step();
            }
            self.not_logged_on(source)
        })?;
        Ok(self.current)
    }

    /// Binds this connection to the session of a further client, which has this index.
    /// Sessions are set up in the same order on each connection, so that a session has
    /// the same index on all of them.
    pub(crate) async fn bind_next(
        &mut self,
        client: u32,
        index: SessionIndex,
        binding: Binding,
    ) -> Result<(), SessionError> {
        self.log_on_as(client);
        let same = self.open_another(Some(binding)).await?;
        debug_assert_eq!(same, index);
        Ok(())
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
            ..self.stream.endpoint.config(credentials.clone())
        };
        SessionSetup::start(config, None, &mut self.connection, tag, out)
            .map(SessionSetup::or_logged_off)
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
        self.stream.endpoint.failed(doing, StepFailure::NoCredit)
    }

    pub(super) fn not_logged_on(&self, source: HandshakeError) -> SessionError {
        self.stream
            .endpoint
            .not_logged_on(&self.credentials, source)
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
        mut take: impl FnMut(&mut Connection, &Event<'_>, &mut Vec<u8>) -> Option<T>,
    ) -> Result<T, SessionError> {
        let Self {
            stream,
            connection,
            cache,
            ..
        } = self;
        let exchanged = stream.exchange(doing, out, |frame, out| {
            let mut result = None;
            let mut messages = connection.open(frame)?;
            while let Some(message) = messages.next_message().map_err(ProtocolError::from)? {
                let event = connection.receive(message)?;
                match &event {
                    Event::Break(notification) => cache.broken(notification, |_| None),
                    Event::Completed(done) if done.tag >= caching::FIRST_TAG => {
                        let answered = cache.answered(done.tag, done.status, clock::now());
                        if let Some(answered) = answered {
                            cache.settle(answered);
                        }
                    }
                    _ => {}
                }
                result = result.or(take(connection, &event, out));
            }
            if cache.is_due() {
                // Other clients wait for the acknowledgement; this session's own next
                // request may wait for it as well.
                cache.acknowledge(connection, clock::now(), out, |_| true);
            }
            Ok(result)
        });
        exchanged.await
    }
}
