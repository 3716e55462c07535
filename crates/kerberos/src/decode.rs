//! The error of every decoder, here and in the SMB client.

use thiserror::Error;

/// A message that does not follow its specification.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
#[error("malformed {what} at byte {offset} of the message")]
pub struct DecodeError {
    /// The field or structure that could not be read.
    pub what: &'static str,
    /// Offset of the wrong field from the start of the decoded slice. It is at
    /// most the slice's length.
    pub offset: usize,
}
