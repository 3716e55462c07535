//! The events of a load point: runs their commands at their instants, and signals to a lab
//! server. Workers cut connections themselves.

use std::ffi::OsString;
use std::sync::Arc;
use std::time::Duration;

use smbench_model::Nanos;
use smbench_model::event::{EventAction, EventRecord, PlannedEvent};
use smbench_model::hooks::HookRecord;
use smbench_model::plan::Plan;
use tokio::task::{JoinHandle, spawn_blocking};

use crate::machine::cancel::Cancel;
use crate::machine::clock;
use crate::machine::lab_server::LabServer;
use crate::machine::shell::ShellCommand;
use crate::run::context::{Context, RunRole};
use crate::run::error::RunError;
use crate::smb::session::Endpoint;
use crate::worker::schedule::Schedule;

/// The events of a load point whose load runs.
pub(super) struct RunningEvents {
    open: Nanos,
    events: Vec<(PlannedEvent, Option<EventTask>)>,
}

/// The task of an event. It waits for the event's instant, and then carries the event out. It
/// returns when the event began and how it ended, or `None` if the load ended first.
type EventTask = JoinHandle<Option<(Nanos, EventOutcome)>>;

/// How an event ended.
enum EventOutcome {
    Ran(HookRecord),
    /// The number of processes that got a signal, or why none did.
    Signalled(Result<usize, String>),
}

/// What a task does at the instant of its event.
enum EventWork {
    Command(ShellCommand),
    Stop(Arc<LabServer>, Duration),
    Signal(Arc<LabServer>, String),
}

impl RunningEvents {
    /// Begins to wait for the instants of events. Of several hosts, the first does what they
    /// ask for. `environment` has the facts of the load point.
    pub(super) fn start(
        context: &Context<'_>,
        schedule: Schedule,
        environment: &[(String, OsString)],
        over: &Cancel,
    ) -> Self {
        let events = context.plan.work.events.iter().map(|event| {
            let work = match context.role {
                RunRole::Other(_) => None,
                RunRole::Alone | RunRole::First(_) => {
                    EventWork::of(&event.action, context, environment)
                }
            };
            let task = work.map(|work| {
                let at = schedule.open + event.at.into();
                tokio::spawn(begin_at(at, work, over.clone(), context.cancel.clone()))
            });
            (event.clone(), task)
        });
        Self {
            open: schedule.open,
            events: events.collect(),
        }
    }

    /// Waits until all events have ended, and returns their records. `closed` is the end of the
    /// window.
    pub(super) async fn end(self, closed: Nanos) -> Vec<EventRecord> {
        let mut records = Vec::with_capacity(self.events.len());
        for (event, task) in self.events {
            let planned = self.open + event.at.into();
            let (at, outcome) = match task {
                Some(task) => task.await.ok().flatten().unzip(),
                None => ((planned < closed).then_some(planned), None),
            };
            let (command, signalled) = match outcome {
                None => (None, None),
                Some(EventOutcome::Ran(command)) => (Some(command), None),
                Some(EventOutcome::Signalled(signalled)) => (None, Some(signalled)),
            };
            records.push(EventRecord {
                event,
                at: at.map(|at| at.since(self.open).into()),
                command,
                signalled,
            });
        }
        records
    }
}

/// Returns the lab server of a plan whose events need one.
pub(in crate::run) fn lab_server(
    plan: &Plan,
    role: RunRole<'_>,
    endpoint: &Endpoint,
) -> Result<Option<Arc<LabServer>>, RunError> {
    let mut events = plan.work.events.iter();
    let event = events.find(|event| event.action.is_of_lab());
    match (event, role) {
        (None, _) | (_, RunRole::Other(_)) => Ok(None),
        (Some(event), _) => match LabServer::of(endpoint.here()) {
            Ok(server) => Ok(Some(Arc::new(server))),
            Err(why) => Err(RunError::NoLab {
                event: event.to_string(),
                why,
            }),
        },
    }
}

impl EventWork {
    /// Returns what a task does for an event; `None` if the workers do it.
    fn of(
        action: &EventAction,
        context: &Context<'_>,
        environment: &[(String, OsString)],
    ) -> Option<Self> {
        let server = context.lab_server.clone();
        match action {
            EventAction::Drop(_) => None,
            EventAction::Exec(command) => Some(Self::Command(ShellCommand {
                command: command.clone(),
                environment: environment.to_vec(),
                limit: context.plan.generator.hooks.limit,
                secrets: context.plan.sessions.target.secrets(),
            })),
            EventAction::Stop(time) => Some(Self::Stop(server?, *time)),
            EventAction::Signal(name) => Some(Self::Signal(server?, name.clone())),
        }
    }
}

/// Does what an event asks for at an instant, unless the load is over before. The second cancel
/// ends a command. A stop ends with the load.
async fn begin_at(
    at: Nanos,
    work: EventWork,
    over: Cancel,
    cancel: Cancel,
) -> Option<(Nanos, EventOutcome)> {
    tokio::select! {
        biased;
        () = over.cancelled() => return None,
        () = tokio::time::sleep_until(clock::timer(at)) => {}
    }
    let began = clock::now();
    let outcome = match work {
        EventWork::Command(shell) => {
            let ran = spawn_blocking(move || shell.run(&cancel));
            EventOutcome::Ran(ran.await.ok()?)
        }
        EventWork::Stop(server, time) => {
            let stopping = spawn_blocking(move || server.stop(time));
            let signalled = match stopping.await.ok()? {
                Ok(stopped) => {
                    let until = clock::timer(clock::now() + time.into());
                    tokio::select! {
                        () = over.cancelled() => {}
                        () = tokio::time::sleep_until(until) => {}
                    }
                    Ok(stopped.count())
                }
                Err(why) => Err(why),
            };
            EventOutcome::Signalled(signalled)
        }
        EventWork::Signal(server, name) => {
            let signalled = spawn_blocking(move || server.signal(&name));
            EventOutcome::Signalled(signalled.await.ok()?)
        }
    };
    Some((began, outcome))
}
