//! Reads the files that tcpdump, dumpcap and Wireshark write, as a stream of packets.
//!
//! Files are pcap (microseconds, nanoseconds, both byte orders) and pcapng, plain or
//! gzip. The buffer holds one block, so memory does not depend on the size of the file.
//! A file that ends inside of a packet is not an error: captures are often copied while
//! they are written. Nor is one that is damaged behind a packet. Not here: opening files.

mod blocks;

use std::io::{self, BufRead, BufReader, Read};
use std::ops::ControlFlow;

use flate2::bufread::MultiGzDecoder;

use self::blocks::{Blocks, Format, Parsed};
use crate::error::CaptureError;

/// Bytes that are read at once.
const READ_BYTES: usize = 256 * 1024;
/// The largest block. Packets have at most 256 KiB; pcapng also has lists of names and
/// keys.
const BLOCK_BYTES_MAX: usize = 16 * 1024 * 1024;

/// A packet of a capture.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CapturedPacket<'a> {
    /// Number of the packet in its file, from 1, as Wireshark counts.
    pub(crate) frame: u64,
    /// Nanoseconds since 1970.
    pub(crate) time_ns: u64,
    /// The layer at the start of the bytes, as tcpdump.org numbers them.
    pub(crate) link_type: u32,
    /// Length on the wire.
    pub(crate) wire_len: usize,
    /// The bytes that were captured.
    pub(crate) bytes: &'a [u8],
}

/// The end of a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct FileEnd {
    /// Number of packets.
    pub(crate) frames: u64,
    /// The file ends inside of a packet.
    pub(crate) is_cut: bool,
    /// What is wrong behind the last packet.
    pub(crate) damage: Option<&'static str>,
    /// Packets that the capturing program says it lost.
    pub(crate) dropped: u64,
}

/// Reads a file, and hands each packet to `take` until that breaks.
pub(crate) fn read_packets(
    file: &str,
    source: impl Read,
    mut take: impl FnMut(CapturedPacket<'_>) -> ControlFlow<()>,
) -> Result<FileEnd, CaptureError> {
    let mut source = BufReader::with_capacity(READ_BYTES, source);
    let start = source.fill_buf().map_err(failed(file))?;
    if start.starts_with(&[0x1f, 0x8b]) {
        let source = MultiGzDecoder::new(source);
        return PacketReader::new(file, source).read(&mut take);
    }
    PacketReader::new(file, source).read(&mut take)
}

fn failed(file: &str) -> impl FnOnce(io::Error) -> CaptureError {
    let file = file.to_owned();
    |source| CaptureError::Io { file, source }
}

/// A file while it is read.
struct PacketReader<'n, R> {
    file: &'n str,
    source: R,
    buffer: Vec<u8>,
    /// The bytes of the buffer that are read and not used.
    from: usize,
    to: usize,
    end: FileEnd,
    /// The message for a block that is too large.
    too_large: &'static str,
}

impl<'n, R: Read> PacketReader<'n, R> {
    fn new(file: &'n str, source: R) -> Self {
        Self {
            file,
            source,
            buffer: vec![0; 2 * READ_BYTES],
            from: 0,
            to: 0,
            end: FileEnd::default(),
            too_large: "its header claims to have more than 16 MiB",
        }
    }

    fn read(
        mut self,
        take: &mut impl FnMut(CapturedPacket<'_>) -> ControlFlow<()>,
    ) -> Result<FileEnd, CaptureError> {
        let mut blocks = self.open()?;
        self.too_large = blocks.too_large();
        let read = self.read_blocks(&mut blocks, take);
        self.end.dropped = blocks.dropped();
        match read {
            Ok(()) => Ok(self.end),
            Err(CaptureError::Damaged { what, .. }) if self.end.frames > 0 => {
                self.end.damage = Some(what);
                Ok(self.end)
            }
            Err(error) => Err(error),
        }
    }

    /// Reads blocks up to the end of the file, or until `take` breaks.
    fn read_blocks(
        &mut self,
        blocks: &mut Blocks,
        take: &mut impl FnMut(CapturedPacket<'_>) -> ControlFlow<()>,
    ) -> Result<(), CaptureError> {
        loop {
            let unused = &self.buffer[self.from..self.to];
            match blocks.next_block(unused) {
                Ok(Parsed::Packet(found)) => {
                    self.end.frames += 1;
                    let flow = take(CapturedPacket {
                        frame: self.end.frames,
                        time_ns: found.time_ns,
                        link_type: found.link_type,
                        wire_len: found.wire_len.max(found.bytes.len()),
                        bytes: found.bytes,
                    });
                    if flow.is_break() {
                        return Ok(());
                    }
                    self.from += found.block_len;
                }
                Ok(Parsed::Other(block_len)) => self.from += block_len,
                Ok(Parsed::Incomplete(missing)) => {
                    if !self.fill(missing)? {
                        self.end.is_cut |= self.from < self.to;
                        return Ok(());
                    }
                }
                Err(what) => return Err(self.damaged(what)),
            }
        }
    }

    /// Reads the start of the file.
    fn open(&mut self) -> Result<Blocks, CaptureError> {
        loop {
            let start = &self.buffer[..self.to];
            let format = Format::of(start);
            if let Some(format @ (Format::Pcap | Format::PcapNg)) = format
                && let Some((blocks, len)) = Blocks::new(format, start)
            {
                self.from = len;
                return Ok(blocks);
            }
            let is_short = format != Some(Format::Unknown);
            if is_short && self.fill(1)? {
                continue;
            }
            let file = self.file.to_owned();
            let start = &self.buffer[..self.to];
            return Err(match format {
                Some(Format::Pcap | Format::PcapNg) => self.damaged("it ends in its header"),
                _ if self.end.is_cut => self.damaged("its compressed data ends too early"),
                None if start.is_empty() => CaptureError::Empty { file },
                _ => {
                    let found = foreign(start);
                    CaptureError::Foreign { file, found }
                }
            });
        }
    }

    /// Reads until `missing` more bytes are there, or some of them. Returns whether any
    /// came.
    fn fill(&mut self, missing: usize) -> Result<bool, CaptureError> {
        let unused = self.to - self.from;
        let wanted = unused.saturating_add(missing);
        if wanted > BLOCK_BYTES_MAX {
            return Err(self.damaged(self.too_large));
        }
        self.buffer.copy_within(self.from..self.to, 0);
        (self.from, self.to) = (0, unused);
        if self.buffer.len() < wanted {
            self.buffer.resize(wanted.next_power_of_two(), 0);
        }
        let mut came = false;
        while self.to < wanted {
            let space = &mut self.buffer[self.to..];
            match self.source.read(space) {
                Ok(0) => break,
                Ok(count) => {
                    self.to += count;
                    came = true;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                // A gzip file that was cut.
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                    self.end.is_cut = true;
                    break;
                }
                // Only the decoder of gzip says so.
                Err(error) if is_wrong_data(error.kind()) => {
                    return Err(self.damaged("its compressed data is wrong"));
                }
                Err(error) => return Err(failed(self.file)(error)),
            }
        }
        Ok(came)
    }

    fn damaged(&self, what: &'static str) -> CaptureError {
        CaptureError::Damaged {
            file: self.file.to_owned(),
            what,
        }
    }
}

const fn is_wrong_data(kind: io::ErrorKind) -> bool {
    matches!(
        kind,
        io::ErrorKind::InvalidData | io::ErrorKind::InvalidInput
    )
}

/// Names what a file begins with, and what helps.
fn foreign(start: &[u8]) -> String {
    const ADVICE: &str = "give a file of tcpdump or Wireshark";
    let known: [(&[u8], &str); 9] = [
        (b"PK\x03\x04", "a ZIP archive: unpack it"),
        (
            b"\x28\xb5\x2f\xfd",
            "compressed by zstd: pipe it through zstdcat",
        ),
        (b"\xfd7zXZ", "compressed by xz: pipe it through xzcat"),
        (b"BZh", "compressed by bzip2: pipe it through bzcat"),
        (b"\x7fELF", "a program: give a file of tcpdump or Wireshark"),
        (
            b"snoop\0\0\0",
            "a capture of snoop: convert it with editcap",
        ),
        (
            b"RTSS",
            "a capture of Microsoft Network Monitor: convert it with editcap",
        ),
        (
            b"GMBU",
            "a capture of Microsoft Network Monitor: convert it with editcap",
        ),
        (
            b"\x04\x22\x4d\x18",
            "compressed by lz4: pipe it through lz4cat",
        ),
    ];
    if let Some((_, name)) = known.iter().find(|(magic, _)| start.starts_with(magic)) {
        return (*name).to_owned();
    }
    let shown = &start[..start.len().min(64)];
    if !shown.is_empty() && shown.iter().all(|byte| matches!(byte, 9..=13 | 32..=126)) {
        return format!("text: {ADVICE}");
    }
    let digits = start.iter().take(4).map(|byte| format!("{byte:02x}"));
    let digits = digits.collect::<Vec<_>>().join(" ");
    format!("begins with {digits}: {ADVICE}")
}
