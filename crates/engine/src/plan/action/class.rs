//! Words that the parameters of operations can be, as MS-SMB2 and MS-FSCC have
//! them. In a profile and a result they are written in snake case.

use serde::{Deserialize, Serialize};

use crate::record::OpKind;

/// What a CREATE of a mix opens. A scratch name belongs to one slot of one
/// client, so that nothing else gets in its way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Subject {
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
    /// Replaces what is there, or makes it.
    Supersede,
    /// Fails where there is nothing.
    Open,
    /// Fails where there is something.
    Create,
    /// Opens, or makes.
    OpenIf,
    /// Empties; fails where there is nothing.
    Overwrite,
    /// Empties, or makes.
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

/// CreateOptions that tell the server what an open is for, beside those that have a
/// parameter of their own (MS-SMB2 2.2.13). The rest are ignored or refused by SMB2
/// servers.
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

/// What a QUERY_INFO asks about (MS-FSCC 2.4, 2.5).
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
    /// What the request is measured as.
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
}

/// What a SET_INFO changes. The file's size and content stay as they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SetClass {
    /// FileBasicInformation: the time of the last write.
    Basic,
    /// FileAllocationInformation.
    Allocation,
    /// FileEndOfFileInformation.
    EndOfFile,
    /// FileRenameInformation, of a scratch file made and deleted around it.
    Rename,
    /// FileDispositionInformation, of a scratch file made before.
    Delete,
    /// The DACL, of a scratch file made and deleted around it.
    Security,
}

impl SetClass {
    /// What the request is measured as.
    #[must_use]
    pub const fn kind(self) -> OpKind {
        match self {
            Self::Basic | Self::Allocation | Self::EndOfFile => OpKind::SetFile,
            Self::Rename => OpKind::Rename,
            Self::Delete => OpKind::Delete,
            Self::Security => OpKind::SetSecurity,
        }
    }

    /// Whether it is done to a scratch file that is made for it.
    #[must_use]
    pub const fn is_chain(self) -> bool {
        !matches!(self.kind(), OpKind::SetFile)
    }
}

/// What a QUERY_DIRECTORY tells of each name (MS-FSCC 2.4).
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
pub enum Change {
    /// A file comes, goes or is renamed.
    FileName,
    /// A directory does.
    DirName,
    /// Attributes.
    Attributes,
    /// A file's size.
    Size,
    /// The time of the last write.
    LastWrite,
    /// The time of the last access.
    LastAccess,
    /// The time of creation.
    Creation,
    /// Extended attributes.
    Ea,
    /// A security descriptor.
    Security,
    /// A named stream comes, goes or is renamed.
    StreamName,
    /// A named stream's size.
    StreamSize,
    /// A named stream is written.
    StreamWrite,
}
