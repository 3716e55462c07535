//! Compares the counts in the document with the traffic: a packet capture,
//! reassembled into TCP streams by tshark.

use std::collections::HashSet;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use smbench_engine::Cancel;
use smbench_engine::run::{Unobserved, execute};
use smbench_lab::{SambaOptions, ScratchSamba, Tool, require};
use smbench_model::kind::OpKind;
use smbench_model::plan::Plan;
use smbench_model::record::RunRecord;
use smbench_model::sessions::Mode;
use smbench_model::spec::RunOptions;
use smbench_model::spec::{SessionsSpec, WorkSpec};
use smbench_protocol::Dialect;

use crate::support::{plan, short, target};

pub(crate) const TSHARK: Tool = Tool::TSHARK;
/// Command codes (MS-SMB2 2.2.1.2).
const NEGOTIATE: u16 = 0;
const SESSION_SETUP: u16 = 1;
const FLUSH: u16 = 7;
const READ: u16 = 8;
const WRITE: u16 = 9;
/// STATUS_PENDING: the final answer follows.
const PENDING: u32 = 0x103;
/// Bytes before the data of a READ response and of a WRITE request.
const READ_RESPONSE_FIXED: usize = 80;
const WRITE_REQUEST_FIXED: usize = 112;
/// Bytes of each WRITE of the preparation.
const PREPARE_WRITE_LEN: u64 = 1 << 20;

/// Buffer between the kernel and dumpcap, which shares the processors with server
/// and load.
const CAPTURE_BUFFER_MIB: &str = "256";
/// Maximum number of attempts. A capture with holes proves nothing, so the run is
/// repeated.
const CAPTURES_AT_MOST: u32 = 8;

/// Captures the packets of one loopback port in a file.
pub(crate) struct Capture {
    dumpcap: Child,
}

impl Capture {
    pub(crate) fn start(port: u16, file: &Path) -> Self {
        let mut dumpcap = Command::new("dumpcap")
            .args(["-q", "-i", "lo", "-B", CAPTURE_BUFFER_MIB, "-f"])
            .arg(format!("tcp port {port}"))
            .arg("-w")
            .arg(file)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        // dumpcap prints the name of the file once it is capturing.
        let mut messages = std::io::BufReader::new(dumpcap.stderr.take().unwrap());
        let mut line = String::new();
        while !line.starts_with("File:") {
            line.clear();
            let read = std::io::BufRead::read_line(&mut messages, &mut line).unwrap();
            assert!(read > 0, "dumpcap ended before it captured");
        }
        dumpcap.stderr = Some(messages.into_inner());
        Self { dumpcap }
    }

    /// Ends the capture; returns dumpcap's report of dropped packets.
    pub(crate) fn stop(mut self) -> String {
        // Packets pass through the kernel's buffer before they reach the file.
        std::thread::sleep(Duration::from_millis(500));
        Command::new("kill")
            .arg("-INT")
            .arg(self.dumpcap.id().to_string())
            .status()
            .unwrap();
        let mut said = String::new();
        let mut messages = self.dumpcap.stderr.take().unwrap();
        std::io::Read::read_to_string(&mut messages, &mut said).unwrap();
        self.dumpcap.wait().unwrap();
        said
    }
}

/// One direct-TCP message, without its four bytes of length.
pub(crate) struct Message(pub(crate) Vec<u8>);

impl Message {
    pub(crate) fn u16_at(&self, at: usize) -> u16 {
        u16::from_le_bytes(*self.0[at..].first_chunk().unwrap())
    }

    pub(crate) fn u32_at(&self, at: usize) -> u32 {
        u32::from_le_bytes(*self.0[at..].first_chunk().unwrap())
    }

    pub(crate) fn is_encrypted(&self) -> bool {
        self.0.starts_with(b"\xFDSMB")
    }

    pub(crate) fn command(&self) -> u16 {
        assert!(
            self.0.starts_with(b"\xFESMB"),
            "neither plain nor encrypted"
        );
        self.u16_at(12)
    }

    pub(crate) fn status(&self) -> u32 {
        self.u32_at(8)
    }

    pub(crate) fn nonce(&self) -> &[u8] {
        &self.0[20..36]
    }

    /// Returns the id of the message's session.
    pub(crate) fn session_id(&self) -> u64 {
        let at = if self.is_encrypted() { 44 } else { 40 };
        u64::from_le_bytes(*self.0[at..].first_chunk().unwrap())
    }

    /// Returns the messages in this frame; several if they are compounded.
    pub(crate) fn parts(&self) -> Vec<Self> {
        let mut parts = Vec::new();
        let mut rest = Self(self.0.clone());
        loop {
            let next = rest.u32_at(20) as usize;
            if next == 0 {
                parts.push(rest);
                return parts;
            }
            let behind = rest.0.split_off(next);
            parts.push(rest);
            rest = Self(behind);
        }
    }
}

/// The messages of one connection.
#[derive(Default)]
pub(crate) struct Conversation {
    pub(crate) requests: Vec<Message>,
    pub(crate) responses: Vec<Message>,
}

impl Conversation {
    /// Returns whether each request was answered, as in any run without drop-outs.
    /// If not, the capture has a hole that the kernel's counters do not show.
    /// Encrypted traffic cannot be checked, so it counts as whole.
    fn is_whole(&self) -> bool {
        let all = || self.requests.iter().chain(&self.responses);
        if all().any(Message::is_encrypted) {
            return true;
        }
        let is_final = |message: &&Message| message.status() != PENDING;
        self.requests.len() == self.responses.iter().filter(is_final).count()
    }
}

/// Returns every connection of a capture.
fn conversations(file: &Path) -> Vec<Conversation> {
    let listed = Command::new("tshark")
        .arg("-r")
        .arg(file)
        .args(["-T", "fields", "-e", "tcp.stream"])
        .output()
        .unwrap();
    let listed = String::from_utf8(listed.stdout).unwrap();
    let streams: HashSet<&str> = listed.lines().collect();
    let mut follow = Command::new("tshark");
    follow.arg("-r").arg(file).arg("-q");
    for stream in streams {
        follow.args(["-z", &format!("follow,tcp,raw,{stream}")]);
    }
    let followed = String::from_utf8(follow.output().unwrap().stdout).unwrap();
    // The output has a section for each stream. Bytes are in hexadecimal; a tab
    // precedes those of the server.
    followed
        .split("Follow: tcp,raw")
        .skip(1)
        .map(|section| {
            let (mut sent, mut received) = (Vec::new(), Vec::new());
            for line in section.lines() {
                let (side, digits) = match line.strip_prefix('\t') {
                    Some(digits) => (&mut received, digits),
                    None => (&mut sent, line),
                };
                if !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
                    side.extend(unhex(digits));
                }
            }
            Conversation {
                requests: messages(&sent),
                responses: messages(&received),
            }
        })
        .collect()
}

fn unhex(digits: &str) -> impl Iterator<Item = u8> {
    let value = |digit: u8| char::from(digit).to_digit(16).unwrap() as u8;
    let (pairs, rest) = digits.as_bytes().as_chunks::<2>();
    assert!(rest.is_empty());
    pairs
        .iter()
        .map(move |&[high, low]| value(high) << 4 | value(low))
}

fn messages(mut stream: &[u8]) -> Vec<Message> {
    let mut messages = Vec::new();
    while let Some((length, rest)) = stream.split_first_chunk::<4>() {
        let (message, rest) = rest.split_at(u32::from_be_bytes(*length) as usize);
        messages.push(Message(message.to_vec()));
        stream = rest;
    }
    messages
}

/// Captures one run, which must be without errors, without holes.
pub(crate) fn captured(samba: &ScratchSamba, plan: &Plan) -> (RunRecord, Vec<Conversation>) {
    for _ in 0..CAPTURES_AT_MOST {
        let (record, conversations) = captured_while(samba, || {
            let record = execute(plan, &mut Unobserved, &Cancel::default()).unwrap();
            let point = &record.load_points[0];
            assert_eq!((point.ops.errors(), point.dropouts.len()), (0, 0));
            record
        });
        let ops = &record.load_points[0].ops;
        let mut kinds = plan.only().workload.kinds().into_iter();
        let is_telling = kinds.all(|kind| ops.whole(kind).count > 0);
        if is_telling && conversations.iter().all(Conversation::is_whole) {
            return (record, conversations);
        }
    }
    panic!("no whole capture of every operation in {CAPTURES_AT_MOST} runs");
}

/// Captures one run without holes.
pub(crate) fn captured_while(
    samba: &ScratchSamba,
    run: impl Fn() -> RunRecord,
) -> (RunRecord, Vec<Conversation>) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("run.pcapng");
    for _ in 0..CAPTURES_AT_MOST {
        let capture = Capture::start(samba.port(), &file);
        let record = run();
        let said = capture.stop();
        // "Packets received/dropped on interface 'Loopback: lo': 4711/0 (pcap:...".
        if !said.contains("/0 (pcap:") {
            continue;
        }
        let conversations = conversations(&file);
        // The workspace's connection, those of the clients, and those of the
        // preparation.
        let plan = &record.plan;
        let of_clients = plan.sessions.connections.count(plan.max_clients());
        assert!(conversations.len() as u64 > of_clients);
        return (record, conversations);
    }
    panic!("no capture without holes in {CAPTURES_AT_MOST} runs");
}

/// Returns the number of messages of a command, and their bytes after the fixed
/// part. Each must be final and successful, or interim.
fn count<'a>(
    messages: impl Iterator<Item = &'a Message>,
    command: u16,
    fixed_len: usize,
) -> (u64, u64) {
    messages
        .filter(|message| message.command() == command && message.status() != PENDING)
        .fold((0, 0), |(count, bytes), message| {
            assert_eq!(message.status(), 0, "command {command}");
            (count + 1, bytes + (message.0.len() - fixed_len) as u64)
        })
}

fn assert_wire_agrees(samba: &ScratchSamba, plan: &Plan) {
    let (record, conversations) = captured(samba, plan);
    let point = &record.load_points[0];
    let [read, write, flush] =
        [OpKind::Read, OpKind::Write, OpKind::Flush].map(|kind| point.ops.whole(kind));
    let files = u64::from(plan.max_clients());
    let size = plan.only().workload.files.size;
    let prepared = (files * size.div_ceil(PREPARE_WRITE_LEN), files * size);
    let sent = || conversations.iter().flat_map(|each| &each.requests);
    let answered = || conversations.iter().flat_map(|each| &each.responses);
    let reads = count(answered(), READ, READ_RESPONSE_FIXED);
    assert_eq!(reads, (read.count, read.bytes));
    let writes = (write.count + prepared.0, write.bytes + prepared.1);
    assert_eq!(count(sent(), WRITE, WRITE_REQUEST_FIXED), writes);
    assert_eq!(count(answered(), WRITE, 0).0, writes.0);
    assert_eq!(count(answered(), FLUSH, 0).0, flush.count);
    assert!(read.count > 0 && write.count > 0 && flush.count > 0);
}

fn profile() -> tempfile::NamedTempFile {
    let profile = tempfile::NamedTempFile::with_suffix(".toml").unwrap();
    std::fs::write(
        profile.path(),
        "read_percent = 60\nflush_every_writes = 5\n[files]\nsize = \"2MiB\"\n\
         [[sizes]]\nsize = \"4KiB\"\nweight = 85\n[[sizes]]\nsize = \"64KiB\"\nweight = 12\n\
         [[sizes]]\nsize = \"300KiB\"\nweight = 3\n",
    )
    .unwrap();
    profile
}

#[test]
fn counts_and_bytes_equal_what_was_on_the_wire() {
    if let Err(skip) = require(&[Tool::SMBD, Tool::PDBEDIT, TSHARK]) {
        return eprintln!("{skip}");
    }
    let samba = ScratchSamba::start(SambaOptions::default()).unwrap();
    let profile = profile();
    for (dialect, sign) in [
        (Dialect::Smb311, Mode::Auto),
        (Dialect::Smb21, Mode::Required),
    ] {
        let options = RunOptions {
            work: WorkSpec {
                clients: Some("2".parse().unwrap()),
                outstanding: Some(3),
                duration: Some(Duration::from_millis(100)),
                ..short().work
            },
            sessions: SessionsSpec {
                dialect: Some(dialect.into()),
                sign: Some(sign),
                ..short().sessions
            },
            ..short()
        };
        let target = target(&samba.url(), samba.password());
        assert_wire_agrees(
            &samba,
            &plan(profile.path().to_str().unwrap(), &options, target),
        );
    }
}

#[test]
fn an_encrypted_run_shows_nothing_but_transform_headers_after_session_setup() {
    if let Err(skip) = require(&[Tool::SMBD, Tool::PDBEDIT, TSHARK]) {
        return eprintln!("{skip}");
    }
    let samba = ScratchSamba::start(SambaOptions::default()).unwrap();
    let profile = profile();
    for dialect in [Dialect::Smb30, Dialect::Smb311] {
        let options = RunOptions {
            work: WorkSpec {
                clients: Some("2".parse().unwrap()),
                outstanding: Some(3),
                duration: Some(Duration::from_millis(100)),
                ..short().work
            },
            sessions: SessionsSpec {
                dialect: Some(dialect.into()),
                encrypt: Some(Mode::Required),
                ..short().sessions
            },
            ..short()
        };
        let target = target(&samba.url(), samba.password());
        let plan = plan(profile.path().to_str().unwrap(), &options, target);
        let (record, conversations) = captured(&samba, &plan);
        let mut encrypted = 0;
        for conversation in &conversations {
            for side in [&conversation.requests, &conversation.responses] {
                let plain = side.iter().take_while(|message| !message.is_encrypted());
                let plain: Vec<u16> = plain.map(Message::command).collect();
                assert_eq!(plain, [NEGOTIATE, SESSION_SETUP, SESSION_SETUP]);
                let rest = &side[plain.len()..];
                assert!(rest.iter().all(Message::is_encrypted));
                let nonces: HashSet<_> = rest.iter().map(Message::nonce).collect();
                assert_eq!(nonces.len(), rest.len(), "a nonce was used twice");
                encrypted += rest.len() as u64;
            }
        }
        let ops = OpKind::ALL.map(|kind| record.load_points[0].ops.whole(kind).count);
        // Each operation is a request and an answer.
        assert!(encrypted > 2 * ops.iter().sum::<u64>());
    }
}
