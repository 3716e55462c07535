//! Key and state of a lease (MS-SMB2 2.2.13.2.8, 2.2.13.2.10), as CREATE
//! contexts and lease breaks carry them.

use std::fmt;

/// Identifies a lease. The client chooses it, one per file and client GUID.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct LeaseKey(pub [u8; 16]);

/// The caching that a lease permits, as bits.
///
/// A server may send any bits. The four combinations that a client can usefully
/// ask for have names.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct LeaseState(pub u32);

impl LeaseState {
    /// No caching.
    pub const NONE: Self = Self(0);
    /// Read caching (SMB2_LEASE_READ_CACHING).
    pub const R: Self = Self(0x1);
    /// Read caching, and the handle after its close (SMB2_LEASE_HANDLE_CACHING).
    pub const RH: Self = Self(0x3);
    /// Read caching and write caching (SMB2_LEASE_WRITE_CACHING).
    pub const RW: Self = Self(0x5);
    /// Read, write and handle caching.
    pub const RWH: Self = Self(0x7);

    const NAMES: [(Self, &'static str); 5] = [
        (Self::NONE, "none"),
        (Self::R, "R"),
        (Self::RH, "RH"),
        (Self::RW, "RW"),
        (Self::RWH, "RWH"),
    ];

    /// Returns the usual letters, or `none` for no caching. Returns `None` for
    /// states that no server should grant.
    #[must_use]
    pub fn name(self) -> Option<&'static str> {
        let mut names = Self::NAMES.into_iter();
        names
            .find(|&(state, _)| state == self)
            .map(|(_, name)| name)
    }

    /// Returns whether every bit of `other` is set.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_states_agree() {
        for (state, name) in LeaseState::NAMES {
            assert_eq!(state.to_string(), name);
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
