//! Time that clients lost because their driver had no room for due operations.

use smbench_model::Nanos;

/// How long a group, and each of its clients, was held back.
#[derive(Default)]
pub(super) struct HeldBack {
    /// Start of the current period without room, if there is one.
    pub(super) since: Option<Nanos>,
    /// Instant up to which that period has been counted.
    counted: Nanos,
    /// Time within the window, summed over the clients that had something to send.
    pub(super) sum: Nanos,
}

impl HeldBack {
    /// Starts a period at `now`, because the driver has no room.
    pub(crate) fn begin(&mut self, now: Nanos) {
        if self.since.is_none() {
            self.since = Some(now);
            self.counted = now;
        }
    }

    /// Counts the lost time up to `now` for each client, from the instant at which
    /// it had something to send. `due` has those instants, and `of_window` returns
    /// the part of a time span that is in the window. Call this before anything is
    /// sent, and before answers make an operation due.
    pub(super) fn count(
        &mut self,
        now: Nanos,
        due: impl Iterator<Item = Nanos>,
        of_window: impl Fn(Nanos, Nanos) -> Nanos,
    ) {
        if self.since.is_none() {
            return;
        }
        let lost = due.map(|due| of_window(due.max(self.counted), now));
        self.sum = lost.fold(self.sum, |sum, lost| sum + lost);
        self.counted = now;
    }

    /// Ends the period, because all due operations have been sent.
    pub(super) const fn end(&mut self) {
        self.since = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_clients_with_something_to_send_are_held_back_and_from_then_on() {
        let mut held_back = HeldBack::default();
        let count = |held_back: &mut HeldBack, now, due: &[u64]| {
            let due = due.iter().copied().map(Nanos);
            held_back.count(Nanos(now), due, |from, to| to.since(from));
            held_back.sum
        };
        assert_eq!(count(&mut held_back, 5, &[0]), Nanos(0));
        held_back.begin(Nanos(10));
        // Three clients: one has nothing to send, and one has something only since
        // 15.
        assert_eq!(count(&mut held_back, 20, &[0, 15]), Nanos(15));
        held_back.begin(Nanos(20));
        assert_eq!(held_back.since, Some(Nanos(10)));
        assert_eq!(count(&mut held_back, 30, &[0]), Nanos(25));
        held_back.end();
        assert_eq!(count(&mut held_back, 40, &[0, 0, 0]), Nanos(25));
    }
}
