//! Answers that are refused, and refusals of KDCs.

use super::*;

#[test]
fn what_is_no_answer_to_the_request_is_refused() {
    let wrong = |change: fn(&mut Reply)| {
        let (mut request, step) = password(PASSWORD);
        asked(step);
        let (_, message) = asked(request.receive(&preauth_required(), now()).unwrap());
        let mut reply = Reply::to_user(&parts(&message, AS_REQ).1);
        change(&mut reply);
        request.receive(&reply.encode(), now()).unwrap_err()
    };
    let forged = |error| matches!(error, KerberosError::Forged(_));
    assert!(forged(wrong(|reply| reply.nonce += 1)));
    assert!(forged(wrong(
        |reply| reply.client = Principal::user("eve", REALM)
    )));
    assert!(forged(wrong(|reply| reply.service = files())));
    let error = wrong(|reply| reply.key = Key::random(Enctype::Aes256Sha1));
    assert_eq!(error, KerberosError::WrongPassword(ann()));
    let error = wrong(|reply| reply.usage += 1);
    assert_eq!(error, KerberosError::WrongPassword(ann()));

    let (mut request, message) = authenticated();
    let reply = Reply {
        key: Key::random(Enctype::Aes128Sha1),
        ..Reply::with_ticket(&parts(&message, TGS_REQ).1, files())
    };
    assert!(forged(request.receive(&reply.encode(), now()).unwrap_err()));
}

#[test]
fn each_refusal_has_its_name() {
    let user: [(i64, KerberosError); 9] = [
        (code::CLIENT_UNKNOWN, KerberosError::UnknownUser(ann())),
        (code::PREAUTH_FAILED, KerberosError::WrongPassword(ann())),
        (
            code::SKEW,
            KerberosError::ClockSkew(Duration::from_secs(1000)),
        ),
        (code::CLIENT_REVOKED, KerberosError::AccountClosed(ann())),
        (code::CLIENT_EXPIRED, KerberosError::AccountClosed(ann())),
        (
            code::PASSWORD_EXPIRED,
            KerberosError::PasswordExpired(ann()),
        ),
        (
            code::ENCTYPE_UNSUPPORTED,
            KerberosError::NoSharedEncryption(ann()),
        ),
        (
            code::WRONG_REALM,
            KerberosError::WrongRealm {
                user: ann(),
                realm: "OTHER.COM".to_owned(),
            },
        ),
        (
            60,
            KerberosError::Refused {
                code: 60,
                text: "SOME\u{7}TEXT".to_owned(),
            },
        ),
    ];
    for (code, expected) in user {
        let (mut request, _) = password(PASSWORD);
        let found = request.receive(&error(code, b""), now()).unwrap_err();
        assert_eq!(found, expected);
        // The text of an untrusted peer is printed on a terminal.
        assert!(!found.to_string().contains('\u{7}'));
    }
    for (code, expected) in [
        (
            code::SERVICE_UNKNOWN,
            KerberosError::UnknownService(files()),
        ),
        (
            code::ENCTYPE_UNSUPPORTED,
            KerberosError::NoSharedEncryption(files()),
        ),
    ] {
        let (mut request, _) = authenticated();
        let found = request.receive(&error(code, b""), now()).unwrap_err();
        assert_eq!(found, expected);
    }
    // The KDC accepts only certificates, or only old keys.
    let only = |methods: &[Vec<u8>]| {
        let (mut request, _) = password(PASSWORD);
        let error = error(code::PREAUTH_REQUIRED, &der::sequence(methods));
        request.receive(&error, now()).unwrap_err()
    };
    assert_eq!(only(&[pa_data(16, b"")]), KerberosError::OtherProof(ann()));
    let rc4 = pa_data(preauth::ETYPE_INFO2, &der::sequence(&[info(23, b"")]));
    assert_eq!(
        only(&[pa_data(preauth::ENC_TIMESTAMP, b""), rc4]),
        KerberosError::NoSharedEncryption(ann())
    );
}

#[test]
fn proof_is_given_once() {
    let (mut request, _) = password(PASSWORD);
    asked(request.receive(&preauth_required(), now()).unwrap());
    let error = request.receive(&preauth_required(), now()).unwrap_err();
    assert_eq!(error, KerberosError::OtherProof(ann()));
}
