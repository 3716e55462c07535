//! Dialects and signing algorithms by their wire numbers and names.

use std::fmt;
use std::str::FromStr;

/// An SMB2 dialect revision (MS-SMB2 2.2.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u16)]
pub enum Dialect {
    /// SMB 2.1.
    Smb21 = 0x0210,
    /// SMB 3.1.1.
    Smb311 = 0x0311,
}

impl Dialect {
    /// Every dialect this build speaks, oldest first.
    pub const ALL: [Self; 2] = [Self::Smb21, Self::Smb311];

    /// The dialect with this revision number, if this build speaks it.
    #[must_use]
    pub fn from_revision(revision: u16) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|dialect| *dialect as u16 == revision)
    }

    /// As people write it: `3.1.1`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Smb21 => "2.1",
            Self::Smb311 => "3.1.1",
        }
    }
}

impl fmt::Display for Dialect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Dialect {
    type Err = UnknownDialect;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::ALL
            .into_iter()
            .find(|dialect| dialect.name() == text)
            .ok_or(UnknownDialect)
    }
}

/// The text names no dialect this build speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected one of 2.1, 3.1.1")]
pub struct UnknownDialect;

/// How messages are signed (MS-SMB2 3.1.4.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SigningAlgorithm {
    /// HMAC-SHA256, for SMB 2.x.
    HmacSha256,
    /// AES-128-CMAC, for SMB 3.x.
    AesCmac,
}

impl SigningAlgorithm {
    /// As result documents name it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::HmacSha256 => "hmac-sha256",
            Self::AesCmac => "aes-128-cmac",
        }
    }
}

impl fmt::Display for SigningAlgorithm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
