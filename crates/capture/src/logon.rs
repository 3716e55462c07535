//! What a log-on shows to a third party: its mechanism, and with NTLM the user.

use crate::fields::{Fields, utf16};

/// A token of a log-on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct LogonToken<'a> {
    pub(crate) mechanism: Option<&'static str>,
    /// `DOMAIN\user`, of the last message of NTLM.
    pub(crate) user: Option<String>,
    /// The message of NTLM that the token holds.
    pub(crate) ntlm: Option<&'a [u8]>,
    /// The AP-REQ or the AP-REP of Kerberos, with what follows it.
    pub(crate) kerberos: Option<&'a [u8]>,
}

const NTLM: &[u8] = b"NTLMSSP\0";
/// Tags of Kerberos messages: APPLICATION 14 and 15.
const AP_REQ: u8 = 0x6e;
const AP_REP: u8 = 0x6f;
/// Bytes of a token that are looked through.
const SEARCHED: usize = 1024;

fn find(bytes: &[u8], what: &[u8]) -> Option<usize> {
    let end = bytes.len().min(SEARCHED);
    bytes[..end]
        .windows(what.len())
        .position(|window| window == what)
}

/// Reads a security token of SESSION_SETUP.
pub(crate) fn token(blob: &[u8]) -> LogonToken<'_> {
    if let Some(at) = find(blob, NTLM) {
        let ntlm = &blob[at..];
        return LogonToken {
            mechanism: Some("ntlm"),
            user: user(ntlm),
            ntlm: Some(ntlm),
            kerberos: None,
        };
    }
    // The ids of tokens (RFC 4121 4.1) precede the messages.
    let request = find(blob, &[1, 0, AP_REQ]);
    let message = request.or_else(|| find(blob, &[2, 0, AP_REP]));
    LogonToken {
        mechanism: request.map(|_| "kerberos"),
        kerberos: message.map(|at| &blob[at + 2..]),
        ..LogonToken::default()
    }
}

/// Returns the user of an AUTHENTICATE message (MS-NLMP 2.2.1.3).
fn user(ntlm: &[u8]) -> Option<String> {
    const UNICODE: u32 = 1;
    let fields = Fields(ntlm);
    if fields.u32(8)? != 3 {
        return None;
    }
    let is_unicode = fields.u32(60)? & UNICODE != 0;
    let text = |at: usize| {
        let len = usize::from(fields.u16(at)?);
        let bytes = fields.slice(fields.u32(at + 4)? as usize, len)?;
        Some(if is_unicode {
            utf16(bytes)
        } else {
            String::from_utf8_lossy(bytes).into_owned()
        })
    };
    let (domain, user) = (text(28)?, text(36)?);
    Some(match (domain.as_str(), user.as_str()) {
        (_, "") => "anonymous".to_owned(),
        ("", user) => user.to_owned(),
        (domain, user) => format!("{domain}\\{user}"),
    })
}
