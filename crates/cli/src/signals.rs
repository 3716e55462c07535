//! SIGINT and SIGTERM as calls on a thread of their own.
//!
//! SIGHUP stays as it was, so that `nohup smbench` goes on.

use std::thread;

use smbench_engine::Cancel;
use tokio::runtime;
use tokio::signal::unix::{SignalKind, signal};

use crate::failure::{Exit, Failure};
use crate::output::complain;
use crate::progress::Line;

/// Calls `react` with 1 on the first SIGINT or SIGTERM, with 2 on the next, and
/// so on. The signals are caught from the moment this returns.
pub(crate) fn on_interrupt(mut react: impl FnMut(u32) + Send + 'static) -> Result<(), Failure> {
    let failed = || Failure::io("catch signals");
    let runtime = runtime::Builder::new_current_thread()
        .enable_io()
        .build()
        .map_err(failed())?;
    let (mut interrupt, mut terminate) = {
        let _inside = runtime.enter();
        let catch = |kind| signal(kind).map_err(failed());
        (
            catch(SignalKind::interrupt())?,
            catch(SignalKind::terminate())?,
        )
    };
    let listen = async move {
        for times in 1.. {
            tokio::select! {
                _ = interrupt.recv() => {}
                _ = terminate.recv() => {}
            }
            react(times);
        }
    };
    thread::Builder::new()
        .name("signals".to_owned())
        .spawn(move || runtime.block_on(listen))
        .map_err(failed())?;
    Ok(())
}

/// What then is to be done about a share, for [`stop_on_interrupt`].
pub(crate) fn left_behind(url: &str) -> String {
    format!("; files may be left on the share, remove them with: smbench cleanup '{url}'")
}

/// The first signal ends the run in good order, the second at once, with what
/// then is to be done about it.
pub(crate) fn stop_on_interrupt(
    cancel: &Cancel,
    line: &Line,
    remedy: String,
) -> Result<(), Failure> {
    let (cancel, line) = (cancel.clone(), line.clone());
    on_interrupt(move |times| {
        if times == 1 {
            cancel.cancel();
            line.suspended(|| {
                complain(
                    "stopping: waiting for requests in flight, then cleaning up; press Ctrl-C \
                     again to leave at once",
                );
            });
        } else {
            line.clear();
            complain(format_args!("left at once{remedy}"));
            std::process::exit(Exit::Interrupted as i32);
        }
    })
}
