//! The messages of RFC 4120 that a client sends.

pub(super) mod reply;

use std::time::SystemTime;

use super::enctype::{Enctype, Key};
use super::principal::Principal;
use super::ticket::{KerberosTime, Ticket};
use crate::der;

const VERSION: i64 = 5;
pub(super) const TICKET: u8 = 1;
pub(super) const AUTHENTICATOR: u8 = 2;
pub(super) const ENC_TICKET_PART: u8 = 3;
pub(super) const AS_REQ: u8 = 10;
pub(super) const AS_REP: u8 = 11;
pub(super) const TGS_REQ: u8 = 12;
pub(super) const TGS_REP: u8 = 13;
pub(super) const AP_REQ: u8 = 14;
const AP_REP: u8 = 15;
pub(super) const ENC_AS_REP_PART: u8 = 25;
pub(super) const ENC_TGS_REP_PART: u8 = 26;
const ENC_AP_REP_PART: u8 = 27;
const KRB_ERROR: u8 = 30;

/// Key usage numbers (RFC 4120 7.5.1).
pub(super) mod usage {
    pub(crate) const AS_REQ_TIMESTAMP: u32 = 1;
    pub(crate) const TICKET: u32 = 2;
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
        let enctypes = self.enctypes.iter();
        let enctypes = enctypes.map(|enctype| der::integer(enctype.number().into()));
        let enctypes: Vec<_> = enctypes.collect();
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
    let data = if data.is_empty() {
        Vec::new()
    } else {
        der::context(3, &der::sequence(&data))
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
        der::context(0, &der::integer(key.enctype.number().into())),
        der::context(2, &der::octets(&key.encrypt(usage, plain))),
    ])
}

/// Encodes `PA-ENC-TS-ENC` (5.2.7.2).
pub(super) fn timestamp(stamp: KerberosTime) -> Vec<u8> {
    der::sequence(&[
        der::context(0, &der::time(stamp.seconds())),
        der::context(1, &der::integer(stamp.microseconds())),
    ])
}

fn encryption_key(key: &Key) -> Vec<u8> {
    der::sequence(&[
        der::context(0, &der::integer(key.enctype.number().into())),
        der::context(1, &der::octets(&key.bytes)),
    ])
}

/// The proof that the client has a ticket's key (5.5.1).
pub(super) struct Authenticator<'a> {
    pub(super) stamp: KerberosTime,
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
