//! The 32-byte header of CIFS messages (MS-CIFS 2.2.3.1).

use crate::NtStatus;
use crate::wire::{DecodeError, Reader};

/// Bytes in the header.
pub const CIFS_HEADER_LEN: usize = 32;
/// The four bytes at the start of every message.
pub const CIFS_PROTOCOL_ID: [u8; 4] = *b"\xFFSMB";
/// The MID of oplock breaks, which no request has (MS-CIFS 2.2.1.6.2).
pub const CIFS_UNSOLICITED: u16 = u16::MAX;
/// Offset of the signature (SecurityFeatures).
pub(crate) const CIFS_SIGNATURE_AT: usize = 14;
/// Length of the signature.
pub(crate) const CIFS_SIGNATURE_LEN: usize = 8;

named! {
    /// Commands (MS-CIFS 2.2.2.1).
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    #[repr(u8)]
    #[expect(missing_docs, reason = "the names are those of MS-CIFS 2.2.2.1")]
    pub enum CifsCommand {
        CreateDirectory = 0x00 => "CREATE_DIRECTORY",
        DeleteDirectory = 0x01 => "DELETE_DIRECTORY",
        Close = 0x04 => "CLOSE",
        Flush = 0x05 => "FLUSH",
        Delete = 0x06 => "DELETE",
        Rename = 0x07 => "RENAME",
        CheckDirectory = 0x10 => "CHECK_DIRECTORY",
        LockingAndX = 0x24 => "LOCKING_ANDX",
        Echo = 0x2B => "ECHO",
        ReadAndX = 0x2E => "READ_ANDX",
        WriteAndX = 0x2F => "WRITE_ANDX",
        Transaction2 = 0x32 => "TRANSACTION2",
        FindClose2 = 0x34 => "FIND_CLOSE2",
        TreeDisconnect = 0x71 => "TREE_DISCONNECT",
        Negotiate = 0x72 => "NEGOTIATE",
        SessionSetupAndX = 0x73 => "SESSION_SETUP_ANDX",
        LogoffAndX = 0x74 => "LOGOFF_ANDX",
        TreeConnectAndX = 0x75 => "TREE_CONNECT_ANDX",
        NtTransact = 0xA0 => "NT_TRANSACT",
        NtCreateAndX = 0xA2 => "NT_CREATE_ANDX",
        NtCancel = 0xA4 => "NT_CANCEL",
    }
}

impl CifsCommand {
    /// Returns the command with this code, if smbench sends it.
    #[must_use]
    #[inline]
    pub const fn from_code(code: u8) -> Option<Self> {
        BY_CODE[code as usize]
    }
}

/// The commands by their codes. Every message is looked up.
const BY_CODE: [Option<CifsCommand>; 256] = {
    let mut commands = [None; 256];
    let mut at = 0;
    while at < CifsCommand::ALL.len() {
        commands[CifsCommand::ALL[at] as usize] = Some(CifsCommand::ALL[at]);
        at += 1;
    }
    commands
};

/// Bits of [`CifsHeader::flags`] (MS-CIFS 2.2.3.1).
pub mod cifs_flags {
    /// SMB_FLAGS_REPLY: the message is a response.
    pub const REPLY: u8 = 0x80;
    /// SMB_FLAGS_CANONICALIZED_PATHS and SMB_FLAGS_CASE_INSENSITIVE, as all clients set.
    pub const REQUEST: u8 = 0x18;
}

/// Bits of [`CifsHeader::flags2`] (MS-CIFS 2.2.3.1, MS-SMB 2.2.3.1).
pub mod cifs_flags2 {
    /// SMB_FLAGS2_LONG_NAMES.
    pub const LONG_NAMES: u16 = 0x0001;
    /// SMB_FLAGS2_SMB_SECURITY_SIGNATURE: the message is signed.
    pub const SIGNATURE: u16 = 0x0004;
    /// SMB_FLAGS2_SMB_SECURITY_SIGNATURE_REQUIRED: the client requires signatures.
    pub const SIGNATURE_REQUIRED: u16 = 0x0010;
    /// SMB_FLAGS2_EXTENDED_SECURITY.
    pub const EXTENDED_SECURITY: u16 = 0x0800;
    /// SMB_FLAGS2_NT_STATUS.
    pub const NT_STATUS: u16 = 0x4000;
    /// SMB_FLAGS2_UNICODE.
    pub const UNICODE: u16 = 0x8000;
    /// The bits of every request.
    pub const REQUEST: u16 = LONG_NAMES | NT_STATUS | UNICODE;
}

/// A decoded header, or one to encode. The signature is not a field: it is written and
/// checked in place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CifsHeader {
    /// The command.
    pub command: CifsCommand,
    /// Status of a response; zero in a request.
    pub status: NtStatus,
    /// [`cifs_flags`] bits.
    pub flags: u8,
    /// [`cifs_flags2`] bits.
    pub flags2: u16,
    /// Tree id of the tree connect.
    pub tid: u16,
    /// User id of the session.
    pub uid: u16,
    /// Multiplex id, which pairs a response with its request.
    pub mid: u16,
}

impl CifsHeader {
    /// Appends the header, with the signature zero.
    #[inline]
    pub fn encode(&self, out: &mut Vec<u8>) {
        let mut header = [0; CIFS_HEADER_LEN];
        header[..4].copy_from_slice(&CIFS_PROTOCOL_ID);
        header[4] = self.command as u8;
        header[5..9].copy_from_slice(&self.status.0.to_le_bytes());
        header[9] = self.flags;
        header[10..12].copy_from_slice(&self.flags2.to_le_bytes());
        header[24..26].copy_from_slice(&self.tid.to_le_bytes());
        // PIDLow is a process of the client. Locks belong to it, so it is the same in all
        // requests.
        header[26..28].copy_from_slice(&1u16.to_le_bytes());
        header[28..30].copy_from_slice(&self.uid.to_le_bytes());
        header[30..32].copy_from_slice(&self.mid.to_le_bytes());
        out.extend_from_slice(&header);
    }

    /// Reads the header of a message.
    ///
    /// # Errors
    /// If the message is too short, has another protocol id, or a command that smbench does
    /// not send.
    #[inline]
    pub fn decode(message: &[u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(message);
        let start = reader;
        let header: [u8; CIFS_HEADER_LEN] = reader.array("CIFS header")?;
        if header[..4] != CIFS_PROTOCOL_ID {
            return Err(start.error("CIFS protocol id"));
        }
        let command = CifsCommand::from_code(header[4])
            .ok_or_else(|| start.ahead(4).error("CIFS command"))?;
        let u16_at = |at: usize| u16::from_le_bytes([header[at], header[at + 1]]);
        let flags2 = u16_at(10);
        let status = u32::from_le_bytes([header[5], header[6], header[7], header[8]]);
        Ok(Self {
            command,
            status: match status {
                // The class and code of an error of DOS, which was not asked for.
                1.. if flags2 & cifs_flags2::NT_STATUS == 0 => NtStatus::UNSUCCESSFUL,
                status => NtStatus(status),
            },
            flags: header[9],
            flags2,
            tid: u16_at(24),
            uid: u16_at(28),
            mid: u16_at(30),
        })
    }

    /// Returns whether the message is a response.
    #[must_use]
    #[inline]
    pub const fn is_reply(&self) -> bool {
        self.flags & cifs_flags::REPLY != 0
    }

    /// Returns whether the message says that it is signed.
    #[must_use]
    #[inline]
    pub const fn is_signed(&self) -> bool {
        self.flags2 & cifs_flags2::SIGNATURE != 0
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const EVERY_FIELD: CifsHeader = CifsHeader {
        command: CifsCommand::NtCreateAndX,
        status: NtStatus(0x0403_0201),
        flags: 0x05,
        flags2: 0x0706,
        tid: 0x0908,
        uid: 0x0b0a,
        mid: 0x0d0c,
    };

    #[test]
    fn every_field_lies_where_ms_cifs_puts_it() {
        let mut out = Vec::new();
        EVERY_FIELD.encode(&mut out);
        let expected = [
            &b"\xFFSMB\xA2"[..],
            &[1, 2, 3, 4, 5, 6, 7],
            // PIDHigh, the signature, two reserved bytes.
            &[0; 12],
            &[8, 9],
            // PIDLow.
            &[1, 0],
            &[10, 11, 12, 13],
        ];
        assert_eq!(out, expected.concat());
    }

    #[test]
    fn other_messages_are_refused_at_the_field_at_fault() {
        let mut good = Vec::new();
        EVERY_FIELD.encode(&mut good);
        for (at, value) in [(0, 0xFE), (4, 0xFE)] {
            let mut bad = good.clone();
            bad[at] = value;
            assert_eq!(
                CifsHeader::decode(&bad).map_err(|error| error.offset),
                Err(at)
            );
        }
    }

    #[test]
    fn codes_and_commands_agree() {
        for code in 0..=u8::MAX {
            let known = CifsCommand::ALL.into_iter().find(|it| *it as u8 == code);
            assert_eq!(CifsCommand::from_code(code), known);
        }
    }

    proptest! {
        #[test]
        fn a_header_comes_back(
            command in prop::sample::select(&CifsCommand::ALL[..]),
            (status, flags, flags2) in any::<(u32, u8, u16)>(),
            (tid, uid, mid) in any::<(u16, u16, u16)>(),
        ) {
            let flags2 = flags2 | cifs_flags2::NT_STATUS;
            let header = CifsHeader { command, status: NtStatus(status), flags, flags2, tid, uid, mid };
            let mut out = Vec::new();
            header.encode(&mut out);
            prop_assert_eq!(out.len(), CIFS_HEADER_LEN);
            prop_assert_eq!(CifsHeader::decode(&out), Ok(header));
            for len in 0..CIFS_HEADER_LEN {
                prop_assert!(CifsHeader::decode(&out[..len]).is_err());
            }
        }

        #[test]
        fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..40)) {
            let _ = CifsHeader::decode(&bytes);
        }
    }
}
