//! TCP's counters of this process's connections to the server.
//!
//! One request to the kernel (`sock_diag(7)`) lists the connections to the server's port with
//! their `tcp_info`. It is asked when the window opens and when it closes, so no operation
//! costs more. Connections of other processes are left out by the inodes of their sockets.
//! Not here: when it is asked, which is in `run/point/cpu_reader.rs`.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::fs;
use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use netlink_packet_core::{
    NLM_F_DUMP, NLM_F_REQUEST, NetlinkHeader, NetlinkMessage, NetlinkPayload,
};
use netlink_packet_sock_diag::SockDiagMessage;
use netlink_packet_sock_diag::constants::{AF_INET, AF_INET6, IPPROTO_TCP};
use netlink_packet_sock_diag::inet::nlas::{Nla, TcpInfo};
use netlink_packet_sock_diag::inet::{
    ExtensionFlags, InetRequest, InetResponse, SocketId, StateFlags,
};
use rustix::fd::{AsFd, OwnedFd};
use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, netlink, recv, send, socket_with,
};
use smbench_model::record::{TcpRecord, TcpRtt, TcpUse};

/// How long the kernel may take to answer; 10,000 connections take about 50 ms.
const ANSWER_LIMIT: Duration = Duration::from_secs(2);
/// Size of the buffer for an answer. The kernel sends at most 32 KiB at once.
const ANSWER_BYTES: usize = 64 << 10;
/// Lengths of messages are rounded up to this.
const ALIGNMENT: usize = 4;
/// Bit of the byte of `tcp_info` that holds it: the sender had too little to send.
const APP_LIMITED: u8 = 1;

/// Stands for the connection with the given addresses (INET_DIAG_NOCOOKIE).
const ANY_COOKIE: [u8; 8] = [0xff; 8];

/// Reads the counters of the connections to one server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TcpWatch {
    port: u16,
    families: BTreeSet<u8>,
}

/// The counters of each connection, by the inode of its socket.
pub(crate) type TcpReading = Result<HashMap<u32, TcpInfo>, String>;

impl TcpWatch {
    /// Makes a watch of the connections to these addresses, which have one port.
    pub(crate) fn new(servers: impl IntoIterator<Item = SocketAddr>) -> Self {
        let mut watch = Self {
            port: 0,
            families: BTreeSet::new(),
        };
        for server in servers {
            watch.port = server.port();
            let family = if server.is_ipv4() { AF_INET } else { AF_INET6 };
            watch.families.insert(family);
        }
        watch
    }

    /// Reads the counters, blocking the thread for 2 seconds at most per family of addresses.
    pub(crate) fn read(&self) -> TcpReading {
        let own =
            own_sockets().map_err(|error| format!("/proc/self/fd cannot be read: {error}"))?;
        let mut found = HashMap::new();
        for &family in &self.families {
            dump(family, self.port, |response| {
                if own.contains(&response.header.inode)
                    && let Some(info) = tcp_info(response.nlas.into_iter())
                {
                    found.insert(response.header.inode, info);
                }
            })?;
        }
        Ok(found)
    }
}

/// Returns how often TCP has sent the oldest bytes of a connection again, each time after
/// waiting for their acknowledgement in vain. Returns `None` if the kernel does not say.
pub(crate) fn retransmissions_in_a_row(local: SocketAddr, server: SocketAddr) -> Option<u8> {
    let (family, mut socket_id) = match server {
        SocketAddr::V4(_) => (AF_INET, SocketId::new_v4()),
        SocketAddr::V6(_) => (AF_INET6, SocketId::new_v6()),
    };
    (socket_id.source_address, socket_id.source_port) = (local.ip(), local.port());
    (socket_id.destination_address, socket_id.destination_port) = (server.ip(), server.port());
    socket_id.cookie = ANY_COOKIE;
    let mut retransmissions = None;
    let asked = list(family, socket_id, NLM_F_REQUEST, |response| {
        let info = tcp_info(response.nlas.into_iter());
        retransmissions = info.map(|info| info.retransmits);
    });
    asked.ok().and(retransmissions)
}

/// Returns the inodes of the sockets that this process has open.
fn own_sockets() -> io::Result<HashSet<u32>> {
    let mut own = HashSet::new();
    for descriptor in fs::read_dir("/proc/self/fd")? {
        // One that was closed meanwhile has no target.
        let Ok(target) = fs::read_link(descriptor?.path()) else {
            continue;
        };
        let inode: Option<u32> = target.to_str().and_then(|target| {
            let target = target.strip_prefix("socket:[")?;
            target.strip_suffix(']')?.parse().ok()
        });
        own.extend(inode);
    }
    Ok(own)
}

fn tcp_info(attributes: impl Iterator<Item = Nla>) -> Option<TcpInfo> {
    let info = |attribute| match attribute {
        Nla::TcpInfo(info) => Some(info),
        _ => None,
    };
    attributes.filter_map(info).next()
}

/// Lists all connections of a family to a remote port.
fn dump(family: u8, port: u16, each: impl FnMut(InetResponse)) -> Result<(), String> {
    let mut socket_id = if family == AF_INET {
        SocketId::new_v4()
    } else {
        SocketId::new_v6()
    };
    socket_id.destination_port = port;
    list(family, socket_id, NLM_F_REQUEST | NLM_F_DUMP, each)
}

/// Lists the connections that a request with these flags asks for.
fn list(
    family: u8,
    socket_id: SocketId,
    flags: u16,
    mut each: impl FnMut(InetResponse),
) -> Result<(), String> {
    let refused = |error: rustix::io::Errno| {
        format!("the kernel does not list connections (sock_diag): {error}")
    };
    let socket = ask(family, socket_id, flags).map_err(refused)?;
    let mut answer = vec![0; ANSWER_BYTES];
    loop {
        let (length, _) = recv(&socket, &mut answer[..], RecvFlags::empty()).map_err(refused)?;
        let mut rest = &answer[..length];
        while !rest.is_empty() {
            let message =
                NetlinkMessage::<SockDiagMessage>::deserialize(rest).map_err(|error| {
                    format!("the kernel's list of connections is not understood: {error}")
                })?;
            let length = (message.header.length as usize).next_multiple_of(ALIGNMENT);
            match message.payload {
                NetlinkPayload::Done(_) => return Ok(()),
                NetlinkPayload::Error(error) => {
                    let error = error.to_io();
                    return Err(format!(
                        "the kernel does not list connections (sock_diag): {error}"
                    ));
                }
                NetlinkPayload::InnerMessage(SockDiagMessage::InetResponse(response)) => {
                    each(*response);
                }
                _ => {}
            }
            rest = rest.get(length..).unwrap_or_default();
        }
        if flags & NLM_F_DUMP != NLM_F_DUMP {
            return Ok(());
        }
        if length == 0 {
            return Err("the kernel's list of connections has no end".to_owned());
        }
    }
}

/// Asks for the list, and returns the socket on which it comes.
fn ask(family: u8, socket_id: SocketId, flags: u16) -> rustix::io::Result<OwnedFd> {
    let socket = socket_with(
        AddressFamily::NETLINK,
        SocketType::RAW,
        SocketFlags::CLOEXEC,
        Some(netlink::SOCK_DIAG),
    )?;
    set_socket_timeout(socket.as_fd(), Timeout::Recv, Some(ANSWER_LIMIT))?;
    let request = InetRequest {
        family,
        protocol: IPPROTO_TCP,
        extensions: ExtensionFlags::INFO,
        // The server may have closed its side.
        states: StateFlags::ESTABLISHED | StateFlags::CLOSE_WAIT,
        socket_id,
    };
    let mut header = NetlinkHeader::default();
    header.flags = flags;
    let mut message = NetlinkMessage::new(header, SockDiagMessage::InetRequest(request).into());
    message.finalize();
    let mut bytes = vec![0; message.buffer_len()];
    message.serialize(&mut bytes);
    send(&socket, &bytes, SendFlags::empty())?;
    Ok(socket)
}

/// Returns what TCP did between two readings.
pub(crate) fn between(opening: Option<TcpReading>, closing: Option<TcpReading>) -> TcpRecord {
    let Some((opening, closing)) = opening.zip(closing) else {
        return Err("the window did not both open and close".to_owned());
    };
    Ok(used(&opening?, &closing?))
}

fn used(opening: &HashMap<u32, TcpInfo>, closing: &HashMap<u32, TcpInfo>) -> TcpUse {
    let ended = opening.keys().filter(|inode| !closing.contains_key(inode));
    let mut sum = TcpUse {
        ended: ended.count() as u32,
        ..TcpUse::default()
    };
    let mut rtts = Vec::with_capacity(closing.len());
    for (inode, now) in closing {
        // One that is new began with zero.
        let before = opening.get(inode);
        let since = |of: fn(&TcpInfo) -> u32| of(now).wrapping_sub(before.map_or(0, of));
        let since_long = |of: fn(&TcpInfo) -> u64| of(now).wrapping_sub(before.map_or(0, of));
        let time = |of: fn(&TcpInfo) -> u64| Duration::from_micros(since_long(of));
        let segments = [since(|of| of.segs_out), since(|of| of.segs_in)].map(u64::from);
        if segments == [0, 0] {
            // One that carries no load, such as that of the directory of the run.
            continue;
        }
        sum.connections += 1;
        sum.segments_sent += segments[0];
        sum.segments_received += segments[1];
        sum.retransmitted += u64::from(since(|of| of.total_retrans));
        sum.out_of_order += u64::from(since(|of| of.rcv_ooopack));
        sum.bytes_sent += since_long(|of| of.bytes_sent);
        sum.bytes_received += since_long(|of| of.bytes_received);
        sum.delivery_rate = sum.delivery_rate.saturating_add(now.delivery_rate);
        sum.app_limited += u32::from(now.delivery_rate_app_limited & APP_LIMITED);
        sum.busy += time(|of| of.busy_time);
        sum.receive_window_limited += time(|of| of.rwnd_limited);
        sum.send_buffer_limited += time(|of| of.sndbuf_limited);
        rtts.push((now.rtt, now.min_rtt));
    }
    sum.rtt = spread(rtts);
    sum
}

/// Returns the spread of pairs of the smoothed and the least round-trip time, in microseconds.
fn spread(mut rtts: Vec<(u32, u32)>) -> Option<TcpRtt> {
    rtts.sort_unstable();
    let micros = |us: u32| Duration::from_micros(us.into());
    Some(TcpRtt {
        least: micros(rtts.iter().map(|rtt| rtt.1).min()?),
        shortest: micros(rtts.first()?.0),
        median: micros(rtts[(rtts.len() - 1) / 2].0),
        longest: micros(rtts.last()?.0),
    })
}

#[cfg(test)]
mod tests {
    use std::io::{Read as _, Write as _};
    use std::net::{TcpListener, TcpStream};

    use super::*;

    /// Returns both ends of a new connection over loopback.
    fn connected(listener: &TcpListener) -> (TcpStream, TcpStream) {
        let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        (client, listener.accept().unwrap().0)
    }

    fn exchange(from: &mut TcpStream, to: &mut TcpStream, bytes: usize) {
        from.write_all(&vec![7; bytes]).unwrap();
        to.read_exact(&mut vec![0; bytes]).unwrap();
    }

    #[test]
    fn the_counters_of_the_client_ends_grow_by_what_is_sent() {
        for address in ["127.0.0.1:0", "[::1]:0"] {
            let Ok(listener) = TcpListener::bind(address) else {
                // A machine without IPv6.
                continue;
            };
            let (mut client, mut server) = connected(&listener);
            let (_idle, _its_server) = connected(&listener);
            exchange(&mut client, &mut server, 1000);
            let watch = TcpWatch::new([listener.local_addr().unwrap()]);
            let opening = watch.read();
            exchange(&mut client, &mut server, 5000);
            exchange(&mut server, &mut client, 300);
            let (mut later, mut its_server) = connected(&listener);
            exchange(&mut later, &mut its_server, 40);
            let used = between(Some(opening), Some(watch.read())).unwrap();
            assert_eq!((used.connections, used.ended), (2, 0), "{used:?}");
            assert_eq!((used.bytes_sent, used.bytes_received), (5040, 300));
            assert!(used.segments_sent >= 2 && used.segments_received >= 2);
            let rtt = used.rtt.unwrap();
            assert!(rtt.least <= rtt.longest && rtt.shortest <= rtt.median);
            assert!(rtt.median <= rtt.longest && rtt.longest > Duration::ZERO);
        }
    }

    #[test]
    fn a_connection_in_order_has_no_retransmissions_in_a_row() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let (client, _server) = connected(&listener);
        let (local, peer) = (client.local_addr().unwrap(), client.peer_addr().unwrap());
        assert_eq!(retransmissions_in_a_row(local, peer), Some(0));
    }

    #[test]
    fn a_connection_that_ends_is_counted_and_in_no_sum() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let (mut client, mut server) = connected(&listener);
        exchange(&mut client, &mut server, 1000);
        let watch = TcpWatch::new([listener.local_addr().unwrap()]);
        let opening = watch.read();
        drop((client, server));
        let used = between(Some(opening), Some(watch.read())).unwrap();
        let expected = TcpUse {
            ended: 1,
            ..TcpUse::default()
        };
        assert_eq!(used, expected);
        assert!(between(None, Some(watch.read())).is_err());
    }
}
