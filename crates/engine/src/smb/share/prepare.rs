//! Fills the files of a run, on several sessions in parallel.

use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use smbench_model::contents::block;
use smbench_model::contents::block::{Salt, Stamp};
use smbench_model::fileio::TestMode;
use smbench_model::files::{FileSet, WorkFile};
use smbench_model::plan::Plan;
use smbench_protocol::FileId;
use smbench_protocol::command::create::Disposition;
use smbench_protocol::credit::charge_for;
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use super::Workspace;
use super::files::{join, to_write};
use crate::machine::cancel::Cancel;
use crate::smb::calls::FileCalls;
use crate::smb::session::{Endpoint, SessionError, StepFailure};
use crate::smb::share::ShareSession;

/// Number of sessions that fill files in parallel.
const PREPARE_SESSIONS: usize = 8;
/// Bytes of each WRITE while filling, if the server accepts that length.
pub(super) const PREPARE_WRITE_LEN: u32 = 1024 * 1024;

impl Workspace {
    /// Writes every file of these clients until done or cancelled. Calls `progress`
    /// with the bytes written so far.
    pub(crate) async fn prepare(
        &self,
        plan: &Plan,
        clients: Range<u32>,
        cancel: &Cancel,
        progress: &mut dyn FnMut(u64),
    ) -> Result<(), SessionError> {
        let mut files = plan.only().workload.files.clone();
        let fileio = plan.only().workload.fileio();
        if fileio.is_some_and(|test| test.mode == TestMode::SeqWr) {
            // In this mode the test itself writes the files.
            files.size = 0;
        }
        let waiting = plan.files_of(clients).map(|file| Job { file, from: 0 });
        self.fill(files, waiting, FileTreatment::New, cancel, progress)
            .await
    }

    /// Writes the missing parts of files until done or cancelled. Calls `progress`
    /// with the bytes written so far.
    pub(super) async fn fill(
        &self,
        files: FileSet,
        mut waiting: impl Iterator<Item = Job> + Send + 'static,
        treatment: FileTreatment,
        cancel: &Cancel,
        progress: &mut dyn FnMut(u64),
    ) -> Result<(), SessionError> {
        let first: Vec<_> = waiting.by_ref().take(PREPARE_SESSIONS).collect();
        let writers = first.len();
        if writers == 0 {
            return Ok(());
        }
        let jobs = Arc::new(Jobs {
            waiting: Mutex::new(Box::new(first.into_iter().chain(waiting))),
            files,
            treatment,
            directory: self.directory.clone(),
            salt: self.salt,
            cancel: cancel.clone(),
        });
        let endpoint = self
            .endpoint
            .with_credit_target(charge_for(PREPARE_WRITE_LEN) + 1);
        let (report, mut reports) = mpsc::channel(writers * 2);
        let mut running = JoinSet::new();
        for _ in 0..writers {
            running.spawn_local(fill_files(
                endpoint.clone(),
                Arc::clone(&jobs),
                report.clone(),
            ));
        }
        drop(report);
        let mut written = 0;
        loop {
            tokio::select! {
                Some(len) = reports.recv() => {
                    written += u64::from(len);
                    progress(written);
                }
                // The first failure ends the filling; dropping the set aborts the
                // other tasks.
                ended = running.join_next() => match ended {
                    Some(ended) => ended.map_err(|_| SessionError::Panicked {
                        doing: "prepare the files",
                    })??,
                    None => break,
                },
                () = cancel.cancelled() => return Err(SessionError::Interrupted),
            }
        }
        // The writers may have noticed the cancel first and ended without an error.
        if cancel.is_cancelled() {
            Err(SessionError::Interrupted)
        } else {
            Ok(())
        }
    }
}

/// A file to be written.
pub(super) struct Job {
    pub(super) file: WorkFile,
    /// Offset of the first missing byte.
    pub(crate) from: u64,
}

/// How existing files are treated.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum FileTreatment {
    /// No file exists yet.
    New,
    /// Some files exist in part. All are flushed to stable storage at the end,
    /// because later runs use them.
    GoOn,
    /// Existing contents are deleted.
    Anew,
}

impl FileTreatment {
    const fn disposition(self) -> Disposition {
        match self {
            Self::New => Disposition::Create,
            Self::GoOn => Disposition::OpenIf,
            Self::Anew => Disposition::OverwriteIf,
        }
    }
}

/// The files that no writer has taken yet. They are counted out as they are taken.
type WaitingJobs = Box<dyn Iterator<Item = Job> + Send>;

struct Jobs {
    waiting: Mutex<WaitingJobs>,
    files: FileSet,
    treatment: FileTreatment,
    directory: String,
    salt: Salt,
    cancel: Cancel,
}

impl Jobs {
    fn next(&self) -> Option<Job> {
        if self.cancel.is_cancelled() {
            return None;
        }
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.next()
    }
}

/// Takes files off the list and fills them, on a session of its own.
async fn fill_files(
    endpoint: Endpoint,
    jobs: Arc<Jobs>,
    report: mpsc::Sender<u32>,
) -> Result<(), SessionError> {
    let mut session = ShareSession::open(&endpoint).await?;
    while let Some(job) = jobs.next() {
        fill_file(&mut session, &job, &jobs, &report).await?;
    }
    session.log_off().await;
    Ok(())
}

async fn fill_file(
    session: &mut ShareSession,
    &Job { file, from }: &Job,
    jobs: &Jobs,
    report: &mpsc::Sender<u32>,
) -> Result<(), SessionError> {
    let name = jobs.files.file_name(file.client, file.file);
    let path = join(&jobs.directory, &name);
    let doing = format!("write file '{path}'");
    let request = to_write(&path, jobs.treatment.disposition());
    let id = session.open_file(&doing, &request).await?;
    let stamp = Stamp {
        client: file.client,
        file: file.file,
        generation: 0,
        run: 0,
    };
    let mut offset = from;
    let size = jobs.files.size;
    while offset < size && !jobs.cancel.is_cancelled() {
        let written = write_some(session, &doing, id, offset..size, stamp, jobs.salt).await?;
        offset += u64::from(written);
        // The receiver is dropped only when the run is over.
        let _ = report.send(written).await;
    }
    if jobs.treatment == FileTreatment::GoOn {
        session.flush(&doing, id).await?;
    }
    session.close_file(&doing, id).await
}

/// Writes the first part of a range, as much as one request carries. Returns the
/// number of bytes.
pub(super) async fn write_some(
    session: &mut impl FileCalls,
    doing: &str,
    file_id: FileId,
    range: Range<u64>,
    stamp: Stamp,
    salt: Salt,
) -> Result<u32, SessionError> {
    let limit = PREPARE_WRITE_LEN.min(session.write_limit());
    let offset = range.start;
    let length = u64::from(limit).min(range.end - offset) as u32;
    let written = session
        .write_at(doing, file_id, offset, length, |out| {
            block::append(out, length as usize, offset, stamp, salt);
        })
        .await?;
    // A server that cannot take all of the data must answer with an error status.
    // Accepting a partial write could mean one byte per request, without end.
    if written == length {
        Ok(written)
    } else {
        let taken = written;
        let failure = StepFailure::ShortWrite { taken, length };
        Err(session.failed_call(doing, failure))
    }
}
