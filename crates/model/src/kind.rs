//! Kinds of operations, which results distinguish. A kind is an SMB2 command, or
//! one use of a command, that is measured separately. Each kind has a histogram and
//! a table of errors.

mod repeated;

use std::ops::{Deref, DerefMut};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

smbench_protocol::named! {
    /// Kinds of measured operations, in the order of the tables. The names are the
    /// keys in result documents.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
    #[serde(rename_all = "snake_case")]
    pub enum OpKind {
        /// READ.
        Read => "read",
        /// WRITE.
        Write => "write",
        /// FLUSH.
        Flush => "flush",
        /// CREATE.
        Create => "create",
        /// CLOSE.
        Close => "close",
        /// LOCK that locks a range.
        Lock => "lock",
        /// LOCK that unlocks a range.
        Unlock => "unlock",
        /// QUERY_INFO of a file.
        QueryFile => "query_file",
        /// QUERY_INFO of the file system.
        QueryFs => "query_fs",
        /// QUERY_INFO of the security descriptor.
        QuerySecurity => "query_security",
        /// SET_INFO of times, allocation or end of file.
        SetFile => "set_file",
        /// SET_INFO that renames a file.
        Rename => "rename",
        /// SET_INFO that marks a file for deletion.
        Delete => "delete",
        /// SET_INFO of the security descriptor.
        SetSecurity => "set_security",
        /// QUERY_DIRECTORY.
        QueryDirectory => "query_directory",
        /// CHANGE_NOTIFY, until the server confirms that it watches.
        ChangeNotify => "change_notify",
        /// A CHANGE_NOTIFY that is held, from the first change that this run made since to the
        /// notification. It is in no sum.
        Watch => "watch",
        /// CANCEL of a CHANGE_NOTIFY, until the CHANGE_NOTIFY is answered.
        Cancel => "cancel",
        /// IOCTL FSCTL_SRV_COPYCHUNK.
        CopyChunk => "copy_chunk",
        /// IOCTL FSCTL_QUERY_NETWORK_INTERFACE_INFO.
        QueryInterfaces => "query_interfaces",
        /// IOCTL FSCTL_VALIDATE_NEGOTIATE_INFO.
        ValidateNegotiate => "validate_negotiate",
        /// ECHO.
        Echo => "echo",
        /// TREE_CONNECT.
        TreeConnect => "tree_connect",
        /// TREE_DISCONNECT.
        TreeDisconnect => "tree_disconnect",
        /// SESSION_SETUP of a further session, until its TREE_CONNECT is answered.
        LogOn => "log_on",
        /// LOGOFF of a further session.
        LogOff => "log_off",
        /// A connection and a session of its own, from connect until its TREE_CONNECT is
        /// answered.
        Session => "session",
        /// LOGOFF of such a session. Sums over operations leave it out, so that they are
        /// of log-ons.
        SessionEnd => "session_end",
        /// CREATE, READ and CLOSE in one frame.
        CreateReadClose => "create_read_close",
        /// CREATE, QUERY_INFO and CLOSE in one frame.
        CreateQueryClose => "create_query_close",
        /// CREATE, SET_INFO and CLOSE in one frame.
        CreateSetClose => "create_set_close",
        /// CREATE, QUERY_INFO and CLOSE of a file in one frame, as a look at its attributes.
        Stat => "stat",
        /// CREATE of a name that does not exist. OBJECT_NAME_NOT_FOUND is its success.
        LookupMissing => "lookup_missing",
        /// A look at the newest file that another client has copied to the server, until the
        /// server shows it.
        Neighbour => "neighbour",
        /// One look of a `neighbour`: CREATE, QUERY_INFO and CLOSE in one frame.
        NeighbourLook => "neighbour_look",
        /// One look of a `neighbour` that reads: CREATE, READ and CLOSE in one frame.
        NeighbourRead => "neighbour_read",
        /// A whole listing: CREATE of a directory, QUERY_DIRECTORY until there are no more
        /// names, CLOSE. The kinds of its requests follow; the parts of an operation are in no
        /// sum, because the whole is.
        List => "list",
        /// CREATE of the directory of a `list`.
        ListOpen => "list_open",
        /// The first QUERY_DIRECTORY of a `list`.
        ListFirst => "list_first",
        /// A further QUERY_DIRECTORY of a `list`.
        ListNext => "list_next",
        /// CLOSE of the directory of a `list`.
        ListClose => "list_close",
        /// A directory of a tree that is walked: CREATE, QUERY_DIRECTORY until there are no more
        /// names, CLOSE. Its directories follow.
        Walk => "walk",
        /// CREATE of the directory of a `walk`.
        WalkOpen => "walk_open",
        /// The first QUERY_DIRECTORY of a `walk`.
        WalkFirst => "walk_first",
        /// A further QUERY_DIRECTORY of a `walk`.
        WalkNext => "walk_next",
        /// CLOSE of the directory of a `walk`.
        WalkClose => "walk_close",
        /// A listing that a lease on the directory answers from memory, without a request. It
        /// is in no sum, because the server does not see it.
        ListCached => "list_cached",
        /// The break of a lease on a directory, from the first change that this run made
        /// since the lease to the notification. It is in no sum.
        ListBreak => "list_break",
        /// A file that is copied to the server: CREATE, its data, SET_INFO of its times, CLOSE.
        CopyIn => "copy_in",
        /// CREATE of a `copy_in`.
        CopyInCreate => "copy_in_create",
        /// All WRITEs of a `copy_in`.
        CopyInWrite => "copy_in_write",
        /// SET_INFO of times of a `copy_in`.
        CopyInTimes => "copy_in_times",
        /// CLOSE of a `copy_in`.
        CopyInClose => "copy_in_close",
        /// A file that is copied from the server: CREATE, all of its data, CLOSE.
        CopyOut => "copy_out",
        /// CREATE of a `copy_out`.
        CopyOutOpen => "copy_out_open",
        /// All READs of a `copy_out`.
        CopyOutRead => "copy_out_read",
        /// CLOSE of a `copy_out`.
        CopyOutClose => "copy_out_close",
        /// A document that is saved as office programs do: a new file is written and takes the
        /// document's name.
        SaveOffice => "save_office",
        /// CREATE of the new file of a `save_office`.
        SaveCreate => "save_create",
        /// All WRITEs of a `save_office`.
        SaveWrite => "save_write",
        /// FLUSH of a `save_office`.
        SaveFlush => "save_flush",
        /// CLOSE of the new file of a `save_office`.
        SaveClose => "save_close",
        /// The old document gets the name of a backup, in one frame.
        SaveBackup => "save_backup",
        /// The new file gets the name of the document, in one frame.
        SaveRename => "save_rename",
        /// The backup is deleted, in one frame.
        SaveDelete => "save_delete",
        /// Query of a file by its name, in a replay: CREATE, QUERY_INFO and CLOSE in
        /// one frame.
        QueryPath => "query_path",
        /// The first names of a directory, in a replay: CREATE, QUERY_DIRECTORY and
        /// CLOSE in one frame.
        FindFirst => "find_first",
        /// Deletion of a file by its name, in a replay: CREATE and CLOSE in one frame.
        Unlink => "unlink",
        /// Renaming of a file, in a replay: CREATE, SET_INFO and CLOSE in one frame.
        RenamePath => "rename_path",
        /// Creation of a directory, in a replay: CREATE and CLOSE in one frame.
        Mkdir => "mkdir",
        /// Deletion of a directory, in a replay: CREATE and CLOSE in one frame.
        Rmdir => "rmdir",
        /// Listing and deletion of a directory with everything below it, in a replay,
        /// in as many frames as necessary.
        Deltree => "deltree",
        /// FLUSH of a file after the load of a `fileio` test. It comes after the
        /// window, so sums over operations leave it out.
        FinalFlush => "final_flush",
        /// The acknowledgement of an oplock or lease break. The server asks for it, not
        /// the workload, so sums over operations leave it out.
        OplockBreak => "oplock_break",
        /// SESSION_SETUP in a session that the server has let expire, from the answer
        /// that says so to the last one. Sums over operations leave it out too.
        Reauthentication => "reauthentication",
        /// The TCP connection of a `session`. The parts of one are in no sum, because the
        /// whole is.
        SessionConnect => "session_connect",
        /// NEGOTIATE of a `session`.
        SessionNegotiate => "session_negotiate",
        /// All SESSION_SETUP requests of a `session`.
        SessionLogOn => "session_log_on",
        /// TREE_CONNECT of a `session`.
        SessionTreeConnect => "session_tree_connect",
    }
}

/// The direction of application data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// From the server.
    Read,
    /// To the server.
    Write,
}

impl OpKind {
    /// Returns the kind with this key.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }

    /// Returns a number of operations of this kind in words: `4 read`, `4 log-ons`.
    #[must_use]
    pub fn counted(self, count: u64) -> String {
        match (self, count) {
            (Self::Session, 1) => "1 log-on".to_owned(),
            (Self::Session, _) => format!("{count} log-ons"),
            _ => format!("{count} {}", self.name()),
        }
    }

    /// Returns the direction in which this kind carries application data, if it
    /// does. Data that the server itself copies has no direction: throughput is
    /// what clients read and wrote.
    #[inline]
    #[must_use]
    pub const fn direction(self) -> Option<Direction> {
        match self {
            Self::Read | Self::CreateReadClose | Self::CopyOut => Some(Direction::Read),
            Self::Write | Self::CopyIn | Self::SaveOffice => Some(Direction::Write),
            _ => None,
        }
    }

    /// Returns the direction in which a request of this kind carries data, if it does. The
    /// data of a step counts as that of its operation, so [`Self::direction`] has none for it.
    #[inline]
    #[must_use]
    pub const fn transfers(self) -> Option<Direction> {
        match self {
            Self::CopyOutRead => Some(Direction::Read),
            Self::CopyInWrite | Self::SaveWrite => Some(Direction::Write),
            _ => self.direction(),
        }
    }

    /// Whether the workload asks for this kind while the load is on. Sums over
    /// operations leave out the other kinds: those that servers demand, those after the
    /// load, the end of a `session`, the parts of others, and those that no request carries.
    #[inline]
    #[must_use]
    pub const fn is_asked_for(self) -> bool {
        !matches!(
            self,
            Self::FinalFlush
                | Self::OplockBreak
                | Self::Reauthentication
                | Self::SessionEnd
                | Self::ListCached
                | Self::ListBreak
                | Self::Watch
        ) && self.part_of().is_none()
    }

    /// Returns the kind of which this one is a part.
    #[inline]
    #[must_use]
    pub const fn part_of(self) -> Option<Self> {
        Some(match self {
            Self::SessionConnect
            | Self::SessionNegotiate
            | Self::SessionLogOn
            | Self::SessionTreeConnect => Self::Session,
            Self::NeighbourLook | Self::NeighbourRead => Self::Neighbour,
            Self::ListOpen | Self::ListFirst | Self::ListNext | Self::ListClose => Self::List,
            Self::WalkOpen | Self::WalkFirst | Self::WalkNext | Self::WalkClose => Self::Walk,
            Self::CopyInCreate | Self::CopyInWrite | Self::CopyInTimes | Self::CopyInClose => {
                Self::CopyIn
            }
            Self::CopyOutOpen | Self::CopyOutRead | Self::CopyOutClose => Self::CopyOut,
            Self::SaveCreate
            | Self::SaveWrite
            | Self::SaveFlush
            | Self::SaveClose
            | Self::SaveBackup
            | Self::SaveRename
            | Self::SaveDelete => Self::SaveOffice,
            _ => return None,
        })
    }

    /// Whether this kind is a part of a `session`.
    #[inline]
    #[must_use]
    pub const fn is_part_of_session(self) -> bool {
        matches!(self.part_of(), Some(Self::Session))
    }

    /// Whether this kind is a request of an operation of several, which is measured as a whole
    /// too.
    #[inline]
    #[must_use]
    pub const fn is_step(self) -> bool {
        self.part_of().is_some() && !self.is_part_of_session()
    }

    /// Whether this kind is a QUERY_DIRECTORY of a whole listing, which ends with an answer
    /// without names.
    #[must_use]
    pub const fn lists_on(self) -> bool {
        matches!(
            self,
            Self::ListFirst | Self::ListNext | Self::WalkFirst | Self::WalkNext
        )
    }

    #[inline]
    pub(super) const fn index(self) -> usize {
        self as usize
    }
}

/// One value for each kind.
#[derive(Clone, Debug)]
pub(super) struct ByKind<T>([T; OpKind::ALL.len()]);

impl<T: Default> Default for ByKind<T> {
    fn default() -> Self {
        Self(std::array::from_fn(|_| T::default()))
    }
}

impl<T> Deref for ByKind<T> {
    type Target = [T; OpKind::ALL.len()];

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

impl<T> DerefMut for ByKind<T> {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_serde_and_distinguished() {
        for (at, kind) in OpKind::ALL.into_iter().enumerate() {
            assert_eq!(kind.index(), at);
            let json = serde_json::to_string(&kind).unwrap();
            assert_eq!(json, format!("\"{}\"", kind.name()));
            assert_eq!(OpKind::named(kind.name()), Some(kind));
        }
        let names: std::collections::HashSet<_> = OpKind::ALL.map(OpKind::name).into();
        assert_eq!(names.len(), OpKind::ALL.len());
    }
}
