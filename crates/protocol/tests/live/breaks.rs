//! Leases and oplocks that another client breaks, and requests that wait and
//! are cancelled.

use std::time::Duration;

use smbench_lab::{EmbeddedOptions, EmbeddedServer};
use smbench_protocol::command::change_notify::{
    ChangeNotifyRequest, ChangeNotifyResponse, completion_filter,
};
use smbench_protocol::command::create::{CreateRequest, CreateResponse, OplockLevel};
use smbench_protocol::command::create_context::{CreateContext, GrantedContexts};
use smbench_protocol::command::lease::{LeaseKey, LeaseState};
use smbench_protocol::command::oplock_break::{BreakNotification, OplockBreak};
use smbench_protocol::header::Command;
use smbench_protocol::{Dialect, FileId, NtStatus, SessionIndex};

use crate::peer::{Peer, Site, file, name, root};
use crate::{SHIELDS, Shield, samba};

fn lease(site: &Site, shield: Shield, n: u8) {
    let (mut first, mut second) = (Peer::open(site, shield), Peer::open(site, shield));
    let file_name = name("leased");
    let (key, state) = (LeaseKey([n; 16]), LeaseState::RWH);
    let context = match shield.dialect {
        Dialect::Smb21 => CreateContext::Lease { key, state },
        _ => CreateContext::LeaseV2 {
            key,
            state,
            parent: None,
            epoch: 1,
        },
    };
    let request = CreateRequest {
        oplock: OplockLevel::Lease,
        ..file(&file_name, std::slice::from_ref(&context))
    };
    let answer = first.call(Command::Create, |out| request.encode(out));
    let message = answer.success("CREATE with a lease");
    let opened = CreateResponse::decode(&message).unwrap();
    let granted = GrantedContexts::decode(&message).unwrap().lease.unwrap();
    assert_eq!((granted.key, granted.state), (key, state), "{shield:?}");
    assert_eq!(granted.epoch.is_some(), shield.dialect > Dialect::Smb21);

    let other = second.send(Command::Create, |out| file(&file_name, &[]).encode(out));
    let BreakNotification::Lease(broken) = first.broken() else {
        panic!("the lease breaks");
    };
    assert_eq!((broken.key, broken.current), (key, state));
    assert_eq!(broken.new, LeaseState::RH);
    second.pending(other);

    let tag = first.tag();
    let acknowledgement = broken.acknowledgement().unwrap();
    first
        .connection
        .acknowledge(SessionIndex::FIRST, tag, &acknowledgement, &mut first.out)
        .unwrap();
    first.flush();
    first.answer(tag).success("the acknowledgement");
    let message = second.answer(other).success("the CREATE that broke it");
    second.close(CreateResponse::decode(&message).unwrap().file_id);
    first.close(opened.file_id);
}

fn oplock(site: &Site, shield: Shield) {
    let (mut first, mut second) = (Peer::open(site, shield), Peer::open(site, shield));
    let file_name = name("oplocked");
    let opened = first.create(CreateRequest {
        oplock: OplockLevel::Batch,
        ..file(&file_name, &[])
    });
    assert_eq!(opened.oplock_level, OplockLevel::Batch, "{shield:?}");

    let other = second.send(Command::Create, |out| file(&file_name, &[]).encode(out));
    let (file_id, level) = (opened.file_id, OplockLevel::LevelII);
    let expected = OplockBreak { file_id, level };
    assert_eq!(first.broken(), BreakNotification::Oplock(expected));
    let tag = first.tag();
    first
        .connection
        .acknowledge(
            SessionIndex::FIRST,
            tag,
            &expected.acknowledgement(),
            &mut first.out,
        )
        .unwrap();
    first.flush();
    first.answer(tag).success("the acknowledgement");
    let message = second.answer(other).success("the CREATE that broke it");
    second.close(CreateResponse::decode(&message).unwrap().file_id);
    first.close(file_id);
}

#[test]
fn two_clients_want_one_file() {
    let Some(server) = samba() else { return };
    let site = Site::from(&server);
    for (n, shield) in (1..).zip(SHIELDS) {
        lease(&site, shield, n);
        oplock(&site, shield);
    }
}

fn watch(directory: FileId) -> ChangeNotifyRequest {
    ChangeNotifyRequest {
        directory,
        flags: 0,
        completion_filter: completion_filter::ALL,
        output_length: 4096,
    }
}

/// Cancels by message id before an interim answer, and by async id after one.
fn cancelled(site: &Site, shield: Shield) {
    let mut peer = Peer::open(site, shield);
    let nothing = name("");
    let directory = peer.create(root(&nothing)).file_id;
    for wait in [false, true] {
        let tag = peer.send(Command::ChangeNotify, |out| watch(directory).encode(out));
        if wait {
            peer.pending(tag);
        }
        peer.connection.cancel(tag, &mut peer.out).unwrap();
        peer.flush();
        let answer = peer.answer(tag);
        assert_eq!(answer.status, NtStatus::CANCELLED, "{shield:?} {wait}");
        assert!(peer.connection.cancel(tag, &mut peer.out).is_err());
    }
    peer.close(directory);
    assert_eq!(peer.connection.in_flight(), 0);
}

/// A client that watches a directory gets the names of new files.
fn noticed(site: &Site, shield: Shield, new: &str) {
    let mut peer = Peer::open(site, shield);
    let nothing = name("");
    let directory = peer.create(root(&nothing)).file_id;
    let tag = peer.send(Command::ChangeNotify, |out| watch(directory).encode(out));
    peer.pending(tag);
    // Samba forwards changes through a daemon and sometimes loses one. Then the
    // request gets no answer, so the test makes another file.
    let answer = (0..20).find_map(|n| {
        peer.create(file(&name(&format!("{new}-{n}")), &[]));
        peer.answer_within(tag, Duration::from_secs(1))
    });
    let message = answer.unwrap().success("CHANGE_NOTIFY");
    let response = ChangeNotifyResponse::decode(&message).unwrap();
    let mut fields = response.data.windows(6);
    assert!(fields.any(|field| field == b"n\0e\0w\0"), "{response:?}");
}

fn check(site: &Site) {
    for (n, shield) in SHIELDS.into_iter().enumerate() {
        cancelled(site, shield);
        noticed(site, shield, &format!("new-{n}"));
    }
}

#[test]
fn notifications_come_or_are_cancelled() {
    let Some(server) = samba() else { return };
    check(&Site::from(&server));
}

#[test]
fn notifications_on_the_embedded_server() {
    let server = EmbeddedServer::start(EmbeddedOptions::default()).unwrap();
    check(&Site::from(&server));
}
