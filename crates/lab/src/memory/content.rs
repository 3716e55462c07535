//! The bytes of one file.
//!
//! Content is kept in chunks of at most [`CHUNK_BYTES`], so growing a file never
//! moves existing bytes. A chunk stores only the bytes up to its last written one.
//! So a hole needs no memory until data is written after it in the same chunk.
//!
//! Invariant: no chunk stores a byte at or beyond the length of the file. So
//! bytes that are not stored read as zero.
//!
//! Not here: locking and space accounting, which the caller does.

use smb_server::{SmbError, SmbResult};

/// Size of a full chunk in bytes. It is large enough that the largest transfer
/// touches few chunks, and small enough that reallocation is cheap.
pub(super) const CHUNK_BYTES: usize = 256 * 1024;

/// The bytes of one file.
#[derive(Debug, Default)]
pub(super) struct Content {
    chunks: Vec<Vec<u8>>,
    pub(super) len_bytes: u64,
}

impl Content {
    /// Reads up to `len` bytes from `offset`, fewer at the end of the file.
    pub(super) fn read(&self, offset: u64, len: usize) -> Vec<u8> {
        let available = self.len_bytes.saturating_sub(offset);
        let mut left = usize::try_from(available).map_or(len, |bytes| bytes.min(len));
        let mut out = Vec::with_capacity(left);
        let (mut chunk, mut at) = position(offset);
        while left > 0 {
            let take = left.min(CHUNK_BYTES - at);
            let stored = self.chunks.get(chunk).and_then(|bytes| bytes.get(at..));
            let stored = stored.unwrap_or_default();
            let stored = &stored[..take.min(stored.len())];
            out.extend_from_slice(stored);
            out.resize(out.len() + take - stored.len(), 0);
            left -= take;
            chunk += 1;
            at = 0;
        }
        out
    }

    /// Stores `data` at `offset`, and grows the file if necessary.
    ///
    /// Fails with [`SmbError::DiskFull`] without a change if the chunk index
    /// cannot reach that offset.
    pub(super) fn write(&mut self, offset: u64, data: &[u8]) -> SmbResult<()> {
        if data.is_empty() {
            return Ok(());
        }
        let end = end_of(offset, data.len())?;
        let (last, _) = position(end - 1);
        if let Some(missing) = (last + 1).checked_sub(self.chunks.len()) {
            self.chunks
                .try_reserve(missing)
                .map_err(|_| SmbError::DiskFull)?;
            self.chunks.resize_with(last + 1, Vec::new);
        }
        let (first, mut at) = position(offset);
        let mut rest = data;
        for chunk in &mut self.chunks[first..=last] {
            let (part, after) = rest.split_at(rest.len().min(CHUNK_BYTES - at));
            put(chunk, at, part);
            rest = after;
            at = 0;
        }
        self.len_bytes = self.len_bytes.max(end);
        Ok(())
    }

    /// Cuts the file to `len_bytes`, or extends it with zeros.
    pub(super) fn set_len(&mut self, len_bytes: u64) {
        if len_bytes < self.len_bytes {
            let (chunk, at) = position(len_bytes);
            self.chunks.truncate(chunk + usize::from(at > 0));
            if let Some(last) = self.chunks.get_mut(chunk) {
                last.truncate(at);
            }
        }
        self.len_bytes = len_bytes;
    }
}

/// Returns the end of `len` bytes at `offset`.
pub(super) fn end_of(offset: u64, len: usize) -> SmbResult<u64> {
    offset.checked_add(len as u64).ok_or(SmbError::DiskFull)
}

/// Returns the chunk that holds `offset`, and the offset in that chunk.
fn position(offset: u64) -> (usize, usize) {
    let chunk_bytes = CHUNK_BYTES as u64;
    let chunk = usize::try_from(offset / chunk_bytes).unwrap_or(usize::MAX - 1);
    (chunk, (offset % chunk_bytes) as usize)
}

/// Stores `data` at `at` of one chunk. Only a gap before it is filled with zeros.
fn put(chunk: &mut Vec<u8>, at: usize, data: &[u8]) {
    let end = at + data.len();
    if end > chunk.capacity() {
        let wanted = end.max(2 * chunk.capacity()).min(CHUNK_BYTES);
        chunk.reserve_exact(wanted - chunk.len());
    }
    if chunk.len() < at {
        chunk.resize(at, 0);
    }
    let (over, beyond) = data.split_at(data.len().min(chunk.len() - at));
    chunk[at..at + over.len()].copy_from_slice(over);
    chunk.extend_from_slice(beyond);
}

#[cfg(test)]
mod tests {
    use super::{CHUNK_BYTES, Content};

    /// A simple file with the same calls, to compare with.
    #[derive(Default)]
    struct Flat(Vec<u8>);

    impl Flat {
        fn write(&mut self, offset: usize, data: &[u8]) {
            let end = offset + data.len();
            if self.0.len() < end {
                self.0.resize(end, 0);
            }
            self.0[offset..end].copy_from_slice(data);
        }
    }

    /// A small deterministic random generator (xorshift64).
    fn next(state: &mut u64) -> usize {
        *state ^= *state << 13;
        *state ^= *state >> 7;
        *state ^= *state << 17;
        (*state >> 8) as usize
    }

    #[test]
    fn agrees_with_a_flat_file_over_random_calls() {
        let mut seed = 0x5eed_cafe_f00d_0001;
        let (mut content, mut flat) = (Content::default(), Flat::default());
        let span = 3 * CHUNK_BYTES;
        for step in 0..2000 {
            let offset = next(&mut seed) % span;
            let len = next(&mut seed) % (CHUNK_BYTES + 4096);
            match next(&mut seed) % 8 {
                0 => {
                    content.set_len(offset as u64);
                    flat.0.resize(offset, 0);
                }
                1..=3 => {
                    let data = vec![(step % 251) as u8 + 1; len % 9000];
                    content.write(offset as u64, &data).unwrap();
                    if !data.is_empty() {
                        flat.write(offset, &data);
                    }
                }
                _ => {
                    let end = flat.0.len().min(offset + len);
                    let expected = flat.0.get(offset..end).unwrap_or_default();
                    assert_eq!(content.read(offset as u64, len), expected, "step {step}");
                }
            }
            assert_eq!(content.len_bytes, flat.0.len() as u64);
        }
        assert_eq!(content.read(0, usize::MAX), flat.0);
    }

    #[test]
    fn a_hole_costs_no_memory_and_reads_as_zeros() {
        let mut content = Content::default();
        content.set_len(1 << 40);
        assert!(content.chunks.is_empty());
        assert_eq!(content.read((1 << 40) - 3, 10), [0; 3]);
        content.write(CHUNK_BYTES as u64 * 5 + 2, b"x").unwrap();
        assert_eq!(content.chunks.iter().map(Vec::len).sum::<usize>(), 3);
    }

    #[test]
    fn cut_bytes_do_not_come_back() {
        let mut content = Content::default();
        content.write(0, b"secret").unwrap();
        content.set_len(2);
        content.set_len(6);
        assert_eq!(content.read(0, 6), b"se\0\0\0\0");
    }

    #[test]
    fn an_unreachable_offset_is_a_full_disk() {
        let mut content = Content::default();
        for offset in [u64::MAX, u64::MAX - 1, 1 << 62] {
            content.write(offset, b"xy").unwrap_err();
            assert_eq!(content.len_bytes, 0);
            assert!(content.chunks.is_empty());
        }
    }
}
