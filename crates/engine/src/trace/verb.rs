//! What a client did, by the verbs of dbench's loadfiles.

use std::fmt;

use crate::record::OpKind;

macro_rules! verbs {
    ($($(#[$doc:meta])+ $verb:ident = $name:literal, $kind:expr;)+) => {
        /// A verb of a loadfile.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(u8)]
        pub enum Verb {
            $($(#[$doc])+ $verb,)+
        }

        impl Verb {
            /// Every verb.
            pub const ALL: [Self; [$($name),+].len()] = [$(Self::$verb),+];

            /// As loadfiles have it.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$verb => $name,)+
                }
            }

            /// What its operations are counted as; `None` where nothing is asked
            /// of the server.
            #[must_use]
            pub const fn kind(self) -> Option<OpKind> {
                match self {
                    $(Self::$verb => $kind,)+
                }
            }
        }
    };
}

verbs! {
    /// Opens or makes a file or a directory: CREATE.
    Create = "NTCreateX", Some(OpKind::Create);
    /// CLOSE.
    Close = "Close", Some(OpKind::Close);
    /// READ.
    Read = "ReadX", Some(OpKind::Read);
    /// WRITE.
    Write = "WriteX", Some(OpKind::Write);
    /// FLUSH.
    Flush = "Flush", Some(OpKind::Flush);
    /// LOCK of a range.
    Lock = "LockX", Some(OpKind::Lock);
    /// LOCK that unlocks a range.
    Unlock = "UnlockX", Some(OpKind::Unlock);
    /// Deletes a file by its name.
    Unlink = "Unlink", Some(OpKind::Unlink);
    /// Gives a file or a directory another name.
    Rename = "Rename", Some(OpKind::RenamePath);
    /// Makes a directory.
    Mkdir = "Mkdir", Some(OpKind::Mkdir);
    /// Deletes a directory that is empty.
    Rmdir = "Rmdir", Some(OpKind::Rmdir);
    /// Deletes a directory and all that is in it.
    Deltree = "Deltree", Some(OpKind::Deltree);
    /// Asks about a file by its name.
    QueryPath = "QUERY_PATH_INFORMATION", Some(OpKind::QueryPath);
    /// QUERY_INFO about a file that is open.
    QueryFile = "QUERY_FILE_INFORMATION", Some(OpKind::QueryFile);
    /// QUERY_INFO about the file system.
    QueryFs = "QUERY_FS_INFORMATION", Some(OpKind::QueryFs);
    /// SET_INFO of a file that is open.
    SetFile = "SET_FILE_INFORMATION", Some(OpKind::SetFile);
    /// Lists the names of a directory that fit a pattern.
    Find = "FIND_FIRST", Some(OpKind::FindFirst);
    /// Nothing for a while.
    Sleep = "Sleep", None;
}

impl Verb {
    /// The verb of this name.
    pub(crate) fn of(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|verb| verb.name() == name)
    }
}

impl fmt::Display for Verb {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}
