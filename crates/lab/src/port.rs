//! Reservation of ports for the servers of this crate.

use std::io;
use std::net::{IpAddr, SocketAddr};

use tokio::net::TcpSocket;

/// Reserves a free port of an address of this machine for our server.
///
/// The socket is bound but never listens. The kernel gives its port to no other
/// socket that asks for a free one. `smbd` can still listen on it, because it
/// sets `SO_REUSEPORT` too, and `krb5kdc`, because it sets `SO_REUSEADDR`.
pub(crate) fn reserve_port(address: IpAddr) -> io::Result<(TcpSocket, u16)> {
    let socket = match address {
        IpAddr::V4(_) => TcpSocket::new_v4()?,
        IpAddr::V6(_) => TcpSocket::new_v6()?,
    };
    socket.set_reuseaddr(true)?;
    socket.set_reuseport(true)?;
    socket.bind(SocketAddr::new(address, 0))?;
    let port = socket.local_addr()?.port();
    Ok((socket, port))
}

#[cfg(test)]
mod tests {
    use std::net::{Ipv4Addr, SocketAddr, TcpStream};

    use tokio::net::TcpSocket;

    use super::reserve_port;

    #[test]
    fn a_reserved_port_is_free_for_smbd_alone() {
        let (_reservation, port) = reserve_port(Ipv4Addr::LOCALHOST.into()).unwrap();
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        TcpStream::connect(address).unwrap_err();
        TcpSocket::new_v4().unwrap().bind(address).unwrap_err();
        // These are the options that smbd sets before it binds.
        let like_smbd = TcpSocket::new_v4().unwrap();
        like_smbd.set_reuseaddr(true).unwrap();
        like_smbd.set_reuseport(true).unwrap();
        like_smbd.bind(address).unwrap();
    }
}
