//! Create contexts (MS-SMB2 2.2.13.2, 2.2.14.2): requests of a CREATE beyond
//! its fixed fields, and the server's answers to them.
//!
//! Answers to contexts that this crate cannot ask for are ignored.
//!
//! Not here: extended attributes, security descriptors, snapshots, versions of
//! application instances.

mod encode;

use super::lease::{LeaseKey, LeaseState};
use super::{FileId, FileTime};
use crate::dialect::Dialect;
use crate::header::HEADER_LEN;
use crate::wire::{DecodeError, Reader};

/// The command of an `AAPL` context that asks what the server has.
const SERVER_QUERY: u32 = 1;
/// The bit of a query that asks for the capabilities of the server.
const SERVER_CAPS: u64 = 1;
/// The capability of both sides to have file details in listings.
const SUPPORTS_READ_DIR_ATTR: u64 = 1;

const LEASE_V1_LEN: usize = 32;
/// Length of a V2 lease, the longest data of all contexts here.
const LEASE_V2_LEN: usize = 52;

/// A create context to send with a CREATE. Each kind may occur once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CreateContext {
    /// Asks for a lease, `RqLs` (2.2.13.2.8), in SMB 2.1 and later. The CREATE's
    /// oplock level must be [`Lease`](super::create::OplockLevel::Lease).
    Lease {
        /// Key of the lease.
        key: LeaseKey,
        /// The caching to ask for.
        state: LeaseState,
    },
    /// Asks for a V2 lease, `RqLs` (2.2.13.2.10), in SMB 3. It counts its changes.
    LeaseV2 {
        /// Key of the lease.
        key: LeaseKey,
        /// The caching to ask for.
        state: LeaseState,
        /// The lease on the directory that contains the file, if there is one.
        parent: Option<LeaseKey>,
        /// The client's count of changes.
        epoch: u16,
    },
    /// Asks for a handle that survives a lost connection, `DHnQ` (2.2.13.2.3).
    /// It needs a batch oplock or a lease with handle caching.
    Durable,
    /// Takes back a durable handle, `DHnC` (2.2.13.2.4).
    DurableReconnect(FileId),
    /// Asks for a durable handle of SMB 3, `DH2Q` (2.2.13.2.11).
    DurableV2 {
        /// How long the server should keep the handle, in milliseconds. With
        /// zero the server decides.
        timeout_ms: u32,
        /// Zero or SMB2_DHANDLE_FLAG_PERSISTENT (2).
        flags: u32,
        /// Identifies this CREATE, so that it can be repeated.
        create_guid: [u8; 16],
    },
    /// Takes back a durable handle of SMB 3, `DH2C` (2.2.13.2.12).
    DurableReconnectV2 {
        /// Id of the handle.
        file_id: FileId,
        /// The GUID of the CREATE that opened it.
        create_guid: [u8; 16],
        /// Zero or SMB2_DHANDLE_FLAG_PERSISTENT (2).
        flags: u32,
    },
    /// Names the instance of an application that opens the file (2.2.13.2.13), in SMB 3. The
    /// server closes an open of the file by the same instance under another client GUID.
    AppInstanceId([u8; 16]),
    /// Asks for the user's access rights to the file, `MxAc` (2.2.13.2.5).
    MaximalAccess {
        /// Asks only if the file has changed since this time.
        since: Option<FileTime>,
    },
    /// Asks for the file's number on its volume, `QFid` (2.2.13.2.9).
    QueryOnDiskId,
    /// States the future size of a new file in bytes, `AlSi` (2.2.13.2.6).
    AllocationSize(u64),
    /// Asks for what a Mac shows of a file in the listings of the session, `AAPL`. Samba
    /// documents the answer in vfs_fruit(8).
    AppleServerQuery,
}

impl CreateContext {
    /// Asks for a lease, in the version of the dialect.
    #[must_use]
    pub fn lease(dialect: Dialect, key: LeaseKey, state: LeaseState) -> Self {
        if dialect >= Dialect::Smb30 {
            Self::LeaseV2 {
                key,
                state,
                parent: None,
                epoch: 0,
            }
        } else {
            Self::Lease { key, state }
        }
    }
}

/// The server's answers to the contexts that were asked for. If a kind occurs
/// twice, the last one counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GrantedContexts {
    /// The lease. Its state may allow less caching than was asked for.
    pub lease: Option<GrantedLease>,
    /// Set if the handle is durable.
    pub durable: Option<GrantedDurable>,
    /// The user's access rights.
    pub maximal_access: Option<MaximalAccess>,
    /// The numbers of the file and its volume.
    pub disk_id: Option<DiskId>,
    /// Whether listings of the session have what a Mac shows of a file.
    pub apple_listings: bool,
}

/// A granted lease (MS-SMB2 2.2.14.2.10, 2.2.14.2.11).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GrantedLease {
    /// Key of the lease.
    pub key: LeaseKey,
    /// The caching granted.
    pub state: LeaseState,
    /// SMB2_LEASE_FLAG_BREAK_IN_PROGRESS (2) and any other bits from the server.
    pub flags: u32,
    /// The server's count of changes, in a V2 lease.
    pub epoch: Option<u16>,
}

/// A granted durable handle (MS-SMB2 2.2.14.2.3, 2.2.14.2.12).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GrantedDurable {
    /// The answer to `DHnQ`.
    V1,
    /// The answer to `DH2Q`.
    V2 {
        /// How long the server keeps the handle, in milliseconds.
        timeout_ms: u32,
        /// Zero or SMB2_DHANDLE_FLAG_PERSISTENT (2).
        flags: u32,
    },
}

/// The user's access rights to a file (MS-SMB2 2.2.14.2.5).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MaximalAccess {
    /// Whether the server could determine the rights. If not, `access` has no
    /// meaning.
    pub status: crate::NtStatus,
    /// [`super::create::access`] bits.
    pub access: u32,
}

/// A file's place on disk (MS-SMB2 2.2.14.2.9).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DiskId {
    /// The file's number on its volume.
    pub file: u64,
    /// The volume's number.
    pub volume: u64,
}

impl GrantedContexts {
    /// Reads the contexts of a successful CREATE response in `message`.
    ///
    /// # Errors
    /// Returns an error if a context lies outside the message, or the contexts
    /// do not follow each other. Also returns an error if a known kind has a
    /// length of no known version.
    #[inline]
    pub fn decode(message: &[u8]) -> Result<Self, DecodeError> {
        const FIXED: usize = HEADER_LEN + 88;
        let mut reader = Reader::at(message, FIXED - 8);
        let start = reader;
        let offset = reader.u32("CREATE contexts offset")? as usize;
        let len = reader.u32("CREATE contexts length")? as usize;
        let mut granted = Self::default();
        if len == 0 {
            return Ok(granted);
        }
        if offset < FIXED {
            return Err(start.error("CREATE contexts offset"));
        }
        start.slice(offset, len, "CREATE contexts")?;
        // Keep the message's start, because offsets in errors count from it.
        let area = &message[..offset + len];
        let mut at = offset;
        loop {
            let mut reader = Reader::at(area, at);
            let start = reader;
            let next = reader.u32("create context next")? as usize;
            let name_at = usize::from(reader.u16("create context name offset")?);
            let name_len = usize::from(reader.u16("create context name length")?);
            reader.u16("create context reserved")?;
            let data_at = usize::from(reader.u16("create context data offset")?);
            let data_len = reader.u32("create context data length")? as usize;
            let name = start.slice(at + name_at, name_len, "create context name")?;
            let end = start
                .slice(at + data_at, data_len, "create context data")
                .map(|_| at + data_at + data_len)?;
            granted.take(name, Reader::at(&area[..end], at + data_at), data_len)?;
            if next == 0 {
                return Ok(granted);
            }
            if next < 16 || !next.is_multiple_of(8) {
                return Err(start.error("create context next"));
            }
            at += next;
        }
    }

    fn take(
        &mut self,
        name: &[u8],
        mut data: Reader<'_>,
        data_len: usize,
    ) -> Result<(), DecodeError> {
        match (name, data_len) {
            (b"RqLs", LEASE_V1_LEN | LEASE_V2_LEN) => {
                let mut lease = GrantedLease {
                    key: LeaseKey(data.array("granted lease key")?),
                    state: LeaseState(data.u32("granted lease state")?),
                    flags: data.u32("granted lease flags")?,
                    epoch: None,
                };
                if data_len == LEASE_V2_LEN {
                    data.array::<24>("granted lease duration and parent")?;
                    lease.epoch = Some(data.u16("granted lease epoch")?);
                }
                self.lease = Some(lease);
            }
            (b"DHnQ", 8) => self.durable = Some(GrantedDurable::V1),
            (b"DH2Q", 8) => {
                self.durable = Some(GrantedDurable::V2 {
                    timeout_ms: data.u32("durable handle timeout")?,
                    flags: data.u32("durable handle flags")?,
                });
            }
            (b"MxAc", 8) => {
                self.maximal_access = Some(MaximalAccess {
                    status: crate::NtStatus(data.u32("maximal access status")?),
                    access: data.u32("maximal access")?,
                });
            }
            (b"QFid", 32) => {
                self.disk_id = Some(DiskId {
                    file: data.u64("file's number on disk")?,
                    volume: data.u64("volume's number")?,
                });
            }
            (b"AAPL", 16..) => {
                let query = data.u32("AAPL command")?;
                data.u32("AAPL reserved")?;
                let answered = data.u64("AAPL reply bitmap")?;
                if query == SERVER_QUERY && answered & SERVER_CAPS != 0 {
                    let caps = data.u64("AAPL server capabilities")?;
                    self.apple_listings = caps & SUPPORTS_READ_DIR_ATTR != 0;
                }
            }
            (b"RqLs" | b"DHnQ" | b"DH2Q" | b"MxAc" | b"QFid" | b"AAPL", _) => {
                return Err(data.error("create context data length"));
            }
            _ => {}
        }
        Ok(())
    }
}
