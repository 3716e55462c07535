//! The run's own directory on the share: made, filled, removed; and leftovers
//! of earlier runs found and removed.
//!
//! Invariant: nothing outside a directory named `smbench-<16 hex digits>` that
//! holds our marker file is ever written or deleted. The marker stays open,
//! shared with nobody, while its run lives; the server thereby tells a living
//! run from a dead one, and drops the open when the connection dies.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use smbench_protocol::command::create::{
    CreateRequest, Disposition, OplockLevel, access, attributes, options, share,
};
use smbench_protocol::command::query_info::{
    InfoType, QueryInfoRequest, QueryInfoResponse, file_system_class,
};
use smbench_protocol::command::write::{WriteRequest, WriteResponse};
use smbench_protocol::credit::{CREDIT_UNIT, charge_for};
use smbench_protocol::directory::{self, Entry};
use smbench_protocol::header::Command;
use smbench_protocol::{FileId, NtStatus};
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use crate::cancel::Cancel;
use crate::pattern::{self, Stamp};
use crate::plan::{FileSet, Plan, WorkFile};
use crate::session::{Endpoint, Session, SessionError};
use crate::units::Size;

const DIRECTORY_PREFIX: &str = "smbench-";
/// Digits of [`crate::session::random_u64`] in hexadecimal.
const DIRECTORY_DIGITS: usize = 16;
const MARKER: &str = "smbench.run";
/// Sessions that fill files side by side.
const PREPARE_SESSIONS: usize = 8;
/// Bytes per WRITE while filling, if the server takes as many.
const PREPARE_WRITE_LEN: u32 = 1024 * 1024;
/// How often, and at what distance, a directory that is not empty yet is tried
/// again.
const REMOVE_RETRIES: u32 = 20;
const REMOVE_RETRY_DELAY: Duration = Duration::from_millis(100);
const LISTING_LEN: u32 = 64 * 1024;
/// Answers that a listing may take: several million names.
const LISTING_ANSWERS_MAX: u32 = 10_000;

/// The directory of one run, and the session that holds it.
pub(crate) struct Workspace {
    session: Session,
    endpoint: Endpoint,
    directory: String,
    marker: FileId,
}

impl Workspace {
    /// Makes a new directory below the target's path and claims it. When that
    /// fails, whatever was made goes again, or is told beside the error.
    pub(crate) async fn create(
        endpoint: &Endpoint,
        mut session: Session,
    ) -> Result<Self, (SessionError, Option<String>)> {
        let name = format!("{DIRECTORY_PREFIX}{:016x}", crate::session::random_u64());
        let directory = join(&endpoint.target().path, &name);
        match claim_new(&mut session, &directory).await {
            Ok(marker) => Ok(Self {
                session,
                endpoint: endpoint.clone(),
                directory,
                marker,
            }),
            Err(error) => {
                let removed = match error.status() {
                    // An answer: what was made is known, and this session works.
                    Some(_) => remove_claimed(&mut session, &directory, None).await,
                    None => remove_afresh(endpoint, &directory).await,
                };
                Err((
                    error,
                    removed.err().map(|error| leftover(&directory, &error)),
                ))
            }
        }
    }

    /// The session that holds the directory.
    pub(crate) fn session(&self) -> &Session {
        &self.session
    }

    /// The run's directory, from the share's root.
    pub(crate) fn directory(&self) -> &str {
        &self.directory
    }

    /// Fails when the files of `plan` cannot fit, by the server's own figures.
    pub(crate) async fn check_space(&mut self, plan: &Plan) -> Result<(), SessionError> {
        // Not every server tells; then the disk itself will.
        let Some(free) = free_bytes(&mut self.session, self.marker).await? else {
            return Ok(());
        };
        let needed = plan.bytes_on_share();
        if needed > free {
            return Err(SessionError::NoSpace {
                at: self.endpoint.share(),
                needed: Size(needed).to_string(),
                free: Size(free).to_string(),
            });
        }
        Ok(())
    }

    /// Writes every file of the plan, calling `progress` with bytes written so
    /// far, until done or cancelled.
    pub(crate) async fn prepare(
        &self,
        plan: &Plan,
        cancel: &Cancel,
        progress: &mut dyn FnMut(u64),
    ) -> Result<(), SessionError> {
        let waiting: VecDeque<_> = plan.files().collect();
        let writers = PREPARE_SESSIONS.min(waiting.len());
        let jobs = Arc::new(Jobs {
            waiting: Mutex::new(waiting),
            files: plan.workload.files,
            directory: self.directory.clone(),
            cancel: cancel.clone(),
        });
        let endpoint = self
            .endpoint
            .with_credit_target(charge_for(PREPARE_WRITE_LEN) + 1);
        let (report, mut reports) = mpsc::channel(writers * 2);
        let mut running = JoinSet::new();
        for _ in 0..writers {
            running.spawn(fill_files(
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
                // The first failure ends it all; dropping the set aborts the rest.
                ended = running.join_next() => match ended {
                    Some(ended) => ended.map_err(|_| SessionError::Panicked {
                        doing: "prepare the files",
                    })??,
                    None => break,
                },
                () = cancel.cancelled() => return Err(SessionError::Interrupted),
            }
        }
        Ok(())
    }

    /// Waits less from now on: the server may be gone, or the user is waiting.
    pub(crate) fn lose_patience(&mut self) {
        self.endpoint = self.endpoint.impatient();
        self.session.lose_patience();
    }

    /// Deletes everything in the directory, then the directory.
    pub(crate) async fn remove(mut self) -> Result<(), SessionError> {
        let marker = Some(self.marker);
        if remove_claimed(&mut self.session, &self.directory, marker)
            .await
            .is_ok()
        {
            self.session.log_off().await;
            return Ok(());
        }
        // The session that held the directory may have died; a new one may
        // still reach the server.
        remove_afresh(&self.endpoint, &self.directory).await
    }
}

/// How a directory that could not be removed is told.
pub(crate) fn leftover(directory: &str, error: &SessionError) -> String {
    format!("directory '{directory}' remains: {error}")
}

/// Makes a directory and in it the marker, which stays open, shared with
/// nobody.
async fn claim_new(session: &mut Session, directory: &str) -> Result<FileId, SessionError> {
    let doing = format!("create directory '{directory}'");
    let made = session
        .create(
            &doing,
            &CreateRequest {
                disposition: Disposition::Create,
                options: options::FILE_DIRECTORY_FILE,
                ..open(
                    directory,
                    access::FILE_READ_ATTRIBUTES | access::SYNCHRONIZE,
                )
            },
        )
        .await?;
    session.close(&doing, made.file_id).await?;
    let path = join(directory, MARKER);
    let made = session
        .create(
            &format!("create file '{path}'"),
            &CreateRequest {
                disposition: Disposition::Create,
                options: options::FILE_NON_DIRECTORY_FILE,
                share_access: 0,
                ..open(&path, access::FILE_WRITE_DATA | access::DELETE)
            },
        )
        .await?;
    Ok(made.file_id)
}

struct Jobs {
    waiting: Mutex<VecDeque<WorkFile>>,
    files: FileSet,
    directory: String,
    cancel: Cancel,
}

impl Jobs {
    fn next(&self) -> Option<WorkFile> {
        if self.cancel.is_cancelled() {
            return None;
        }
        self.waiting().pop_front()
    }

    fn waiting(&self) -> MutexGuard<'_, VecDeque<WorkFile>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Takes files off the list and fills them, on a session of its own.
async fn fill_files(
    endpoint: Endpoint,
    jobs: Arc<Jobs>,
    report: mpsc::Sender<u32>,
) -> Result<(), SessionError> {
    let mut session = Session::open(&endpoint).await?;
    while let Some(file) = jobs.next() {
        fill_file(&mut session, file, &jobs, &report).await?;
    }
    session.log_off().await;
    Ok(())
}

async fn fill_file(
    session: &mut Session,
    file: WorkFile,
    jobs: &Jobs,
    report: &mpsc::Sender<u32>,
) -> Result<(), SessionError> {
    let name = jobs.files.file_name(file.client, file.file);
    let path = &join(&jobs.directory, &name);
    let doing = format!("write file '{path}'");
    let id = session
        .create(
            &doing,
            &CreateRequest {
                disposition: Disposition::Create,
                options: options::FILE_NON_DIRECTORY_FILE,
                ..open(path, access::FILE_WRITE_DATA | access::FILE_APPEND_DATA)
            },
        )
        .await?
        .file_id;
    let limit = PREPARE_WRITE_LEN.min(session.connection.negotiated().max_write);
    let stamp = Stamp {
        client: file.client,
        file: file.file,
        generation: 0,
        run: 0,
    };
    let mut offset = 0;
    let size = jobs.files.size;
    while offset < size && !jobs.cancel.is_cancelled() {
        let paid_for = session.connection.credits().saturating_mul(CREDIT_UNIT);
        let length = u64::from(limit.min(paid_for)).min(size - offset) as u32;
        let request = WriteRequest {
            file_id: id,
            offset,
            length,
            flags: 0,
        };
        let message = session
            .expect(&doing, Command::Write, length, |out| {
                request.encode(out);
                let data = out.len();
                out.resize(data + length as usize, 0);
                pattern::fill(&mut out[data..], offset, stamp);
            })
            .await?;
        let written = WriteResponse::decode(&message)
            .map_err(|error| session.malformed(&doing, error))?
            .count;
        if written == 0 || written > length {
            return Err(session.refused(&doing, NtStatus::DISK_FULL));
        }
        offset += u64::from(written);
        // The receiver only goes away when the run is over.
        let _ = report.send(written).await;
    }
    session.close(&doing, id).await
}

/// What a clean-up found and did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cleanup {
    /// Directories removed, from the share's root.
    pub removed: Vec<String>,
    /// Directories left alone because a run is using them.
    pub in_use: Vec<String>,
    /// Directories that look like ours but hold no marker of ours.
    pub foreign: Vec<String>,
}

/// Removes what dead runs left below the target's path.
pub(crate) async fn cleanup(endpoint: &Endpoint) -> Result<Cleanup, SessionError> {
    let mut session = Session::open(endpoint).await?;
    let base = endpoint.target().path.clone();
    let mut found = Cleanup::default();
    for entry in list(&mut session, &base).await? {
        if !entry.is_directory || !is_run_directory(&entry.name) {
            continue;
        }
        let directory = join(&base, &entry.name);
        let inside = list(&mut session, &directory).await?;
        if !inside.is_empty() && !inside.iter().any(|entry| entry.name == MARKER) {
            found.foreign.push(directory);
            continue;
        }
        // A living run has its marker open and shares it with nobody.
        match claim(&mut session, &directory).await {
            Ok(marker) => {
                remove_claimed(&mut session, &directory, marker).await?;
                found.removed.push(directory);
            }
            Err(error) if error.status() == Some(NtStatus::SHARING_VIOLATION) => {
                found.in_use.push(directory);
            }
            Err(error) => return Err(error),
        }
    }
    session.log_off().await;
    Ok(found)
}

/// Opens the marker of a dead run, shared with nobody; `None` when the run
/// died before it had made one.
async fn claim(session: &mut Session, directory: &str) -> Result<Option<FileId>, SessionError> {
    let path = join(directory, MARKER);
    let opened = session
        .create(
            &format!("claim directory '{directory}'"),
            &CreateRequest {
                options: options::FILE_NON_DIRECTORY_FILE,
                share_access: 0,
                ..open(&path, access::FILE_WRITE_DATA | access::DELETE)
            },
        )
        .await;
    match opened {
        Ok(opened) => Ok(Some(opened.file_id)),
        Err(error) if error.status() == Some(NtStatus::OBJECT_NAME_NOT_FOUND) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Removes a directory of ours on a new session.
async fn remove_afresh(endpoint: &Endpoint, directory: &str) -> Result<(), SessionError> {
    let mut session = Session::open(endpoint).await?;
    remove_claimed(&mut session, directory, None).await?;
    session.log_off().await;
    Ok(())
}

/// Deletes the files of one of our directories, gives up the claim, then
/// deletes the marker and the directory. Tried again for a while: opens of
/// sessions that were cut off hold things until the server notices, and a
/// request of theirs may still be under way.
async fn remove_claimed(
    session: &mut Session,
    directory: &str,
    mut claim: Option<FileId>,
) -> Result<(), SessionError> {
    for _ in 0..REMOVE_RETRIES {
        match try_remove(session, directory, &mut claim).await {
            Ok(Removal::Gone) => return Ok(()),
            Ok(Removal::Held) => tokio::time::sleep(REMOVE_RETRY_DELAY).await,
            Err(error) => return Err(error),
        }
    }
    let held = list(session, directory).await?;
    Err(SessionError::NotEmpty {
        directory: directory.to_owned(),
        at: session.share(),
        name: held
            .first()
            .map_or_else(String::new, |entry| entry.name.clone()),
    })
}

enum Removal {
    Gone,
    Held,
}

async fn try_remove(
    session: &mut Session,
    directory: &str,
    claim: &mut Option<FileId>,
) -> Result<Removal, SessionError> {
    let entries = match list(session, directory).await {
        Ok(entries) => entries,
        Err(error) => return gone_or(error),
    };
    for entry in entries.iter().filter(|entry| is_run_file(entry)) {
        delete(session, &join(directory, &entry.name), Kind::File).await?;
    }
    // Servers differ in what they say when a directory to be deleted on close
    // is not empty: some say nothing and keep it. So this asks first.
    let mut rest = list(session, directory).await?;
    rest.retain(|entry| entry.name != MARKER);
    if let Some(foreign) = rest.iter().find(|entry| !is_run_file(entry)) {
        return Err(SessionError::NotEmpty {
            directory: directory.to_owned(),
            at: session.share(),
            name: foreign.name.clone(),
        });
    }
    if !rest.is_empty() {
        return Ok(Removal::Held);
    }
    if let Some(marker) = claim.take() {
        session.close("close the run's marker", marker).await?;
    }
    delete(session, &join(directory, MARKER), Kind::File).await?;
    delete(session, directory, Kind::Directory).await?;
    match list(session, directory).await {
        Ok(_) => Ok(Removal::Held),
        Err(error) => gone_or(error),
    }
}

/// What the failure to open a directory says of its removal.
fn gone_or(error: SessionError) -> Result<Removal, SessionError> {
    match error.status() {
        Some(NtStatus::OBJECT_NAME_NOT_FOUND | NtStatus::OBJECT_PATH_NOT_FOUND) => {
            Ok(Removal::Gone)
        }
        Some(NtStatus::DELETE_PENDING) => Ok(Removal::Held),
        _ => Err(error),
    }
}

#[derive(Clone, Copy)]
enum Kind {
    File,
    Directory,
}

/// Deletes a name, or leaves that to a later try when it is held by another
/// open; one that is gone already is fine.
async fn delete(session: &mut Session, path: &str, kind: Kind) -> Result<(), SessionError> {
    let doing = format!("delete '{path}'");
    let kind = match kind {
        Kind::File => options::FILE_NON_DIRECTORY_FILE,
        Kind::Directory => options::FILE_DIRECTORY_FILE,
    };
    let opened = session
        .create(
            &doing,
            &CreateRequest {
                disposition: Disposition::Open,
                options: kind | options::FILE_DELETE_ON_CLOSE,
                ..open(path, access::DELETE)
            },
        )
        .await;
    match opened {
        Ok(opened) => session.close(&doing, opened.file_id).await,
        Err(error) => match error.status() {
            Some(
                NtStatus::OBJECT_NAME_NOT_FOUND
                | NtStatus::DELETE_PENDING
                | NtStatus::SHARING_VIOLATION
                | NtStatus::DIRECTORY_NOT_EMPTY,
            ) => Ok(()),
            _ => Err(error),
        },
    }
}

async fn list(session: &mut Session, path: &str) -> Result<Vec<Entry>, SessionError> {
    let doing = if path.is_empty() {
        "list the share".to_owned()
    } else {
        format!("list directory '{path}'")
    };
    let id = session
        .create(
            &doing,
            &CreateRequest {
                disposition: Disposition::Open,
                options: options::FILE_DIRECTORY_FILE,
                ..open(path, access::FILE_LIST_DIRECTORY | access::SYNCHRONIZE)
            },
        )
        .await?
        .file_id;
    let len = LISTING_LEN.min(session.connection.negotiated().max_transact);
    let mut entries = Vec::new();
    for _ in 0..LISTING_ANSWERS_MAX {
        let reply = session
            .call(&doing, Command::QueryDirectory, len, |out| {
                directory::encode_request(id, len, out);
            })
            .await?;
        match reply.status {
            NtStatus::SUCCESS => {
                let some = directory::decode_response(&reply.message)
                    .map_err(|error| session.malformed(&doing, error))?;
                entries.extend(some);
            }
            NtStatus::NO_MORE_FILES | NtStatus::NO_SUCH_FILE => {
                session.close(&doing, id).await?;
                return Ok(entries);
            }
            status => return Err(session.refused(&doing, status)),
        }
    }
    Err(SessionError::EndlessListing {
        doing,
        at: session.share(),
    })
}

/// The request every open here starts from.
fn open(name: &str, desired_access: u32) -> CreateRequest<'_> {
    CreateRequest {
        name,
        desired_access,
        file_attributes: attributes::FILE_ATTRIBUTE_NORMAL,
        share_access: share::ALL,
        disposition: Disposition::Open,
        options: 0,
        oplock: OplockLevel::None,
        contexts: &[],
    }
}

fn join(directory: &str, name: &str) -> String {
    if directory.is_empty() {
        name.to_owned()
    } else {
        format!(r"{directory}\{name}")
    }
}

fn is_run_directory(name: &str) -> bool {
    name.strip_prefix(DIRECTORY_PREFIX).is_some_and(|digits| {
        digits.len() == DIRECTORY_DIGITS && digits.bytes().all(|byte| byte.is_ascii_hexdigit())
    })
}

/// Whether a run of ours makes files of this name.
fn is_run_file(entry: &Entry) -> bool {
    !entry.is_directory && FileSet::is_file_name(&entry.name)
}

/// Bytes free for this user where `file` lies; `None` when the server does not
/// answer the question.
async fn free_bytes(session: &mut Session, file: FileId) -> Result<Option<u64>, SessionError> {
    const DOING: &str = "ask how much space is free";
    let request = QueryInfoRequest {
        info_type: InfoType::FileSystem,
        class: file_system_class::FILE_FS_FULL_SIZE_INFORMATION,
        output_length: 32,
        file_id: file,
    };
    let reply = session
        .call(DOING, Command::QueryInfo, 0, |out| request.encode(out))
        .await?;
    if reply.status != NtStatus::SUCCESS {
        return Ok(None);
    }
    let answer = QueryInfoResponse::decode(&reply.message)
        .map_err(|error| session.malformed(DOING, error))?;
    Ok(caller_available(answer.data))
}

/// Bytes free on the share for this user.
pub(crate) async fn free_bytes_at_root(session: &mut Session) -> Result<Option<u64>, SessionError> {
    const DOING: &str = "open the share's root";
    let root = session
        .create(
            DOING,
            &CreateRequest {
                options: options::FILE_DIRECTORY_FILE,
                ..open("", access::FILE_READ_ATTRIBUTES)
            },
        )
        .await?
        .file_id;
    let free = free_bytes(session, root).await?;
    session.close(DOING, root).await?;
    Ok(free)
}

/// CallerAvailableAllocationUnits times the unit (MS-FSCC 2.5.4), in bytes.
fn caller_available(data: &[u8]) -> Option<u64> {
    let u64_at = |at: usize| Some(u64::from_le_bytes(*data.get(at..)?.first_chunk()?));
    let u32_at = |at: usize| Some(u32::from_le_bytes(*data.get(at..)?.first_chunk()?));
    let unit = u64::from(u32_at(24)?) * u64::from(u32_at(28)?);
    u64_at(8)?.checked_mul(unit)
}
