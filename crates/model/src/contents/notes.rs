//! Notes on answered writes and flushes, as bytes. They are kept outside the share, so that
//! the data on it can be judged after a crash.
//!
//! ```text
//! head   "SMBNOTE1", the length of a JSON text, the text, its seal
//! page   5 words: magic, population | run << 32, worker | notes << 32, notes lost, seal
//!        then 5 words for each note
//! end    5 words as of a page without notes, with a magic of its own
//! ```
//!
//! Words are 64 bits, little-endian. The seal of a page covers its first words and its notes.
//! A page that is cut or has a wrong seal ends the notes: what follows was written while the
//! program was killed. Not here: what follows from the notes ([`super::after`]).

mod reader;

use std::io;

use serde::{Deserialize, Serialize};

use crate::Nanos;
use crate::contents::block::Salt;
use crate::files::{FileSet, Layout, Scope};
use crate::random::finalise;

pub use reader::{NotePage, NotesEnd, NotesError, NotesReader};

/// The first bytes of all notes.
const MAGIC: [u8; 8] = *b"SMBNOTE1";
const PAGE: u64 = u64::from_le_bytes(*b"NOTEPAGE");
const END: u64 = u64::from_le_bytes(*b"NOTESEND");
/// The most notes in a page.
pub const PAGE_NOTES_MAX: usize = 4096;
/// Words of a note, and of the start of a page.
const WORDS: usize = 5;
/// Number of bits of a length. The bits above have the outcome.
const LENGTH_BITS: u32 = 30;

/// A note as words.
pub type NoteWords = [u64; WORDS];

/// A request of which a client got an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AnswerNote {
    /// The client that sent it.
    pub client: u32,
    /// The file's index, as in a [`Stamp`](super::block::Stamp).
    pub file: u32,
    /// Generation of a write. Of a flush, that of the client's last write before it opened the
    /// file: the flush is of later ones only.
    pub generation: u32,
    /// What the answer says.
    pub outcome: NoteOutcome,
    /// First byte of a write.
    pub offset: u64,
    /// Bytes of a write.
    pub length: u32,
    /// An instant before the request was sent.
    pub sent: Nanos,
    /// An instant after the answer was received.
    pub done: Nanos,
}

/// What the answer to a request says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoteOutcome {
    /// A write was carried out.
    Stored,
    /// A write was carried out, and asked for write-through.
    WrittenThrough,
    /// A write was refused, or stored fewer bytes. Its blocks may or may not hold it.
    Refused,
    /// A flush was carried out.
    Flushed,
}

impl AnswerNote {
    /// Returns the note as words.
    #[must_use]
    #[inline]
    pub const fn words(&self) -> NoteWords {
        let outcome = match self.outcome {
            NoteOutcome::Stored => 0,
            NoteOutcome::WrittenThrough => 1,
            NoteOutcome::Refused => 2,
            NoteOutcome::Flushed => 3,
        };
        let length = self.length & ((1 << LENGTH_BITS) - 1) | outcome << LENGTH_BITS;
        [
            self.client as u64 | (self.file as u64) << 32,
            self.generation as u64 | (length as u64) << 32,
            self.offset,
            self.sent.0,
            self.done.0,
        ]
    }

    /// Returns the note of these words.
    #[must_use]
    pub const fn of_words(words: NoteWords) -> Self {
        let [owner, written, offset, sent, done] = words;
        let length = (written >> 32) as u32;
        Self {
            client: owner as u32,
            file: (owner >> 32) as u32,
            generation: written as u32,
            outcome: match length >> LENGTH_BITS {
                0 => NoteOutcome::Stored,
                1 => NoteOutcome::WrittenThrough,
                2 => NoteOutcome::Refused,
                _ => NoteOutcome::Flushed,
            },
            offset,
            length: length & ((1 << LENGTH_BITS) - 1),
            sent: Nanos(sent),
            done: Nanos(done),
        }
    }
}

/// The run that the notes are of.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NotesHead {
    /// The release that wrote them.
    pub smbench: String,
    /// The target without secrets.
    pub url: String,
    /// The name of the share.
    pub share: String,
    /// The path of the target on the share.
    pub path: String,
    /// The start of the run, as RFC 3339.
    pub started: String,
    /// The populations, in the order of the plan.
    pub populations: Vec<NotedPopulation>,
}

/// The files of a population.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NotedPopulation {
    /// The directory of the files, from the share's root.
    pub directory: String,
    /// The salt of their contents.
    pub salt: Salt,
    /// Whether each client has files of its own.
    pub scope: Scope,
    /// Files per client, or in total when shared.
    pub files: u32,
    /// Bytes of each file.
    pub file_bytes: u64,
    /// Whether the clients send flushes.
    pub flushes: bool,
}

impl NotedPopulation {
    /// Returns the files.
    #[must_use]
    pub const fn file_set(&self) -> FileSet {
        FileSet {
            scope: self.scope,
            count: self.files,
            size: self.file_bytes,
            layout: Layout::Flat,
        }
    }
}

/// The source of the notes of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoteSource {
    /// Index of the population.
    pub population: u32,
    /// Number that the stamps of the load point have.
    pub run: u32,
    /// Number of the worker.
    pub worker: u32,
}

/// Appends the head.
pub fn append_head(head: &NotesHead, out: &mut Vec<u8>) -> io::Result<()> {
    let json = serde_json::to_vec(head)?;
    out.extend_from_slice(&MAGIC);
    out.extend_from_slice(&(json.len() as u64).to_le_bytes());
    out.extend_from_slice(&json);
    out.extend_from_slice(&seal_of_text(&json).to_le_bytes());
    Ok(())
}

/// Appends a page. `lost` is the number of notes that its worker could not hand in so far.
pub fn append_page(source: NoteSource, lost: u64, notes: &[NoteWords], out: &mut Vec<u8>) {
    append(PAGE, source, lost, notes, out);
}

/// Appends the end, which has the number of notes lost in all.
pub fn append_end(lost: u64, out: &mut Vec<u8>) {
    let source = NoteSource {
        population: 0,
        run: 0,
        worker: 0,
    };
    append(END, source, lost, &[], out);
}

fn append(magic: u64, source: NoteSource, lost: u64, notes: &[NoteWords], out: &mut Vec<u8>) {
    let NoteSource {
        population,
        run,
        worker,
    } = source;
    let first = [
        magic,
        u64::from(population) | u64::from(run) << 32,
        u64::from(worker) | (notes.len() as u64) << 32,
        lost,
    ];
    let seal = seal(first.iter().chain(notes.iter().flatten()));
    for word in first.iter().chain([&seal]).chain(notes.iter().flatten()) {
        out.extend_from_slice(&word.to_le_bytes());
    }
}

fn seal<'a>(words: impl Iterator<Item = &'a u64>) -> u64 {
    words.fold(PAGE, |seal, word| finalise(seal ^ word))
}

fn seal_of_text(text: &[u8]) -> u64 {
    text.iter()
        .fold(PAGE, |seal, byte| finalise(seal ^ u64::from(*byte)))
}

#[cfg(test)]
mod tests;
