//! The phase of a set-up that an error belongs to, and its cause in a few words.

use std::io::{self, ErrorKind};

use smbench_model::record::SetupPhase;
use smbench_protocol::HandshakeError;
use smbench_protocol::header::Command;

use super::advice::phase_of;
use super::{SessionError, StepFailure};

impl SessionError {
    /// Returns the phase of the set-up that failed. Failures before TCP is connected, such
    /// as a missing ticket, count as those of the connection.
    #[must_use]
    pub fn phase(&self) -> SetupPhase {
        match self {
            Self::AfterSome { source, .. } | Self::Channel { source, .. } => source.phase(),
            Self::Step { phase, .. } => phase.unwrap_or(SetupPhase::LogOn),
            Self::OnHost { phase, .. } => *phase,
            Self::Handshake { source, .. } => phase_of(source),
            Self::NotSmb { .. } => SetupPhase::Negotiate,
            _ => SetupPhase::Connect,
        }
    }

    /// Returns the cause in a few words, without names that differ between sessions: a
    /// status where the server gave one.
    #[must_use]
    pub fn cause(&self) -> String {
        if let Some(status) = self.status() {
            return status.to_string();
        }
        match self {
            Self::AfterSome { source, .. } | Self::Channel { source, .. } => source.cause(),
            Self::OnHost { cause, .. } => cause.clone(),
            Self::Step {
                source: StepFailure::Timeout { .. },
                ..
            }
            | Self::ConnectTimeout { .. } => "no answer in time".to_owned(),
            Self::Step {
                source: StepFailure::Io(source),
                ..
            }
            | Self::Connect { source, .. } => of_system(source),
            Self::Step {
                source: StepFailure::NoSmb2 | StepFailure::NoFurther | StepFailure::NoConnection,
                ..
            } => CLOSED.to_owned(),
            Self::Step { source, .. } => source.to_string(),
            Self::Handshake { source, .. } => source.to_string(),
            other => other.to_string(),
        }
    }

    /// Returns whether the server refused a session with a status, and kept the connection.
    pub(crate) const fn is_refusal(&self) -> bool {
        let Self::Handshake { source, .. } = self else {
            return false;
        };
        matches!(source, HandshakeError::Refused { .. })
    }

    /// Returns whether the server speaks no SMB2, as far as its answer to NEGOTIATE shows: it
    /// refuses the dialects, answers in CIFS, or closes the connection.
    pub(crate) fn lacks_smb2(&self) -> bool {
        match self {
            Self::Handshake { source, .. } => matches!(
                source,
                HandshakeError::Smb1
                    | HandshakeError::Refused {
                        command: Command::Negotiate,
                        ..
                    }
            ),
            Self::Step { source, .. } => matches!(source, StepFailure::NoSmb2),
            _ => false,
        }
    }

    /// Returns the error that says more: that of the try that came further. `other` is of a
    /// try in CIFS after this one.
    pub(crate) fn or_of_cifs(mut self, other: Self) -> Self {
        match other.phase() {
            SetupPhase::Connect | SetupPhase::Negotiate => {
                if let Self::Step { source, .. } = &mut self
                    && matches!(source, StepFailure::NoSmb2)
                    && matches!(
                        other.at_offer(),
                        Self::Step {
                            source: StepFailure::NoSmb2,
                            ..
                        }
                    )
                {
                    *source = StepFailure::NoConnection;
                }
                self
            }
            _ => other,
        }
    }

    /// Turns the end of a connection during NEGOTIATE into the reason that it suggests.
    pub(crate) fn at_offer(self) -> Self {
        self.closed_by(StepFailure::NoSmb2)
    }

    /// Does the same for a server that has set up a session before.
    pub(crate) fn of_further(self) -> Self {
        self.closed_by(StepFailure::NoFurther)
    }

    fn closed_by(mut self, reason: StepFailure) -> Self {
        if let Self::Step {
            source,
            phase: Some(SetupPhase::Negotiate),
            ..
        } = &mut self
            && matches!(source, StepFailure::Io(error) if is_closed(error))
        {
            *source = reason;
        }
        self
    }

    /// Returns whether this machine, and not the server, could not set up the session.
    #[must_use]
    pub fn is_of_this_machine(&self) -> bool {
        match self {
            Self::AfterSome { source, .. } | Self::Channel { source, .. } => {
                source.is_of_this_machine()
            }
            Self::OnHost { own_limit, .. } => *own_limit,
            Self::LocalLimit { .. } | Self::Source { .. } | Self::SourceFamily { .. } => true,
            _ => false,
        }
    }

    /// Adds the phase to a failed step that has none.
    pub(crate) fn in_phase(mut self, reached: SetupPhase) -> Self {
        if let Self::Step { phase, .. } = &mut self {
            phase.get_or_insert(reached);
        }
        self
    }
}

/// Returns the cause of a broken connection. The system has several errors for one event.
fn of_system(error: &io::Error) -> String {
    match error.kind() {
        _ if is_closed(error) => CLOSED.to_owned(),
        ErrorKind::ConnectionRefused => "connection refused".to_owned(),
        _ => error.to_string(),
    }
}

const CLOSED: &str = "the server closed the connection";

fn is_closed(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::ConnectionReset | ErrorKind::BrokenPipe | ErrorKind::UnexpectedEof
    )
}
