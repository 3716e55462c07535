//! SMB2 LOGOFF, TREE_DISCONNECT, ECHO and CANCEL (MS-SMB2 2.2.7, 2.2.8, 2.2.11,
//! 2.2.12, 2.2.28 to 2.2.30).
//!
//! Their requests and responses consist of the structure size only. CANCEL has
//! no response.

use crate::header::HEADER_LEN;
use crate::wire::{DecodeError, Reader};

/// The body of each of these requests.
pub const EMPTY_BODY: [u8; 4] = [4, 0, 0, 0];

/// A successful response to LOGOFF, TREE_DISCONNECT or ECHO.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EmptyResponse;

impl EmptyResponse {
    /// Checks the response in `message`.
    ///
    /// # Errors
    /// Returns an error if a field is missing or wrong.
    #[inline]
    pub fn decode(message: &[u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::at(message, HEADER_LEN);
        reader.structure_size(4, "response structure size")?;
        reader.u16("response reserved")?;
        Ok(Self)
    }
}
