//! Oplocks and leases. Each open of a file requests one, and a break by the server
//! is acknowledged (MS-SMB2 3.2.5.19).
//!
//! Invariant: an acknowledgement is sent before any further operation is submitted,
//! if the credits suffice. At most one is due for each open or lease, however many
//! notifications a server sends.
//!
//! All opens of one file by one client share a lease key, so no client waits for
//! itself. An oplock break is acknowledged only if the oplock was exclusive or batch,
//! a lease break only if the server says that it waits. An acknowledgement that the
//! server no longer waits for, because the file was closed meanwhile, is moot and not
//! an error. Acknowledgements are in no sum over operations, because the workload did
//! not ask for them.

mod absorb;
mod object;

use std::collections::VecDeque;

use smbench_model::Nanos;
use smbench_model::sessions::Caching;
use smbench_protocol::command::close::CloseRequest;
use smbench_protocol::command::create::attributes::FILE_ATTRIBUTE_DIRECTORY;
use smbench_protocol::command::create::{CreateResponse, OplockLevel};
use smbench_protocol::command::create_context::{CreateContext, GrantedContexts};
use smbench_protocol::command::lease::LeaseKey;
use smbench_protocol::command::oplock_break::{
    BreakAcknowledgement, BreakNotification, OplockBreak,
};
use smbench_protocol::header::Command;
use smbench_protocol::{
    Completion, Connection, DecodeError, Dialect, FileId, NtStatus, SessionIndex,
};

pub(crate) use object::Object;

/// First tag of acknowledgements; slots have the tags below it.
pub(crate) const FIRST_TAG: u32 = 1 << 31;
/// Maximum number of acknowledgements that wait for credits or for their answer. A
/// client never has this many opens, so further breaks are ignored.
const AT_ONCE: usize = 4096;

/// Maximum number of kept breaks whose open is not known yet.
const EARLY_AT_MOST: usize = 64;

/// Caching state of one connection, or of all connections of a group of clients.
#[derive(Debug)]
pub(crate) struct Cache {
    asked: Caching,
    dialect: Dialect,
    /// Makes the lease keys of this cache differ from all others.
    seed: u64,
    /// Oplocks of files that stay open, with their sessions.
    held: Vec<(FileId, Oplock)>,
    /// Breaks of opens that are not known yet, because the break came together with
    /// the answer to the CREATE.
    early: Vec<OplockBreak>,
    /// Number of notifications since [`Cache::take_breaks`].
    breaks: u64,
    due: VecDeque<DueAcknowledgement>,
    sent: Vec<Sent>,
    next_tag: u32,
    /// Durations and outcomes of the acknowledgements answered before the load.
    settled: Vec<(Nanos, Acknowledged)>,
}

/// An acknowledgement to be sent, or the CLOSE of what was kept open under a lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct DueAcknowledgement {
    pub(crate) session: SessionIndex,
    owed: Owed,
    /// When it was first sent; `None` if it was not sent yet.
    since: Option<Nanos>,
}

/// What the client owes the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Owed {
    Acknowledgement(BreakAcknowledgement),
    Close(FileId),
}

/// An acknowledgement that waits for its answer.
#[derive(Debug)]
struct Sent {
    tag: u32,
    since: Nanos,
    due: DueAcknowledgement,
}

/// The oplock of an open, and the open's session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Oplock {
    pub(crate) level: OplockLevel,
    pub(crate) session: SessionIndex,
}

/// The answer to an acknowledgement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answered {
    /// Time from the request to the answer, and the outcome.
    Settled(Nanos, Acknowledged),
    /// A directory is closed; time from the request to the answer.
    Closed(Nanos),
    /// The session has expired: send the acknowledgement again after
    /// reauthentication.
    Expired(DueAcknowledgement),
}

/// Outcome of acknowledging a break.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Acknowledged {
    /// The server confirmed the acknowledgement.
    Confirmed,
    /// The oplock or lease no longer existed, because the file was closed while the
    /// notification was on its way.
    Moot,
    /// The server refused the acknowledgement with this status.
    Refused(NtStatus),
}

/// Returns the caching that a successful CREATE was granted; `None` for all other
/// answers.
pub(crate) fn granted(done: &Completion<'_>) -> Result<Option<Caching>, DecodeError> {
    if (done.command, done.status) != (Command::Create, NtStatus::SUCCESS) {
        return Ok(None);
    }
    let created = CreateResponse::decode(done.message())?;
    let level = created.oplock_level;
    let lease = match level {
        OplockLevel::Lease => GrantedContexts::decode(done.message())?.lease,
        _ => None,
    };
    let caching = Caching::granted(level, lease.map(|lease| lease.state));
    Ok(Some(match caching {
        Caching::Lease(state) if created.file_attributes & FILE_ATTRIBUTE_DIRECTORY != 0 => {
            Caching::DirectoryLease(state)
        }
        caching => caching,
    }))
}

impl Cache {
    pub(crate) const fn new(asked: Caching, dialect: Dialect, seed: u64) -> Self {
        Self {
            asked,
            dialect,
            seed,
            held: Vec::new(),
            early: Vec::new(),
            breaks: 0,
            due: VecDeque::new(),
            sent: Vec::new(),
            next_tag: FIRST_TAG,
            settled: Vec::new(),
        }
    }

    /// Returns whether opens request an oplock or a lease.
    pub(crate) fn is_on(&self) -> bool {
        self.asked != Caching::None
    }

    /// Returns the oplock level and the create context for an open of `object` by
    /// the client with index `member`. All opens of one file by one client share a
    /// lease, so that no client has to wait for itself.
    ///
    /// With leases on directories, a file names the lease of its directory, `parent`.
    pub(crate) fn request(
        &self,
        member: usize,
        object: Object,
        parent: Option<u32>,
    ) -> (OplockLevel, Option<CreateContext>) {
        match (self.asked, self.request_of(self.asked, member, object)) {
            (
                Caching::DirectoryLease(_),
                (
                    level,
                    Some(CreateContext::LeaseV2 {
                        key, state, epoch, ..
                    }),
                ),
            ) => {
                let parent = parent.map(|number| self.key(member, Object::Directory(number)));
                let context = CreateContext::LeaseV2 {
                    key,
                    state,
                    parent,
                    epoch,
                };
                (level, Some(context))
            }
            (_, request) => request,
        }
    }

    /// Returns what a CREATE sends to ask for this caching.
    pub(crate) fn request_of(
        &self,
        asked: Caching,
        member: usize,
        object: Object,
    ) -> (OplockLevel, Option<CreateContext>) {
        let state = match asked {
            Caching::None => return (OplockLevel::None, None),
            Caching::Oplock(level) => return (level, None),
            Caching::Lease(state) | Caching::DirectoryLease(state) => state,
        };
        let key = self.key(member, object);
        let context = CreateContext::lease(self.dialect, key, state);
        (OplockLevel::Lease, Some(context))
    }

    /// Returns the key of a lease of the client with index `member`.
    pub(crate) fn key(&self, member: usize, object: Object) -> LeaseKey {
        let low = object.number() | (member as u64) << 40;
        LeaseKey((u128::from(self.seed) << 64 | u128::from(low)).to_le_bytes())
    }

    /// Remembers the oplock of a file that stays open.
    pub(crate) fn hold(&mut self, open: FileId, oplock: Oplock) {
        self.held.push((open, oplock));
        let mut early = self.early.iter();
        let early = early.position(|broken| broken.file_id == open);
        if let Some(at) = early {
            let broken = self.early.swap_remove(at);
            self.breaks -= 1;
            self.broken(&BreakNotification::Oplock(broken), |_| None);
        }
    }

    /// Returns the number of notifications since the last call.
    pub(crate) fn take_breaks(&mut self) -> u64 {
        std::mem::take(&mut self.breaks)
    }

    /// Keeps the outcome of an acknowledgement that was answered before the load.
    pub(crate) fn settle(&mut self, answered: Answered) {
        self.settled.push(match answered {
            Answered::Settled(took, outcome) => (took, outcome),
            Answered::Expired(_) => {
                let status = NtStatus::NETWORK_SESSION_EXPIRED;
                (Nanos(0), Acknowledged::Refused(status))
            }
            Answered::Closed(_) => return,
        });
    }

    /// Makes the CLOSE of a directory due.
    pub(crate) fn close(&mut self, session: SessionIndex, directory: FileId) {
        self.due.push_back(DueAcknowledgement {
            session,
            owed: Owed::Close(directory),
            since: None,
        });
    }

    /// Returns the durations and outcomes of the acknowledgements answered before
    /// the load.
    pub(crate) fn take_settled(&mut self) -> Vec<(Nanos, Acknowledged)> {
        std::mem::take(&mut self.settled)
    }

    /// Processes a notification. For an open that is not held here, `other` returns
    /// its session and its oplock level, which is then set to the new level.
    pub(crate) fn broken<'a>(
        &mut self,
        notification: &BreakNotification,
        other: impl FnOnce(FileId) -> Option<(SessionIndex, &'a mut OplockLevel)>,
    ) {
        self.breaks += 1;
        let mut held = self.held.iter_mut();
        let due = match notification {
            // A lease belongs to the client, so any session may acknowledge it
            // (MS-SMB2 3.3.5.22.2).
            BreakNotification::Lease(broken) => broken
                .acknowledgement()
                .map(|acknowledgement| (SessionIndex::FIRST, acknowledgement)),
            BreakNotification::Oplock(broken) => {
                let is_it = |open: &FileId| *open == broken.file_id;
                let found = held
                    .find_map(|(open, oplock)| is_it(open).then_some(oplock))
                    .map(|oplock| (oplock.session, &mut oplock.level))
                    .or_else(|| other(broken.file_id));
                if found.is_none() && self.early.len() < EARLY_AT_MOST {
                    self.early.push(*broken);
                }
                found.and_then(|(session, level)| {
                    let was = std::mem::replace(level, broken.level);
                    matches!(was, OplockLevel::Exclusive | OplockLevel::Batch)
                        .then(|| (session, broken.acknowledgement()))
                })
            }
        };
        let Some((session, acknowledgement)) = due else {
            return;
        };
        let owed = Owed::Acknowledgement(acknowledgement);
        let is_same = |due: &DueAcknowledgement| (due.session, due.owed) == (session, owed);
        if !self.due.iter().any(is_same) && self.due.len() + self.sent.len() < AT_ONCE {
            self.due.push_back(DueAcknowledgement {
                session,
                owed,
                since: None,
            });
        }
    }

    /// Returns whether an acknowledgement waits to be sent.
    pub(crate) fn is_due(&self) -> bool {
        !self.due.is_empty()
    }

    /// Appends the acknowledgements that are due, the oldest first, as long as the
    /// credits suffice. Skips sessions that take no requests now.
    pub(crate) fn acknowledge(
        &mut self,
        connection: &mut Connection,
        now: Nanos,
        out: &mut Vec<u8>,
        takes_requests: impl Fn(SessionIndex) -> bool,
    ) {
        let mut at = 0;
        while let Some(&due) = self.due.get(at) {
            if !takes_requests(due.session) {
                at += 1;
                continue;
            }
            let tag = self.next_tag;
            let sent = match &due.owed {
                Owed::Acknowledgement(due_now) => {
                    connection.acknowledge(due.session, tag, due_now, out)
                }
                &Owed::Close(file_id) => {
                    let close = CloseRequest { file_id, flags: 0 };
                    connection.request(due.session, Command::Close, 1, tag, out, |out| {
                        close.encode(out);
                    })
                }
            };
            if sent.is_err() {
                break;
            }
            self.due.remove(at);
            let since = due.since.unwrap_or(now);
            self.sent.push(Sent { tag, since, due });
            self.next_tag = tag.wrapping_add(1).max(FIRST_TAG);
        }
    }

    /// Queues an acknowledgement to be sent again.
    pub(crate) fn put_back(&mut self, due: DueAcknowledgement) {
        self.due.push_front(due);
    }

    /// Processes the answer to an acknowledgement; returns `None` if the tag does
    /// not belong to one.
    pub(crate) fn answered(&mut self, tag: u32, status: NtStatus, now: Nanos) -> Option<Answered> {
        let at = self.sent.iter().position(|sent| sent.tag == tag)?;
        let Sent { since, due, .. } = self.sent.swap_remove(at);
        let outcome = match status {
            NtStatus::NETWORK_SESSION_EXPIRED => {
                let since = Some(since);
                return Some(Answered::Expired(DueAcknowledgement { since, ..due }));
            }
            _ if matches!(due.owed, Owed::Close(_)) => match status {
                NtStatus::SUCCESS => return Some(Answered::Closed(now.since(since))),
                status => Acknowledged::Refused(status),
            },
            NtStatus::SUCCESS => Acknowledged::Confirmed,
            // The open is gone or no longer breaking: another open under the same
            // lease was closed in the meantime (MS-SMB2 3.3.5.22.1, 3.3.5.22.2).
            NtStatus::FILE_CLOSED
            | NtStatus::OBJECT_NAME_NOT_FOUND
            | NtStatus::UNSUCCESSFUL
            | NtStatus::INVALID_DEVICE_STATE => Acknowledged::Moot,
            status => Acknowledged::Refused(status),
        };
        Some(Answered::Settled(now.since(since), outcome))
    }
}

#[cfg(test)]
mod tests;
