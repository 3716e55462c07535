//! Access for the fuzz targets to layers that are otherwise private.
//!
//! The module is compiled with the feature `fuzzing` only.

use std::fs::File;
use std::io::{self, Write as _};

use flate2::Compression;
use flate2::write::GzEncoder;

use crate::connection::{End, Receiver, SmbState};
use crate::cutter::{CapturedMessage, LongBytes, MessageCutter, MessageSink, Sealed};
use crate::file::CapturedPacket;
use crate::import::{CaptureImport, ImportOptions};
use crate::ledger::CaptureLedger;
use crate::names::NameTreatment;
use crate::recording::{TRACE_FILE, TREE_FILE, read_recording};
use crate::tcp::{HalfStream, Moment, StreamPiece, StreamSegment, StreamSink, WaitingBytes};

/// Splits the input into records: a byte of kind, and two of length before each.
fn records(mut data: &[u8]) -> Vec<(u8, &[u8])> {
    let mut found = Vec::new();
    while let [kind, low, high, rest @ ..] = data {
        let len = usize::from(u16::from_le_bytes([*low, *high])).min(rest.len());
        let (record, behind) = rest.split_at(len);
        found.push((*kind, record));
        data = behind;
    }
    found
}

/// Reads records as packets of raw IP.
pub fn packets(data: &[u8]) {
    let mut import = CaptureImport::new(ImportOptions::default());
    for (frame, (kind, bytes)) in (1..).zip(records(data)) {
        import.packet(
            CapturedPacket {
                frame,
                time_ns: frame * 1_000_000,
                link_type: 101,
                wire_len: bytes.len() + usize::from(kind),
                bytes,
            },
            0,
        );
    }
    // A capture without SMB is an error.
    let _ = import.finish();
}

/// Counts what a cutter hands out.
#[derive(Default)]
struct FuzzMessages(usize, LongBytes);

impl MessageSink for FuzzMessages {
    fn message(&mut self, message: CapturedMessage<'_>) {
        assert!(message.bytes.len() <= message.wire_len);
        self.0 += message.bytes.len();
    }

    fn sealed(&self) -> Sealed {
        Sealed::Open
    }

    fn long(&mut self) -> &mut LongBytes {
        &mut self.1
    }
}

/// Cuts records as pieces of a stream.
pub fn stream(data: &[u8]) {
    let is_joined = data.first().is_some_and(|first| first & 0x80 != 0);
    let mut cutter = MessageCutter::new(is_joined);
    let mut messages = FuzzMessages::default();
    let at = Moment::default();
    for (kind, bytes) in records(data) {
        let piece = match kind {
            1 => StreamPiece::Lost(1 + bytes.len() as u64 * 64),
            2 => StreamPiece::Cut(1 + bytes.len() as u64),
            _ => StreamPiece::Bytes(bytes),
        };
        cutter.piece(piece, at, &mut messages);
    }
    cutter.finish(at, &mut messages);
    assert!(messages.1 == LongBytes::default());
    assert!(messages.0 + cutter.losses.skipped_bytes as usize <= data.len());
}

/// Counts what a stream hands out.
#[derive(Default)]
struct FuzzPieces {
    bytes: u64,
    lost: u64,
}

impl StreamSink for FuzzPieces {
    fn piece(&mut self, piece: StreamPiece<'_>, _at: Moment) {
        match piece {
            StreamPiece::Bytes(bytes) => self.bytes += bytes.len() as u64,
            StreamPiece::Lost(len) | StreamPiece::Cut(len) => self.lost += len,
        }
    }
}

/// Takes records as segments: the first two bytes place each.
pub fn segments(data: &[u8]) {
    let (mut half, mut waiting) = (HalfStream::default(), WaitingBytes::default());
    let mut pieces = FuzzPieces::default();
    half.begin(u32::MAX - 100);
    let mut end = 0;
    for (frame, (kind, record)) in (1..).zip(records(data)) {
        let Some((place, payload)) = record.split_first_chunk::<2>() else {
            continue;
        };
        let offset = u32::from(u16::from_le_bytes(*place));
        let sequence = (u32::MAX - 99).wrapping_add(offset);
        let at = Moment {
            time_ns: frame * 100_000_000,
            frame,
        };
        if kind == 1 {
            half.acknowledged(sequence, at, &mut waiting, &mut pieces);
            end = end.max(u64::from(offset));
            continue;
        }
        let wire_len = payload.len() + usize::from(kind >> 4);
        end = end.max(u64::from(offset) + wire_len as u64);
        let segment = StreamSegment {
            sequence,
            payload,
            wire_len,
            at,
        };
        half.push(segment, &mut waiting, &mut pieces);
    }
    half.finish(&mut waiting, &mut pieces);
    assert!(
        pieces.bytes + pieces.lost <= end,
        "{} {} {end}",
        pieces.bytes,
        pieces.lost
    );
}

/// Reads the folder of an import: lines of its tree, an empty line, lines of its trace.
///
/// # Errors
/// If the folder cannot be written.
pub fn recording(data: &[u8]) -> io::Result<()> {
    let folder = std::env::temp_dir().join(format!("smbench-fuzz-{}", std::process::id()));
    std::fs::create_dir_all(&folder)?;
    let behind = data.windows(2).position(|pair| pair == b"\n\n");
    let (tree, trace) = match behind {
        Some(at) => (&data[..=at], &data[at + 2..]),
        None => (data, &[][..]),
    };
    for (name, lines) in [(TREE_FILE, tree), (TRACE_FILE, trace)] {
        let mut file = GzEncoder::new(File::create(folder.join(name))?, Compression::none());
        file.write_all(lines)?;
        file.finish()?;
    }
    let read = read_recording(&folder.to_string_lossy());
    std::fs::remove_dir_all(&folder)?;
    match read {
        Ok(recording) => assert!(recording.clients_per_copy() > 0),
        Err(error) => assert!(!error.to_string().contains('\n'), "{error}"),
    }
    Ok(())
}

/// Takes records as messages of both ends of a connection.
pub fn messages(data: &[u8]) {
    let mut ledger = CaptureLedger::new(NameTreatment::Keep);
    ledger.keys.add_password("password");
    let ends = [
        ([127, 0, 0, 1], 50_000).into(),
        ([127, 0, 0, 2], 445).into(),
    ];
    let mut state = SmbState::new(ends, Some(End::A));
    for (frame, (kind, bytes)) in (1..).zip(records(data)) {
        let end = Moment {
            time_ns: frame * 1000,
            frame,
        };
        let mut receiver = Receiver {
            state: &mut state,
            ledger: &mut ledger,
            from: if kind & 1 == 0 { End::A } else { End::B },
        };
        receiver.message(CapturedMessage {
            bytes,
            wire_len: bytes.len() + usize::from(kind & 2),
            is_cut: kind & 2 != 0,
            end,
        });
    }
    state.finish(Moment::default(), &mut ledger);
    let tally = &ledger.tally;
    for (key, command) in &tally.commands {
        let answered = command.matched + tally.unanswered.get(key).copied().unwrap_or(0);
        assert!(answered <= command.requests, "{}", key.name());
    }
}
