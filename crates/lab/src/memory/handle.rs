//! An open file or directory of a [`MemoryShare`](super::MemoryShare).
//!
//! Counting and fault injection happen here, before the node is accessed.
//!
//! Invariant: a handle holds its node, not its path. So it stays usable after a
//! rename or a delete.

use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use smb_server::{DirEntry, FileInfo, FileTimes, Handle, SmbError, SmbResult};

use super::ShareState;
use super::count;
use super::fault::WriteFate;
use super::node::Node;
use super::pattern::SearchPattern;
use crate::lock::read;

/// File attribute that the share can report (MS-FSCC 2.6).
const FILE_ATTRIBUTE_READONLY: u32 = 0x1;
/// Attribute that every client sets when it writes a file. It is accepted but
/// not stored.
const FILE_ATTRIBUTE_ARCHIVE: u32 = 0x20;

pub(super) struct MemoryHandle {
    shared: Arc<ShareState>,
    node: Arc<Node>,
}

impl MemoryHandle {
    pub(super) fn new(shared: Arc<ShareState>, node: Arc<Node>) -> Self {
        count(&shared.counters.opens, 1);
        Self { shared, node }
    }

    /// Waits until the share has served a read or write.
    async fn wait(&self) {
        if let Some(queue) = &self.shared.queue {
            queue.serve().await;
        }
    }
}

impl Drop for MemoryHandle {
    // This is not in `close`, because the server drops handles without closing
    // them when a task is cancelled.
    fn drop(&mut self) {
        count(&self.shared.counters.closes, 1);
    }
}

#[async_trait]
impl Handle for MemoryHandle {
    async fn read(&self, offset: u64, len: u32) -> SmbResult<Bytes> {
        let mut data = self.node.read(offset, len as usize)?;
        if !data.is_empty() {
            self.wait().await;
            let counters = &self.shared.counters;
            let nth = count(&counters.reads, 1);
            self.shared.options.fault.on_read(nth, &mut data)?;
            count(&counters.bytes_read, data.len() as u64);
        }
        Ok(Bytes::from(data))
    }

    async fn write(&self, offset: u64, data: &[u8]) -> SmbResult<u32> {
        let len = u32::try_from(data.len()).map_err(|_| SmbError::NotSupported)?;
        if len == 0 {
            return Ok(0);
        }
        self.wait().await;
        let counters = &self.shared.counters;
        let nth = count(&counters.writes, 1);
        if self.shared.options.fault.on_write(nth)? == WriteFate::Store {
            self.node.write(offset, data)?;
            count(&counters.bytes_written, u64::from(len));
        }
        Ok(len)
    }

    async fn flush(&self) -> SmbResult<()> {
        count(&self.shared.counters.flushes, 1);
        Ok(())
    }

    async fn stat(&self) -> SmbResult<FileInfo> {
        Ok(self.node.info())
    }

    async fn set_times(&self, times: FileTimes) -> SmbResult<()> {
        self.node.set_times(times);
        Ok(())
    }

    async fn set_attributes(&self, attributes: u32) -> SmbResult<()> {
        if attributes & !(FILE_ATTRIBUTE_READONLY | FILE_ATTRIBUTE_ARCHIVE) != 0 {
            return Err(SmbError::NotSupported);
        }
        self.node
            .set_read_only(attributes & FILE_ATTRIBUTE_READONLY != 0);
        Ok(())
    }

    async fn truncate(&self, len: u64) -> SmbResult<()> {
        self.node.set_len(len)
    }

    async fn list_dir(&self, pattern: Option<&str>) -> SmbResult<Vec<DirEntry>> {
        if !self.node.is_directory() {
            return Err(SmbError::NotADirectory);
        }
        let pattern = SearchPattern::new(pattern);
        let namespace = read(&self.shared.namespace);
        Ok(namespace
            .entries(&self.node)
            .map(|node| node.info())
            .filter(|info| pattern.matches(&info.name))
            .map(|info| DirEntry { info })
            .collect())
    }

    async fn close(self: Box<Self>) -> SmbResult<()> {
        Ok(())
    }

    async fn link_count(&self) -> SmbResult<u32> {
        Ok(u32::from(self.node.is_linked()))
    }

    async fn dir_is_empty(&self) -> SmbResult<bool> {
        Ok(read(&self.shared.namespace).is_empty(&self.node))
    }
}
