//! Verbs: the operations of a recorded client, with the names of dbench's loadfiles.

use std::fmt;

use crate::kind::OpKind;

macro_rules! verbs {
    ($($(#[$doc:meta])+ $verb:ident = $name:literal, $kind:expr;)+) => {
        /// A verb of a loadfile, or an operation that captures have.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(u8)]
        pub enum Verb {
            $($(#[$doc])+ $verb,)+
        }

        impl Verb {
            /// Every verb.
            pub const ALL: [Self; [$($name),+].len()] = [$(Self::$verb),+];

            /// Returns the name in loadfiles.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$verb => $name,)+
                }
            }

            /// Returns the kind under which its operations are counted; `None` for
            /// a verb without a request to the server.
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
    /// Renames a file or a directory.
    Rename = "Rename", Some(OpKind::RenamePath);
    /// Makes a directory.
    Mkdir = "Mkdir", Some(OpKind::Mkdir);
    /// Deletes an empty directory.
    Rmdir = "Rmdir", Some(OpKind::Rmdir);
    /// Deletes a directory and everything below it.
    Deltree = "Deltree", Some(OpKind::Deltree);
    /// Queries a file by its name.
    QueryPath = "QUERY_PATH_INFORMATION", Some(OpKind::QueryPath);
    /// QUERY_INFO of an open file.
    QueryFile = "QUERY_FILE_INFORMATION", Some(OpKind::QueryFile);
    /// QUERY_INFO of the file system.
    QueryFs = "QUERY_FS_INFORMATION", Some(OpKind::QueryFs);
    /// SET_INFO of an open file.
    SetFile = "SET_FILE_INFORMATION", Some(OpKind::SetFile);
    /// Lists the names of a directory that match a pattern.
    Find = "FIND_FIRST", Some(OpKind::FindFirst);
    /// A pause without a request.
    Sleep = "Sleep", None;
    /// QUERY_INFO of the security of an open file.
    QuerySecurity = "QUERY_SECURITY_INFORMATION", Some(OpKind::QuerySecurity);
    /// QUERY_DIRECTORY of an open directory.
    List = "QUERY_DIRECTORY", Some(OpKind::QueryDirectory);
    /// SET_INFO that renames an open file.
    RenameOpen = "RENAME_FILE", Some(OpKind::Rename);
    /// SET_INFO that marks an open file for deletion.
    MarkDeleted = "DELETE_FILE", Some(OpKind::Delete);
    /// SET_INFO of the security of an open file.
    SetSecurity = "SET_SECURITY_INFORMATION", Some(OpKind::SetSecurity);
    /// ECHO.
    Echo = "ECHO", Some(OpKind::Echo);
}

impl Verb {
    /// Returns the verbs that loadfiles have. Captures have others, too.
    pub fn of_loadfiles() -> impl Iterator<Item = Self> {
        Self::ALL.into_iter().filter(|&verb| verb <= Self::Sleep)
    }

    /// Returns the verb of loadfiles with this name.
    #[must_use]
    pub fn of(name: &str) -> Option<Self> {
        Self::of_loadfiles().find(|verb| verb.name() == name)
    }
}

impl fmt::Display for Verb {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}
