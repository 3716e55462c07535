//! TCP connections of an endpoint: from which local address, over which route.

use std::io;
use std::net::{IpAddr, SocketAddr, SocketAddrV6};
use std::sync::Arc;
use std::time::Duration;

use nix::errno::Errno;
use smbench_model::lists::sources::{SourceIp, SourceList};
use socket2::{SockRef, TcpKeepalive};
use tokio::net::{TcpSocket, TcpStream};
use tokio::time::timeout;

use super::{Endpoint, SessionError};
use crate::machine::route::{Locality, Route, is_own, local_address, shortage};

/// Idle time after which the system checks whether the other side is still alive.
const KEEPALIVE_TIME: Duration = Duration::from_secs(30);
impl Endpoint {
    /// Returns this endpoint with these local addresses.
    ///
    /// Fails if one of them does not belong to this machine, or if the server has
    /// no address of the same family.
    pub(crate) fn with_sources(self, sources: Option<&SourceList>) -> Result<Self, SessionError> {
        for &source in sources.map_or(&[][..], SourceList::as_slice) {
            let Some(server) = self.addresses_for(source.ip).next() else {
                return Err(SessionError::SourceFamily {
                    source_ip: source,
                    at: self.at(),
                    family: family(source.ip),
                });
            };
            bound(source, server).map_err(|error| self.source_error(source, error))?;
        }
        Ok(Self {
            sources: sources.map(|sources| (Arc::new(sources.clone()), 0)),
            ..self
        })
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
            Some(source) => self.addresses_for(source.ip).collect(),
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
                    Some(source) => bound(source, address)?.connect(address).await,
                }
            };
            match timeout(each, connecting).await {
                Ok(Ok(stream)) => {
                    tune(&stream).map_err(|source| self.failed("connect", source))?;
                    return Ok(stream);
                }
                Ok(Err(source)) => last = self.connect_error(named(source, address)),
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
        let route = |source: &SourceIp| {
            Some(Route {
                source: source.ip,
                server: self.addresses_for(source.ip).next()?,
                of: sources.len() as u64,
            })
        };
        sources.iter().filter_map(route).collect()
    }

    /// Returns whether the server is on this machine, judged by its address.
    pub(crate) fn whereabouts(&self) -> Locality {
        match self.here() {
            Some(_) => Locality::Here,
            None => Locality::Elsewhere,
        }
    }

    /// Returns the server's address if it belongs to this machine.
    pub(crate) fn here(&self) -> Option<SocketAddr> {
        let mut addresses = self.addresses.iter().copied();
        addresses.find(|&server| is_own(server))
    }

    /// Returns the server's addresses if all of them belong to this machine.
    pub(crate) fn all_here(&self) -> Vec<SocketAddr> {
        let all = self.addresses.iter().copied();
        let own = all.map(|server| is_own(server).then_some(server));
        own.collect::<Option<_>>().unwrap_or_default()
    }

    /// Returns the local address of this connection, if the user gave some.
    fn source(&self) -> Option<SourceIp> {
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

    fn source_error(&self, source_ip: SourceIp, source: io::Error) -> SessionError {
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
}

/// Names the cause where the system only calls an argument invalid.
fn named(source: io::Error, address: SocketAddr) -> io::Error {
    let is_invalid = source.raw_os_error() == Some(Errno::EINVAL as i32);
    match address {
        SocketAddr::V6(v6)
            if is_invalid && v6.ip().is_unicast_link_local() && v6.scope_id() == 0 =>
        {
            io::Error::other(format!(
                "a link-local address needs its interface, as in [{}%25eth0]",
                v6.ip()
            ))
        }
        _ => source,
    }
}

/// Makes a socket that connects from `source` to `server`.
fn bound(source: SourceIp, server: SocketAddr) -> io::Result<TcpSocket> {
    let socket = match source.ip {
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
    socket.bind(match (source.ip, server) {
        (IpAddr::V6(ip), SocketAddr::V6(server)) if ip.is_unicast_link_local() => {
            // Without a zone the address is on the interface that leads to the server.
            let scope = match source.zone() {
                Some(zone) => nix::net::if_::if_nametoindex(zone)?,
                None => server.scope_id(),
            };
            SocketAddrV6::new(ip, 0, 0, scope).into()
        }
        (ip, _) => SocketAddr::new(ip, 0),
    })?;
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
