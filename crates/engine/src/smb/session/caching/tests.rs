use smbench_model::files::ScratchName;
use smbench_protocol::command::lease::LeaseState;
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
        let (level, context) = cache(asked, dialect).request(0, Object::File(0), None);
        assert_eq!(level, OplockLevel::Lease);
        assert_eq!(
            matches!(context, Some(CreateContext::LeaseV2 { .. })),
            is_v2,
            "{dialect}"
        );
    }
    let none = cache(Caching::None, Dialect::Smb311);
    assert_eq!(
        none.request(0, Object::File(0), None),
        (OplockLevel::None, None)
    );
    let batch = cache(Caching::Oplock(OplockLevel::Batch), Dialect::Smb202);
    assert_eq!(
        batch.request(0, Object::File(0), None),
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
            assert!(keys.insert(cache.key(member, Object::Directory(index))));
            assert!(keys.insert(cache.key(member, Object::Copy(u32::MAX - index))));
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
    // Repeated notifications give one acknowledgement.
    for _ in 0..3 {
        cache.broken(&lease_break(ACK_REQUIRED), |_| None);
    }
    assert_eq!(cache.due.len(), 1);
}

/// The notification may arrive together with the answer to the CREATE, before the
/// client has read that answer.
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

/// Breaks that a further connection received during its set-up are not lost.
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
    // Only the oldest is sent.
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
fn answers_are_distinguished() {
    let mut cache = cache(Caching::None, Dialect::Smb311);
    let due = DueAcknowledgement {
        session: SessionIndex::FIRST,
        owed: Owed::Acknowledgement(BreakAcknowledgement::Oplock {
            file_id: FileId::default(),
            level: OplockLevel::None,
        }),
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

#[test]
fn a_file_names_the_lease_of_its_directory_and_the_directory_names_none() {
    let cache = cache(Caching::DirectoryLease(LeaseState::RH), Dialect::Smb311);
    let parent_of = |object, parent| match cache.request(2, object, parent) {
        (
            OplockLevel::Lease,
            Some(CreateContext::LeaseV2 {
                key, state, parent, ..
            }),
        ) => {
            assert_eq!((key, state), (cache.key(2, object), LeaseState::RH));
            parent
        }
        other => panic!("{other:?}"),
    };
    let directory = Object::Directory(5);
    assert_eq!(parent_of(directory, None), None);
    let named = parent_of(Object::File(1), Some(5));
    assert_eq!(named, Some(cache.key(2, directory)));
    assert_eq!(parent_of(Object::Copy(1), None), None);
}

#[test]
fn a_directory_is_closed_after_the_acknowledgement_of_its_break() {
    let mut cache = cache(Caching::DirectoryLease(LeaseState::RH), Dialect::Smb311);
    cache.broken(&lease_break(ACK_REQUIRED), |_| None);
    cache.close(SessionIndex::FIRST, FileId::default());
    let owed: Vec<_> = cache.due.iter().map(|due| due.owed).collect();
    assert!(
        matches!(owed[..], [Owed::Acknowledgement(_), Owed::Close(_)]),
        "{owed:?}"
    );
    for (status, answered) in [
        (NtStatus::SUCCESS, Answered::Closed(Nanos(7))),
        (
            NtStatus::ACCESS_DENIED,
            Answered::Settled(Nanos(7), Acknowledged::Refused(NtStatus::ACCESS_DENIED)),
        ),
    ] {
        cache.sent.push(Sent {
            tag: FIRST_TAG,
            since: Nanos(3),
            due: cache.due[1],
        });
        assert_eq!(cache.answered(FIRST_TAG, status, Nanos(10)), Some(answered));
    }
}
