//! Which requests can be sent again if they got no answer.

use super::OpKind;

impl OpKind {
    /// Whether a request of this kind that got no answer can be sent again in a new session without
    /// harm. It changes nothing, and names no open but those that clients hold.
    #[must_use]
    pub const fn is_repeatable(self) -> bool {
        matches!(
            self,
            Self::Read
                | Self::QueryFile
                | Self::QueryFs
                | Self::Echo
                | Self::CreateReadClose
                | Self::CreateQueryClose
                | Self::Stat
                | Self::LookupMissing
        )
    }

    /// Whether a request of this kind that got no answer can be sent again in the same session.
    /// There its open still stands, and the server knows a replay (MS-SMB2 3.2.7.1).
    #[must_use]
    pub const fn is_replayable(self) -> bool {
        matches!(
            self,
            Self::Write
                | Self::Flush
                | Self::Close
                | Self::Unlock
                | Self::SetFile
                | Self::SetSecurity
                | Self::QuerySecurity
                | Self::CopyChunk
                | Self::CopyInWrite
                | Self::CopyInTimes
                | Self::CopyInClose
                | Self::CopyOutRead
                | Self::CopyOutClose
                | Self::SaveWrite
                | Self::SaveFlush
                | Self::SaveClose
                | Self::ListClose
        )
    }
}
