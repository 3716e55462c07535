//! Log-ons of every kind, with and without extended security, and re-authentication.

use smbench_lab::{SambaShare, ShareAccess};

use super::*;

/// Bit of SMB_FLAGS2_EXTENDED_SECURITY in the second byte of Flags2 of the first frame.
const FLAGS2_HIGH_AT: usize = 4 + 11;
const EXTENDED_SECURITY: u8 = 0x08;

/// Starts a Samba that lets guests in, and accepts NTLMv2 without extended security.
fn open_samba(signing: &str) -> Option<ScratchSamba> {
    let samba = ScratchSamba::or_skip(SambaOptions {
        extra_global: vec![
            ScratchSamba::CIFS.to_owned(),
            format!("server signing = {signing}"),
            "map to guest = bad user".to_owned(),
            "raw NTLMv2 auth = yes".to_owned(),
        ],
        shares: vec![SambaShare {
            name: "open".to_owned(),
            access: ShareAccess::ReadWrite,
            lines: ["guest ok = yes", "valid users ="]
                .map(str::to_owned)
                .to_vec(),
        }],
        ..SambaOptions::default()
    })?;
    samba.open_to_all("open").unwrap();
    Some(samba)
}

/// The security that the client asks for in NEGOTIATE.
#[derive(Clone, Copy, Debug)]
enum Security {
    Extended,
    Plain,
}

fn open(
    server: &ScratchSamba,
    security: Security,
    signing: Policy,
    credentials: Credentials,
) -> Result<CifsPeer, HandshakeError> {
    let config = SessionConfig {
        credentials,
        share: "open".to_owned(),
        ..config(server, signing)
    };
    CifsPeer::altered(server, config, |request| match security {
        Security::Extended => {}
        Security::Plain => request[FLAGS2_HIGH_AT] &= !EXTENDED_SECURITY,
    })
}

fn nobody() -> Account {
    Account {
        domain: String::new(),
        user: "unknown".to_owned(),
        password: "whatever".to_owned(),
    }
}

fn known(server: &ScratchSamba) -> Account {
    Account {
        domain: String::new(),
        user: server.user().to_owned(),
        password: server.password().to_owned(),
    }
}

fn is_alive(peer: &mut CifsPeer) {
    let file = peer.create(&new_file(&name("alive"))).file;
    peer.close(file);
    peer.expect(CifsCommand::Delete, |out| {
        delete(&name("alive"), out);
    });
}

#[test]
fn each_kind_of_log_on_is_accepted_with_either_security() {
    let Some(samba) = open_samba("auto") else {
        return;
    };
    for security in [Security::Extended, Security::Plain] {
        let open = |credentials| open(&samba, security, Policy::AsServerRequires, credentials);
        for (credentials, logon) in [
            (Credentials::Ntlm(known(&samba)), Logon::Ntlm),
            (Credentials::Guest(nobody()), Logon::Guest),
            (Credentials::Anonymous, Logon::Anonymous),
        ] {
            let what = format!("{credentials:?} {security:?}");
            let mut peer = open(credentials).unwrap_or_else(|error| panic!("{what}: {error}"));
            assert_eq!(peer.connection.logon(peer.session), logon, "{what}");
            assert!(!peer.connection.is_signed(), "{what}");
            is_alive(&mut peer);
        }
        for (credentials, message) in [
            (
                Credentials::Ntlm(nobody()),
                "the server does not know the user and offers a guest session instead",
            ),
            (
                Credentials::Guest(known(&samba)),
                "the server knows the user and gives more rights than a guest's, which were asked for",
            ),
            (
                Credentials::Ntlm(Account {
                    password: "wrong".to_owned(),
                    ..known(&samba)
                }),
                "SESSION_SETUP refused with STATUS_LOGON_FAILURE",
            ),
        ] {
            let error = open(credentials).map(drop).unwrap_err();
            assert_eq!(error.to_string(), message, "{security:?}");
        }
    }
}

/// Samba 4.17 has no key for signatures without extended security. It flags its answer as
/// signed all the same.
#[test]
fn a_log_on_whose_answer_is_not_signed_as_it_should_be_is_refused() {
    for (of_server, signing) in [
        ("auto", Policy::Required),
        ("mandatory", Policy::AsServerRequires),
    ] {
        let Some(samba) = open_samba(of_server) else {
            return;
        };
        let credentials = Credentials::Ntlm(known(&samba));
        let error = open(&samba, Security::Plain, signing, credentials);
        assert_eq!(
            error.map(drop).unwrap_err().to_string(),
            "a SESSION_SETUP_ANDX answer whose signature is missing or wrong"
        );
    }
}

#[test]
fn who_has_no_key_does_not_sign() {
    let Some(samba) = open_samba("mandatory") else {
        return;
    };
    for security in [Security::Extended, Security::Plain] {
        for credentials in [Credentials::Guest(nobody()), Credentials::Anonymous] {
            let what = format!("{credentials:?} {security:?}");
            let error = open(&samba, security, Policy::Required, credentials.clone());
            let error = error.map(drop).unwrap_err();
            assert!(
                matches!(error, HandshakeError::CannotSign(_)),
                "{what}: {error}"
            );
            let mut peer = open(&samba, security, Policy::AsServerRequires, credentials)
                .unwrap_or_else(|error| panic!("{what}: {error}"));
            assert!(!peer.connection.is_signed());
            peer.connection
                .echo(peer.session, 7, &mut peer.out)
                .unwrap();
            assert_eq!(peer.answer(7).status, NtStatus::SUCCESS, "{what}");
        }
    }
}

#[test]
fn a_session_keeps_its_files_when_it_is_authenticated_again() {
    for (of_server, signing) in [
        ("auto", Policy::AsServerRequires),
        ("auto", Policy::Required),
    ] {
        let Some(samba) = open_samba(of_server) else {
            return;
        };
        let credentials = Credentials::Ntlm(known(&samba));
        let mut peer = open(&samba, Security::Extended, signing, credentials).unwrap();
        let file = peer.create(&new_file(&name("kept"))).file;
        let session = peer.session;
        let renew = |peer: &mut CifsPeer, config| {
            let setup = CifsSetup::renew(config, session, &mut peer.connection, 5, &mut peer.out);
            let renewed = peer.set_up(setup.unwrap());
            renewed.map(|renewed| assert_eq!(renewed, session))
        };
        renew(&mut peer, config(&samba, signing)).unwrap();
        peer.expect(CifsCommand::Flush, |out| encode_flush(file, out));
        peer.close(file);
        let wrong = SessionConfig {
            credentials: Credentials::Ntlm(Account {
                password: "wrong".to_owned(),
                ..known(&samba)
            }),
            ..config(&samba, signing)
        };
        let error = renew(&mut peer, wrong).unwrap_err();
        assert_eq!(
            error.to_string(),
            "SESSION_SETUP refused with STATUS_LOGON_FAILURE"
        );
    }
    // Without extended security there is no second log-on for a session.
    let Some(samba) = open_samba("auto") else {
        return;
    };
    let credentials = Credentials::Ntlm(known(&samba));
    let peer = open(
        &samba,
        Security::Plain,
        Policy::AsServerRequires,
        credentials,
    );
    let mut peer = peer.unwrap();
    let config = config(&samba, Policy::AsServerRequires);
    let refused = CifsSetup::renew(config, peer.session, &mut peer.connection, 5, &mut peer.out);
    assert!(matches!(refused.err(), Some(HandshakeError::NoRenewal)));
}

#[test]
fn a_session_with_other_rights_is_logged_off() {
    let Some(samba) = open_samba("auto") else {
        return;
    };
    let first = Credentials::Ntlm(known(&samba));
    let mut peer = open(&samba, Security::Extended, Policy::AsServerRequires, first).unwrap();
    let config = SessionConfig {
        credentials: Credentials::Ntlm(nobody()),
        ..config(&samba, Policy::AsServerRequires)
    };
    let setup = CifsSetup::start(config, &mut peer.connection, 5, &mut peer.out).unwrap();
    let error = peer.set_up(setup).unwrap_err();
    assert!(matches!(error, HandshakeError::OnlyAsGuest), "{error}");
    assert_eq!(peer.connection.in_flight(), 0);
    is_alive(&mut peer);
}

#[test]
fn no_more_requests_are_in_flight_than_the_server_permits() {
    let Some(samba) = open_samba("auto") else {
        return;
    };
    let mut peer = CifsPeer::open(&samba, Policy::AsServerRequires).unwrap();
    let limit = peer.connection.room();
    assert_eq!(limit, usize::from(peer.connection.negotiated().max_mpx));
    for tag in 0..limit as u32 {
        peer.connection
            .echo(peer.session, tag, &mut peer.out)
            .unwrap();
    }
    assert_eq!(peer.connection.room(), 0);
    let len = peer.out.len();
    assert!(
        peer.connection
            .echo(peer.session, 999, &mut peer.out)
            .is_err()
    );
    assert_eq!(peer.out.len(), len);
    for tag in 0..limit as u32 {
        assert_eq!(peer.answer(tag).status, NtStatus::SUCCESS);
    }
    assert_eq!(peer.connection.room(), limit);
}
