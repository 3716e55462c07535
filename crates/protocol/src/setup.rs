//! Encodes and decodes the bodies of the set-up commands with smb-rs's message
//! crates.
//!
//! These commands are never sent while measuring, so this code may allocate.
//! The encoders of smb-rs write offsets that count from the SMB2 header. So the
//! body is written after a gap of the header's size.
//!
//! The differential tests found these faults in `smb-msg`, so callers take care:
//!
//! - Responses are parsed by their shape, so check the status first.
//! - CREATE responses with oplock levels above 2 do not parse. Nor do empty READ
//!   responses.
//! - Unknown NTSTATUS values are errors.
//! - The create context `DHnC` has a wrong name, V2 leases are read as V1, and a
//!   context without data spoils those behind it.
//! - Oplock breaks have a wrong size, and SMB2_REOPEN has a wrong bit.
//!
//! The measured commands have codecs of their own in [`crate::command`].

use std::io::Cursor;

use binrw::{BinRead, BinWrite, Endian};

use crate::header::HEADER_LEN;
use crate::wire::DecodeError;

/// Appends `body` to `out`.
pub(crate) fn encode<T>(body: &T, out: &mut Vec<u8>)
where
    T: for<'a> BinWrite<Args<'a> = ()>,
{
    let mut cursor = Cursor::new(vec![0; HEADER_LEN]);
    cursor.set_position(HEADER_LEN as u64);
    body.write_options(&mut cursor, Endian::Little, ())
        .unwrap_or_else(|error| unreachable!("our own requests encode: {error}"));
    out.extend_from_slice(&cursor.get_ref()[HEADER_LEN..]);
}

/// Reads the body that follows the header of `message`.
pub(crate) fn decode<T>(message: &[u8], what: &'static str) -> Result<T, DecodeError>
where
    T: for<'a> BinRead<Args<'a> = ()>,
{
    let mut cursor = Cursor::new(message);
    cursor.set_position(HEADER_LEN as u64);
    T::read_options(&mut cursor, Endian::Little, ()).map_err(|_| DecodeError {
        what,
        offset: usize::try_from(cursor.position())
            .unwrap_or(message.len())
            .min(message.len()),
    })
}
