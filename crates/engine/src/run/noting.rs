//! The state file of a run: notes on its answered writes and flushes, for a check after a crash.
//!
//! A thread appends the pages that workers hand in. A killed program loses the pages that its
//! workers have not handed in, at most some hundred milliseconds, and nothing that was written.
//! If the file takes no more, the load does not stop, and later notes are counted as lost.

use std::collections::VecDeque;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::JoinHandle;

use smbench_model::contents::notes::{
    NotedPopulation, NotesHead, append_end, append_head, append_page,
};
use smbench_model::kind::OpKind;
use smbench_model::plan::Plan;
use smbench_model::record::NotedRecord;

use crate::machine::clock;
use crate::worker::notes::{Appended, NoteDesk, NoteExchange};

/// A new file for the notes of a run. It is deleted again if the run notes nothing.
#[derive(Debug)]
pub struct StateFile {
    path: PathBuf,
    file: Option<File>,
}

impl StateFile {
    /// Creates the file.
    ///
    /// # Errors
    /// If it exists, or cannot be created.
    pub fn create(path: &Path) -> io::Result<Self> {
        let file = OpenOptions::new()
            .append(true)
            .create_new(true)
            .open(path)?;
        Ok(Self {
            path: path.to_owned(),
            file: Some(file),
        })
    }

    /// Writes the head, and starts the thread that appends notes.
    pub(super) fn begin(mut self, head: &NotesHead) -> io::Result<NoteWriter> {
        let mut first = Vec::new();
        append_head(head, &mut first)?;
        let mut file = self.file.take().ok_or(io::ErrorKind::NotFound)?;
        file.write_all(&first)?;
        let exchange = Arc::<NoteExchange>::default();
        let taken = Arc::clone(&exchange);
        let thread = std::thread::Builder::new()
            .name("smbench-state".to_owned())
            .spawn(move || write_pages(&taken, file))?;
        Ok(NoteWriter {
            exchange,
            thread: Some(thread),
            record: NotedRecord {
                file: self.path.to_string_lossy().into_owned(),
                directories: Vec::new(),
                ..NotedRecord::default()
            },
            path: self.path.clone(),
        })
    }
}

impl Drop for StateFile {
    fn drop(&mut self) {
        if self.file.take().is_some() {
            // A file without notes would only be in the way of the next run.
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// Returns the head of the notes of a run with these populations. Each has its directory.
pub(super) fn head(plan: &Plan, populations: Vec<NotedPopulation>) -> NotesHead {
    let target = &plan.sessions.target;
    NotesHead {
        smbench: env!("CARGO_PKG_VERSION").to_owned(),
        url: target.redacted(),
        share: target.share.clone(),
        path: target.path.clone(),
        started: humantime::format_rfc3339_seconds(clock::wall()).to_string(),
        populations,
    }
}

/// Returns whether the clients of a plan of one population send flushes.
pub(super) fn flushes(plan: &Plan) -> bool {
    plan.only().workload.kinds().contains(&OpKind::Flush)
}

/// The thread that appends notes.
pub(super) struct NoteWriter {
    exchange: Arc<NoteExchange>,
    thread: Option<JoinHandle<AppendedNotes>>,
    record: NotedRecord,
    path: PathBuf,
}

/// The notes in the file, and why there are no more.
struct AppendedNotes {
    notes: u64,
    ended: io::Result<()>,
}

impl NoteWriter {
    /// Returns where the workers of a population hand in their notes.
    pub(super) fn desk(&self, population: usize) -> NoteDesk {
        NoteDesk {
            exchange: Arc::clone(&self.exchange),
            population: population as u32,
        }
    }

    /// Ends the file, when all workers have ended. `directories` are those of the run.
    pub(super) fn end(mut self, directories: Vec<String>) -> NotedRecord {
        let appended = self.join();
        let mut record = std::mem::take(&mut self.record);
        record.notes = appended.notes;
        record.lost = self.exchange.lost();
        record.failure = appended.ended.err().map(|error| error.to_string());
        if record.notes > 0 || record.failure.is_some() {
            record.directories = directories;
        } else {
            let _ = fs::remove_file(&self.path);
        }
        record
    }

    fn join(&mut self) -> AppendedNotes {
        self.exchange.end();
        let joined = self.thread.take().map(JoinHandle::join);
        match joined {
            Some(Ok(appended)) => appended,
            Some(Err(_)) | None => AppendedNotes {
                notes: 0,
                ended: Err(io::Error::other("the thread that writes it has failed")),
            },
        }
    }
}

impl Drop for NoteWriter {
    fn drop(&mut self) {
        if self.thread.is_some() {
            self.join();
        }
    }
}

/// Appends all pages until the exchange ends, and then the end.
fn write_pages(exchange: &NoteExchange, mut file: File) -> AppendedNotes {
    let mut appended = AppendedNotes {
        notes: 0,
        ended: Ok(()),
    };
    let (mut taken, mut bytes) = (VecDeque::new(), Vec::new());
    while exchange.take(&mut taken) {
        for page in taken.drain(..) {
            bytes.clear();
            append_page(page.source, page.lost, &page.notes, &mut bytes);
            // After half of a page, no later one would be found.
            if appended.ended.is_ok() {
                appended.ended = file.write_all(&bytes);
            }
            let written = match appended.ended {
                Ok(()) => Appended::Yes,
                Err(_) => Appended::No,
            };
            if written == Appended::Yes {
                appended.notes += page.notes.len() as u64;
            }
            exchange.give_back(page, written);
        }
    }
    if appended.ended.is_ok() {
        bytes.clear();
        append_end(exchange.lost(), &mut bytes);
        appended.ended = file.write_all(&bytes);
    }
    appended
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_file_that_exists_is_never_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("crash.state");
        fs::write(&path, "evidence").unwrap();
        let error = StateFile::create(&path).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::AlreadyExists);
        assert_eq!(fs::read_to_string(&path).unwrap(), "evidence");
    }

    #[test]
    fn a_file_without_notes_does_not_stay() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("crash.state");
        drop(StateFile::create(&path).unwrap());
        assert!(!path.exists());
    }
}
