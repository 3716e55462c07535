//! What a server ends at a LOGOFF. Some end all sessions of the connection, not only the one
//! that logs off.

/// What a server ends at a LOGOFF.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum LogoffScope {
    /// The session that logs off.
    #[default]
    Session,
    /// All sessions of the connection.
    Connection,
}
