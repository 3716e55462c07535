//! Clients that left and came back.

use serde::{Deserialize, Serialize};

use super::packed::KeptLatencies;
use crate::Nanos;

/// The clients that left and came back, in the whole load point or in a stage of it.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct ChurnRecord {
    /// Clients that left.
    pub left: u64,
    /// Those of them that went without a LOGOFF.
    pub vanished: u64,
    /// Connections that were left open and silent.
    pub silent: u64,
    /// Those of them that were reset later, because there were too many.
    pub silent_ended: u64,
    /// Connections that were open and silent when the stage began, if it is one.
    pub silent_before: u64,
    /// Clients that came back.
    pub back: u64,
    /// Clients that were away when the stage began, if it is one.
    pub away_before: u64,
    /// Time of each session of a client that came back to connect and log on.
    pub log_on: KeptLatencies,
}

impl ChurnRecord {
    /// Counts a client that came back, and how long its log-on took.
    pub fn came_back(&mut self, log_on: Nanos) {
        self.back += 1;
        self.log_on.record(log_on);
    }

    /// Returns how many connections are open and silent at its end.
    #[must_use]
    pub const fn silent_at_end(&self) -> u64 {
        (self.silent_before + self.silent).saturating_sub(self.silent_ended)
    }

    /// Returns how many clients are away at its end.
    #[must_use]
    pub const fn away_at_end(&self) -> u64 {
        (self.away_before + self.left).saturating_sub(self.back)
    }

    pub(super) fn merge(&mut self, other: &Self) {
        self.left += other.left;
        self.vanished += other.vanished;
        self.silent += other.silent;
        self.silent_ended += other.silent_ended;
        self.silent_before += other.silent_before;
        self.back += other.back;
        self.away_before += other.away_before;
        self.log_on.merge(&other.log_on);
    }
}

#[cfg(test)]
mod tests {
    use crate::Nanos;
    use crate::record::{Phase, Recorder, Tally};

    #[test]
    fn clients_and_connections_are_away_until_a_later_stage() {
        let mut stages: Vec<Tally> = Vec::new();
        for [left, back, silent, ended] in [[10, 8, 3, 0], [0, 0, 0, 0], [10, 12, 1, 2]] {
            let mut stage = Tally::default();
            if left > 0 {
                let mut recorder = Recorder::default();
                let churn = recorder.churn_mut();
                (churn.left, churn.silent, churn.silent_ended) = (left, silent, ended);
                (0..back).for_each(|_| churn.came_back(Nanos(1)));
                stage.add(&recorder, Phase::Window);
            }
            if let Some(before) = stages.last() {
                stage.continue_churn(before);
            }
            stages.push(stage);
        }
        let ends = stages.iter().filter_map(Tally::churn);
        let ends = ends.map(|churn| [churn.away_at_end(), churn.silent_at_end()]);
        assert_eq!(ends.collect::<Vec<_>>(), [[2, 3], [2, 3], [0, 2]]);
    }
}
