//! One file or directory, and the space that all files of a share use.
//!
//! Invariant: the used space is the sum of the lengths of all files that are linked
//! or still open. A node returns its bytes when its last holder drops it.
//!
//! Not here: access checks, and the names that lead to a node.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, RwLock};
use std::time::{SystemTime, UNIX_EPOCH};

use smb_server::{FileInfo, FileTimes, SmbError, SmbResult};

use super::content::{Content, end_of};
use crate::lock::{read, write};

/// Allocation unit of the volume in bytes. Sizes on disk are multiples of it.
pub(super) const CLUSTER_BYTES: u64 = 4096;

/// Time from 1601-01-01 to 1970-01-01 in units of 100 ns (MS-DTYP 2.3.3).
const FILETIME_UNIX_EPOCH: u64 = 116_444_736_000_000_000;

/// The capacity and the used space of a share, in bytes.
#[derive(Debug)]
pub(super) struct Space {
    pub(super) capacity_bytes: u64,
    used_bytes: AtomicU64,
}

impl Space {
    pub(super) fn new(capacity_bytes: u64) -> Self {
        Self {
            capacity_bytes,
            used_bytes: AtomicU64::new(0),
        }
    }

    pub(super) fn used_bytes(&self) -> u64 {
        self.used_bytes.load(Ordering::Relaxed)
    }

    fn reserve(&self, bytes: u64) -> SmbResult<()> {
        if bytes == 0 {
            return Ok(());
        }
        let fits = |used: u64| {
            used.checked_add(bytes)
                .filter(|&total| total <= self.capacity_bytes)
        };
        self.used_bytes
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, fits)
            .map(drop)
            .map_err(|_| SmbError::DiskFull)
    }

    fn release(&self, bytes: u64) {
        self.used_bytes.fetch_sub(bytes, Ordering::Relaxed);
    }
}

/// The type of a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NodeKind {
    File,
    Directory,
}

/// One file or directory. Handles keep it alive after it is unlinked.
#[derive(Debug)]
pub(super) struct Node {
    /// Identifies the node within the share, also after a rename. It is never 0.
    pub(super) index: u64,
    pub(super) kind: NodeKind,
    space: Arc<Space>,
    state: RwLock<NodeState>,
}

#[derive(Debug)]
struct NodeState {
    name: String,
    creation_time: u64,
    last_access_time: u64,
    last_write_time: u64,
    change_time: u64,
    is_read_only: bool,
    is_linked: bool,
    /// The file's bytes; always empty in a directory.
    content: Content,
}

impl Node {
    pub(super) fn new(index: u64, name: &str, kind: NodeKind, space: Arc<Space>) -> Self {
        let now = filetime_now();
        Self {
            index,
            kind,
            space,
            state: RwLock::new(NodeState {
                name: name.to_owned(),
                creation_time: now,
                last_access_time: now,
                last_write_time: now,
                change_time: now,
                is_read_only: false,
                is_linked: true,
                content: Content::default(),
            }),
        }
    }

    pub(super) fn is_directory(&self) -> bool {
        self.kind == NodeKind::Directory
    }

    pub(super) fn is_read_only(&self) -> bool {
        read(&self.state).is_read_only
    }

    pub(super) fn is_linked(&self) -> bool {
        read(&self.state).is_linked
    }

    pub(super) fn name(&self) -> String {
        read(&self.state).name.clone()
    }

    pub(super) fn info(&self) -> FileInfo {
        let state = read(&self.state);
        let len_bytes = state.content.len_bytes;
        let mut info = FileInfo::new(state.name.clone());
        info.end_of_file = len_bytes;
        info.allocation_size = len_bytes.div_ceil(CLUSTER_BYTES) * CLUSTER_BYTES;
        info.creation_time = state.creation_time;
        info.last_access_time = state.last_access_time;
        info.last_write_time = state.last_write_time;
        info.change_time = state.change_time;
        info.is_directory = self.is_directory();
        info.read_only = state.is_read_only;
        info.file_index = self.index;
        info
    }

    /// Reads up to `len` bytes from `offset`, none at the end of the file.
    ///
    /// The access time stays unchanged, as on NTFS. Updating it would need an
    /// exclusive lock for every read.
    pub(super) fn read(&self, offset: u64, len: usize) -> SmbResult<Vec<u8>> {
        self.file_only()?;
        Ok(read(&self.state).content.read(offset, len))
    }

    /// Stores `data` at `offset`. Fails with [`SmbError::DiskFull`] without a
    /// change.
    pub(super) fn write(&self, offset: u64, data: &[u8]) -> SmbResult<()> {
        self.file_only()?;
        let mut state = write(&self.state);
        let grown = end_of(offset, data.len())?.saturating_sub(state.content.len_bytes);
        let grown = if data.is_empty() { 0 } else { grown };
        self.space.reserve(grown)?;
        state
            .content
            .write(offset, data)
            .inspect_err(|_| self.space.release(grown))?;
        state.stamp_write();
        Ok(())
    }

    /// Cuts or extends the file to `len_bytes`.
    pub(super) fn set_len(&self, len_bytes: u64) -> SmbResult<()> {
        self.file_only()?;
        let mut state = write(&self.state);
        let before = state.content.len_bytes;
        self.space.reserve(len_bytes.saturating_sub(before))?;
        self.space.release(before.saturating_sub(len_bytes));
        state.content.set_len(len_bytes);
        state.stamp_write();
        Ok(())
    }

    pub(super) fn set_times(&self, times: FileTimes) {
        let mut state = write(&self.state);
        let state = &mut *state;
        for (slot, wanted) in [
            (&mut state.creation_time, times.creation_time),
            (&mut state.last_access_time, times.last_access_time),
            (&mut state.last_write_time, times.last_write_time),
            (&mut state.change_time, times.change_time),
        ] {
            *slot = wanted.unwrap_or(*slot);
        }
    }

    pub(super) fn set_read_only(&self, is_read_only: bool) {
        let mut state = write(&self.state);
        state.is_read_only = is_read_only;
        state.change_time = filetime_now();
    }

    /// Records that an entry of this directory was added, removed or renamed.
    pub(super) fn entries_changed(&self) {
        write(&self.state).stamp_write();
    }

    pub(super) fn renamed(&self, name: &str) {
        let mut state = write(&self.state);
        name.clone_into(&mut state.name);
        state.change_time = filetime_now();
    }

    pub(super) fn unlinked(&self) {
        write(&self.state).is_linked = false;
    }

    fn file_only(&self) -> SmbResult<()> {
        match self.kind {
            NodeKind::File => Ok(()),
            NodeKind::Directory => Err(SmbError::IsDirectory),
        }
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        self.space.release(read(&self.state).content.len_bytes);
    }
}

impl NodeState {
    fn stamp_write(&mut self) {
        let now = filetime_now();
        self.last_write_time = now;
        self.change_time = now;
    }
}

/// Returns the current time in units of 100 ns since 1601 (MS-DTYP 2.3.3).
fn filetime_now() -> u64 {
    let since_1970 = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    FILETIME_UNIX_EPOCH
        + since_1970.as_secs() * 10_000_000
        + u64::from(since_1970.subsec_nanos()) / 100
}
