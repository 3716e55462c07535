//! Holds the directory of a run again, after an event has ended the session that held it.

use std::time::Duration;

use smbench_protocol::NtStatus;
use smbench_protocol::command::create::Disposition;
use smbench_protocol::{FileId, SessionIndex};

use super::files::join;
use super::kept::{hold_tree, tree_directory};
use super::names::MARKER;
use super::{Workspace, hold_marker};
use crate::smb::session::SessionError;
use crate::smb::share::ShareSession;

/// Number of attempts, and the delay between them, while the server still has the open of the
/// lost session.
const ATTEMPTS: u32 = 20;
const RETRY_DELAY: Duration = Duration::from_millis(100);

impl Workspace {
    /// Checks that the server answers. If the session of the directory is lost, another one takes
    /// its place, and holds the directory again.
    ///
    /// Fails with the loss if the server takes no other session, or if the directory is gone.
    pub(crate) async fn check_alive(&mut self) -> Result<(), SessionError> {
        match self.session.ask_whether_alive().await {
            Ok(()) => Ok(()),
            Err(lost) => {
                let held = self.hold_again(&lost).await;
                held.map_err(|_| lost)
            }
        }
    }

    async fn hold_again(&mut self, lost: &SessionError) -> Result<(), SessionError> {
        let endpoint = self.endpoint.after(lost);
        // The server then ends the lost session, if it does not know yet that it is lost.
        let endpoint = endpoint.in_place_of(self.session.id());
        let mut session = ShareSession::open(&endpoint).await?;
        let marker = hold_when_free(&mut session, &self.directory).await?;
        if let Some(held) = self.tree.as_mut().and_then(|tree| tree.marker.as_mut()) {
            let directory = tree_directory(&self.endpoint);
            *held = hold_tree(&mut session, &directory).await?;
        }
        (self.session, self.marker) = (session, marker);
        Ok(())
    }
}

impl ShareSession {
    /// Returns the id by which the server knows the session; 0 in CIFS, where no other session
    /// can take its place.
    fn id(&self) -> u64 {
        match self {
            Self::Smb2(session) => session.connection.session_id(SessionIndex::FIRST),
            Self::Cifs(_) => 0,
        }
    }
}

/// Opens the marker of a run's directory without sharing it, once nobody has it open.
async fn hold_when_free(
    session: &mut ShareSession,
    directory: &str,
) -> Result<FileId, SessionError> {
    let doing = format!("hold directory '{directory}'");
    let marker = join(directory, MARKER);
    let mut attempt = 1;
    loop {
        match hold_marker(session, &doing, &marker, Disposition::Open).await {
            Err(error)
                if error.status() == Some(NtStatus::SHARING_VIOLATION) && attempt < ATTEMPTS =>
            {
                attempt += 1;
                tokio::time::sleep(RETRY_DELAY).await;
            }
            held => return held,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::net::Shutdown;

    use smbench_lab::{EmbeddedOptions, EmbeddedServer};
    use smbench_model::limits::Limits;
    use smbench_model::sessions::SessionOptions;
    use smbench_model::target::Target;
    use socket2::SockRef;

    use super::*;
    use crate::smb::session::Endpoint;
    use crate::smb::share::cleanup;

    #[tokio::test]
    async fn a_directory_is_held_again_after_its_session_is_lost() {
        let server = EmbeddedServer::start(EmbeddedOptions::default()).unwrap();
        let target = Target::with_password(&server.url(), server.password()).unwrap();
        let (options, limits) = (SessionOptions::default(), Limits::default());
        let endpoint = Endpoint::resolve(&target, options, limits, 8).await;
        let endpoint = endpoint.unwrap();
        let session = ShareSession::open(&endpoint).await.unwrap();
        let created = Workspace::create(&endpoint, session).await;
        let mut workspace = created.map_err(|(error, _)| error).unwrap();
        workspace.check_alive().await.unwrap();

        let lost = SockRef::from(workspace.session.stream().unwrap()).shutdown(Shutdown::Both);
        lost.unwrap();
        workspace.check_alive().await.unwrap();
        let beside = cleanup(&endpoint).await.unwrap();
        assert_eq!(beside.in_use, [workspace.directory.clone()]);

        // Nobody answers any more.
        let lost = SockRef::from(workspace.session.stream().unwrap()).shutdown(Shutdown::Both);
        lost.unwrap();
        drop(server);
        let error = workspace.check_alive().await.unwrap_err();
        assert!(error.status().is_none(), "{error}");
    }
}
