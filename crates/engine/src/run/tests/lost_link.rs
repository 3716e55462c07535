//! Groups whose connections are cut under load, and that set up new ones.

mod cutter;
mod load;

use std::net::TcpListener;
use std::sync::Arc;
use std::time::Duration;

use smbench_formats::profile;
use smbench_lab::{EmbeddedOptions, EmbeddedServer, SambaOptions, ScratchSamba};
use smbench_model::Nanos;
use smbench_model::contents::Verify;
use smbench_model::operations::Mix;
use smbench_model::record::{EventKind, OperationFailure, Tally};
use smbench_model::sessions::Mode;
use smbench_model::spec::{RunOptions, SessionsSpec, WorkSpec};
use smbench_protocol::{Dialect, NtStatus};

use super::plan;
use super::worker::prepared;
use crate::drivers::cifs::Cifs;
use crate::drivers::cifs::mix::CifsMix;
use crate::drivers::driver::{Connector as _, Driver as _};
use crate::drivers::remains::{Reopening, SessionRemains};
use crate::drivers::site_connect::SiteConnect;
use crate::machine::cancel::Cancel;
use crate::machine::runtime;
use crate::run::site;
use cutter::{After, Server};
use load::{Cuts, cut, cut_within};

fn options(work: WorkSpec, sessions: SessionsSpec) -> RunOptions {
    RunOptions {
        work: WorkSpec {
            file_size: Some("256KiB".parse().unwrap()),
            ..work
        },
        sessions,
        ..RunOptions::default()
    }
}

/// Each operation is answered once, or is counted as lost once, and nothing else fails.
fn check_cuts(server: &Server, sessions: &SessionsSpec, connections: usize, groups: usize) {
    const CUTS: usize = 3;
    for (outstanding, verify) in [(1, Verify::Off), (16, Verify::ReadBack)] {
        let work = WorkSpec {
            outstanding: Some(outstanding),
            verify: Some(verify),
            ..WorkSpec::default()
        };
        let options = options(work, sessions.clone());
        let after = cut(server, "file-server", &options, CUTS);
        let Cuts { tally, outcome, .. } = &after;
        assert_eq!(outcome.dropouts, []);
        assert_eq!(after.connections, connections * (CUTS + 1));
        let failures = tally.failures();
        let mut causes = failures.keys().map(|(_, cause)| *cause);
        assert!(
            causes.all(|cause| cause == OperationFailure::Lost),
            "{failures:?}"
        );
        let lost: u64 = failures.values().sum();
        assert_eq!(lost, tally.errors());
        let losses = tally.losses().after(None).unwrap();
        assert_eq!(losses.failed, lost);
        assert_eq!(
            losses.blackout.get().len() + losses.still_away(),
            losses.clients
        );
        // Of each cut at least one client had an operation in flight.
        let unanswered = lost + losses.repeated.unsigned_abs();
        assert!(unanswered >= CUTS as u64, "{unanswered}");
        assert!(
            unanswered <= CUTS as u64 * 2 * u64::from(outstanding),
            "{unanswered}"
        );
        let unsent = u64::from(outcome.figures.unsent);
        assert_eq!(after.drawn, tally.carried_out() + unsent);
        check_events(tally, groups, CUTS);
    }
}

#[test]
fn a_cut_group_continues_in_new_sessions() {
    let server = EmbeddedServer::start(EmbeddedOptions::default()).unwrap();
    check_cuts(&(&server).into(), &SessionsSpec::default(), 2, 2);
    let shared = SessionsSpec {
        sessions_per_connection: Some(2),
        ..SessionsSpec::default()
    };
    check_cuts(&(&server).into(), &shared, 1, 1);
}

#[test]
fn so_does_one_with_signed_encrypted_and_bound_connections() {
    let Some(samba) = ScratchSamba::or_skip(SambaOptions::default()) else {
        return;
    };
    let encrypted = SessionsSpec {
        encrypt: Some(Mode::Required),
        ..SessionsSpec::default()
    };
    check_cuts(&(&samba).into(), &encrypted, 2, 2);
    let bound = SessionsSpec {
        sign: Some(Mode::Required),
        connections_per_session: Some(2),
        ..SessionsSpec::default()
    };
    check_cuts(&(&samba).into(), &bound, 4, 2);
}

/// Each group lost its connection and got another one, in turn.
fn check_events(tally: &Tally, groups: usize, cuts: usize) {
    let events = tally.events();
    assert_eq!(events.left_out(), 0);
    assert!(events.kept().is_sorted());
    for kind in [EventKind::LinkLost, EventKind::LinkBack] {
        let of_kind = events.kept().iter().filter(|event| event.kind == kind);
        let clients: u32 = of_kind.clone().map(|event| event.clients).sum();
        assert_eq!(of_kind.count(), groups * cuts, "{kind:?}");
        assert_eq!(clients as usize, 2 * cuts, "{kind:?}");
    }
    assert!(events.kept()[0].at > Nanos(0));
}

/// Actions under way have lost their opens: no request names an open of an old session.
#[test]
fn actions_under_way_end_with_their_session() {
    let work = WorkSpec {
        outstanding: Some(8),
        ..WorkSpec::default()
    };
    let server = EmbeddedServer::start(EmbeddedOptions::default()).unwrap();
    let options = options(work, SessionsSpec::default());
    let after = cut(&(&server).into(), "metadata", &options, 5);
    let Cuts { tally, outcome, .. } = &after;
    assert_eq!(outcome.dropouts, []);
    let failures = tally.failures();
    let mut causes = failures.keys().map(|(_, cause)| *cause);
    // An action that ended early may leave the file that it made. The next one of its slot
    // then makes it again.
    let collision = OperationFailure::Status(NtStatus::OBJECT_NAME_COLLISION);
    assert!(
        causes.all(|cause| cause == OperationFailure::Lost || cause == collision),
        "{failures:?}"
    );
    assert!(tally.errors() > 0);
    check_events(tally, 2, 5);
}

/// A server that takes no connection any more ends the group when its time is up.
#[test]
fn a_group_without_a_server_drops_out() {
    let server = EmbeddedServer::start(EmbeddedOptions::default()).unwrap();
    let options = options(WorkSpec::default(), SessionsSpec::default());
    let limit = Duration::from_millis(200);
    let server = (&server).into();
    let after = cut_within(limit, After::Refuse, &server, "file-server", &options, 1);
    let Cuts { tally, outcome, .. } = &after;
    assert_eq!(outcome.dropouts.len(), 2);
    let expected =
        "the server closed the connection, and no new session could be set up within 200ms: ";
    for dropout in &outcome.dropouts {
        assert!(dropout.reason.starts_with(expected), "{}", dropout.reason);
    }
    let kinds = tally.events().kept().iter().map(|event| event.kind);
    assert!(kinds.eq([EventKind::LinkLost; 2]));
}

/// In CIFS as in SMB2, clients look the name of a server up again when its address has changed.
#[test]
fn clients_of_cifs_find_a_changed_address() {
    let Some(samba) = ScratchSamba::or_skip(SambaOptions {
        extra_global: vec![ScratchSamba::CIFS.to_owned()],
        ..SambaOptions::default()
    }) else {
        return;
    };
    let sessions = SessionsSpec {
        dialect: Some(Dialect::Cifs.into()),
        reconnect: Some(Duration::from_secs(60)),
        ..SessionsSpec::default()
    };
    let options = options(WorkSpec::default(), sessions);
    let profile = profile::load("file-server").unwrap();
    let plan = plan(&samba.url(), samba.password(), &profile, &options);
    let plan = Arc::new(plan);
    let mix = Mix::new(&plan.only().workload);
    let cancel = Cancel::default();
    runtime::local().unwrap().block_on(async {
        let (workspace, now) = prepared(&plan, &mix, &cancel).await;
        // Nobody listens at its address of before.
        let gone = TcpListener::bind("127.0.0.1:0").unwrap().local_addr();
        let before = site::site(
            &plan,
            &mix,
            now.endpoint.at_address(gone.unwrap()),
            None,
            now.directory.clone(),
            now.files_in.clone(),
            now.salt,
        );
        let connector = SiteConnect::<Cifs<CifsMix>>::new(before);
        let again = |attempt| Reopening {
            before: SessionRemains::default(),
            attempt,
        };
        assert!(connector.reopen(&[0], &again(0)).await.is_err());
        let opened = connector.reopen(&[0], &again(1)).await.unwrap();
        opened.driver.close().await;
        workspace.remove().await.unwrap();
    });
}
