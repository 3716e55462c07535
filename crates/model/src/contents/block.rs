//! The contents of written data. They identify the writer, the place and the write.
//!
//! A file is a row of 512-byte blocks, aligned in the file. Each block is a pure
//! function of a [`Salt`], a [`Stamp`] and the block's offset. Any part of a file
//! can therefore be made, and any whole block checked, without storing it:
//!
//! ```text
//! word  0      magic
//! word  1      client | file << 32
//! word  2      generation | run << 32
//! word  3      offset of the block in the file
//! word  4      seal: a hash of the salt and of words 0 to 3
//! word  5..61  filling: words of a table of random numbers, from a place in it
//!              that the seal determines, each combined with the seal
//! word 61, 62  words 1 and 2 again
//! word 63      the seal again
//! ```
//!
//! Words are 64 bits, little-endian. Each run has its own salt, and no block
//! contains it. Data of an earlier run at the same place therefore differs from the
//! seal on. A server can neither return it as this run's data, nor find that it
//! already stores the new data.
//!
//! The stamp is at both ends of a block. A block that a read caught halfway through
//! a write can therefore be distinguished from a damaged one ([`check_torn`]). Not
//! here: which stamps may be found where ([`crate::contents::verify`]).
//!
//! Servers see honest work. Two blocks with different stamps or offsets have no
//! more bytes in common than random data, except for the stamps. A server can
//! therefore deduplicate nothing. It can compress only the stamps, which are an
//! eighth of a block. The filling is random numbers under a mask of its own for
//! each block. This costs a fifth of drawing them one by one. A server that knew
//! the table could recognise them, but no server looks for it.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::random::{GOLDEN_GAMMA, draw, finalise};

/// Bytes of a block.
pub const BLOCK_BYTES: usize = 512;

const WORDS: usize = BLOCK_BYTES / 8;
/// Index of the seal, the last word of the header.
const SEAL_WORD: usize = 4;
const HEADER_WORDS: usize = 5;
const TRAILER_WORDS: usize = 3;
/// The first word of the trailer.
const TRAILER: usize = WORDS - TRAILER_WORDS;
const FILLING_WORDS: usize = WORDS - HEADER_WORDS - TRAILER_WORDS;
/// "SMBENCH2", as bytes in the file.
const MAGIC: u64 = u64::from_le_bytes(*b"SMBENCH2");
/// The number of places in the table at which a filling can begin. With this number
/// the table fits into the processor's first-level cache.
const PLACES: usize = 512;
/// Random numbers: outputs of SplitMix64, seeded with the magic.
static TABLE: [u64; PLACES + FILLING_WORDS - 1] = {
    let mut table = [0; PLACES + FILLING_WORDS - 1];
    let mut at = 0;
    while at < table.len() {
        table[at] = draw(MAGIC, at as u64);
        at += 1;
    }
    table
};

/// The writer of a block, and its write.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Stamp {
    /// The client that wrote the block, from 0; 0 for the prepared contents of a
    /// shared file.
    pub client: u32,
    /// The file's index among the client's files, or among the shared files.
    pub file: u32,
    /// The number of the client's write, from 1; 0 for the prepared contents.
    pub generation: u32,
    /// The ledger whose count the generation belongs to, for files that outlive a
    /// load point: 0 for the preparation, then rising.
    pub run: u32,
}

/// A random number that distinguishes the contents of one run from those of any
/// other. It is drawn once per run and is not part of the plan. The plan's seed
/// determines the operations, which are the same in every run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Salt(pub u64);

/// Contents that differ from the written data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Mismatch {
    /// A byte differs from the value that the rest of its block determines.
    #[error("byte {offset} is {found:#04x}, not {expected:#04x}")]
    Byte {
        /// The first wrong byte's offset in the file.
        offset: u64,
        /// The expected byte.
        expected: u8,
        /// The byte found.
        found: u8,
    },
    /// A sound block with another salt. An earlier run stored it, or another run at
    /// the same time.
    #[error("the block at {offset} holds {found}, as another run of smbench wrote it")]
    OtherRun {
        /// The block's offset in the file.
        offset: u64,
        /// The block's stamp, from that run.
        found: Stamp,
    },
    /// A sound block of another client or file, or of a write that was never sent.
    #[error("the block at {offset} holds {found}, which was never written there")]
    Foreign {
        /// The block's offset in the file.
        offset: u64,
        /// The block's stamp.
        found: Stamp,
    },
    /// No data: the file ends before the block, or the block has only zeros.
    #[error("the block at {offset} holds nothing, but generation {oldest} was already stored")]
    Missing {
        /// The block's offset in the file.
        offset: u64,
        /// The oldest generation that the block could hold; 0 is the prepared data.
        oldest: u32,
    },
    /// A sound block that a later write had already replaced.
    #[error("the block at {offset} holds {found}, but generation {oldest} was already stored")]
    Stale {
        /// The block's offset in the file.
        offset: u64,
        /// The oldest generation that the block could hold.
        oldest: u32,
        /// The block's stamp.
        found: Stamp,
    },
    /// A sound block of a write whose connection was lost, over a later one that was stored.
    #[error(
        "the block at {offset} holds {found}, whose connection was lost, but generation {oldest} \
         was already stored"
    )]
    Late {
        /// The block's offset in the file.
        offset: u64,
        /// The oldest generation that the block could hold.
        oldest: u32,
        /// The block's stamp.
        found: Stamp,
    },
}

impl Mismatch {
    /// Returns the offset in the file at which the contents are wrong.
    #[must_use]
    pub const fn offset(&self) -> u64 {
        match self {
            Self::Byte { offset, .. }
            | Self::OtherRun { offset, .. }
            | Self::Foreign { offset, .. }
            | Self::Missing { offset, .. }
            | Self::Stale { offset, .. }
            | Self::Late { offset, .. } => *offset,
        }
    }
}

impl fmt::Display for Stamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "generation {} (run {}) of client {}, file {}",
            self.generation, self.run, self.client, self.file
        )
    }
}

/// Appends the `length` bytes that `stamp` writes at `file_offset` in the run of
/// `salt`. Length and offset need not be aligned. A block that is covered in part
/// is cut out of the whole block.
pub fn append(out: &mut Vec<u8>, length: usize, file_offset: u64, stamp: Stamp, salt: Salt) {
    let ink = Ink::of(stamp, salt);
    let mut within = (file_offset % BLOCK_BYTES as u64) as usize;
    let mut offset = file_offset - within as u64;
    let mut missing = length;
    out.reserve(length);
    while missing > 0 {
        let block = ink.block(offset);
        match &block[within..] {
            whole if within == 0 && whole.len() <= missing => out.extend_from_slice(&block),
            part => out.extend_from_slice(&part[..part.len().min(missing)]),
        }
        missing -= missing.min(BLOCK_BYTES - within);
        offset += BLOCK_BYTES as u64;
        within = 0;
    }
}

/// Checks one block, read from `file_offset` (a multiple of 512), against its own
/// header. Every byte must be what the block's stamp wrote there in the run of
/// `salt`.
///
/// # Errors
/// The first wrong byte, or that the whole block is of another run.
pub fn check(found: &[u8; BLOCK_BYTES], file_offset: u64, salt: Salt) -> Result<Stamp, Mismatch> {
    let stamp = stamp_at(found, 1);
    let ink = Ink::of(stamp, salt);
    let expected = ink.block(file_offset);
    if *found == expected {
        return Ok(stamp);
    }
    if *found == ink.sealed(file_offset, word_at(found, SEAL_WORD)) {
        return Err(Mismatch::OtherRun {
            offset: file_offset,
            found: stamp,
        });
    }
    let at = first_difference(found, &expected);
    // If the header contradicts its seal, its stamp cannot be trusted, and neither
    // can anything expected from it. `at` is then in the seal.
    Err(Mismatch::Byte {
        offset: file_offset + at as u64,
        expected: expected[at],
        found: found[at],
    })
}

/// Bytes at the start of a block that show who wrote it: the header, and the first
/// word of the filling, which the seal determines.
const SIGN_BYTES: usize = (HEADER_WORDS + 1) * 8;

/// Returns whether `data`, read from the start of a file, is of smbench, in any run.
/// One block that begins as smbench writes it is enough. A file shorter than that is
/// compared as far as it goes.
#[must_use]
pub fn is_of_smbench(data: &[u8]) -> bool {
    if data.len() < size_of::<u64>() {
        return false;
    }
    let offsets = (0..).step_by(BLOCK_BYTES);
    data.chunks(BLOCK_BYTES).zip(offsets).any(|(part, offset)| {
        let mut found = [0; BLOCK_BYTES];
        found[..part.len()].copy_from_slice(part);
        let ink = Ink::of(stamp_at(&found, 1), Salt(0));
        let ours = ink.sealed(offset, word_at(&found, SEAL_WORD));
        let compared = part.len().min(SIGN_BYTES);
        (compared == SIGN_BYTES || offset == 0) && part[..compared] == ours[..compared]
    })
}

/// The writers of the two parts of a torn block, which a read caught halfway
/// through a write.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tear {
    /// The writer of the first part. `None` if the tear lies in the header, so that
    /// the first part has no whole stamp.
    pub front: Option<Stamp>,
    /// The writer of the second part. `None` if the tear lies in the trailer.
    pub back: Option<Stamp>,
}

/// Checks whether a block that [`check`] refused is torn: a read caught it halfway
/// through a write. Up to some byte it is what one stamp wrote, and from there to
/// its end what another stamp wrote.
///
/// No file server promises that a read sees all or nothing of a concurrent write to
/// the same bytes. Linux's page cache does not provide it. Two tears in one block
/// are not recognised.
#[must_use]
pub fn check_torn(found: &[u8; BLOCK_BYTES], file_offset: u64, salt: Salt) -> Option<Tear> {
    let (front, back) = (stamp_at(found, 1), stamp_at(found, TRAILER));
    let ahead = block(file_offset, front, salt);
    let behind = block(file_offset, back, salt);
    let (header, trailer) = (HEADER_WORDS * 8, TRAILER * 8);
    let tear = first_difference(found, &ahead);
    // The header and the last seal are whole, each with its own stamp.
    if (header..(WORDS - 1) * 8).contains(&tear) && found[tear..] == behind[tear..] {
        let (front, back) = (Some(front), Some(back));
        return Some(Tear { front, back });
    }
    // All but the header, or all but the trailer, has one stamp.
    let is_here = [0, SEAL_WORD - 1].map(|word| word_at(found, word)) == [MAGIC, file_offset];
    if is_here && found[header..] == behind[header..] {
        let back = Some(back);
        return Some(Tear { front: None, back });
    }
    (tear >= trailer).then_some(Tear {
        front: Some(front),
        back: None,
    })
}

fn first_difference(one: &[u8; BLOCK_BYTES], other: &[u8; BLOCK_BYTES]) -> usize {
    let pairs = one.iter().zip(other);
    pairs.take_while(|(a, b)| a == b).count()
}

/// Returns the stamp in words `word` and `word + 1`, which may be damaged.
fn stamp_at(block: &[u8; BLOCK_BYTES], word: usize) -> Stamp {
    let (halves, _) = block.as_chunks::<4>();
    let half = |index: usize| u32::from_le_bytes(halves[index]);
    Stamp {
        client: half(2 * word),
        file: half(2 * word + 1),
        generation: half(2 * word + 2),
        run: half(2 * word + 3),
    }
}

fn word_at(block: &[u8; BLOCK_BYTES], word: usize) -> u64 {
    let (words, _) = block.as_chunks::<8>();
    u64::from_le_bytes(words[word])
}

fn block(file_offset: u64, stamp: Stamp, salt: Salt) -> [u8; BLOCK_BYTES] {
    Ink::of(stamp, salt).block(file_offset)
}

/// The values that all blocks of one stamp and salt share.
#[derive(Clone, Copy)]
struct Ink {
    owner: u64,
    version: u64,
    /// A hash of the salt and of words 0 to 2.
    root: u64,
}

impl Ink {
    const fn of(stamp: Stamp, Salt(salt): Salt) -> Self {
        let owner = stamp.client as u64 | (stamp.file as u64) << 32;
        let version = stamp.generation as u64 | (stamp.run as u64) << 32;
        Self {
            owner,
            version,
            root: mix(mix(MAGIC ^ salt ^ owner) ^ version),
        }
    }

    #[inline]
    fn block(self, file_offset: u64) -> [u8; BLOCK_BYTES] {
        self.sealed(file_offset, mix(self.root ^ file_offset))
    }

    /// Returns the block with this seal.
    #[inline]
    fn sealed(self, file_offset: u64, seal: u64) -> [u8; BLOCK_BYTES] {
        let Self { owner, version, .. } = self;
        let mut block = [0; BLOCK_BYTES];
        let (words, _) = block.as_chunks_mut::<8>();
        let header = [MAGIC, owner, version, file_offset, seal];
        for (word, value) in words[..HEADER_WORDS].iter_mut().zip(header) {
            *word = value.to_le_bytes();
        }
        let place = seal as usize % PLACES;
        let filling = &TABLE[place..place + FILLING_WORDS];
        let room = &mut words[HEADER_WORDS..WORDS - TRAILER_WORDS];
        for (word, random) in room.iter_mut().zip(filling) {
            *word = (random ^ seal).to_le_bytes();
        }
        let trailer = [owner, version, seal];
        for (word, value) in words[WORDS - TRAILER_WORDS..].iter_mut().zip(trailer) {
            *word = value.to_le_bytes();
        }
        block
    }
}

/// Hashes a word for the seal, with the finaliser of SplitMix64. Every bit of the
/// input affects every bit of the output.
const fn mix(word: u64) -> u64 {
    finalise(word.wrapping_add(GOLDEN_GAMMA))
}

#[cfg(test)]
mod tests;
