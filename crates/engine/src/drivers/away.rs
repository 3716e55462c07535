//! Clients that leave and come back, as a driver reports them.

use smbench_model::Nanos;

/// What happened to the clients of a group that leave and come back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChurnEvent<'a> {
    /// They log off.
    Left,
    /// They go without a LOGOFF.
    Vanished {
        /// Connections that stay open and silent.
        silent: u32,
        /// Silent connections that were reset, because there were too many.
        ended: u32,
    },
    /// They are back, and have sessions that took this long to set up.
    Back(&'a [Nanos]),
}
