//! Reauthentication of a session that has expired on the server.

use smbench_protocol::connection::{Reauthentication, ReauthenticationError};
use smbench_protocol::header::Command;
use smbench_protocol::{Credentials, Event, HandshakeError, NtStatus, SessionIndex};

use super::{Session, SessionError, StepFailure};

const DOING: &str = "authenticate again";

impl Session {
    /// Authenticates the session again; files stay open. With Kerberos, it uses a
    /// ticket that expires later than the one before. After a failure the session
    /// takes no further request.
    pub(crate) async fn reauthenticate(&mut self) -> Result<(), SessionError> {
        self.stream.check_step(DOING)?;
        self.afford(DOING, &[1]).await?;
        let credentials = self.stream.renewal(&self.credentials).await?;
        let session = self.current;
        let mut out = Vec::with_capacity(2048);
        self.begin_reauthentication(session, &credentials, &mut out)?;
        self.credentials = credentials;
        let ended = self
            .exchange(DOING, out, |connection, event, out| match event {
                Event::Reauthentication { progress, .. } => match progress {
                    Reauthentication::Done => Some(Ok(())),
                    Reauthentication::Refused(status) => {
                        Some(Err(ReauthenticationFailure::Refused(*status)))
                    }
                    Reauthentication::Unfinished => {
                        let sent = connection.continue_reauthentication(session, out);
                        sent.err().map(|_| Err(ReauthenticationFailure::NoCredit))
                    }
                },
                _ => None,
            })
            .await?;
        ended.map_err(|ended| {
            self.stream.lose_step();
            match ended {
                ReauthenticationFailure::Refused(status) => self.not_logged_on(refused(status)),
                ReauthenticationFailure::NoCredit => self.no_credit(DOING),
            }
        })
    }

    /// Appends the first request; the connection reports the progress as events.
    pub(crate) fn begin_reauthentication(
        &mut self,
        session: SessionIndex,
        credentials: &Credentials,
        out: &mut Vec<u8>,
    ) -> Result<(), SessionError> {
        let claim = self.stream.endpoint.claim(credentials);
        self.connection
            .reauthenticate(session, claim, out)
            .map_err(|error| match error {
                ReauthenticationError::NoCredit(_) => self.no_credit(DOING),
                ReauthenticationError::Auth(error) => self
                    .stream
                    .endpoint
                    .not_logged_on(credentials, error.into()),
                ReauthenticationError::UnderWay => {
                    self.stream.endpoint.failed(DOING, StepFailure::OutOfStep)
                }
            })
    }

    /// Returns the error for a session whose reauthentication the server refused
    /// with `status`.
    pub(crate) fn not_renewed(&self, used: &Credentials, status: NtStatus) -> SessionError {
        self.stream.endpoint.not_logged_on(used, refused(status))
    }
}

/// The reason why a reauthentication failed.
enum ReauthenticationFailure {
    Refused(NtStatus),
    NoCredit,
}

const fn refused(status: NtStatus) -> HandshakeError {
    HandshakeError::Refused {
        command: Command::SessionSetup,
        status,
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use smbench_lab::{
        EmbeddedOptions, EmbeddedServer, KdcOptions, Password, SambaOptions, ScratchKdc,
        ScratchSamba, Tool, require,
    };
    use smbench_model::limits::Limits;
    use smbench_model::login::{KerberosLogin, Login};
    use smbench_model::secret::Secret;
    use smbench_model::sessions::{Mode, SessionOptions};
    use smbench_model::target::Target;
    use smbench_protocol::command::create::{
        CreateRequest, Disposition, OplockLevel, access, attributes, options, share,
    };
    use smbench_protocol::command::flush::FlushRequest;
    use smbench_protocol::{FileId, Logon};

    use super::*;
    use crate::machine::clock;
    use crate::smb::session::Endpoint;

    /// Options for plain, signed and encrypted sessions.
    const PROTECTIONS: [(Mode, Mode); 3] = [
        (Mode::Off, Mode::Off),
        (Mode::Required, Mode::Off),
        (Mode::Auto, Mode::Required),
    ];

    async fn open(target: &Target, (signing, encryption): (Mode, Mode)) -> Session {
        let options = SessionOptions {
            signing,
            encryption,
            ..SessionOptions::default()
        };
        let endpoint = Endpoint::resolve(target, options, Limits::default(), 16);
        Session::open(&endpoint.await.unwrap()).await.unwrap()
    }

    async fn create(session: &mut Session) -> FileId {
        let request = CreateRequest {
            name: "file",
            desired_access: access::FILE_WRITE_DATA | access::FILE_READ_DATA,
            file_attributes: attributes::FILE_ATTRIBUTE_NORMAL,
            share_access: share::ALL,
            disposition: Disposition::OpenIf,
            options: options::FILE_NON_DIRECTORY_FILE,
            oplock: OplockLevel::None,
            contexts: &[],
        };
        let opened = session.create("create a file", &request).await;
        opened.unwrap().file_id
    }

    /// Sends one FLUSH without reauthentication.
    async fn flush_as_it_is(session: &mut Session, file_id: FileId) -> NtStatus {
        let mut body = Vec::new();
        FlushRequest { file_id }.encode(&mut body);
        let reply = session.attempt("flush", Command::Flush, 0, &body).await;
        reply.unwrap().status
    }

    fn block_on(test: impl Future<Output = ()>) {
        tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap()
            .block_on(test);
    }

    fn ntlm(url: &str, password: &str) -> Target {
        let (mut target, _) = Target::parse(url).unwrap();
        target.password = Secret::new(password);
        target
    }

    /// NTLM needs two requests: the second follows the answer to the first.
    async fn reauthenticates_by_ntlm(target: &Target) {
        for protection in PROTECTIONS {
            let mut session = open(target, protection).await;
            let file = create(&mut session).await;
            for _ in 0..2 {
                session.reauthenticate().await.unwrap();
                assert_eq!(flush_as_it_is(&mut session, file).await, NtStatus::SUCCESS);
            }
            session.log_off().await;
        }
    }

    #[test]
    fn the_embedded_server_takes_ntlm_again() {
        let server = EmbeddedServer::start(EmbeddedOptions::default()).unwrap();
        block_on(reauthenticates_by_ntlm(&ntlm(
            &server.url(),
            server.password(),
        )));
    }

    #[test]
    fn samba_takes_ntlm_again_but_no_wrong_password() {
        let Some(samba) = ScratchSamba::or_skip(SambaOptions::default()) else {
            return;
        };
        let target = ntlm(&samba.url(), samba.password());
        block_on(async {
            reauthenticates_by_ntlm(&target).await;
            let mut session = open(&target, PROTECTIONS[1]).await;
            let Credentials::Ntlm(account) = &mut session.credentials else {
                panic!("NTLM is the default");
            };
            "wrong".clone_into(&mut account.password);
            let refused = session.reauthenticate().await.unwrap_err();
            assert_eq!(refused.status(), Some(NtStatus::LOGON_FAILURE));
            let lost = session.reauthenticate().await.unwrap_err();
            let is_out_of_step = "the session is out of step";
            assert!(lost.to_string().contains(is_out_of_step), "{lost}");
        });
    }

    #[test]
    fn a_session_outlives_its_kerberos_ticket() {
        if let Err(skip) = require(&[Tool::SMBD, Tool::PDBEDIT]) {
            return eprintln!("{skip}");
        }
        if let Err(skip) = require(&ScratchKdc::TOOLS) {
            return eprintln!("{skip}");
        }
        let kdc = ScratchKdc::start(KdcOptions::default()).unwrap();
        let keytab = kdc.add_service("cifs", "127.0.0.1").unwrap();
        kdc.limit_life("cifs/127.0.0.1", Duration::from_secs(4))
            .unwrap();
        let samba = ScratchSamba::start(SambaOptions {
            kerberos: Some(kdc.samba(keytab)),
            ..SambaOptions::default()
        })
        .unwrap();
        let password = Password::random().unwrap();
        kdc.add_user(samba.user(), &password).unwrap();
        let target = Target {
            login: Login::Kerberos(KerberosLogin {
                configuration: vec![kdc.configuration()],
                ..KerberosLogin::default()
            }),
            ..ntlm(&samba.url(), password.as_str())
        };
        block_on(async {
            let mut sessions = Vec::new();
            for protection in PROTECTIONS {
                let mut session = open(&target, protection).await;
                assert_eq!(session.terms().logon, Logon::Kerberos);
                let file = create(&mut session).await;
                sessions.push((session, file));
            }
            let expiry = sessions
                .iter()
                .map(|(session, _)| ticket_end(session))
                .max();
            let left = expiry.unwrap().duration_since(clock::wall());
            // Servers count in whole seconds.
            let past = left.unwrap_or_default() + Duration::from_secs(2);
            tokio::time::sleep(past).await;
            for (mut session, file) in sessions {
                let before = ticket_end(&session);
                let expired = flush_as_it_is(&mut session, file).await;
                assert_eq!(expired, NtStatus::NETWORK_SESSION_EXPIRED);
                // Open files stay open, and requests work as before.
                let flush = FlushRequest { file_id: file };
                let flushed = session.expect("flush", Command::Flush, 0, |out| flush.encode(out));
                flushed.await.unwrap();
                assert!(ticket_end(&session) > before);
                session.close("close", file).await.unwrap();
                session.log_off().await;
            }
        });
    }

    fn ticket_end(session: &Session) -> std::time::SystemTime {
        match &session.credentials {
            Credentials::Kerberos(ticket) => ticket.expires(),
            other => panic!("not Kerberos but {other:?}"),
        }
    }
}
