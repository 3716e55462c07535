//! Oplocks and leases: asked for with each open of a file, given back when the
//! server asks (MS-SMB2 3.2.5.19).
//!
//! Invariant: an acknowledgement goes out before any further operation is
//! submitted, as far as credits allow; at most one is due for each open or
//! lease, however many notifications a server sends.

use std::collections::VecDeque;

use smbench_protocol::command::create::{CreateResponse, OplockLevel};
use smbench_protocol::command::create_context::{CreateContext, GrantedContexts};
use smbench_protocol::command::oplock_break::{
    BreakAcknowledgement, BreakNotification, OplockBreak,
};
use smbench_protocol::header::Command;
use smbench_protocol::{
    Completion, Connection, DecodeError, Dialect, FileId, LeaseKey, NtStatus, SessionIndex,
};

use crate::clock::Nanos;
use crate::plan::{Caching, ScratchName};

/// Tags from here on are those of acknowledgements; slots are below.
pub(crate) const FIRST_TAG: u32 = 1 << 31;
/// Acknowledgements that wait for credits, or for their answer. A server that
/// breaks more at a time than a client has opens is told no more.
const AT_ONCE: usize = 4096;

/// Breaks of unknown opens that are kept.
const EARLY_AT_MOST: usize = 64;

/// What a lease is on: its client's file, or what a slot makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Object {
    /// The file with this index, of the client or shared.
    File(u32),
    /// A scratch file of this slot.
    Scratch(u32, ScratchName),
}

/// The caching side of a connection, or of those that a group of clients has.
#[derive(Debug)]
pub(crate) struct Cache {
    asked: Caching,
    dialect: Dialect,
    /// Makes the lease keys made here unlike all others.
    seed: u64,
    /// Oplocks of files that stay open, and the sessions that have them.
    held: Vec<(FileId, Oplock)>,
    /// Breaks of opens that nobody knows yet: they came with the answer to the
    /// CREATE.
    early: Vec<OplockBreak>,
    /// Notifications so far.
    breaks: u64,
    due: VecDeque<Due>,
    sent: Vec<Sent>,
    next_tag: u32,
    /// What came of those that were answered before the load.
    settled: Vec<(Nanos, Acknowledged)>,
}

/// An acknowledgement that is to be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Due {
    pub(crate) session: SessionIndex,
    acknowledgement: BreakAcknowledgement,
    /// When it was first sent, if it was.
    since: Option<Nanos>,
}

/// One that waits for its answer.
#[derive(Debug)]
struct Sent {
    tag: u32,
    since: Nanos,
    due: Due,
}

/// The oplock of an open, and the session it is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Oplock {
    pub(crate) level: OplockLevel,
    pub(crate) session: SessionIndex,
}

/// The answer to an acknowledgement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answered {
    /// How long it took, and what came of it.
    Settled(Nanos, Acknowledged),
    /// The session has expired: to be sent again once that is mended.
    Expired(Due),
}

/// What came of agreeing to a break.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Acknowledged {
    /// The server confirmed.
    Confirmed,
    /// What had been granted was gone already: closed while the notification
    /// was on its way.
    Moot,
    /// The server did not accept it.
    Refused(NtStatus),
}

/// What a CREATE that was answered well was granted; `None` for everything
/// else.
pub(crate) fn granted(done: &Completion<'_>) -> Result<Option<Caching>, DecodeError> {
    if (done.command, done.status) != (Command::Create, NtStatus::SUCCESS) {
        return Ok(None);
    }
    let level = CreateResponse::decode(done.message())?.oplock_level;
    let lease = match level {
        OplockLevel::Lease => GrantedContexts::decode(done.message())?.lease,
        _ => None,
    };
    Ok(Some(Caching::granted(
        level,
        lease.map(|lease| lease.state),
    )))
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

    /// Takes over what another connection of the same sessions came to while it
    /// was set up. Nothing of that is in flight any more.
    pub(crate) fn absorb(&mut self, other: Self) {
        debug_assert!(other.sent.is_empty(), "its tags are ours as well");
        self.breaks += other.breaks;
        self.settled.extend(other.settled);
        self.due.extend(other.due);
        for broken in other.early {
            self.breaks -= 1;
            self.broken(&BreakNotification::Oplock(broken), |_| None);
        }
    }

    /// Whether opens ask for anything.
    pub(crate) fn is_on(&self) -> bool {
        self.asked != Caching::None
    }

    /// What an open of `object` by the client with this index asks for. All
    /// opens of one file by one client share a lease, so that no client has to
    /// wait for itself.
    pub(crate) fn request(
        &self,
        member: usize,
        object: Object,
    ) -> (OplockLevel, Option<CreateContext>) {
        let state = match self.asked {
            Caching::None => return (OplockLevel::None, None),
            Caching::Oplock(level) => return (level, None),
            Caching::Lease(state) => state,
        };
        let key = self.key(member, object);
        let context = if self.dialect >= Dialect::Smb30 {
            CreateContext::LeaseV2 {
                key,
                state,
                parent: None,
                epoch: 0,
            }
        } else {
            CreateContext::Lease { key, state }
        };
        (OplockLevel::Lease, Some(context))
    }

    fn key(&self, member: usize, object: Object) -> LeaseKey {
        let object = match object {
            Object::File(file) => u64::from(file),
            Object::Scratch(slot, name) => u64::from(slot) | (name as u64 + 1) << 32,
        };
        let low = object | (member as u64) << 40;
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

    /// Notifications since this was asked last.
    pub(crate) fn take_breaks(&mut self) -> u64 {
        std::mem::take(&mut self.breaks)
    }

    /// Keeps what came of an acknowledgement while no load is on.
    pub(crate) fn settle(&mut self, answered: Answered) {
        self.settled.push(match answered {
            Answered::Settled(took, outcome) => (took, outcome),
            Answered::Expired(_) => {
                let status = NtStatus::NETWORK_SESSION_EXPIRED;
                (Nanos(0), Acknowledged::Refused(status))
            }
        });
    }

    /// How long acknowledgements took before the load, and what came of them.
    pub(crate) fn take_settled(&mut self) -> Vec<(Nanos, Acknowledged)> {
        std::mem::take(&mut self.settled)
    }

    /// Takes a notification. `other` knows the session of an open that is not
    /// held, and what it has; what is left of that is kept there.
    pub(crate) fn broken<'a>(
        &mut self,
        notification: &BreakNotification,
        other: impl FnOnce(FileId) -> Option<(SessionIndex, &'a mut OplockLevel)>,
    ) {
        self.breaks += 1;
        let mut held = self.held.iter_mut();
        let due = match notification {
            // A lease is the client's, whichever session opened the file
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
        let is_same = |due: &Due| (due.session, due.acknowledgement) == (session, acknowledgement);
        if !self.due.iter().any(is_same) && self.due.len() + self.sent.len() < AT_ONCE {
            self.due.push_back(Due {
                session,
                acknowledgement,
                since: None,
            });
        }
    }

    /// Whether an acknowledgement waits to be sent.
    pub(crate) fn is_due(&self) -> bool {
        !self.due.is_empty()
    }

    /// Appends what is due, the oldest first, in sessions that take requests
    /// and as far as credits allow.
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
            let sent = connection.acknowledge(due.session, tag, &due.acknowledgement, out);
            if sent.is_err() {
                break;
            }
            self.due.remove(at);
            let since = due.since.unwrap_or(now);
            self.sent.push(Sent { tag, since, due });
            self.next_tag = tag.wrapping_add(1).max(FIRST_TAG);
        }
    }

    /// Has it sent again.
    pub(crate) fn put_back(&mut self, due: Due) {
        self.due.push_front(due);
    }

    /// Takes the answer to an acknowledgement; `None` when the tag is none of
    /// ours.
    pub(crate) fn answered(&mut self, tag: u32, status: NtStatus, now: Nanos) -> Option<Answered> {
        let at = self.sent.iter().position(|sent| sent.tag == tag)?;
        let Sent { since, due, .. } = self.sent.swap_remove(at);
        let outcome = match status {
            NtStatus::NETWORK_SESSION_EXPIRED => {
                let since = Some(since);
                return Some(Answered::Expired(Due { since, ..due }));
            }
            NtStatus::SUCCESS => Acknowledged::Confirmed,
            // Gone, or no longer breaking: another open under the same lease
            // was closed meanwhile (MS-SMB2 3.3.5.22.1, 3.3.5.22.2).
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
mod tests {
    use smbench_protocol::LeaseState;
    use smbench_protocol::command::oplock_break::{ACK_REQUIRED, LeaseBreak};

    use super::*;

    fn cache(asked: Caching, dialect: Dialect) -> Cache {
        Cache::new(asked, dialect, 7)
    }

    fn oplock_break(level: OplockLevel) -> BreakNotification {
        BreakNotification::Oplock(OplockBreak {
            file_id: FileId::default(),
            level,
        })
    }

    fn lease_break(flags: u32) -> BreakNotification {
        BreakNotification::Lease(LeaseBreak {
            key: LeaseKey([9; 16]),
            current: LeaseState::RWH,
            new: LeaseState::RH,
            flags,
            epoch: 2,
        })
    }

    #[test]
    fn each_dialect_has_its_lease() {
        let asked = Caching::Lease(LeaseState::RH);
        for (dialect, is_v2) in [
            (Dialect::Smb21, false),
            (Dialect::Smb30, true),
            (Dialect::Smb311, true),
        ] {
            let (level, context) = cache(asked, dialect).request(0, Object::File(0));
            assert_eq!(level, OplockLevel::Lease);
            assert_eq!(
                matches!(context, Some(CreateContext::LeaseV2 { .. })),
                is_v2,
                "{dialect}"
            );
        }
        let none = cache(Caching::None, Dialect::Smb311);
        assert_eq!(none.request(0, Object::File(0)), (OplockLevel::None, None));
        let batch = cache(Caching::Oplock(OplockLevel::Batch), Dialect::Smb202);
        assert_eq!(
            batch.request(0, Object::File(0)),
            (OplockLevel::Batch, None)
        );
    }

    #[test]
    fn no_two_files_share_a_lease() {
        let cache = cache(Caching::Lease(LeaseState::R), Dialect::Smb311);
        let mut keys = std::collections::HashSet::new();
        for member in 0..3 {
            for index in 0..3 {
                assert!(keys.insert(cache.key(member, Object::File(index))));
                for name in ScratchName::ALL {
                    assert!(keys.insert(cache.key(member, Object::Scratch(index, name))));
                }
            }
        }
    }

    #[test]
    fn only_what_the_server_waits_for_is_acknowledged() {
        let mut cache = cache(Caching::None, Dialect::Smb311);
        for (held, is_due) in [
            (OplockLevel::None, false),
            (OplockLevel::LevelII, false),
            (OplockLevel::Exclusive, true),
            (OplockLevel::Batch, true),
        ] {
            let mut level = held;
            cache.broken(&oplock_break(OplockLevel::LevelII), |_| {
                Some((SessionIndex::FIRST, &mut level))
            });
            assert_eq!(cache.is_due(), is_due, "{held:?}");
            assert_eq!(level, OplockLevel::LevelII);
            cache.due.clear();
        }
        cache.broken(&oplock_break(OplockLevel::None), |_| None);
        cache.broken(&lease_break(0), |_| None);
        assert!(!cache.is_due());
        // However often it is told.
        for _ in 0..3 {
            cache.broken(&lease_break(ACK_REQUIRED), |_| None);
        }
        assert_eq!(cache.due.len(), 1);
    }

    /// The notification may come in one piece with the answer to the CREATE,
    /// before anyone has read what that says.
    #[test]
    fn a_break_that_comes_early_is_acknowledged_once_the_open_is_known() {
        let mut cache = cache(Caching::Oplock(OplockLevel::Batch), Dialect::Smb311);
        cache.broken(&oplock_break(OplockLevel::LevelII), |_| None);
        assert!(!cache.is_due());
        let oplock = Oplock {
            session: SessionIndex::FIRST,
            level: OplockLevel::Batch,
        };
        cache.hold(FileId::default(), oplock);
        assert!(cache.is_due());
        assert_eq!(cache.take_breaks(), 1);
        assert!(cache.early.is_empty());
    }

    /// What a further connection heard while it was set up is not lost.
    #[test]
    fn breaks_on_another_connection_are_taken_over() {
        let mut first = cache(Caching::Oplock(OplockLevel::Batch), Dialect::Smb311);
        let oplock = Oplock {
            session: SessionIndex::FIRST,
            level: OplockLevel::Batch,
        };
        first.hold(FileId::default(), oplock);
        let mut further = cache(Caching::None, Dialect::Smb311);
        further.broken(&oplock_break(OplockLevel::LevelII), |_| None);
        further.broken(&lease_break(ACK_REQUIRED), |_| None);
        let refused = Acknowledged::Refused(NtStatus::ACCESS_DENIED);
        further.settle(Answered::Settled(Nanos(3), refused));
        first.absorb(further);
        assert_eq!(first.take_breaks(), 2);
        assert_eq!(first.take_settled(), [(Nanos(3), refused)]);
        assert_eq!(first.due.len(), 2);
    }

    #[test]
    fn what_expired_is_sent_again_before_the_rest() {
        let mut cache = cache(Caching::None, Dialect::Smb311);
        for number in 0..3 {
            let mut broken = lease_break(ACK_REQUIRED);
            if let BreakNotification::Lease(lease) = &mut broken {
                lease.key = LeaseKey([number; 16]);
            }
            cache.broken(&broken, |_| None);
        }
        let due: Vec<_> = cache.due.iter().copied().collect();
        // The oldest first.
        cache.due.pop_front();
        cache.sent.push(Sent {
            tag: FIRST_TAG,
            since: Nanos(4),
            due: due[0],
        });
        let expired = NtStatus::NETWORK_SESSION_EXPIRED;
        let Some(Answered::Expired(again)) = cache.answered(FIRST_TAG, expired, Nanos(9)) else {
            panic!("nothing was agreed to");
        };
        assert_eq!(again.since, Some(Nanos(4)));
        cache.put_back(again);
        assert!(cache.due.iter().skip(1).eq(&due[1..]));
        assert_eq!(cache.due[0], again);
    }

    #[test]
    fn answers_are_told_apart() {
        let mut cache = cache(Caching::None, Dialect::Smb311);
        let due = Due {
            session: SessionIndex::FIRST,
            acknowledgement: BreakAcknowledgement::Oplock {
                file_id: FileId::default(),
                level: OplockLevel::None,
            },
            since: None,
        };
        let statuses = [
            NtStatus::SUCCESS,
            NtStatus::FILE_CLOSED,
            NtStatus::ACCESS_DENIED,
        ];
        for (tag, status) in (FIRST_TAG..).zip(statuses) {
            cache.sent.push(Sent {
                tag,
                since: Nanos(5),
                due,
            });
            let outcome = match status {
                NtStatus::SUCCESS => Acknowledged::Confirmed,
                NtStatus::FILE_CLOSED => Acknowledged::Moot,
                _ => Acknowledged::Refused(status),
            };
            let answered = cache.answered(tag, status, Nanos(12));
            assert_eq!(answered, Some(Answered::Settled(Nanos(7), outcome)));
            assert!(cache.answered(tag, status, Nanos(12)).is_none());
        }
        assert!(cache.sent.is_empty());
    }
}
