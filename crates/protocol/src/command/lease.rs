//! What a lease is made of (MS-SMB2 2.2.13.2.8, 2.2.13.2.10): its key and its
//! state, as CREATE contexts and lease breaks carry them.

use std::fmt;
use std::str::FromStr;

use thiserror::Error;

/// Names a lease; of the client's choice, one per file and client GUID.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct LeaseKey(pub [u8; 16]);

/// What a lease lets the client cache, as bits. A server may send any; the
/// four that a client can usefully ask for have names.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct LeaseState(pub u32);

impl LeaseState {
    /// Nothing.
    pub const NONE: Self = Self(0);
    /// SMB2_LEASE_READ_CACHING: what was read.
    pub const R: Self = Self(0x1);
    /// Reads, and the handle after its close (SMB2_LEASE_HANDLE_CACHING).
    pub const RH: Self = Self(0x3);
    /// Reads, and what is written (SMB2_LEASE_WRITE_CACHING).
    pub const RW: Self = Self(0x5);
    /// All of it.
    pub const RWH: Self = Self(0x7);

    const NAMES: [(Self, &'static str); 5] = [
        (Self::NONE, "none"),
        (Self::R, "R"),
        (Self::RH, "RH"),
        (Self::RW, "RW"),
        (Self::RWH, "RWH"),
    ];

    /// The usual letters, `none` without any; `None` for what no server should
    /// grant.
    #[must_use]
    pub fn name(self) -> Option<&'static str> {
        let mut names = Self::NAMES.into_iter();
        names
            .find(|&(state, _)| state == self)
            .map(|(_, name)| name)
    }

    /// Whether every bit of `other` is set.
    #[must_use]
    pub const fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }
}

impl fmt::Display for LeaseState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => f.write_str(name),
            None => write!(f, "lease state 0x{:x}", self.0),
        }
    }
}

impl fmt::Debug for LeaseState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "LeaseState({self})")
    }
}

impl FromStr for LeaseState {
    type Err = UnknownLease;

    /// Reads a name, in either case.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut names = Self::NAMES.into_iter();
        names
            .find(|(_, name)| name.eq_ignore_ascii_case(text))
            .map(|(state, _)| state)
            .ok_or(UnknownLease)
    }
}

/// The text names no lease state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("expected one of none, R, RH, RW, RWH")]
pub struct UnknownLease;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_states_agree() {
        for (state, name) in LeaseState::NAMES {
            assert_eq!(state.to_string(), name);
            assert_eq!(name.parse(), Ok(state));
            assert_eq!(name.to_ascii_lowercase().parse(), Ok(state));
        }
        for text in ["", "W", "H", "WRH", "R H"] {
            assert_eq!(text.parse::<LeaseState>(), Err(UnknownLease), "{text:?}");
        }
        assert_eq!(LeaseState(0x14).to_string(), "lease state 0x14");
        assert_eq!(format!("{:?}", LeaseState::RW), "LeaseState(RW)");
    }

    #[test]
    fn states_are_contained_only_whole() {
        assert!(LeaseState::RWH.contains(LeaseState::RW));
        assert!(!LeaseState::RH.contains(LeaseState::RW));
        assert!(LeaseState::NONE.contains(LeaseState::NONE));
    }
}
