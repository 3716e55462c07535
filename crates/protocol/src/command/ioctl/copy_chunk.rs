//! Copies inside the server (MS-SMB2 2.2.31.1, 2.2.32.1, 2.2.32.3): one request
//! gets a key for the source, and further requests name the ranges to copy.

use super::encode_fixed;
use crate::FileId;
use crate::wire::{DecodeError, Reader};

/// Largest output of FSCTL_SRV_REQUEST_RESUME_KEY in bytes: the key, and a
/// context that no server sends.
pub const RESUME_KEY_OUTPUT_MAX: u32 = 32;

const CHUNK_LEN: usize = 24;
const RESPONSE_LEN: u32 = 12;

/// A key that identifies an open file to copy from.
/// FSCTL_SRV_REQUEST_RESUME_KEY returns it; that request has no input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ResumeKey(pub [u8; 24]);

impl ResumeKey {
    /// Reads the output of FSCTL_SRV_REQUEST_RESUME_KEY.
    ///
    /// # Errors
    /// Returns an error if the output is too short.
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
    /// Offset of the first byte in the source.
    pub source: u64,
    /// Offset of the first byte in the target.
    pub target: u64,
    /// Length in bytes. A server accepts at least 1 MiB.
    pub length: u32,
}

/// A request to copy ranges into an open file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CopyChunkRequest<'a> {
    /// FSCTL_SRV_COPYCHUNK if the target is also open for reading; otherwise
    /// FSCTL_SRV_COPYCHUNK_WRITE.
    pub code: u32,
    /// The open to copy to.
    pub target: FileId,
    /// The open to copy from.
    pub source: ResumeKey,
    /// The ranges. A server accepts at least 16 ranges and at least 16 MiB in
    /// total.
    pub chunks: &'a [CopyChunk],
}

impl CopyChunkRequest<'_> {
    /// Appends the body to `out`.
    pub fn encode(&self, out: &mut Vec<u8>) {
        // The casts are safe: servers accept at most 256 chunks, and no frame
        // holds 2^32 bytes of them.
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

/// The result of a copy.
///
/// With STATUS_INVALID_PARAMETER the fields hold the server's limits instead
/// (MS-SMB2 2.2.32.1): chunks, bytes per chunk, total bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CopyChunkResponse {
    /// Number of chunks written.
    pub chunks: u32,
    /// Bytes written of the last chunk, if it was only written in part.
    pub chunk_bytes: u32,
    /// Total number of bytes written.
    pub total_bytes: u32,
}

impl CopyChunkResponse {
    /// Reads the output of either code.
    ///
    /// # Errors
    /// Returns an error if the output is too short.
    pub fn decode(output: &[u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(output);
        Ok(Self {
            chunks: reader.u32("chunks written")?,
            chunk_bytes: reader.u32("chunk bytes written")?,
            total_bytes: reader.u32("total bytes written")?,
        })
    }
}
