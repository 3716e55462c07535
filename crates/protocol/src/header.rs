//! The 64-byte SMB2 packet header (MS-SMB2 2.2.1).
//!
//! One structure serves requests and responses, synchronous and asynchronous.
//! The async flag decides how the field at offset 32 is read: as AsyncId, or as
//! Reserved and TreeId.

use std::hint;

use crate::NtStatus;
use crate::wire::{DecodeError, Reader};

/// Bytes in the header.
pub const HEADER_LEN: usize = 64;
/// The four bytes at the start of every SMB2 message that is not encrypted.
pub const PROTOCOL_ID: [u8; 4] = *b"\xFESMB";
/// The message id of an unsolicited oplock or lease break (MS-SMB2 2.2.23).
pub const UNSOLICITED: u64 = u64::MAX;

named! {
    /// Command codes (MS-SMB2 2.2.1.2).
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    #[repr(u16)]
    #[expect(missing_docs, reason = "the names are those of MS-SMB2 2.2.1.2")]
    pub enum Command {
        Negotiate = 0 => "NEGOTIATE",
        SessionSetup = 1 => "SESSION_SETUP",
        Logoff = 2 => "LOGOFF",
        TreeConnect = 3 => "TREE_CONNECT",
        TreeDisconnect = 4 => "TREE_DISCONNECT",
        Create = 5 => "CREATE",
        Close = 6 => "CLOSE",
        Flush = 7 => "FLUSH",
        Read = 8 => "READ",
        Write = 9 => "WRITE",
        Lock = 10 => "LOCK",
        Ioctl = 11 => "IOCTL",
        Cancel = 12 => "CANCEL",
        Echo = 13 => "ECHO",
        QueryDirectory = 14 => "QUERY_DIRECTORY",
        ChangeNotify = 15 => "CHANGE_NOTIFY",
        QueryInfo = 16 => "QUERY_INFO",
        SetInfo = 17 => "SET_INFO",
        OplockBreak = 18 => "OPLOCK_BREAK",
    }
}

impl Command {
    /// Returns the command with this code, if MS-SMB2 has one.
    #[must_use]
    #[inline]
    pub fn from_code(code: u16) -> Option<Self> {
        Self::ALL.get(usize::from(code)).copied()
    }
}

/// Header flags (MS-SMB2 2.2.1.2).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flags(pub u32);

impl Flags {
    /// SMB2_FLAGS_SERVER_TO_REDIR: the message is a response.
    pub const RESPONSE: Self = Self(0x0000_0001);
    /// SMB2_FLAGS_ASYNC_COMMAND: the message carries an AsyncId.
    pub const ASYNC: Self = Self(0x0000_0002);
    /// SMB2_FLAGS_RELATED_OPERATIONS: the request depends on the one before it
    /// in a compound.
    pub const RELATED: Self = Self(0x0000_0004);
    /// SMB2_FLAGS_SIGNED: the message carries a signature.
    pub const SIGNED: Self = Self(0x0000_0008);
    /// SMB2_FLAGS_REPLAY_OPERATION: the request was sent before on a channel that is lost.
    pub const REPLAY: Self = Self(0x2000_0000);

    /// Returns whether every bit of `other` is set.
    #[must_use]
    pub const fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// Returns the bits that are set in either value.
    #[must_use]
    pub const fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

/// A decoded header, or one to encode.
///
/// The signature is not a field: [`crate::crypto`] writes and checks it in place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// Credits that this request consumes: one per 64 KiB of payload.
    pub credit_charge: u16,
    /// Status of a response. In a request of SMB 3 the lower half is the channel sequence;
    /// see [`Header::channel_sequence`].
    pub status: NtStatus,
    /// Command of the request or of the response.
    pub command: Command,
    /// Credits that a request asks for or a response grants.
    pub credits: u16,
    /// Flag bits.
    pub flags: Flags,
    /// Offset of the next message of a compound, or zero.
    pub next_command: u32,
    /// The message id, which pairs a response with its request.
    pub message_id: u64,
    /// The AsyncId if [`Flags::ASYNC`] is set. Otherwise the upper half holds
    /// the TreeId, as it lies on the wire; use [`Header::tree_id`].
    pub async_or_tree: u64,
    /// The session's id; zero before SESSION_SETUP has been answered.
    pub session_id: u64,
}

impl Header {
    /// Makes a request header with default values for all fields but these two.
    #[must_use]
    pub const fn request(command: Command, message_id: u64) -> Self {
        Self {
            credit_charge: 1,
            status: NtStatus::SUCCESS,
            command,
            credits: 1,
            flags: Flags(0),
            next_command: 0,
            message_id,
            async_or_tree: 0,
            session_id: 0,
        }
    }

    /// Returns the TreeId of a synchronous message.
    #[must_use]
    pub const fn tree_id(&self) -> u32 {
        (self.async_or_tree >> 32) as u32
    }

    /// Returns the ChannelSequence of a request of SMB 3: the number of channels that the
    /// session has lost.
    #[must_use]
    pub const fn channel_sequence(&self) -> u16 {
        self.status.0 as u16
    }

    /// Returns the header with this TreeId.
    #[must_use]
    pub const fn with_tree(mut self, tree_id: u32) -> Self {
        self.async_or_tree = (tree_id as u64) << 32;
        self
    }

    /// Appends the 64 bytes with a zero signature.
    #[inline]
    pub fn encode(&self, out: &mut Vec<u8>) {
        let mut bytes = [0u8; HEADER_LEN];
        bytes[0..4].copy_from_slice(&PROTOCOL_ID);
        bytes[4..6].copy_from_slice(&(HEADER_LEN as u16).to_le_bytes());
        bytes[6..8].copy_from_slice(&self.credit_charge.to_le_bytes());
        bytes[8..12].copy_from_slice(&self.status.0.to_le_bytes());
        bytes[12..14].copy_from_slice(&(self.command as u16).to_le_bytes());
        bytes[14..16].copy_from_slice(&self.credits.to_le_bytes());
        bytes[16..20].copy_from_slice(&self.flags.0.to_le_bytes());
        bytes[20..24].copy_from_slice(&self.next_command.to_le_bytes());
        bytes[24..32].copy_from_slice(&self.message_id.to_le_bytes());
        bytes[32..40].copy_from_slice(&self.async_or_tree.to_le_bytes());
        bytes[40..48].copy_from_slice(&self.session_id.to_le_bytes());
        out.extend_from_slice(&bytes);
    }

    /// Reads the header at the start of `message`.
    ///
    /// # Errors
    /// Returns an error if the bytes are too few, do not start with `\xFESMB`,
    /// state another structure size, or name a command that MS-SMB2 does not have.
    #[inline]
    pub fn decode(message: &[u8]) -> Result<Self, DecodeError> {
        // A valid message needs only this one check of the length.
        match message.first_chunk::<HEADER_LEN>() {
            Some(whole) => Self::read(whole),
            None => {
                hint::cold_path();
                Self::read(message)
            }
        }
    }

    #[inline(always)]
    fn read(message: &[u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(message);
        if reader.array::<4>("protocol id")? != PROTOCOL_ID {
            return Err(Reader::new(message).error("protocol id"));
        }
        reader.structure_size(HEADER_LEN as u16, "header structure size")?;
        let credit_charge = reader.u16("credit charge")?;
        let status = NtStatus(reader.u32("status")?);
        let before_command = reader;
        let command = Command::from_code(reader.u16("command")?)
            .ok_or_else(|| before_command.error("command code"))?;
        let header = Self {
            credit_charge,
            status,
            command,
            credits: reader.u16("credits")?,
            flags: Flags(reader.u32("flags")?),
            next_command: reader.u32("next command")?,
            message_id: reader.u64("message id")?,
            async_or_tree: reader.u64("tree id")?,
            session_id: reader.u64("session id")?,
        };
        reader.array::<16>("signature")?;
        Ok(header)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const EVERY_FIELD: Header = Header {
        credit_charge: 0x0201,
        status: NtStatus(0x0605_0403),
        command: Command::SetInfo,
        credits: 0x0a09,
        flags: Flags(0x0e0d_0c0b),
        next_command: 0x1211_100f,
        message_id: 0x1a19_1817_1615_1413,
        async_or_tree: 0x2221_201f_1e1d_1c1b,
        session_id: 0x2a29_2827_2625_2423,
    };

    #[test]
    fn every_field_lies_where_ms_smb2_puts_it() {
        let mut out = vec![0xAA];
        EVERY_FIELD.encode(&mut out);
        let mut expected = vec![0xAA];
        expected.extend_from_slice(b"\xFESMB\x40\x00");
        expected.extend(0x01..=0x06);
        expected.extend([17, 0]);
        expected.extend(0x09..=0x2a);
        expected.extend([0; 16]);
        assert_eq!(out, expected);
        assert_eq!(Header::decode(&out[1..]), Ok(EVERY_FIELD));
        assert_eq!(EVERY_FIELD.tree_id(), 0x2221_201f);
    }

    #[test]
    fn a_tree_id_leaves_the_reserved_half_zero() {
        let header = Header::request(Command::Read, 9).with_tree(0x8765_4321);
        assert_eq!(header.tree_id(), 0x8765_4321);
        assert_eq!(header.async_or_tree, 0x8765_4321_0000_0000);
        assert_eq!(header.with_tree(0).async_or_tree, 0);
    }

    #[test]
    fn other_messages_are_refused_at_the_field_at_fault() {
        let mut good = Vec::new();
        EVERY_FIELD.encode(&mut good);
        // The protocol id of an encrypted message, a wrong structure size, and
        // the first code that is not a client command.
        for (at, value) in [(0, 0xFD), (4, 0x41), (12, 19)] {
            let mut bad = good.clone();
            bad[at] = value;
            assert_eq!(
                Header::decode(&bad).map_err(|error| error.offset),
                Err(at),
                "byte {at}"
            );
        }
        for len in 0..HEADER_LEN {
            let error = Header::decode(&good[..len]).expect_err("cut short");
            assert!(error.offset <= len, "cut to {len}: {error}");
        }
    }

    #[test]
    fn codes_and_commands_agree() {
        for (code, command) in (0..).zip(Command::ALL) {
            assert_eq!(command as u16, code);
            assert_eq!(Command::from_code(code), Some(command));
        }
        assert_eq!(Command::from_code(19), None);
        assert_eq!(Command::from_code(u16::MAX), None);
    }

    #[test]
    fn flags_are_contained_only_whole() {
        let both = Flags::RESPONSE.union(Flags::ASYNC);
        assert!(both.contains(Flags::RESPONSE) && both.contains(Flags::ASYNC));
        assert!(!Flags::RESPONSE.contains(both));
        assert!(both.contains(Flags(0)));
    }
}
