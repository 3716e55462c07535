//! Seeds of the targets for captures.

use std::fs;

use crate::{captured, fixtures, seed};

/// Encodes a record: its kind, its length, its bytes.
fn record(kind: u8, bytes: &[u8]) -> Vec<u8> {
    let len = (bytes.len() as u16).to_le_bytes();
    [&[kind, len[0], len[1]], bytes].concat()
}

/// Returns the packets of a capture, which is a pcap file of Ethernet.
fn packets(capture: &str) -> Vec<Vec<u8>> {
    let file = fs::read(fixtures().join("captures").join(capture)).expect("a capture");
    let mut rest = &file[24..];
    let mut packets = Vec::new();
    while let Some(length) = rest.get(8..12).and_then(|field| field.first_chunk()) {
        let (packet, after) = rest[16..].split_at(u32::from_le_bytes(*length) as usize);
        packets.push(packet.to_vec());
        rest = after;
    }
    packets
}

pub(crate) fn seeds() {
    for name in [
        "smbtorture-cifs.pcap",
        "smbtorture-interfaces-3.1.1-unsigned.pcap",
    ] {
        let file = fs::read(fixtures().join("captures").join(name)).expect("a capture");
        let stem = name.trim_end_matches(".pcap");
        seed("capture_file", stem, &file);
        let of_ip = packets(name);
        let of_ip = of_ip.iter().map(|packet| record(0, &packet[14..]));
        seed("capture_packets", stem, &of_ip.collect::<Vec<_>>().concat());
    }
    seed(
        "capture_file",
        "pcapng",
        &[
            &[
                0x0a, 0x0d, 0x0d, 0x0a, 28, 0, 0, 0, 0x4d, 0x3c, 0x2b, 0x1a, 1, 0, 0, 0,
            ][..],
            &[0xff; 8],
            &[28, 0, 0, 0],
        ]
        .concat(),
    );
    let frame = |name: &str| {
        let message = captured("2.1", name);
        let prefix = (message.len() as u32).to_be_bytes();
        [&prefix[..], &message].concat()
    };
    let (create, read) = (frame("create-response"), frame("read-response"));
    let stream = [
        record(0, &create),
        record(0, &read[..90]),
        record(1, &[0]),
        record(0, &create),
    ];
    seed("capture_stream", "hole", &stream.concat());
    let segments = [
        record(0, b"\0\0first"),
        record(0, b"\x09\0behind a hole"),
        record(0, b"\x03\0st and a hole"),
        record(1, b"\x40\0"),
    ];
    seed("capture_segments", "overlapping", &segments.concat());
    let messages = [
        "create-response",
        "close-response",
        "lock-pending",
        "error-name-not-found",
    ];
    let messages = messages.iter().map(|name| {
        let answer = captured("2.1", name);
        let mut request = answer.clone();
        // The same header as a request.
        request[16] &= !1;
        [record(0, &request), record(1, &answer)].concat()
    });
    seed(
        "capture_messages",
        "answers",
        &messages.collect::<Vec<_>>().concat(),
    );
    seed(
        "capture_recording",
        "sessions",
        include_bytes!("recording.txt"),
    );
    let keys = fs::read(fixtures().join("captures/smbclient-3.1.1-encrypted.keys"));
    seed("session_keys", "smbclient", &keys.expect("the keys"));
}
