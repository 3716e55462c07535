//! A token of each worker that is under load.

use std::convert::Infallible;

use tokio::sync::mpsc;

/// A token that a worker keeps until its load has ended. Without any token left,
/// there is no load.
pub(crate) type UnderLoad = mpsc::Sender<Infallible>;
