//! What one weighted entry of a mix does: an action, which is one request or a
//! few that belong together, each measured under its own kind.
//!
//! Parameters are values only; how they look on the wire is the driver's to
//! know. Serialised, an action is a table like the one it was written in.

mod class;
mod dialect;

use std::collections::BTreeMap;

use serde::Serialize;

use crate::record::OpKind;

pub use class::{
    Attribute, Change, CreateDisposition, CreateOption, DirectoryClass, QueryClass, SetClass,
    Subject,
};
pub use dialect::{DialectNeed, dialect_needed};

/// One entry of a mix of operations.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct WeightedAction {
    /// What is done.
    #[serde(flatten)]
    pub action: Action,
    /// Percent of the actions that are this one.
    pub weight: f64,
}

/// What a client does in one go. Where nothing else is said, it is done to one
/// of the files that the client holds open.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "op", rename_all = "snake_case")]
pub enum Action {
    /// READ.
    Read {
        /// Past the server's cache (SMB2_READFLAG_READ_UNBUFFERED, 3.0.2 on).
        unbuffered: bool,
    },
    /// WRITE.
    Write {
        /// Answered only once it is on stable storage
        /// (SMB2_WRITEFLAG_WRITE_THROUGH, 2.1 on).
        write_through: bool,
        /// Past the server's cache (SMB2_WRITEFLAG_WRITE_UNBUFFERED, 3.0.2 on).
        unbuffered: bool,
    },
    /// FLUSH.
    Flush,
    /// WRITE, then FLUSH; in `fileio` tests only.
    WriteFlush,
    /// FLUSH when the load is over; in `fileio` tests only.
    FinalFlush,
    /// CREATE, then CLOSE.
    Create(Opening),
    /// LOCK, then LOCK that unlocks.
    Lock {
        /// Nobody else may lock or use the range; else nobody may write it.
        exclusive: bool,
        /// One byte far behind the end of the file, where no two locks of a run
        /// meet and no data lies, instead of the range of a request.
        past_end: bool,
    },
    /// QUERY_INFO.
    QueryInfo {
        /// About what.
        class: QueryClass,
    },
    /// SET_INFO, on a file held open or within a chain of CREATE and CLOSE.
    SetInfo {
        /// Of what.
        class: SetClass,
    },
    /// QUERY_DIRECTORY of the run's directory, from its start.
    QueryDirectory {
        /// What is told of each name.
        class: DirectoryClass,
        /// Which names, `*` for all.
        pattern: String,
    },
    /// CHANGE_NOTIFY on the run's directory, then CANCEL.
    ChangeNotify {
        /// Changes to wait for.
        filter: Vec<Change>,
        /// Directories below as well.
        recursive: bool,
    },
    /// CREATE of a file to be deleted, FSCTL_SRV_COPYCHUNK into it from a file
    /// held open, CLOSE.
    CopyChunk,
    /// FSCTL_QUERY_NETWORK_INTERFACE_INFO (3.0 on).
    QueryInterfaces,
    /// FSCTL_VALIDATE_NEGOTIATE_INFO (3.0 and 3.0.2).
    ValidateNegotiate,
    /// ECHO.
    Echo,
    /// TREE_CONNECT to the share once more, then TREE_DISCONNECT.
    TreeConnect,
    /// SESSION_SETUP of a further session on the client's connection, up to its
    /// TREE_CONNECT, then LOGOFF.
    LogOn,
    /// CREATE, READ and CLOSE of a file in one frame.
    CreateReadClose,
    /// CREATE, QUERY_INFO and CLOSE of a file in one frame.
    CreateQueryClose {
        /// About what.
        class: QueryClass,
    },
    /// CREATE, SET_INFO and CLOSE of a file in one frame.
    CreateSetClose {
        /// Of what; not one that takes a chain of its own.
        class: SetClass,
    },
}

/// What a CREATE asks for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Opening {
    /// What is opened.
    pub subject: Subject,
    /// What to do about a name that exists, or does not.
    pub disposition: CreateDisposition,
    /// FILE_DELETE_ON_CLOSE.
    pub delete_on_close: bool,
    /// A durable handle, and the batch oplock that it needs.
    pub durable: bool,
    /// The file's number on its volume.
    pub query_on_disk_id: bool,
    /// FILE_WRITE_THROUGH.
    pub write_through: bool,
    /// FILE_NO_INTERMEDIATE_BUFFERING.
    pub unbuffered: bool,
    /// Attributes of a file that gets made; none is FILE_ATTRIBUTE_NORMAL.
    pub attributes: Vec<Attribute>,
    /// What it is for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub options: Vec<CreateOption>,
}

/// Where in a file an action works.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Range {
    /// On no range.
    None,
    /// On one of a request's size.
    Request,
    /// On one byte, behind all data.
    PastEnd,
}

impl Action {
    /// What a profile calls it.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Read { .. } => "read",
            Self::Write { .. } => "write",
            Self::Flush => "flush",
            Self::WriteFlush => "write_flush",
            Self::FinalFlush => "final_flush",
            Self::Create(_) => "create",
            Self::Lock { .. } => "lock",
            Self::QueryInfo { .. } => "query_info",
            Self::SetInfo { .. } => "set_info",
            Self::QueryDirectory { .. } => "query_directory",
            Self::ChangeNotify { .. } => "change_notify",
            Self::CopyChunk => "copy_chunk",
            Self::QueryInterfaces => "query_interfaces",
            Self::ValidateNegotiate => "validate_negotiate",
            Self::Echo => "echo",
            Self::TreeConnect => "tree_connect",
            Self::LogOn => "log_on",
            Self::CreateReadClose => "create_read_close",
            Self::CreateQueryClose { .. } => "create_query_close",
            Self::CreateSetClose { .. } => "create_set_close",
        }
    }

    /// Its parameters by name, as a profile would have them.
    #[must_use]
    pub fn parameters(&self) -> BTreeMap<String, serde_json::Value> {
        let table = serde_json::to_value(self)
            .unwrap_or_else(|error| unreachable!("plain fields always serialise: {error}"));
        match table {
            serde_json::Value::Object(table) => {
                table.into_iter().filter(|(key, _)| key != "op").collect()
            }
            other => unreachable!("an action is a table, not {other}"),
        }
    }

    /// The kinds of its requests, in the order they are sent when all go well.
    #[must_use]
    pub const fn kinds(&self) -> &'static [OpKind] {
        use OpKind as K;
        match self {
            Self::Read { .. } => &[K::Read],
            Self::Write { .. } => &[K::Write],
            Self::Flush => &[K::Flush],
            Self::WriteFlush => &[K::Write, K::Flush],
            Self::FinalFlush => &[K::FinalFlush],
            Self::Create(_) => &[K::Create, K::Close],
            Self::Lock { .. } => &[K::Lock, K::Unlock],
            Self::QueryInfo { class } => match class.kind() {
                K::QueryFs => &[K::QueryFs],
                K::QuerySecurity => &[K::QuerySecurity],
                _ => &[K::QueryFile],
            },
            Self::SetInfo { class } => match class {
                SetClass::Basic | SetClass::Allocation | SetClass::EndOfFile => &[K::SetFile],
                SetClass::Rename => &[K::Create, K::Rename, K::Close],
                SetClass::Delete => &[K::Create, K::Delete, K::Close],
                SetClass::Security => &[K::Create, K::SetSecurity, K::Close],
            },
            Self::QueryDirectory { .. } => &[K::QueryDirectory],
            Self::ChangeNotify { .. } => &[K::ChangeNotify, K::Cancel],
            Self::CopyChunk => &[K::Create, K::CopyChunk, K::Close],
            Self::QueryInterfaces => &[K::QueryInterfaces],
            Self::ValidateNegotiate => &[K::ValidateNegotiate],
            Self::Echo => &[K::Echo],
            Self::TreeConnect => &[K::TreeConnect, K::TreeDisconnect],
            Self::LogOn => &[K::LogOn, K::LogOff],
            Self::CreateReadClose => &[K::CreateReadClose],
            Self::CreateQueryClose { .. } => &[K::CreateQueryClose],
            Self::CreateSetClose { .. } => &[K::CreateSetClose],
        }
    }

    /// The kind of its first request.
    #[must_use]
    pub const fn first(&self) -> OpKind {
        self.kinds()[0]
    }

    /// Where in a file it works.
    #[must_use]
    pub const fn range(&self) -> Range {
        match self {
            Self::Read { .. }
            | Self::Write { .. }
            | Self::WriteFlush
            | Self::CopyChunk
            | Self::CreateReadClose => Range::Request,
            Self::Lock { past_end, .. } => match past_end {
                true => Range::PastEnd,
                false => Range::Request,
            },
            _ => Range::None,
        }
    }

    /// Whether it is done to a file that the client holds open.
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

    /// Whether it opens a file that the client works on by its name.
    #[must_use]
    pub const fn opens_file(&self) -> bool {
        match self {
            Self::Create(opening) => matches!(opening.subject, Subject::WorkFile),
            Self::CreateReadClose | Self::CreateQueryClose { .. } | Self::CreateSetClose { .. } => {
                true
            }
            _ => false,
        }
    }

    /// Whether it is done to the run's directory, which is held open then.
    #[must_use]
    pub const fn holds_directory(&self) -> bool {
        matches!(
            self,
            Self::QueryDirectory { .. } | Self::ChangeNotify { .. }
        )
    }

    /// Whether it makes or opens names of its slot.
    #[must_use]
    pub const fn uses_scratch(&self) -> bool {
        match self {
            Self::Create(opening) => !matches!(opening.subject, Subject::WorkFile),
            Self::SetInfo { class } => class.is_chain(),
            Self::CopyChunk => true,
            _ => false,
        }
    }
}
