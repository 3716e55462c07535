//! The routes from this machine to a server, and the local resources that they can
//! exhaust.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};

use nix::errno::Errno;
use nix::ifaddrs::{InterfaceAddress, getifaddrs};
use smbench_model::setting::Advice;

/// Location of a server relative to this machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Locality {
    /// On this machine, so it shares the CPUs.
    Here,
    /// On another machine, or in a container that looks like one.
    Elsewhere,
}

/// A route of connections to the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Route {
    /// Local address.
    pub(crate) source: IpAddr,
    /// Address of the server.
    pub(crate) server: SocketAddr,
    /// Number of routes that share the connections evenly.
    pub(crate) of: u64,
}

/// Returns the local address from which the system connects to `server`. Sends
/// nothing.
pub(crate) fn local_address(server: SocketAddr) -> Option<IpAddr> {
    let any: IpAddr = match server {
        SocketAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
        SocketAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
    };
    let socket = UdpSocket::bind((any, 0)).ok()?;
    socket.connect(server).ok()?;
    Some(socket.local_addr().ok()?.ip())
}

/// Returns whether an address belongs to this machine. Sends nothing.
pub(crate) fn is_own(address: SocketAddr) -> bool {
    // An IPv4 address mapped into IPv6 is compared as IPv4.
    let ip = address.ip().to_canonical();
    ip.is_loopback() || local_address(address) == Some(address.ip()) || is_of_an_interface(ip)
}

/// Returns whether an interface of this machine has this address. If a subnet has
/// several local IPv4 addresses, the system connects from the first one, so only
/// the interfaces show the others.
fn is_of_an_interface(ip: IpAddr) -> bool {
    let ipv4 = |interface: InterfaceAddress| -> Option<IpAddr> {
        Some(interface.address?.as_sockaddr_in()?.ip().into())
    };
    let has_it = |interface| ipv4(interface) == Some(ip);
    getifaddrs().is_ok_and(|mut interfaces| interfaces.any(has_it))
}

/// Returns the remedy if this machine has run out of sockets.
pub(crate) fn shortage(error: &io::Error) -> Option<Advice> {
    let remedy = match Errno::from_raw(error.raw_os_error()?) {
        Errno::EADDRNOTAVAIL => {
            "no local port is free; wait a minute for those of closed connections, connect from \
             several addresses (@source_ip), or widen net.ipv4.ip_local_port_range"
        }
        Errno::EMFILE => "raise `ulimit -n` or run fewer clients",
        Errno::ENFILE => "raise fs.file-max or run fewer clients",
        Errno::ENOBUFS | Errno::ENOMEM => {
            "the system has no memory for it; raise net.ipv4.tcp_mem or run fewer clients"
        }
        _ => return None,
    };
    Some(Advice(remedy))
}

#[cfg(test)]
mod tests {
    use std::net::ToSocketAddrs;

    use super::*;

    #[test]
    fn what_this_machine_lacks_differs_from_what_the_server_refuses() {
        for (errno, remedy) in [
            (Errno::EADDRNOTAVAIL, Some("ip_local_port_range")),
            (Errno::EMFILE, Some("ulimit -n")),
            (Errno::ENFILE, Some("fs.file-max")),
            (Errno::ENOBUFS, Some("tcp_mem")),
            (Errno::ENOMEM, Some("tcp_mem")),
            (Errno::ECONNREFUSED, None),
            (Errno::EHOSTUNREACH, None),
        ] {
            let found = shortage(&io::Error::from(errno));
            let is_as_expected = match (found, remedy) {
                (Some(found), Some(part)) => found.0.contains(part),
                (found, remedy) => found.is_none() && remedy.is_none(),
            };
            assert!(is_as_expected, "{errno}: {found:?}");
        }
        assert_eq!(shortage(&io::Error::other("no errno")), None);
    }

    #[test]
    fn the_way_to_this_machine_is_from_its_own_address() {
        let server: SocketAddr = "127.0.0.2:445".parse().unwrap();
        assert!(local_address(server).is_some_and(|local| local.is_loopback()));
    }

    #[test]
    fn addresses_of_this_machine_differ_from_those_of_others() {
        for here in ["127.0.0.1", "127.1.2.3", "::1", "::ffff:127.0.0.1"] {
            let ip: IpAddr = here.parse().unwrap();
            assert!(is_own((ip, 445).into()), "{here}");
        }
        let mut localhost = ("localhost", 445).to_socket_addrs().unwrap();
        assert!(localhost.all(is_own));
        // Addresses reserved for documentation, which no machine has.
        for elsewhere in ["192.0.2.1", "2001:db8::1"] {
            let ip: IpAddr = elsewhere.parse().unwrap();
            assert!(!is_own((ip, 445).into()), "{elsewhere}");
        }
    }

    #[test]
    fn what_this_machine_connects_to_others_from_is_its_own() {
        // Without a route to other machines there may be no such address.
        if let Some(own) = local_address("192.0.2.1:445".parse().unwrap()) {
            assert!(is_own((own, 445).into()), "{own}");
            assert!(is_of_an_interface(own), "{own}");
        }
    }
}
