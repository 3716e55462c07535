//! Time limits of waits.

use std::time::Duration;

/// The time limit of each kind of wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Limit for connecting TCP.
    pub connect: Duration,
    /// Limit for the answer to one set-up request (negotiate, session, tree, open).
    pub setup: Duration,
    /// Limit for the answer to one measured operation. The client counts as lost
    /// after it.
    pub operation: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(10),
            setup: Duration::from_secs(30),
            operation: Duration::from_secs(60),
        }
    }
}
