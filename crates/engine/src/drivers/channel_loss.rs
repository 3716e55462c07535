//! One of several connections of a group that is lost while the others stand.

use smbench_protocol::connection::Repetition;

/// The oldest request in flight on each connection when it was last looked at.
pub(crate) type OldestRequests = Vec<Option<u64>>;

/// The slots of the calls that were in flight on a lost connection.
pub(crate) type LostCalls = Vec<u32>;

/// Says of the call in a slot how it is sent again; `None` if that could do harm.
pub(crate) type RepeatedAs<'a> = &'a dyn Fn(u32) -> Option<Repetition>;
