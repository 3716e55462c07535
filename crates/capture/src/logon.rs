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
}

const NTLM: &[u8] = b"NTLMSSP\0";
/// The object identifier of Kerberos, 1.2.840.113554.1.2.2, and that of old Windows.
const KERBEROS: &[u8] = b"\x06\x09\x2a\x86\x48\x86\xf7\x12\x01\x02\x02";
const KERBEROS_OF_WINDOWS: &[u8] = b"\x06\x09\x2a\x86\x48\x82\xf7\x12\x01\x02\x02";
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
        };
    }
    // The list of offers of an NTLM client may have Kerberos, but no ticket (APPLICATION 14).
    let offers = find(blob, KERBEROS).or_else(|| find(blob, KERBEROS_OF_WINDOWS));
    let has_ticket = find(blob, b"\x01\x00\x6e").is_some();
    LogonToken {
        mechanism: (offers.is_some() && has_ticket).then_some("kerberos"),
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
