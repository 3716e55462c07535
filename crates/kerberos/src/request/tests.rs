//! Tests against a KDC that is built from the same parts and checks each request.

mod refusal;
mod service;

use proptest::prelude::*;

use super::super::ccache;
use super::super::messages::{ENC_AS_REP_PART, ENC_TGS_REP_PART, encrypted};
use super::refusal::code;
use super::*;
use crate::der::{self, Der};

const REALM: &str = "EXAMPLE.COM";
const PASSWORD: &str = "correct horse";
const SALT: &[u8] = b"some salt";

fn now() -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_secs(1_800_000_000)
}

fn ann() -> Principal {
    Principal::user("ann", REALM)
}

fn files() -> Principal {
    Principal::service("cifs/files.example.com", REALM)
}

fn granting_service() -> Principal {
    Principal::ticket_granting(REALM, REALM)
}

fn user_key() -> Key {
    Key::from_password(Enctype::Aes256Sha1, PASSWORD, SALT, &[]).unwrap()
}

fn session_key() -> Key {
    Key::new(Enctype::Aes128Sha1, &[0x55; 16]).unwrap()
}

fn password(password: &str) -> (TicketRequest, TicketStep) {
    TicketRequest::with_password(ann(), password, files(), now())
}

fn asked(step: TicketStep) -> (String, Vec<u8>) {
    match step {
        TicketStep::Ask { realm, message } => (realm, message),
        TicketStep::Granted(ticket) => panic!("not asked but {ticket:?}"),
    }
}

/// Splits a request into its pre-authentication data and its body.
fn parts(message: &[u8], kind: u8) -> (Vec<(i64, Vec<u8>)>, Vec<u8>) {
    let mut fields = Der::new(message)
        .expect(der::application_tag(kind), "request")
        .and_then(|mut request| request.sequence("request"))
        .unwrap();
    fields.field(1, "version").unwrap();
    fields.field(2, "type").unwrap();
    let mut preauth = Vec::new();
    let list = fields.optional_field(3, "data", Der::sequence).unwrap();
    if let Some(mut list) = list {
        while !list.is_empty() {
            let mut entry = list.sequence("entry").unwrap();
            let kind = entry.field(1, "kind").unwrap().integer("kind").unwrap();
            let value = entry.field(2, "value").unwrap().octets("value").unwrap();
            preauth.push((kind, value.to_vec()));
        }
    }
    (preauth, fields.field(4, "body").unwrap().rest().to_vec())
}

fn nonce_of(body: &[u8]) -> i64 {
    let mut fields = Der::new(body).sequence("body").unwrap();
    for number in 0..7 {
        fields.skip_field(number, "field").unwrap();
    }
    fields.field(7, "nonce").unwrap().integer("nonce").unwrap()
}

/// A KDC's reply. Tests change fields to make it wrong.
struct Reply {
    kind: u8,
    key: Key,
    usage: u32,
    client: Principal,
    service: Principal,
    nonce: i64,
    session_key: Key,
}

impl Reply {
    fn to_user(body: &[u8]) -> Self {
        Self {
            kind: AS_REP,
            key: user_key(),
            usage: usage::AS_REP,
            client: ann(),
            service: granting_service(),
            nonce: nonce_of(body),
            session_key: session_key(),
        }
    }

    fn with_ticket(body: &[u8], service: Principal) -> Self {
        Self {
            kind: TGS_REP,
            key: session_key(),
            usage: usage::TGS_REP,
            service,
            ..Self::to_user(body)
        }
    }

    fn encode(&self) -> Vec<u8> {
        let key = der::sequence(&[
            der::context(0, &der::integer(self.session_key.enctype.number().into())),
            der::context(1, &der::octets(&self.session_key.bytes)),
        ]);
        let part = der::sequence(&[
            der::context(0, &key),
            der::context(1, &der::sequence(&[])),
            der::context(2, &der::integer(self.nonce)),
            der::context(4, &der::flags(0)),
            der::context(5, &der::time(now())),
            der::context(7, &der::time(now() + Duration::from_secs(600))),
            der::context(9, &self.service.encode_realm()),
            der::context(10, &self.service.encode_name()),
        ]);
        let tag = match self.kind {
            AS_REP => ENC_AS_REP_PART,
            _ => ENC_TGS_REP_PART,
        };
        let reply = der::sequence(&[
            der::context(0, &der::integer(5)),
            der::context(1, &der::integer(self.kind.into())),
            der::context(3, &self.client.encode_realm()),
            der::context(4, &self.client.encode_name()),
            der::context(5, &der::application(1, b"opaque")),
            der::context(
                6,
                &encrypted(&self.key, self.usage, &der::application(tag, &part)),
            ),
        ]);
        der::application(self.kind, &reply)
    }
}

fn error(code: i64, data: &[u8]) -> Vec<u8> {
    let fields = der::sequence(&[
        der::context(0, &der::integer(5)),
        der::context(1, &der::integer(30)),
        der::context(4, &der::time(now() + Duration::from_secs(1000))),
        der::context(5, &der::integer(0)),
        der::context(6, &der::integer(code)),
        der::context(7, &der::general_string("OTHER.COM")),
        der::context(9, &der::general_string(REALM)),
        der::context(10, &granting_service().encode_name()),
        der::context(11, &der::general_string("SOME\u{7}TEXT")),
        der::context(12, &der::octets(data)),
    ]);
    der::application(30, &fields)
}

fn pa_data(kind: i64, value: &[u8]) -> Vec<u8> {
    der::sequence(&[
        der::context(1, &der::integer(kind)),
        der::context(2, &der::octets(value)),
    ])
}

fn info(enctype: i64, salt: &[u8]) -> Vec<u8> {
    let salt = str::from_utf8(salt).unwrap();
    der::sequence(&[
        der::context(0, &der::integer(enctype)),
        der::context(1, &der::general_string(salt)),
    ])
}

/// Makes KDC_ERR_PREAUTH_REQUIRED as MIT sends it: RC4 first, then AES-256.
fn preauth_required() -> Vec<u8> {
    let infos = der::sequence(&[info(23, b"x"), info(18, SALT)]);
    let methods = der::sequence(&[
        pa_data(136, b""),
        pa_data(preauth::ETYPE_INFO2, &infos),
        pa_data(preauth::ENC_TIMESTAMP, b""),
    ]);
    error(code::PREAUTH_REQUIRED, &methods)
}

/// Advances to the point where the service's ticket is requested.
fn authenticated() -> (TicketRequest, Vec<u8>) {
    let (mut request, first) = password(PASSWORD);
    let (_, message) = asked(first);
    let (none, _) = parts(&message, AS_REQ);
    assert_eq!(none, []);
    let (_, message) = asked(request.receive(&preauth_required(), now()).unwrap());
    let (proof, body) = parts(&message, AS_REQ);
    let [(preauth::ENC_TIMESTAMP, stamp)] = &proof[..] else {
        panic!("one proof was asked for");
    };
    let mut stamp = Der::new(stamp).sequence("stamp").unwrap();
    stamp.field(0, "enctype").unwrap();
    let cipher = stamp.field(2, "cipher").unwrap().octets("cipher").unwrap();
    let stamp = user_key().decrypt(usage::AS_REQ_TIMESTAMP, cipher).unwrap();
    assert_eq!(stamp, messages::timestamp(KerberosTime::from(now())));
    let reply = Reply::to_user(&body).encode();
    let (realm, message) = asked(request.receive(&reply, now()).unwrap());
    assert_eq!(realm, REALM);
    (request, message)
}

#[test]
fn a_password_leads_to_a_ticket() {
    let (mut request, message) = authenticated();
    let (proof, body) = parts(&message, TGS_REQ);
    assert_eq!(proof.len(), 1);
    assert_eq!(proof[0].0, preauth::TGS_REQ);
    check_proof(&proof[0].1, &body);
    let reply = Reply::with_ticket(&body, files());
    let reply = Reply {
        session_key: Key::new(Enctype::Aes256Sha2, &[9; 32]).unwrap(),
        ..reply
    };
    let TicketStep::Granted(ticket) = request.receive(&reply.encode(), now()).unwrap() else {
        panic!("that was the ticket");
    };
    assert_eq!((ticket.client(), ticket.service()), (&ann(), &files()));
    assert_eq!(ticket.ticket.key, reply.session_key);
    assert_eq!(ticket.ticket.encoded, der::application(1, b"opaque"));
    assert_eq!(ticket.starts(), now());
    assert_eq!(ticket.expires(), now() + Duration::from_secs(600));
}

/// Checks that the authenticator uses the granting ticket's key and protects
/// the body.
fn check_proof(request: &[u8], body: &[u8]) {
    let mut fields = Der::new(request)
        .expect(der::application_tag(14), "AP-REQ")
        .and_then(|mut request| request.sequence("AP-REQ"))
        .unwrap();
    for number in 0..3 {
        fields.field(number, "field").unwrap();
    }
    assert_eq!(
        fields.field(3, "ticket").unwrap().rest(),
        der::application(1, b"opaque")
    );
    let mut encrypted = fields.field(4, "authenticator").unwrap();
    let mut encrypted = encrypted.sequence("authenticator").unwrap();
    encrypted.field(0, "enctype").unwrap();
    let cipher = encrypted
        .field(2, "cipher")
        .unwrap()
        .octets("cipher")
        .unwrap();
    let plain = session_key()
        .decrypt(usage::TGS_REQ_AUTHENTICATOR, cipher)
        .unwrap();
    let mut fields = Der::new(&plain)
        .expect(der::application_tag(2), "authenticator")
        .and_then(|mut inner| inner.sequence("authenticator"))
        .unwrap();
    for number in 0..3 {
        fields.field(number, "field").unwrap();
    }
    let mut checksum = fields.field(3, "checksum").unwrap();
    let mut checksum = checksum.sequence("checksum").unwrap();
    let kind = checksum.field(0, "kind").unwrap().integer("kind").unwrap();
    assert_eq!(kind, 15);
    let checksum = checksum
        .field(1, "checksum")
        .unwrap()
        .octets("checksum")
        .unwrap();
    assert!(session_key().verifies(usage::TGS_REQ_CHECKSUM, &[body], checksum));
}

/// Makes the reply to a request without proof. It is encrypted with a key of
/// `salt`, and carries `infos` about making keys.
fn unproven_reply(body: &[u8], salt: &[u8], infos: &[Vec<u8>]) -> Vec<u8> {
    let reply = Reply {
        key: Key::from_password(Enctype::Aes256Sha1, PASSWORD, salt, &[]).unwrap(),
        ..Reply::to_user(body)
    };
    let encoded = reply.encode();
    if infos.is_empty() {
        return encoded;
    }
    // Insert the data between the type and the realm.
    let infos = pa_data(preauth::ETYPE_INFO2, &der::sequence(infos));
    let data = der::context(2, &der::sequence(&[infos]));
    let mut outer = Der::new(&encoded).expect(0x6b, "reply").unwrap();
    let mut fields = outer.sequence("reply").unwrap();
    fields.field(0, "version").unwrap();
    fields.field(1, "type").unwrap();
    let head = [
        der::context(0, &der::integer(5)),
        der::context(1, &der::integer(AS_REP.into())),
    ];
    let fields = [head.concat(), data, fields.rest().to_vec()].concat();
    der::application(AS_REP, &der::element(der::SEQUENCE, &fields))
}

#[test]
fn a_kdc_that_wants_no_proof_is_answered_with_the_password_too() {
    // The salt may be named alone, named after another type, or left out.
    let default = ann().default_salt();
    for (salt, infos) in [
        (SALT, vec![info(18, SALT)]),
        (SALT, vec![info(17, b"of another type"), info(18, SALT)]),
        (&default[..], vec![]),
    ] {
        let (mut request, step) = password(PASSWORD);
        let (_, body) = parts(&asked(step).1, AS_REQ);
        let reply = unproven_reply(&body, salt, &infos);
        asked(request.receive(&reply, now()).unwrap());
    }
}

#[test]
fn a_reply_makes_no_more_than_one_key() {
    // Making a key is slow, and an attacker may have sent the reply.
    let (mut request, step) = password(PASSWORD);
    let (_, body) = parts(&asked(step).1, AS_REQ);
    let infos = [info(18, b"wrong"), info(18, SALT)];
    let reply = unproven_reply(&body, SALT, &infos);
    let error = request.receive(&reply, now()).unwrap_err();
    assert_eq!(error, KerberosError::WrongPassword(ann()));
}

#[test]
fn a_cache_gives_the_best_it_has() {
    let ticket = |service: Principal, expires: SystemTime| Ticket {
        client: ann(),
        service,
        key: session_key(),
        starts: now(),
        expires,
        encoded: der::application(1, b"opaque"),
    };
    let later = now() + Duration::from_secs(60);
    let earlier = now() - Duration::from_secs(60);
    let with = |tickets: &[Ticket]| {
        let cache = CredentialCache::parse(&ccache::tests::cache(&ann(), tickets)).unwrap();
        TicketRequest::with_cache(&cache, files(), now()).map(|(_, step)| step)
    };
    let both = [ticket(granting_service(), later), ticket(files(), later)];
    assert!(matches!(with(&both), Ok(TicketStep::Granted(_))));
    let stale = [ticket(granting_service(), later), ticket(files(), earlier)];
    assert!(matches!(with(&stale), Ok(TicketStep::Ask { .. })));
    let over = [ticket(granting_service(), earlier)];
    assert_eq!(
        with(&over).unwrap_err(),
        KerberosError::Expired {
            user: ann(),
            ago: Duration::from_secs(60)
        }
    );
    assert_eq!(with(&[]).unwrap_err(), KerberosError::NoTicket(ann()));
}

proptest! {
    // Each case stretches a password several times.
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn a_damaged_answer_is_an_error_or_harmless(at: prop::sample::Index, byte: u8, cut: bool) {
        let (mut request, message) = authenticated();
        let reply = Reply::with_ticket(&parts(&message, TGS_REQ).1, files());
        for mut bytes in [reply.encode(), preauth_required()] {
            let at = at.index(bytes.len());
            if cut {
bytes.truncate(at);
} else {
bytes[at] = byte;
}
            let _ = request.receive(&bytes, now());
        }
        let (mut request, _) = password(PASSWORD);
        let mut bytes = preauth_required();
        let at = at.index(bytes.len());
        bytes[at] = byte;
        let _ = request.receive(&bytes, now());
    }

}

proptest! {
    #[test]
    fn arbitrary_answers_never_panic(bytes: Vec<u8>) {
        let (mut request, _) = password(PASSWORD);
        prop_assert!(request.receive(&bytes, now()).is_err());
    }
}
