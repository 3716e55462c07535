//! How the sessions of a run share TCP connections, and where those come from.

use crate::sources::SourceList;

/// The TCP connections of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Connections {
    /// Local addresses they come from, in turn; `None` leaves it to the system.
    pub sources: Option<SourceList>,
}
