//! One line for what is no capture, is damaged, or has no SMB.

use smbench_capture::{CaptureImport, ImportOptions};

use crate::packets::{fixture, pcap};

const COMPOUNDS: &str = "smbtorture-compounds-3.1.1-unsigned.pcap";

/// Returns what is said of a file.
fn refused(file: &[u8]) -> String {
    let mut import = CaptureImport::new(ImportOptions::default());
    let result = match import.read("test.pcap", file) {
        Ok(()) => import.finish().map(drop),
        Err(error) => Err(error),
    };
    result.unwrap_err().to_string()
}

#[test]
fn what_is_no_capture_gets_one_line() {
    // The length of the first frame is too large.
    let mut damaged = pcap(1, &fixture(COMPOUNDS)[..1]);
    damaged[24 + 8..24 + 12].copy_from_slice(&u32::MAX.to_le_bytes());
    for (file, expected) in [
        (
            Vec::new(),
            "test.pcap is empty: expected a capture as tcpdump or Wireshark writes it",
        ),
        (
            b"hello, world".to_vec(),
            "test.pcap is no capture: it is neither pcap nor pcapng, but text: give a file of \
             tcpdump or Wireshark",
        ),
        (
            vec![1, 2],
            "test.pcap is no capture: it is neither pcap nor pcapng, but begins with 01 02: give a \
             file of tcpdump or Wireshark",
        ),
        (
            b"\x7fELF\x02\x01\x01".to_vec(),
            "test.pcap is no capture: it is neither pcap nor pcapng, but a program: give a file of \
             tcpdump or Wireshark",
        ),
        (
            pcap(1, &[])[..10].to_vec(),
            "test.pcap is damaged before its first frame: it ends in its header; record it again",
        ),
        (
            damaged,
            "test.pcap is damaged before its first frame: a record claims to have more than 16 MiB; \
             record it again",
        ),
        (
            vec![0x1f, 0x8b],
            "test.pcap is damaged before its first frame: its compressed data ends too early; record \
             it again",
        ),
        (
            vec![0x1f, 0x8b, 7, 0, 0, 0, 0, 0, 0, 0, 0, 0],
            "test.pcap is damaged before its first frame: its compressed data is wrong; record it again",
        ),
    ] {
        assert_eq!(refused(&file), expected);
    }
}

#[test]
fn a_capture_without_smb_says_what_it_holds() {
    let no_smb = {
        let mut packets = fixture(COMPOUNDS);
        for packet in &mut packets {
            let len = packet.tcp_payload().len();
            let from = packet.bytes.len() - len;
            packet.bytes[from..].fill(0x55);
            if len > 5 {
                packet.bytes[from..from + 3].copy_from_slice(&[0x16, 3, 1]);
            }
        }
        pcap(1, &packets)
    };
    for (file, expected) in [
        (
            pcap(1, &[]),
            "test.pcap has no SMB: it has no frame; record the server's port, mostly 445, with whole \
             packets",
        ),
        (
            pcap(1, &fixture(COMPOUNDS))[..50].to_vec(),
            "test.pcap has no SMB: it ends inside of its first frame; record the server's port, mostly \
             445, with whole packets",
        ),
        (
            pcap(1, &fixture(COMPOUNDS)[..1]),
            "test.pcap has no SMB: 1 frame holds TCP port 24450 (1); record the server's port, mostly \
             445, with whole packets",
        ),
        (
            no_smb,
            "test.pcap has no SMB: 24 frames hold TLS (23); record the server's port, mostly 445, \
             with whole packets",
        ),
    ] {
        assert_eq!(refused(&file), expected);
    }
}
