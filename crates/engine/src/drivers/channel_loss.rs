//! One of several connections of a group that is lost while the others stand.

/// The oldest request in flight on each connection when it was last looked at.
pub(crate) type OldestRequests = Vec<Option<u64>>;

/// The slots of the calls that were in flight on a lost connection.
pub(crate) type LostCalls = Vec<u32>;
