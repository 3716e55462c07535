//! The messages of RFC 4120 that a client receives.

use std::time::SystemTime;

use super::{AP_REP, ENC_AP_REP_PART, ENC_AS_REP_PART, ENC_TGS_REP_PART, KRB_ERROR, TICKET};
use crate::decode::DecodeError;
use crate::der::{self, Der};
use crate::enctype::{Enctype, Key};
use crate::principal::Principal;

/// Received `EncryptedData`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Encrypted<'a> {
    pub(crate) enctype: i64,
    pub(crate) cipher: &'a [u8],
}

impl<'a> Encrypted<'a> {
    pub(crate) fn decode(field: &mut Der<'a>) -> Result<Self, DecodeError> {
        const WHAT: &str = "Kerberos encrypted data";
        let mut fields = field.sequence(WHAT)?;
        let enctype = fields.field(0, WHAT)?.integer(WHAT)?;
        fields.skip_field(1, WHAT)?;
        let cipher = fields.field(2, WHAT)?.octets(WHAT)?;
        Ok(Self { enctype, cipher })
    }

    /// Decrypts the content, if `key` is of the same type.
    pub(crate) fn decrypt(&self, key: &Key, usage: u32) -> Option<Vec<u8>> {
        (self.enctype == key.enctype.number().into())
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
pub(crate) enum KdcAnswer<'a> {
    Reply(KdcReply<'a>),
    Error(KrbError<'a>),
}

/// AS-REP or TGS-REP (5.4.2).
pub(crate) struct KdcReply<'a> {
    pub(crate) preauth: Preauth<'a>,
    pub(crate) client: Principal,
    pub(crate) ticket: &'a [u8],
    pub(crate) part: Encrypted<'a>,
}

/// KRB-ERROR (5.9.1).
pub(crate) struct KrbError<'a> {
    pub(crate) code: i64,
    /// The sender's time.
    pub(crate) time: SystemTime,
    pub(crate) client_realm: Option<&'a str>,
    pub(crate) text: &'a str,
    data: &'a [u8],
}

impl<'a> KdcAnswer<'a> {
    /// Decodes an answer. `expected` is the message type of a successful reply.
    pub(crate) fn decode(bytes: &'a [u8], expected: u8) -> Result<Self, DecodeError> {
        if bytes.first() == Some(&der::application_tag(KRB_ERROR)) {
            return KrbError::decode(bytes).map(Self::Error);
        }
        const WHAT: &str = "KDC reply";
        let mut fields = Der::message(bytes, expected, WHAT)?;
        fields.field(0, WHAT)?;
        fields.field(1, WHAT)?;
        let preauth = fields
            .optional_field(2, WHAT, |list, _| preauth_data(list))?
            .unwrap_or_default();
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
    pub(crate) fn decode(bytes: &'a [u8]) -> Result<Self, DecodeError> {
        const WHAT: &str = "Kerberos error";
        let mut fields = Der::message(bytes, KRB_ERROR, WHAT)?;
        fields.field(0, WHAT)?;
        fields.field(1, WHAT)?;
        fields.skip_field(2, WHAT)?;
        fields.skip_field(3, WHAT)?;
        let time = fields.field(4, WHAT)?.time(WHAT)?;
        fields.field(5, WHAT)?;
        let code = fields.field(6, WHAT)?.integer(WHAT)?;
        let client_realm = fields.optional_field(7, WHAT, Der::string)?;
        for number in 8..=10 {
            fields.skip_field(number, WHAT)?;
        }
        // Some servers send another kind of text here. An empty text is better
        // than an error.
        let text = fields.optional_field(11, WHAT, |field, what| {
            Ok(field.string(what).unwrap_or_default())
        })?;
        let data = fields
            .optional_field(12, WHAT, Der::octets)?
            .unwrap_or_default();
        Ok(Self {
            code,
            time,
            client_realm,
            text: text.unwrap_or_default(),
            data,
        })
    }

    /// Returns the methods of proof that KDC_ERR_PREAUTH_REQUIRED lists.
    pub(crate) fn methods(&self) -> Result<Preauth<'a>, DecodeError> {
        preauth_data(&mut Der::new(self.data))
    }
}

/// The parameters by which a KDC makes a key from a password (5.2.7.5).
pub(crate) struct EtypeInfo<'a> {
    pub(crate) enctype: Enctype,
    pub(crate) salt: Option<&'a [u8]>,
    pub(crate) parameters: &'a [u8],
}

/// Decodes the supported entries of ETYPE-INFO2, in the KDC's order.
pub(crate) fn etype_info(bytes: &[u8]) -> Result<Vec<EtypeInfo<'_>>, DecodeError> {
    const WHAT: &str = "ETYPE-INFO2";
    let mut list = Der::new(bytes).sequence(WHAT)?;
    let mut known = Vec::new();
    while !list.is_empty() {
        let mut fields = list.sequence(WHAT)?;
        let enctype = fields.field(0, WHAT)?.integer(WHAT)?;
        let salt = fields.optional_field(1, WHAT, Der::string_bytes)?;
        let parameters = fields
            .optional_field(2, WHAT, Der::octets)?
            .unwrap_or_default();
        known.extend(Enctype::from_number(enctype).map(|enctype| EtypeInfo {
            enctype,
            salt,
            parameters,
        }));
    }
    Ok(known)
}

/// The part of a KDC's reply that only the client can decrypt (5.4.2).
pub(crate) struct ReplyPart {
    /// `None` for a type that was not requested.
    pub(crate) key: Option<Key>,
    pub(crate) nonce: i64,
    pub(crate) starts: SystemTime,
    pub(crate) expires: SystemTime,
    pub(crate) service: Principal,
}

impl ReplyPart {
    pub(crate) fn decode(bytes: &[u8]) -> Result<Self, DecodeError> {
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
        fields.skip_field(3, WHAT)?;
        fields.field(4, WHAT)?;
        let authenticated = fields.field(5, WHAT)?.time(WHAT)?;
        let starts = fields
            .optional_field(6, WHAT, Der::time)?
            .unwrap_or(authenticated);
        let expires = fields.field(7, WHAT)?.time(WHAT)?;
        fields.skip_field(8, WHAT)?;
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
pub(crate) fn decode_key(field: &mut Der<'_>) -> Result<Option<Key>, DecodeError> {
    const WHAT: &str = "Kerberos key";
    let mut fields = field.sequence(WHAT)?;
    let enctype = fields.field(0, WHAT)?.integer(WHAT)?;
    let bytes = fields.field(1, WHAT)?.octets(WHAT)?;
    Ok(Enctype::from_number(enctype).and_then(|enctype| Key::new(enctype, bytes)))
}

/// Decodes AP-REP (5.5.2) and returns its encrypted part.
pub(crate) fn ap_reply(bytes: &[u8]) -> Result<Encrypted<'_>, DecodeError> {
    const WHAT: &str = "Kerberos AP-REP";
    let mut fields = Der::message(bytes, AP_REP, WHAT)?;
    fields.field(0, WHAT)?;
    fields.field(1, WHAT)?;
    Encrypted::decode(&mut fields.field(2, WHAT)?)
}

/// `EncAPRepPart` (5.5.2).
pub(crate) struct ApReplyPart {
    pub(crate) seconds: SystemTime,
    pub(crate) microseconds: i64,
    pub(crate) subkey: Option<Key>,
}

impl ApReplyPart {
    pub(crate) fn decode(bytes: &[u8]) -> Result<Self, DecodeError> {
        const WHAT: &str = "Kerberos AP-REP part";
        let mut fields = Der::message(bytes, ENC_AP_REP_PART, WHAT)?;
        let seconds = fields.field(0, WHAT)?.time(WHAT)?;
        let microseconds = fields.field(1, WHAT)?.integer(WHAT)?;
        let subkey = fields.optional_field(2, WHAT, |field, what| {
            decode_key(field)?.ok_or(DecodeError { what, offset: 0 })
        })?;
        Ok(Self {
            seconds,
            microseconds,
            subkey,
        })
    }
}
