//! SPNEGO (RFC 4178, MS-SPNG) around the tokens of a mechanism.

use super::der::{self, Der, ENUMERATED};
use crate::decode::DecodeError;

/// Object identifier 1.3.6.1.5.5.2.
const SPNEGO: &[u8] = &[0x2b, 0x06, 0x01, 0x05, 0x05, 0x02];
/// Object identifier 1.2.840.113554.1.2.2.
pub const KERBEROS: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x12, 0x01, 0x02, 0x02];
/// Object identifier 1.2.840.48018.1.2.2. This is Kerberos with a typing error
/// by Windows, which every implementation understands.
pub const MS_KERBEROS: &[u8] = &[0x2a, 0x86, 0x48, 0x82, 0xf7, 0x12, 0x01, 0x02, 0x02];
/// Object identifier 1.3.6.1.4.1.311.2.2.10.
pub const NTLM: &[u8] = &[0x2b, 0x06, 0x01, 0x04, 0x01, 0x82, 0x37, 0x02, 0x02, 0x0a];

/// NegState accept-incomplete.
const INCOMPLETE: u8 = 1;

/// Encodes the list of offered mechanisms, which a mechListMIC protects.
pub fn mechanisms(offered: &[&[u8]]) -> Vec<u8> {
    let offered: Vec<_> = offered
        .iter()
        .map(|mechanism| der::oid(mechanism))
        .collect();
    der::sequence(&offered)
}

/// Wraps the first token of a GSS-API exchange (RFC 2743 3.1).
pub fn framed(mechanism: &[u8], token: &[u8]) -> Vec<u8> {
    der::application(0, &[&der::oid(mechanism), token].concat())
}

/// Unwraps the output of [`framed`]: returns the mechanism and the token.
pub fn unframed(bytes: &[u8]) -> Result<(&[u8], &[u8]), DecodeError> {
    let mut inner = Der::new(bytes).expect(der::application_tag(0), "GSS-API token")?;
    let mechanism = inner.oid("GSS-API mechanism")?;
    Ok((mechanism, inner.rest()))
}

/// Encodes the first message: mechanisms, and a token for the first of them.
pub fn init(mechanisms: &[u8], token: &[u8]) -> Vec<u8> {
    let init = der::sequence(&[
        der::context(0, mechanisms),
        der::context(2, &der::octets(token)),
    ]);
    framed(SPNEGO, &der::context(0, &init))
}

/// Encodes a later message of the client.
pub fn response(token: Option<&[u8]>, mic: Option<&[u8]>) -> Vec<u8> {
    let octets = |number, bytes: Option<&[u8]>| {
        bytes.map_or_else(Vec::new, |bytes| der::context(number, &der::octets(bytes)))
    };
    // Windows sends it with every token.
    let state = match token {
        Some(_) => der::context(0, &der::element(ENUMERATED, &[INCOMPLETE])),
        None => Vec::new(),
    };
    der::context(
        1,
        &der::sequence(&[state, octets(2, token), octets(3, mic)]),
    )
}

/// The state of the negotiation as the server reports it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NegState {
    Completed,
    Incomplete,
    Rejected,
    /// The server requires a mechListMIC.
    RequestMic,
}

/// A message from the server.
#[derive(Debug, PartialEq, Eq)]
pub struct Response<'a> {
    pub state: Option<NegState>,
    pub mechanism: Option<&'a [u8]>,
    pub token: Option<&'a [u8]>,
    pub mic: Option<&'a [u8]>,
}

impl<'a> Response<'a> {
    pub fn decode(bytes: &'a [u8]) -> Result<Self, DecodeError> {
        let mut fields = Der::new(bytes)
            .field(1, "SPNEGO response")?
            .sequence("SPNEGO response")?;
        Ok(Self {
            state: fields.optional_field(0, "SPNEGO state", state)?,
            mechanism: fields.optional_field(1, "SPNEGO mechanism", Der::oid)?,
            token: fields.optional_field(2, "SPNEGO token", Der::octets)?,
            mic: fields.optional_field(3, "SPNEGO mechListMIC", Der::octets)?,
        })
    }
}

fn state(field: &mut Der<'_>, what: &'static str) -> Result<NegState, DecodeError> {
    match field.expect(ENUMERATED, what)?.rest() {
        [0] => Ok(NegState::Completed),
        [INCOMPLETE] => Ok(NegState::Incomplete),
        [2] => Ok(NegState::Rejected),
        [3] => Ok(NegState::RequestMic),
        _ => Err(DecodeError { what, offset: 0 }),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_first_message_is_as_the_rfc_has_it() {
        let message = init(&mechanisms(&[NTLM]), b"tok");
        let expected = [
            &[0x60, 0x23, 0x06, 0x06][..],
            SPNEGO,
            &[0xa0, 0x19, 0x30, 0x17],
            &[0xa0, 0x0e, 0x30, 0x0c, 0x06, 0x0a],
            NTLM,
            &[0xa2, 0x05, 0x04, 0x03],
            b"tok",
        ];
        assert_eq!(message, expected.concat());
    }

    /// Windows adds the state to a token.
    #[test]
    fn a_token_goes_with_a_state_and_a_mic_alone_without() {
        let with_state = [0xa1, 16, 0x30, 14, 0xa0, 3, 0x0a, 1, 1, 0xa2, 7, 4, 5];
        let expected = [&with_state[..], b"token"].concat();
        assert_eq!(response(Some(b"token"), None), expected);
        let expected = [&[0xa1, 9, 0x30, 7, 0xa3, 5, 4, 3][..], b"mic"].concat();
        assert_eq!(response(None, Some(b"mic")), expected);
    }

    #[test]
    fn a_response_is_read_whole_and_in_parts() {
        let enumerated = |value| der::context(0, &der::element(ENUMERATED, &[value]));
        let full = der::context(
            1,
            &der::sequence(&[
                enumerated(1),
                der::context(1, &der::oid(KERBEROS)),
                der::context(2, &der::octets(b"token")),
                der::context(3, &der::octets(b"mic")),
            ]),
        );
        let expected = Response {
            state: Some(NegState::Incomplete),
            mechanism: Some(KERBEROS),
            token: Some(b"token"),
            mic: Some(b"mic"),
        };
        assert_eq!(Response::decode(&full).unwrap(), expected);
        let short = der::context(1, &der::sequence(&[enumerated(0)]));
        let response = Response::decode(&short).unwrap();
        assert_eq!(response.state, Some(NegState::Completed));
        assert_eq!((response.token, response.mic), (None, None));
        let unknown = der::context(1, &der::sequence(&[enumerated(9)]));
        assert!(Response::decode(&unknown).is_err());
    }

    #[test]
    fn framing_is_undone() {
        let bytes = framed(KERBEROS, b"\x01\x00rest");
        assert_eq!(unframed(&bytes).unwrap(), (KERBEROS, &b"\x01\x00rest"[..]));
        assert!(unframed(&bytes[..bytes.len() - 1]).is_err());
    }

    proptest! {
        #[test]
        fn arbitrary_bytes_never_panic(bytes: Vec<u8>) {
            let _ = Response::decode(&bytes);
            let _ = unframed(&bytes);
        }
    }
}
