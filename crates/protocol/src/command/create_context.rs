//! Create contexts (MS-SMB2 2.2.13.2, 2.2.14.2): what a CREATE asks for beyond
//! its fixed fields, and what of it the server granted.
//!
//! Contexts that nobody here asks for are passed over in answers. Not here:
//! extended attributes, security descriptors, snapshots, application instances.

use super::lease::{LeaseKey, LeaseState};
use super::{FileId, FileTime};
use crate::header::HEADER_LEN;
use crate::wire::{DecodeError, Reader};

/// SMB2_DHANDLE_FLAG_PERSISTENT: the handle shall outlive the server (MS-SMB2
/// 2.2.13.2.11).
pub const PERSISTENT: u32 = 0x0000_0002;

/// SMB2_LEASE_FLAG_BREAK_IN_PROGRESS in a granted lease (MS-SMB2 2.2.14.2.10).
pub const BREAK_IN_PROGRESS: u32 = 0x0000_0002;
/// SMB2_LEASE_FLAG_PARENT_LEASE_KEY_SET, in a V2 lease asked for and granted.
const PARENT_KEY_SET: u32 = 0x0000_0004;

/// Bytes before a context's data: fixed part, name of four bytes, padding.
const DATA_AT: usize = 24;
const LEASE_V1_LEN: usize = 32;
/// Of all data here, the longest.
const LEASE_V2_LEN: usize = 52;

/// One thing more that a CREATE asks for. Each kind once at most.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CreateContext {
    /// A lease, `RqLs` (2.2.13.2.8): SMB 2.1 and later. The CREATE's oplock
    /// level is [`Lease`](super::create::OplockLevel::Lease) then.
    Lease {
        /// The lease.
        key: LeaseKey,
        /// What to cache.
        state: LeaseState,
    },
    /// A lease of SMB 3, `RqLs` (2.2.13.2.10), which counts its changes.
    LeaseV2 {
        /// The lease.
        key: LeaseKey,
        /// What to cache.
        state: LeaseState,
        /// The lease on the directory the file lies in, where there is one.
        parent: Option<LeaseKey>,
        /// The client's count of changes.
        epoch: u16,
    },
    /// A handle that survives a lost connection, `DHnQ` (2.2.13.2.3). Needs a
    /// batch oplock or a lease with handle caching.
    Durable,
    /// Such a handle back, `DHnC` (2.2.13.2.4).
    DurableReconnect(FileId),
    /// A durable handle of SMB 3, `DH2Q` (2.2.13.2.11).
    DurableV2 {
        /// How long the server shall keep it, in milliseconds; zero leaves
        /// that to the server.
        timeout_ms: u32,
        /// Zero or [`PERSISTENT`].
        flags: u32,
        /// Names this CREATE, so that it can be repeated.
        create_guid: [u8; 16],
    },
    /// Such a handle back, `DH2C` (2.2.13.2.12).
    DurableReconnectV2 {
        /// The handle.
        file_id: FileId,
        /// The name its CREATE had.
        create_guid: [u8; 16],
        /// Zero or [`PERSISTENT`].
        flags: u32,
    },
    /// What the user may do with the file, `MxAc` (2.2.13.2.5).
    MaximalAccess {
        /// Asks only if the file has changed since.
        since: Option<FileTime>,
    },
    /// The file's number on its volume, `QFid` (2.2.13.2.9).
    QueryOnDiskId,
    /// How large a new file will get, in bytes, `AlSi` (2.2.13.2.6).
    AllocationSize(u64),
}

impl CreateContext {
    /// Appends them all, each but the last padded to 8 bytes; how long they
    /// are together.
    pub(super) fn encode_all(contexts: &[Self], out: &mut Vec<u8>) -> u32 {
        let start = out.len();
        let mut latest = start;
        for (n, context) in contexts.iter().enumerate() {
            if n > 0 {
                let next = (out.len() - latest).next_multiple_of(8);
                out.resize(latest + next, 0);
                out[latest..latest + 4].copy_from_slice(&(next as u32).to_le_bytes());
                latest += next;
            }
            context.encode(out);
        }
        // None is longer than 80 bytes, and there are nine kinds.
        (out.len() - start) as u32
    }

    /// Appends one, whose Next stays zero.
    fn encode(&self, out: &mut Vec<u8>) {
        let mut context = [0u8; DATA_AT + LEASE_V2_LEN];
        let (fixed, data) = context.split_at_mut(DATA_AT);
        let (name, len) = self.fill(data);
        fixed[4..6].copy_from_slice(&16u16.to_le_bytes());
        fixed[6..8].copy_from_slice(&4u16.to_le_bytes());
        fixed[10..12].copy_from_slice(&(DATA_AT as u16).to_le_bytes());
        fixed[12..16].copy_from_slice(&(len as u32).to_le_bytes());
        fixed[16..20].copy_from_slice(name);
        out.extend_from_slice(&context[..DATA_AT + len]);
    }

    /// Writes the data to the zeroed place for it; its name and length.
    fn fill(&self, data: &mut [u8]) -> (&'static [u8; 4], usize) {
        let mut at = 0;
        let mut put = |bytes: &[u8]| {
            data[at..at + bytes.len()].copy_from_slice(bytes);
            at += bytes.len();
        };
        let name = match self {
            Self::Lease { key, state } => {
                put(&key.0);
                put(&state.0.to_le_bytes());
                put(&[0; 12]);
                b"RqLs"
            }
            Self::LeaseV2 {
                key,
                state,
                parent,
                epoch,
            } => {
                let flags = parent.map_or(0, |_| PARENT_KEY_SET);
                put(&key.0);
                put(&state.0.to_le_bytes());
                put(&flags.to_le_bytes());
                put(&[0; 8]);
                put(&parent.unwrap_or_default().0);
                put(&epoch.to_le_bytes());
                put(&[0; 2]);
                b"RqLs"
            }
            Self::Durable => {
                put(&[0; 16]);
                b"DHnQ"
            }
            Self::DurableReconnect(file_id) => {
                put(&file_id.to_bytes());
                b"DHnC"
            }
            Self::DurableV2 {
                timeout_ms,
                flags,
                create_guid,
            } => {
                put(&timeout_ms.to_le_bytes());
                put(&flags.to_le_bytes());
                put(&[0; 8]);
                put(create_guid);
                b"DH2Q"
            }
            Self::DurableReconnectV2 {
                file_id,
                create_guid,
                flags,
            } => {
                put(&file_id.to_bytes());
                put(create_guid);
                put(&flags.to_le_bytes());
                b"DH2C"
            }
            Self::MaximalAccess { since } => {
                if let Some(since) = since {
                    put(&since.0.to_le_bytes());
                }
                b"MxAc"
            }
            Self::QueryOnDiskId => b"QFid",
            Self::AllocationSize(bytes) => {
                put(&bytes.to_le_bytes());
                b"AlSi"
            }
        };
        (name, at)
    }
}

/// What the server granted of the contexts asked for; of a kind that comes
/// twice, the last.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GrantedContexts {
    /// The lease. Without handle caching and the like where it was asked for,
    /// its state says so.
    pub lease: Option<GrantedLease>,
    /// That the handle is durable.
    pub durable: Option<GrantedDurable>,
    /// What the user may do.
    pub maximal_access: Option<MaximalAccess>,
    /// Where the file lies.
    pub disk_id: Option<DiskId>,
}

/// A lease as granted (MS-SMB2 2.2.14.2.10, 2.2.14.2.11).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GrantedLease {
    /// The lease.
    pub key: LeaseKey,
    /// What may be cached.
    pub state: LeaseState,
    /// [`BREAK_IN_PROGRESS`] and whatever else the server says.
    pub flags: u32,
    /// The server's count of changes, of a V2 lease.
    pub epoch: Option<u16>,
}

/// A durable handle as granted (MS-SMB2 2.2.14.2.3, 2.2.14.2.12).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GrantedDurable {
    /// For `DHnQ`.
    V1,
    /// For `DH2Q`.
    V2 {
        /// How long the server keeps the handle, in milliseconds.
        timeout_ms: u32,
        /// Zero or [`PERSISTENT`].
        flags: u32,
    },
}

/// What the user may do with a file (MS-SMB2 2.2.14.2.5).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MaximalAccess {
    /// Whether the server found out; `access` means nothing otherwise.
    pub status: crate::NtStatus,
    /// [`super::create::access`] bits.
    pub access: u32,
}

/// A file's place (MS-SMB2 2.2.14.2.9).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DiskId {
    /// The file's number on its volume.
    pub file: u64,
    /// The volume's number.
    pub volume: u64,
}

impl GrantedContexts {
    /// Reads those of a successful CREATE response in `message`.
    ///
    /// # Errors
    /// When one lies outside the message, they do not follow each other, or
    /// one of these kinds has a length of no version known.
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
        // Offsets in errors go on counting from the message's start.
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
            (b"RqLs" | b"DHnQ" | b"DH2Q" | b"MxAc" | b"QFid", _) => {
                return Err(data.error("create context data length"));
            }
            _ => {}
        }
        Ok(())
    }
}
