//! Copies that never leave the server (MS-SMB2 2.2.31.1, 2.2.32.1, 2.2.32.3):
//! a key for the source, then ranges to copy from it.

use super::encode_fixed;
use crate::FileId;
use crate::wire::{DecodeError, Reader};

/// Bytes an answer to FSCTL_SRV_REQUEST_RESUME_KEY may have: the key, and a
/// context that no server sends.
pub const RESUME_KEY_OUTPUT_MAX: u32 = 32;

const CHUNK_LEN: usize = 24;
const RESPONSE_LEN: u32 = 12;

/// Stands for an open file that is copied from. Asked for with
/// FSCTL_SRV_REQUEST_RESUME_KEY and no input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ResumeKey(pub [u8; 24]);

impl ResumeKey {
    /// Reads the output of FSCTL_SRV_REQUEST_RESUME_KEY.
    ///
    /// # Errors
    /// When it is too short.
    pub fn decode(output: &[u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(output);
        let key = Self(reader.array("resume key")?);
        reader.u32("resume key context length")?;
        Ok(key)
    }
}

/// One range to copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CopyChunk {
    /// Its first byte in the source.
    pub source: u64,
    /// Its first byte in the target.
    pub target: u64,
    /// Bytes; a server takes 1 MiB or more.
    pub length: u32,
}

/// Copies ranges into an open file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CopyChunkRequest<'a> {
    /// FSCTL_SRV_COPYCHUNK, where the target is open for reading as well, or
    /// FSCTL_SRV_COPYCHUNK_WRITE.
    pub code: u32,
    /// The open to copy to.
    pub target: FileId,
    /// The open to copy from.
    pub source: ResumeKey,
    /// The ranges; a server takes 16 or more, and 16 MiB or more in all.
    pub chunks: &'a [CopyChunk],
}

impl CopyChunkRequest<'_> {
    /// Appends the body.
    pub fn encode(&self, out: &mut Vec<u8>) {
        // Servers take 256 chunks at most; no frame holds 2^32 bytes of them.
        let count = self.chunks.len() as u32;
        let input_len = 32 + count * CHUNK_LEN as u32;
        encode_fixed(self.code, self.target, input_len, RESPONSE_LEN, out);
        out.extend_from_slice(&self.source.0);
        out.extend_from_slice(&count.to_le_bytes());
        out.extend_from_slice(&[0; 4]);
        for chunk in self.chunks {
            let mut bytes = [0u8; CHUNK_LEN];
            bytes[0..8].copy_from_slice(&chunk.source.to_le_bytes());
            bytes[8..16].copy_from_slice(&chunk.target.to_le_bytes());
            bytes[16..20].copy_from_slice(&chunk.length.to_le_bytes());
            out.extend_from_slice(&bytes);
        }
    }
}

/// What was copied. With STATUS_INVALID_PARAMETER, what the server takes at
/// most (MS-SMB2 2.2.32.1): chunks, bytes per chunk, bytes in all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CopyChunkResponse {
    /// Chunks written.
    pub chunks: u32,
    /// Bytes of the last chunk written, where that was not all of it.
    pub chunk_bytes: u32,
    /// Bytes written in all.
    pub total_bytes: u32,
}

impl CopyChunkResponse {
    /// Reads the output of either code.
    ///
    /// # Errors
    /// When it is too short.
    pub fn decode(output: &[u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(output);
        Ok(Self {
            chunks: reader.u32("chunks written")?,
            chunk_bytes: reader.u32("chunk bytes written")?,
            total_bytes: reader.u32("total bytes written")?,
        })
    }
}
