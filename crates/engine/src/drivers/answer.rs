//! The answer to a call.

use smbench_protocol::NtStatus;

/// The server's answer to a call, or a part of it.
#[derive(Clone, Copy, Debug)]
pub struct Answer<'a> {
    /// Slot of the call.
    pub slot: u32,
    /// Whether further answers to this call follow.
    pub extent: Extent,
    /// Result of the operation. Any status other than [`NtStatus::SUCCESS`] counts
    /// as a failure. The client continues, unless the status says that its session
    /// is gone.
    pub status: NtStatus,
    /// Bytes moved, if the operation moves data and succeeded. A number other than
    /// [`Operation::length`](smbench_model::operations::Operation::length) is a failure. Of a
    /// QUERY_DIRECTORY of a `list` or a `walk`, the number of names but `.` and `..`.
    pub moved: u32,
    /// The `moved` bytes that a READ returned, if the driver keeps them. The plan's
    /// [`Verify::ReadBack`](smbench_model::contents::Verify) checks them.
    pub data: Option<&'a [u8]>,
}

impl Answer<'_> {
    /// Makes an answer that moves no data.
    #[must_use]
    pub const fn bare(slot: u32, extent: Extent, status: NtStatus) -> Self {
        Self {
            slot,
            extent,
            status,
            moved: 0,
            data: None,
        }
    }

    /// Makes the whole answer of an operation that succeeded and moved these bytes, without
    /// the data.
    #[must_use]
    pub const fn success(slot: u32, moved: u32) -> Self {
        Self {
            moved,
            ..Self::bare(slot, Extent::Final, NtStatus::SUCCESS)
        }
    }
}

/// How much of an answer has arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// No part yet: the server has accepted the call (STATUS_PENDING).
    Interim,
    /// One part; others follow.
    Part,
    /// The whole answer, or its last part.
    Final,
    /// The call has ended in another way. Under a lease, the client answers a `list_open` itself,
    /// with the number of names of a whole listing, and a `list_close`, whose directory stays
    /// open. The notification for a `watch` is reported apart.
    Apart,
    /// The server reports that the session has expired, and has not carried out the
    /// call. The driver reauthenticates, and the loop submits the call again.
    Expired,
    /// None will come, because the connection of the call was lost. Whether the server has
    /// carried out the call is not known. The operation has failed, and its action ends.
    Lost,
    /// The same, but the driver can carry out the call once more without harm. The loop
    /// submits it again.
    Repeatable,
}

impl Extent {
    /// Returns whether it is an answer to the call, or a part of one.
    #[inline]
    pub(crate) const fn is_answer(self) -> bool {
        matches!(self, Self::Part | Self::Final)
    }

    /// Returns whether the call itself has no answer.
    #[inline]
    pub(crate) const fn is_without_answer(self) -> bool {
        matches!(self, Self::Expired | Self::Lost | Self::Repeatable)
    }
}
