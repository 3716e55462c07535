//! Instructions of a load point for all clients of a worker.

use std::cell::{Cell, RefCell};
use std::hint;
use std::rc::Rc;

use smbench_model::Nanos;

use crate::machine::cancel::Cancel;
use crate::worker::alarm::Alarm;
use crate::worker::assignment::Assignment;
use crate::worker::gauge::Gauge;
use crate::worker::recorder_exchange::IntervalRecorder;
use crate::worker::schedule::{Schedule, Schedules};

/// Instructions of a load point for all clients of a worker.
pub(super) struct LoadControl {
    schedule: Cell<Schedule>,
    /// Where the coordinator ends the window earlier.
    schedules: Schedules,
    pub(super) operation_limit: Nanos,
    pub(crate) cancel: Cancel,
    /// The worker's alarm clock, if the clock makes actions due.
    pub(super) alarm: Option<Rc<Alarm>>,
    /// The thread's gauge; the first group that reaches an edge of the window
    /// reports it there.
    pub(super) gauge: Rc<RefCell<Gauge>>,
}

impl LoadControl {
    /// Makes the instructions for a schedule.
    pub(super) fn new(
        worker: &Assignment,
        schedule: Schedule,
        schedules: &Schedules,
        alarm: Option<Rc<Alarm>>,
        gauge: &Rc<RefCell<Gauge>>,
    ) -> Self {
        Self {
            schedule: Cell::new(schedule),
            schedules: schedules.clone(),
            gauge: Rc::clone(gauge),
            operation_limit: worker.plan.limits.operation.into(),
            cancel: worker.cancel.clone(),
            alarm,
        }
    }

    /// Returns the schedule as it is known to this worker.
    #[inline]
    pub(super) const fn schedule(&self) -> Schedule {
        self.schedule.get()
    }

    #[inline]
    pub(crate) fn stops(&self, now: Nanos) -> bool {
        now >= self.schedule().stop || self.cancel.is_cancelled()
    }

    /// Tells the worker when the coordinator ends the window earlier, until the coordinator
    /// has ended.
    pub(super) async fn follow(&self) {
        let mut schedules = self.schedules.clone();
        while schedules.changed().await.is_ok() {
            self.take_schedule();
        }
    }

    /// Takes over a schedule that ends earlier.
    fn take_schedule(&self) {
        let latest = *self.schedules.borrow();
        let earlier = latest.filter(|latest| latest.close < self.schedule().close);
        if let Some(schedule) = earlier {
            self.schedule.set(schedule);
            self.gauge.borrow_mut().schedule = schedule;
            if let Some(alarm) = &self.alarm {
                // Groups that wait for the end have to wait for another one.
                alarm.ring_all();
            }
        }
    }

    /// Returns how much of the window lies between two instants. A cancel ends the
    /// window.
    pub(super) fn window_between(&self, from: Nanos, to: Nanos) -> Nanos {
        self.schedule()
            .window_between(from, to.min(self.cancel.at()))
    }

    /// Makes sure that an operation completed at `now` is recorded in the right
    /// interval. A cancel ends the window at once, before the remaining answers
    /// arrive.
    #[inline]
    pub(super) fn turn(&self, recording: &mut IntervalRecorder, now: Nanos) {
        let cancelled_at = self.cancel.at();
        let until = now.min(cancelled_at);
        if recording.is_over(until) || cancelled_at <= now {
            hint::cold_path();
            self.turn_over(recording, now, cancelled_at);
        }
    }

    #[inline(never)]
    pub(crate) fn turn_over(
        &self,
        recording: &mut IntervalRecorder,
        now: Nanos,
        cancelled_at: Nanos,
    ) {
        let until = now.min(cancelled_at);
        if recording.is_over(until) {
            self.take_schedule();
            recording.turn(until, self.schedule().interval_at(until));
            self.gauge.borrow_mut().see(now);
        }
        if cancelled_at <= now {
            recording.leave_window(cancelled_at);
            self.close_at(cancelled_at);
        }
    }

    /// Ends the window at a cancel, so that what was in flight then is known.
    fn close_at(&self, cancelled_at: Nanos) {
        let schedule = self.schedule();
        let close = schedule.close.min(cancelled_at);
        self.schedule.set(Schedule { close, ..schedule });
    }

    /// Ends the recording of a worker whose load has ended at `now`. The window ends
    /// there as well, even if the schedule continues.
    pub(super) fn end(&self, recording: &mut IntervalRecorder, now: Nanos) {
        self.turn(recording, now);
        recording.leave_window(now);
    }
}
