//! CPU time of the process at both ends of the window.

use std::sync::OnceLock;

use crate::clock::{self, Nanos};
use crate::process::{self, Usage};
use crate::run::schedule::Schedule;

/// What the process, and the machine, had used when the window opened and when
/// it closed. Whoever comes by first afterwards reads it, of the workers and the
/// coordinator: the latter alone may be held up by its observer, and what is read
/// seconds late tells of another time.
#[derive(Debug, Default)]
pub(in crate::run) struct Account {
    opened: OnceLock<(Nanos, Usage)>,
    closed: OnceLock<(Nanos, Usage)>,
}

impl Account {
    /// Takes note of an instant.
    pub(in crate::run) fn see(&self, now: Nanos, schedule: &Schedule) {
        if now >= schedule.open {
            self.opened.get_or_init(read);
        }
        if now >= schedule.close {
            self.close();
        }
    }

    /// The load has ended or is to, whether or not the window has.
    pub(in crate::run) fn close(&self) {
        self.closed.get_or_init(read);
    }

    /// When each end was read, and what; the load must have ended. A window that
    /// was never open has two equal ends.
    pub(in crate::run) fn ends(&self) -> [(Nanos, Usage); 2] {
        let closed = *self.closed.get_or_init(read);
        let opened = self.opened.get().copied();
        [opened.unwrap_or(closed), closed]
    }
}

fn read() -> (Nanos, Usage) {
    (clock::now(), process::usage())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_end_is_read_once_by_whoever_comes_by_first() {
        let account = Account::default();
        let begin = clock::now();
        let open = begin + Nanos(1_000);
        let schedule = Schedule {
            begin,
            open,
            close: open + Nanos(1_000),
            stop: open + Nanos(2_000),
            interval: Nanos(1_000),
        };
        account.see(begin, &schedule);
        assert!(account.opened.get().is_none());
        account.see(open, &schedule);
        assert!(account.closed.get().is_none());
        account.see(schedule.close, &schedule);
        let ends = account.ends();
        let [(opened_at, opened), (closed_at, closed)] = ends;
        assert!(begin <= opened_at && opened_at <= closed_at);
        assert!(opened.cpu.all() <= closed.cpu.all());
        account.see(schedule.stop, &schedule);
        account.close();
        assert_eq!(account.ends(), ends);
    }

    #[test]
    fn a_window_that_never_opened_has_no_length() {
        let account = Account::default();
        account.close();
        let [opened, closed] = account.ends();
        assert_eq!(opened, closed);
    }
}
