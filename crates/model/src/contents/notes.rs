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

use std::io::{self, ErrorKind, Read};

use serde::{Deserialize, Serialize};

use crate::Nanos;
use crate::contents::block::Salt;
use crate::files::{FileSet, Layout, Scope};
use crate::random::finalise;

/// The first bytes of all notes.
const MAGIC: [u8; 8] = *b"SMBNOTE1";
const PAGE: u64 = u64::from_le_bytes(*b"NOTEPAGE");
const END: u64 = u64::from_le_bytes(*b"NOTESEND");
/// The largest head, far larger than that of any run.
const HEAD_BYTES_MAX: u64 = 1 << 20;
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
pub struct Note {
    /// The client that sent it.
    pub client: u32,
    /// The file's index, as in a [`Stamp`](super::block::Stamp).
    pub file: u32,
    /// Generation of a write.
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

impl Note {
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

/// Reason why notes cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum NotesError {
    /// There are no bytes at all.
    #[error("it is empty: the run had not begun")]
    Empty,
    /// The bytes are of something else.
    #[error("it is not a state file of smbench")]
    Foreign,
    /// The head is cut or damaged.
    #[error("its head is cut or damaged, so nothing in it can be trusted")]
    Head,
    /// A note has a place that its run does not have.
    #[error("it has a note of a place that its run does not have")]
    Place,
    /// The notes are of more blocks than fit into memory.
    #[error(
        "it knows more than {} blocks, which need too much memory",
        super::after::BLOCKS_MAX
    )]
    TooLarge,
    /// They cannot be read.
    #[error(transparent)]
    Io(#[from] io::Error),
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

/// Notes of one worker.
#[derive(Clone, Debug)]
pub struct NotePage {
    /// Where they are from.
    pub source: NoteSource,
    /// The notes, in the order of their answers.
    pub notes: Vec<Note>,
}

/// How notes end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotesEnd {
    /// The run ended in good order.
    Whole,
    /// The program was killed: the last moments are missing.
    Cut,
}

/// Reads notes.
pub struct NotesReader<R> {
    input: R,
    head: NotesHead,
    end: Option<NotesEnd>,
    /// Notes that could not be handed in, of each worker that has such.
    lost: u64,
}

impl<R: Read> NotesReader<R> {
    /// Reads the head.
    ///
    /// # Errors
    /// If there is no whole head.
    pub fn open(mut input: R) -> Result<Self, NotesError> {
        let mut magic = Vec::new();
        (&mut input).take(8).read_to_end(&mut magic)?;
        if magic.is_empty() {
            return Err(NotesError::Empty);
        }
        if !MAGIC.starts_with(&magic) {
            return Err(NotesError::Foreign);
        }
        let length = read_word(&mut input)?.ok_or(NotesError::Head)?;
        if length > HEAD_BYTES_MAX {
            return Err(NotesError::Head);
        }
        let mut json = Vec::new();
        (&mut input).take(length).read_to_end(&mut json)?;
        let seal = read_word(&mut input)?.ok_or(NotesError::Head)?;
        if seal != seal_of_text(&json) {
            return Err(NotesError::Head);
        }
        let head = serde_json::from_slice(&json).map_err(|_| NotesError::Head)?;
        Ok(Self {
            input,
            head,
            end: None,
            lost: 0,
        })
    }

    /// Returns the run that the notes are of.
    pub const fn head(&self) -> &NotesHead {
        &self.head
    }

    /// Returns how the notes ended; they have not been read to their end if it is `None`.
    pub const fn end(&self) -> Option<NotesEnd> {
        self.end
    }

    /// Returns the number of notes that are known to be missing.
    pub const fn lost(&self) -> u64 {
        self.lost
    }

    /// Reads the next page; `None` at the end.
    ///
    /// # Errors
    /// If the bytes cannot be read.
    pub fn next_page(&mut self) -> io::Result<Option<NotePage>> {
        if self.end.is_some() {
            return Ok(None);
        }
        let read = self.read_page()?;
        if read.is_none() {
            self.end.get_or_insert(NotesEnd::Cut);
        }
        Ok(read)
    }

    /// Reads a page; `None` if there is no whole one.
    fn read_page(&mut self) -> io::Result<Option<NotePage>> {
        let Some(first) = read_words(&mut self.input)? else {
            return Ok(None);
        };
        let [magic, owner, written, lost, sealed] = first;
        let count = (written >> 32) as usize;
        if !matches!(magic, PAGE | END) || count > PAGE_NOTES_MAX {
            return Ok(None);
        }
        let mut notes = Vec::with_capacity(count);
        for _ in 0..count {
            match read_words(&mut self.input)? {
                Some(words) => notes.push(words),
                None => return Ok(None),
            }
        }
        if seal(first[..WORDS - 1].iter().chain(notes.iter().flatten())) != sealed {
            return Ok(None);
        }
        self.lost = self.lost.max(lost);
        if magic == END {
            self.end = Some(NotesEnd::Whole);
            return Ok(None);
        }
        Ok(Some(NotePage {
            source: NoteSource {
                population: owner as u32,
                run: (owner >> 32) as u32,
                worker: written as u32,
            },
            notes: notes.into_iter().map(Note::of_words).collect(),
        }))
    }
}

/// Reads a note or the start of a page; `None` if the bytes end before.
fn read_words(input: &mut impl Read) -> io::Result<Option<NoteWords>> {
    let mut words = [0; WORDS];
    for word in &mut words {
        match read_word(input)? {
            Some(read) => *word = read,
            None => return Ok(None),
        }
    }
    Ok(Some(words))
}

fn read_word(input: &mut impl Read) -> io::Result<Option<u64>> {
    let mut bytes = [0; 8];
    match input.read_exact(&mut bytes) {
        Ok(()) => Ok(Some(u64::from_le_bytes(bytes))),
        Err(error) if error.kind() == ErrorKind::UnexpectedEof => Ok(None),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests;
