//! A runtime for one piece of work that blocks its thread.

use std::io;

/// Runs `work` to its end on a new runtime, blocking the thread. An error is the
/// system's, which refused the runtime.
pub(crate) fn blocking<T>(work: impl Future<Output = T>) -> io::Result<T> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let done = runtime.block_on(work);
    // A name look-up that timed out may still be stuck in the resolver.
    runtime.shutdown_background();
    Ok(done)
}
