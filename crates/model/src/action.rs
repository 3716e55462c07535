//! Actions: the weighted entries of a mix. An action is one request, or a few that
//! belong together. Each request is measured under its own kind.
//!
//! Parameters are values only; the driver encodes them. A profile has an action as an
//! `[[operations]]` table; documents and digests have it with all its parameters.

mod class;
mod dialect;
mod missing;
mod opening;
mod table;
mod uses;

use std::collections::BTreeMap;

use serde::Serialize;
pub use smbench_protocol::command::create::Disposition;
pub use smbench_protocol::command::query_directory::DirectoryClass;

use crate::kind::{Direction, OpKind};
pub use class::{
    Attribute, ChangeFilter, CreateOption, CreateSubject, LookedAt, QueryClass, SetClass, TreeRoot,
};
pub use dialect::{DialectNeed, dialect_needed};
pub use missing::MissingName;

/// One entry of a mix of operations.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct WeightedAction {
    /// The action.
    #[serde(flatten)]
    pub action: Action,
    /// Percent of the actions that are this entry.
    pub weight: f64,
}

/// One step of a client's work. Unless stated otherwise, it works on one of the
/// files that the client holds open.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "op", rename_all = "snake_case")]
pub enum Action {
    /// READ.
    Read {
        /// Whether to bypass the server's cache (SMB2_READFLAG_READ_UNBUFFERED,
        /// from 3.0.2).
        unbuffered: bool,
    },
    /// WRITE.
    Write {
        /// Whether the answer waits until the data is on stable storage
        /// (SMB2_WRITEFLAG_WRITE_THROUGH, from 2.1).
        write_through: bool,
        /// Whether to bypass the server's cache (SMB2_WRITEFLAG_WRITE_UNBUFFERED,
        /// from 3.0.2).
        unbuffered: bool,
    },
    /// FLUSH.
    Flush,
    /// WRITE, then FLUSH; in `fileio` tests only.
    WriteFlush,
    /// FLUSH when the load is over; in `fileio` tests only.
    FinalFlush,
    /// CREATE, then CLOSE.
    Create(CreateParameters),
    /// LOCK, then a LOCK request that unlocks.
    Lock {
        /// Whether no other client may lock or use the range. Otherwise the lock is
        /// shared, and no client may write to the range.
        exclusive: bool,
        /// Whether to lock one byte far behind the end of the file, instead of the
        /// range of a request. No data is there, and no two locks of a run overlap.
        past_end: bool,
    },
    /// QUERY_INFO.
    QueryInfo {
        /// The information to query.
        class: QueryClass,
    },
    /// SET_INFO, on a file held open or in a chain of CREATE and CLOSE.
    SetInfo {
        /// The information to set.
        class: SetClass,
    },
    /// QUERY_DIRECTORY of the run's directory, from its start.
    QueryDirectory {
        /// The information returned for each name.
        class: DirectoryClass,
        /// The pattern of names; `*` for all.
        pattern: String,
    },
    /// CHANGE_NOTIFY on the run's directory, then CANCEL.
    ChangeNotify {
        /// Changes to wait for.
        filter: Vec<ChangeFilter>,
        /// Whether to watch directories below as well.
        recursive: bool,
    },
    /// CHANGE_NOTIFY on the run's directory, which is held until there is a change. The first
    /// clients do not watch, and all others do nothing else.
    Watch {
        /// Changes to wait for.
        filter: Vec<ChangeFilter>,
        /// Whether to watch directories below as well.
        recursive: bool,
        /// Number of clients that do the other operations of the mix, if there are any.
        changers: u32,
    },
    /// CREATE of a scratch file, FSCTL_SRV_COPYCHUNK into it from a file held open,
    /// CLOSE. The CLOSE deletes the scratch file.
    CopyChunk,
    /// FSCTL_QUERY_NETWORK_INTERFACE_INFO (from 3.0).
    QueryInterfaces,
    /// FSCTL_VALIDATE_NEGOTIATE_INFO (3.0 and 3.0.2 only).
    ValidateNegotiate,
    /// ECHO.
    Echo,
    /// A further TREE_CONNECT to the share, then TREE_DISCONNECT.
    TreeConnect,
    /// SESSION_SETUP and TREE_CONNECT of a further session on the client's
    /// connection, then LOGOFF.
    LogOn,
    /// A connection with a session of its own up to TREE_CONNECT, then LOGOFF. It is the
    /// only operation of its mix, and its clients have no other session.
    Session,
    /// CREATE, READ and CLOSE of a file in one frame.
    CreateReadClose,
    /// CREATE, QUERY_INFO and CLOSE of a file in one frame.
    CreateQueryClose {
        /// The information to query.
        class: QueryClass,
    },
    /// CREATE, SET_INFO and CLOSE of a file in one frame.
    CreateSetClose {
        /// The information to set; not a class that takes a chain of its own.
        class: SetClass,
    },
    /// CREATE, QUERY_INFO and CLOSE of any file of the set in one frame.
    Stat {
        /// The information to query.
        class: QueryClass,
    },
    /// CREATE of a name that does not exist.
    LookupMissing {
        /// The directory of the name.
        #[serde(skip_serializing_if = "TreeRoot::is_files")]
        root: TreeRoot,
        /// The name; when absent, another one each time.
        #[serde(skip_serializing_if = "Option::is_none")]
        name: Option<MissingName>,
    },
    /// CREATE, QUERY_INFO or READ, and CLOSE in one frame of the newest file that another client
    /// has copied to the server, again until the server shows it.
    Neighbour {
        /// The information to query.
        class: QueryClass,
        /// What is looked at.
        #[serde(skip_serializing_if = "LookedAt::is_attributes")]
        at: LookedAt,
    },
    /// CREATE of a directory, QUERY_DIRECTORY until there are no more names, CLOSE.
    List {
        /// The information returned for each name.
        class: DirectoryClass,
        /// The pattern of names; `*` for all.
        pattern: String,
        /// Bytes that a QUERY_DIRECTORY asks for; fewer if the server allows no more.
        buffer: u32,
        /// Whether entries have what a Mac shows of a file, in place of the short name and the
        /// size of extended attributes (readdirattr of the create context AAPL).
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        aapl: bool,
    },
    /// A directory is listed as [`Action::List`] does, then those that it has, until the whole
    /// tree is listed. Each directory is an operation. It is the only action of its mix.
    Walk {
        /// The information returned for each name; not [`DirectoryClass::Names`].
        class: DirectoryClass,
        /// Bytes that a QUERY_DIRECTORY asks for; fewer if the server allows no more.
        buffer: u32,
        /// Where it begins.
        root: TreeRoot,
    },
    /// CREATE of a new file, all of its data, SET_INFO of its times, CLOSE.
    CopyIn,
    /// CREATE of any file of the set, READs of all of its data, CLOSE.
    CopyOut,
    /// A document is saved: CREATE of a new file, its data, FLUSH, CLOSE; the old document is
    /// renamed, the new file gets its name, and the old one is deleted.
    SaveOffice,
}

/// The parameters of a CREATE.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CreateParameters {
    /// The kind of name that is opened.
    pub subject: CreateSubject,
    /// What CREATE does when the name exists, and when it does not.
    pub disposition: Disposition,
    /// Whether to set FILE_DELETE_ON_CLOSE.
    pub delete_on_close: bool,
    /// Whether to ask for a durable handle, and for the batch oplock that it
    /// requires.
    pub durable: bool,
    /// Whether to ask for the file's number on its volume.
    pub query_on_disk_id: bool,
    /// Whether to set FILE_WRITE_THROUGH.
    pub write_through: bool,
    /// Whether to set FILE_NO_INTERMEDIATE_BUFFERING.
    pub unbuffered: bool,
    /// Attributes of a new file; an empty list is FILE_ATTRIBUTE_NORMAL.
    pub attributes: Vec<Attribute>,
    /// The purpose of the open.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub options: Vec<CreateOption>,
}

/// The range of a file that an action works on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Range {
    /// No range.
    None,
    /// A range of a request's size.
    Request,
    /// One byte behind all data.
    PastEnd,
    /// A file as a whole. In sequential order the next one has its turn.
    WholeFile,
    /// A file that no other action of the client has.
    NewFile,
    /// A directory.
    Directory,
}

impl Action {
    /// Returns the action's name in a profile.
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
            Self::Watch { .. } => "watch",
            Self::CopyChunk => "copy_chunk",
            Self::QueryInterfaces => "query_interfaces",
            Self::ValidateNegotiate => "validate_negotiate",
            Self::Echo => "echo",
            Self::TreeConnect => "tree_connect",
            Self::LogOn => "log_on",
            Self::Session => "session",
            Self::CreateReadClose => "create_read_close",
            Self::CreateQueryClose { .. } => "create_query_close",
            Self::CreateSetClose { .. } => "create_set_close",
            Self::Stat { .. } => "stat",
            Self::LookupMissing { .. } => "lookup_missing",
            Self::Neighbour { .. } => "neighbour",
            Self::List { .. } => "list",
            Self::Walk { .. } => "walk",
            Self::CopyIn => "copy_in",
            Self::CopyOut => "copy_out",
            Self::SaveOffice => "save_office",
        }
    }

    /// Returns the action's parameters by name, as in a profile.
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

    /// Returns the kinds of the action's requests, in the order in which they are
    /// sent when all succeed.
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
            Self::Watch { .. } => &[K::Watch, K::Cancel],
            Self::CopyChunk => &[K::Create, K::CopyChunk, K::Close],
            Self::QueryInterfaces => &[K::QueryInterfaces],
            Self::ValidateNegotiate => &[K::ValidateNegotiate],
            Self::Echo => &[K::Echo],
            Self::TreeConnect => &[K::TreeConnect, K::TreeDisconnect],
            Self::LogOn => &[K::LogOn, K::LogOff],
            Self::Session => &[K::Session, K::SessionEnd],
            Self::CreateReadClose => &[K::CreateReadClose],
            Self::CreateQueryClose { .. } => &[K::CreateQueryClose],
            Self::CreateSetClose { .. } => &[K::CreateSetClose],
            Self::Stat { .. } => &[K::Stat],
            Self::LookupMissing { .. } => &[K::LookupMissing],
            Self::Neighbour { at, .. } => match at {
                LookedAt::Attributes => &[K::NeighbourLook],
                LookedAt::Data => &[K::NeighbourRead],
            },
            Self::List { .. } => &[K::ListOpen, K::ListFirst, K::ListNext, K::ListClose],
            Self::Walk { .. } => &[K::WalkOpen, K::WalkFirst, K::WalkNext, K::WalkClose],
            Self::CopyIn => &[
                K::CopyInCreate,
                K::CopyInWrite,
                K::CopyInTimes,
                K::CopyInClose,
            ],
            Self::CopyOut => &[K::CopyOutOpen, K::CopyOutRead, K::CopyOutClose],
            Self::SaveOffice => &[
                K::SaveCreate,
                K::SaveWrite,
                K::SaveFlush,
                K::SaveClose,
                K::SaveBackup,
                K::SaveRename,
                K::SaveDelete,
            ],
        }
    }

    /// Returns the kind of the action as a whole, if its requests are its steps.
    #[must_use]
    pub const fn whole(&self) -> Option<OpKind> {
        match self.first().part_of() {
            Some(OpKind::Session) | None => None,
            whole => whole,
        }
    }

    /// Returns the direction in which the action carries a file as a whole, if it does.
    #[must_use]
    pub const fn carries_file(&self) -> Option<Direction> {
        match self.whole() {
            Some(whole) => whole.direction(),
            None => None,
        }
    }

    /// Returns the kind of the action's first request.
    #[must_use]
    pub const fn first(&self) -> OpKind {
        self.kinds()[0]
    }

    /// Returns the range of a file that the action works on.
    #[must_use]
    pub const fn range(&self) -> Range {
        match self {
            Self::Read { .. }
            | Self::Write { .. }
            | Self::WriteFlush
            | Self::CopyChunk
            | Self::CreateReadClose => Range::Request,
            Self::Lock { past_end, .. } => {
                if *past_end {
                    Range::PastEnd
                } else {
                    Range::Request
                }
            }
            Self::Stat { .. } | Self::Neighbour { .. } | Self::CopyOut => Range::WholeFile,
            Self::LookupMissing {
                name: Some(name), ..
            } => name.range(),
            Self::CopyIn | Self::LookupMissing { .. } => Range::NewFile,
            Self::List { .. } => Range::Directory,
            _ => Range::None,
        }
    }
}
