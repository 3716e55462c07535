//! What the sessions of a run work on: the same at every load point.

use std::sync::Arc;

use crate::plan::Plan;
use crate::session::Endpoint;
use crate::stream::Mix;

/// A server, the run's directory on it, and what is done there.
pub(super) struct Site {
    pub(super) plan: Arc<Plan>,
    pub(super) endpoint: Endpoint,
    pub(super) mix: Arc<Mix>,
    /// The run's directory on the share.
    pub(super) directory: String,
}
