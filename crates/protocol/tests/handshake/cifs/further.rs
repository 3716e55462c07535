//! Further sessions of a connection, and re-authentication.

use smbench_protocol::cifs::CifsEvent;
use smbench_protocol::cifs::handshake::{CifsSetup, CifsSetupProgress};

use super::*;

/// A set-up on a connection that has a session.
struct FurtherCifs {
    connection: CifsConnection,
    setup: CifsSetup,
    asked: CifsHeader,
}

const TAG: u32 = 77;

impl FurtherCifs {
    fn start(config: SessionConfig, mut connection: CifsConnection) -> Self {
        let mut out = Vec::new();
        let setup = CifsSetup::start(config, &mut connection, TAG, &mut out).expect("room");
        let asked = parse(&out).0;
        Self {
            connection,
            setup,
            asked,
        }
    }

    /// Begins the re-authentication of the first session.
    fn renew() -> Self {
        let mut connection = ready_with_extended_security();
        let mut out = Vec::new();
        let first = SessionIndex::FIRST;
        let setup = CifsSetup::renew(anonymous(), first, &mut connection, TAG, &mut out);
        let asked = parse(&out).0;
        assert_eq!(
            (asked.command, asked.uid),
            (CifsCommand::SessionSetupAndX, 0x51)
        );
        Self {
            connection,
            setup: setup.expect("room"),
            asked,
        }
    }

    fn answer(
        &mut self,
        alter: impl FnOnce(&mut CifsHeader),
        body: &[u8],
    ) -> Result<CifsSetupProgress, HandshakeError> {
        let message = answer_to(&self.asked, alter, body);
        let Self {
            connection, setup, ..
        } = self;
        let mut out = Vec::new();
        let progress = framed(&message, |message| match connection.receive(message)? {
            CifsEvent::Completed(done) => {
                assert_eq!(done.tag, TAG);
                setup.receive(connection, &done, &mut out)
            }
            other => panic!("{other:?}"),
        });
        if !out.is_empty() {
            self.asked = parse(&out).0;
        }
        progress
    }
}

#[test]
fn a_further_session_has_its_own_ids() {
    let mut further = FurtherCifs::start(config(), ready(config()));
    // A new session has no UID yet.
    assert_eq!((further.asked.uid, further.asked.tid), (0, 0));
    let progress = further.answer(|header| header.uid = 0x52, &session_setup(IS_GUEST));
    assert!(matches!(progress, Ok(CifsSetupProgress::NotYet)));
    assert_eq!((further.asked.uid, further.asked.tid), (0x52, 0));
    let progress = further.answer(|header| header.tid = 10, &tree_connect(DISK));
    let second = further.setup.session();
    assert!(matches!(progress, Ok(CifsSetupProgress::Ready(session)) if session == second));
    let mut out = Vec::new();
    let connection = &mut further.connection;
    for (session, ids) in [(SessionIndex::FIRST, (0x51, 9)), (second, (0x52, 10))] {
        out.clear();
        connection.echo(session, 1, &mut out).expect("room");
        let header = parse(&out).0;
        assert_eq!((header.uid, header.tid), ids);
    }
}

#[test]
fn a_failed_session_leaves_the_others() {
    let mut further = FurtherCifs::start(config(), ready(config()));
    let failed = further.setup.session();
    let error = further.answer(refuse, &[0, 0, 0]).unwrap_err();
    assert!(matches!(error, HandshakeError::Refused { .. }), "{error}");
    // The next session gets the place of the failed one.
    let further = FurtherCifs::start(config(), further.connection);
    assert_eq!(further.setup.session(), failed);
}

#[test]
fn no_session_begins_without_room_for_a_request() {
    let mut connection = ready(config());
    let mut out = Vec::new();
    for tag in 0..connection.room() as u32 {
        connection
            .echo(SessionIndex::FIRST, tag, &mut out)
            .expect("room");
    }
    out.clear();
    let refused = CifsSetup::start(config(), &mut connection, TAG, &mut out);
    assert!(matches!(refused.err(), Some(HandshakeError::NoCredit(_))));
    assert!(out.is_empty());
}

#[test]
fn no_session_is_renewed_without_extended_security() {
    let mut connection = ready(config());
    let mut out = Vec::new();
    let first = SessionIndex::FIRST;
    let refused = CifsSetup::renew(config(), first, &mut connection, TAG, &mut out);
    assert!(matches!(refused.err(), Some(HandshakeError::NoRenewal)));
    assert!(out.is_empty() && connection.in_flight() == 0);
}

#[test]
fn a_renewed_session_keeps_its_ids() {
    let mut renewed = FurtherCifs::renew();
    let progress = renewed.answer(|_| {}, &EXTENDED_SETUP);
    let first = SessionIndex::FIRST;
    assert!(matches!(progress, Ok(CifsSetupProgress::Ready(session)) if session == first));
    let mut out = Vec::new();
    renewed.connection.echo(first, 1, &mut out).expect("room");
    let header = parse(&out).0;
    assert_eq!((header.uid, header.tid), (0x51, 9));
}

#[test]
fn a_renewal_is_of_the_session_that_was_asked_for() {
    let error = FurtherCifs::renew()
        .answer(|header| header.uid = 0x52, &EXTENDED_SETUP)
        .unwrap_err();
    let is_other = matches!(error, HandshakeError::Protocol(ProtocolError::NotAResponse));
    assert!(is_other, "{error}");
    let error = FurtherCifs::renew().answer(refuse, &[0, 0, 0]).unwrap_err();
    assert_eq!(
        error.to_string(),
        "SESSION_SETUP refused with STATUS_ACCESS_DENIED"
    );
}
