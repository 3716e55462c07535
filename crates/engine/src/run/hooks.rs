//! What is done around a load point: a command, a wait for a quiet server, the load, a
//! command. Of several hosts, only the first does it.
//!
//! Invariant: none of it runs while the sessions of a load point exist. Commands of events do.

use smbench_model::hooks::{HookRecord, HooksRecord, QuietRecord};
use smbench_model::load::PointLoad;
use smbench_model::progress::{Pause, PointNumber, Progress};
use smbench_model::record::LoadPointRecord;
use tokio::task::spawn_blocking;

use crate::machine::clock;
use crate::machine::shell::ShellCommand;
use crate::run::context::{Context, RunRole};
use crate::run::environment::environment;
use crate::run::error::RunError;
use crate::run::observe::PROGRESS_INTERVAL;
use crate::run::{Observer, point};

/// Runs one load point like [`point::measure`], with what the plan asks for around it.
pub(super) async fn measured_between(
    context: &Context<'_>,
    point: PointNumber,
    load: PointLoad,
    observer: &mut dyn Observer,
) -> Result<(LoadPointRecord, Option<LoadPointRecord>), RunError> {
    let hooks = &context.plan.generator.hooks;
    if matches!(context.role, RunRole::Other(_)) {
        return Box::pin(point::measure(context, point, load, observer)).await;
    }
    let mut done = HooksRecord::default();
    if let Some(command) = &hooks.before {
        let hook = run(context, point, command, Pause::Before, None, observer).await?;
        done.before = Some(hook);
    }
    if hooks.until_quiet.is_some() && !context.cancel.is_cancelled() {
        done.quiet = Some(quiet(context, point, observer).await?);
    }
    let measured = Box::pin(point::measure(context, point, load, observer)).await;
    if let Some(command) = &hooks.after {
        let valid = measured.as_ref().is_ok_and(|(of, _)| of.is_valid());
        let hook = run(context, point, command, Pause::After, Some(valid), observer).await?;
        done.after = Some(hook);
    }
    let (mut record, own) = measured?;
    // The first cause is before the load.
    record.invalid = done.failure().or(record.invalid);
    record.hooks = done;
    Ok((record, own))
}

/// Runs a command to its end. `valid` is whether the load point before it was.
async fn run(
    context: &Context<'_>,
    point: PointNumber,
    command: &str,
    pause: Pause,
    valid: Option<bool>,
    observer: &mut dyn Observer,
) -> Result<HookRecord, RunError> {
    let when = match pause {
        Pause::After => "after",
        Pause::Before | Pause::Quiet => "before",
    };
    let mut environment = environment(context, point, when, valid);
    environment.extend(observer.hook_environment());
    let shell = ShellCommand {
        command: command.to_owned(),
        environment,
        limit: context.plan.generator.hooks.limit,
        secrets: context.plan.sessions.target.secrets(),
    };
    let cancel = context.cancel.clone();
    let running = spawn_blocking(move || shell.run(&cancel));
    paused(running, point, pause, observer).await
}

/// Waits until the server is quiet, or for as long as the plan says.
async fn quiet(
    context: &Context<'_>,
    point: PointNumber,
    observer: &mut dyn Observer,
) -> Result<QuietRecord, RunError> {
    let most = context.plan.generator.hooks.until_quiet.unwrap_or_default();
    let (meter, cancel) = (context.server_cpu.clone(), context.cancel.clone());
    let waiting = spawn_blocking(move || meter.until_quiet(most, &cancel));
    let waited = paused(waiting, point, Pause::Quiet, observer).await?;
    waited.map_err(RunError::Quiet)
}

/// Waits for the end of blocking work, and tells the progress meanwhile.
async fn paused<T>(
    mut work: tokio::task::JoinHandle<T>,
    point: PointNumber,
    pause: Pause,
    observer: &mut dyn Observer,
) -> Result<T, RunError> {
    let began = clock::now();
    loop {
        let tick = clock::now() + PROGRESS_INTERVAL;
        tokio::select! {
            done = &mut work => return done.map_err(|_| RunError::Panicked),
            () = tokio::time::sleep_until(clock::timer(tick)) => {
                observer.progress(&Progress::Pausing {
                    point,
                    pause,
                    elapsed: clock::now().since(began).into(),
                });
            }
        }
    }
}
