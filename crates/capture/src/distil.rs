//! A capture as profiles: the statistics of its sessions in place of their script.
//!
//! Each session becomes counts of the actions that a profile can have. Sessions with alike
//! shares form a group, and each group is a profile. Nothing of a capture but these counts
//! is in a profile. Not here: the lines, which come as they are written to a trace.

mod asked;
mod group;
mod issued;
mod opens;
mod pace;
mod work;

use std::collections::BTreeMap;

pub use self::group::{DISTILLED_ACTIONS_MIN, DistilledGroup};
pub use self::issued::{DistilledCounts, distance, issued};
use self::work::SessionWork;
use crate::trace::TraceLine;

/// Sessions that are kept. Requests of later ones are left out.
pub const DISTILLED_SESSIONS_MAX: usize = 20_000;

/// Profiles of a capture.
#[derive(Debug, Default)]
pub struct Distillation {
    /// Groups of sessions, those with most requests first.
    pub groups: Vec<DistilledGroup>,
    /// Sessions with too few actions for a profile.
    pub small_sessions: u64,
    /// Actions of the small session with most of them.
    pub small_actions: u64,
    /// Requests without a session, and of small sessions.
    pub left_out: u64,
    /// Requests of sessions beyond [`DISTILLED_SESSIONS_MAX`].
    pub unkept: u64,
}

/// The sessions of a capture while it is read.
#[derive(Debug, Default)]
pub(crate) struct Distiller {
    sessions: BTreeMap<u32, SessionWork>,
    strays: u64,
    unkept: u64,
}

impl Distiller {
    /// Adds a request.
    pub(crate) fn add(&mut self, line: &TraceLine) {
        let has_room = self.sessions.len() < DISTILLED_SESSIONS_MAX;
        match line.session {
            Some(session) if has_room || self.sessions.contains_key(&session) => {
                self.sessions.entry(session).or_default().add(line);
            }
            Some(_) => self.unkept += 1,
            None => self.strays += 1,
        }
    }

    /// Forms the groups.
    pub(crate) fn finish(self) -> Distillation {
        let mut works: Vec<_> = self.sessions.into_values().collect();
        works.iter_mut().for_each(SessionWork::finish);
        let mut made = Distillation {
            left_out: self.strays,
            unkept: self.unkept,
            ..Distillation::default()
        };
        works.sort_by_key(|work| std::cmp::Reverse(work.requests()));
        for work in works {
            if work.action_count() < DISTILLED_ACTIONS_MIN {
                made.small_sessions += u64::from(work.requests() > 0);
                made.small_actions = made.small_actions.max(work.action_count());
                made.left_out += work.requests();
            } else if let Some(group) = made.groups.iter_mut().find(|one| one.is_like(&work)) {
                group.join(work);
            } else {
                made.groups.push(DistilledGroup::new(work));
            }
        }
        made.groups
            .sort_by_key(|group| std::cmp::Reverse(group.requests()));
        made
    }
}

#[cfg(test)]
mod tests;
