//! Deletes files on several sessions at a time.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;
use std::time::Duration;

use smbench_model::Nanos;
use smbench_protocol::command::create::{CreateRequest, access, options};
use smbench_protocol::directory::Entry;
use tokio::task::JoinSet;

use super::owner::{Ownership, is_proof};
use crate::machine::cancel::Cancel;
use crate::machine::clock;
use crate::smb::calls::{EntryKind, FileCalls};
use crate::smb::session::{Endpoint, SessionError};
use crate::smb::share::ShareSession;
use crate::smb::share::files::join;

/// Longest search of all bins, and the longest after an interrupt of the run.
const SEARCH_MAX: Duration = Duration::from_mins(10);
const SEARCH_AFTER_CANCEL_MAX: Duration = Duration::from_mins(1);
/// Sessions that delete files in parallel.
const HELPERS: usize = 8;
/// Number of files from which further sessions are worth their log-on.
const MANY: usize = 200;
/// Bytes that are read to see who wrote a file. A request of any server can carry them.
const PROOF_LEN: u32 = 16 * 1024;

/// What became of a file.
pub(super) enum Settled {
    /// It is deleted.
    Gone,
    /// It is not shown to be ours, and stays.
    Unproven,
    /// It is ours, and the server refused to delete it for this reason.
    Refused(String),
    /// It is ours, and the work ended before its turn, for this reason.
    NotTried(String),
}

type DeletionQueue = VecDeque<(Ownership, Entry)>;
type SettledFiles = Vec<(Entry, Settled)>;

/// The session of a clean-up, and further ones for many files.
pub(super) struct Deleters<'a> {
    pub(super) session: &'a mut ShareSession,
    endpoint: &'a Endpoint,
    helpers: Vec<ShareSession>,
    pub(super) patience: SearchPatience,
}

/// How long bins are searched.
#[derive(Clone)]
pub(super) struct SearchPatience {
    until: Nanos,
    cancel: Cancel,
    /// Whether the cancel was there before. It then does not end the search.
    was_cancelled: bool,
}

impl SearchPatience {
    fn begin(cancel: &Cancel) -> Self {
        let was_cancelled = cancel.is_cancelled();
        let limit = if was_cancelled {
            SEARCH_AFTER_CANCEL_MAX
        } else {
            SEARCH_MAX
        };
        Self {
            until: clock::now() + limit.into(),
            cancel: cancel.clone(),
            was_cancelled,
        }
    }

    /// Returns why the search ends now. `None` if it goes on.
    pub(super) fn reason(&self) -> Option<String> {
        let why = if self.cancel.is_cancelled() && !self.was_cancelled {
            "interrupted"
        } else if clock::now() >= self.until {
            "it took too long"
        } else {
            return None;
        };
        Some(why.to_owned())
    }
}

impl<'a> Deleters<'a> {
    pub(super) fn new(session: &'a mut ShareSession, endpoint: &'a Endpoint) -> Self {
        Self {
            patience: SearchPatience::begin(&endpoint.cancel),
            session,
            endpoint,
            helpers: Vec::new(),
        }
    }

    /// Deletes the files in `folder` that are ours. Returns what became of each file, and
    /// the first failure, after which some files were not looked at.
    pub(super) async fn settle(
        &mut self,
        folder: &str,
        jobs: Vec<(Ownership, Entry)>,
    ) -> (SettledFiles, Result<(), SessionError>) {
        if jobs.len() >= MANY {
            self.get_help().await;
        }
        let jobs = Rc::new(RefCell::new(DeletionQueue::from(jobs)));
        let (mut all, ended) = self.settle_queued(folder, &jobs).await;
        let reason = match &ended {
            Err(error) => Some(error.to_string()),
            Ok(()) => self.patience.reason(),
        };
        if let Some(reason) = reason {
            all.extend(not_tried(jobs.take(), &reason));
        }
        (all, ended)
    }

    async fn settle_queued(
        &mut self,
        folder: &str,
        jobs: &Rc<RefCell<DeletionQueue>>,
    ) -> (SettledFiles, Result<(), SessionError>) {
        let mut all = SettledFiles::new();
        if self.helpers.is_empty() {
            let ended = settle_all(self.session, folder, &self.patience, jobs, &mut all).await;
            return (all, ended);
        }
        let mut running = JoinSet::new();
        for mut session in self.helpers.drain(..) {
            let (jobs, folder) = (Rc::clone(jobs), folder.to_owned());
            let patience = self.patience.clone();
            running.spawn_local(async move {
                let mut done = SettledFiles::new();
                let ended = settle_all(&mut session, &folder, &patience, &jobs, &mut done).await;
                (ended.map(|()| session), done)
            });
        }
        let mut failed = Ok(());
        while let Some(ended) = running.join_next().await {
            let doing = "empty the recycle bin";
            let (ended, done) = ended.unwrap_or_else(|_| {
                let failure = SessionError::Panicked { doing };
                (Err(failure), SettledFiles::new())
            });
            all.extend(done);
            match ended {
                Ok(session) => self.helpers.push(session),
                Err(error) => failed = failed.and(Err(error)),
            }
        }
        (all, failed)
    }

    /// Opens the further sessions, as many as the server accepts.
    async fn get_help(&mut self) {
        while self.helpers.len() < HELPERS {
            match ShareSession::open(self.endpoint).await {
                Ok(session) => self.helpers.push(session),
                Err(_) => break,
            }
        }
    }

    /// Logs off the further sessions.
    pub(super) async fn log_off(self) {
        for session in self.helpers {
            session.log_off().await;
        }
    }
}

/// Returns the files that stay because the work ended. Files whose contents were to be read
/// may be of others.
fn not_tried(jobs: DeletionQueue, reason: &str) -> impl Iterator<Item = (Entry, Settled)> {
    let ours = jobs
        .into_iter()
        .filter(|(ownership, _)| *ownership == Ownership::Certain);
    ours.map(move |(_, entry)| (entry, Settled::NotTried(reason.to_owned())))
}

async fn settle_all(
    session: &mut ShareSession,
    folder: &str,
    patience: &SearchPatience,
    jobs: &RefCell<DeletionQueue>,
    done: &mut SettledFiles,
) -> Result<(), SessionError> {
    while patience.reason().is_none() {
        let next = jobs.borrow_mut().pop_front();
        let Some((ownership, entry)) = next else {
            break;
        };
        let path = join(folder, &entry.name);
        let is_ours = match ownership {
            Ownership::Certain => true,
            Ownership::ByContents => shows_us(session, &path, &entry.name).await?,
            Ownership::Foreign => false,
        };
        let settled = if is_ours {
            delete(session, &path).await?
        } else {
            Settled::Unproven
        };
        done.push((entry, settled));
    }
    Ok(())
}

/// Reads the start of a file. One that cannot be read shows nothing.
async fn shows_us(
    session: &mut ShareSession,
    path: &str,
    name: &str,
) -> Result<bool, SessionError> {
    let doing = format!("read file '{path}'");
    let request = CreateRequest {
        options: options::FILE_NON_DIRECTORY_FILE,
        ..CreateRequest::open(path, access::FILE_READ_DATA)
    };
    let read = async {
        let id = session.open_file(&doing, &request).await?;
        let data = session.read_start(&doing, id, PROOF_LEN).await;
        session.close_file(&doing, id).await?;
        data
    };
    match read.await {
        Ok(data) => Ok(is_proof(name, &data)),
        Err(error) if error.status().is_some() => Ok(false),
        Err(error) => Err(error),
    }
}

async fn delete(session: &mut ShareSession, path: &str) -> Result<Settled, SessionError> {
    let doing = format!("delete '{path}'");
    let deleted = session.delete_entry(&doing, path, EntryKind::File).await;
    let Err(error) = deleted else {
        return Ok(Settled::Gone);
    };
    match error.status() {
        Some(status) if status.names_nothing() => Ok(Settled::Gone),
        Some(_) => Ok(Settled::Refused(error.to_string())),
        None => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_search_ends_at_its_limit_and_at_an_interrupt_that_comes_later() {
        let cancel = Cancel::default();
        let patience = SearchPatience::begin(&cancel);
        assert_eq!(patience.reason(), None);
        cancel.cancel();
        assert_eq!(patience.reason().as_deref(), Some("interrupted"));
        // The clean-up after an interrupt goes on, for a shorter time.
        let after = SearchPatience::begin(&cancel);
        assert_eq!(after.reason(), None);
        assert!(after.until < patience.until);
        let over = SearchPatience {
            until: clock::now(),
            ..after
        };
        assert_eq!(over.reason().as_deref(), Some("it took too long"));
    }
}
