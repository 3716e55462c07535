//! The messages of RFC 4120 that a client sends and receives.

use std::time::SystemTime;

use super::enctype::{Enctype, Key};
use super::principal::Principal;
use super::ticket::{Stamp, Ticket};
use crate::decode::DecodeError;
use crate::der::{self, Der};

const VERSION: i64 = 5;
const TICKET: u8 = 1;
const AUTHENTICATOR: u8 = 2;
pub(super) const AS_REQ: u8 = 10;
pub(super) const AS_REP: u8 = 11;
pub(super) const TGS_REQ: u8 = 12;
pub(super) const TGS_REP: u8 = 13;
const AP_REQ: u8 = 14;
const AP_REP: u8 = 15;
pub(super) const ENC_AS_REP_PART: u8 = 25;
pub(super) const ENC_TGS_REP_PART: u8 = 26;
const ENC_AP_REP_PART: u8 = 27;
const KRB_ERROR: u8 = 30;

/// Key usage numbers (RFC 4120 7.5.1).
pub(super) mod usage {
    pub(crate) const AS_REQ_TIMESTAMP: u32 = 1;
    pub(crate) const AS_REP: u32 = 3;
    pub(crate) const TGS_REQ_CHECKSUM: u32 = 6;
    pub(crate) const TGS_REQ_AUTHENTICATOR: u32 = 7;
    pub(crate) const TGS_REP: u32 = 8;
    pub(crate) const AP_REQ_AUTHENTICATOR: u32 = 11;
    pub(crate) const AP_REP: u32 = 12;
}

/// Types of pre-authentication data (RFC 4120 7.5.2).
pub(super) mod preauth {
    pub(crate) const TGS_REQ: i64 = 1;
    pub(crate) const ENC_TIMESTAMP: i64 = 2;
    pub(crate) const ETYPE_INFO2: i64 = 19;
}

/// KDC option: the KDC may refer the client to another realm.
pub(super) const CANONICALIZE: u32 = 0x0001_0000;
/// AP option: the server must prove its identity.
pub(super) const MUTUAL_REQUIRED: u32 = 0x2000_0000;

/// The parameters of a client's request to a KDC.
pub(super) struct KdcRequest<'a> {
    pub(super) options: u32,
    /// The user; only in an AS-REQ.
    pub(super) client: Option<&'a Principal>,
    pub(super) service: &'a Principal,
    pub(super) until: SystemTime,
    pub(super) nonce: u32,
    pub(super) enctypes: &'a [Enctype],
}

impl KdcRequest<'_> {
    /// Encodes `KDC-REQ-BODY` (5.4.1).
    pub(super) fn body(&self) -> Vec<u8> {
        let client = self
            .client
            .map_or_else(Vec::new, |client| der::context(1, &client.encode_name()));
        let enctypes: Vec<_> = self
            .enctypes
            .iter()
            .map(|enctype| der::integer(enctype.number().into()))
            .collect();
        der::sequence(&[
            der::context(0, &der::flags(self.options)),
            client,
            der::context(2, &self.service.encode_realm()),
            der::context(3, &self.service.encode_name()),
            der::context(5, &der::time(self.until)),
            der::context(7, &der::integer(self.nonce.into())),
            der::context(8, &der::sequence(&enctypes)),
        ])
    }
}

/// Encodes AS-REQ or TGS-REQ around an encoded body (5.4.1).
pub(super) fn kdc_request(message: u8, preauth: &[(i64, Vec<u8>)], body: &[u8]) -> Vec<u8> {
    let data: Vec<_> = preauth
        .iter()
        .map(|(kind, value)| {
            der::sequence(&[
                der::context(1, &der::integer(*kind)),
                der::context(2, &der::octets(value)),
            ])
        })
        .collect();
    let data = match data.is_empty() {
        true => Vec::new(),
        false => der::context(3, &der::sequence(&data)),
    };
    let request = der::sequence(&[
        der::context(1, &der::integer(VERSION)),
        der::context(2, &der::integer(message.into())),
        data,
        der::context(4, body),
    ]);
    der::application(message, &request)
}

/// Encrypts `plain` for `usage` and encodes it as `EncryptedData` (5.2.9).
pub(super) fn encrypted(key: &Key, usage: u32, plain: &[u8]) -> Vec<u8> {
    der::sequence(&[
        der::context(0, &der::integer(key.enctype().number().into())),
        der::context(2, &der::octets(&key.encrypt(usage, plain))),
    ])
}

/// Encodes `PA-ENC-TS-ENC` (5.2.7.2).
pub(super) fn timestamp(stamp: Stamp) -> Vec<u8> {
    der::sequence(&[
        der::context(0, &der::time(stamp.seconds())),
        der::context(1, &der::integer(stamp.microseconds())),
    ])
}

fn encryption_key(key: &Key) -> Vec<u8> {
    der::sequence(&[
        der::context(0, &der::integer(key.enctype().number().into())),
        der::context(1, &der::octets(key.bytes())),
    ])
}

/// The proof that the client has a ticket's key (5.5.1).
pub(super) struct Authenticator<'a> {
    pub(super) stamp: Stamp,
    pub(super) checksum: (i64, &'a [u8]),
    /// A key for this exchange only, and the first sequence number.
    pub(super) subkey: Option<(&'a Key, u32)>,
}

/// Encodes AP-REQ (5.5.1).
pub(super) fn ap_request(
    ticket: &Ticket,
    options: u32,
    usage: u32,
    authenticator: &Authenticator<'_>,
) -> Vec<u8> {
    let (kind, checksum) = authenticator.checksum;
    let checksum = der::sequence(&[
        der::context(0, &der::integer(kind)),
        der::context(1, &der::octets(checksum)),
    ]);
    let mut fields = vec![
        der::context(0, &der::integer(VERSION)),
        der::context(1, &ticket.client.encode_realm()),
        der::context(2, &ticket.client.encode_name()),
        der::context(3, &checksum),
        der::context(4, &der::integer(authenticator.stamp.microseconds())),
        der::context(5, &der::time(authenticator.stamp.seconds())),
    ];
    if let Some((subkey, sequence)) = authenticator.subkey {
        fields.push(der::context(6, &encryption_key(subkey)));
        fields.push(der::context(7, &der::integer(sequence.into())));
    }
    let plain = der::application(AUTHENTICATOR, &der::sequence(&fields));
    let request = der::sequence(&[
        der::context(0, &der::integer(VERSION)),
        der::context(1, &der::integer(AP_REQ.into())),
        der::context(2, &der::flags(options)),
        der::context(3, &ticket.encoded),
        der::context(4, &encrypted(&ticket.key, usage, &plain)),
    ]);
    der::application(AP_REQ, &request)
}

/// Received `EncryptedData`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Encrypted<'a> {
    pub(super) enctype: i64,
    pub(super) cipher: &'a [u8],
}

impl<'a> Encrypted<'a> {
    fn decode(field: &mut Der<'a>) -> Result<Self, DecodeError> {
        const WHAT: &str = "Kerberos encrypted data";
        let mut fields = field.sequence(WHAT)?;
        let enctype = fields.field(0, WHAT)?.integer(WHAT)?;
        let _version = fields.optional_field(1, WHAT)?;
        let cipher = fields.field(2, WHAT)?.octets(WHAT)?;
        Ok(Self { enctype, cipher })
    }

    /// Decrypts the content, if `key` is of the same type.
    pub(super) fn decrypt(&self, key: &Key, usage: u32) -> Option<Vec<u8>> {
        (self.enctype == key.enctype().number().into())
            .then(|| key.decrypt(usage, self.cipher))
            .flatten()
    }
}

/// Received pre-authentication data: types and values.
type Preauth<'a> = Vec<(i64, &'a [u8])>;

fn preauth_data<'a>(list: &mut Der<'a>) -> Result<Preauth<'a>, DecodeError> {
    const WHAT: &str = "Kerberos pre-authentication data";
    let mut list = list.sequence(WHAT)?;
    let mut data = Vec::new();
    while !list.is_empty() {
        let mut fields = list.sequence(WHAT)?;
        let kind = fields.field(1, WHAT)?.integer(WHAT)?;
        data.push((kind, fields.field(2, WHAT)?.octets(WHAT)?));
    }
    Ok(data)
}

/// An answer of a KDC.
pub(super) enum KdcAnswer<'a> {
    Reply(KdcReply<'a>),
    Error(KrbError<'a>),
}

/// AS-REP or TGS-REP (5.4.2).
pub(super) struct KdcReply<'a> {
    pub(super) preauth: Preauth<'a>,
    pub(super) client: Principal,
    pub(super) ticket: &'a [u8],
    pub(super) part: Encrypted<'a>,
}

/// KRB-ERROR (5.9.1).
pub(super) struct KrbError<'a> {
    pub(super) code: i64,
    /// The sender's time.
    pub(super) time: SystemTime,
    pub(super) client_realm: Option<&'a str>,
    pub(super) text: &'a str,
    data: &'a [u8],
}

impl<'a> KdcAnswer<'a> {
    /// Decodes an answer. `expected` is the message type of a successful reply.
    pub(super) fn decode(bytes: &'a [u8], expected: u8) -> Result<Self, DecodeError> {
        if bytes.first() == Some(&der::application_tag(KRB_ERROR)) {
            return KrbError::decode(bytes).map(Self::Error);
        }
        const WHAT: &str = "KDC reply";
        let mut fields = Der::new(bytes)
            .expect(der::application_tag(expected), WHAT)?
            .sequence(WHAT)?;
        fields.field(0, WHAT)?;
        fields.field(1, WHAT)?;
        let preauth = match fields.optional_field(2, WHAT)? {
            Some(mut list) => preauth_data(&mut list)?,
            None => Vec::new(),
        };
        let realm = fields.field(3, WHAT)?.string(WHAT)?;
        let client = Principal::decode(realm, &mut fields.field(4, WHAT)?)?;
        let ticket = fields.field(5, WHAT)?;
        // Check only that it is a ticket, so that no other data is passed on.
        { ticket }.expect(der::application_tag(TICKET), "Kerberos ticket")?;
        let part = Encrypted::decode(&mut fields.field(6, WHAT)?)?;
        Ok(Self::Reply(KdcReply {
            preauth,
            client,
            ticket: ticket.rest(),
            part,
        }))
    }
}

impl<'a> KrbError<'a> {
    pub(super) fn decode(bytes: &'a [u8]) -> Result<Self, DecodeError> {
        const WHAT: &str = "Kerberos error";
        let mut fields = Der::new(bytes)
            .expect(der::application_tag(KRB_ERROR), WHAT)?
            .sequence(WHAT)?;
        fields.field(0, WHAT)?;
        fields.field(1, WHAT)?;
        fields.optional_field(2, WHAT)?;
        fields.optional_field(3, WHAT)?;
        let time = fields.field(4, WHAT)?.time(WHAT)?;
        fields.field(5, WHAT)?;
        let code = fields.field(6, WHAT)?.integer(WHAT)?;
        let client_realm = match fields.optional_field(7, WHAT)? {
            Some(mut field) => Some(field.string(WHAT)?),
            None => None,
        };
        for number in 8..=10 {
            fields.optional_field(number, WHAT)?;
        }
        // Some servers send another kind of text here. An empty text is better
        // than an error.
        let text = match fields.optional_field(11, WHAT)? {
            Some(mut field) => field.string(WHAT).unwrap_or_default(),
            None => "",
        };
        let data = match fields.optional_field(12, WHAT)? {
            Some(mut field) => field.octets(WHAT)?,
            None => &[],
        };
        Ok(Self {
            code,
            time,
            client_realm,
            text,
            data,
        })
    }

    /// Returns the methods of proof that KDC_ERR_PREAUTH_REQUIRED lists.
    pub(super) fn methods(&self) -> Result<Preauth<'a>, DecodeError> {
        preauth_data(&mut Der::new(self.data))
    }
}

/// The parameters by which a KDC makes a key from a password (5.2.7.5).
pub(super) struct EtypeInfo<'a> {
    pub(super) enctype: Enctype,
    pub(super) salt: Option<&'a [u8]>,
    pub(super) parameters: &'a [u8],
}

/// Decodes the supported entries of ETYPE-INFO2, in the KDC's order.
pub(super) fn etype_info(bytes: &[u8]) -> Result<Vec<EtypeInfo<'_>>, DecodeError> {
    const WHAT: &str = "ETYPE-INFO2";
    let mut list = Der::new(bytes).sequence(WHAT)?;
    let mut known = Vec::new();
    while !list.is_empty() {
        let mut fields = list.sequence(WHAT)?;
        let enctype = fields.field(0, WHAT)?.integer(WHAT)?;
        let salt = match fields.optional_field(1, WHAT)? {
            Some(mut field) => Some(field.string_bytes(WHAT)?),
            None => None,
        };
        let parameters = match fields.optional_field(2, WHAT)? {
            Some(mut field) => field.octets(WHAT)?,
            None => &[],
        };
        known.extend(Enctype::from_number(enctype).map(|enctype| EtypeInfo {
            enctype,
            salt,
            parameters,
        }));
    }
    Ok(known)
}

/// The part of a KDC's reply that only the client can decrypt (5.4.2).
pub(super) struct ReplyPart {
    /// `None` for a type that was not requested.
    pub(super) key: Option<Key>,
    pub(super) nonce: i64,
    pub(super) starts: SystemTime,
    pub(super) expires: SystemTime,
    pub(super) service: Principal,
}

impl ReplyPart {
    pub(super) fn decode(bytes: &[u8]) -> Result<Self, DecodeError> {
        const WHAT: &str = "KDC reply part";
        let mut message = Der::new(bytes);
        // Old KDCs use the tag of TGS replies for AS replies too (RFC 4120 5.4.2).
        let inner = match message.optional(der::application_tag(ENC_AS_REP_PART), WHAT)? {
            Some(inner) => inner,
            None => message.expect(der::application_tag(ENC_TGS_REP_PART), WHAT)?,
        };
        let mut fields = { inner }.sequence(WHAT)?;
        let key = decode_key(&mut fields.field(0, WHAT)?)?;
        fields.field(1, WHAT)?;
        let nonce = fields.field(2, WHAT)?.integer(WHAT)?;
        fields.optional_field(3, WHAT)?;
        fields.field(4, WHAT)?;
        let authenticated = fields.field(5, WHAT)?.time(WHAT)?;
        let starts = match fields.optional_field(6, WHAT)? {
            Some(mut field) => field.time(WHAT)?,
            None => authenticated,
        };
        let expires = fields.field(7, WHAT)?.time(WHAT)?;
        fields.optional_field(8, WHAT)?;
        let realm = fields.field(9, WHAT)?.string(WHAT)?;
        let service = Principal::decode(realm, &mut fields.field(10, WHAT)?)?;
        Ok(Self {
            key,
            nonce,
            starts,
            expires,
            service,
        })
    }
}

/// Decodes `EncryptionKey` (5.2.9). Returns `None` for an unsupported type.
fn decode_key(field: &mut Der<'_>) -> Result<Option<Key>, DecodeError> {
    const WHAT: &str = "Kerberos key";
    let mut fields = field.sequence(WHAT)?;
    let enctype = fields.field(0, WHAT)?.integer(WHAT)?;
    let bytes = fields.field(1, WHAT)?.octets(WHAT)?;
    Ok(Enctype::from_number(enctype).and_then(|enctype| Key::new(enctype, bytes)))
}

/// Decodes AP-REP (5.5.2) and returns its encrypted part.
pub(super) fn ap_reply(bytes: &[u8]) -> Result<Encrypted<'_>, DecodeError> {
    const WHAT: &str = "Kerberos AP-REP";
    let mut fields = Der::new(bytes)
        .expect(der::application_tag(AP_REP), WHAT)?
        .sequence(WHAT)?;
    fields.field(0, WHAT)?;
    fields.field(1, WHAT)?;
    Encrypted::decode(&mut fields.field(2, WHAT)?)
}

/// `EncAPRepPart` (5.5.2).
pub(super) struct ApReplyPart {
    pub(super) seconds: SystemTime,
    pub(super) microseconds: i64,
    pub(super) subkey: Option<Key>,
}

impl ApReplyPart {
    pub(super) fn decode(bytes: &[u8]) -> Result<Self, DecodeError> {
        const WHAT: &str = "Kerberos AP-REP part";
        let mut fields = Der::new(bytes)
            .expect(der::application_tag(ENC_AP_REP_PART), WHAT)?
            .sequence(WHAT)?;
        let seconds = fields.field(0, WHAT)?.time(WHAT)?;
        let microseconds = fields.field(1, WHAT)?.integer(WHAT)?;
        let subkey = match fields.optional_field(2, WHAT)? {
            Some(mut field) => {
                let unknown = DecodeError {
                    what: WHAT,
                    offset: 0,
                };
                Some(decode_key(&mut field)?.ok_or(unknown)?)
            }
            None => None,
        };
        Ok(Self {
            seconds,
            microseconds,
            subkey,
        })
    }
}
