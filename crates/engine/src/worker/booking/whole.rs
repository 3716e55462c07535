//! Operations of several steps: each step is recorded under its own kind, and the operation
//! with its last step.

use smbench_model::Nanos;
use smbench_model::record::{OperationFailure, Recorder, Times};

use super::Clients;
use crate::worker::supply::Supply;

impl<S: Supply> Clients<S> {
    /// Records the operation whose last step was in a slot.
    pub(super) fn end_whole(
        &mut self,
        at: u32,
        failure: Option<OperationFailure>,
        now: Nanos,
        in_window: u64,
        recorder: &mut Recorder,
    ) {
        let slot = &self.slots[at as usize];
        let Some(kind) = slot.operation.kind.part_of() else {
            return;
        };
        let whole = std::mem::take(&mut self.wholes[at as usize]);
        match whole.failure().or(failure) {
            Some(failure) => {
                recorder.failure(kind, failure);
                if failure == OperationFailure::Lost {
                    recorder.losses_mut(self.after_event).fail(kind, failure);
                } else {
                    recorder.failed_after(self.events.last_before(now), kind, failure);
                }
            }
            None => {
                let times = Times {
                    service: now.since(whole.began()),
                    response: now.since(slot.due),
                };
                recorder.success(kind, whole.moved, times);
                recorder.listed(kind, whole.entries);
                self.members[slot.member].completed += in_window;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use smbench_model::contents::block::Salt;
    use smbench_model::kind::OpKind;
    use smbench_model::operations::{Operation, RequestResult};
    use smbench_model::record::{Phase, Tally};
    use smbench_protocol::NtStatus;

    use super::*;
    use crate::drivers::driver::{Answer, Extent};
    use crate::drivers::dropped::Dropped;
    use crate::worker::member::Member;

    const fn step(kind: OpKind) -> Operation {
        Operation {
            kind,
            action: 0,
            file: 0,
            offset: 0,
            length: 0,
        }
    }

    /// Listings that one QUERY_DIRECTORY ends.
    struct Listings;

    impl Supply for Listings {
        fn next(&mut self, _: Phase) -> Option<Operation> {
            Some(step(OpKind::ListOpen))
        }

        fn splits() -> bool {
            true
        }

        fn after(&self, last: &Operation, went: RequestResult, _: NtStatus) -> Option<Operation> {
            match (last.kind, went) {
                (OpKind::ListOpen, RequestResult::Well) => Some(step(OpKind::ListFirst)),
                (OpKind::ListFirst, _) => Some(step(OpKind::ListClose)),
                _ => None,
            }
        }

        fn fault(&self) -> Dropped {
            unreachable!("a listing can be sent")
        }
    }

    /// A client with one slot, in which a listing is due at 5.
    fn clients() -> (Clients<Listings>, Recorder) {
        let member = Member::new(0, 1, Salt::default(), Listings, None);
        let mut clients = Clients::new(vec![member], 1);
        clients.slots[0].operation = step(OpKind::ListOpen);
        (clients.slots[0].due, clients.slots[0].intended) = (Nanos(5), Nanos(5));
        (clients, Recorder::default())
    }

    /// Sends the next step at one instant, and gets its answer at another.
    fn carry_out(
        (clients, recorder): &mut (Clients<Listings>, Recorder),
        sent: u64,
        done: u64,
        answer: Answer<'_>,
    ) {
        let slot = &mut clients.slots[0];
        let (operation, due, intended) = (slot.operation, slot.due, slot.intended);
        slot.fill(operation, due, intended, None, Nanos(sent));
        clients.in_flight = 1;
        clients.members[0].continuing.clear();
        clients.book(&answer, Nanos(done), 1, recorder).unwrap();
    }

    fn tally(recorder: &Recorder) -> Tally {
        let mut tally = Tally::default();
        tally.add(recorder, Phase::Window);
        tally
    }

    const DONE: Answer<'_> = Answer::bare(0, Extent::Final, NtStatus::SUCCESS);

    #[test]
    fn a_whole_lasts_from_the_first_step_sent_to_the_last_answer() {
        let mut state = clients();
        carry_out(&mut state, 10, 30, DONE);
        carry_out(&mut state, 30, 50, Answer { moved: 7, ..DONE });
        assert_eq!(state.0.members[0].completed, 0);
        carry_out(&mut state, 60, 70, DONE);
        assert_eq!(state.0.slots[0].state, crate::worker::slot::SlotState::Free);
        assert_eq!(
            (state.0.members[0].completed, state.0.members[0].busy),
            (1, Nanos(50))
        );
        let tally = tally(&state.1);
        let whole = tally.window(OpKind::List);
        assert_eq!((whole.count(), whole.service.max()), (1, 60));
        assert_eq!((whole.entries, whole.bytes), (7, 0));
        assert_eq!(tally.window(OpKind::ListFirst).service.max(), 20);
        assert_eq!((tally.window_all().count(), tally.answered()), (1, 1));
    }

    #[test]
    fn a_step_that_fails_or_is_lost_fails_its_whole_once() {
        let refused = Answer::bare(0, Extent::Final, NtStatus::ACCESS_DENIED);
        let mut state = clients();
        carry_out(&mut state, 10, 30, DONE);
        carry_out(&mut state, 30, 50, refused);
        carry_out(&mut state, 50, 70, DONE);
        // The next one is lost between two steps.
        state.0.slots[0].operation = step(OpKind::ListOpen);
        carry_out(&mut state, 80, 90, DONE);
        state.0.end_actions(Nanos(100), 1, None, &mut state.1);
        let tally = tally(&state.1);
        assert_eq!((tally.errors(), tally.answered()), (2, 2));
        assert_eq!(tally.whole(OpKind::List).errors, 2);
        let causes: Vec<_> = tally.failures().keys().copied().collect();
        let denied = OperationFailure::Status(NtStatus::ACCESS_DENIED);
        assert_eq!(
            causes,
            [
                (OpKind::List, denied),
                (OpKind::List, OperationFailure::Lost),
                (OpKind::ListFirst, denied),
            ]
        );
    }
}
