//! Tickets, and the use of one ticket for thousands of sessions.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

use super::enctype::Key;
use super::principal::Principal;

/// A ticket with the key that proves its possession. `Debug` does not show the key.
#[derive(Clone, Debug)]
pub(super) struct Ticket {
    pub(super) client: Principal,
    pub(super) service: Principal,
    pub(super) key: Key,
    pub(super) starts: SystemTime,
    pub(super) expires: SystemTime,
    /// The ticket as the KDC encoded it. Only the service can read it.
    pub(super) encoded: Vec<u8>,
}

/// A user's ticket for a file server. It is fetched once, and any number of
/// sessions may use it until it expires.
pub struct ServiceTicket {
    pub(super) ticket: Ticket,
    /// The time of the last use, in microseconds since 1970.
    last_used_us: AtomicU64,
}

impl fmt::Debug for ServiceTicket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Ticket {
            client, service, ..
        } = &self.ticket;
        write!(f, "ServiceTicket({client} for {service})")
    }
}

impl ServiceTicket {
    pub(super) const fn new(ticket: Ticket) -> Self {
        Self {
            ticket,
            last_used_us: AtomicU64::new(0),
        }
    }

    /// Returns the user that logs on with the ticket.
    #[must_use]
    pub const fn client(&self) -> &Principal {
        &self.ticket.client
    }

    /// Returns the service that the ticket is for.
    #[must_use]
    pub const fn service(&self) -> &Principal {
        &self.ticket.service
    }

    /// Returns the start of the ticket's validity.
    #[must_use]
    pub const fn starts(&self) -> SystemTime {
        self.ticket.starts
    }

    /// Returns the end of the ticket's validity.
    #[must_use]
    pub const fn expires(&self) -> SystemTime {
        self.ticket.expires
    }

    /// Returns the time to state for this use: `now`, or a little later if that
    /// microsecond was used already. Servers treat two uses with the same time
    /// as a replay (RFC 4120 3.2.3).
    pub(super) fn stamp(&self, now: SystemTime) -> KerberosTime {
        let now = now
            .duration_since(SystemTime::UNIX_EPOCH)
            .map_or(0, |since| since.as_micros() as u64);
        let next = |last: u64| now.max(last + 1);
        let last = self
            .last_used_us
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |last| {
                Some(next(last))
            })
            .unwrap_or_else(|last| last);
        KerberosTime(next(last))
    }
}

/// A time as Kerberos encodes it, in microseconds since 1970.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct KerberosTime(u64);

impl KerberosTime {
    pub(super) fn seconds(self) -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::from_secs(self.0 / 1_000_000)
    }

    pub(super) const fn microseconds(self) -> i64 {
        (self.0 % 1_000_000).cast_signed()
    }
}

impl From<SystemTime> for KerberosTime {
    fn from(time: SystemTime) -> Self {
        Self(
            time.duration_since(SystemTime::UNIX_EPOCH)
                .map_or(0, |since| since.as_micros() as u64),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::super::enctype::Enctype;
    use super::*;

    #[test]
    fn no_two_uses_have_the_same_time() {
        let at = |us| SystemTime::UNIX_EPOCH + Duration::from_micros(us);
        let ticket = ServiceTicket::new(Ticket {
            client: Principal::user("ann", "R"),
            service: Principal::service("cifs/files", "R"),
            key: Key::random(Enctype::Aes128Sha1),
            starts: at(0),
            expires: at(0),
            encoded: Vec::new(),
        });
        let stamps = [5_000_001, 5_000_001, 4_000_000, 7_999_999].map(|us| ticket.stamp(at(us)).0);
        assert_eq!(stamps, [5_000_001, 5_000_002, 5_000_003, 7_999_999]);
        let stamp = ticket.stamp(at(7_999_999));
        assert_eq!((stamp.seconds(), stamp.microseconds()), (at(8_000_000), 0));
        assert_eq!(
            format!("{ticket:?}"),
            "ServiceTicket(ann@R for cifs/files@R)"
        );
    }
}
