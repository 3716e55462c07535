//! The engine inside an application that runs on tokio and has other work to do.
//! The run blocks a thread of its own and reports events through a channel. `cargo
//! run --release -p smbench-engine --example inside_tokio`.

#![expect(clippy::print_stdout, reason = "that is what it is for")]

use std::error::Error;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use smbench_engine::run::{Progress, RunEvent, events};
use smbench_engine::{Cancel, Plan, RunOptions, Target, execute};
use smbench_formats::profile;
use smbench_lab::{EmbeddedOptions, EmbeddedServer};
use smbench_model::record::Outcome;
use smbench_model::spec::WorkSpec;
use tokio::task::spawn_blocking;

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
pub(crate) async fn main() -> Result<(), Box<dyn Error>> {
    // The server has a runtime of its own, which must not be made in async code.
    let server = spawn_blocking(|| EmbeddedServer::start(EmbeddedOptions::default())).await??;
    let target = Target::with_password(&server.url(), server.password())?;
    let mut profile = profile::load("file-server")?;
    profile.spec.run = RunOptions {
        work: WorkSpec {
            clients: Some("4".parse()?),
            // Much longer than the run will last: it is cancelled after two intervals.
            duration: Some(Duration::from_secs(600)),
            ramp_up: Some(Duration::from_millis(100)),
            ..WorkSpec::default()
        },
        ..RunOptions::default()
    };
    let plan = Plan::of(&profile, target)?;

    // The application's other work.
    let turns = Arc::new(AtomicU64::new(0));
    let busy = Arc::clone(&turns);
    let other_work = tokio::spawn(async move {
        loop {
            busy.fetch_add(1, Ordering::Relaxed);
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    });

    let cancel = Cancel::default();
    let (mut observer, mut receiver) = events(64);
    let run = {
        let cancel = cancel.clone();
        spawn_blocking(move || execute(&plan, &mut observer, &cancel))
    };

    let mut seen = 0;
    // The channel closes when the run has ended, with any outcome.
    while let Some(event) = receiver.recv().await {
        match event {
            RunEvent::Progress(Progress::Running { stage, elapsed, .. }) => {
                println!("{stage:?} for {elapsed:.1?}");
            }
            RunEvent::Interval { index, all, .. } => {
                println!(
                    "second {index}: {} operations, p99 {} ns",
                    all.count, all.p99
                );
                seen += 1;
                if seen == 2 {
                    cancel.cancel();
                }
            }
            _ => {}
        }
    }
    let record = run.await??;
    other_work.abort();

    assert!(turns.load(Ordering::Relaxed) > 0, "other work went on");
    assert!(seen >= 2);
    assert_eq!(record.outcome, Outcome::Interrupted);
    assert_eq!(record.leftover, None, "the share is as it was");
    let point = &record.load_points[0];
    let reason = point.invalid.as_deref().unwrap_or_default();
    assert!(reason.starts_with("interrupted after "), "{reason}");
    assert!(point.window < Duration::from_secs(600));
    println!(
        "{} operations in {:.1?}",
        point.ops.window_all().count(),
        point.window
    );
    spawn_blocking(move || server.stop()).await?;
    Ok(())
}
