//! CIFS messages as a third party sees them (MS-CIFS 2.2.3, 2.2.4). Messages may be cut,
//! so each field may be missing.

use smbench_protocol::command::lock::lock_flags;

use crate::fields::{Fields, utf16};
use crate::status::dos_status;

/// Codes of commands.
pub(crate) mod cifs_code {
    pub(crate) const CREATE_DIRECTORY: u8 = 0x00;
    pub(crate) const DELETE_DIRECTORY: u8 = 0x01;
    pub(crate) const CLOSE: u8 = 0x04;
    pub(crate) const FLUSH: u8 = 0x05;
    pub(crate) const DELETE: u8 = 0x06;
    pub(crate) const RENAME: u8 = 0x07;
    pub(crate) const CHECK_DIRECTORY: u8 = 0x10;
    pub(crate) const LOCKING_ANDX: u8 = 0x24;
    pub(crate) const TRANSACTION: u8 = 0x25;
    pub(crate) const TRANSACTION_SECONDARY: u8 = 0x26;
    pub(crate) const READ_ANDX: u8 = 0x2e;
    pub(crate) const WRITE_ANDX: u8 = 0x2f;
    pub(crate) const TRANSACTION2: u8 = 0x32;
    pub(crate) const TRANSACTION2_SECONDARY: u8 = 0x33;
    pub(crate) const TREE_DISCONNECT: u8 = 0x71;
    pub(crate) const NEGOTIATE: u8 = 0x72;
    pub(crate) const SESSION_SETUP_ANDX: u8 = 0x73;
    pub(crate) const LOGOFF_ANDX: u8 = 0x74;
    pub(crate) const TREE_CONNECT_ANDX: u8 = 0x75;
    pub(crate) const NT_TRANSACT: u8 = 0xa0;
    pub(crate) const NT_TRANSACT_SECONDARY: u8 = 0xa1;
    pub(crate) const NT_CREATE_ANDX: u8 = 0xa2;
    pub(crate) const NT_CANCEL: u8 = 0xa4;
}

/// Subcommands of TRANSACTION2 (MS-CIFS 2.2.2.2).
pub(crate) mod trans2 {
    pub(crate) const FIND_FIRST2: u16 = 0x01;
    pub(crate) const QUERY_FS_INFORMATION: u16 = 0x03;
    pub(crate) const QUERY_PATH_INFORMATION: u16 = 0x05;
    pub(crate) const SET_PATH_INFORMATION: u16 = 0x06;
    pub(crate) const QUERY_FILE_INFORMATION: u16 = 0x07;
    pub(crate) const SET_FILE_INFORMATION: u16 = 0x08;
}

/// Commands that may be followed by another in the same message.
const CHAINED: [u8; 8] = [0x24, 0x2d, 0x2e, 0x2f, 0x73, 0x74, 0x75, 0xa2];
/// Commands of a message.
const COMMANDS_MAX: usize = 8;
/// Offset of the first command's word count.
const WORDS_AT: usize = 32;

/// A header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ForeignCifsHeader {
    pub(crate) command: u8,
    pub(crate) status: u32,
    pub(crate) is_answer: bool,
    is_unicode: bool,
    /// The ids; `None` if the message is cut before them.
    pub(crate) ids: Option<CifsIds>,
}

/// The ids in a header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CifsIds {
    pub(crate) tree: u16,
    pub(crate) process: u16,
    pub(crate) user: u16,
    pub(crate) multiplex: u16,
}

/// A command of a message, and the place of its word count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CifsPart {
    pub(crate) command: u8,
    pub(crate) at: usize,
}

impl ForeignCifsHeader {
    /// Reads a header; `None` if not even the flags are there, or it is no header.
    pub(crate) fn read(message: &[u8]) -> Option<Self> {
        const NT_STATUS: u16 = 0x4000;
        const UNICODE: u16 = 0x8000;
        let fields = Fields(message);
        if fields.array(0)? != *b"\xFFSMB" {
            return None;
        }
        let flags2 = fields.u16(10)?;
        let status = match fields.u32(5)? {
            0 => 0,
            status if flags2 & NT_STATUS != 0 => status,
            _ => dos_status(fields.u8(5)?, fields.u16(7)?),
        };
        let ids = || {
            Some(CifsIds {
                tree: fields.u16(24)?,
                process: fields.u16(26)?,
                user: fields.u16(28)?,
                multiplex: fields.u16(30)?,
            })
        };
        Some(Self {
            command: fields.u8(4)?,
            status,
            is_answer: fields.u8(9)? & 0x80 != 0,
            is_unicode: flags2 & UNICODE != 0,
            ids: ids(),
        })
    }

    /// Returns the commands of the message, as far as they are there.
    pub(crate) fn parts(&self, message: &[u8]) -> Vec<CifsPart> {
        const NONE: u8 = 0xff;
        let fields = Fields(message);
        let mut parts = vec![CifsPart {
            command: self.command,
            at: WORDS_AT,
        }];
        while let Some(&CifsPart { command, at }) = parts.last()
            && parts.len() < COMMANDS_MAX
        {
            let has_next =
                CHAINED.contains(&command) && fields.u8(at).is_some_and(|words| words >= 2);
            let next = fields.u8(at + 1).zip(fields.u16(at + 3));
            match next.filter(|_| has_next) {
                Some((command, offset)) if command != NONE && usize::from(offset) > at => {
                    let at = usize::from(offset);
                    parts.push(CifsPart { command, at });
                }
                _ => break,
            }
        }
        parts
    }

    /// Returns the text at an offset, which ends with a zero.
    fn text(&self, message: &[u8], at: usize) -> Option<String> {
        let bytes = message.get(at..)?;
        if !self.is_unicode {
            let end = bytes.iter().position(|byte| *byte == 0)?;
            return Some(String::from_utf8_lossy(&bytes[..end]).into_owned());
        }
        // UTF-16 begins at an even offset of the message.
        let bytes = bytes.get(at % 2..)?;
        let end = bytes.chunks_exact(2).position(|pair| pair == [0, 0])?;
        Some(utf16(&bytes[..2 * end]))
    }
}

/// The fields of a request that a trace has.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct CifsRequestFields {
    pub(crate) file: Option<u16>,
    pub(crate) name: Option<String>,
    pub(crate) further: Option<String>,
    pub(crate) offset: Option<u64>,
    pub(crate) length: Option<u64>,
    /// Subcommand of a transaction in the upper half, its information level in the lower.
    pub(crate) level: Option<u32>,
    /// Flags of a WRITE or a LOCK as in SMB2.
    pub(crate) flags: Option<u32>,
    /// The names that a listing asks for at most; ranges of a lock.
    pub(crate) value: Option<u64>,
    /// Pattern of a listing.
    pub(crate) pattern: Option<String>,
    pub(crate) create: Option<CifsCreate>,
}

/// The fields of an NT_CREATE_ANDX (MS-CIFS 2.2.4.64.1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct CifsCreate {
    pub(crate) access: u32,
    pub(crate) attributes: u32,
    pub(crate) share: u32,
    pub(crate) disposition: u32,
    pub(crate) options: u32,
}

/// Returns the offset of a request with its upper half, if it has one.
fn wide(fields: Fields<'_>, low: usize, high: usize, has_high: bool) -> Option<u64> {
    let upper = if has_high { fields.u32(high)? } else { 0 };
    Some(u64::from(upper) << 32 | u64::from(fields.u32(low)?))
}

/// Reads a command of a request.
pub(crate) fn cifs_request(
    header: &ForeignCifsHeader,
    part: CifsPart,
    message: &[u8],
) -> CifsRequestFields {
    let fields = Fields(message);
    // The words begin behind their count.
    let words = part.at + 1;
    let count = usize::from(fields.u8(part.at).unwrap_or(0));
    let bytes = words + 2 * count + 2;
    let mut asked = CifsRequestFields::default();
    match part.command {
        cifs_code::READ_ANDX => {
            asked.file = fields.u16(words + 4);
            asked.offset = wide(fields, words + 6, words + 20, count >= 12);
            let low = fields.u16(words + 10).map(u64::from);
            // MaxCountHigh, or a timeout of -1 (MS-SMB 2.2.4.2.1).
            let high = fields
                .u32(words + 14)
                .filter(|&high| high <= 0xffff)
                .unwrap_or(0);
            asked.length = low.map(|low| u64::from(high) << 16 | low);
        }
        cifs_code::WRITE_ANDX => {
            asked.file = fields.u16(words + 4);
            asked.offset = wide(fields, words + 6, words + 24, count >= 14);
            // WriteMode has write-through where SMB2 has it.
            asked.flags = fields.u16(words + 14).map(|mode| u32::from(mode & 1));
            let high = fields.u16(words + 18).map(u64::from);
            asked.length = high
                .zip(fields.u16(words + 20))
                .map(|(high, low)| high << 16 | u64::from(low));
        }
        cifs_code::CLOSE | cifs_code::FLUSH => asked.file = fields.u16(words),
        cifs_code::LOCKING_ANDX => locking(fields, words, bytes, &mut asked),
        cifs_code::NT_CREATE_ANDX => {
            asked.name = header.text(message, bytes);
            asked.create = nt_create(fields, words);
        }
        // Buffer formats precede the names.
        cifs_code::DELETE
        | cifs_code::CREATE_DIRECTORY
        | cifs_code::DELETE_DIRECTORY
        | cifs_code::CHECK_DIRECTORY => asked.name = header.text(message, bytes + 1),
        cifs_code::RENAME => {
            asked.name = header.text(message, bytes + 1);
            let len = asked
                .name
                .as_deref()
                .map(|name| name.encode_utf16().count());
            asked.further = len.and_then(|len| {
                let at = if header.is_unicode {
                    (bytes + 2) / 2 * 2 + 2 * len + 2
                } else {
                    bytes + 1 + len + 1
                };
                header.text(message, at + 1)
            });
        }
        cifs_code::TREE_CONNECT_ANDX => {
            let password = usize::from(fields.u16(words + 6).unwrap_or(0));
            asked.name = header.text(message, bytes + password);
        }
        cifs_code::TRANSACTION2 => transaction2(header, words, message, &mut asked),
        cifs_code::NT_TRANSACT => asked.level = fields.u16(words + 36).map(u32::from),
        _ => {}
    }
    asked
}

/// Reads the first range of a LOCKING_ANDX, and the number of its ranges (MS-CIFS 2.2.4.32.1).
fn locking(fields: Fields<'_>, words: usize, bytes: usize, asked: &mut CifsRequestFields) {
    const SHARED: u8 = 0x01;
    /// CHANGE_LOCKTYPE and CANCEL_LOCK.
    const OTHER: u8 = 0x0c;
    const LARGE: u8 = 0x10;
    asked.file = fields.u16(words + 4);
    let kind = fields.u8(words + 6).unwrap_or(0);
    let unlocks = fields.u16(words + 12).unwrap_or(0);
    let locks = fields.u16(words + 14).unwrap_or(0);
    let ranges = u64::from(unlocks) + u64::from(locks);
    if ranges == 0 || kind & OTHER != 0 {
        return;
    }
    asked.value = Some(ranges);
    if kind & LARGE != 0 {
        asked.offset = wide(fields, bytes + 8, bytes + 4, true);
        asked.length = wide(fields, bytes + 16, bytes + 12, true);
    } else {
        asked.offset = fields.u32(bytes + 2).map(u64::from);
        asked.length = fields.u32(bytes + 6).map(u64::from);
    }
    let flags = match (unlocks, kind & SHARED) {
        (0, 0) => lock_flags::EXCLUSIVE,
        (0, _) => lock_flags::SHARED,
        _ => lock_flags::UNLOCK,
    };
    let is_at_once = unlocks == 0 && fields.u32(words + 8) == Some(0);
    let at_once = if is_at_once {
        lock_flags::FAIL_IMMEDIATELY
    } else {
        0
    };
    asked.flags = Some(flags | at_once);
}

/// Reads the parameters of a TRANS2 (MS-CIFS 2.2.6).
fn transaction2(
    header: &ForeignCifsHeader,
    words: usize,
    message: &[u8],
    asked: &mut CifsRequestFields,
) {
    let fields = Fields(message);
    let (Some(subcommand), Some(at)) = (fields.u16(words + 28), fields.u16(words + 20)) else {
        return;
    };
    let at = usize::from(at);
    let level = match subcommand {
        trans2::FIND_FIRST2 => {
            asked.value = fields.u16(at + 2).map(u64::from);
            if let Some(name) = header.text(message, at + 12) {
                let (directory, pattern) = name.rsplit_once('\\').unwrap_or(("", &name));
                asked.name = Some(directory.to_owned());
                asked.pattern = Some(pattern.to_owned());
            }
            fields.u16(at + 6)
        }
        trans2::QUERY_FS_INFORMATION => fields.u16(at),
        trans2::QUERY_PATH_INFORMATION | trans2::SET_PATH_INFORMATION => {
            asked.name = header.text(message, at + 6);
            fields.u16(at)
        }
        trans2::QUERY_FILE_INFORMATION | trans2::SET_FILE_INFORMATION => {
            asked.file = fields.u16(at);
            fields.u16(at + 2)
        }
        _ => None,
    };
    asked.level = Some(u32::from(subcommand) << 16 | u32::from(level.unwrap_or(0)));
}

fn nt_create(fields: Fields<'_>, words: usize) -> Option<CifsCreate> {
    Some(CifsCreate {
        access: fields.u32(words + 15)?,
        attributes: fields.u32(words + 27)?,
        share: fields.u32(words + 31)?,
        disposition: fields.u32(words + 35)?,
        options: fields.u32(words + 39)?,
    })
}

/// Returns the security token of a SESSION_SETUP_ANDX (MS-SMB 2.2.4.6.1).
pub(crate) fn cifs_token(part: CifsPart, message: &[u8]) -> Option<&[u8]> {
    let fields = Fields(message);
    if fields.u8(part.at)? != 12 {
        return None;
    }
    let len = usize::from(fields.u16(part.at + 1 + 14)?);
    fields.slice(part.at + 1 + 24 + 2, len)
}

/// Reads what an answer of NT_CREATE_ANDX says of the file: CreateAction, its size, and
/// whether it is a directory (MS-CIFS 2.2.4.64.2).
pub(crate) fn cifs_created(part: CifsPart, message: &[u8]) -> Option<(u32, u64, bool)> {
    let (fields, words) = (Fields(message), part.at + 1);
    if fields.u8(part.at)? < 34 {
        return None;
    }
    let is_directory = fields.u8(words + 67)? != 0;
    Some((
        fields.u32(words + 7)?,
        fields.u64(words + 55)?,
        is_directory,
    ))
}

/// Reads a command of an answer: the file that it opened, the bytes that it moved.
pub(crate) fn cifs_answer(part: CifsPart, message: &[u8]) -> (Option<u16>, Option<u64>) {
    let fields = Fields(message);
    let words = part.at + 1;
    let count = fields.u8(part.at).unwrap_or(0);
    let joined = |low: usize, high: usize| {
        let high = u64::from(fields.u16(words + high)?);
        Some(high << 16 | u64::from(fields.u16(words + low)?))
    };
    match part.command {
        cifs_code::NT_CREATE_ANDX if count >= 34 => (fields.u16(words + 5), None),
        cifs_code::READ_ANDX if count == 12 => (None, joined(10, 14)),
        cifs_code::WRITE_ANDX if count == 6 => (None, joined(4, 8)),
        _ => (None, None),
    }
}

#[cfg(test)]
mod tests;
