//! CPU time of a process and of those that it has started, from `/proc/PID/stat`
//! (proc(5)).
//!
//! The CPU time of an ended process moves to its parent when this has waited for it. So
//! the sum only grows, but a process that ends while the family is read may count twice or
//! not at all. So the times that parents took over are read before and after. Their growth
//! is the largest possible error of the sum. [`FamilyTimes::since`] refuses a difference
//! that such errors could change noticeably. It also refuses one in which the time of ended
//! processes is missing, because no process waited for them. Not here: which processes belong
//! to a server.

use std::collections::HashMap;
use std::time::Duration;

use procfs::process::{Process, Stat};
use smbench_model::Nanos;

use crate::machine::clock;

/// State of a process whose parent has waited for it.
const DEAD: char = 'X';
/// MemberTicks by which a difference may be wrong in any case.
const UNSURE_TICKS: u64 = 2;
/// Share of a difference by which it may be wrong.
const UNSURE_SHARE: f64 = 0.01;
/// MemberTicks that rounding may take from a process, which has four times.
const ROUNDED_TICKS: u64 = 4;

/// Number and start of a process. The number alone is given to another one later.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct FamilyMember {
    pid: i32,
    start: u64,
}

impl FamilyMember {
    pub(super) const fn of(stat: &Stat) -> Self {
        Self {
            pid: stat.pid,
            start: stat.starttime,
        }
    }
}

/// CPU time of a process in ticks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct MemberTicks {
    own: u64,
    /// Taken over from children that have ended.
    ended: u64,
}

impl MemberTicks {
    fn of(stat: &Stat) -> Self {
        let ended = |ticks: i64| u64::try_from(ticks).unwrap_or(0);
        Self {
            own: stat.utime + stat.stime,
            ended: ended(stat.cutime) + ended(stat.cstime),
        }
    }

    const fn all(self) -> u64 {
        self.own + self.ended
    }
}

type MemberTimes = HashMap<FamilyMember, MemberTicks>;

/// One reading of the CPU times of a family of processes.
#[derive(Clone, Debug)]
pub(super) struct FamilyTimes {
    read_at: Nanos,
    times: MemberTimes,
    /// MemberTicks by which the sum may be too high or too low.
    unsure: u64,
}

impl FamilyTimes {
    /// Reads the times of these processes, without those that have ended.
    pub(super) fn read(members: &[FamilyMember]) -> Self {
        let before = read(members);
        let read_at = clock::now();
        let times = read(members);
        Self::between(&before, read_at, times, &read(members))
    }

    fn between(
        before: &MemberTimes,
        read_at: Nanos,
        times: MemberTimes,
        after: &MemberTimes,
    ) -> Self {
        Self {
            read_at,
            times,
            unsure: taken_over(before, after),
        }
    }

    pub(super) const fn read_at(&self) -> Nanos {
        self.read_at
    }

    /// Returns whether the process was there.
    pub(super) fn has(&self, pid: i32) -> bool {
        self.times.keys().any(|member| member.pid == pid)
    }

    /// Returns whether no process ended during the reading.
    pub(super) const fn is_certain(&self) -> bool {
        self.unsure == 0
    }

    pub(super) const fn is_surer_than(&self, other: &Self) -> bool {
        self.unsure < other.unsure
    }

    /// Returns the CPU time used since an earlier reading, or the reason why it is not
    /// known.
    pub(super) fn since(&self, earlier: &Self) -> Result<Duration, String> {
        let gone = earlier.times.iter();
        let gone = gone.filter(|(member, _)| !self.times.contains_key(member));
        let least = gone.map(|(_, ticks)| ticks.all().saturating_sub(ROUNDED_TICKS));
        if least.sum::<u64>() > taken_over(&earlier.times, &self.times) {
            return Err(
                "server processes ended, and the one that started them did not wait for them"
                    .to_owned(),
            );
        }
        let used = self.sum().checked_sub(earlier.sum());
        let used = used.ok_or("server processes exited during the run")?;
        let unsure = self.unsure + earlier.unsure;
        if unsure > UNSURE_TICKS && unsure as f64 > used as f64 * UNSURE_SHARE {
            return Err("server processes ended while their CPU times were read".to_owned());
        }
        let per_second = procfs::ticks_per_second();
        Ok(Duration::from_secs_f64(used as f64 / per_second as f64))
    }

    fn sum(&self) -> u64 {
        self.times.values().map(|ticks| ticks.all()).sum()
    }
}

/// Returns the ticks of ended processes that these took over between two readings.
fn taken_over(before: &MemberTimes, after: &MemberTimes) -> u64 {
    let growth = |(member, ticks): (&FamilyMember, &MemberTicks)| {
        let had = before.get(member).map_or(0, |before| before.ended);
        ticks.ended.saturating_sub(had)
    };
    after.iter().map(growth).sum()
}

fn read(members: &[FamilyMember]) -> MemberTimes {
    let one = |member: &FamilyMember| {
        let stat = Process::new(member.pid).ok()?.stat().ok()?;
        // The parent already has the time of a dead process.
        let is_there = FamilyMember::of(&stat) == *member && stat.state != DEAD;
        is_there.then(|| (*member, MemberTicks::of(&stat)))
    };
    members.iter().filter_map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the times of these processes: number, own ticks, ticks of ended children.
    fn times(all: &[(i32, u64, u64)]) -> MemberTimes {
        let one = |(pid, own, ended)| (FamilyMember { pid, start: 7 }, MemberTicks { own, ended });
        all.iter().copied().map(one).collect()
    }

    fn quiet(all: &[(i32, u64, u64)]) -> FamilyTimes {
        FamilyTimes::between(&times(all), Nanos(0), times(all), &times(all))
    }

    fn ticks(used: Result<Duration, String>) -> Result<u64, String> {
        used.map(|used| (used.as_secs_f64() * procfs::ticks_per_second() as f64).round() as u64)
    }

    /// A parent is read before its child ends, and the child after that.
    #[test]
    fn a_child_that_ends_during_a_reading_does_not_lose_its_time() {
        let opening = quiet(&[(1, 5, 0), (2, 100, 0)]);
        let torn = FamilyTimes::between(
            &times(&[(1, 5, 0), (2, 300, 0)]),
            Nanos(0),
            times(&[(1, 5, 0)]),
            &times(&[(1, 5, 300)]),
        );
        assert!(!torn.is_certain());
        let closing = quiet(&[(1, 5, 300)]);
        assert!(closing.is_surer_than(&torn));
        assert!(ticks(torn.since(&opening)).is_err());
        assert_eq!(ticks(closing.since(&opening)), Ok(200));
    }

    /// The share of a fourth connection alone would be a plausible total.
    #[test]
    fn children_that_nobody_waited_for_leave_no_total() {
        let opening = quiet(&[(1, 5, 0), (2, 100, 0), (3, 100, 0)]);
        let closing = quiet(&[(1, 5, 0), (3, 350, 0)]);
        let reason = ticks(closing.since(&opening)).unwrap_err();
        assert!(reason.contains("did not wait"), "{reason}");
        let waited = quiet(&[(1, 5, 97), (3, 350, 0)]);
        assert_eq!(ticks(waited.since(&opening)), Ok(247));
    }

    #[test]
    fn a_small_error_is_allowed_beside_much_time() {
        let opening = quiet(&[(1, 0, 0)]);
        let closing = |used: u64| {
            let used = times(&[(1, used, 0)]);
            FamilyTimes::between(&times(&[(1, 0, 0)]), Nanos(0), used, &times(&[(1, 0, 3)]))
        };
        assert_eq!(ticks(closing(300).since(&opening)), Ok(300));
        assert!(closing(299).since(&opening).is_err());
    }
}
