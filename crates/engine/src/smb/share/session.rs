//! A session on a share in the protocol of the run.

use smbench_protocol::command::create::CreateRequest;
use smbench_protocol::directory::Entry;
use smbench_protocol::{Dialect, FileId};
use tokio::net::TcpStream;

use crate::smb::calls::{EntryKind, FileCalls, Listing, ListingBounds};
use crate::smb::session::cifs::CifsSession;
use crate::smb::session::{Endpoint, Session, SessionError, SetupSteps, StepFailure};

/// A session for requests on files, one at a time.
pub(crate) enum ShareSession {
    /// A session in SMB2 or SMB3.
    Smb2(Box<Session>),
    /// A session in CIFS.
    Cifs(Box<CifsSession>),
}

/// Calls the same method on either session.
macro_rules! either {
    ($self:expr, $session:ident => $call:expr) => {
        match $self {
            ShareSession::Smb2($session) => $call,
            ShareSession::Cifs($session) => $call,
        }
    };
}

/// Declares calls of [`FileCalls`] that either session carries out.
macro_rules! calls_of_either {
    ($($call:ident($($argument:ident: $type:ty),*) -> $answer:ty;)*) => {
        $(
            async fn $call(
                &mut self,
                $($argument: $type),*
            ) -> Result<$answer, SessionError> {
                either!(self, session => session.$call($($argument),*).await)
            }
        )*
    };
}

impl ShareSession {
    /// Connects, authenticates and connects to the share.
    pub(crate) async fn open(endpoint: &Endpoint) -> Result<Self, SessionError> {
        let dialects = endpoint.options.dialects;
        let Some(smb2) = dialects.smb2() else {
            return Self::open_cifs(endpoint).await;
        };
        let narrowed = endpoint.with_dialects(smb2);
        let opened = Session::open(&narrowed).await;
        match opened.map_err(SessionError::at_offer) {
            Ok(session) => Ok(Self::Smb2(Box::new(session))),
            Err(error) if dialects.has_cifs() && error.lacks_smb2() => {
                let cifs = endpoint.with_dialects(Dialect::Cifs.into());
                let opened = Self::open_cifs(&cifs).await;
                opened.map_err(|of_cifs| error.or_of_cifs(of_cifs))
            }
            Err(error) => Err(error),
        }
    }

    async fn open_cifs(endpoint: &Endpoint) -> Result<Self, SessionError> {
        Ok(Self::Cifs(Box::new(CifsSession::open(endpoint).await?)))
    }

    /// Returns the endpoint for further sessions in the same protocol.
    pub(crate) fn settle(&self, endpoint: &Endpoint) -> Endpoint {
        let dialects = endpoint.options.dialects;
        endpoint.with_dialects(match (self, dialects.smb2()) {
            (Self::Smb2(_), Some(smb2)) => smb2,
            _ => Dialect::Cifs.into(),
        })
    }

    /// Returns how long the steps of the set-up took.
    pub(crate) const fn steps(&self) -> &SetupSteps {
        either!(self, session => &session.steps)
    }

    pub(crate) fn stream(&self) -> std::io::Result<&TcpStream> {
        either!(self, session => session.stream.socket.of_tokio())
    }

    /// Waits for the answer to an ECHO.
    pub(crate) async fn ask_whether_alive(&mut self) -> Result<(), SessionError> {
        either!(self, session => session.ask_whether_alive().await)
    }

    /// Shortens the limits; see [`Endpoint::impatient`].
    pub(super) fn lose_patience(&mut self) {
        either!(self, session => session.lose_patience());
    }

    /// Host, port and share, for messages.
    pub(crate) fn share(&self) -> String {
        either!(self, session => session.share())
    }

    /// Logs off; failures are ignored.
    pub(crate) async fn log_off(self) {
        either!(self, session => session.log_off().await);
    }
}

impl FileCalls for ShareSession {
    calls_of_either! {
        open_file(doing: &str, request: &CreateRequest<'_>) -> FileId;
        close_file(doing: &str, file: FileId) -> ();
        delete_entry(doing: &str, path: &str, kind: EntryKind) -> ();
        read_at(doing: &str, file: FileId, offset: u64, length: u32) -> Vec<u8>;
        write_at(
            doing: &str,
            file: FileId,
            offset: u64,
            length: u32,
            data: impl FnOnce(&mut Vec<u8>)
        ) -> u32;
        flush(doing: &str, file: FileId) -> ();
        list_wanted(
            doing: &str,
            path: &str,
            bounds: ListingBounds,
            wanted: &mut dyn FnMut(&Entry) -> bool
        ) -> Listing;
        free_bytes(doing: &str, path: &str) -> Option<u64>;
    }

    fn read_limit(&self) -> u32 {
        either!(self, session => session.read_limit())
    }

    fn write_limit(&self) -> u32 {
        either!(self, session => session.write_limit())
    }

    fn failed_call(&self, doing: &str, source: StepFailure) -> SessionError {
        either!(self, session => session.failed_call(doing, source))
    }
}
