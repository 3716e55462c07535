//! SMB2 TREE_CONNECT (MS-SMB2 2.2.9, 2.2.10): makes a share usable.

use super::WireName;
use crate::header::HEADER_LEN;
use crate::wire::{DecodeError, Reader};

/// Bytes of a TREE_CONNECT request before its path: header and fixed body.
pub const TREE_CONNECT_REQUEST_FIXED: usize = HEADER_LEN + 8;

/// Asks for a share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TreeConnectRequest<'a> {
    /// The share, as `\\host\share`.
    pub path: &'a WireName,
}

impl TreeConnectRequest<'_> {
    /// Appends the body.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let mut body = [0u8; TREE_CONNECT_REQUEST_FIXED - HEADER_LEN];
        body[0..2].copy_from_slice(&9u16.to_le_bytes());
        body[4..6].copy_from_slice(&(TREE_CONNECT_REQUEST_FIXED as u16).to_le_bytes());
        body[6..8].copy_from_slice(&self.path.wire_len().to_le_bytes());
        out.extend_from_slice(&body);
        out.extend_from_slice(self.path.as_bytes());
    }
}

/// What the share is. Which tree it has become is in the header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TreeConnectResponse {
    /// SMB2_SHARE_TYPE_DISK is 1, pipes 2, printers 3.
    pub share_type: u8,
    /// SMB2_SHAREFLAG bits.
    pub share_flags: u32,
    /// SMB2_SHARE_CAP bits.
    pub capabilities: u32,
    /// What the user may do at most.
    pub maximal_access: u32,
}

impl TreeConnectResponse {
    /// Reads the response in `message`.
    ///
    /// # Errors
    /// When a field is missing.
    pub fn decode(message: &[u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::at(message, HEADER_LEN);
        reader.structure_size(16, "TREE_CONNECT response structure size")?;
        let share_type = reader.u8("TREE_CONNECT share type")?;
        reader.u8("TREE_CONNECT reserved")?;
        Ok(Self {
            share_type,
            share_flags: reader.u32("TREE_CONNECT share flags")?,
            capabilities: reader.u32("TREE_CONNECT capabilities")?,
            maximal_access: reader.u32("TREE_CONNECT maximal access")?,
        })
    }
}
