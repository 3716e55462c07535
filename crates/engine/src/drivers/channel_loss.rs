//! One of several connections of a group that is lost while the others stand.

use smbench_protocol::connection::Repetition;

/// The oldest request in flight on a connection.
#[derive(Clone, Copy, Debug, Default)]
pub struct OldestRequest {
    /// Its message id when it was last looked at.
    pub(crate) message_id: Option<u64>,
    /// Number of further looks at which it was the same.
    pub(crate) looks: u32,
}

/// The oldest request of each connection.
pub(crate) type OldestRequests = Vec<OldestRequest>;

/// The slots of the calls that were in flight on a lost connection.
pub(crate) type LostCalls = Vec<u32>;

/// Says of the call in a slot how it is sent again; `None` if that could do harm.
pub(crate) type RepeatedAs<'a> = &'a dyn Fn(u32) -> Option<Repetition>;
