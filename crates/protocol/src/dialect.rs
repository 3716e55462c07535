//! SMB dialects by their wire numbers and names, and ranges of dialects.

use std::fmt;
use std::str::FromStr;

use crate::algorithm::SigningAlgorithm;

named! {
    /// A dialect: an SMB2 dialect revision (MS-SMB2 2.2.3), or CIFS. The oldest is the
    /// least.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
    #[repr(u16)]
    pub enum Dialect {
        /// NT LM 0.12, also called SMB1 (MS-CIFS, MS-SMB). It has no revision number.
        Cifs = 0 => "cifs",
        /// SMB 2.0.2.
        Smb202 = 0x0202 => "2.0.2",
        /// SMB 2.1.
        Smb21 = 0x0210 => "2.1",
        /// SMB 3.0.
        Smb30 = 0x0300 => "3.0",
        /// SMB 3.0.2.
        Smb302 = 0x0302 => "3.0.2",
        /// SMB 3.1.1.
        Smb311 = 0x0311 => "3.1.1",
    }
}

impl Dialect {
    /// The dialects of SMB2 and SMB3, oldest first.
    pub const SMB2: [Self; 5] = [
        Self::Smb202,
        Self::Smb21,
        Self::Smb30,
        Self::Smb302,
        Self::Smb311,
    ];

    /// Returns the SMB2 dialect with this revision number, if this build supports it.
    #[must_use]
    pub fn from_revision(revision: u16) -> Option<Self> {
        Self::SMB2
            .into_iter()
            .find(|dialect| *dialect as u16 == revision)
    }

    /// Returns the signing algorithm that the dialect fixes (MS-SMB2 3.1.4.1).
    /// It is `None` for 3.1.1, which negotiates the algorithm, and for CIFS, which signs
    /// in its own way.
    #[must_use]
    pub const fn fixed_signing(self) -> Option<SigningAlgorithm> {
        match self {
            Self::Smb202 | Self::Smb21 => Some(SigningAlgorithm::HmacSha256),
            Self::Smb30 | Self::Smb302 => Some(SigningAlgorithm::AesCmac),
            Self::Cifs | Self::Smb311 => None,
        }
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

/// Error for a text that names neither a supported dialect nor a range of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "expected one of cifs (SMB1), 2.0.2, 2.1, 3.0, 3.0.2, 3.1.1, or a range such as 2.1..3.0.2"
)]
pub struct UnknownDialect;

/// A range of dialects to offer, both ends included. Its text form is `3.0` or
/// `2.1..3.0.2`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct DialectRange {
    oldest: Dialect,
    newest: Dialect,
}

impl DialectRange {
    /// The range of all SMB2 dialects, which is offered by default. CIFS is offered only
    /// where it is asked for.
    pub const ALL: Self = Self {
        oldest: Dialect::Smb202,
        newest: Dialect::Smb311,
    };

    /// Makes a range of one dialect.
    #[must_use]
    pub const fn only(dialect: Dialect) -> Self {
        Self {
            oldest: dialect,
            newest: dialect,
        }
    }

    /// Returns whether `dialect` is offered.
    #[must_use]
    pub fn contains(self, dialect: Dialect) -> bool {
        (self.oldest..=self.newest).contains(&dialect)
    }

    /// Returns the newest dialect in the range.
    #[must_use]
    pub const fn newest(self) -> Dialect {
        self.newest
    }

    /// Returns whether CIFS is offered.
    #[must_use]
    pub fn has_cifs(self) -> bool {
        self.oldest == Dialect::Cifs
    }

    /// Returns the range without CIFS; `None` if it has no other dialect.
    #[must_use]
    pub fn smb2(self) -> Option<Self> {
        let oldest = self.oldest.max(Dialect::Smb202);
        (self.newest >= oldest).then_some(Self { oldest, ..self })
    }

    /// Returns the range from the oldest dialect of both to the newest one.
    #[must_use]
    pub fn joined(self, other: Self) -> Self {
        Self {
            oldest: self.oldest.min(other.oldest),
            newest: self.newest.max(other.newest),
        }
    }

    /// Returns every dialect in the range, oldest first.
    pub fn iter(self) -> impl Iterator<Item = Dialect> {
        Dialect::ALL
            .into_iter()
            .filter(move |&dialect| self.contains(dialect))
    }
}

impl Default for DialectRange {
    fn default() -> Self {
        Self::ALL
    }
}

impl From<Dialect> for DialectRange {
    fn from(dialect: Dialect) -> Self {
        Self::only(dialect)
    }
}

impl fmt::Display for DialectRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { oldest, newest } = self;
        if oldest == newest {
            write!(f, "{oldest}")
        } else {
            write!(f, "{oldest}..{newest}")
        }
    }
}

impl FromStr for DialectRange {
    type Err = UnknownDialect;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (oldest, newest) = text.split_once("..").unwrap_or((text, text));
        let range = Self {
            oldest: oldest.parse()?,
            newest: newest.parse()?,
        };
        if range.oldest > range.newest {
            return Err(UnknownDialect);
        }
        Ok(range)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_read_as_they_are_written() {
        for (text, dialects) in [
            ("cifs", &["cifs"][..]),
            ("cifs..2.1", &["cifs", "2.0.2", "2.1"]),
            ("3.0", &["3.0"]),
            ("2.1..3.0.2", &["2.1", "3.0", "3.0.2"]),
            ("2.0.2..3.1.1", &["2.0.2", "2.1", "3.0", "3.0.2", "3.1.1"]),
        ] {
            let range: DialectRange = text.parse().unwrap();
            assert_eq!(range.to_string(), text);
            assert_eq!(
                range.iter().map(Dialect::name).collect::<Vec<_>>(),
                dialects
            );
        }
        assert_eq!("2.0.2..3.1.1".parse(), Ok(DialectRange::ALL));
        assert!(!DialectRange::ALL.has_cifs());
        let range: DialectRange = "cifs..2.1".parse().unwrap();
        assert!(range.has_cifs());
        assert_eq!(range.smb2().unwrap().to_string(), "2.0.2..2.1");
        assert_eq!(DialectRange::only(Dialect::Cifs).smb2(), None);
        let joined = DialectRange::only(Dialect::Smb30).joined(range);
        assert_eq!(joined.to_string(), "cifs..3.0");
        for text in ["", "9", "3", "3.0..", "..3.0", "3.0.2..2.1", "2.1...3.0"] {
            assert_eq!(text.parse::<DialectRange>(), Err(UnknownDialect), "{text}");
        }
    }

    #[test]
    fn revisions_and_dialects_agree() {
        for dialect in Dialect::SMB2 {
            assert_eq!(Dialect::from_revision(dialect as u16), Some(dialect));
        }
        // The wildcard of SMB1's multi-protocol negotiation is not a dialect.
        assert_eq!(Dialect::from_revision(0x02FF), None);
        assert_eq!(Dialect::from_revision(0), None);
    }
}
