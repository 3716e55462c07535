//! SMB2 FLUSH (MS-SMB2 2.2.17, 2.2.18).

use super::FileId;

/// A request to write the server's cached data of a file to stable storage. The
/// open needs write access (MS-SMB2 3.3.5.11).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlushRequest {
    /// The open to flush.
    pub file_id: FileId,
}

impl FlushRequest {
    /// Appends the body to `out`.
    #[inline]
    pub fn encode(&self, out: &mut Vec<u8>) {
        let mut body = [0u8; 24];
        body[0..2].copy_from_slice(&24u16.to_le_bytes());
        body[8..24].copy_from_slice(&self.file_id.to_bytes());
        out.extend_from_slice(&body);
    }
}
