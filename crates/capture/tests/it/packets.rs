//! Packets of the captures in `fixtures/`, and files made of them.

use std::io::Read;
use std::path::{Path, PathBuf};

/// Bytes of an Ethernet header.
const ETHERNET: usize = 14;
const IPV4: usize = 20;

/// A packet of a capture.
#[derive(Clone, Debug)]
pub(crate) struct Packet {
    pub(crate) time_ns: u64,
    pub(crate) wire_len: usize,
    pub(crate) bytes: Vec<u8>,
}

/// Returns the path of a file in the folder of captures.
pub(crate) fn fixture_path(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/captures");
    folder.join(name)
}

/// Returns all text of a reader.
pub(crate) fn read_all(mut source: impl Read) -> String {
    let mut text = String::new();
    source.read_to_string(&mut text).unwrap();
    text
}

/// Returns the packets of a capture, which is a pcap file of Ethernet.
pub(crate) fn fixture(name: &str) -> Vec<Packet> {
    let file = std::fs::read(fixture_path(name)).unwrap();
    let u32_at = |at: usize| u32::from_le_bytes(*file[at..].first_chunk().unwrap());
    let units = match u32_at(0) {
        0xa1b2_c3d4 => 1000,
        0xa1b2_3c4d => 1,
        magic => panic!("{name} begins with {magic:x}"),
    };
    assert_eq!(u32_at(20), 1, "{name} is no Ethernet");
    let (mut packets, mut at) = (Vec::new(), 24);
    while at < file.len() {
        let [seconds, fraction, len, wire_len] = [0, 4, 8, 12].map(|field| u32_at(at + field));
        at += 16;
        packets.push(Packet {
            time_ns: u64::from(seconds) * 1_000_000_000 + u64::from(fraction) * units,
            wire_len: wire_len as usize,
            bytes: file[at..at + len as usize].to_vec(),
        });
        at += len as usize;
    }
    packets
}

impl Packet {
    fn header_len(&self) -> usize {
        ETHERNET + IPV4 + usize::from(self.bytes[ETHERNET + IPV4 + 12] >> 4) * 4
    }

    /// Returns the payload of the TCP segment.
    pub(crate) fn tcp_payload(&self) -> &[u8] {
        &self.bytes[self.header_len()..]
    }

    /// Returns the packet as a capture with this snap length has it.
    pub(crate) fn cut(&self, snap_len: usize) -> Self {
        let mut cut = self.clone();
        cut.bytes.truncate(snap_len);
        cut
    }

    /// Returns the packet of the same connection of another client: the end with the
    /// higher port has another address.
    pub(crate) fn of_client(&self, number: u16) -> Self {
        let mut packet = self.clone();
        let ip = &mut packet.bytes[ETHERNET..];
        let port = |at: usize| u16::from_be_bytes([ip[at], ip[at + 1]]);
        let is_client = port(IPV4) > port(IPV4 + 2);
        let at = if is_client { 12 } else { 16 };
        ip[at + 1] = 7;
        ip[at + 2..at + 4].copy_from_slice(&number.to_be_bytes());
        packet
    }

    /// Returns the packet without the first bytes of its payload.
    pub(crate) fn without_begin(&self, len: usize) -> Self {
        let mut packet = self.clone();
        let from = self.header_len();
        packet.bytes.drain(from..from + len);
        packet.wire_len -= len;
        let total = (packet.bytes.len() - ETHERNET) as u16;
        packet.bytes[ETHERNET + 2..ETHERNET + 4].copy_from_slice(&total.to_be_bytes());
        let sequence_at = ETHERNET + IPV4 + 4;
        let sequence = u32::from_be_bytes(*packet.bytes[sequence_at..].first_chunk().unwrap());
        let sequence = sequence.wrapping_add(len as u32).to_be_bytes();
        packet.bytes[sequence_at..sequence_at + 4].copy_from_slice(&sequence);
        packet
    }
}

/// Returns the packets in two fragments each, where they are long enough.
pub(crate) fn fragments(packets: &[Packet]) -> Vec<Packet> {
    let mut made = Vec::new();
    for (id, packet) in (1_u16..).zip(packets) {
        let payload = &packet.bytes[ETHERNET + IPV4..];
        let first_len = payload.len() / 2 / 8 * 8;
        if first_len == 0 {
            made.push(packet.clone());
            continue;
        }
        for (offset, payload, more) in [
            (0, &payload[..first_len], 0x2000),
            (first_len, &payload[first_len..], 0),
        ] {
            let mut bytes = [&packet.bytes[..ETHERNET + IPV4], payload].concat();
            let total = ((IPV4 + payload.len()) as u16).to_be_bytes();
            let flags = (more | (offset / 8) as u16).to_be_bytes();
            let header = &mut bytes[ETHERNET..];
            header[2..4].copy_from_slice(&total);
            header[4..6].copy_from_slice(&id.to_be_bytes());
            header[6..8].copy_from_slice(&flags);
            made.push(Packet {
                wire_len: bytes.len(),
                bytes,
                ..packet.clone()
            });
        }
    }
    made
}

/// Returns the packets with another link layer.
pub(crate) fn with_link(link: u32, packets: &[Packet]) -> Vec<Packet> {
    let header = match link {
        0 => vec![2, 0, 0, 0],
        108 => vec![0, 0, 0, 2],
        113 => [&[0; 14][..], &[8, 0]].concat(),
        276 => [&[8, 0][..], &[0; 18]].concat(),
        _ => Vec::new(),
    };
    let made = packets.iter().map(|packet| {
        let bytes = [&header[..], &packet.bytes[ETHERNET..]].concat();
        Packet {
            wire_len: bytes.len(),
            bytes,
            ..packet.clone()
        }
    });
    made.collect()
}

/// Returns a pcap file with nanoseconds.
pub(crate) fn pcap(link: u32, packets: &[Packet]) -> Vec<u8> {
    let mut file = Vec::new();
    for field in [0xa1b2_3c4d, 0x0004_0002, 0, 0, 262_144, link] {
        file.extend(u32::to_le_bytes(field));
    }
    for packet in packets {
        let seconds = (packet.time_ns / 1_000_000_000) as u32;
        let nanos = (packet.time_ns % 1_000_000_000) as u32;
        for field in [
            seconds,
            nanos,
            packet.bytes.len() as u32,
            packet.wire_len as u32,
        ] {
            file.extend(field.to_le_bytes());
        }
        file.extend(&packet.bytes);
    }
    file
}

/// Packets that a file of [`pcapng`] says were dropped.
pub(crate) const DROPPED: u64 = 3;

/// Returns a pcapng file, big-endian, with nanoseconds, whose clock is a minute late.
pub(crate) fn pcapng(link: u16, packets: &[Packet]) -> Vec<u8> {
    let mut file = Vec::new();
    let mut block = |kind: u32, body: &[u8]| {
        let padding = vec![0; body.len().next_multiple_of(4) - body.len()];
        let len = (12 + body.len() + padding.len()) as u32;
        for part in [
            &kind.to_be_bytes()[..],
            &len.to_be_bytes(),
            body,
            &padding,
            &len.to_be_bytes(),
        ] {
            file.extend_from_slice(part);
        }
    };
    let section = [
        &0x1a2b_3c4d_u32.to_be_bytes()[..],
        &[0, 1, 0, 0],
        &[0xff; 8],
    ]
    .concat();
    block(0x0a0d_0d0a, &section);
    // Options 9 and 14, if_tsresol and if_tsoffset: nanoseconds, and 60 seconds.
    let interface = [
        &link.to_be_bytes()[..],
        &[0; 6],
        &[0, 9, 0, 1, 9, 0, 0, 0],
        &[0, 14, 0, 8, 0, 0, 0, 0, 0, 0, 0, 60],
        &[0; 4],
    ]
    .concat();
    block(1, &interface);
    // A block of names, which is skipped.
    block(4, &[0; 4]);
    for packet in packets {
        let time_ns = packet.time_ns - 60_000_000_000;
        let fields = [
            0,
            (time_ns >> 32) as u32,
            time_ns as u32,
            packet.bytes.len() as u32,
            packet.wire_len as u32,
        ];
        let mut body: Vec<u8> = fields
            .iter()
            .flat_map(|field| field.to_be_bytes())
            .collect();
        body.extend(&packet.bytes);
        block(6, &body);
    }
    // Statistics of the interface, with option 5, isb_ifdrop.
    let statistics = [&[0; 12][..], &[0, 5, 0, 8], &DROPPED.to_be_bytes(), &[0; 4]].concat();
    block(5, &statistics);
    file
}
