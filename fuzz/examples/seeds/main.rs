//! Writes the seeds of the fuzz targets into `seeds/`.
//!
//! The seeds are messages of the captures in `fixtures/`, in the form that each
//! target takes, and a few texts. Run it again when a target's form changes:
//!
//!     cargo run -p smbench-fuzz --example seeds

mod capture;
mod cifs;
mod kerberos;
mod text;

use std::fs;
use std::path::{Path, PathBuf};

use smbench_fuzz::peer::{self, framed};
use smbench_protocol::fuzzing::SESSION_ID;
use smbench_protocol::header::{Command, Flags, HEADER_LEN, Header, UNSOLICITED};
use smbench_report::RunDoc;

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures")
}

fn seed(target: &str, name: &str, bytes: &[u8]) {
    let known = smbench_fuzz::targets().any(|(known, _)| *known == target);
    assert!(known, "no target {target}");
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("seeds")
        .join(target);
    fs::create_dir_all(&folder).expect("a folder for seeds");
    fs::write(folder.join(name), bytes).expect("a seed");
}

/// Reads a `.hex` file of the captures. `#` starts a comment line.
fn captured(set: &str, name: &str) -> Vec<u8> {
    let path = fixtures().join(format!("captures/messages/{set}/{name}.hex"));
    let text = fs::read_to_string(&path).expect("a captured message");
    text.lines()
        .filter(|line| !line.starts_with('#'))
        .flat_map(str::split_whitespace)
        .map(|pair| u8::from_str_radix(pair, 16).expect("a hex byte"))
        .collect()
}

/// Returns the data that the server on port 24450 sent in a capture, segment by
/// segment. The file is a classic little-endian pcap of Ethernet, IPv4 and TCP.
fn from_server(capture: &str) -> Vec<Vec<u8>> {
    let file = fs::read(fixtures().join("captures").join(capture)).expect("a capture");
    let mut rest = &file[24..];
    let mut payloads = Vec::new();
    while let Some(length) = rest.get(8..12).and_then(|field| field.first_chunk()) {
        let (packet, after) = rest[16..].split_at(u32::from_le_bytes(*length) as usize);
        rest = after;
        let ip = &packet[14..];
        let tcp = &ip[usize::from(ip[0] & 0xF) * 4..];
        let ip_len = usize::from(u16::from_be_bytes([ip[2], ip[3]]));
        let end = ip_len - (ip.len() - tcp.len());
        let payload = &tcp[usize::from(tcp[12] >> 4) * 4..end];
        if tcp[..2] == 24450u16.to_be_bytes() && !payload.is_empty() {
            payloads.push(payload.to_vec());
        }
    }
    payloads
}

/// Encodes `bytes` as a record, for the targets that read records.
fn record(bytes: &[u8]) -> Vec<u8> {
    let mut record = (bytes.len() as u16).to_le_bytes().to_vec();
    record.extend_from_slice(bytes);
    record
}

/// Changes the message into an unsigned answer to the request with this id,
/// which a busy connection of the targets has sent.
fn answering(mut message: Vec<u8>, message_id: u64) -> Vec<u8> {
    message[16] &= !8;
    message[20..24].fill(0);
    message[24..32].copy_from_slice(&message_id.to_le_bytes());
    message[40..48].copy_from_slice(&SESSION_ID.to_le_bytes());
    message[48..64].fill(0);
    message
}

fn decoders() {
    for (target, names) in [
        (
            "create_response",
            &["create-response", "create-root-response"][..],
        ),
        (
            "close_response",
            &["close-response", "close-compound-response"],
        ),
        ("read_response", &["read-response"]),
        ("write_response", &["write-response"]),
        ("empty_response", &["flush-response"]),
        ("lock_response", &["lock-response"]),
        (
            "query_info_response",
            &["query-info-response", "query-info-fs-response"],
        ),
        ("directory_listing", &["query-directory-response"]),
    ] {
        for name in names {
            let message = captured("2.1", name);
            seed(target, name, &message[HEADER_LEN..]);
            seed("header", name, &message[..HEADER_LEN]);
        }
    }
    let empty = captured("3.1.1", "read-response-empty");
    seed("read_response", "empty", &empty[HEADER_LEN..]);
}

/// Writes seeds for the decoders of linked entries and of contexts, in the
/// layout of MS-SMB2 and MS-FSCC.
fn entries() {
    let listing = captured("2.1", "query-directory-response");
    let listing = &listing[HEADER_LEN..];
    seed(
        "query_directory_response",
        "query-directory-response",
        listing,
    );
    seed("empty_response", "empty", &[4, 0, 0, 0]);
    seed("set_info_response", "empty", &[2, 0]);
    // Two changes: names of one letter and of two letters.
    let changes = [
        &[9, 0, 72, 0, 32, 0, 0, 0][..],
        &[16, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, b'a', 0, 0, 0],
        &[0, 0, 0, 0, 3, 0, 0, 0, 4, 0, 0, 0, b'b', 0, b'c', 0],
    ];
    seed("change_notify_response", "two", &changes.concat());
    // FSCTL_QUERY_NETWORK_INTERFACE_INFO with one address of each family.
    let mut output = vec![0; 2 * 152];
    output[..12].copy_from_slice(&[152, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0]);
    output[24..32].copy_from_slice(&[2, 0, 0, 0, 10, 0, 0, 1]);
    output[152 + 24] = 0x17;
    let mut ioctl = vec![49, 0, 0, 0, 0xFC, 1, 0x14, 0];
    ioctl.extend([0xFF; 16]);
    ioctl.extend([112, 0, 0, 0, 0, 0, 0, 0, 112, 0, 0, 0]);
    ioctl.extend((output.len() as u32).to_le_bytes());
    ioctl.extend([0; 8]);
    ioctl.extend(output);
    seed("ioctl_response", "interfaces", &ioctl);
    // The fixed part of CREATE, then the maximal access and a lease.
    let mut contexts = captured("2.1", "create-response")[HEADER_LEN..].to_vec();
    contexts[80..88].copy_from_slice(&[152, 0, 0, 0, 32 + 56, 0, 0, 0]);
    contexts.extend([32, 0, 0, 0, 16, 0, 4, 0, 0, 0, 24, 0, 8, 0, 0, 0]);
    contexts.extend(b"MxAc\0\0\0\0");
    contexts.extend([0, 0, 0, 0, 0xFF, 1, 0x1F, 0]);
    contexts.extend([0, 0, 0, 0, 16, 0, 4, 0, 0, 0, 24, 0, 32, 0, 0, 0]);
    contexts.extend(b"RqLs\0\0\0\0");
    contexts.extend([7; 32]);
    seed("create_contexts", "access-and-lease", &contexts);
}

/// Writes breaks in the layout of MS-SMB2 2.2.23 and 2.2.25, because no capture
/// has one. Returns the notifications.
fn breaks() -> [Vec<u8>; 2] {
    let mut oplock = vec![24, 0, 1, 0, 0, 0, 0, 0];
    oplock.extend([7; 16]);
    let mut lease = vec![44, 0, 1, 0, 1, 0, 0, 0];
    lease.extend([7; 16]);
    lease.extend([7, 0, 0, 0, 1, 0, 0, 0]);
    lease.extend([0; 12]);
    seed("break_notification", "oplock", &oplock);
    seed("break_notification", "lease", &lease);
    [oplock, lease].map(|body| {
        let header = Header {
            flags: Flags::RESPONSE,
            ..Header::request(Command::OplockBreak, UNSOLICITED)
        };
        let mut message = Vec::new();
        header.encode(&mut message);
        message.extend_from_slice(&body);
        message
    })
}

fn connections() {
    // The ids are the message ids of `Busy`, where each read costs four credits.
    let mut answers: Vec<_> = [
        ("read-response", 0),
        ("write-response", 12),
        ("create-response", 16),
        ("close-response", 17),
        ("flush-response", 18),
        ("query-directory-response", 19),
        ("lock-pending", 20),
        ("lock-granted-late", 20),
        ("create-response", 21),
        ("read-response", 22),
    ]
    .into_iter()
    .map(|(name, id)| answering(captured("2.1", name), id))
    .collect();
    answers.extend(breaks());
    let stream: Vec<u8> = answers.iter().flat_map(|message| framed(message)).collect();
    for piece in [7, 255] {
        let name = format!("answers-by-{piece}");
        seed(
            "connection_bytes",
            &name,
            &[&[0, piece], &stream[..]].concat(),
        );
        seed("frames", &name, &[&[piece], &stream[..]].concat());
    }
    let records: Vec<u8> = answers.iter().flat_map(|message| record(message)).collect();
    seed(
        "connection_plain",
        "answers",
        &[&[1], &records[..]].concat(),
    );
    let untouched = |message: &Vec<u8>| [&[0, 0], &record(message)[..]].concat();
    let records: Vec<u8> = answers.iter().flat_map(untouched).collect();
    for selector in [0, 3, 4, 7] {
        let name = format!("answers-{selector}");
        let bytes = [&[selector], &records[..]].concat();
        seed("connection_signed", &name, &bytes);
        seed("connection_encrypted", &name, &bytes);
    }
    let flipped = [&[4, 0x83, 70], &record(&answers[0])[..]].concat();
    seed("connection_signed", "flipped", &flipped);
    seed("connection_encrypted", "flipped", &flipped);
    seed("transform", "sealed", &captured("2.1", "read-response"));
}

fn handshakes() {
    for capture in ["smbclient-2.1-signed", "smbclient-3.1.1-signed"] {
        let segments = from_server(&format!("{capture}.pcap"));
        let mut setup = Vec::new();
        let mut answers = vec![1];
        let mut tokens = Vec::new();
        for segment in &segments {
            let message = &segment[4..];
            let header = Header::decode(message).expect("plain messages");
            let body = &message[HEADER_LEN..];
            let target = match header.command {
                Command::Negotiate => "negotiate_response",
                Command::SessionSetup => "session_setup_response",
                Command::TreeConnect => "tree_connect_response",
                _ => break,
            };
            seed(target, &format!("{capture}-{}", header.message_id), body);
            setup.extend_from_slice(segment);
            let more = u8::from(header.status.is_error());
            answers.push(more);
            answers.extend(record(body));
            if header.command == Command::SessionSetup {
                tokens.push(1 - more);
                tokens.extend(record(&body[8..]));
            }
        }
        seed(
            "handshake_bytes",
            capture,
            &[&[1, 255], &setup[..]].concat(),
        );
        seed("handshake_answers", capture, &answers);
        seed("auth_tokens", capture, &tokens);
    }
    // A guest needs no key.
    let guest = [
        &[0, 0][..],
        &record(&peer::negotiate_body(smbench_protocol::Dialect::Smb302)),
        &[0],
        &record(&peer::session_setup_body(1, &[])),
        &[0],
        &record(&[16, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 1, 0x1F, 0]),
    ]
    .concat();
    seed("handshake_answers", "guest", &guest);
    let mut validation = vec![49, 0, 0, 0, 4, 2, 0x14, 0];
    validation.extend([0xFF; 16]);
    validation.extend([112, 0, 0, 0, 0, 0, 0, 0, 112, 0, 0, 0, 24, 0, 0, 0]);
    validation.extend([0; 8 + 24]);
    seed("validation_response", "zeros", &validation);
}

/// Writes the frozen result document with only one load point, to keep it short.
fn documents() {
    let path = fixtures().join("results/v1-curve.json");
    let mut doc = RunDoc::load(&path).expect("a result");
    doc.load_points.truncate(1);
    let json: String = doc.to_json().lines().map(str::trim).collect();
    seed("result_document", "v1-curve", json.as_bytes());
}

fn main() {
    decoders();
    entries();
    cifs::seeds();
    connections();
    handshakes();
    capture::seeds();
    kerberos::seeds();
    text::written();
    text::kept_and_answered();
    documents();
}
