//! Values of operation parameters, with the names of MS-SMB2 and MS-FSCC. Profiles
//! and results write them in snake case.
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use smbench_protocol::command::change_notify::completion_filter;
use smbench_protocol::command::create::{attributes, options};

use crate::kind::OpKind;

/// The kind of name that a CREATE of a mix opens. A scratch name belongs to one
/// slot of one client, so that no other operation interferes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CreateSubject {
    /// A file that the client works on.
    WorkFile,
    /// A scratch file.
    ScratchFile,
    /// A scratch directory.
    ScratchDirectory,
}

/// The directory in which a walk begins, or in which a name is looked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TreeRoot {
    /// That of the files of the run, or the root of their tree.
    #[default]
    Files,
    /// That of the target, with whatever is in it. The directory of the run is left out.
    Target,
}

impl TreeRoot {
    pub(super) fn is_files(&self) -> bool {
        *self == Self::Files
    }
}

/// The part of another client's new file that is looked at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LookedAt {
    /// Its attributes.
    #[default]
    Attributes,
    /// Its first data.
    Data,
}

impl LookedAt {
    pub(super) fn is_attributes(&self) -> bool {
        *self == Self::Attributes
    }
}

/// FileAttributes of a new file (MS-FSCC 2.6), as bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[repr(u32)]
pub enum Attribute {
    /// FILE_ATTRIBUTE_HIDDEN.
    Hidden = attributes::FILE_ATTRIBUTE_HIDDEN,
    /// FILE_ATTRIBUTE_SYSTEM.
    System = attributes::FILE_ATTRIBUTE_SYSTEM,
    /// FILE_ATTRIBUTE_ARCHIVE.
    Archive = attributes::FILE_ATTRIBUTE_ARCHIVE,
    /// FILE_ATTRIBUTE_TEMPORARY.
    Temporary = attributes::FILE_ATTRIBUTE_TEMPORARY,
}

/// CreateOptions that state the purpose of an open (MS-SMB2 2.2.13). Options with a
/// parameter of their own are not here. SMB2 servers ignore or refuse the rest. The
/// values are bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[repr(u32)]
pub enum CreateOption {
    /// FILE_SEQUENTIAL_ONLY.
    SequentialOnly = options::FILE_SEQUENTIAL_ONLY,
    /// FILE_RANDOM_ACCESS.
    RandomAccess = options::FILE_RANDOM_ACCESS,
    /// FILE_OPEN_FOR_BACKUP_INTENT.
    BackupIntent = options::FILE_OPEN_FOR_BACKUP_INTENT,
    /// FILE_OPEN_REPARSE_POINT.
    OpenReparsePoint = options::FILE_OPEN_REPARSE_POINT,
    /// FILE_OPEN_NO_RECALL.
    NoRecall = options::FILE_OPEN_NO_RECALL,
}

/// Declares [`QueryClass`], and the kind and the number of each class.
macro_rules! query_classes {
    ($($(#[$doc:meta])+ $class:ident = $kind:ident, $number:literal;)+) => {
        /// The information that a QUERY_INFO asks for (MS-FSCC 2.4, 2.5).
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
        #[serde(rename_all = "snake_case")]
        pub enum QueryClass {
            $($(#[$doc])+ $class,)+
        }

        impl QueryClass {
            /// Every class.
            pub const ALL: [Self; [$($number),+].len()] = [$(Self::$class),+];

            /// Returns the kind under which the request is measured.
            #[must_use]
            pub const fn kind(self) -> OpKind {
                match self {
                    $(Self::$class => OpKind::$kind,)+
                }
            }

            /// Returns the number of the class in a request (MS-FSCC 2.4, 2.5); 0 for
            /// [`Self::Security`], which has none.
            #[must_use]
            pub const fn number(self) -> u8 {
                match self {
                    $(Self::$class => $number,)+
                }
            }
        }
    };
}

query_classes! {
    /// FileBasicInformation.
    Basic = QueryFile, 4;
    /// FileStandardInformation.
    Standard = QueryFile, 5;
    /// FileInternalInformation.
    Internal = QueryFile, 6;
    /// FileEaInformation.
    Ea = QueryFile, 7;
    /// FileAllInformation.
    All = QueryFile, 18;
    /// FileStreamInformation.
    Stream = QueryFile, 22;
    /// FileNetworkOpenInformation.
    NetworkOpen = QueryFile, 34;
    /// FileAttributeTagInformation.
    AttributeTag = QueryFile, 35;
    /// FileFsVolumeInformation.
    FsVolume = QueryFs, 1;
    /// FileFsSizeInformation.
    FsSize = QueryFs, 3;
    /// FileFsDeviceInformation.
    FsDevice = QueryFs, 4;
    /// FileFsAttributeInformation.
    FsAttribute = QueryFs, 5;
    /// FileFsFullSizeInformation.
    FsFullSize = QueryFs, 7;
    /// FileFsSectorSizeInformation.
    FsSectorSize = QueryFs, 11;
    /// Owner, group and DACL.
    Security = QuerySecurity, 0;
}

impl QueryClass {
    /// Returns the class of this kind with this number.
    #[must_use]
    pub fn numbered(kind: OpKind, number: u8) -> Option<Self> {
        let mut all = Self::ALL.into_iter();
        all.find(|class| class.kind() == kind && class.number() == number)
    }
}

/// The information that a SET_INFO changes. The file's size and content stay the
/// same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SetClass {
    /// FileBasicInformation: the time of the last write.
    Basic,
    /// FileAllocationInformation.
    Allocation,
    /// FileEndOfFileInformation.
    EndOfFile,
    /// FileRenameInformation, of a scratch file that is made before and deleted
    /// after it.
    Rename,
    /// FileDispositionInformation, of a scratch file that is made before it.
    Delete,
    /// The DACL, of a scratch file that is made before and deleted after it.
    Security,
}

impl SetClass {
    /// Returns the kind under which the request is measured.
    #[must_use]
    pub const fn kind(self) -> OpKind {
        match self {
            Self::Basic | Self::Allocation | Self::EndOfFile => OpKind::SetFile,
            Self::Rename => OpKind::Rename,
            Self::Delete => OpKind::Delete,
            Self::Security => OpKind::SetSecurity,
        }
    }

    /// Whether the request works on a scratch file that is made for it.
    #[must_use]
    pub const fn is_chain(self) -> bool {
        !matches!(self.kind(), OpKind::SetFile)
    }
}

/// A change that CHANGE_NOTIFY waits for (MS-SMB2 2.2.35), as a bit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[repr(u32)]
pub enum ChangeFilter {
    /// A file is created, deleted or renamed.
    FileName = completion_filter::FILE_NOTIFY_CHANGE_FILE_NAME,
    /// A directory is created, deleted or renamed.
    DirName = completion_filter::FILE_NOTIFY_CHANGE_DIR_NAME,
    /// Attributes change.
    Attributes = completion_filter::FILE_NOTIFY_CHANGE_ATTRIBUTES,
    /// A file's size changes.
    Size = completion_filter::FILE_NOTIFY_CHANGE_SIZE,
    /// The time of the last write changes.
    LastWrite = completion_filter::FILE_NOTIFY_CHANGE_LAST_WRITE,
    /// The time of the last access changes.
    LastAccess = completion_filter::FILE_NOTIFY_CHANGE_LAST_ACCESS,
    /// The time of creation changes.
    Creation = completion_filter::FILE_NOTIFY_CHANGE_CREATION,
    /// Extended attributes change.
    Ea = completion_filter::FILE_NOTIFY_CHANGE_EA,
    /// A security descriptor changes.
    Security = completion_filter::FILE_NOTIFY_CHANGE_SECURITY,
    /// A named stream is created, deleted or renamed.
    StreamName = completion_filter::FILE_NOTIFY_CHANGE_STREAM_NAME,
    /// A named stream's size changes.
    StreamSize = completion_filter::FILE_NOTIFY_CHANGE_STREAM_SIZE,
    /// A named stream is written.
    StreamWrite = completion_filter::FILE_NOTIFY_CHANGE_STREAM_WRITE,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_stands_for_one_class_of_its_kind() {
        for class in QueryClass::ALL {
            let found = QueryClass::numbered(class.kind(), class.number());
            assert_eq!(found, Some(class));
        }
        let fs_size = QueryClass::numbered(OpKind::QueryFs, 3);
        assert_eq!(fs_size, Some(QueryClass::FsSize));
        assert_eq!(QueryClass::numbered(OpKind::QueryFile, 3), None);
    }
}
