//! The endpoint of sessions: the server's addresses, the local addresses, and the
//! session options. Not here: the exchange after TCP is connected.

mod account;
mod again;
mod connect;

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use nix::net::if_::if_nametoindex;
use smbench_model::limits::Limits;
use smbench_model::lists::sources::SourceList;
use smbench_model::login::Login;
use smbench_model::sessions::{Mode, SessionOptions};
use smbench_model::setting::Advice;
use smbench_model::target::Target;
use smbench_protocol::random;
use smbench_protocol::{
    Channels, Claim, Credentials, DialectRange, HandshakeError, LogonPlace, Policy, SessionConfig,
};
use tokio::time::timeout;

use super::{LogoffScope, LogonIdentity, SessionError, StepFailure};
use crate::machine::cancel::Cancel;
use crate::machine::{clock, process};
use crate::smb::tickets::Tickets;
use again::LatestNodes;

/// Limit of each wait while cleaning up after an interrupted or broken run.
const IMPATIENT_LIMIT: Duration = Duration::from_secs(5);

/// The server and the options of sessions: resolved once, shared by all sessions.
#[derive(Clone, Debug)]
pub(crate) struct Endpoint {
    addresses: Arc<[SocketAddr]>,
    pub(crate) target: Arc<Target>,
    /// The name of this machine in a log-on.
    workstation: Arc<str>,
    pub(crate) options: SessionOptions,
    pub(crate) limits: Limits,
    /// The limit of set-up requests that the user gave, which [`Self::impatient`]
    /// shortens.
    given_setup: Duration,
    pub(crate) credit_target: u16,
    /// Maximum number of credits in use on one connection.
    credit_cap: Option<u16>,
    channels: Channels,
    /// Client GUID of connections that share sessions; `None` gives each connection
    /// a GUID of its own.
    client_guid: Option<[u8; 16]>,
    /// The session that the next one takes the place of; 0 for none.
    previous_session: u64,
    /// The addresses that clients try in turn when they come back; empty if the server has only
    /// one.
    nodes: Arc<[SocketAddr]>,
    /// The addresses after the last failover, if they are others.
    latest: Arc<LatestNodes>,
    /// Local addresses, if the user gave some, and the number of the connection,
    /// which selects one of them.
    sources: Option<(Arc<SourceList>, u32)>,
    /// The client that logs on, if clients have accounts of their own; otherwise the run.
    client: Option<u32>,
    /// Kerberos tickets, shared by all sessions.
    tickets: Arc<Tickets>,
    /// Ends a clean-up of the share early.
    pub(crate) cancel: Cancel,
    /// The sessions that the server ends at a LOGOFF, if that was found out.
    pub(crate) logoff: LogoffScope,
}

impl Endpoint {
    /// Resolves the host, and fetches the Kerberos ticket first. A session's set-up
    /// time therefore contains no request to a KDC, unless a ticket expires during
    /// the run.
    pub(crate) async fn resolve(
        target: &Target,
        options: SessionOptions,
        limits: Limits,
        credit_target: u16,
    ) -> Result<Self, SessionError> {
        let tickets = Arc::new(Tickets::default());
        if let Login::Kerberos(login) = &target.login {
            tickets.get(target, login, &limits).await?;
        }
        let addresses = addresses_of(&target.host, target.port, &limits)
            .await?
            .into();
        Ok(Self {
            addresses,
            target: Arc::new(target.clone()),
            workstation: process::netbios_name().into(),
            options,
            given_setup: limits.setup,
            limits,
            credit_target,
            credit_cap: None,
            channels: Channels::One,
            client_guid: None,
            previous_session: 0,
            nodes: Arc::default(),
            latest: Arc::default(),
            sources: None,
            client: None,
            tickets,
            cancel: Cancel::default(),
            logoff: LogoffScope::default(),
        })
    }

    /// Returns the addresses of the server, which have one port.
    pub(crate) fn addresses(&self) -> impl Iterator<Item = SocketAddr> + '_ {
        self.addresses.iter().copied()
    }

    /// Returns this endpoint with a maximum of credits in use on each connection.
    pub(crate) fn with_credit_cap(self, credit_cap: Option<u16>) -> Self {
        let credit_target = self.credit_target.min(credit_cap.unwrap_or(u16::MAX));
        Self {
            credit_target,
            credit_cap,
            ..self
        }
    }

    /// Returns this endpoint for a clean-up that this cancel ends early.
    pub(crate) fn with_cancel(&self, cancel: &Cancel) -> Self {
        Self {
            cancel: cancel.clone(),
            ..self.clone()
        }
    }

    /// Returns this endpoint for sessions with this number of connections.
    pub(crate) fn with_connections_per_session(self, connections: u32) -> Self {
        let channels = match connections {
            ..=1 => Channels::One,
            _ => Channels::Several,
        };
        Self { channels, ..self }
    }

    /// Returns this endpoint for connections that share sessions. They have one
    /// client GUID, by which the server recognises them as one client (MS-SMB2
    /// 3.2.4.1.7).
    pub(crate) fn of_one_client(&self) -> Self {
        let client_guid = Some(random());
        Self {
            client_guid,
            ..self.clone()
        }
    }

    /// Returns this endpoint with a single address of the server, because a name
    /// may stand for several servers.
    pub(crate) fn at_address(&self, address: SocketAddr) -> Self {
        Self {
            addresses: Arc::from([address]),
            ..self.clone()
        }
    }

    /// Returns this endpoint for the connection with this number. The number
    /// selects the local address, if the user gave some.
    pub(crate) fn of_connection(&self, number: u32) -> Self {
        let mut endpoint = self.clone();
        if let Some((_, at)) = &mut endpoint.sources {
            *at = number;
        }
        endpoint
    }

    /// Returns this endpoint with short limits, for cleaning up after a server that
    /// may be gone.
    pub(crate) fn impatient(&self) -> Self {
        let limits = Limits {
            connect: self.limits.connect.min(IMPATIENT_LIMIT),
            setup: self.limits.setup.min(IMPATIENT_LIMIT),
            ..self.limits
        };
        Self {
            limits,
            ..self.clone()
        }
    }

    /// The same for another try after `error`: a server that did not answer gets less
    /// time, and may have changed its address.
    pub(crate) fn after(&self, error: &SessionError) -> Self {
        let endpoint = match error {
            SessionError::Step {
                source: StepFailure::Timeout { .. },
                ..
            } => self.impatient(),
            _ => self.clone(),
        };
        endpoint.at_latest()
    }

    /// The same, striving for another number of credits.
    pub(crate) fn with_credit_target(&self, credit_target: u16) -> Self {
        Self {
            credit_target: credit_target.min(self.credit_cap.unwrap_or(u16::MAX)),
            ..self.clone()
        }
    }

    /// Returns this endpoint with other dialects to offer.
    pub(crate) fn with_dialects(&self, dialects: DialectRange) -> Self {
        self.with_options(SessionOptions {
            dialects,
            ..self.options
        })
    }

    /// Returns this endpoint with other session options.
    pub(crate) fn with_options(&self, options: SessionOptions) -> Self {
        Self {
            options,
            ..self.clone()
        }
    }

    /// Host and port, for messages.
    pub(crate) fn at(&self) -> String {
        let Target { host, port, .. } = &*self.target;
        if host.contains(':') {
            format!("[{host}]:{port}")
        } else {
            format!("{host}:{port}")
        }
    }

    /// What answers here begins with a byte that no SMB server sends.
    pub(super) fn not_smb(&self, byte: u8) -> SessionError {
        SessionError::NotSmb {
            at: self.at(),
            port: self.target.port,
            byte,
        }
    }

    /// Host, port and share, for messages.
    pub(crate) fn share(&self) -> String {
        format!("{}/{}", self.at(), self.target.share)
    }

    pub(crate) fn timed_out(&self, doing: &str) -> SessionError {
        let remedy = Advice(if self.limits.setup == self.given_setup {
            "; @setup_timeout sets the limit"
        } else {
            ""
        });
        let limit = self.limits.setup;
        self.failed(doing, StepFailure::Timeout { limit, remedy })
    }

    pub(super) fn not_logged_on(
        &self,
        credentials: &Credentials,
        source: HandshakeError,
    ) -> SessionError {
        let of_client = self.client_account().map(|account| &account.password);
        let password = of_client.unwrap_or(&self.target.password);
        SessionError::Handshake {
            at: self.at().into(),
            who: LogonIdentity::from(credentials),
            share: self.target.share.as_str().into(),
            password_note: password.source_note().into(),
            source,
        }
    }

    /// Returns the error for a step that failed.
    pub(crate) fn failed(&self, doing: &str, source: impl Into<StepFailure>) -> SessionError {
        SessionError::Step {
            doing: doing.to_owned(),
            at: self.at(),
            source: source.into(),
            phase: None,
        }
    }

    /// Returns the error for a request about the share that failed.
    pub(crate) fn failed_on_share(&self, doing: &str, source: StepFailure) -> SessionError {
        SessionError::Step {
            doing: doing.to_owned(),
            at: self.share(),
            source,
            phase: None,
        }
    }

    /// Returns what a client says when it logs on with these credentials.
    pub(super) fn claim<'a>(&'a self, credentials: &'a Credentials) -> Claim<'a> {
        Claim {
            credentials,
            place: LogonPlace {
                host: &self.target.host,
                workstation: &self.workstation,
            },
            now: clock::wall(),
        }
    }

    pub(super) fn config(&self, credentials: Credentials) -> SessionConfig {
        let policy = |mode| match mode {
            Mode::Auto => Policy::AsServerRequires,
            Mode::Required => Policy::Required,
            Mode::Off => Policy::Off,
        };
        let Self {
            options, target, ..
        } = self;
        SessionConfig {
            // A session in SMB2 offers no CIFS; one in CIFS offers nothing else.
            dialects: options.dialects.smb2().unwrap_or(options.dialects),
            signing: policy(options.signing),
            signing_algorithm: options.signing_algorithm,
            encryption: policy(options.encryption),
            ciphers: options.ciphers,
            credentials,
            now: clock::wall(),
            host: target.server_name().to_owned(),
            workstation: self.workstation.to_string(),
            share: target.share.clone(),
            credit_target: self.credit_target,
            credit_cap: self.credit_cap,
            channels: self.channels,
            client_guid: self.client_guid.unwrap_or_else(random),
            previous_session: self.previous_session,
            salt: random(),
            nonce_seed: random(),
        }
    }
}

/// Returns the addresses of a host.
async fn addresses_of(
    host: &str,
    port: u16,
    limits: &Limits,
) -> Result<Vec<SocketAddr>, SessionError> {
    let lookup = tokio::net::lookup_host((host, port));
    let source = match timeout(limits.connect, lookup).await {
        Ok(Ok(found)) => return Ok(found.collect()),
        Ok(Err(source)) => {
            let zone = host.split_once('%').map(|(_, zone)| zone);
            let missing = zone.filter(|zone| if_nametoindex(*zone).is_err());
            missing.map_or(source, |zone| {
                io::Error::other(format!("this machine has no interface '{zone}'"))
            })
        }
        Err(_) => {
            let limit = humantime::format_duration(limits.connect);
            io::Error::other(format!("no answer within {limit}"))
        }
    };
    let host = host.to_owned();
    Err(SessionError::Resolve { host, source })
}

/// Returns an unpredictable number.
pub(crate) fn random_u64() -> u64 {
    u64::from_le_bytes(random())
}
