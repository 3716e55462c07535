//! What is told apart in a result: one kind for each SMB2 command, or use of
//! one, that is measured on its own. Each has a histogram and a table of errors.

use std::ops::{Deref, DerefMut};

use serde::{Deserialize, Serialize};

macro_rules! kinds {
    ($($(#[$doc:meta])+ $kind:ident = $name:literal;)+) => {
        /// Kinds of measured operations.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(rename_all = "snake_case")]
        pub enum OpKind {
            $($(#[$doc])+ $kind,)+
        }

        impl OpKind {
            /// Every kind, in the order tables list them.
            pub const ALL: [Self; [$($name),+].len()] = [$(Self::$kind),+];

            /// The key of this kind in result documents.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$kind => $name,)+
                }
            }
        }
    };
}

kinds! {
    /// READ.
    Read = "read";
    /// WRITE.
    Write = "write";
    /// FLUSH.
    Flush = "flush";
    /// CREATE.
    Create = "create";
    /// CLOSE.
    Close = "close";
    /// LOCK that locks a range.
    Lock = "lock";
    /// LOCK that unlocks a range.
    Unlock = "unlock";
    /// QUERY_INFO about a file.
    QueryFile = "query_file";
    /// QUERY_INFO about the file system.
    QueryFs = "query_fs";
    /// QUERY_INFO for the security descriptor.
    QuerySecurity = "query_security";
    /// SET_INFO of times, allocation or end of file.
    SetFile = "set_file";
    /// SET_INFO of another name.
    Rename = "rename";
    /// SET_INFO of the intent to delete.
    Delete = "delete";
    /// SET_INFO of the security descriptor.
    SetSecurity = "set_security";
    /// QUERY_DIRECTORY.
    QueryDirectory = "query_directory";
    /// CHANGE_NOTIFY, until the server says that it watches.
    ChangeNotify = "change_notify";
    /// CANCEL of a CHANGE_NOTIFY, until that one is answered.
    Cancel = "cancel";
    /// IOCTL FSCTL_SRV_COPYCHUNK.
    CopyChunk = "copy_chunk";
    /// IOCTL FSCTL_QUERY_NETWORK_INTERFACE_INFO.
    QueryInterfaces = "query_interfaces";
    /// IOCTL FSCTL_VALIDATE_NEGOTIATE_INFO.
    ValidateNegotiate = "validate_negotiate";
    /// ECHO.
    Echo = "echo";
    /// TREE_CONNECT.
    TreeConnect = "tree_connect";
    /// TREE_DISCONNECT.
    TreeDisconnect = "tree_disconnect";
    /// SESSION_SETUP of a further session, until its TREE_CONNECT is answered.
    LogOn = "log_on";
    /// LOGOFF of that session.
    LogOff = "log_off";
    /// CREATE, READ and CLOSE in one frame.
    CreateReadClose = "create_read_close";
    /// CREATE, QUERY_INFO and CLOSE in one frame.
    CreateQueryClose = "create_query_close";
    /// CREATE, SET_INFO and CLOSE in one frame.
    CreateSetClose = "create_set_close";
    /// QUERY_INFO about a file by its name, in a replay: CREATE, QUERY_INFO and
    /// CLOSE in one frame.
    QueryPath = "query_path";
    /// The first names of a directory, in a replay: CREATE, QUERY_DIRECTORY and
    /// CLOSE in one frame.
    FindFirst = "find_first";
    /// A file deleted by its name, in a replay: CREATE and CLOSE in one frame.
    Unlink = "unlink";
    /// Another name for a file, in a replay: CREATE, SET_INFO and CLOSE in one
    /// frame.
    RenamePath = "rename_path";
    /// A directory made, in a replay: CREATE and CLOSE in one frame.
    Mkdir = "mkdir";
    /// A directory deleted, in a replay: CREATE and CLOSE in one frame.
    Rmdir = "rmdir";
    /// A directory listed and deleted with all that is in it, in a replay: as
    /// many frames as that takes.
    Deltree = "deltree";
    /// FLUSH of a file when the load of a `fileio` test is over. As it comes after
    /// the window it is in no sum over operations.
    FinalFlush = "final_flush";
    /// The acknowledgement of an oplock or lease break. The server asks for
    /// it, not the workload, so that it is in no sum over operations.
    OplockBreak = "oplock_break";
    /// SESSION_SETUP in a session that the server has let expire, from the
    /// answer that says so to the last one. In no sum over operations either.
    Reauthentication = "reauthentication";
}

/// Which way the data of an application goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// From the server.
    Read,
    /// To the server.
    Write,
}

impl OpKind {
    /// The kind with this key.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }

    /// Which way this kind carries application data, if it does. What the
    /// server copies by itself goes neither way: throughput is what clients
    /// read and wrote.
    #[must_use]
    pub const fn direction(self) -> Option<Direction> {
        match self {
            Self::Read | Self::CreateReadClose => Some(Direction::Read),
            Self::Write => Some(Direction::Write),
            _ => None,
        }
    }

    /// Whether the workload asks for it while the load is on: what servers demand,
    /// and what comes after, is in no sum over operations.
    #[must_use]
    pub const fn is_asked_for(self) -> bool {
        !matches!(
            self,
            Self::FinalFlush | Self::OplockBreak | Self::Reauthentication
        )
    }

    pub(super) const fn index(self) -> usize {
        self as usize
    }
}

/// One of something for each kind.
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
    fn names_are_those_of_serde_and_told_apart() {
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
