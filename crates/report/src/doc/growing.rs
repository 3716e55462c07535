//! A document that grows: each finished load point is added to its file at once.
//!
//! The load points that are in the file stay there. They are copied from one version of the file
//! to the next, so that a run of many load points needs no memory for them.

use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use super::file::{SaveError, save_written, save_written_under_free_name};
use super::point::LoadPointDoc;
use super::run::RunDoc;

/// Key of the load points, which are last in the file.
const LOAD_POINTS: &str = "load_points";

/// Bytes between two load points.
const BETWEEN: &[u8] = b",\n";

/// A document without an end.
#[derive(Debug)]
pub struct GrowingDoc {
    /// The document without its load points and without the last brace.
    head: String,
    /// Load points of the document that it began with, until they are in the file.
    begun: Vec<LoadPointDoc>,
    /// The last version of the file.
    last: Option<File>,
    /// Bytes of the load points in it, with the commas between them.
    rows: u64,
}

impl GrowingDoc {
    /// Begins with a document and its load points.
    #[must_use]
    pub fn of(doc: &RunDoc) -> Self {
        let mut head = match serde_json::to_value(doc) {
            Ok(Value::Object(head)) => head,
            _ => Map::new(),
        };
        head.remove(LOAD_POINTS);
        let head = Value::Object(head).to_string();
        Self {
            head: head.strip_suffix('}').unwrap_or(&head).to_owned(),
            begun: doc.load_points.clone(),
            last: None,
            rows: 0,
        }
    }

    /// Adds a load point, and replaces the file at `path` atomically.
    ///
    /// # Errors
    /// When the file, or the temporary file next to it, cannot be written. The load point is then
    /// lost.
    pub fn save(&mut self, row: &LoadPointDoc, path: &Path) -> Result<(), SaveError> {
        let mut written = None;
        save_written(path, |file| {
            written = Some(self.write(row, file)?);
            Ok(())
        })?;
        self.keep(written);
        Ok(())
    }

    /// Adds a load point, and writes the first of `paths` that does not exist yet. Returns that
    /// path.
    ///
    /// # Errors
    /// Those of [`Self::save`]; also when all paths exist.
    pub fn save_under_free_name(
        &mut self,
        row: &LoadPointDoc,
        paths: impl IntoIterator<Item = PathBuf>,
    ) -> Result<PathBuf, SaveError> {
        let mut written = None;
        let path = save_written_under_free_name(paths, |file| {
            written = Some(self.write(row, file)?);
            Ok(())
        })?;
        self.keep(written);
        Ok(path)
    }

    fn keep(&mut self, written: Option<WrittenRows>) {
        if let Some(WrittenRows { file, rows }) = written {
            (self.last, self.rows) = (Some(file), rows);
            self.begun = Vec::new();
        }
    }

    /// Writes the head, the load points of the last version and a new one.
    fn write(&self, row: &LoadPointDoc, file: &mut File) -> io::Result<WrittenRows> {
        let head = format!("{},\"{LOAD_POINTS}\":[", self.head);
        file.write_all(head.as_bytes())?;
        let begun = self.begun.iter().map(serde_json::to_vec);
        let begun = begun.collect::<Result<Vec<_>, _>>()?.join(BETWEEN);
        let mut rows = begun.len() as u64;
        file.write_all(&begun)?;
        if let Some(last) = &self.last {
            let mut last = last.try_clone()?;
            last.seek(SeekFrom::Start(head.len() as u64))?;
            rows = io::copy(&mut last.take(self.rows), file)?;
            if rows != self.rows {
                return Err(io::Error::other("its last version became shorter"));
            }
        }
        if rows > 0 {
            file.write_all(BETWEEN)?;
            rows += BETWEEN.len() as u64;
        }
        let row = serde_json::to_vec(row)?;
        file.write_all(&row)?;
        file.write_all(b"]}\n")?;
        Ok(WrittenRows {
            file: file.try_clone()?,
            rows: rows + row.len() as u64,
        })
    }
}

/// A version of the file.
struct WrittenRows {
    file: File,
    /// Bytes of its load points.
    rows: u64,
}
