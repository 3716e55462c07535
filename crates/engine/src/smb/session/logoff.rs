//! Finds out what a server ends at a LOGOFF.

use smbench_protocol::NtStatus;
use smbench_protocol::SessionIndex;
use smbench_protocol::connection::{EMPTY_BODY, ProtocolError};
use smbench_protocol::header::Command;

use super::{Endpoint, LogoffScope, Session, SessionError, StepFailure};

const DOING: &str = "find out what a log-off ends";

impl LogoffScope {
    /// Sets up two sessions on a connection of its own, logs one off, and asks in the other.
    pub(crate) async fn of(endpoint: &Endpoint) -> Result<Self, SessionError> {
        let mut session = Session::open(endpoint).await?;
        session.open_another(None).await?;
        session.log_off_current().await?;
        session.current = SessionIndex::FIRST;
        let status = match session.log_off_current().await {
            // In a protected session the server has no key for its answer any more.
            Err(SessionError::Step {
                source: StepFailure::Protocol(ProtocolError::SessionEnded(status)),
                ..
            }) => status,
            answered => answered?,
        };
        Ok(match status {
            NtStatus::USER_SESSION_DELETED => Self::Connection,
            _ => Self::Session,
        })
    }
}

impl Session {
    async fn log_off_current(&mut self) -> Result<NtStatus, SessionError> {
        let bodyless = |out: &mut Vec<u8>| out.extend_from_slice(&EMPTY_BODY);
        let reply = self.call(DOING, Command::Logoff, 0, bodyless).await?;
        Ok(reply.status)
    }
}
