//! The client's side of SMB2 flow control (MS-SMB2 3.2.4.1.5, 3.3.1.2).
//!
//! Credits are the right to use message ids. The ledger hands out ids while
//! credits last, and asks for as many as bring it back to its target once
//! everything in flight has been answered: no creeping hoard, no starvation.

/// The most credits one client asks a server to hold for it.
pub const MAX_CREDIT_TARGET: u16 = 8192;
/// Payload bytes that one credit covers (MS-SMB2 3.1.5.2).
pub const CREDIT_UNIT: u32 = 65_536;

/// Credits that a payload of `len` bytes costs.
#[must_use]
pub const fn charge_for(len: u32) -> u16 {
    // An 8 MiB message costs 128. The last 64 KiB below 4 GiB would need one
    // more than the field holds; no server grants that many anyway.
    match len.div_ceil(CREDIT_UNIT) {
        0 => 1,
        units if units > u16::MAX as u32 => u16::MAX,
        units => units as u16,
    }
}

/// Message ids and the credits to use them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CreditLedger {
    available: u32,
    asked: u32,
    target: u32,
    next_message_id: u64,
}

/// A paid-for request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reservation {
    /// First (and on the wire only) message id of the request.
    pub message_id: u64,
    /// Value of the header's CreditRequest field; give it back to
    /// [`CreditLedger::answered`].
    pub asked: u16,
}

impl CreditLedger {
    /// A new connection: one credit, message id 0 (MS-SMB2 3.2.5.1).
    #[must_use]
    pub fn new(target: u16) -> Self {
        Self {
            available: 1,
            asked: 0,
            target: u32::from(target.clamp(1, MAX_CREDIT_TARGET)),
            next_message_id: 0,
        }
    }

    /// Pays `charge` credits, or `None` while there are not enough.
    pub fn reserve(&mut self, charge: u16) -> Option<Reservation> {
        self.available = self.available.checked_sub(u32::from(charge))?;
        let message_id = self.next_message_id;
        self.next_message_id += u64::from(charge);
        let missing = self
            .target
            .saturating_sub(self.available.saturating_add(self.asked));
        // At least one, so that an unlucky server policy cannot drain us; at
        // most what the field holds.
        let asked = missing.clamp(1, u32::from(u16::MAX)) as u16;
        self.asked += u32::from(asked);
        Some(Reservation { message_id, asked })
    }

    /// Books a response: what its request had asked for and what it grants.
    pub fn answered(&mut self, asked: u16, granted: u16) {
        self.asked = self.asked.saturating_sub(u32::from(asked));
        self.available = self.available.saturating_add(u32::from(granted));
    }

    /// Changes how many credits to strive for.
    pub fn set_target(&mut self, target: u16) {
        self.target = u32::from(target.clamp(1, MAX_CREDIT_TARGET));
    }

    /// Credits at hand.
    #[must_use]
    pub const fn available(&self) -> u32 {
        self.available
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn one_credit_per_started_64_kib() {
        for (len, charge) in [
            (0, 1),
            (1, 1),
            (65_536, 1),
            (65_537, 2),
            (1 << 20, 16),
            (8 << 20, 128),
            (u32::MAX - 65_535, 65_535),
            (u32::MAX, 65_535),
        ] {
            assert_eq!(charge_for(len), charge, "{len} bytes");
        }
    }

    #[test]
    fn a_request_that_cannot_be_paid_changes_nothing() {
        let mut ledger = CreditLedger::new(64);
        let before = ledger;
        assert_eq!(ledger.reserve(2), None);
        assert_eq!(ledger, before);
    }

    proptest! {
        /// Against a server that grants what it is asked for, credits settle at
        /// the target and never exceed it by more than the one-credit floor.
        #[test]
        fn a_generous_server_brings_the_ledger_to_its_target(
            target in 1u16..600,
            charges in proptest::collection::vec(1u16..20, 1..200),
        ) {
            let mut ledger = CreditLedger::new(target);
            let mut ids_used = 0u64;
            for charge in charges {
                if let Some(paid) = ledger.reserve(charge) {
                    prop_assert_eq!(paid.message_id, ids_used);
                    ids_used += u64::from(charge);
                    ledger.answered(paid.asked, paid.asked);
                }
                prop_assert!(ledger.available() <= u32::from(target) + 1);
            }
        }

        /// Credits are conserved: what is at hand is what was granted less what
        /// was paid, whatever the server grants.
        #[test]
        fn credits_are_conserved(
            steps in proptest::collection::vec((1u16..10, 0u16..40), 1..300),
        ) {
            let mut ledger = CreditLedger::new(128);
            let mut granted_total = 1u64;
            let mut paid_total = 0u64;
            for (charge, granted) in steps {
                if let Some(paid) = ledger.reserve(charge) {
                    paid_total += u64::from(charge);
                    granted_total += u64::from(granted);
                    ledger.answered(paid.asked, granted);
                }
                prop_assert_eq!(u64::from(ledger.available()), granted_total - paid_total);
            }
        }
    }
}
