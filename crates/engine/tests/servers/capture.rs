//! The document's counts against what was on the wire, as an independent
//! dissector sees it.

use std::collections::HashSet;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use smbench_engine::Cancel;
use smbench_engine::plan::{Mode, Plan};
use smbench_engine::record::{OpKind, RunRecord};
use smbench_engine::run::{Unobserved, execute};
use smbench_engine::spec::RunOptions;
use smbench_lab::{SambaOptions, ScratchSamba, Tool, require};
use smbench_protocol::Dialect;
use smbench_protocol::command::read::READ_RESPONSE_FIXED;
use smbench_protocol::command::write::WRITE_REQUEST_FIXED;

use crate::support::{plan, short, target};

const TSHARK: Tool = Tool::TSHARK;
/// SMB2 READ and WRITE (MS-SMB2 2.2.1.2).
const READ: &str = "8";
const WRITE: &str = "9";
const FLUSH: &str = "7";
/// STATUS_PENDING: the answer is still to come.
const PENDING: &str = "0x00000103";
/// What the preparation writes at a time.
const PREPARE_WRITE_LEN: u64 = 1 << 20;

/// A packet capture of one loopback port, into a file.
struct Capture {
    dumpcap: Child,
}

impl Capture {
    fn start(port: u16, file: &Path) -> Self {
        let mut dumpcap = Command::new("dumpcap")
            .args(["-q", "-i", "lo", "-B", "64", "-f"])
            .arg(format!("tcp port {port}"))
            .arg("-w")
            .arg(file)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        // dumpcap names the file once it is capturing.
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

    /// Ends the capture; what dumpcap said of dropped packets.
    fn stop(mut self) -> String {
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

/// Which messages to count, and how many of their bytes are not payload.
struct Messages {
    command: &'static str,
    direction: Direction,
    fixed_len: u64,
}

#[derive(PartialEq)]
enum Direction {
    Request,
    Response,
}

impl Messages {
    /// How many there are in the capture, and their payload bytes. Responses
    /// must all be final and successful, or interim.
    fn count(&self, file: &Path, port: u16) -> (u64, u64) {
        let response = u8::from(self.direction == Direction::Response);
        let output = Command::new("tshark")
            .arg("-r")
            .arg(file)
            .args(["-d", &format!("tcp.port=={port},nbss")])
            .args(["-T", "fields", "-E", "occurrence=a", "-E", "aggregator=,"])
            .args(["-e", "smb2.cmd", "-e", "smb2.flags.response"])
            .args(["-e", "nbss.length", "-e", "smb2.nt_status", "-Y"])
            .arg(format!(
                "smb2.cmd == {} && smb2.flags.response == {response}",
                self.command
            ))
            .output()
            .unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        let (mut count, mut bytes) = (0, 0);
        for line in text.lines() {
            // A segment can hold several messages, each in a frame of its own.
            let columns: Vec<Vec<&str>> = line
                .split('\t')
                .map(|column| column.split(',').collect())
                .collect();
            let [commands, responses, lengths, statuses] = &columns[..] else {
                panic!("{line}");
            };
            assert_eq!(commands.len(), lengths.len(), "{line}");
            for (index, command) in commands.iter().enumerate() {
                if *command != self.command || responses[index] != response.to_string() {
                    continue;
                }
                if self.direction == Direction::Response {
                    match statuses[index] {
                        PENDING => continue,
                        status => assert_eq!(status, "0x00000000", "{line}"),
                    }
                }
                count += 1;
                bytes += lengths[index].parse::<u64>().unwrap() - self.fixed_len;
            }
        }
        (count, bytes)
    }
}

/// Runs `plan` under a capture into `file`.
fn captured(samba: &ScratchSamba, plan: &Plan, file: &Path) -> RunRecord {
    let capture = Capture::start(samba.port(), file);
    let record = execute(plan, &mut Unobserved, &Cancel::default()).unwrap();
    let said = capture.stop();
    // "Packets received/dropped on interface 'Loopback: lo': 4711/0 (pcap:...".
    assert!(
        said.contains("/0 (pcap:"),
        "the capture is incomplete: {said}"
    );
    let point = &record.load_points[0];
    assert_eq!((point.ops.errors(), point.dropouts.len()), (0, 0));
    record
}

fn assert_wire_agrees(samba: &ScratchSamba, plan: &Plan) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("run.pcapng");
    let record = captured(samba, plan, &file);
    let point = &record.load_points[0];
    let [read, write, flush] =
        [OpKind::Read, OpKind::Write, OpKind::Flush].map(|kind| point.ops.whole(kind));
    let files = u64::from(plan.max_clients());
    let size = plan.workload.files.size;
    let prepared = (files * size.div_ceil(PREPARE_WRITE_LEN), files * size);
    let wire = |command, direction, fixed_len| {
        Messages {
            command,
            direction,
            fixed_len,
        }
        .count(&file, samba.port())
    };
    let reads = wire(READ, Direction::Response, READ_RESPONSE_FIXED as u64);
    assert_eq!(reads, (read.count, read.bytes));
    let writes = (write.count + prepared.0, write.bytes + prepared.1);
    let sent = wire(WRITE, Direction::Request, WRITE_REQUEST_FIXED as u64);
    assert_eq!(sent, writes);
    assert_eq!(wire(WRITE, Direction::Response, 0).0, writes.0);
    assert_eq!(wire(FLUSH, Direction::Response, 0).0, flush.count);
    assert!(read.count > 0 && write.count > 0 && flush.count > 0);
}

/// On a port other than 445 the dissector takes lengths for NetBIOS's, which
/// end at 128 KiB; nothing here is longer, the preparation included.
fn profile() -> tempfile::NamedTempFile {
    let profile = tempfile::NamedTempFile::with_suffix(".toml").unwrap();
    std::fs::write(
        profile.path(),
        "read_percent = 60\nflush_every_writes = 5\n[files]\nsize = \"64KiB\"\n\
         [[sizes]]\nsize = \"4KiB\"\nweight = 70\n[[sizes]]\nsize = \"64KiB\"\nweight = 20\n\
         [[sizes]]\nsize = \"16KiB\"\nweight = 10\n",
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
            clients: Some("2".parse().unwrap()),
            outstanding: Some(3),
            duration: Some(Duration::from_millis(100)),
            dialect: Some(dialect.into()),
            sign: Some(sign),
            ..short()
        };
        let target = target(&samba.url(), samba.password());
        assert_wire_agrees(
            &samba,
            &plan(profile.path().to_str().unwrap(), &options, target),
        );
    }
}

/// Every value of these fields in a capture, packet by packet.
fn fields<const N: usize>(file: &Path, port: u16, names: [&str; N]) -> [Vec<String>; N] {
    let output = Command::new("tshark")
        .arg("-r")
        .arg(file)
        .args(["-d", &format!("tcp.port=={port},nbss"), "-Y", "smb2"])
        .args(["-T", "fields", "-E", "occurrence=a", "-E", "aggregator=,"])
        .args(names.iter().flat_map(|name| ["-e", name]))
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let mut values = std::array::from_fn(|_| Vec::new());
    for line in text.lines() {
        for (column, values) in line.split('\t').zip(&mut values) {
            let present = column.split(',').filter(|value| !value.is_empty());
            values.extend(present.map(str::to_owned));
        }
    }
    values
}

#[test]
fn an_encrypted_run_shows_nothing_but_transform_headers_after_session_setup() {
    /// NEGOTIATE and SESSION_SETUP (MS-SMB2 2.2.1.2).
    const IN_PLAIN: [&str; 2] = ["0", "1"];
    if let Err(skip) = require(&[Tool::SMBD, Tool::PDBEDIT, TSHARK]) {
        return eprintln!("{skip}");
    }
    let samba = ScratchSamba::start(SambaOptions::default()).unwrap();
    let profile = profile();
    for dialect in [Dialect::Smb30, Dialect::Smb311] {
        let options = RunOptions {
            clients: Some("2".parse().unwrap()),
            outstanding: Some(3),
            duration: Some(Duration::from_millis(100)),
            dialect: Some(dialect.into()),
            encrypt: Some(Mode::Required),
            ..short()
        };
        let target = target(&samba.url(), samba.password());
        let plan = plan(profile.path().to_str().unwrap(), &options, target);
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("run.pcapng");
        let record = captured(&samba, &plan, &file);
        let [messages, commands, nonces] = fields(
            &file,
            samba.port(),
            ["nbss.length", "smb2.cmd", "smb2.header.transform.nonce"],
        );
        assert!(!commands.is_empty());
        for command in &commands {
            assert!(IN_PLAIN.contains(&&**command), "command {command} in plain");
        }
        assert_eq!(messages.len(), commands.len() + nonces.len());
        let ops = OpKind::ALL.map(|kind| record.load_points[0].ops.whole(kind).count);
        // Each is a request and an answer.
        assert!(nonces.len() as u64 > 2 * ops.iter().sum::<u64>());
        let distinct: HashSet<_> = nonces.iter().collect();
        assert_eq!(distinct.len(), nonces.len(), "a nonce was used twice");
    }
}
