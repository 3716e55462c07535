//! Options that both servers have, and the check of names.
//!
//! Not here: options of only one server.

use std::num::NonZeroU32;
use std::time::Duration;

use crate::LabError;

/// The access of a client to a share.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ShareAccess {
    /// The client may read and write.
    #[default]
    ReadWrite,
    /// The client may only open and read existing files. Other requests fail
    /// with `STATUS_ACCESS_DENIED`.
    ReadOnly,
}

/// Whether a server requires signed messages (MS-SMB2 3.3.5.5).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Signing {
    /// The server signs if the client asks for it.
    #[default]
    Optional,
    /// The server requires every session to sign.
    Required,
}

/// How fast a share in memory serves reads and writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ServicePace {
    /// As fast as the machine allows.
    #[default]
    Unlimited,
    /// One after the other, each for this time. Its reciprocal is the highest rate. Unused time of an idle or stalled moment is lost.
    OneByOne(Duration),
    /// At most this many per second, a token bucket that saves up 20 ms.
    Rate(NonZeroU32),
}

/// Checks that `name` needs no escaping in a URL, a path, or `smb.conf`.
///
/// `what` is the kind of name for the error.
pub(crate) fn check_name(what: &'static str, name: &str) -> Result<(), LabError> {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
    if name.starts_with(|c: char| c.is_ascii_alphanumeric()) && name.chars().all(plain) {
        return Ok(());
    }
    Err(LabError::Name {
        what,
        name: name.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::check_name;

    #[test]
    fn names_that_would_need_escaping_are_refused() {
        for good in ["bench", "a", "web-01_x.y"] {
            check_name("share", good).unwrap();
        }
        for bad in ["", ".", "..", "-x", "a/b", "a b", "a]", "a\nb", "é", "C$"] {
            let error = check_name("share", bad).unwrap_err();
            assert!(error.to_string().starts_with("share name"), "{error}");
        }
    }
}
