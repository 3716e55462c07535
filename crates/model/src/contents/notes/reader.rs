//! Reads notes, up to their end or to where they are cut.

use std::io::{self, ErrorKind, Read};

use super::{
    AnswerNote, END, MAGIC, NoteSource, NoteWords, NotesHead, PAGE, PAGE_NOTES_MAX, WORDS, seal,
    seal_of_text,
};
use crate::contents::after::BLOCKS_MAX;

/// The largest head, far larger than that of any run.
const HEAD_BYTES_MAX: u64 = 1 << 20;

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
    #[error("it knows more than {} blocks, which need too much memory", BLOCKS_MAX)]
    TooLarge,
    /// They cannot be read.
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// Notes of one worker.
#[derive(Clone, Debug)]
pub struct NotePage {
    /// Where they are from.
    pub source: NoteSource,
    /// The notes, in the order of their answers.
    pub notes: Vec<AnswerNote>,
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
            notes: notes.into_iter().map(AnswerNote::of_words).collect(),
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
