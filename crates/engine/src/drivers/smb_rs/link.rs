//! One authenticated session of smb-rs on one connection, with its negotiated
//! terms.

use std::sync::Arc;

use futures_util::TryFutureExt;
use smb::{
    Connection, File, Guid, Resource, ResourceHandle, Session, SrvRequestResumeKeyRequest, Tree,
    UncPath,
};
use smbench_model::plan::Plan;
use smbench_model::record::ServerFacts;
use smbench_model::sessions::Mode;
use smbench_model::setting::Advice;
use smbench_protocol::command::create::{CreateRequest, Disposition, access, options};
use smbench_protocol::header::Command;
use smbench_protocol::{AuthError, HandshakeError, Logon};
use sspi::{AuthIdentity, Username};
use tokio::time::timeout;

use super::calls::arguments;
use super::translate::{cipher, config, dialect_from, signing, status_in};
use super::transport::{Form, Transport, TransportState};
use crate::smb::session::{Endpoint, LogonIdentity, SessionError, StepFailure};

const SET_UP: &str = "set up a session with smb-rs";

/// A session that is connected to the share.
pub(crate) struct Link {
    // The fields are in the order in which they must be dropped.
    pub(super) tree: Tree,
    pub(super) session: Session,
    connection: Connection,
    pub(super) line: Arc<TransportState>,
}

impl Link {
    /// Connects, authenticates and connects to the share.
    pub(crate) async fn open(endpoint: &Endpoint) -> Result<Self, SessionError> {
        let stream = endpoint.connect().await?;
        let (transport, line) =
            Transport::new(stream).map_err(|source| endpoint.failed(SET_UP, source))?;
        bounded(endpoint, SET_UP, Self::set_up(endpoint, transport, line)).await
    }

    async fn set_up(
        endpoint: &Endpoint,
        transport: Transport,
        line: Arc<TransportState>,
    ) -> Result<Self, SessionError> {
        let target = &endpoint.target;
        let failed = |command| {
            let line = Arc::clone(&line);
            move |error: smb::Error| handshake_error(endpoint, &line, command, &error)
        };
        let config = config(&endpoint.options, endpoint.credit_target);
        let guid = Guid::generate();
        let connection =
            Connection::from_transport(Box::new(transport), target.server_name(), guid, config)
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

    /// Opens an existing file.
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
            _ => Err(endpoint.failed_on_share(&doing, client("it is not a file"))),
        }
    }

    /// Opens an existing directory.
    pub(super) async fn open_directory(
        &self,
        endpoint: &Endpoint,
        path: &str,
    ) -> Result<ResourceHandle, SessionError> {
        let doing = format!("open directory '{path}' with smb-rs");
        let rights =
            access::FILE_LIST_DIRECTORY | access::FILE_READ_ATTRIBUTES | access::SYNCHRONIZE;
        let request = request(path, rights, options::FILE_DIRECTORY_FILE);
        match self.create(endpoint, &doing, &request).await? {
            Resource::Directory(directory) => Ok(directory.handle),
            _ => Err(endpoint.failed_on_share(&doing, client("it is not a directory"))),
        }
    }

    /// Returns the handle of an existing directory, closed again.
    pub(super) async fn closed_directory(
        &self,
        endpoint: &Endpoint,
        path: &str,
    ) -> Result<ResourceHandle, SessionError> {
        let directory = self.open_directory(endpoint, path).await?;
        let doing = format!("close directory '{path}' with smb-rs");
        self.call(endpoint, &doing, directory.close()).await?;
        Ok(directory)
    }

    /// Creates a scratch file or directory if it does not exist.
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
            match &made {
                Resource::File(file) => file.close().await,
                Resource::Directory(directory) => directory.close().await,
                Resource::Pipe(pipe) => pipe.close().await,
            }
        };
        self.call(endpoint, &doing, closed).await
    }

    async fn create(
        &self,
        endpoint: &Endpoint,
        doing: &str,
        request: &CreateRequest<'_>,
    ) -> Result<Resource, SessionError> {
        let arguments = arguments(request);
        let created = self.tree.create(request.name, &arguments);
        self.call(endpoint, doing, created).await
    }

    /// Makes a call of smb-rs within the time limit of set-up requests.
    async fn call<T>(
        &self,
        endpoint: &Endpoint,
        doing: &str,
        call: impl Future<Output = smb::Result<T>>,
    ) -> Result<T, SessionError> {
        let outcome = call.map_err(|error| client_error(endpoint, &self.line, doing, &error));
        bounded(endpoint, doing, outcome).await
    }

    /// Returns the resume key of a file as the source of copies.
    pub(super) async fn resume_key(
        &self,
        endpoint: &Endpoint,
        path: &str,
        file: &File,
    ) -> Result<[u8; 24], SessionError> {
        let doing = format!("get ready to copy file '{path}' with smb-rs");
        let asked = async {
            match file.fsctl(SrvRequestResumeKeyRequest(())).await {
                Ok(answer) => Ok(answer.resume_key),
                // The copies will fail, each with its own status.
                Err(error) if status_in(&error.to_string()).is_some() => Ok([0; 24]),
                Err(error) => Err(error),
            }
        };
        self.call(endpoint, &doing, asked).await
    }

    /// Sends TREE_DISCONNECT and LOGOFF; failures are ignored.
    pub(super) async fn log_off(&self) {
        if self.tree.disconnect().await.is_ok() && self.session.logoff().await.is_ok() {
            let _ = self.connection.close().await;
        }
    }
}

/// Returns the name of the share for a TREE_CONNECT.
pub(super) fn share_path(endpoint: &Endpoint) -> Result<UncPath, SessionError> {
    let target = &endpoint.target;
    let path =
        UncPath::new(target.server_name()).and_then(|server| server.with_share(&target.share));
    path.map_err(|_| SessionError::Path {
        doing: format!(r"connect to '\\{}\{}'", target.host, target.share),
    })
}

fn request(path: &str, rights: u32, kind: u32) -> CreateRequest<'_> {
    CreateRequest {
        options: kind,
        ..CreateRequest::open(path, rights)
    }
}

/// Returns the terms that smb-rs negotiates with the server. Fails if they are not
/// the requested ones.
pub(crate) async fn facts(plan: &Plan, endpoint: &Endpoint) -> Result<ServerFacts, SessionError> {
    let link = Link::open(endpoint).await?;
    // This is the last message about the share, which may require encryption
    // although the session does not.
    link.call(endpoint, SET_UP, link.tree.disconnect()).await?;
    let form = link.line.form();
    let Some(info) = link.connection.conn_info() else {
        unreachable!("a connection that has a session was negotiated");
    };
    let negotiation = &info.negotiation;
    let dialect = dialect_from(negotiation.dialect_rev);
    // Without this capability smb-rs sends a request only after the answer to the
    // previous one.
    if plan.only().outstanding > 1 && !negotiation.caps.large_mtu() {
        let reason = Advice(
            "with this server it sends one request at a time; use @outstanding 1 or @driver native",
        );
        return Err(incapable(endpoint, &reason.to_string()));
    }
    if plan.sessions.options.encryption == Mode::Off && form == Form::Encrypted {
        return Err(handshake(endpoint, HandshakeError::EncryptionRequired));
    }
    if plan.sessions.options.signing == Mode::Required && form == Form::Plain {
        return Err(incapable(endpoint, "it does not sign this session"));
    }
    let facts = ServerFacts {
        url: plan.sessions.target.redacted(),
        is_here: endpoint.here().is_some(),
        // smb-rs refuses guest sessions.
        logon: Some(Logon::Ntlm),
        dialect: Some(dialect),
        signing: (form == Form::Signed).then(|| signing(dialect, negotiation.signing_algo).name()),
        encryption: (form == Form::Encrypted).then(|| cipher(negotiation.encryption_cipher)),
        max_read: negotiation.max_read_size,
        max_write: negotiation.max_write_size,
        max_transact: negotiation.max_transact_size,
        logoff_ends_all: false,
        split: None,
        tree: None,
        populations: Vec::new(),
    };
    let _ = timeout(crate::smb::session::LOGOFF_LIMIT, link.log_off()).await;
    Ok(facts)
}

/// Returns the identity for the log-on.
fn identity(endpoint: &Endpoint) -> Result<AuthIdentity, SessionError> {
    let target = &endpoint.target;
    let domain = Some(target.domain.as_str()).filter(|domain| !domain.is_empty());
    let username = Username::new(&target.user, domain)
        .map_err(|_| handshake(endpoint, AuthError::UserName.into()))?;
    Ok(AuthIdentity {
        username,
        password: target.password.expose().to_owned().into(),
    })
}

/// Returns the error for an option that smb-rs cannot honour.
fn incapable(endpoint: &Endpoint, reason: &str) -> SessionError {
    endpoint.failed(SET_UP, client(reason))
}

/// Runs `work` within the time limit of set-up requests.
async fn bounded<T>(
    endpoint: &Endpoint,
    doing: &str,
    work: impl Future<Output = Result<T, SessionError>>,
) -> Result<T, SessionError> {
    match timeout(endpoint.limits.setup, work).await {
        Ok(outcome) => outcome,
        Err(_) => Err(endpoint.timed_out(doing)),
    }
}

fn handshake(endpoint: &Endpoint, source: HandshakeError) -> SessionError {
    let target = &endpoint.target;
    SessionError::Handshake {
        at: endpoint.at().into(),
        who: LogonIdentity::User(target.user.clone()),
        share: target.share.as_str().into(),
        password_note: target.password.source_note().into(),
        source,
    }
}

/// Uses the text of the native handshake if the error has a status.
fn handshake_error(
    endpoint: &Endpoint,
    line: &TransportState,
    command: Command,
    error: &smb::Error,
) -> SessionError {
    match status_in(&error.to_string()) {
        Some(status) => handshake(endpoint, HandshakeError::Refused { command, status }),
        None => client_error(endpoint, line, SET_UP, error),
    }
}

fn client_error(
    endpoint: &Endpoint,
    line: &TransportState,
    doing: &str,
    error: &smb::Error,
) -> SessionError {
    if let Some(status) = status_in(&error.to_string()) {
        return endpoint.failed_on_share(doing, StepFailure::Refused(status));
    }
    // If the connection was lost, that caused the other failures.
    let reason = match line.lost() {
        Some(lost) => lost.to_string(),
        None => error.to_string(),
    };
    endpoint.failed(doing, StepFailure::Client(reason))
}

fn client(reason: &str) -> StepFailure {
    StepFailure::Client(reason.to_owned())
}
