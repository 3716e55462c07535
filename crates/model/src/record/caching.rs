//! The caching that servers granted to clients and revoked.

use serde::{Deserialize, Serialize};

use crate::sessions::Caching;

/// Oplocks and leases of one load point, from the first open to the last
/// operation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CachingRecord {
    /// Opens by the caching granted, in the order of [`Caching::ALL`].
    granted: [u64; Caching::ALL.len()],
    /// Opens with a grant that no server should give.
    other: u64,
    /// Notifications that revoke caching.
    pub breaks: u64,
    /// Acknowledgements that came too late, because the file had been closed in the
    /// meantime.
    pub moot: u64,
    /// Listings that were kept under the lease of their directory.
    pub kept: u64,
    /// Kept listings that ended: by a break, by a change of the client itself, or in favour of
    /// another one.
    pub ended: u64,
    /// Answers from a kept listing after a change was done that it does not show.
    pub stale: u64,
}

impl CachingRecord {
    /// Counts an open.
    pub fn count(&mut self, granted: Caching) {
        let mut all = Caching::ALL.iter();
        match all.position(|&(_, caching)| caching == granted) {
            Some(at) => self.granted[at] += 1,
            None => self.other += 1,
        }
    }

    /// Returns the number of opens by the name of the caching granted, without
    /// zeros.
    pub fn granted(&self) -> impl Iterator<Item = (&'static str, u64)> {
        let names = Caching::ALL.map(|(name, _)| name);
        names
            .into_iter()
            .zip(self.granted)
            .chain([("other", self.other)])
            .filter(|&(_, opens)| opens > 0)
    }

    /// Adds the counts of another worker.
    pub fn merge(&mut self, other: &Self) {
        for (ours, theirs) in self.granted.iter_mut().zip(other.granted) {
            *ours += theirs;
        }
        self.other += other.other;
        self.breaks += other.breaks;
        self.moot += other.moot;
        self.kept += other.kept;
        self.ended += other.ended;
        self.stale += other.stale;
    }
}

#[cfg(test)]
mod tests {
    use smbench_protocol::command::lease::LeaseState;

    use super::*;

    #[test]
    fn opens_are_counted_by_what_they_got() {
        let mut record = CachingRecord::default();
        record.count(Caching::None);
        record.count(Caching::Lease(LeaseState::RH));
        record.count(Caching::Lease(LeaseState(0x40)));
        record.breaks = 2;
        let mut both = record;
        both.merge(&record);
        assert_eq!(
            both.granted().collect::<Vec<_>>(),
            [("none", 2), ("lease-rh", 2), ("other", 2)]
        );
        assert_eq!(both.breaks, 4);
    }
}
