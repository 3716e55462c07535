//! The caching that a client asks for when it opens files: an oplock or a lease
//! (MS-SMB2 2.2.13, 2.2.13.2.8).
//!
//! smbench caches no data. The option shows the cost of granting and breaking, for
//! the server and for the clients that wait for it. Only listings are answered from memory,
//! under leases of directories.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use smbench_protocol::command::create::OplockLevel;
use smbench_protocol::command::lease::LeaseState;

/// The caching that every open of a file asks for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
pub enum Caching {
    /// No caching.
    #[default]
    None,
    /// An oplock: level II, exclusive or batch.
    Oplock(OplockLevel),
    /// A lease: R, RH, RW or RWH. SMB 2.1 and later.
    Lease(LeaseState),
    /// The same lease on each directory that is listed, and on files. Files name the lease of
    /// their directory. SMB 3.0 and later.
    DirectoryLease(LeaseState),
}

impl Caching {
    /// Every choice, by name.
    pub const ALL: [(&'static str, Self); 9] = [
        ("none", Self::None),
        ("level2", Self::Oplock(OplockLevel::LevelII)),
        ("exclusive", Self::Oplock(OplockLevel::Exclusive)),
        ("batch", Self::Oplock(OplockLevel::Batch)),
        ("lease-r", Self::Lease(LeaseState::R)),
        ("lease-rh", Self::Lease(LeaseState::RH)),
        ("lease-rw", Self::Lease(LeaseState::RW)),
        ("lease-rwh", Self::Lease(LeaseState::RWH)),
        ("dir-lease-rh", Self::DirectoryLease(LeaseState::RH)),
    ];

    /// Returns the name that results use; `other` for a value that no server should
    /// grant.
    #[must_use]
    pub fn name(self) -> &'static str {
        let mut all = Self::ALL.into_iter();
        all.find(|&(_, caching)| caching == self)
            .map_or("other", |(name, _)| name)
    }

    /// Returns the caching that an open was granted. An empty lease counts as none.
    #[must_use]
    pub fn granted(oplock: OplockLevel, lease: Option<LeaseState>) -> Self {
        match (oplock, lease) {
            (OplockLevel::Lease, Some(LeaseState::NONE) | None) | (OplockLevel::None, _) => {
                Self::None
            }
            (OplockLevel::Lease, Some(state)) => Self::Lease(state),
            (level, _) => Self::Oplock(level),
        }
    }
}

impl fmt::Display for Caching {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The text does not name a caching.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "expected one of none, level2, exclusive, batch, lease-r, lease-rh, lease-rw, lease-rwh, dir-lease-rh"
)]
pub struct UnknownCaching;

impl FromStr for Caching {
    type Err = UnknownCaching;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut all = Self::ALL.into_iter();
        all.find(|(name, _)| name.eq_ignore_ascii_case(text))
            .map(|(_, caching)| caching)
            .ok_or(UnknownCaching)
    }
}

impl TryFrom<String> for Caching {
    type Error = UnknownCaching;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

impl From<Caching> for String {
    fn from(caching: Caching) -> Self {
        caching.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_read_back() {
        for (name, caching) in Caching::ALL {
            assert_eq!(name.parse(), Ok(caching));
            assert_eq!(caching.to_string(), name);
        }
        assert_eq!("LEASE-RWH".parse(), Ok(Caching::Lease(LeaseState::RWH)));
        assert_eq!("rwh".parse::<Caching>(), Err(UnknownCaching));
        let message = UnknownCaching.to_string();
        assert!(Caching::ALL.iter().all(|(name, _)| message.contains(name)));
    }

    #[test]
    fn level_and_lease_show_what_was_granted() {
        use OplockLevel as Level;
        for (level, lease, granted) in [
            (Level::None, None, "none"),
            (Level::LevelII, None, "level2"),
            (Level::Batch, Some(LeaseState::RWH), "batch"),
            (Level::Lease, None, "none"),
            (Level::Lease, Some(LeaseState::NONE), "none"),
            (Level::Lease, Some(LeaseState::RH), "lease-rh"),
            (Level::Lease, Some(LeaseState(2)), "other"),
        ] {
            assert_eq!(Caching::granted(level, lease).name(), granted);
        }
    }
}
