//! SIGINT and SIGTERM as calls on a thread of their own.
//!
//! SIGHUP stays as it was, so that `nohup smbench` goes on.

use std::thread;

use tokio::runtime;
use tokio::signal::unix::{SignalKind, signal};

use crate::failure::Failure;

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
