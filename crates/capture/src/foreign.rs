//! Names what a connection without SMB is: from its first bytes, else from its port.

/// Returns the protocol of a TCP connection with these first bytes and ports.
pub(crate) fn tcp_protocol(start: &[u8], ports: [u16; 2]) -> String {
    let by_start = match start {
        [0x14..=0x17, 3, 0..=4, ..] => Some("TLS"),
        [b'S', b'S', b'H', b'-', ..] => Some("SSH"),
        [b'H', b'T', b'T', b'P', ..] | [b'G', b'E', b'T', b' ', ..] => Some("HTTP"),
        [b'P', b'O', b'S', b'T', ..] | [b'P', b'U', b'T', b' ', ..] => Some("HTTP"),
        [b'P', b'R', b'I', b' ', ..] => Some("HTTP/2"),
        // The version of DCE/RPC.
        [5, 0, 0..=19, ..] => Some("DCE/RPC"),
        _ => None,
    };
    if let Some(name) = by_start {
        return name.to_owned();
    }
    by_port("TCP", ports, TCP_PORTS)
}

/// Returns the protocol of UDP datagrams with these first bytes and ports.
pub(crate) fn udp_protocol(payload: &[u8], ports: [u16; 2]) -> String {
    let is_quic_port = ports.contains(&443);
    match payload.first() {
        // The long header of QUIC (RFC 9000 17.2), which names the version.
        Some(0xc0..) if payload.get(1..5) == Some(&[0, 0, 0, 1]) => "QUIC".to_owned(),
        Some(0x40..) if is_quic_port => "QUIC".to_owned(),
        _ => by_port("UDP", ports, UDP_PORTS),
    }
}

const TCP_PORTS: &[(u16, &str)] = &[
    (22, "SSH"),
    (53, "DNS"),
    (80, "HTTP"),
    (88, "Kerberos"),
    (111, "port mapper of NFS"),
    (135, "DCE/RPC"),
    (139, "NetBIOS without SMB"),
    (389, "LDAP"),
    (443, "TLS"),
    (445, "port 445 without SMB"),
    (548, "AFP"),
    (2049, "NFS"),
    (3260, "iSCSI"),
];

const UDP_PORTS: &[(u16, &str)] = &[
    (53, "DNS"),
    (67, "DHCP"),
    (88, "Kerberos"),
    (111, "port mapper of NFS"),
    (123, "NTP"),
    (137, "NetBIOS names"),
    (138, "NetBIOS datagrams"),
    (389, "LDAP"),
    (2049, "NFS"),
    (4791, "RDMA (RoCE)"),
    (5353, "DNS"),
];

fn by_port(transport: &str, ports: [u16; 2], known: &[(u16, &str)]) -> String {
    let found = known.iter().find(|(port, _)| ports.contains(port));
    match found {
        Some((_, name)) => (*name).to_owned(),
        None => format!("{transport} port {}", ports[0].min(ports[1])),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_smb_has_the_name_of_its_protocol() {
        for (start, ports, name) in [
            // The record mark of a call.
            (&[0x80, 0, 0, 0x28][..], [800, 2049], "NFS"),
            (&[0x16, 3, 1, 2, 0], [50_000, 8443], "TLS"),
            (&[], [443, 50_000], "TLS"),
            (b"SSH-2.0-", [50_000, 2222], "SSH"),
            (&[1, 2], [50_001, 50_000], "TCP port 50000"),
        ] {
            assert_eq!(tcp_protocol(start, ports), name);
        }
        for (payload, ports, name) in [
            (&[0xc3, 0, 0, 0, 1][..], [50_000, 4433], "QUIC"),
            (&[0x43], [50_000, 443], "QUIC"),
            (&[0x43], [50_000, 53], "DNS"),
            (&[], [800, 2049], "NFS"),
        ] {
            assert_eq!(udp_protocol(payload, ports), name);
        }
    }
}
