//! What writes carry: contents that say who wrote them, where and when.
//!
//! A file is a row of 512-byte blocks, aligned in the file. Each block is a
//! pure function of a [`Salt`], a [`Stamp`] and the block's offset, so that any
//! part of a file can be made, and any whole block judged, without remembering
//! it:
//!
//! ```text
//! word  0      magic
//! word  1      client | file << 32
//! word  2      generation | run << 32
//! word  3      offset of the block in the file
//! word  4      seal: a hash of the salt and of words 0 to 3
//! word  5..61  filling: words of a table of random numbers, from the place in
//!              it that the seal says, each combined with the seal
//! word 61, 62  words 1 and 2 again
//! word 63      the seal again
//! ```
//!
//! Words are 64 bits, little-endian. The salt is the run's and stands nowhere: what
//! an earlier run wrote in the same place has other bytes from the seal on, so a
//! server can neither pass that off for what this one wrote, nor find that it has
//! stored it before. The stamp stands at both ends so that a
//! block which a read caught halfway through a write can be told from one that
//! is damaged ([`check_torn`]). Which stamps may be found where is
//! [`crate::verify`]'s business.
//!
//! What servers see is honest work: no two blocks of different stamps or offsets
//! have a sequence of bytes in common beyond what chance gives random data,
//! stamps aside, so that nothing is deduplicated, and nothing compressed but the
//! eighth of a block that is stamp. The filling is random numbers under a mask of
//! its own for each block, which costs a fifth of drawing them one by one; who
//! knows the table could tell them apart, but no server looks for it.

use std::fmt;

use crate::random::{GOLDEN_GAMMA, draw, finalise};

/// Bytes of a block.
pub const BLOCK_BYTES: usize = 512;

const WORDS: usize = BLOCK_BYTES / 8;
/// Of the header, its last.
const SEAL_WORD: usize = 4;
const HEADER_WORDS: usize = 5;
const TRAILER_WORDS: usize = 3;
/// The first word of the trailer.
const TRAILER: usize = WORDS - TRAILER_WORDS;
const FILLING_WORDS: usize = WORDS - HEADER_WORDS - TRAILER_WORDS;
/// "SMBENCH2", as bytes in the file.
const MAGIC: u64 = u64::from_le_bytes(*b"SMBENCH2");
/// Places in the table where a filling can begin: as many as leave the table in
/// the processor's first cache.
const PLACES: usize = 512;
/// Outputs of SplitMix64, seeded with the magic.
static TABLE: [u64; PLACES + FILLING_WORDS - 1] = {
    let mut table = [0; PLACES + FILLING_WORDS - 1];
    let mut at = 0;
    while at < table.len() {
        table[at] = draw(MAGIC, at as u64);
        at += 1;
    }
    table
};

/// Who wrote a block, and when.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Stamp {
    /// The client that wrote it, from 0; for the prepared contents of a shared
    /// file, 0.
    pub client: u32,
    /// The file's index among the client's files, or among the shared ones.
    pub file: u32,
    /// Which of the client's writes: rising from 1; 0 is what the file was
    /// prepared with.
    pub generation: u32,
    /// Which ledger's count the generation belongs to, for files that outlive
    /// a load point: 0 for the preparation, then rising.
    pub run: u32,
}

/// What tells the contents of one run from those of any other: a random number,
/// drawn once per run. Not part of the plan, whose seed says which operations there
/// are, the same ones each time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Salt(pub u64);

/// Contents that are not what was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Mismatch {
    /// A byte differs from what the rest of its block says it should be.
    #[error("byte {offset} is {found:#04x}, not {expected:#04x}")]
    Byte {
        /// The first wrong byte's offset in the file.
        offset: u64,
        /// What it should be.
        expected: u8,
        /// What it is.
        found: u8,
    },
    /// A sound block, but of another salt: stored by an earlier run, or by another
    /// one beside this.
    #[error("the block at {offset} holds {found}, as another run of smbench wrote it")]
    OtherRun {
        /// The block's offset in the file.
        offset: u64,
        /// Whose it is, in that run.
        found: Stamp,
    },
    /// A sound block, but of another client or file, or not yet written.
    #[error("the block at {offset} holds {found}, which was never written there")]
    Foreign {
        /// The block's offset in the file.
        offset: u64,
        /// Whose it is.
        found: Stamp,
    },
    /// A sound block that a later write had already replaced.
    #[error("the block at {offset} holds {found}, but generation {oldest} was already stored")]
    Stale {
        /// The block's offset in the file.
        offset: u64,
        /// The oldest generation it could hold.
        oldest: u32,
        /// What it holds.
        found: Stamp,
    },
}

impl Mismatch {
    /// Where in the file the contents are wrong.
    #[must_use]
    pub const fn offset(&self) -> u64 {
        match self {
            Self::Byte { offset, .. }
            | Self::OtherRun { offset, .. }
            | Self::Foreign { offset, .. }
            | Self::Stale { offset, .. } => *offset,
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
/// `salt`. Neither needs to be aligned: a block that is covered in part is cut out
/// of the whole one.
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

/// Judges one block, read from `file_offset` (a multiple of 512), by its own
/// header: every byte must be what its stamp wrote there in the run of `salt`.
///
/// # Errors
/// The first byte that is not, or that all are of another run.
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
    // When the header contradicts its seal, the stamp in it cannot be trusted,
    // and neither can anything expected from it; `at` is then the seal.
    Err(Mismatch::Byte {
        offset: file_offset + at as u64,
        expected: expected[at],
        found: found[at],
    })
}

/// Whose the two parts of a block are that a read caught halfway through a write.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tear {
    /// Who wrote the block up to some byte; `None` where that lies in the header,
    /// so that the front cannot say.
    pub front: Option<Stamp>,
    /// Who wrote it from there on; `None` where that lies in the trailer.
    pub back: Option<Stamp>,
}

/// Judges one block that [`check`] refused, as one that a read caught halfway
/// through a write: up to some byte it is what one stamp wrote, and from there
/// to its end what another did.
///
/// No file server promises that a read sees all or nothing of a concurrent
/// write to the same bytes, and Linux's page cache does not provide it. Two tears
/// in one block are not recognised.
#[must_use]
pub fn check_torn(found: &[u8; BLOCK_BYTES], file_offset: u64, salt: Salt) -> Option<Tear> {
    let (front, back) = (stamp_at(found, 1), stamp_at(found, TRAILER));
    let ahead = block(file_offset, front, salt);
    let behind = block(file_offset, back, salt);
    let (header, trailer) = (HEADER_WORDS * 8, TRAILER * 8);
    let tear = first_difference(found, &ahead);
    // The header and the last seal are whole, each of its own stamp.
    if (header..(WORDS - 1) * 8).contains(&tear) && found[tear..] == behind[tear..] {
        let (front, back) = (Some(front), Some(back));
        return Some(Tear { front, back });
    }
    // All but the header, or all but the trailer, is of one stamp.
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

/// The stamp in words `word` and `word + 1`, whatever it is worth.
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

/// What all blocks of one stamp and salt have in common.
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

    /// The block that this seal makes.
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

/// The finaliser of SplitMix64, for the seal: every bit of the input moves
/// every bit of the output.
const fn mix(word: u64) -> u64 {
    finalise(word.wrapping_add(GOLDEN_GAMMA))
}

#[cfg(test)]
mod tests;
