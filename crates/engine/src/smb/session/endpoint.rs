//! The endpoint of sessions: the server's addresses, the local addresses, and the
//! session options. Not here: the exchange after TCP is connected.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use nix::errno::Errno;
use smbench_model::limits::Limits;
use smbench_model::lists::sources::SourceList;
use smbench_model::login::Login;
use smbench_model::sessions::{Mode, SessionOptions};
use smbench_model::target::Target;
use smbench_protocol::{Account, Channels, Credentials, HandshakeError, Policy, SessionConfig};
use socket2::{SockRef, TcpKeepalive};
use tokio::net::{TcpSocket, TcpStream};
use tokio::time::timeout;

use super::{SessionError, Who};
use crate::machine::clock;
use crate::machine::route::{Route, Whereabouts, is_own, local_address, shortage};
use crate::smb::tickets::Tickets;

/// Idle time after which the system checks whether the other side is still alive.
const KEEPALIVE_TIME: Duration = Duration::from_secs(30);
/// Limit of each wait while cleaning up after an interrupted or broken run.
const IMPATIENT_LIMIT: Duration = Duration::from_secs(5);

/// The server and the options of sessions: resolved once, shared by all sessions.
#[derive(Clone, Debug)]
pub(crate) struct Endpoint {
    addresses: Arc<[SocketAddr]>,
    pub(super) target: Arc<Target>,
    options: SessionOptions,
    pub(super) limits: Limits,
    /// The limit of set-up requests that the user gave, which [`Self::impatient`]
    /// shortens.
    given_setup: Duration,
    pub(super) credit_target: u16,
    /// Maximum number of credits in use on one connection.
    credit_cap: Option<u16>,
    channels: Channels,
    /// Client GUID of connections that share sessions; `None` gives each connection
    /// a GUID of its own.
    client_guid: Option<[u8; 16]>,
    /// Local addresses, if the user gave some, and the number of the connection,
    /// which selects one of them.
    sources: Option<(Arc<SourceList>, u32)>,
    /// Kerberos tickets, shared by all sessions.
    tickets: Arc<Tickets>,
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
        let lookup = tokio::net::lookup_host((target.host.as_str(), target.port));
        let addresses: Arc<[SocketAddr]> = match timeout(limits.connect, lookup).await {
            Ok(Ok(found)) => found.collect(),
            Ok(Err(source)) => {
                return Err(SessionError::Resolve {
                    host: target.host.clone(),
                    source,
                });
            }
            Err(_) => {
                let limit = humantime::format_duration(limits.connect);
                return Err(SessionError::Resolve {
                    host: target.host.clone(),
                    source: io::Error::other(format!("no answer within {limit}")),
                });
            }
        };
        Ok(Self {
            addresses,
            target: Arc::new(target.clone()),
            options,
            given_setup: limits.setup,
            limits,
            credit_target,
            credit_cap: None,
            channels: Channels::One,
            client_guid: None,
            sources: None,
            tickets,
        })
    }

    /// Returns this endpoint with these local addresses.
    ///
    /// Fails if one of them does not belong to this machine, or if the server has
    /// no address of the same family.
    pub(crate) fn with_sources(self, sources: Option<&SourceList>) -> Result<Self, SessionError> {
        for &source in sources.map_or(&[][..], SourceList::as_slice) {
            if self.addresses_for(source).next().is_none() {
                return Err(SessionError::SourceFamily {
                    source_ip: source,
                    at: self.at(),
                    family: family(source),
                });
            }
            bound(source).map_err(|error| self.source_error(source, error))?;
        }
        Ok(Self {
            sources: sources.map(|sources| (Arc::new(sources.clone()), 0)),
            ..self
        })
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
    /// time.
    pub(crate) fn after(&self, error: &SessionError) -> Self {
        match error {
            SessionError::Timeout { .. } => self.impatient(),
            _ => self.clone(),
        }
    }

    /// The same, striving for another number of credits.
    pub(crate) fn with_credit_target(&self, credit_target: u16) -> Self {
        Self {
            credit_target: credit_target.min(self.credit_cap.unwrap_or(u16::MAX)),
            ..self.clone()
        }
    }

    /// Returns this endpoint with other session options.
    pub(crate) fn with_options(&self, options: SessionOptions) -> Self {
        Self {
            options,
            ..self.clone()
        }
    }

    /// Returns the credentials for the log-on of a new session. With Kerberos, this
    /// occasionally asks a KDC.
    pub(crate) async fn credentials(&self) -> Result<Credentials, SessionError> {
        let target = &*self.target;
        Ok(match &target.login {
            Login::Ntlm => Credentials::Ntlm(self.account()),
            Login::Guest => Credentials::Guest(self.account()),
            Login::Anonymous => Credentials::Anonymous,
            Login::Kerberos(login) => {
                let ticket = self.tickets.get(target, login, &self.limits).await?;
                Credentials::Kerberos(ticket)
            }
        })
    }

    /// Returns the credentials to reauthenticate a session whose log-on with `used`
    /// has expired.
    pub(crate) async fn renewed(&self, used: &Credentials) -> Result<Credentials, SessionError> {
        let target = &*self.target;
        Ok(match (used, &target.login) {
            (Credentials::Kerberos(expired), Login::Kerberos(login)) => {
                let tickets = &self.tickets;
                let ticket = tickets.replace(expired, target, login, &self.limits);
                Credentials::Kerberos(ticket.await?)
            }
            _ => used.clone(),
        })
    }

    fn account(&self) -> Account {
        Account {
            domain: self.target.domain.clone(),
            user: self.target.user.clone(),
            password: self.target.password.expose().to_owned(),
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

    pub(crate) fn target(&self) -> &Target {
        &self.target
    }

    #[cfg(feature = "smb-rs")]
    pub(crate) const fn options(&self) -> &SessionOptions {
        &self.options
    }

    #[cfg(feature = "smb-rs")]
    pub(crate) const fn limits(&self) -> &Limits {
        &self.limits
    }

    #[cfg(feature = "smb-rs")]
    pub(crate) const fn credit_target(&self) -> u16 {
        self.credit_target
    }

    /// Connects from the local address of this connection.
    pub(crate) async fn connect(&self) -> Result<TcpStream, SessionError> {
        match timeout(self.limits.connect, self.connect_to_any()).await {
            Ok(connected) => connected,
            Err(_) => Err(SessionError::ConnectTimeout {
                at: self.at(),
                limit: self.limits.connect,
            }),
        }
    }

    /// Tries the host's addresses one after the other, each with an equal part of
    /// the time. Returns the last failure.
    async fn connect_to_any(&self) -> Result<TcpStream, SessionError> {
        let source = self.source();
        let usable: Vec<_> = match source {
            None => self.addresses.to_vec(),
            Some(source) => self.addresses_for(source).collect(),
        };
        let each = self.limits.connect / (usable.len().max(1) as u32);
        let mut last = SessionError::Resolve {
            host: self.target.host.clone(),
            source: io::Error::other("the name has no address"),
        };
        for address in usable {
            let connecting = async {
                match source {
                    None => TcpStream::connect(address).await,
                    Some(source) => bound(source)?.connect(address).await,
                }
            };
            match timeout(each, connecting).await {
                Ok(Ok(stream)) => {
                    tune(&stream).map_err(|source| self.io("connect", source))?;
                    return Ok(stream);
                }
                Ok(Err(source)) => last = self.connect_error(source),
                Err(_) => {
                    last = SessionError::ConnectTimeout {
                        at: self.at(),
                        limit: self.limits.connect,
                    };
                }
            }
        }
        Err(last)
    }

    /// Returns the routes of the connections, each for an equal part of them. A
    /// local address from which no route leads to the server is left out.
    pub(crate) fn routes(&self) -> Vec<Route> {
        let Some((sources, _)) = &self.sources else {
            let server = self.addresses.first().copied();
            let route = server.and_then(|server| {
                let source = local_address(server)?;
                let of = 1;
                Some(Route { source, server, of })
            });
            return route.into_iter().collect();
        };
        let sources = sources.as_slice();
        let route = |&source: &IpAddr| {
            Some(Route {
                source,
                server: self.addresses_for(source).next()?,
                of: sources.len() as u64,
            })
        };
        sources.iter().filter_map(route).collect()
    }

    /// Returns whether the server is on this machine, judged by its address.
    pub(crate) fn whereabouts(&self) -> Whereabouts {
        match self.here() {
            Some(_) => Whereabouts::Here,
            None => Whereabouts::Elsewhere,
        }
    }

    /// Returns the server's address if it belongs to this machine.
    pub(crate) fn here(&self) -> Option<SocketAddr> {
        let mut addresses = self.addresses.iter().copied();
        addresses.find(|&server| is_own(server))
    }

    /// Returns the local address of this connection, if the user gave some.
    fn source(&self) -> Option<IpAddr> {
        let (sources, number) = self.sources.as_ref()?;
        Some(sources.of_connection(*number))
    }

    /// Returns the server's addresses that can be reached from `source`.
    fn addresses_for(&self, source: IpAddr) -> impl Iterator<Item = SocketAddr> {
        let addresses = self.addresses.iter().copied();
        addresses.filter(move |address| address.is_ipv4() == source.is_ipv4())
    }

    fn connect_error(&self, source: io::Error) -> SessionError {
        let at = self.at();
        match shortage(&source) {
            Some(remedy) => SessionError::LocalLimit { at, source, remedy },
            None => SessionError::Connect { at, source },
        }
    }

    fn source_error(&self, source_ip: IpAddr, source: io::Error) -> SessionError {
        let at = self.at();
        match (
            source.raw_os_error().map(Errno::from_raw),
            shortage(&source),
        ) {
            // Here the error is about the address, not about a port, because the
            // system chooses the port later.
            (Some(Errno::EADDRNOTAVAIL), _) | (_, None) => {
                SessionError::Source { source_ip, source }
            }
            (_, Some(remedy)) => SessionError::LocalLimit { at, source, remedy },
        }
    }

    pub(crate) fn timed_out(&self, doing: &str) -> SessionError {
        SessionError::Timeout {
            doing: doing.to_owned(),
            at: self.at(),
            limit: self.limits.setup,
            remedy: match self.limits.setup == self.given_setup {
                true => "; --setup-timeout sets the limit",
                false => "",
            },
        }
    }

    pub(super) fn not_logged_on(
        &self,
        credentials: &Credentials,
        source: HandshakeError,
    ) -> SessionError {
        SessionError::Handshake {
            at: self.at().into(),
            who: Who::from(credentials),
            share: self.target.share.as_str().into(),
            password_note: self.target.password.source_note().into(),
            source,
        }
    }

    pub(crate) fn io(&self, doing: &str, source: io::Error) -> SessionError {
        SessionError::Io {
            doing: doing.to_owned(),
            at: self.at(),
            source,
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
            dialects: options.dialects,
            signing: policy(options.signing),
            signing_algorithm: options.signing_algorithm,
            encryption: policy(options.encryption),
            ciphers: options.ciphers,
            credentials,
            now: clock::wall(),
            host: target.host.clone(),
            share: target.share.clone(),
            credit_target: self.credit_target,
            credit_cap: self.credit_cap,
            channels: self.channels,
            client_guid: self.client_guid.unwrap_or_else(random),
            salt: random(),
            nonce_seed: random(),
        }
    }
}

/// Makes a socket that connects from `source`.
fn bound(source: IpAddr) -> io::Result<TcpSocket> {
    let socket = match source {
        IpAddr::V4(_) => TcpSocket::new_v4()?,
        IpAddr::V6(_) => TcpSocket::new_v6()?,
    };
    // With this option the system chooses the port when connecting. Connections to
    // different servers can then share a port, so the number of ports limits
    // connections per server, not per local address. On an old kernel without this
    // option, connecting still works.
    #[cfg(target_os = "linux")]
    let _ = nix::sys::socket::setsockopt(
        &socket,
        nix::sys::socket::sockopt::IpBindAddressNoPort,
        &true,
    );
    socket.bind(SocketAddr::new(source, 0))?;
    Ok(socket)
}

const fn family(address: IpAddr) -> &'static str {
    match address {
        IpAddr::V4(_) => "IPv4",
        IpAddr::V6(_) => "IPv6",
    }
}

fn tune(stream: &TcpStream) -> io::Result<()> {
    // Requests are written in one piece; waiting to fill a segment would only delay
    // them.
    stream.set_nodelay(true)?;
    // The session that holds the run's directory is silent during a load point.
    // Firewalls drop silent connections, and dead ones must be detected.
    let keepalive = TcpKeepalive::new()
        .with_time(KEEPALIVE_TIME)
        .with_interval(KEEPALIVE_TIME);
    SockRef::from(stream).set_tcp_keepalive(&keepalive)
}

/// Returns unpredictable bytes, as the protocol requires. The work of a run does
/// not depend on them.
pub(crate) fn random<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    aws_lc_rs::rand::fill(&mut bytes)
        .unwrap_or_else(|_| unreachable!("the system's random source does not fail"));
    bytes
}

/// Returns an unpredictable number.
pub(crate) fn random_u64() -> u64 {
    u64::from_le_bytes(random())
}
