//! One authenticated session of smb-rs on one connection, and what was
//! negotiated for it.

use std::sync::Arc;

use smb::{Connection, File, Guid, Resource, Session, SrvRequestResumeKeyRequest, Tree, UncPath};
use smbench_protocol::command::create::{
    CreateRequest, Disposition, OplockLevel, access, attributes, options, share,
};
use smbench_protocol::header::Command;
use smbench_protocol::{AuthError, HandshakeError, Logon};
use sspi::{AuthIdentity, Username};
use tokio::time::timeout;

use super::calls::arguments;
use super::translate::{cipher, config, dialect_from, signing, status_in};
use super::transport::{Form, Line, Transport};
use crate::plan::{Mode, Plan};
use crate::record::ServerFacts;
use crate::session::{Endpoint, SessionError, Who};

const SET_UP: &str = "set up a session with smb-rs";

/// A session, connected to the share.
pub(super) struct Link {
    // In the order in which they are to be dropped.
    pub(super) tree: Tree,
    pub(super) session: Session,
    connection: Connection,
    pub(super) line: Arc<Line>,
}

impl Link {
    /// Connects, authenticates and connects to the share.
    pub(super) async fn open(endpoint: &Endpoint) -> Result<Self, SessionError> {
        let stream = endpoint.connect().await?;
        let (transport, line) =
            Transport::new(stream).map_err(|source| endpoint.io(SET_UP, source))?;
        bounded(endpoint, SET_UP, Self::set_up(endpoint, transport, line)).await
    }

    async fn set_up(
        endpoint: &Endpoint,
        transport: Transport,
        line: Arc<Line>,
    ) -> Result<Self, SessionError> {
        let target = endpoint.target();
        let failed = |command| {
            let line = Arc::clone(&line);
            move |error: smb::Error| handshake_error(endpoint, &line, command, &error)
        };
        let config = config(endpoint.options(), endpoint.credit_target());
        let guid = Guid::generate();
        let connection =
            Connection::from_transport(Box::new(transport), &target.host, guid, config)
                .await
                .map_err(failed(Command::Negotiate))?;
        let session = connection
            .authenticate(identity(endpoint)?)
            .await
            .map_err(failed(Command::SessionSetup))?;
        let tree = session
            .tree_connect(&share_path(endpoint)?)
            .await
            .map_err(failed(Command::TreeConnect))?;
        Ok(Self {
            tree,
            session,
            connection,
            line,
        })
    }

    /// Opens a file that is there.
    pub(super) async fn open_file(
        &self,
        endpoint: &Endpoint,
        path: &str,
        rights: u32,
    ) -> Result<File, SessionError> {
        let doing = format!("open file '{path}' with smb-rs");
        let request = request(path, rights, options::FILE_NON_DIRECTORY_FILE);
        match self.create(endpoint, &doing, &request).await? {
            Resource::File(file) => Ok(file),
            _ => Err(SessionError::Client {
                doing,
                at: endpoint.share(),
                reason: "it is not a file".to_owned(),
            }),
        }
    }

    /// Makes a scratch file or directory, unless it is there.
    pub(super) async fn make(
        &self,
        endpoint: &Endpoint,
        path: &str,
        kind: u32,
    ) -> Result<(), SessionError> {
        let doing = format!("make '{path}' with smb-rs");
        let request = CreateRequest {
            disposition: Disposition::OpenIf,
            ..request(path, access::FILE_READ_ATTRIBUTES, kind)
        };
        let made = self.create(endpoint, &doing, &request).await?;
        let closed = async {
            let outcome = match &made {
                Resource::File(file) => file.close().await,
                Resource::Directory(directory) => directory.close().await,
                Resource::Pipe(pipe) => pipe.close().await,
            };
            outcome.map_err(|error| client_error(endpoint, &self.line, &doing, &error))
        };
        bounded(endpoint, &doing, closed).await
    }

    async fn create(
        &self,
        endpoint: &Endpoint,
        doing: &str,
        request: &CreateRequest<'_>,
    ) -> Result<Resource, SessionError> {
        let arguments = arguments(request);
        let created = async {
            let outcome = self.tree.create(request.name, &arguments).await;
            outcome.map_err(|error| client_error(endpoint, &self.line, doing, &error))
        };
        bounded(endpoint, doing, created).await
    }

    /// What stands for a file as the source of a copy.
    pub(super) async fn resume_key(
        &self,
        endpoint: &Endpoint,
        path: &str,
        file: &File,
    ) -> Result<[u8; 24], SessionError> {
        let doing = format!("get ready to copy file '{path}' with smb-rs");
        let asked = async {
            let answer = file.fsctl(SrvRequestResumeKeyRequest(())).await;
            match answer {
                Ok(answer) => Ok(answer.resume_key),
                // The copies will tell, each with its status.
                Err(error) if status_in(&error.to_string()).is_some() => Ok([0; 24]),
                Err(error) => Err(client_error(endpoint, &self.line, &doing, &error)),
            }
        };
        bounded(endpoint, &doing, asked).await
    }

    /// TREE_DISCONNECT and LOGOFF; the outcome changes nothing for us.
    pub(super) async fn log_off(&self) {
        if self.tree.disconnect().await.is_ok() && self.session.logoff().await.is_ok() {
            let _ = self.connection.close().await;
        }
    }
}

/// The share, as TREE_CONNECT names it.
pub(super) fn share_path(endpoint: &Endpoint) -> Result<UncPath, SessionError> {
    let target = endpoint.target();
    let path = UncPath::new(&target.host).and_then(|server| server.with_share(&target.share));
    path.map_err(|_| SessionError::Path {
        doing: format!(r"connect to '\\{}\{}'", target.host, target.share),
    })
}

/// Opens what is there.
fn request(path: &str, desired_access: u32, kind: u32) -> CreateRequest<'_> {
    CreateRequest {
        name: path,
        desired_access,
        file_attributes: attributes::FILE_ATTRIBUTE_NORMAL,
        share_access: share::ALL,
        disposition: Disposition::Open,
        options: kind,
        oplock: OplockLevel::None,
        contexts: &[],
    }
}

/// What the server and smb-rs agree on, and whether that is what was asked for.
pub(in crate::run) async fn facts(
    plan: &Plan,
    endpoint: &Endpoint,
) -> Result<ServerFacts, SessionError> {
    let link = Link::open(endpoint).await?;
    // The last message that concerns the share: shares may require encryption
    // where sessions do not.
    let disconnected = async {
        let outcome = link.tree.disconnect().await;
        outcome.map_err(|error| client_error(endpoint, &link.line, SET_UP, &error))
    };
    bounded(endpoint, SET_UP, disconnected).await?;
    let form = link.line.form();
    let Some(info) = link.connection.conn_info() else {
        unreachable!("a connection that has a session was negotiated");
    };
    let negotiation = &info.negotiation;
    let dialect = dialect_from(negotiation.dialect_rev);
    // smb-rs then sends a request when the one before it is answered.
    if plan.outstanding > 1 && !negotiation.caps.large_mtu() {
        return Err(incapable(
            endpoint,
            "with this server it sends one request at a time; use --outstanding 1 or --driver native",
        ));
    }
    if plan.session.encryption == Mode::Off && form == Form::Encrypted {
        return Err(handshake(endpoint, HandshakeError::EncryptionRequired));
    }
    if plan.session.signing == Mode::Required && form == Form::Plain {
        return Err(incapable(endpoint, "it does not sign this session"));
    }
    let facts = ServerFacts {
        url: plan.target.redacted(),
        is_here: endpoint.here().is_some(),
        // It takes no guest's session.
        logon: Some(Logon::Ntlm),
        dialect: Some(dialect),
        signing: (form == Form::Signed).then(|| signing(dialect, negotiation.signing_algo)),
        encryption: (form == Form::Encrypted).then(|| cipher(negotiation.encryption_cipher)),
        max_read: negotiation.max_read_size,
        max_write: negotiation.max_write_size,
        max_transact: negotiation.max_transact_size,
        // The plan allows nothing else.
    };
    let _ = timeout(crate::session::LOGOFF_LIMIT, link.log_off()).await;
    Ok(facts)
}

/// Who logs on.
fn identity(endpoint: &Endpoint) -> Result<AuthIdentity, SessionError> {
    let target = endpoint.target();
    let domain = Some(target.domain.as_str()).filter(|domain| !domain.is_empty());
    let username = Username::new(&target.user, domain)
        .map_err(|_| handshake(endpoint, AuthError::UserName.into()))?;
    Ok(AuthIdentity {
        username,
        password: target.password.expose().to_owned().into(),
    })
}

/// What was asked for is not what smb-rs makes of it.
fn incapable(endpoint: &Endpoint, reason: &str) -> SessionError {
    SessionError::Client {
        doing: SET_UP.to_owned(),
        at: endpoint.at(),
        reason: reason.to_owned(),
    }
}

/// Runs `work` for as long as a set-up request may take.
async fn bounded<T>(
    endpoint: &Endpoint,
    doing: &str,
    work: impl Future<Output = Result<T, SessionError>>,
) -> Result<T, SessionError> {
    let limit = endpoint.limits().setup;
    match timeout(limit, work).await {
        Ok(outcome) => outcome,
        Err(_) => Err(SessionError::Timeout {
            doing: doing.to_owned(),
            at: endpoint.at(),
            limit,
        }),
    }
}

fn handshake(endpoint: &Endpoint, source: HandshakeError) -> SessionError {
    let target = endpoint.target();
    SessionError::Handshake {
        at: endpoint.at(),
        who: Who::User(target.user.clone()),
        share: target.share.clone(),
        source,
    }
}

/// In the words of the native handshake where a status tells all.
fn handshake_error(
    endpoint: &Endpoint,
    line: &Line,
    command: Command,
    error: &smb::Error,
) -> SessionError {
    match status_in(&error.to_string()) {
        Some(status) => handshake(endpoint, HandshakeError::Refused { command, status }),
        None => client_error(endpoint, line, SET_UP, error),
    }
}

fn client_error(endpoint: &Endpoint, line: &Line, doing: &str, error: &smb::Error) -> SessionError {
    if let Some(status) = status_in(&error.to_string()) {
        return SessionError::Refused {
            doing: doing.to_owned(),
            at: endpoint.share(),
            status,
        };
    }
    SessionError::Client {
        doing: doing.to_owned(),
        at: endpoint.at(),
        // A lost connection is what other failures come from.
        reason: match line.lost() {
            Some(lost) => lost.to_string(),
            None => error.to_string(),
        },
    }
}
