//! Several sessions on one connection, and several connections for one session.

use std::collections::HashSet;
use std::time::SystemTime;

use super::*;
use crate::auth::Credentials;
use crate::dialect::DialectRange;
use crate::handshake::{Channels, HandshakeError, Policy, SessionConfig, SessionSetup};

const OTHER_ID: u64 = 0x52;

fn keys(preauth: &PreauthHash) -> KeySource<'_> {
    KeySource {
        dialect: Dialect::Smb311,
        full_session_key: &[8; 16],
        preauth,
    }
}

/// Adds another session to the connection of the first.
fn join(connection: &mut Connection, protection: Protection, root: Option<Root>) -> SessionIndex {
    connection.add(Channel {
        session_id: OTHER_ID,
        tree_id: 4,
        protection,
        terms: SessionTerms::NONE,
        signer: None,
        root: root.map(Box::new),
    })
}

fn echo(connection: &mut Connection, session: SessionIndex, tag: u32) -> Vec<u8> {
    let mut out = Vec::new();
    connection
        .request(session, Command::Echo, 1, tag, &mut out, |out| {
            out.extend_from_slice(&EMPTY_BODY);
        })
        .unwrap();
    out
}

#[test]
fn each_session_has_its_own_id_tree_and_protection() {
    let mut connection = connection(Dialect::Smb311, LARGE_MTU, Protection::Signed(signer()));
    let other = join(&mut connection, Protection::None, None);
    assert_ne!(other, SessionIndex::FIRST);
    let requests = [(SessionIndex::FIRST, 0x51, 3), (other, OTHER_ID, 4)].map(
        |(session, session_id, tree_id)| {
            let out = echo(&mut connection, session, tree_id);
            let [(header, _)] = &sent(&out, None)[..] else {
                panic!("one message");
            };
            assert_eq!((header.session_id, header.tree_id()), (session_id, tree_id));
            let signed = header.flags.contains(Flags::SIGNED);
            assert_eq!(signed, session == SessionIndex::FIRST);
            *header
        },
    );
    // Credits and message ids belong to the connection.
    assert_eq!(requests.map(|header| header.message_id), [0, 1]);
    let plain = |request: &Header| answer_to(request, NtStatus::SUCCESS, Flags(0));
    // The first session accepts neither an unsigned answer nor one of the other
    // session.
    let outcome = receive(&mut connection, &plain(&requests[0]));
    assert_eq!(outcome, Err(ProtocolError::Signature("ECHO")));
    let as_other = Header {
        session_id: OTHER_ID,
        ..requests[0]
    };
    let outcome = receive(&mut connection, &plain(&as_other));
    assert_eq!(outcome, Err(ProtocolError::NotAResponse));
    assert_eq!(receive(&mut connection, &plain(&requests[1])), Ok(()));
    let mut signed = answer_to(&requests[0], NtStatus::SUCCESS, Flags::SIGNED);
    signer().sign(&mut signed);
    assert_eq!(receive(&mut connection, &signed), Ok(()));
    assert_eq!(connection.in_flight(), 0);
}

#[test]
fn encrypted_frames_are_opened_with_their_sessions_keys() {
    let preauth = PreauthHash::default();
    let cipher = Cipher::Aes128Gcm;
    let of_other = |seed| Transform::new(cipher, &keys(&preauth), OTHER_ID, [seed; NONCE_SEED_LEN]);
    let mut connection = connection(
        Dialect::Smb311,
        LARGE_MTU,
        Protection::Encrypted(transform(cipher)),
    );
    let other = join(&mut connection, Protection::Encrypted(of_other(1)), None);
    for (session, server) in [
        (SessionIndex::FIRST, transform(cipher).reversed()),
        (other, of_other(2).reversed()),
    ] {
        let mut server = server;
        let out = echo(&mut connection, session, 7);
        let [(request, _)] = &sent(&out, Some(&server))[..] else {
            panic!("one message");
        };
        let mut sealed = vec![0; TRANSFORM_HEADER_LEN];
        sealed.append(&mut answer_to(request, NtStatus::SUCCESS, Flags(0)));
        server.seal(&mut sealed);
        assert_eq!(receive(&mut connection, &sealed), Ok(()));
    }
    // An answer that is encrypted with the key of the other session.
    let out = echo(&mut connection, SessionIndex::FIRST, 7);
    let server = transform(cipher).reversed();
    let request = sent(&out, Some(&server))[0].0;
    let mut sealed = vec![0; TRANSFORM_HEADER_LEN];
    sealed.append(&mut answer_to(&request, NtStatus::SUCCESS, Flags(0)));
    of_other(3).reversed().seal(&mut sealed);
    let outcome = receive(&mut connection, &sealed);
    assert_eq!(outcome, Err(ProtocolError::NotAResponse));
}

#[test]
fn a_place_is_free_again_once_its_requests_are_answered() {
    let mut connection = connection(Dialect::Smb311, LARGE_MTU, Protection::None);
    let first = join(&mut connection, Protection::None, None);
    let asked = sent(&echo(&mut connection, first, 1), None)[0].0;
    connection.forget(first);
    connection.forget(first);
    let second = join(&mut connection, Protection::None, None);
    assert_ne!(second, first);
    // The answer is not accepted for the new session at the same index either.
    let answered = answer_to(&asked, NtStatus::SUCCESS, Flags(0));
    assert_eq!(
        receive(&mut connection, &answered),
        Err(ProtocolError::NotAResponse)
    );
    connection.in_flight.clear();
    assert_eq!(join(&mut connection, Protection::None, None), first);
    let next = join(&mut connection, Protection::None, None);
    assert!(next != first && next != second);
}

/// Makes a connection with a session that has keys for further channels.
fn bindable(cipher: Cipher) -> (Connection, SessionIndex) {
    let preauth = PreauthHash::default();
    let mut connection = connection(Dialect::Smb311, LARGE_MTU, Protection::None);
    let seed = [0xF0; NONCE_SEED_LEN];
    let first = Transform::new(cipher, &keys(&preauth), OTHER_ID, seed);
    let root = Root::new(&keys(&preauth), Some(cipher), seed);
    let protection = Protection::Encrypted(first);
    let session = join(&mut connection, protection, Some(root));
    (connection, session)
}

#[test]
fn channels_share_keys_and_no_nonce() {
    for cipher in CipherList::default().iter() {
        let (mut connection, session) = bindable(cipher);
        let server = Transform::new(
            cipher,
            &keys(&PreauthHash::default()),
            OTHER_ID,
            [0; NONCE_SEED_LEN],
        )
        .reversed();
        let mut nonces = HashSet::new();
        let mut take = |frame: &[u8]| {
            let mut opened = frame.to_vec();
            assert!(server.open(&mut opened).is_some(), "{cipher}");
            nonces.insert(frame[20..36].to_vec());
        };
        for tag in 0..10 {
            take(&echo(&mut connection, session, tag)[PREFIX_LEN..]);
        }
        let mut channels = 0;
        while let Some(binding) = connection.binding(session) {
            assert_eq!((binding.session_id, binding.tree_id), (OTHER_ID, 4));
            let mut transform = binding.transform.unwrap();
            for _ in 0..10 {
                let mut frame = vec![0; TRANSFORM_HEADER_LEN + 4];
                transform.seal(&mut frame);
                take(&frame);
            }
            channels += 1;
        }
        assert_eq!(channels, 255);
        assert_eq!(nonces.len(), 10 * (channels + 1));
    }
}

#[test]
fn only_sessions_that_keep_their_keys_can_be_bound() {
    let mut connection = connection(Dialect::Smb311, LARGE_MTU, Protection::None);
    assert!(connection.binding(SessionIndex::FIRST).is_none());
    let (mut connection, session) = bindable(Cipher::Aes128Gcm);
    assert!(connection.binding(session).is_some());
    assert!(!format!("{connection:?}").contains("08, 08"));
    connection.forget(session);
    assert!(connection.binding(session).is_none());
}

/// The number of the next channel goes with the keys, so that no nonce is used twice.
#[test]
fn a_connection_that_is_lost_hands_its_keys_over() {
    let (mut lost, session) = bindable(Cipher::Aes128Gcm);
    assert!(lost.binding(session).is_some());
    let mut heir = connection(Dialect::Smb311, LARGE_MTU, Protection::None);
    assert_eq!(join(&mut heir, Protection::None, None), session);
    assert!(heir.binding(session).is_none());
    lost.hand_over_keys(session, &mut heir);
    assert!(lost.binding(session).is_none());
    // It has none to hand over any more.
    lost.hand_over_keys(session, &mut heir);
    let further = std::iter::from_fn(|| heir.binding(session)).count();
    assert_eq!(further, 254);
}

fn config() -> SessionConfig {
    SessionConfig {
        dialects: DialectRange::ALL,
        signing: Policy::AsServerRequires,
        signing_algorithm: None,
        encryption: Policy::AsServerRequires,
        ciphers: CipherList::default(),
        credentials: Credentials::Anonymous,
        now: SystemTime::UNIX_EPOCH,
        host: "server".to_owned(),
        workstation: "LOADER".to_owned(),
        share: "share".to_owned(),
        credit_target: 64,
        credit_cap: None,
        channels: Channels::Several,
        client_guid: [1; 16],
        previous_session: 0,
        salt: [2; 32],
        nonce_seed: [3; NONCE_SEED_LEN],
    }
}

#[test]
fn a_channel_takes_the_same_server_on_the_same_terms() {
    let (mut first, session) = bindable(Cipher::Aes128Gcm);
    let changes: [fn(&mut Negotiated); 4] = [
        |negotiated| negotiated.server_guid[3] ^= 1,
        |negotiated| negotiated.dialect = Dialect::Smb302,
        |negotiated| negotiated.cipher = Some(Cipher::Aes256Gcm),
        |negotiated| negotiated.max_write -= 1,
    ];
    for change in changes {
        let mut second = connection(Dialect::Smb311, LARGE_MTU, Protection::None);
        change(&mut second.negotiated);
        let binding = first.binding(session).unwrap();
        let mut out = Vec::new();
        let begun = SessionSetup::start(config(), Some(binding), &mut second, 0, &mut out);
        assert!(matches!(begun, Err(HandshakeError::OtherTerms)));
        assert_eq!(out, []);
    }
    let mut second = connection(Dialect::Smb311, LARGE_MTU, Protection::None);
    let binding = first.binding(session).unwrap();
    let mut out = Vec::new();
    SessionSetup::start(config(), Some(binding), &mut second, 0, &mut out).unwrap();
    let [(request, bytes)] = &mut sent(&out, None)[..] else {
        panic!("one message");
    };
    assert_eq!(request.command, Command::SessionSetup);
    assert_eq!(request.session_id, OTHER_ID);
    // Check SMB2_SESSION_FLAG_BINDING and the session's own signature.
    assert_eq!(bytes[66], 1);
    let signer = Signer::new(
        SigningAlgorithm::AesCmac,
        &keys(&PreauthHash::default()).signing(),
    );
    assert!(signer.verify(bytes));
}
