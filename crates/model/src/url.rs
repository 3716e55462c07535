//! Parsers and encoders for the parts of a target URL. No error repeats a part that
//! could be or contain a password.

use std::borrow::Cow;
use std::fmt;
use std::net::Ipv6Addr;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

/// Returns a UNC path with slashes; any other text as it is.
pub(super) fn slashed(text: &str) -> Cow<'_, str> {
    if text.starts_with(r"\\") {
        text.replace('\\', "/").into()
    } else {
        text.into()
    }
}

/// Removes `smb://`, or the two slashes of a UNC path.
pub(super) fn strip_scheme(text: &str) -> Result<&str, TargetError> {
    if let Some(rest) = text.strip_prefix("//") {
        return Ok(rest);
    }
    let (scheme, rest) = text.split_once("://").ok_or(TargetError::NoScheme)?;
    if scheme.eq_ignore_ascii_case("smb") {
        return Ok(rest);
    }
    let is_scheme = scheme.starts_with(|c: char| c.is_ascii_alphabetic())
        && scheme
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.'));
    // Any other text before `://` may be a part of a password.
    Err(if is_scheme {
        TargetError::OtherScheme(scheme.to_owned())
    } else {
        TargetError::NoScheme
    })
}

/// Splits `HOST[:PORT]` or `[IPV6][:PORT]`; `None` if what is in brackets is no
/// address, or there is more behind them than a port.
pub(super) fn split_port(text: &str) -> Option<(&str, Option<&str>)> {
    let Some(bracketed) = text.strip_prefix('[') else {
        let split = text.split_once(':');
        return Some(split.map_or((text, None), |(host, port)| (host, Some(port))));
    };
    let (address, after) = bracketed.split_once(']')?;
    let (ip, zone) = split_zone(address);
    ip.parse::<Ipv6Addr>().ok()?;
    if zone.is_some_and(|zone| !is_zone(zone)) {
        return None;
    }
    match after {
        "" => Some((address, None)),
        _ => Some((address, Some(after.strip_prefix(':')?))),
    }
}

/// Splits `fe80::1%25eth0` (RFC 6874), or `fe80::1%eth0` as people type it, into the
/// address and the zone, which is the name of an interface.
pub(super) fn split_zone(address: &str) -> (&str, Option<&str>) {
    match address.split_once('%') {
        Some((ip, zone)) => {
            let escaped = zone.strip_prefix("25").filter(|zone| !zone.is_empty());
            (ip, Some(escaped.unwrap_or(zone)))
        }
        None => (address, None),
    }
}

/// Whether this can be the name of an interface.
pub(super) fn is_zone(text: &str) -> bool {
    !text.is_empty()
        && text
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || "-._".contains(c))
}

/// Whether a name or address of a host may have this character.
pub(super) fn is_of_host(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '-' | '.' | '_' | ':')
}

/// Splits `HOST[:PORT]` into a host without brackets and a port.
pub(super) fn parse_server(server: &str) -> Result<(String, u16), TargetError> {
    let (host, port) = match split_port(server).ok_or(TargetError::BadHost)? {
        (_, Some(port)) if port.contains(':') && !server.starts_with('[') => {
            return Err(TargetError::BadHost);
        }
        (host, port) => (host, port),
    };
    if host.is_empty() {
        return Err(TargetError::NoHost);
    }
    let (host, zone) = if server.starts_with('[') {
        split_zone(host)
    } else {
        (host, None)
    };
    if !host.chars().all(is_of_host) {
        return Err(TargetError::BadHost);
    }
    // Of the many ways to write an IPv6 address, the shortest.
    let address: Option<Ipv6Addr> = host.parse().ok();
    let host = address.map_or_else(|| host.to_owned(), |address| address.to_string());
    let host = zone.map_or_else(|| host.clone(), |zone| format!("{host}%{zone}"));
    let port = match port {
        None => DEFAULT_PORT,
        Some(digits) if digits.bytes().all(|byte| byte.is_ascii_digit()) => digits
            .parse()
            .ok()
            .filter(|port| *port != 0)
            .ok_or(TargetError::BadPort)?,
        Some(_) => return Err(TargetError::BadPort),
    };
    Ok((host, port))
}

/// Splits `SHARE[/PATH]` into a share and a `\`-separated path.
pub(super) fn parse_share(text: &str) -> Result<(String, String), TargetError> {
    let mut segments = text.split('/').filter(|segment| !segment.is_empty());
    let share = decode("share", segments.next().ok_or(TargetError::NoShare)?)?;
    check_characters("share", &share, is_reserved)?;
    if matches!(share.as_str(), "." | "..") {
        return Err(TargetError::DotSegment(share));
    }
    let mut folders = Vec::new();
    for segment in segments {
        let folder = decode("path", segment)?;
        check_characters("path", &folder, is_reserved)?;
        if matches!(folder.as_str(), "." | "..") {
            return Err(TargetError::DotSegment(folder));
        }
        folders.push(folder);
    }
    Ok((share, folders.join("\\")))
}

/// Whether a character is reserved in names of files and shares (MS-FSCC 2.1.5.2,
/// 2.1.6).
fn is_reserved(character: char) -> bool {
    matches!(
        character,
        '"' | '*' | '/' | ':' | '<' | '>' | '?' | '\\' | '|'
    )
}

pub(super) fn check_characters(
    part: &'static str,
    text: &str,
    is_illegal: fn(char) -> bool,
) -> Result<(), TargetError> {
    match text.chars().find(|c| c.is_control() || is_illegal(*c)) {
        Some(character) => Err(TargetError::IllegalCharacter { part, character }),
        None => Ok(()),
    }
}

pub(super) fn decode(part: &'static str, text: &str) -> Result<String, TargetError> {
    let complete = text.split('%').skip(1).all(|escape| {
        matches!(escape.as_bytes(), [a, b, ..] if a.is_ascii_hexdigit() && b.is_ascii_hexdigit())
    });
    if !complete {
        return Err(TargetError::BadEscape(part));
    }
    match percent_decode_str(text).decode_utf8() {
        Ok(decoded) => Ok(decoded.into_owned()),
        Err(_) => Err(TargetError::NotUtf8(part)),
    }
}

/// The characters that are percent-encoded: all but RFC 3986's unreserved
/// characters and `$`. Names of administrative shares end in `$`.
const ENCODED: AsciiSet = NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~')
    .remove(b'$');

pub(super) fn encode(part: &str) -> impl fmt::Display {
    utf8_percent_encode(part, &ENCODED)
}

/// The TCP port of SMB without NetBIOS (MS-SMB2 2.1).
pub const DEFAULT_PORT: u16 = 445;

/// The reason why a text is not a target.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TargetError {
    /// The scheme `smb://` is missing.
    #[error(
        "the target is not a URL: write smb://[DOMAIN;]USER@HOST[:PORT]/SHARE[/PATH] or //HOST/SHARE"
    )]
    NoScheme,
    /// The URL has another scheme.
    #[error("the target's scheme is {0}: only smb:// is understood")]
    OtherScheme(String),
    /// The host is missing.
    #[error("the target names no host: write smb://USER@HOST/SHARE")]
    NoHost,
    /// The host is neither a name nor an address.
    #[error(
        "the target's host is neither a name nor an address; an IPv6 address goes in brackets, \
         and in a user name or password @ : / ? # are written %40 %3A %2F %3F %23"
    )]
    BadHost,
    /// The port is not 1 to 65535.
    #[error(
        "the target's port is not a number from 1 to 65535 (in a user name or password \
         @ : / ? # are written %40 %3A %2F %3F %23)"
    )]
    BadPort,
    /// A password or a domain is given without an account.
    #[error("the target has a {0} but no user: write smb://USER@HOST/SHARE")]
    NoUser(&'static str),
    /// The share is missing.
    #[error("the target names no share: write smb://USER@HOST/SHARE")]
    NoShare,
    /// A part contains a character that SMB does not allow there.
    #[error("the target's {part} contains {character:?}, which SMB does not allow there")]
    IllegalCharacter {
        /// The part of the URL.
        part: &'static str,
        /// The character.
        character: char,
    },
    /// A bare `?` or `#`, which would start a query or a fragment.
    #[error("the target has a bare {0}: write ? as %3F and # as %23, or leave it out")]
    QueryOrFragment(char),
    /// A folder named `.` or `..`: it could lead files outside the target folder.
    #[error("the target's path contains the folder `{0}`: write the path without it")]
    DotSegment(String),
    /// A `%` without two hexadecimal digits after it.
    #[error("the target's {0} contains a % without two hexadecimal digits: write % itself as %25")]
    BadEscape(&'static str),
    /// Escapes that do not decode to UTF-8.
    #[error("the target's {0} is not UTF-8 once its %XX escapes are decoded")]
    NotUtf8(&'static str),
}
