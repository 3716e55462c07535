//! The document's counts against what was on the wire, as an independent
//! dissector sees it.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use smbench_engine::Cancel;
use smbench_engine::plan::{Mode, Plan};
use smbench_engine::record::OpKind;
use smbench_engine::run::{Unobserved, execute};
use smbench_engine::spec::RunOptions;
use smbench_lab::{SambaOptions, ScratchSamba, Tool, require};
use smbench_protocol::Dialect;

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

/// Successful answers to one command, and the bytes they speak of.
fn answers(file: &Path, port: u16, command: &str, length: &str) -> (u64, u64) {
    let output = Command::new("tshark")
        .arg("-r")
        .arg(file)
        .args(["-d", &format!("tcp.port=={port},nbss")])
        .args(["-T", "fields", "-E", "occurrence=a", "-E", "aggregator=,"])
        .args(["-e", "smb2.cmd", "-e", "smb2.nt_status", "-e", length])
        .arg("-Y")
        .arg(format!("smb2.flags.response == 1 && smb2.cmd == {command}"))
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let (mut count, mut bytes) = (0, 0);
    for line in text.lines() {
        let mut columns = line.split('\t').map(|column| column.split(','));
        let (commands, statuses, lengths) = (
            columns.next().unwrap(),
            columns.next().unwrap(),
            columns.next().unwrap(),
        );
        // A segment can hold the answers of several commands.
        let mut lengths = lengths;
        for (seen, status) in commands.zip(statuses) {
            if seen != command || status == PENDING {
                continue;
            }
            assert_eq!(status, "0x00000000", "{line}");
            count += 1;
            bytes += lengths
                .next()
                .filter(|text| !text.is_empty())
                .map_or(0, |text| text.parse::<u64>().unwrap());
        }
    }
    (count, bytes)
}

fn assert_wire_agrees(samba: &ScratchSamba, plan: &Plan) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("run.pcapng");
    let capture = Capture::start(samba.port(), &file);
    let record = execute(plan, &mut Unobserved, &Cancel::default()).unwrap();
    let said = capture.stop();
    // "Packets received/dropped on interface 'Loopback: lo': 4711/0 (pcap:...".
    assert!(
        said.contains("/0 (pcap:"),
        "the capture is incomplete: {said}"
    );
    let point = &record.load_points[0];
    assert_eq!(point.invalid, None);
    let [read, write, flush] =
        [OpKind::Read, OpKind::Write, OpKind::Flush].map(|kind| point.ops.whole(kind));
    let files = u64::from(plan.max_clients());
    let size = plan.workload.files.size;
    let prepared = (files * size.div_ceil(PREPARE_WRITE_LEN), files * size);
    assert_eq!(
        answers(&file, samba.port(), READ, "smb2.read_length"),
        (read.count, read.bytes)
    );
    assert_eq!(
        answers(&file, samba.port(), WRITE, "smb2.write.count"),
        (write.count + prepared.0, write.bytes + prepared.1)
    );
    assert_eq!(
        answers(&file, samba.port(), FLUSH, "smb2.flags.response").0,
        flush.count
    );
    assert!(read.count > 0 && write.count > 0 && flush.count > 0);
}

#[test]
fn counts_and_bytes_equal_what_was_on_the_wire() {
    if let Err(skip) = require(&[Tool::SMBD, Tool::PDBEDIT, TSHARK]) {
        return eprintln!("{skip}");
    }
    let samba = ScratchSamba::start(SambaOptions::default()).unwrap();
    let profile = tempfile::NamedTempFile::with_suffix(".toml").unwrap();
    std::fs::write(
        profile.path(),
        "read_percent = 60\nflush_every_writes = 5\n[files]\nsize = \"2MiB\"\n\
         [[sizes]]\nsize = \"4KiB\"\nweight = 70\n[[sizes]]\nsize = \"64KiB\"\nweight = 20\n\
         [[sizes]]\nsize = \"300KiB\"\nweight = 10\n",
    )
    .unwrap();
    for (dialect, sign) in [
        (Dialect::Smb311, Mode::Auto),
        (Dialect::Smb21, Mode::Required),
    ] {
        let options = RunOptions {
            clients: Some("2".parse().unwrap()),
            outstanding: Some(3),
            duration: Some(Duration::from_millis(100)),
            dialect: Some(dialect),
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
