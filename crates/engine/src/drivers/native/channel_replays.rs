//! The calls of a group that the loss of a connection concerns, and the meaning of their answers.

use smbench_model::Nanos;
use smbench_protocol::NtStatus;
use smbench_protocol::header::Command;

/// Pause before a replay that the server has refused, because it still carries out the request.
const PAUSE: Nanos = Nanos(10_000_000);

/// The calls that the loss of a connection concerns, by their slots.
#[derive(Debug, Default)]
pub(super) struct ChannelReplays {
    /// Those that are to be sent again as replays, not before this instant.
    pub(super) due: Vec<(u32, Nanos)>,
    /// Replays in flight.
    pub(super) sent: Vec<u32>,
    /// Those in flight on the other connections at the loss. The server refuses them if a
    /// request with the new channel sequence overtakes them (3.3.5.2.10).
    pub(super) older: Vec<u32>,
}

/// What the answer to a replay means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ReplayOutcome {
    /// What it says.
    AsAnswered,
    /// The server has not carried out the call, which is sent once more.
    Refused,
    /// The call was carried out before the connection was lost.
    DoneBefore,
}

impl ChannelReplays {
    /// Forgets what was in flight in a slot that has a new call.
    pub(super) fn begin(&mut self, slot: u32) {
        self.sent.retain(|&sent| sent != slot);
        self.older.retain(|&older| older != slot);
    }

    /// Judges an answer that is not a success.
    pub(super) fn judge(
        &mut self,
        slot: u32,
        command: Command,
        status: NtStatus,
        now: Nanos,
    ) -> ReplayOutcome {
        if status == NtStatus::FILE_NOT_AVAILABLE && self.older.contains(&slot) {
            self.begin(slot);
            return ReplayOutcome::Refused;
        }
        if !self.sent.contains(&slot) {
            return ReplayOutcome::AsAnswered;
        }
        self.begin(slot);
        match (command, status) {
            (_, NtStatus::FILE_NOT_AVAILABLE) => {
                self.due.push((slot, now + PAUSE));
                ReplayOutcome::Refused
            }
            (Command::Close, NtStatus::FILE_CLOSED)
            | (Command::Lock, NtStatus::RANGE_NOT_LOCKED) => ReplayOutcome::DoneBefore,
            _ => ReplayOutcome::AsAnswered,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WRITE: Command = Command::Write;
    const NOW: Nanos = Nanos(5);

    #[test]
    fn only_a_replay_that_comes_too_early_is_sent_once_more_after_a_pause() {
        let early = NtStatus::FILE_NOT_AVAILABLE;
        let mut replays = ChannelReplays {
            sent: vec![3, 5],
            ..ChannelReplays::default()
        };
        let mut judge = |slot, status| replays.judge(slot, WRITE, status, NOW);
        assert_eq!(judge(4, early), ReplayOutcome::AsAnswered, "not a replay");
        assert_eq!(judge(5, early), ReplayOutcome::Refused);
        let again = judge(5, early);
        assert_eq!(again, ReplayOutcome::AsAnswered, "not sent again yet");
        assert_eq!(judge(3, NtStatus::DISK_FULL), ReplayOutcome::AsAnswered);
        assert_eq!(replays.due, [(5, NOW + PAUSE)]);
        assert!(replays.sent.is_empty());
    }

    #[test]
    fn a_request_that_a_newer_one_has_overtaken_is_sent_again_once() {
        let mut replays = ChannelReplays {
            older: vec![2, 7],
            ..ChannelReplays::default()
        };
        let early = NtStatus::FILE_NOT_AVAILABLE;
        let mut judge = |slot| replays.judge(slot, WRITE, early, NOW);
        assert_eq!(judge(7), ReplayOutcome::Refused);
        assert_eq!(judge(7), ReplayOutcome::AsAnswered);
        replays.begin(2);
        let of_new_call = replays.judge(2, WRITE, early, NOW);
        assert_eq!(of_new_call, ReplayOutcome::AsAnswered);
        assert!(replays.due.is_empty());
    }

    #[test]
    fn what_was_closed_or_unlocked_before_the_loss_has_succeeded() {
        let (closed, unlocked) = (NtStatus::FILE_CLOSED, NtStatus::RANGE_NOT_LOCKED);
        let mut replays = ChannelReplays {
            sent: vec![1, 2],
            ..ChannelReplays::default()
        };
        let close = replays.judge(1, Command::Close, closed, NOW);
        let unlock = replays.judge(2, Command::Lock, unlocked, NOW);
        assert_eq!([close, unlock], [ReplayOutcome::DoneBefore; 2]);
        let later = replays.judge(1, Command::Close, closed, NOW);
        assert_eq!(later, ReplayOutcome::AsAnswered);
    }
}
