//! The pace of a client under stages: a closed loop that runs in its turns only.

use std::time::Duration;

use smbench_model::Nanos;
use smbench_model::bounds::PERIOD_MAX;
use smbench_model::stages::{StageTurn, Stages};

use super::Gaps;

/// Time after the start of any load.
pub(super) const AFTER_LOAD: Duration = PERIOD_MAX.saturating_mul(4);

/// The turns of one client.
pub(crate) struct StageTurns {
    begin: Nanos,
    /// Its turns, from the start of the load.
    turns: Box<[StageTurn]>,
    /// Index of the first turn that had not ended with the last action.
    at: usize,
    /// Its think times, if it has any.
    think: Option<Gaps>,
}

impl StageTurns {
    /// Makes the turns of a client. The load begins at `begin`.
    pub(crate) fn new(stages: &Stages, client: u32, begin: Nanos, think: Option<Gaps>) -> Self {
        Self {
            begin,
            turns: stages.turns(client).into(),
            at: 0,
            think,
        }
    }

    /// Returns when the client begins its first action. That of a client without a turn is after
    /// any load, so that it stays there until the end.
    pub(crate) fn first(&self) -> Nanos {
        match self.turns.first() {
            Some(first) => self.begin + first.begin.into(),
            None => self.after_load(),
        }
    }

    fn after_load(&self) -> Nanos {
        self.begin + AFTER_LOAD.into()
    }

    /// Returns when the client begins the next action after one that ended at `now`. After its
    /// last turn, this is after the load.
    pub(crate) fn next(&mut self, now: Nanos) -> Nanos {
        let next = match &mut self.think {
            Some(gaps) => now + gaps.next_gap(),
            None => now,
        };
        let begin = self.begin;
        let has_ended = |turn: &StageTurn, at: Nanos| begin + turn.end.into() <= at;
        let coming = self.turns[self.at..].iter();
        self.at += coming.take_while(|turn| has_ended(turn, now)).count();
        // Other actions of the client may still be in a turn that this one has left.
        let mut coming = self.turns[self.at..].iter();
        match coming.find(|turn| !has_ended(turn, next)) {
            Some(turn) => next.max(begin + turn.begin.into()),
            None => self.after_load(),
        }
    }
}

#[cfg(test)]
mod tests {
    use smbench_model::load::Spacing;
    use smbench_model::stages::MovedClients;

    use super::*;

    /// Returns the turns of a client from 4.5 s to 15.5 s, and from 24.5 s on.
    fn turns(think: Option<Gaps>) -> StageTurns {
        let mut stages: Stages = "10s:10,10s:0,10s:10".parse().unwrap();
        stages.clients = MovedClients::only(10);
        StageTurns::new(&stages, 4, Nanos(7), think)
    }

    fn second(seconds: f64) -> Nanos {
        Nanos((seconds * 1e9) as u64) + Nanos(7)
    }

    #[test]
    fn a_client_rests_between_its_turns() {
        let mut turns = turns(None);
        assert_eq!(turns.first(), second(4.5));
        assert_eq!(turns.next(second(5.0)), second(5.0));
        assert_eq!(turns.next(second(15.4)), second(15.4));
        assert_eq!(turns.next(second(15.6)), second(24.5));
        assert_eq!(turns.next(second(26.0)), second(26.0));
        assert!(turns.next(second(30.0)) > second(PERIOD_MAX.as_secs_f64()));
    }

    /// Two actions end at the same time, of which the first thinks past the end of the turn.
    #[test]
    fn a_long_think_time_keeps_no_other_action_out_of_the_turn() {
        let mut gaps = Gaps::new(1e9, Spacing::Exponential, 7, 4);
        let is_long_and_short = |gaps: &Gaps| {
            let mut ahead = gaps.clone();
            ahead.next_gap() > second(3.0) && ahead.next_gap() < second(1.0)
        };
        while !is_long_and_short(&gaps) {
            gaps.next_gap();
        }
        let mut turns = turns(Some(gaps));
        let now = second(13.0);
        assert!(turns.next(now) >= second(24.5));
        let next = turns.next(now);
        assert!(now < next && next < second(15.5), "{next:?}");
    }
}
