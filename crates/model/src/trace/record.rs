//! A record: one operation of a trace, with numbers for its paths and its handle.

use std::num::NonZeroU32;

use smbench_protocol::command::create::OplockLevel;
use smbench_protocol::command::create_context::CreateContext;

use super::step::HANDLES_MAX;
use super::{InfoLevel, Verb};

/// The number of a path in its trace.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PathNumber(pub u32);

/// The number of a handle in its trace. Numbers are reused after a close.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct HandleNumber(NonZeroU32);

impl HandleNumber {
    /// Makes the handle of this number, from 0.
    pub(super) const fn new(number: u32) -> Self {
        assert!(number < HANDLES_MAX, "a trace has fewer handles");
        Self(NonZeroU32::MIN.saturating_add(number))
    }

    /// Returns its number, from 0.
    #[inline]
    #[must_use]
    pub const fn number(self) -> u32 {
        self.0.get() - 1
    }
}

/// The number of what a CREATE has beside its record.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DetailNumber(pub(super) NonZeroU32);

/// What a CREATE of SMB2 has, and one of a loadfile has not (MS-SMB2 2.2.13).
#[doc(hidden)]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CreateDetail {
    pub desired_access: u32,
    pub attributes: u32,
    pub share_access: u32,
    /// Each kind at most once. A replay puts keys and ids of its own into them.
    pub contexts: Box<[CreateContext]>,
    /// The oplock that it asks for; `None` leaves that to the options of the run.
    pub oplock: Option<OplockLevel>,
}

/// The kinds of information that a QUERY_INFO asks for (MS-SMB2 2.2.37).
#[doc(hidden)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueriedInfo {
    File,
    FileSystem,
    /// These parts of a security descriptor.
    Security {
        parts: u32,
    },
}

/// One operation. A handle is `None` if the recording did not open it.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Record {
    Create {
        path: PathNumber,
        options: u32,
        disposition: u8,
        /// The handle that it opens; `None` if it failed.
        handle: Option<HandleNumber>,
        detail: Option<DetailNumber>,
    },
    Close {
        handle: Option<HandleNumber>,
        /// Flags of the CLOSE (MS-SMB2 2.2.15).
        flags: u8,
    },
    Read {
        handle: Option<HandleNumber>,
        offset: u64,
        length: u32,
        returned: u32,
        /// Flags of the READ (MS-SMB2 2.2.19).
        flags: u8,
    },
    Write {
        handle: Option<HandleNumber>,
        offset: u64,
        length: u32,
        written: u32,
        /// Flags of the WRITE (MS-SMB2 2.2.21).
        flags: u8,
    },
    Flush(Option<HandleNumber>),
    Lock {
        handle: Option<HandleNumber>,
        offset: u64,
        length: u32,
        /// Flags of the LOCK (MS-SMB2 2.2.26.1).
        flags: u8,
    },
    Unlock {
        handle: Option<HandleNumber>,
        offset: u64,
        length: u32,
    },
    Unlink(PathNumber),
    Rename {
        from: PathNumber,
        to: PathNumber,
    },
    Mkdir(PathNumber),
    Rmdir(PathNumber),
    Deltree(PathNumber),
    QueryPath {
        path: PathNumber,
        level: InfoLevel,
    },
    QueryFile {
        handle: Option<HandleNumber>,
        level: InfoLevel,
    },
    QueryFs {
        level: InfoLevel,
    },
    SetFile {
        handle: Option<HandleNumber>,
        level: InfoLevel,
        /// The size of the file, which the request may set.
        size: u64,
    },
    Find {
        directory: PathNumber,
        pattern: PathNumber,
        level: InfoLevel,
        /// The number of names that it asks for.
        most: u32,
    },
    /// A QUERY_INFO of an open file, with the length of the answer that it asks for.
    Query {
        handle: Option<HandleNumber>,
        info: QueriedInfo,
        class: u8,
        length: u32,
    },
    /// A QUERY_DIRECTORY of an open directory.
    List {
        handle: Option<HandleNumber>,
        pattern: PathNumber,
        class: u8,
        flags: u8,
        length: u32,
    },
    /// A SET_INFO that renames an open file.
    RenameOpen {
        handle: Option<HandleNumber>,
        to: PathNumber,
        replaces: bool,
    },
    /// A SET_INFO that marks an open file for deletion, or revokes that.
    MarkDeleted {
        handle: Option<HandleNumber>,
        is_pending: bool,
    },
    /// A SET_INFO of the security of an open file.
    SetSecurity(Option<HandleNumber>),
    Echo,
}

// A trace may have 2^24 of them.
const _: () = assert!(size_of::<Record>() == 24);

impl Record {
    /// Returns its verb.
    #[inline]
    #[must_use]
    pub const fn verb(&self) -> Verb {
        match self {
            Self::Create { .. } => Verb::Create,
            Self::Close { .. } => Verb::Close,
            Self::Read { .. } => Verb::Read,
            Self::Write { .. } => Verb::Write,
            Self::Flush(_) => Verb::Flush,
            Self::Lock { .. } => Verb::Lock,
            Self::Unlock { .. } => Verb::Unlock,
            Self::Unlink(_) => Verb::Unlink,
            Self::Rename { .. } => Verb::Rename,
            Self::Mkdir(_) => Verb::Mkdir,
            Self::Rmdir(_) => Verb::Rmdir,
            Self::Deltree(_) => Verb::Deltree,
            Self::QueryPath { .. } => Verb::QueryPath,
            Self::QueryFile { .. } => Verb::QueryFile,
            Self::QueryFs { .. } => Verb::QueryFs,
            Self::SetFile { .. } => Verb::SetFile,
            Self::Find { .. } => Verb::Find,
            Self::Query { info, .. } => match info {
                QueriedInfo::File => Verb::QueryFile,
                QueriedInfo::FileSystem => Verb::QueryFs,
                QueriedInfo::Security { .. } => Verb::QuerySecurity,
            },
            Self::List { .. } => Verb::List,
            Self::RenameOpen { .. } => Verb::RenameOpen,
            Self::MarkDeleted { .. } => Verb::MarkDeleted,
            Self::SetSecurity(_) => Verb::SetSecurity,
            Self::Echo => Verb::Echo,
        }
    }

    /// Returns the handle that it uses or opens.
    #[inline]
    #[must_use]
    pub const fn handle(&self) -> Option<HandleNumber> {
        match *self {
            Self::Create { handle, .. }
            | Self::Close { handle, .. }
            | Self::Read { handle, .. }
            | Self::Write { handle, .. }
            | Self::Flush(handle)
            | Self::Lock { handle, .. }
            | Self::Unlock { handle, .. }
            | Self::QueryFile { handle, .. }
            | Self::SetFile { handle, .. }
            | Self::Query { handle, .. }
            | Self::List { handle, .. }
            | Self::RenameOpen { handle, .. }
            | Self::MarkDeleted { handle, .. }
            | Self::SetSecurity(handle) => handle,
            Self::Unlink(_)
            | Self::Rename { .. }
            | Self::Mkdir(_)
            | Self::Rmdir(_)
            | Self::Deltree(_)
            | Self::QueryPath { .. }
            | Self::QueryFs { .. }
            | Self::Find { .. }
            | Self::Echo => None,
        }
    }

    /// Returns the first byte and the length of its range; zeros if it has none.
    #[inline]
    pub(crate) const fn range(&self) -> (u64, u32) {
        match *self {
            Self::Read { offset, length, .. }
            | Self::Write { offset, length, .. }
            | Self::Lock { offset, length, .. }
            | Self::Unlock { offset, length, .. } => (offset, length),
            _ => (0, 0),
        }
    }
}
