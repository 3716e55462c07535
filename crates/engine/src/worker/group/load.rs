//! A group under load: from the start of its schedule until all operations in
//! flight have been answered, or until the load is aborted.
//!
//! Invariant: the group's measurements are completed once and handed to its worker,
//! however the load ends. This includes a group that is dropped, and a task that is
//! dropped because no answer arrives after a cancel.

use std::cell::RefCell;
use std::future::poll_fn;
use std::hint;

use smbench_model::Nanos;
use smbench_model::record::Recorder;

use super::Group;
use crate::drivers::driver::Driver;
use crate::drivers::dropped::Dropped;
use crate::machine::clock;
use crate::worker::booking::Booking;
use crate::worker::figures::{Figures, add_stages};
use crate::worker::load_control::LoadControl;
use crate::worker::shared::Shared;
use crate::worker::supply::Supply;

/// Guard of a group under load; dropping it completes the group's measurements.
struct LoadGuard<'a, D: Driver, S: Supply> {
    group: &'a mut Group<D, S>,
    shared: &'a RefCell<Shared>,
    control: &'a LoadControl,
    figures: &'a RefCell<Figures>,
}

impl<D: Driver, S: Supply> Drop for LoadGuard<'_, D, S> {
    fn drop(&mut self) {
        // It is borrowed only while a group is polled, and then no group is dropped.
        let mut shared = self.shared.try_borrow_mut().ok();
        let recorder = shared.as_mut().map(|shared| &mut shared.recording.recorder);
        self.group.settle(clock::now(), self.control, recorder);
        self.figures.borrow_mut().merge(&self.group.figures());
    }
}

impl<D: Driver, S: Supply> Group<D, S> {
    /// Runs the load until the schedule stops and all operations in flight have
    /// been answered. The measurements are added to `figures`, even if this future
    /// is dropped earlier.
    pub(in crate::worker) async fn run(
        &mut self,
        shared: &RefCell<Shared>,
        control: &LoadControl,
        figures: &RefCell<Figures>,
    ) -> Result<(), Dropped> {
        let load = LoadGuard {
            group: self,
            shared,
            control,
            figures,
        };
        poll_fn(|context| {
            let shared = &mut shared.borrow_mut();
            shared.cleared(|shared| load.group.poll(context, shared, control))
        })
        .await
    }

    /// Lets the clients leave as soon as no action is under way. Operations that come due before
    /// the clients are back are left out.
    #[cold]
    pub(super) fn leave(&mut self, now: Nanos) {
        let members = &mut self.clients.members;
        members.iter_mut().for_each(|member| member.rest_until(now));
        if members.iter().all(|member| member.continuing.is_empty()) {
            self.driver.leave();
        }
    }

    /// Ends the members' window earlier, if the schedule does.
    #[inline]
    pub(super) fn follow_schedule(&mut self, control: &LoadControl) {
        let close = control.schedule().close;
        if close < self.window_end {
            hint::cold_path();
            self.window_end = close;
            // The alarm for the end has to be set again.
            self.alarm_at = None;
            for member in &mut self.clients.members {
                member.cut_window(close);
            }
        }
    }

    /// Completes all measurements that are still running at `now`.
    fn settle(&mut self, now: Nanos, control: &LoadControl, mut recorder: Option<&mut Recorder>) {
        self.follow_schedule(control);
        self.clients.count_in_flight(now, control);
        self.count_held_back(now, control);
        self.held_back.end();
        let end = now.min(control.schedule().stop);
        for member in &mut self.clients.members {
            member.waits.end(now, control);
            member.cut_window(control.cancel.at());
            member.give_up_rest(end);
        }
        if let Some(recorder) = recorder.as_deref_mut() {
            let mut booking = Booking {
                clients: &mut self.clients,
                recorder,
                in_window: 0,
                now,
            };
            self.driver.end_blackouts(now, &mut booking);
        }
        self.clients.give_up_in_flight(now, recorder);
    }

    fn figures(&self) -> Figures {
        let mut figures = Figures {
            held_back: self.held_back.sum,
            in_flight: self.clients.in_flight_time(),
            ..Figures::default()
        };
        for member in &self.clients.members {
            figures.served += u32::from(member.completed > 0);
            figures.starved = figures.starved + member.waits.starved;
            figures.unsent += u32::from(member.has_unsent());
            figures.punctuality = figures.punctuality + member.punctuality();
            add_stages(&mut figures.stages, &member.stage_punctuality());
            figures.fairness.add(member.completed, member.busy);
        }
        figures
    }
}
