//! A KDC and a server of picky-krb, an independent implementation, understand the
//! client and are understood by it.
//!
//! Not here: the encryption types with HMAC-SHA-2, which picky-krb does not have.

#![expect(clippy::unwrap_used, reason = "what fails in a helper fails the test")]

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use picky_asn1::bit_string::BitString;
use picky_asn1::date::GeneralizedTime;
use picky_asn1::restricted_string::Ia5String;
use picky_asn1::wrapper::{
    Asn1SequenceOf, BitStringAsn1, GeneralStringAsn1, GeneralizedTimeAsn1, IntegerAsn1,
    OctetStringAsn1, Optional,
};
use picky_asn1_der::application_tag::ApplicationTag;
use picky_asn1_der::{from_bytes, to_vec};
use picky_krb::crypto::{Checksum, ChecksumSuite, Cipher, CipherSuite};
use picky_krb::data_types::{
    Authenticator, EncApRepPart, EncApRepPartInner, EncryptedData, EncryptionKey, EtypeInfo2Entry,
    PaData, PaEncTsEnc, PrincipalName, TicketInner,
};
use picky_krb::gss_api::{ApplicationTag0, GssApiNegInit, KrbMessage, MicToken};
use picky_krb::messages::{
    ApRep, ApRepInner, ApReq, AsRep, AsReq, EncAsRepPart, EncKdcRepPart, EncTgsRepPart, KdcRep,
    KdcReqBody, KrbError, KrbErrorInner, TgsRep, TgsReq,
};
use smbench_kerberos::{Initiator, Principal, ServiceTicket, TicketRequest, TicketStep, spnego};

const REALM: &str = "EXAMPLE.COM";
const PASSWORD: &str = "correct horse";
const SALT: &str = "some salt";
/// Key usage numbers of RFC 4120 7.5.1 and RFC 4121 2.
const TIMESTAMP: i32 = 1;
const AS_REPLY: i32 = 3;
const TGS_CHECKSUM: i32 = 6;
const TGS_AUTHENTICATOR: i32 = 7;
const TGS_REPLY: i32 = 8;
const AP_AUTHENTICATOR: i32 = 11;
const AP_REPLY: i32 = 12;
const INITIATOR_SIGN: i32 = 25;

/// An encryption type as both sides see it.
struct Suite {
    number: u8,
    cipher: Box<dyn Cipher>,
    checksum: Box<dyn Checksum>,
}

fn suites() -> [Suite; 2] {
    [17_u8, 18].map(|number| {
        let suite = CipherSuite::try_from(usize::from(number)).unwrap();
        let checksum: ChecksumSuite = suite.cipher().checksum_type();
        Suite {
            number,
            cipher: suite.cipher(),
            checksum: checksum.hasher(),
        }
    })
}

impl Suite {
    fn user_key(&self) -> Vec<u8> {
        let key = self
            .cipher
            .generate_key_from_password(PASSWORD.as_bytes(), SALT.as_bytes());
        key.unwrap()
    }

    /// A key of which every byte is `byte`.
    fn key(&self, byte: u8) -> Vec<u8> {
        vec![byte; self.cipher.key_size()]
    }

    fn encrypted(&self, key: &[u8], usage: i32, plain: &[u8]) -> EncryptedData {
        let cipher = self.cipher.encrypt(key, usage, plain).unwrap();
        EncryptedData {
            etype: number(self.number).into(),
            kvno: Optional(None),
            cipher: OctetStringAsn1::from(cipher).into(),
        }
    }

    fn decrypted(&self, key: &[u8], usage: i32, data: &EncryptedData) -> Vec<u8> {
        assert_eq!(data.etype.0, number(self.number));
        self.cipher.decrypt(key, usage, &data.cipher.0.0).unwrap()
    }

    /// A part of a reply with the session key of which every byte is `byte`.
    fn part(&self, body: &KdcReqBody, byte: u8, service: &[&str]) -> EncKdcRepPart {
        EncKdcRepPart {
            key: EncryptionKey {
                key_type: number(self.number).into(),
                key_value: OctetStringAsn1::from(self.key(byte)).into(),
            }
            .into(),
            last_req: Asn1SequenceOf(Vec::new()).into(),
            nonce: body.nonce.0.clone().into(),
            key_expiration: Optional(None),
            flags: BitStringAsn1::from(BitString::with_bytes(vec![0; 4])).into(),
            auth_time: time(8).into(),
            start_time: Optional(None),
            end_time: time(18).into(),
            renew_till: Optional(None),
            srealm: string(REALM).into(),
            sname: name(2, service).into(),
            caddr: Optional(None),
            encrypted_pa_data: Optional(None),
        }
    }
}

fn now() -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_secs(1_800_000_000)
}

/// The day of [`now`], at this hour. [`now`] is 8 o'clock.
fn time(hour: u8) -> GeneralizedTimeAsn1 {
    GeneralizedTime::new(2027, 1, 15, hour, 0, 0)
        .unwrap()
        .into()
}

fn number(value: u8) -> IntegerAsn1 {
    IntegerAsn1::from_bytes_be_unsigned(vec![value])
}

fn string(text: &str) -> GeneralStringAsn1 {
    Ia5String::from_string(text.to_owned()).unwrap().into()
}

fn name(kind: u8, parts: &[&str]) -> PrincipalName {
    let parts = parts.iter().map(|part| string(part)).collect();
    PrincipalName {
        name_type: number(kind).into(),
        name_string: Asn1SequenceOf(parts).into(),
    }
}

fn asked(step: TicketStep) -> Vec<u8> {
    match step {
        TicketStep::Ask { message, .. } => message,
        TicketStep::Granted(ticket) => panic!("not asked but {ticket:?}"),
    }
}

/// The demand of a KDC for a timestamp with a key of this type.
fn preauth_required(suite: &Suite) -> Vec<u8> {
    let info = Asn1SequenceOf(vec![EtypeInfo2Entry {
        etype: number(suite.number).into(),
        salt: Optional(Some(string(SALT).into())),
        s2kparams: Optional(None),
    }]);
    let data = |kind, value| PaData {
        padata_type: number(kind).into(),
        padata_data: OctetStringAsn1::from(value).into(),
    };
    let methods = vec![data(19, to_vec(&info).unwrap()), data(2, Vec::new())];
    let methods = to_vec(&Asn1SequenceOf(methods)).unwrap();
    let error: KrbError = ApplicationTag(KrbErrorInner {
        pvno: number(5).into(),
        msg_type: number(30).into(),
        ctime: Optional(None),
        cusec: Optional(None),
        stime: time(8).into(),
        susec: number(0).into(),
        error_code: 25.into(),
        crealm: Optional(None),
        cname: Optional(None),
        realm: string(REALM).into(),
        sname: name(2, &["krbtgt", REALM]).into(),
        e_text: Optional(None),
        e_data: Optional(Some(OctetStringAsn1::from(methods).into())),
    });
    to_vec(&error).unwrap()
}

fn reply(kind: u8, service: &[&str], enc_part: EncryptedData, suite: &Suite) -> KdcRep {
    KdcRep {
        pvno: number(5).into(),
        msg_type: number(kind).into(),
        padata: Optional(None),
        crealm: string(REALM).into(),
        cname: name(1, &["ann"]).into(),
        ticket: ApplicationTag(TicketInner {
            tkt_vno: number(5).into(),
            realm: string(REALM).into(),
            sname: name(2, service).into(),
            enc_part: suite.encrypted(&suite.key(9), 2, b"opaque").into(),
        })
        .into(),
        enc_part: enc_part.into(),
    }
}

/// Answers the request for a ticket-granting ticket. Checks its timestamp.
fn granted(suite: &Suite, message: &[u8]) -> Vec<u8> {
    let request: AsReq = from_bytes(message).unwrap();
    let body = &request.0.req_body.0;
    assert_eq!(body.cname.0.as_ref().unwrap().0, name(1, &["ann"]));
    assert_eq!(
        body.sname.0.as_ref().unwrap().0,
        name(2, &["krbtgt", REALM])
    );
    assert_eq!(body.realm.0, string(REALM));
    let proof = &request.0.padata.0.as_ref().unwrap().0.0[0];
    assert_eq!(proof.padata_type.0, number(2));
    let stamp: EncryptedData = from_bytes(&proof.padata_data.0.0).unwrap();
    let stamp = suite.decrypted(&suite.user_key(), TIMESTAMP, &stamp);
    let stamp: PaEncTsEnc = from_bytes(&stamp).unwrap();
    assert_eq!(stamp.patimestamp.0, time(8));
    let service = ["krbtgt", REALM];
    let part: EncAsRepPart = ApplicationTag(suite.part(body, 1, &service));
    let part = suite.encrypted(&suite.user_key(), AS_REPLY, &to_vec(&part).unwrap());
    let reply: AsRep = ApplicationTag(reply(11, &service, part, suite));
    to_vec(&reply).unwrap()
}

/// Answers the request for the service's ticket. Checks its authenticator and the
/// checksum of its body.
fn served(suite: &Suite, message: &[u8]) -> Vec<u8> {
    let request: TgsReq = from_bytes(message).unwrap();
    let body = &request.0.req_body.0;
    let proof = &request.0.padata.0.as_ref().unwrap().0.0[0];
    assert_eq!(proof.padata_type.0, number(1));
    let proof: ApReq = from_bytes(&proof.padata_data.0.0).unwrap();
    let key = suite.key(1);
    let plain = suite.decrypted(&key, TGS_AUTHENTICATOR, &proof.0.authenticator.0);
    let authenticator: Authenticator = from_bytes(&plain).unwrap();
    let checksum = &authenticator.0.cksum.0.as_ref().unwrap().0;
    let expected = suite
        .checksum
        .checksum(&key, TGS_CHECKSUM, &to_vec(body).unwrap());
    assert_eq!(checksum.checksum.0.0, expected.unwrap());
    let service = ["cifs", "files.example.com"];
    assert_eq!(body.sname.0.as_ref().unwrap().0, name(2, &service));
    let part: EncTgsRepPart = ApplicationTag(suite.part(body, 2, &service));
    let part = suite.encrypted(&key, TGS_REPLY, &to_vec(&part).unwrap());
    let reply: TgsRep = ApplicationTag(reply(13, &service, part, suite));
    to_vec(&reply).unwrap()
}

fn ticket(suite: &Suite) -> ServiceTicket {
    let user = Principal::user("ann", REALM);
    let service = Principal::service("cifs/files.example.com", REALM);
    let (mut request, step) = TicketRequest::with_password(user, PASSWORD, service, now());
    let first: AsReq = from_bytes(&asked(step)).unwrap();
    assert_eq!(first.0.padata.0, None);
    let step = request.receive(&preauth_required(suite), now()).unwrap();
    let step = request
        .receive(&granted(suite, &asked(step)), now())
        .unwrap();
    let step = request
        .receive(&served(suite, &asked(step)), now())
        .unwrap();
    match step {
        TicketStep::Granted(ticket) => ticket,
        TicketStep::Ask { realm, .. } => panic!("asked {realm} again"),
    }
}

#[test]
fn a_kdc_grants_a_ticket_for_a_password() {
    for suite in suites() {
        let ticket = ticket(&suite);
        assert_eq!(ticket.client().to_string(), "ann@EXAMPLE.COM");
        assert_eq!(ticket.expires(), now() + Duration::from_secs(10 * 3600));
    }
}

#[test]
fn a_server_accepts_the_ticket_and_the_signature() {
    for suite in suites() {
        let (mut initiator, token) = Initiator::start(Arc::new(ticket(&suite)), now()).unwrap();
        let token = KrbMessage::<ApReq>::decode_application_krb_message(&token)
            .unwrap()
            .0;
        assert_eq!(token.krb5_token_id, [1, 0]);
        let key = suite.key(2);
        let authenticator = &token.krb_msg.0.authenticator.0;
        let plain = suite.decrypted(&key, AP_AUTHENTICATOR, authenticator);
        let authenticator: Authenticator = from_bytes(&plain).unwrap();
        let subkey = authenticator.0.subkey.0.unwrap().0.key_value.0.0;

        let part: EncApRepPart = ApplicationTag(EncApRepPartInner {
            ctime: authenticator.0.ctime.0.into(),
            cusec: authenticator.0.cusec.0.into(),
            subkey: Optional(None),
            seq_number: Optional(None),
        });
        let answer: ApRep = ApplicationTag(ApRepInner {
            pvno: number(5).into(),
            msg_type: number(15).into(),
            enc_part: suite
                .encrypted(&key, AP_REPLY, &to_vec(&part).unwrap())
                .into(),
        });
        let answer = ApplicationTag0(KrbMessage {
            krb5_oid: token.krb5_oid,
            krb5_token_id: [2, 0],
            krb_msg: answer,
        });
        assert!(!initiator.is_proven());
        initiator.finish(&to_vec(&answer).unwrap()).unwrap();
        assert!(initiator.is_proven());

        let signature = MicToken::decode(&initiator.mic(b"mechanisms")[..]).unwrap();
        let signed = [&b"mechanisms"[..], &signature.header()].concat();
        let expected = suite.checksum.checksum(&subkey, INITIATOR_SIGN, &signed);
        assert_eq!(signature.checksum, expected.unwrap());
    }
}

#[test]
fn a_server_reads_the_mechanisms_and_the_token() {
    let mechanisms = spnego::mechanisms(&[spnego::MS_KERBEROS, spnego::KERBEROS]);
    let message = spnego::init(&mechanisms, b"token");
    let init: ApplicationTag0<GssApiNegInit> = from_bytes(&message).unwrap();
    let init = init.0.neg_token_init.0;
    let offered: Vec<String> = init
        .mech_types
        .0
        .unwrap()
        .0
        .0
        .iter()
        .map(|mechanism| (&mechanism.0).into())
        .collect();
    assert_eq!(offered, ["1.2.840.48018.1.2.2", "1.2.840.113554.1.2.2"]);
    assert_eq!(init.mech_token.0.unwrap().0.0, b"token");
}
