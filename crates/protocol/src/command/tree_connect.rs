//! SMB2 TREE_CONNECT (MS-SMB2 2.2.9, 2.2.10): makes a share usable.

use super::WireName;
use crate::header::HEADER_LEN;
use crate::wire::{DecodeError, Reader};

/// Length of a TREE_CONNECT request before its path: header and fixed body, in
/// bytes.
pub const TREE_CONNECT_REQUEST_FIXED: usize = HEADER_LEN + 8;

/// A request to connect to a share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TreeConnectRequest<'a> {
    /// The share, as `\\host\share`.
    pub path: &'a WireName,
}

impl TreeConnectRequest<'_> {
    /// Appends the body to `out`.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let mut body = [0u8; TREE_CONNECT_REQUEST_FIXED - HEADER_LEN];
        body[0..2].copy_from_slice(&9u16.to_le_bytes());
        body[4..6].copy_from_slice(&(TREE_CONNECT_REQUEST_FIXED as u16).to_le_bytes());
        body[6..8].copy_from_slice(&self.path.wire_len().to_le_bytes());
        out.extend_from_slice(&body);
        out.extend_from_slice(self.path.as_bytes());
    }
}

/// The properties of a connected share. The header has the tree's id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TreeConnectResponse {
    /// The share's type: SMB2_SHARE_TYPE_DISK is 1, pipes 2, printers 3.
    pub share_type: u8,
    /// SMB2_SHAREFLAG bits.
    pub share_flags: u32,
    /// SMB2_SHARE_CAP bits.
    pub capabilities: u32,
    /// The user's largest possible access rights.
    pub maximal_access: u32,
}

impl TreeConnectResponse {
    /// Reads the response in `message`.
    ///
    /// # Errors
    /// Returns an error if a field is missing.
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
