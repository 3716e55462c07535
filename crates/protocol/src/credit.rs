//! The client's side of SMB2 flow control (MS-SMB2 3.2.4.1.5, 3.3.1.2).
//!
//! A credit is the right to use one message id. The ledger hands out ids while
//! credits last. Each request asks for enough credits to bring the ledger back
//! to its target when everything in flight has been answered. So the balance
//! neither grows without limit nor runs out.
//!
//! Invariants:
//! - Message ids follow each other without a gap or a repetition.
//! - The ledger never spends more than was granted.
//! - It never has more in use than the cap, if there is one, no matter how much
//!   the server grants.

/// The largest number of credits that one client asks a server to grant.
pub const MAX_CREDIT_TARGET: u16 = 8192;
/// Payload bytes that one credit covers (MS-SMB2 3.1.5.2).
pub const CREDIT_UNIT: u32 = 65_536;

/// Returns the number of credits that a payload of `len` bytes costs.
#[must_use]
#[inline]
pub const fn charge_for(len: u32) -> u16 {
    // An 8 MiB message costs 128. The last 64 KiB below 4 GiB would need one
    // credit more than the field holds, but no server grants that many.
    match len.div_ceil(CREDIT_UNIT) {
        0 => 1,
        units if units > u16::MAX as u32 => u16::MAX,
        units => units as u16,
    }
}

/// The next message id and the credits of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CreditLedger {
    /// Credits granted and not spent.
    granted: u32,
    /// Credits that the cap still allows to spend: the cap without those in use.
    room: u32,
    /// Credits that the unanswered requests have asked for.
    asked: u32,
    target: u32,
    /// The largest number of credits that may be in use.
    cap: u32,
    next_message_id: u64,
}

/// The message id and the payment of a request that the credits sufficed for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reservation {
    /// First message id of the request, and the only one on the wire.
    pub message_id: u64,
    /// The payment, to pass to [`CreditLedger::answered`].
    pub payment: Payment,
}

/// The credits that a request has spent and has asked for.
///
/// The payment counts until the first answer. An interim answer already grants
/// the credits that the request asked for (MS-SMB2 3.3.4.2).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Payment {
    /// Credits spent.
    pub charge: u16,
    /// Value of the header's CreditRequest field.
    pub asked: u16,
}

impl CreditLedger {
    /// Makes the ledger of a new connection: one credit, message id 0 (MS-SMB2
    /// 3.2.5.1).
    #[must_use]
    #[inline]
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

    /// Returns the ledger with at most `cap` credits in use at a time, and a
    /// target that is no higher. A cap of 0 counts as 1. A request that costs
    /// more than the cap can never be paid.
    #[must_use]
    #[inline]
    pub fn capped(self, cap: u16) -> Self {
        let cap = u32::from(cap.max(1));
        Self {
            cap,
            room: cap.saturating_sub(self.in_use()),
            target: self.target.min(cap),
            ..self
        }
    }

    /// Pays `charge` credits. Returns `None` while there are not enough.
    #[inline]
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
        // Ask for at least one, so that the balance cannot run out if the
        // server grants little. The field's size is the upper limit.
        let asked = missing.clamp(1, u32::from(u16::MAX)) as u16;
        self.asked += u32::from(asked);
        Some(Reservation {
            message_id,
            payment: Payment { charge, asked },
        })
    }

    /// Records an answer and the credits that it grants.
    ///
    /// The first answer to a request passes the request's payment. Later
    /// answers pass an empty payment, because nothing of it is left.
    #[inline]
    pub fn answered(&mut self, payment: Payment, granted: u16) {
        self.room = self.room.saturating_add(u32::from(payment.charge));
        self.asked = self.asked.saturating_sub(u32::from(payment.asked));
        self.granted = self.granted.saturating_add(u32::from(granted));
    }

    /// Returns the number of credits that may be spent now.
    #[must_use]
    #[inline]
    pub fn available(&self) -> u32 {
        self.granted.min(self.room)
    }

    /// Returns the number of credits spent on requests that have no answer yet.
    #[must_use]
    #[inline]
    pub const fn in_use(&self) -> u32 {
        self.cap - self.room
    }
}

#[cfg(test)]
mod tests;
