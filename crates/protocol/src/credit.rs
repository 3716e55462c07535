//! The client's side of SMB2 flow control (MS-SMB2 3.2.4.1.5, 3.3.1.2).
//!
//! Credits are the right to use message ids. The ledger hands out ids while
//! credits last, and asks for as many as bring it back to its target once
//! everything in flight has been answered: no creeping hoard, no starvation.
//!
//! Invariants: message ids follow each other without gap or repetition; never
//! more is spent than was granted, and never more is in use than the cap, if
//! there is one, whatever the server grants.

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
    /// Granted and not spent.
    granted: u32,
    /// What the cap leaves beside those spent on requests without an answer.
    room: u32,
    /// Asked for by the same requests.
    asked: u32,
    target: u32,
    /// The most that may be in use.
    cap: u32,
    next_message_id: u64,
}

/// A paid-for request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reservation {
    /// First (and on the wire only) message id of the request.
    pub message_id: u64,
    /// What to give back to [`CreditLedger::answered`].
    pub payment: Payment,
}

/// What a request has cost and asks for, until its first answer: an interim
/// one already grants what the request asked for (MS-SMB2 3.3.4.2).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Payment {
    /// Credits spent.
    pub charge: u16,
    /// Value of the header's CreditRequest field.
    pub asked: u16,
}

impl CreditLedger {
    /// A new connection: one credit, message id 0 (MS-SMB2 3.2.5.1).
    #[must_use]
    pub fn new(target: u16) -> Self {
        Self {
            granted: 1,
            room: u32::MAX,
            asked: 0,
            target: u32::from(target.clamp(1, MAX_CREDIT_TARGET)),
            cap: u32::MAX,
            next_message_id: 0,
        }
    }

    /// The same, with at most `cap` credits in use at a time, and as many
    /// striven for; 0 counts as 1. A request that costs more can never be paid.
    #[must_use]
    pub fn capped(self, cap: u16) -> Self {
        let cap = u32::from(cap.max(1));
        Self {
            cap,
            room: cap.saturating_sub(self.in_use()),
            target: self.target.min(cap),
            ..self
        }
    }

    /// Pays `charge` credits, or `None` while there are not enough.
    pub fn reserve(&mut self, charge: u16) -> Option<Reservation> {
        let cost = u32::from(charge);
        let granted = self.granted.checked_sub(cost)?;
        self.room = self.room.checked_sub(cost)?;
        self.granted = granted;
        let message_id = self.next_message_id;
        self.next_message_id += u64::from(charge);
        let missing = self
            .target
            .saturating_sub(self.granted.saturating_add(self.asked));
        // At least one, so that an unlucky server policy cannot drain us; at
        // most what the field holds.
        let asked = missing.clamp(1, u32::from(u16::MAX)) as u16;
        self.asked += u32::from(asked);
        Some(Reservation {
            message_id,
            payment: Payment { charge, asked },
        })
    }

    /// Books the first answer to a request, and what it grants; or a later one,
    /// with nothing left of the payment.
    pub fn answered(&mut self, payment: Payment, granted: u16) {
        self.room = self.room.saturating_add(u32::from(payment.charge));
        self.asked = self.asked.saturating_sub(u32::from(payment.asked));
        self.granted = self.granted.saturating_add(u32::from(granted));
    }

    /// Changes how many credits to strive for, up to the cap.
    pub fn set_target(&mut self, target: u16) {
        self.target = u32::from(target.clamp(1, MAX_CREDIT_TARGET)).min(self.cap);
    }

    /// Credits at hand that may be spent now.
    #[must_use]
    pub fn available(&self) -> u32 {
        self.granted.min(self.room)
    }

    /// Credits spent on requests that have no answer yet.
    #[must_use]
    pub const fn in_use(&self) -> u32 {
        self.cap - self.room
    }
}

#[cfg(test)]
mod tests;
