//! Finds the TCP segment in an IP packet, and puts fragments together.
//!
//! Memory is bounded: the oldest incomplete datagrams are given up and counted. Lengths
//! are those on the wire, so a packet that was cut by the snap length shows how much is
//! missing.

use std::collections::VecDeque;
use std::net::{IpAddr, SocketAddr};

use etherparse::{
    Ipv4HeaderSlice, Ipv6FragmentHeaderSlice, Ipv6HeaderSlice, Ipv6RawExtHeaderSlice,
    TcpHeaderSlice, ip_number,
};

/// Incomplete datagrams that are kept.
const DATAGRAMS_MAX: usize = 128;
/// The longest datagram.
const DATAGRAM_BYTES_MAX: usize = 65_535;

/// A TCP segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TcpSegment<'a> {
    pub(crate) from: SocketAddr,
    pub(crate) to: SocketAddr,
    pub(crate) sequence: u32,
    /// The next byte that the sender expects; `None` without ACK.
    pub(crate) acknowledged: Option<u32>,
    pub(crate) is_syn: bool,
    pub(crate) is_fin: bool,
    pub(crate) is_reset: bool,
    /// The payload, as far as it was captured.
    pub(crate) payload: &'a [u8],
    /// Length of the payload on the wire.
    pub(crate) wire_len: usize,
}

/// What an IP packet holds.
#[derive(Debug)]
pub(crate) enum IpPayload<'a> {
    Tcp(TcpSegment<'a>),
    /// A UDP datagram between these ports, with its first bytes.
    Udp {
        ports: [u16; 2],
        payload: &'a [u8],
    },
    /// Another protocol, or a fragment whose datagram is not complete yet.
    Other,
    /// Headers that are cut or wrong.
    Unreadable,
}

/// The transport of a packet, before it is read.
struct Datagram<'a> {
    from: IpAddr,
    to: IpAddr,
    protocol: u8,
    payload: &'a [u8],
    /// Length on the wire.
    wire_len: usize,
    fragment: Option<Fragment>,
}

#[derive(Clone, Copy, Debug)]
struct Fragment {
    id: u32,
    offset: usize,
    has_more: bool,
}

/// An incomplete datagram.
struct IncompleteDatagram {
    key: (IpAddr, IpAddr, u8, u32),
    bytes: Vec<u8>,
    /// The ranges that are there, in order, without overlap.
    ranges: Vec<(usize, usize)>,
    /// The length, once the last fragment was seen.
    len: Option<usize>,
}

/// Fragments of datagrams.
#[derive(Default)]
pub(crate) struct Fragments {
    pending: VecDeque<IncompleteDatagram>,
    whole: Vec<u8>,
    /// Datagrams that were given up because fragments are missing.
    pub(crate) given_up: u64,
}

impl Fragments {
    /// Reads an IP packet. `missing` is the number of its bytes on the wire that were not
    /// captured.
    pub(crate) fn read<'a>(&'a mut self, packet: &'a [u8], missing: usize) -> IpPayload<'a> {
        let datagram = match packet.first().map(|byte| byte >> 4) {
            Some(4) => ipv4(packet, missing),
            Some(6) => ipv6(packet, missing),
            _ => None,
        };
        let Some(datagram) = datagram else {
            return IpPayload::Unreadable;
        };
        let Some(fragment) = datagram.fragment else {
            return transport(&datagram);
        };
        match self.join(&datagram, fragment) {
            Some(len) => transport(&Datagram {
                payload: &self.whole,
                wire_len: len,
                fragment: None,
                ..datagram
            }),
            None => IpPayload::Other,
        }
    }

    /// Ends the capture: incomplete datagrams are given up.
    pub(crate) fn finish(&mut self) {
        self.given_up += self.pending.len() as u64;
        self.pending.clear();
    }

    /// Adds a fragment. Returns the length of its datagram once that is complete.
    fn join(&mut self, datagram: &Datagram<'_>, fragment: Fragment) -> Option<usize> {
        let end = fragment.offset + datagram.payload.len();
        // A fragment that was cut cannot be completed.
        if datagram.payload.len() < datagram.wire_len || end > DATAGRAM_BYTES_MAX {
            self.given_up += 1;
            return None;
        }
        let key = (datagram.from, datagram.to, datagram.protocol, fragment.id);
        let at = self.pending.iter().position(|pending| pending.key == key);
        let at = at.unwrap_or_else(|| {
            if self.pending.len() == DATAGRAMS_MAX {
                self.pending.pop_front();
                self.given_up += 1;
            }
            self.pending.push_back(IncompleteDatagram {
                key,
                bytes: Vec::new(),
                ranges: Vec::new(),
                len: None,
            });
            self.pending.len() - 1
        });
        let pending = &mut self.pending[at];
        if !fragment.has_more {
            pending.len = Some(end);
        }
        pending.add(fragment.offset, datagram.payload);
        let len = pending
            .len
            .filter(|&len| pending.ranges[..] == [(0, len)])?;
        let done = self.pending.remove(at)?;
        self.whole = done.bytes;
        self.whole.truncate(len);
        Some(len)
    }
}

impl IncompleteDatagram {
    fn add(&mut self, offset: usize, payload: &[u8]) {
        let end = offset + payload.len();
        if self.bytes.len() < end {
            self.bytes.resize(end, 0);
        }
        self.bytes[offset..end].copy_from_slice(payload);
        self.ranges.push((offset, end));
        self.ranges.sort_unstable();
        let mut joined: Vec<(usize, usize)> = Vec::with_capacity(self.ranges.len());
        for &(from, to) in &self.ranges {
            match joined.last_mut() {
                Some(last) if from <= last.1 => last.1 = last.1.max(to),
                _ => joined.push((from, to)),
            }
        }
        self.ranges = joined;
    }
}

fn ipv4(packet: &[u8], missing: usize) -> Option<Datagram<'_>> {
    let header = Ipv4HeaderSlice::from_slice(packet).ok()?;
    let header_len = header.slice().len();
    let captured = packet.get(header_len..)?;
    let wire = captured.len() + missing;
    let wire_len = match usize::from(header.total_len()) {
        // The network card divides the segment later.
        0 => wire,
        total => total.checked_sub(header_len)?.min(wire),
    };
    let offset = usize::from(header.fragments_offset().value()) * 8;
    let fragment = Fragment {
        id: header.identification().into(),
        offset,
        has_more: header.more_fragments(),
    };
    Some(Datagram {
        from: header.source_addr().into(),
        to: header.destination_addr().into(),
        protocol: header.protocol().0,
        payload: &captured[..captured.len().min(wire_len)],
        wire_len,
        fragment: (offset > 0 || fragment.has_more).then_some(fragment),
    })
}

fn ipv6(packet: &[u8], missing: usize) -> Option<Datagram<'_>> {
    let header = Ipv6HeaderSlice::from_slice(packet).ok()?;
    let captured = packet.get(header.slice().len()..)?;
    let wire = captured.len() + missing;
    let mut wire_len = match usize::from(header.payload_length()) {
        0 => wire,
        len => len.min(wire),
    };
    let mut payload = &captured[..captured.len().min(wire_len)];
    let (mut next, mut fragment) = (header.next_header(), None);
    while fragment.is_none() {
        let len = if next == ip_number::IPV6_FRAG {
            let extension = Ipv6FragmentHeaderSlice::from_slice(payload).ok()?;
            next = extension.next_header();
            let offset = usize::from(extension.fragment_offset().value()) * 8;
            let found = Fragment {
                id: extension.identification(),
                offset,
                has_more: extension.more_fragments(),
            };
            fragment = (offset > 0 || found.has_more).then_some(found);
            extension.slice().len()
        } else if Ipv6RawExtHeaderSlice::header_type_supported(next) {
            let extension = Ipv6RawExtHeaderSlice::from_slice(payload).ok()?;
            next = extension.next_header();
            extension.slice().len()
        } else {
            break;
        };
        payload = payload.get(len..)?;
        wire_len = wire_len.checked_sub(len)?;
    }
    Some(Datagram {
        from: header.source_addr().into(),
        to: header.destination_addr().into(),
        protocol: next.0,
        payload,
        wire_len,
        fragment,
    })
}

fn transport<'a>(datagram: &Datagram<'a>) -> IpPayload<'a> {
    let bytes = datagram.payload;
    if datagram.protocol == ip_number::UDP.0 {
        let Some([a, b, c, d]) = bytes.first_chunk() else {
            return IpPayload::Unreadable;
        };
        return IpPayload::Udp {
            ports: [[*a, *b], [*c, *d]].map(u16::from_be_bytes),
            payload: bytes.get(8..).unwrap_or_default(),
        };
    }
    if datagram.protocol != ip_number::TCP.0 {
        return IpPayload::Other;
    }
    let Ok(header) = TcpHeaderSlice::from_slice(bytes) else {
        return IpPayload::Unreadable;
    };
    let header_len = header.slice().len();
    let Some(wire_len) = datagram.wire_len.checked_sub(header_len) else {
        return IpPayload::Unreadable;
    };
    IpPayload::Tcp(TcpSegment {
        from: SocketAddr::new(datagram.from, header.source_port()),
        to: SocketAddr::new(datagram.to, header.destination_port()),
        sequence: header.sequence_number(),
        acknowledged: header.ack().then(|| header.acknowledgment_number()),
        is_syn: header.syn(),
        is_fin: header.fin(),
        is_reset: header.rst(),
        payload: bytes.get(header_len..).unwrap_or_default(),
        wire_len,
    })
}

#[cfg(test)]
mod tests;
