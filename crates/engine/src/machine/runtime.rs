//! Runtimes for work that blocks its thread. All tasks stay on that thread.

use std::io;

use tokio::runtime::{Builder, LocalOptions, LocalRuntime};

/// Runs `work` to its end on a new runtime, blocking the thread. If the system refuses
/// the runtime, `refused` makes the error.
pub(crate) fn blocking<T, E>(
    refused: impl FnOnce(io::Error) -> E,
    work: impl Future<Output = Result<T, E>>,
) -> Result<T, E> {
    let runtime = local().map_err(refused)?;
    let done = runtime.block_on(work);
    // A name look-up that timed out may still be stuck in the resolver.
    runtime.shutdown_background();
    done
}

/// Makes a runtime for this thread.
pub(crate) fn local() -> io::Result<LocalRuntime> {
    Builder::new_current_thread()
        .enable_all()
        .build_local(LocalOptions::default())
}
