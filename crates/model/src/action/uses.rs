//! What an action needs on the share.

use super::{Action, CreateSubject, TreeRoot};

impl Action {
    /// Whether the action works on a file that the client holds open.
    #[must_use]
    pub const fn holds_file(&self) -> bool {
        match self {
            Self::Read { .. }
            | Self::Write { .. }
            | Self::Flush
            | Self::WriteFlush
            | Self::FinalFlush
            | Self::Lock { .. }
            | Self::QueryInfo { .. }
            | Self::CopyChunk => true,
            Self::SetInfo { class } => !class.is_chain(),
            _ => false,
        }
    }

    /// Whether the action opens one of the client's files by name.
    #[must_use]
    pub const fn opens_file(&self) -> bool {
        match self {
            Self::Create(opening) => matches!(opening.subject, CreateSubject::WorkFile),
            Self::CreateReadClose | Self::CreateQueryClose { .. } | Self::CreateSetClose { .. } => {
                true
            }
            _ => false,
        }
    }

    /// Whether the action works on the run's directory, which the client then holds
    /// open.
    #[must_use]
    pub const fn holds_directory(&self) -> bool {
        matches!(
            self,
            Self::QueryDirectory { .. } | Self::ChangeNotify { .. } | Self::Watch { .. }
        )
    }

    /// Whether the action works on files that must exist, or lists them.
    #[must_use]
    pub const fn uses_files(&self) -> bool {
        self.holds_file()
            || self.opens_file()
            || self.holds_directory()
            || matches!(
                self,
                Self::Stat { .. }
                    | Self::Neighbour { .. }
                    | Self::CopyOut
                    | Self::List { .. }
                    | Self::Walk {
                        root: TreeRoot::Files,
                        ..
                    }
                    | Self::LookupMissing { .. }
            )
    }

    /// Returns how many clients make what the action shows to others; `None` if it shows nothing
    /// of others.
    #[must_use]
    pub const fn changers(&self) -> Option<u32> {
        match self {
            Self::Neighbour { .. } => Some(1),
            Self::Watch { changers, .. } => Some(*changers),
            _ => None,
        }
    }

    /// Whether the action makes or opens scratch names of its slot.
    #[must_use]
    pub const fn uses_scratch(&self) -> bool {
        match self {
            Self::Create(opening) => !matches!(opening.subject, CreateSubject::WorkFile),
            Self::SetInfo { class } => class.is_chain(),
            Self::CopyChunk | Self::SaveOffice => true,
            _ => false,
        }
    }
}
