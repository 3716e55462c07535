//! A share whose files are in memory.
//!
//! It stores the data that clients write. Tests can inspect its paths, the
//! content of its files, and the number of operations. On request it fills up,
//! refuses writes or injects faults.
//!
//! Not here: share modes, locks, leases, delete-on-close and access checks of
//! handles. `smb-server` does these above the share, as its documentation states.
//!
//! Invariants: the namespace lock is never held while content is copied, and
//! never taken while a node is locked. No lock is held across an await.

mod content;
mod fault;
mod handle;
mod namespace;
mod node;
mod pattern;
mod queue;
#[cfg(test)]
mod tests;

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, RwLock};

use async_trait::async_trait;
use smb_server::{
    BackendCapabilities, Handle, OpenAction, OpenIntent, OpenOptions, ShareBackend, SmbError,
    SmbPath, SmbResult, VolumeInfo,
};

pub use self::fault::Fault;
use self::handle::MemoryHandle;
use self::namespace::Namespace;
use self::node::{CLUSTER_BYTES, Node, NodeKind, Space};
use self::queue::ServiceQueue;
use crate::lock::{read, write};
use crate::{ServicePace, ShareAccess};

/// Default capacity of a share in bytes: 1 TiB. A benchmark on one machine
/// cannot fill it, and clients still display it sensibly.
pub(crate) const NOMINAL_CAPACITY_BYTES: u64 = 1 << 40;

/// Options of a [`MemoryShare`].
#[derive(Debug, Clone)]
pub(crate) struct MemoryOptions {
    /// Name of the share and of its root.
    pub(crate) name: String,
    /// Capacity for all files together in bytes, including the holes of files.
    /// Further writes fail with `STATUS_DISK_FULL`. `None` means
    /// [`NOMINAL_CAPACITY_BYTES`].
    pub(crate) capacity_bytes: Option<u64>,
    /// The access of clients.
    pub(crate) access: ShareAccess,
    /// The fault that the share injects.
    pub(crate) fault: Fault,
    /// How fast the share serves reads and writes.
    pub(crate) pace: ServicePace,
}

/// The operations that have reached a share.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct MemoryCounts {
    /// Reads that found data. Reads at or after the end of a file do not count.
    pub reads: u64,
    /// Writes of at least one byte, including lost and failed ones.
    pub writes: u64,
    /// Flushes of files and directories.
    pub flushes: u64,
    /// Bytes returned by reads.
    pub bytes_read: u64,
    /// Bytes stored by writes.
    pub bytes_written: u64,
    /// Files and directories opened, including the opens that `smb-server`
    /// makes to check a path.
    pub opens: u64,
    /// Handles that are currently open.
    pub open_handles: u64,
}

/// A share in memory. Its clones are handles to the same share.
#[derive(Debug, Clone)]
pub struct MemoryShare {
    shared: Arc<ShareState>,
}

#[derive(Debug)]
struct ShareState {
    options: MemoryOptions,
    space: Arc<Space>,
    namespace: RwLock<Namespace>,
    counters: OperationCounters,
    queue: Option<ServiceQueue>,
    /// Memory that a fault has left behind.
    leaked: Mutex<Vec<Vec<u8>>>,
}

#[derive(Debug, Default)]
struct OperationCounters {
    reads: AtomicU64,
    writes: AtomicU64,
    flushes: AtomicU64,
    bytes_read: AtomicU64,
    bytes_written: AtomicU64,
    opens: AtomicU64,
    closes: AtomicU64,
}

/// Adds to a counter and returns the new value.
fn count(counter: &AtomicU64, by: u64) -> u64 {
    counter.fetch_add(by, Ordering::Relaxed) + by
}

impl MemoryShare {
    /// Makes an empty share.
    #[must_use]
    pub(crate) fn new(options: MemoryOptions) -> Self {
        let space = Arc::new(Space::new(
            options.capacity_bytes.unwrap_or(NOMINAL_CAPACITY_BYTES),
        ));
        let namespace = Namespace::new(&options.name, Arc::clone(&space));
        Self {
            shared: Arc::new(ShareState {
                queue: ServiceQueue::of(options.pace),
                options,
                space,
                namespace: RwLock::new(namespace),
                counters: OperationCounters::default(),
                leaked: Mutex::default(),
            }),
        }
    }

    /// Returns the name of the share.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.shared.options.name
    }

    /// Returns the operations so far. The numbers are read one after the other,
    /// so under load they may belong to slightly different times.
    #[must_use]
    pub fn counts(&self) -> MemoryCounts {
        let counters = &self.shared.counters;
        let load = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let closes = load(&counters.closes);
        let opens = load(&counters.opens);
        MemoryCounts {
            reads: load(&counters.reads),
            writes: load(&counters.writes),
            flushes: load(&counters.flushes),
            bytes_read: load(&counters.bytes_read),
            bytes_written: load(&counters.bytes_written),
            opens,
            open_handles: opens.saturating_sub(closes),
        }
    }

    /// Returns the capacity of the share in bytes.
    #[must_use]
    pub fn capacity_bytes(&self) -> u64 {
        self.shared.space.capacity_bytes
    }

    /// Returns the bytes that all files hold, including deleted files that are
    /// still open.
    #[must_use]
    pub fn used_bytes(&self) -> u64 {
        self.shared.space.used_bytes()
    }

    /// Returns every path on the share, parents first. Components are separated
    /// by `/`, and directories end with `/`.
    #[must_use]
    pub fn paths(&self) -> Vec<String> {
        read(&self.shared.namespace).paths()
    }

    /// Returns the content of the file at `path`, or `None` if there is no such
    /// file. Components are separated by `/` or `\`.
    #[must_use]
    pub fn contents(&self, path: &str) -> Option<Vec<u8>> {
        let node = read(&self.shared.namespace)
            .find(&path.parse().ok()?)
            .ok()?;
        node.read(0, usize::MAX).ok()
    }

    /// Creates or overwrites the file at `path`, and creates its parent
    /// directories. It is not counted, and the access of clients does not
    /// restrict it.
    ///
    /// # Errors
    /// [`SmbError::NameInvalid`] for a malformed path,
    /// [`SmbError::PathNotFound`] if a component is a file,
    /// [`SmbError::IsDirectory`], and [`SmbError::DiskFull`].
    pub fn put(&self, path: &str, contents: &[u8]) -> SmbResult<()> {
        let path: SmbPath = path.parse()?;
        let node = {
            let mut namespace = write(&self.shared.namespace);
            make_parents(&mut namespace, &path)?;
            match namespace.find(&path) {
                Err(SmbError::NotFound) => namespace.create(&path, NodeKind::File)?,
                found => found?,
            }
        };
        node.set_len(0)?;
        node.write(0, contents)
    }

    fn check_writable(&self) -> SmbResult<()> {
        match self.shared.options.access {
            ShareAccess::ReadWrite => Ok(()),
            ShareAccess::ReadOnly => Err(SmbError::AccessDenied),
        }
    }

    /// Finds or creates the node for an open.
    fn find_or_create(
        &self,
        path: &SmbPath,
        opts: OpenOptions,
    ) -> SmbResult<(Arc<Node>, OpenAction)> {
        if !creates(opts.intent) {
            let node = read(&self.shared.namespace).find(path)?;
            return Ok((node, existing_action(opts.intent)));
        }
        let mut namespace = write(&self.shared.namespace);
        match namespace.find(path) {
            Ok(_) if opts.intent == OpenIntent::Create => Err(SmbError::Exists),
            Ok(node) => Ok((node, existing_action(opts.intent))),
            Err(SmbError::NotFound) => {
                let kind = if opts.directory {
                    NodeKind::Directory
                } else {
                    NodeKind::File
                };
                Ok((namespace.create(path, kind)?, OpenAction::Created))
            }
            Err(error) => Err(error),
        }
    }
}

fn make_parents(namespace: &mut Namespace, path: &SmbPath) -> SmbResult<()> {
    let Some(parent) = path.parent() else {
        return Ok(());
    };
    make_parents(namespace, &parent)?;
    match namespace.find(&parent) {
        Err(SmbError::NotFound) => namespace.create(&parent, NodeKind::Directory).map(drop),
        found => found.map(drop),
    }
}

fn creates(intent: OpenIntent) -> bool {
    matches!(
        intent,
        OpenIntent::Create | OpenIntent::OpenOrCreate | OpenIntent::OverwriteOrCreate
    )
}

fn existing_action(intent: OpenIntent) -> OpenAction {
    match intent {
        OpenIntent::Truncate | OpenIntent::OverwriteOrCreate => OpenAction::Overwritten,
        _ => OpenAction::Opened,
    }
}

/// Checks that the existing `node` may be opened with these options (MS-FSA
/// 2.1.5.1.2).
fn check_existing(node: &Node, opts: OpenOptions, action: OpenAction) -> SmbResult<()> {
    let overwrites = action == OpenAction::Overwritten;
    match node.kind {
        NodeKind::Directory if opts.non_directory || overwrites => Err(SmbError::IsDirectory),
        NodeKind::File if opts.directory => Err(SmbError::NotADirectory),
        NodeKind::File if (opts.write || overwrites) && node.is_read_only() => {
            Err(SmbError::AccessDenied)
        }
        _ => Ok(()),
    }
}

#[async_trait]
impl ShareBackend for MemoryShare {
    async fn open(
        &self,
        path: &SmbPath,
        opts: OpenOptions,
    ) -> SmbResult<(Box<dyn Handle>, OpenAction)> {
        let changes = opts.write || opts.write_attributes || opts.delete_on_close;
        if changes || opts.intent != OpenIntent::Open {
            self.check_writable()?;
        }
        let (node, action) = self.find_or_create(path, opts)?;
        self.shared.options.fault.on_open(&self.shared.leaked);
        if action != OpenAction::Created {
            check_existing(&node, opts, action)?;
        }
        if action == OpenAction::Overwritten {
            node.set_len(0)?;
        }
        let handle = MemoryHandle::new(Arc::clone(&self.shared), node);
        Ok((Box::new(handle), action))
    }

    async fn unlink(&self, path: &SmbPath) -> SmbResult<()> {
        self.check_writable()?;
        write(&self.shared.namespace).unlink(path)
    }

    async fn rename(&self, from: &SmbPath, to: &SmbPath, replace_if_exists: bool) -> SmbResult<()> {
        self.check_writable()?;
        write(&self.shared.namespace).rename(from, to, replace_if_exists)
    }

    fn capabilities(&self) -> BackendCapabilities {
        let mut capabilities = BackendCapabilities::default();
        capabilities.is_read_only = self.shared.options.access == ShareAccess::ReadOnly;
        capabilities.case_sensitive = false;
        capabilities
    }

    async fn volume_info(&self) -> SmbResult<VolumeInfo> {
        let free_bytes = self.capacity_bytes().saturating_sub(self.used_bytes());
        let mut volume = VolumeInfo::default();
        volume.sectors_per_allocation_unit = 1;
        volume.bytes_per_sector = CLUSTER_BYTES as u32;
        volume.total_allocation_units = self.capacity_bytes() / CLUSTER_BYTES;
        volume.caller_available_allocation_units = free_bytes / CLUSTER_BYTES;
        volume.actual_available_allocation_units = free_bytes / CLUSTER_BYTES;
        Ok(volume)
    }
}
