//! Values of operation parameters, with the names of MS-SMB2 and MS-FSCC. Profiles
//! and results write them in snake case.

use serde::{Deserialize, Serialize};

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

/// CreateDisposition (MS-SMB2 2.2.13).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CreateDisposition {
    /// Replaces the file, or creates it.
    Supersede,
    /// Opens; fails if the name does not exist.
    Open,
    /// Creates; fails if the name exists.
    Create,
    /// Opens or creates.
    OpenIf,
    /// Truncates; fails if the name does not exist.
    Overwrite,
    /// Truncates or creates.
    OverwriteIf,
}

/// FileAttributes of a new file (MS-FSCC 2.6).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Attribute {
    /// FILE_ATTRIBUTE_HIDDEN.
    Hidden,
    /// FILE_ATTRIBUTE_SYSTEM.
    System,
    /// FILE_ATTRIBUTE_ARCHIVE.
    Archive,
    /// FILE_ATTRIBUTE_TEMPORARY.
    Temporary,
}

/// CreateOptions that state the purpose of an open (MS-SMB2 2.2.13). Options with a
/// parameter of their own are not here. SMB2 servers ignore or refuse the rest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CreateOption {
    /// FILE_SEQUENTIAL_ONLY.
    SequentialOnly,
    /// FILE_RANDOM_ACCESS.
    RandomAccess,
    /// FILE_OPEN_FOR_BACKUP_INTENT.
    BackupIntent,
    /// FILE_OPEN_REPARSE_POINT.
    OpenReparsePoint,
    /// FILE_OPEN_NO_RECALL.
    NoRecall,
}

/// The information that a QUERY_INFO asks for (MS-FSCC 2.4, 2.5).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum QueryClass {
    /// FileBasicInformation.
    Basic,
    /// FileStandardInformation.
    Standard,
    /// FileInternalInformation.
    Internal,
    /// FileEaInformation.
    Ea,
    /// FileAllInformation.
    All,
    /// FileStreamInformation.
    Stream,
    /// FileNetworkOpenInformation.
    NetworkOpen,
    /// FileAttributeTagInformation.
    AttributeTag,
    /// FileFsVolumeInformation.
    FsVolume,
    /// FileFsSizeInformation.
    FsSize,
    /// FileFsDeviceInformation.
    FsDevice,
    /// FileFsAttributeInformation.
    FsAttribute,
    /// FileFsFullSizeInformation.
    FsFullSize,
    /// FileFsSectorSizeInformation.
    FsSectorSize,
    /// Owner, group and DACL.
    Security,
}

impl QueryClass {
    /// Every class.
    pub const ALL: [Self; 15] = [
        Self::Basic,
        Self::Standard,
        Self::Internal,
        Self::Ea,
        Self::All,
        Self::Stream,
        Self::NetworkOpen,
        Self::AttributeTag,
        Self::FsVolume,
        Self::FsSize,
        Self::FsDevice,
        Self::FsAttribute,
        Self::FsFullSize,
        Self::FsSectorSize,
        Self::Security,
    ];

    /// Returns the kind under which the request is measured.
    #[must_use]
    pub const fn kind(self) -> OpKind {
        match self {
            Self::Basic
            | Self::Standard
            | Self::Internal
            | Self::Ea
            | Self::All
            | Self::Stream
            | Self::NetworkOpen
            | Self::AttributeTag => OpKind::QueryFile,
            Self::FsVolume
            | Self::FsSize
            | Self::FsDevice
            | Self::FsAttribute
            | Self::FsFullSize
            | Self::FsSectorSize => OpKind::QueryFs,
            Self::Security => OpKind::QuerySecurity,
        }
    }

    /// Returns the number of the class in a request (MS-FSCC 2.4, 2.5); 0 for
    /// [`Self::Security`], which has none.
    #[must_use]
    pub const fn number(self) -> u8 {
        match self {
            Self::Basic => 4,
            Self::Standard => 5,
            Self::Internal => 6,
            Self::Ea => 7,
            Self::All => 18,
            Self::Stream => 22,
            Self::NetworkOpen => 34,
            Self::AttributeTag => 35,
            Self::FsVolume => 1,
            Self::FsSize => 3,
            Self::FsDevice => 4,
            Self::FsAttribute => 5,
            Self::FsFullSize => 7,
            Self::FsSectorSize => 11,
            Self::Security => 0,
        }
    }

    /// Returns the class of this kind with this number.
    #[must_use]
    pub fn numbered(kind: OpKind, number: u8) -> Option<Self> {
        let mut all = Self::ALL.into_iter();
        all.find(|class| class.kind() == kind && class.number() == number)
    }
}

/// The information that a SET_INFO changes. The file's size and content stay the
/// same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
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

/// The information that a QUERY_DIRECTORY returns for each name (MS-FSCC 2.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DirectoryClass {
    /// FileDirectoryInformation.
    Directory,
    /// FileFullDirectoryInformation.
    FullDirectory,
    /// FileBothDirectoryInformation.
    BothDirectory,
    /// FileNamesInformation.
    Names,
    /// FileIdBothDirectoryInformation.
    IdBothDirectory,
    /// FileIdFullDirectoryInformation.
    IdFullDirectory,
}

/// A change that CHANGE_NOTIFY waits for (MS-SMB2 2.2.35).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ChangeFilter {
    /// A file is created, deleted or renamed.
    FileName,
    /// A directory is created, deleted or renamed.
    DirName,
    /// Attributes change.
    Attributes,
    /// A file's size changes.
    Size,
    /// The time of the last write changes.
    LastWrite,
    /// The time of the last access changes.
    LastAccess,
    /// The time of creation changes.
    Creation,
    /// Extended attributes change.
    Ea,
    /// A security descriptor changes.
    Security,
    /// A named stream is created, deleted or renamed.
    StreamName,
    /// A named stream's size changes.
    StreamSize,
    /// A named stream is written.
    StreamWrite,
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
