//! SMB2 CREATE (MS-SMB2 2.2.13, 2.2.14): opens or creates a file or directory.
//!
//! Not here: create contexts, see [`create_context`](super::create_context). A
//! request takes a list of them. A caller that asked for contexts decodes them
//! separately from the same response.

use serde::{Deserialize, Serialize};

use super::create_context::CreateContext;
use super::name::{self, WireName};
use super::{EncodeError, FileId, FileTimes};
use crate::header::HEADER_LEN;
use crate::wire::{DecodeError, Reader};

/// Length of a CREATE request before its name: header and fixed body, in bytes.
pub const CREATE_REQUEST_FIXED: usize = HEADER_LEN + 56;

/// Bits of [`CreateRequest::desired_access`] (MS-SMB2 2.2.13.1).
#[expect(missing_docs, reason = "the names are those of MS-SMB2 2.2.13.1")]
pub mod access {
    pub const FILE_READ_DATA: u32 = 0x0000_0001;
    pub const FILE_WRITE_DATA: u32 = 0x0000_0002;
    pub const FILE_APPEND_DATA: u32 = 0x0000_0004;
    pub const FILE_READ_EA: u32 = 0x0000_0008;
    pub const FILE_WRITE_EA: u32 = 0x0000_0010;
    pub const FILE_READ_ATTRIBUTES: u32 = 0x0000_0080;
    pub const FILE_WRITE_ATTRIBUTES: u32 = 0x0000_0100;
    pub const DELETE: u32 = 0x0001_0000;
    pub const READ_CONTROL: u32 = 0x0002_0000;
    pub const WRITE_DAC: u32 = 0x0004_0000;
    pub const SYNCHRONIZE: u32 = 0x0010_0000;
    pub const MAXIMUM_ALLOWED: u32 = 0x0200_0000;
    pub const GENERIC_ALL: u32 = 0x1000_0000;

    /// This bit has the value of [`FILE_READ_DATA`]. MS-SMB2 gives it this name for
    /// directories.
    pub const FILE_LIST_DIRECTORY: u32 = FILE_READ_DATA;
}

/// Bits of [`CreateRequest::file_attributes`] and of the attributes in
/// responses (MS-FSCC 2.6).
#[expect(missing_docs, reason = "the names are those of MS-FSCC 2.6")]
pub mod attributes {
    pub const FILE_ATTRIBUTE_READONLY: u32 = 0x0000_0001;
    pub const FILE_ATTRIBUTE_HIDDEN: u32 = 0x0000_0002;
    pub const FILE_ATTRIBUTE_SYSTEM: u32 = 0x0000_0004;
    pub const FILE_ATTRIBUTE_DIRECTORY: u32 = 0x0000_0010;
    pub const FILE_ATTRIBUTE_ARCHIVE: u32 = 0x0000_0020;
    pub const FILE_ATTRIBUTE_NORMAL: u32 = 0x0000_0080;
    pub const FILE_ATTRIBUTE_TEMPORARY: u32 = 0x0000_0100;
    pub const FILE_ATTRIBUTE_REPARSE_POINT: u32 = 0x0000_0400;
}

/// Bits of [`CreateRequest::share_access`] (MS-SMB2 2.2.13).
#[expect(missing_docs, reason = "the names are those of MS-SMB2 2.2.13")]
pub mod share {
    pub const FILE_SHARE_READ: u32 = 0x0000_0001;
    pub const FILE_SHARE_WRITE: u32 = 0x0000_0002;
    pub const FILE_SHARE_DELETE: u32 = 0x0000_0004;

    /// Other opens may read, write and delete the file meanwhile.
    pub const ALL: u32 = FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE;
}

/// Bits of [`CreateRequest::options`] (MS-SMB2 2.2.13).
#[expect(missing_docs, reason = "the names are those of MS-SMB2 2.2.13")]
pub mod options {
    pub const FILE_DIRECTORY_FILE: u32 = 0x0000_0001;
    pub const FILE_WRITE_THROUGH: u32 = 0x0000_0002;
    pub const FILE_SEQUENTIAL_ONLY: u32 = 0x0000_0004;
    pub const FILE_NO_INTERMEDIATE_BUFFERING: u32 = 0x0000_0008;
    pub const FILE_NON_DIRECTORY_FILE: u32 = 0x0000_0040;
    pub const FILE_RANDOM_ACCESS: u32 = 0x0000_0800;
    pub const FILE_DELETE_ON_CLOSE: u32 = 0x0000_1000;
    pub const FILE_OPEN_FOR_BACKUP_INTENT: u32 = 0x0000_4000;
    pub const FILE_OPEN_REPARSE_POINT: u32 = 0x0020_0000;
    pub const FILE_OPEN_NO_RECALL: u32 = 0x0040_0000;
}

/// The action for an existing and for a missing name (MS-SMB2 2.2.13). Profiles and
/// results write it in snake case.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[repr(u32)]
pub enum Disposition {
    /// Replace an existing file; create a missing one.
    Supersede = 0,
    /// Open an existing file; fail if it is missing.
    Open = 1,
    /// Fail if the file exists; create a missing one.
    Create = 2,
    /// Open an existing file; create a missing one.
    OpenIf = 3,
    /// Truncate an existing file; fail if it is missing.
    Overwrite = 4,
    /// Truncate an existing file; create a missing one.
    OverwriteIf = 5,
}

/// The caching that a client asks for or that a server grants (MS-SMB2 2.2.13).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum OplockLevel {
    /// No caching.
    #[default]
    None = 0x00,
    /// Read caching, shared with other clients.
    LevelII = 0x01,
    /// Read and write caching for one client.
    Exclusive = 0x08,
    /// Read, write and handle caching for one client.
    Batch = 0x09,
    /// Caching as the lease context states it.
    Lease = 0xFF,
}

impl OplockLevel {
    const ALL: [Self; 5] = [
        Self::None,
        Self::LevelII,
        Self::Exclusive,
        Self::Batch,
        Self::Lease,
    ];

    /// Returns the level with this wire value.
    #[must_use]
    #[inline]
    pub fn from_wire(value: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|level| *level as u8 == value)
    }
}

/// A request to open or create `name`.
///
/// The impersonation level is always Impersonation, which file servers expect
/// of a user's client. Encoding can fail if the name is text. It cannot fail if
/// the name is a [`WireName`], because that is already encoded.
#[derive(Debug, PartialEq, Eq)]
pub struct CreateRequest<'a, N: ?Sized = str> {
    /// Path below the share, with `\` between its parts and none in front. It
    /// is empty for the share's root, and has at most 32,767 UTF-16 units.
    pub name: &'a N,
    /// [`access`] bits.
    pub desired_access: u32,
    /// [`attributes`] bits for a new file.
    pub file_attributes: u32,
    /// [`share`] bits.
    pub share_access: u32,
    /// The action for an existing and for a missing name.
    pub disposition: Disposition,
    /// [`options`] bits.
    pub options: u32,
    /// The caching to ask for.
    pub oplock: OplockLevel,
    /// The create contexts to send; usually none.
    pub contexts: &'a [CreateContext],
}

impl<N: ?Sized> Clone for CreateRequest<'_, N> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<N: ?Sized> Copy for CreateRequest<'_, N> {}

impl CreateRequest<'_> {
    /// Appends the body to `out`.
    ///
    /// # Errors
    /// Returns an error if the name does not fit its length field. `out` is
    /// unchanged then.
    #[inline]
    pub fn encode(&self, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        let name_len = name::wire_len(self.name)?;
        self.encode_with(name_len, out, |out| name::write(self.name, out));
        Ok(())
    }
}

impl CreateRequest<'_, WireName> {
    /// Appends the body to `out`.
    #[inline]
    pub fn encode(&self, out: &mut Vec<u8>) {
        self.encode_with(self.name.wire_len(), out, |out| {
            out.extend_from_slice(self.name.as_bytes());
        });
    }
}

impl<'a, N: ?Sized> CreateRequest<'a, N> {
    /// Returns a request to open an existing file or directory, without caching.
    /// Others may use it meanwhile.
    #[must_use]
    pub const fn open(name: &'a N, desired_access: u32) -> Self {
        Self {
            name,
            desired_access,
            file_attributes: attributes::FILE_ATTRIBUTE_NORMAL,
            share_access: share::ALL,
            disposition: Disposition::Open,
            options: 0,
            oplock: OplockLevel::None,
            contexts: &[],
        }
    }

    /// Appends the body. `name` must append the `name_len` bytes of the name.
    fn encode_with(&self, name_len: u16, out: &mut Vec<u8>, name: impl FnOnce(&mut Vec<u8>)) {
        let mut body = [0u8; CREATE_REQUEST_FIXED - HEADER_LEN];
        body[0..2].copy_from_slice(&57u16.to_le_bytes());
        body[3] = self.oplock as u8;
        body[4..8].copy_from_slice(&IMPERSONATION.to_le_bytes());
        body[24..28].copy_from_slice(&self.desired_access.to_le_bytes());
        body[28..32].copy_from_slice(&self.file_attributes.to_le_bytes());
        body[32..36].copy_from_slice(&self.share_access.to_le_bytes());
        body[36..40].copy_from_slice(&(self.disposition as u32).to_le_bytes());
        body[40..44].copy_from_slice(&self.options.to_le_bytes());
        body[44..46].copy_from_slice(&(CREATE_REQUEST_FIXED as u16).to_le_bytes());
        body[46..48].copy_from_slice(&name_len.to_le_bytes());
        let start = out.len();
        out.extend_from_slice(&body);
        name(out);
        if !self.contexts.is_empty() {
            let name_end = CREATE_REQUEST_FIXED + usize::from(name_len);
            let at = name_end.next_multiple_of(8);
            out.resize(out.len() + (at - name_end), 0);
            let len = CreateContext::encode_all(self.contexts, out);
            out[start + 48..start + 52].copy_from_slice(&(at as u32).to_le_bytes());
            out[start + 52..start + 56].copy_from_slice(&len.to_le_bytes());
        } else if name_len == 0 {
            // MS-SMB2: "The Buffer field MUST be at least one byte in length."
            out.push(0);
        }
    }
}

/// ImpersonationLevel: Impersonation (MS-SMB2 2.2.13).
const IMPERSONATION: u32 = 2;

/// The result of a successful CREATE.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CreateResponse {
    /// The caching granted.
    pub oplock_level: OplockLevel,
    /// The server's action on the name, as on the wire (MS-SMB2 2.2.14).
    pub create_action: u32,
    /// The file's four times.
    pub times: FileTimes,
    /// Space on the server's disk in bytes.
    pub allocation_size: u64,
    /// File size in bytes.
    pub end_of_file: u64,
    /// [`attributes`] bits.
    pub file_attributes: u32,
    /// The id of the open, for later requests.
    pub file_id: FileId,
}

impl CreateResponse {
    /// Reads the response in `message`. It ignores create contexts; see
    /// [`GrantedContexts`](super::create_context::GrantedContexts).
    ///
    /// # Errors
    /// Returns an error if a field is missing, or if MS-SMB2 does not have the
    /// oplock level.
    #[inline]
    pub fn decode(message: &[u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::at(message, HEADER_LEN);
        reader.structure_size(89, "CREATE response structure size")?;
        let before_oplock = reader;
        let oplock_level = OplockLevel::from_wire(reader.u8("CREATE oplock level")?)
            .ok_or_else(|| before_oplock.error("CREATE oplock level"))?;
        reader.u8("CREATE flags")?;
        let response = Self {
            oplock_level,
            create_action: reader.u32("CREATE action")?,
            times: FileTimes::read(&mut reader, "CREATE times")?,
            allocation_size: reader.u64("CREATE allocation size")?,
            end_of_file: reader.u64("CREATE end of file")?,
            file_attributes: reader.u32("CREATE file attributes")?,
            file_id: {
                reader.u32("CREATE reserved")?;
                FileId::from_bytes(reader.array("CREATE file id")?)
            },
        };
        reader.array::<8>("CREATE contexts offset and length")?;
        Ok(response)
    }
}
