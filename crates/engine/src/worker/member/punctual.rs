//! Counts how punctually the operations of a client were sent and answered.

use smbench_model::Nanos;
use smbench_model::operations::RequestResult;
use smbench_model::record::{FrameTally, Punctuality};

use super::Member;
use crate::worker::pace::{LATE, Pace};
use crate::worker::slot::Slot;

impl<S> Member<S> {
    /// Ends the window at `end` at the latest: the run was cancelled, or the load is steady.
    pub(crate) fn cut_window(&mut self, end: Nanos) {
        self.window.1 = self.window.1.min(end);
    }

    pub(super) fn is_counted(&self, due: Nanos) -> bool {
        let (open, close) = self.window;
        open <= due && due < close
    }

    pub(super) fn count(&mut self, due: Nanos, delay: Nanos) {
        if self.is_counted(due) {
            self.note(due, |counts| {
                counts.due += 1;
                counts.late += u64::from(delay > LATE);
                counts.delay_max = counts.delay_max.max(delay);
            });
        }
    }

    /// Counts an action that ended at `now`. It has no place in the loop of those that the clock
    /// does not make due.
    #[inline(never)]
    pub(super) fn count_answer(&mut self, now: Nanos) {
        if self.is_counted(now) {
            self.note(now, |counts| counts.answered += 1);
        }
    }

    /// Changes the counts, and those of the stage at an instant.
    #[inline]
    fn note(&mut self, at: Nanos, change: impl Fn(&mut Punctuality)) {
        change(&mut self.punctuality);
        if let Some(of_stage) = self.staged.as_mut().and_then(|staged| staged.at(at)) {
            change(of_stage);
        }
    }

    /// Returns how punctual the client was in each stage; nothing if the load has none.
    pub(crate) fn stage_punctuality(&self) -> Vec<Punctuality> {
        let stages = self.staged.iter().flat_map(|staged| staged.all());
        let of_client = |stage: &Punctuality| Punctuality {
            frames: stage.frames.of_client(),
            ..*stage
        };
        stages.map(of_client).collect()
    }

    /// Returns how punctual the client was.
    pub(crate) fn punctuality(&self) -> Punctuality {
        let Punctuality { due, answered, .. } = self.punctuality;
        Punctuality {
            slowest_ppm: answered
                .saturating_mul(1_000_000)
                .checked_div(due)
                .map(|ppm| ppm.min(u32::MAX.into()) as u32),
            frames: self.punctuality.frames.of_client(),
            ..self.punctuality
        }
    }

    /// Counts the frame that an action due at `due` was, if the client is a stream. `went` says
    /// whether it was done at `now`.
    pub(crate) fn end_frame(&mut self, due: Nanos, now: Nanos, went: RequestResult) {
        match went {
            RequestResult::Wrong => self.miss_frame(due, now),
            RequestResult::Well | RequestResult::Pending | RequestResult::Exhausted => {
                let ended = self.frames.as_mut().map(|frames| frames.done(due, now));
                self.count_frame(due, ended);
            }
        }
    }

    /// Counts a frame that was not done by `now` and never will be.
    pub(crate) fn miss_frame(&mut self, due: Nanos, now: Nanos) {
        let ended = self.frames.as_mut().map(|frames| frames.missed(due, now));
        self.count_frame(due, ended);
    }

    /// Counts a frame that was due in the window.
    fn count_frame(&mut self, due: Nanos, frame: Option<FrameTally>) {
        if let Some(frame) = frame.filter(|_| self.is_counted(due)) {
            self.note(due, |counts| counts.frames = counts.frames + frame);
        }
    }

    /// Discards arrivals that have waited too long. Recorded operations are never
    /// discarded, because later operations depend on them.
    #[inline]
    pub(crate) fn give_up_overdue(&mut self, now: Nanos) {
        if matches!(self.pace, Pace::Rate(_)) {
            self.give_up_before(now.since(self.patience), now);
        }
    }

    /// Discards all actions that were due before the load ended at `end` and have
    /// not been served. Frames whose instants are later still had time, and are left out.
    pub(crate) fn give_up_rest(&mut self, end: Nanos) {
        let frames = self.frames.as_ref();
        let buffered = frames.map_or(Nanos(0), |frames| frames.buffered());
        self.give_up_before(end.since(buffered), end);
        let (open, close) = self.window;
        if let Pace::Recorded(instants) = &self.pace
            && let Some((count, first)) = instants.left_between(open, close.min(end))
        {
            self.punctuality.due += count;
            self.punctuality.dropped += count;
            self.leave_unanswered(count, first, end);
        }
    }

    /// Discards, at `now`, the unserved arrivals that were due before `until`.
    fn give_up_before(&mut self, until: Nanos, now: Nanos) {
        while let Pace::Rate(arrivals) = &mut self.pace
            && arrivals.next() < until
        {
            let due = arrivals.take();
            self.miss_frame(due, now);
            if self.is_counted(due) {
                self.note(due, |counts| {
                    counts.due += 1;
                    counts.dropped += 1;
                });
                self.leave_unanswered(1, due, now);
            }
        }
    }

    /// Counts an operation that was due in the window but not answered in it. `now`
    /// is the instant of its answer, or of the end if there is none. An action
    /// counts once, with the first request that was not answered in the window. In
    /// a closed loop, an operation counts if it was in flight when the window
    /// closed, whenever it was sent. Returns how long a request in flight had been sent when
    /// the window closed.
    pub(crate) fn miss_window(&mut self, slot: &Slot, now: Nanos) -> Option<Nanos> {
        let waited = self.time_until_close(slot);
        let waited = waited.filter(|_| self.window.1 <= now);
        let is_in_flight = waited.is_some();
        if is_in_flight {
            let took = now.since(slot.sent);
            self.note(self.window.1, |counts| {
                counts.in_flight_max = counts.in_flight_max.max(took);
            });
        }
        if !self.is_paced {
            if is_in_flight {
                self.leave_unanswered(1, slot.sent, now);
            }
        } else if self.is_counted(slot.due) && self.is_counted(slot.intended) {
            self.leave_unanswered(1, slot.intended, now);
        }
        waited
    }

    /// Returns how long before the end of the window an operation was sent; `None` if it was
    /// sent later.
    pub(crate) fn time_until_close(&self, slot: &Slot) -> Option<Nanos> {
        let (_, close) = self.window;
        (slot.sent < close).then(|| close.since(slot.sent))
    }

    /// Counts `count` operations as unanswered; the first was due at `first`.
    fn leave_unanswered(&mut self, count: u64, first: Nanos, now: Nanos) {
        let waited = now.since(first);
        self.note(first, |counts| {
            counts.unanswered += count;
            counts.unanswered_max = counts.unanswered_max.max(waited);
        });
    }
}
