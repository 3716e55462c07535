//! The events of a load point: runs their commands at their instants. Workers cut connections
//! themselves.

use smbench_model::Nanos;
use smbench_model::event::{EventAction, EventRecord, PlannedEvent};
use smbench_model::hooks::HookRecord;
use tokio::task::{JoinHandle, spawn_blocking};

use crate::machine::cancel::Cancel;
use crate::machine::clock;
use crate::machine::shell::ShellCommand;
use crate::run::context::{Context, RunRole};
use crate::worker::schedule::Schedule;

/// The events of a load point whose load runs.
pub(super) struct RunningEvents {
    open: Nanos,
    events: Vec<(PlannedEvent, Option<EventCommand>)>,
}

/// A command that waits for its instant, or runs. Returns when it was started, and how it went;
/// `None` if the load ended before.
type EventCommand = JoinHandle<Option<(Nanos, HookRecord)>>;

impl RunningEvents {
    /// Begins to wait for the instants of commands. Of several hosts, the first runs them.
    /// `environment` has the facts of the load point.
    pub(super) fn start(
        context: &Context<'_>,
        schedule: Schedule,
        environment: &[(String, std::ffi::OsString)],
        over: &Cancel,
    ) -> Self {
        let events = context.plan.work.events.iter().map(|event| {
            let command = match &event.action {
                EventAction::Exec(command) if !matches!(context.role, RunRole::Other(_)) => {
                    let shell = ShellCommand {
                        command: command.clone(),
                        environment: environment.to_vec(),
                        limit: context.plan.generator.hooks.limit,
                        secrets: context.plan.sessions.target.secrets(),
                    };
                    let at = schedule.open + event.at.into();
                    let cancels = (over.clone(), context.cancel.clone());
                    Some(tokio::spawn(run_at(at, shell, cancels)))
                }
                EventAction::Exec(_) | EventAction::Drop(_) => None,
            };
            (event.clone(), command)
        });
        Self {
            open: schedule.open,
            events: events.collect(),
        }
    }

    /// Waits for the end of commands that run. `closed` is the end of the window.
    pub(super) async fn end(self, closed: Nanos) -> Vec<EventRecord> {
        let mut records = Vec::with_capacity(self.events.len());
        for (event, running) in self.events {
            let planned = self.open + event.at.into();
            let (at, command) = match running {
                Some(running) => match running.await.ok().flatten() {
                    Some((began, command)) => (Some(began), Some(command)),
                    None => (None, None),
                },
                None => ((planned < closed).then_some(planned), None),
            };
            records.push(EventRecord {
                event,
                at: at.map(|at| at.since(self.open).into()),
                command,
            });
        }
        records
    }
}

/// Runs a command at an instant, unless the load is over before. The second cancel ends it.
async fn run_at(
    at: Nanos,
    shell: ShellCommand,
    (over, cancel): (Cancel, Cancel),
) -> Option<(Nanos, HookRecord)> {
    tokio::select! {
        biased;
        () = over.cancelled() => return None,
        () = tokio::time::sleep_until(clock::timer(at)) => {}
    }
    let began = clock::now();
    let ran = spawn_blocking(move || shell.run(&cancel)).await.ok()?;
    Some((began, ran))
}
