//! The blocks of a capture file.

use pcap_parser::nom::{self, Needed};
use pcap_parser::pcapng::{self, Block};
use pcap_parser::traits::PcapNGPacketBlock as _;
use pcap_parser::{LegacyPcapBlock, PcapError, PcapHeader, PcapNGOption};
use pcap_parser::{parse_pcap_frame, parse_pcap_frame_be, parse_pcap_frame_modified};

const NANOS: u64 = 1_000_000_000;
/// Interfaces of a section. Each has the same few numbers, so this bounds memory.
const INTERFACES_MAX: usize = 65_536;

/// The format of a file by its first bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Format {
    Pcap,
    PcapNg,
    Unknown,
}

impl Format {
    /// Returns the format; `None` if more bytes are needed.
    pub(super) fn of(start: &[u8]) -> Option<Self> {
        let magic = u32::from_le_bytes(*start.first_chunk()?);
        Some(match magic {
            0xa1b2_c3d4 | 0xa1b2_3c4d | 0xa1b2_cd34 | 0xd4c3_b2a1 | 0x4d3c_b2a1 => Self::Pcap,
            0x0a0d_0d0a => Self::PcapNg,
            _ => Self::Unknown,
        })
    }
}

/// A packet with the length of its block.
#[derive(Debug)]
pub(super) struct PacketBlock<'a> {
    pub(super) time_ns: u64,
    pub(super) link_type: u32,
    pub(super) wire_len: usize,
    pub(super) bytes: &'a [u8],
    pub(super) block_len: usize,
}

/// What the bytes begin with.
#[derive(Debug)]
pub(super) enum Parsed<'a> {
    Packet(PacketBlock<'a>),
    /// A block of this length that is no packet.
    Other(usize),
    /// At least this many bytes are missing.
    Incomplete(usize),
}

/// What a pcapng file says about an interface.
#[derive(Clone, Copy, Debug)]
pub(super) struct CapturedInterface {
    link_type: u32,
    /// Units of times in a second.
    units: u64,
    offset_s: i64,
    /// The largest number of bytes of a packet; 0 without a limit.
    snap_len: usize,
    /// What the last statistics said.
    dropped: u64,
}

/// What is known of a file between two blocks.
pub(super) enum Blocks {
    Pcap(PcapHeader),
    PcapNg {
        is_big_endian: bool,
        interfaces: Vec<CapturedInterface>,
        /// Packets lost in earlier sections.
        dropped: u64,
    },
}

impl Blocks {
    /// Reads the header. Returns it with its length; `None` if more bytes are needed.
    pub(super) fn new(format: Format, start: &[u8]) -> Option<(Self, usize)> {
        if format == Format::PcapNg {
            let blocks = Self::PcapNg {
                is_big_endian: false,
                interfaces: Vec::new(),
                dropped: 0,
            };
            return Some((blocks, 0));
        }
        let (_, header) = pcap_parser::parse_pcap_header(start).ok()?;
        let len = header.size();
        Some((Self::Pcap(header), len))
    }

    /// Reads the block at the start of `bytes`.
    pub(super) fn next_block<'a>(&mut self, bytes: &'a [u8]) -> Result<Parsed<'a>, &'static str> {
        match self {
            Self::Pcap(header) => pcap_packet(header, bytes),
            Self::PcapNg {
                is_big_endian,
                interfaces,
                dropped,
            } => {
                if bytes.first_chunk() == Some(&[0x0a, 0x0d, 0x0d, 0x0a]) {
                    // The byte order lies behind the length.
                    let Some(order) = bytes.get(8..12) else {
                        return Ok(Parsed::Incomplete(12 - bytes.len()));
                    };
                    *is_big_endian = match order {
                        [0x1a, 0x2b, 0x3c, 0x4d] => true,
                        [0x4d, 0x3c, 0x2b, 0x1a] => false,
                        _ => return Err("a section without a byte order"),
                    };
                }
                let parsed = if *is_big_endian {
                    pcapng::parse_block_be(bytes)
                } else {
                    pcapng::parse_block_le(bytes)
                };
                let (rest, block) = match parsed {
                    Ok(parsed) => parsed,
                    Err(error) => return incomplete(&error, "a block that is not pcapng"),
                };
                let block_len = bytes.len() - rest.len();
                section_block(interfaces, dropped, &block, block_len, *is_big_endian)
            }
        }
    }

    /// Says that what follows is too large.
    pub(super) const fn too_large(&self) -> &'static str {
        match self {
            Self::Pcap(_) => "a record claims to have more than 16 MiB",
            Self::PcapNg { .. } => "a block claims to have more than 16 MiB",
        }
    }

    /// Returns the number of packets that the capturing program lost.
    pub(super) fn dropped(&self) -> u64 {
        match self {
            Self::Pcap(_) => 0,
            Self::PcapNg {
                interfaces,
                dropped,
                ..
            } => dropped.saturating_add(dropped_by(interfaces)),
        }
    }
}

fn dropped_by(interfaces: &[CapturedInterface]) -> u64 {
    let dropped = interfaces.iter().map(|interface| interface.dropped);
    dropped.fold(0, u64::saturating_add)
}

fn incomplete<'a>(
    error: &nom::Err<PcapError<&[u8]>>,
    what: &'static str,
) -> Result<Parsed<'a>, &'static str> {
    match error {
        nom::Err::Incomplete(needed) => Ok(Parsed::Incomplete(missing(*needed))),
        _ => Err(what),
    }
}

/// Returns how many bytes are missing, at least.
fn missing(needed: Needed) -> usize {
    match needed {
        Needed::Size(count) => count.get(),
        Needed::Unknown => 1,
    }
}

fn pcap_packet<'a>(header: &PcapHeader, bytes: &'a [u8]) -> Result<Parsed<'a>, &'static str> {
    let parse = if header.is_bigendian() {
        parse_pcap_frame_be
    } else if header.is_modified_format() {
        parse_pcap_frame_modified
    } else {
        parse_pcap_frame
    };
    let (rest, block) = match parse(bytes) {
        Ok(parsed) => parsed,
        Err(error) => return incomplete(&error, "a packet that is not pcap"),
    };
    let LegacyPcapBlock {
        ts_sec, ts_usec, ..
    } = block;
    let nanos = if header.is_nanosecond_precision() {
        u64::from(ts_usec)
    } else {
        u64::from(ts_usec) * 1000
    };
    Ok(Parsed::Packet(PacketBlock {
        time_ns: u64::from(ts_sec) * NANOS + nanos,
        // The upper bits tell the length of a checksum.
        link_type: header.network.0.cast_unsigned() & 0x0fff_ffff,
        wire_len: block.origlen as usize,
        bytes: block.data,
        block_len: bytes.len() - rest.len(),
    }))
}

/// Follows a block of pcapng.
fn section_block<'a>(
    interfaces: &mut Vec<CapturedInterface>,
    dropped: &mut u64,
    block: &Block<'a>,
    block_len: usize,
    is_big_endian: bool,
) -> Result<Parsed<'a>, &'static str> {
    match block {
        Block::SectionHeader(_) => {
            *dropped = dropped.saturating_add(dropped_by(interfaces));
            interfaces.clear();
        }
        Block::InterfaceDescription(found) => {
            if interfaces.len() >= INTERFACES_MAX {
                return Err("more than 65,536 interfaces");
            }
            let offset_s = number(&found.options, IF_TSOFFSET, is_big_endian);
            interfaces.push(CapturedInterface {
                link_type: found.linktype.0.cast_unsigned(),
                units: units(found.if_tsresol),
                offset_s: offset_s.unwrap_or(0).cast_signed(),
                snap_len: found.snaplen as usize,
                dropped: 0,
            });
        }
        Block::EnhancedPacket(found) => {
            let interface = interfaces.get(found.if_id as usize);
            let interface = interface.ok_or("a packet of an interface that is not described")?;
            let time = u64::from(found.ts_high) << 32 | u64::from(found.ts_low);
            // The padding is no part of the packet.
            let captured = found.data.len().min(found.caplen as usize);
            return Ok(Parsed::Packet(PacketBlock {
                time_ns: nanos(time, interface),
                link_type: interface.link_type,
                wire_len: found.origlen as usize,
                bytes: &found.data[..captured],
                block_len,
            }));
        }
        Block::SimplePacket(found) => {
            let interface = interfaces.first();
            let interface = interface.ok_or("a packet of an interface that is not described")?;
            let mut captured = found.data.len().min(found.orig_len() as usize);
            if interface.snap_len > 0 {
                captured = captured.min(interface.snap_len);
            }
            return Ok(Parsed::Packet(PacketBlock {
                // Packets of this form have no time.
                time_ns: 0,
                link_type: interface.link_type,
                wire_len: found.orig_len() as usize,
                bytes: &found.data[..captured],
                block_len,
            }));
        }
        Block::InterfaceStatistics(found) => {
            if let Some(interface) = interfaces.get_mut(found.if_id as usize) {
                let dropped = number(&found.options, ISB_IFDROP, is_big_endian);
                interface.dropped = dropped.unwrap_or(interface.dropped);
            }
        }
        _ => {}
    }
    Ok(Parsed::Other(block_len))
}

/// The seconds that are to be added to times.
const IF_TSOFFSET: u16 = 14;
/// Packets that the interface dropped.
const ISB_IFDROP: u16 = 5;

/// Returns the number in the last option of this kind.
fn number(options: &[PcapNGOption<'_>], code: u16, is_big_endian: bool) -> Option<u64> {
    let option = options.iter().rfind(|option| option.code.0 == code)?;
    let bytes = *option.value.first_chunk()?;
    Some(if is_big_endian {
        u64::from_be_bytes(bytes)
    } else {
        u64::from_le_bytes(bytes)
    })
}

/// Returns the units in a second: a power of ten, or with the upper bit of two.
fn units(resolution: u8) -> u64 {
    let exponent = u32::from(resolution & 0x7f);
    let base: u64 = if resolution & 0x80 == 0 { 10 } else { 2 };
    // More digits than a number has: take the finest.
    base.checked_pow(exponent).unwrap_or(u64::MAX)
}

fn nanos(time: u64, interface: &CapturedInterface) -> u64 {
    let nanos = u128::from(time) * u128::from(NANOS) / u128::from(interface.units);
    let offset = i128::from(interface.offset_s) * i128::from(NANOS);
    let nanos = i128::try_from(nanos)
        .unwrap_or(i128::MAX)
        .saturating_add(offset);
    u64::try_from(nanos.max(0)).unwrap_or(u64::MAX)
}
