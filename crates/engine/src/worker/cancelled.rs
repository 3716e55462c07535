//! Time limits after a cancel.

use std::time::Duration;

use crate::machine::cancel::Cancel;

/// How long a cancelled run waits for operations in flight.
pub(super) const CANCEL_GRACE: Duration = Duration::from_secs(3);

pub(super) fn resume<T>(error: tokio::task::JoinError) -> T {
    std::panic::resume_unwind(error.into_panic())
}

/// Waits until `grace` after the run was cancelled.
pub(super) async fn cancelled_for(cancel: &Cancel, grace: Duration) {
    cancel.cancelled().await;
    tokio::time::sleep(grace).await;
}
