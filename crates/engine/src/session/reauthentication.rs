//! Authenticating a session again that the server has let expire.

use smbench_protocol::header::Command;
use smbench_protocol::{Event, HandshakeError, NtStatus, Reauthentication, ReauthenticationError};

use super::{Exchange, Session, SessionError, State, Who};
use crate::clock;

const DOING: &str = "authenticate again";

impl Session {
    /// Authenticates again; files stay open. By Kerberos, with a ticket that
    /// lasts longer than the one before. After a failure the session takes no
    /// further request.
    pub(crate) async fn reauthenticate(&mut self) -> Result<(), SessionError> {
        self.check_step(DOING)?;
        let credentials = self.endpoint.renewed(&self.credentials).await?;
        let mut out = Vec::with_capacity(2048);
        self.connection
            .reauthenticate(&credentials, clock::wall(), &mut out)
            .map_err(|error| match error {
                ReauthenticationError::NoCredit(_) => self.no_credit(DOING),
                ReauthenticationError::Auth(error) => self.not_logged_on(error.into()),
                ReauthenticationError::UnderWay => {
                    unreachable!("one is begun and ended within this function")
                }
            })?;
        self.credentials = credentials;
        loop {
            let mut progress = Reauthentication::Unfinished;
            self.exchange(DOING, &out, |event| match event {
                Event::Reauthentication(come_so_far) => {
                    progress = *come_so_far;
                    Exchange::Complete
                }
                _ => Exchange::Open,
            })
            .await?;
            match progress {
                Reauthentication::Done => return Ok(()),
                Reauthentication::Refused(status) => {
                    self.state = State::Lost;
                    return Err(self.not_logged_on(refused(status)));
                }
                Reauthentication::Unfinished => {
                    out.clear();
                    self.connection
                        .continue_reauthentication(&mut out)
                        .map_err(|_| self.no_credit(DOING))?;
                }
            }
        }
    }

    fn not_logged_on(&self, source: HandshakeError) -> SessionError {
        SessionError::Handshake {
            at: self.endpoint.at(),
            who: Who::from(&self.credentials),
            share: self.endpoint.target().share.clone(),
            source,
        }
    }
}

const fn refused(status: NtStatus) -> HandshakeError {
    HandshakeError::Refused {
        command: Command::SessionSetup,
        status,
    }
}
