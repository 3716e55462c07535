//! The names of a share and their nodes.
//!
//! Names are compared without case and keep their case. The caller holds the
//! lock that makes each call atomic.
//!
//! Invariant: exactly the linked directories have an entry table here. So a
//! path can never lead through a removed directory.
//!
//! Not here: contents and attributes, see [`Node`].

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use smb_server::{SmbError, SmbPath, SmbResult};

use super::node::{Node, NodeKind, Space};
use super::pattern::fold;

/// Entries of one directory, by their lower-case names.
type Entries = BTreeMap<String, Arc<Node>>;

/// The directory tree of one share.
#[derive(Debug)]
pub(super) struct Namespace {
    root: Arc<Node>,
    /// Entry tables, by the index of the directory's node.
    directories: HashMap<u64, Entries>,
    space: Arc<Space>,
    next_index: u64,
}

impl Namespace {
    /// Makes a tree with only its root, which is called `share`.
    pub(super) fn new(share: &str, space: Arc<Space>) -> Self {
        let root = Arc::new(Node::new(1, share, NodeKind::Directory, Arc::clone(&space)));
        Self {
            directories: HashMap::from([(root.index, Entries::new())]),
            root,
            space,
            next_index: 2,
        }
    }

    /// Returns the node at `path`. Fails with [`SmbError::NotFound`] if only the
    /// last component is missing, otherwise with [`SmbError::PathNotFound`].
    pub(super) fn find(&self, path: &SmbPath) -> SmbResult<Arc<Node>> {
        let Some(name) = path.file_name() else {
            return Ok(Arc::clone(&self.root));
        };
        let parent = self.parent(path)?;
        self.child(parent, name).cloned().ok_or(SmbError::NotFound)
    }

    /// Creates a node at `path`, where no node may exist.
    pub(super) fn create(&mut self, path: &SmbPath, kind: NodeKind) -> SmbResult<Arc<Node>> {
        let name = path.file_name().ok_or(SmbError::Exists)?;
        let parent = Arc::clone(self.parent(path)?);
        if self.child(&parent, name).is_some() {
            return Err(SmbError::Exists);
        }
        let node = Arc::new(Node::new(
            self.next_index,
            name,
            kind,
            Arc::clone(&self.space),
        ));
        self.next_index += 1;
        if kind == NodeKind::Directory {
            self.directories.insert(node.index, Entries::new());
        }
        self.insert(&parent, name, Arc::clone(&node));
        Ok(node)
    }

    /// Removes the file or empty directory at `path`.
    pub(super) fn unlink(&mut self, path: &SmbPath) -> SmbResult<()> {
        let name = path.file_name().ok_or(SmbError::AccessDenied)?;
        let node = self.find(path)?;
        if !self.is_empty(&node) {
            return Err(SmbError::NotEmpty);
        }
        let parent = Arc::clone(self.parent(path)?);
        self.directories.remove(&node.index);
        self.remove(&parent, name);
        node.unlinked();
        Ok(())
    }

    /// Moves the node at `from` to `to`. With `replace_if_exists` it replaces
    /// an existing file at `to`, but never a directory.
    pub(super) fn rename(
        &mut self,
        from: &SmbPath,
        to: &SmbPath,
        replace_if_exists: bool,
    ) -> SmbResult<()> {
        let (Some(old_name), Some(new_name)) = (from.file_name(), to.file_name()) else {
            return Err(SmbError::AccessDenied);
        };
        let node = self.find(from)?;
        let source = Arc::clone(self.parent(from)?);
        let target = Arc::clone(self.parent(to)?);
        if self.is_above(&node, to) {
            return Err(SmbError::AccessDenied);
        }
        let existing = self.child(&target, new_name);
        if let Some(existing) = existing.filter(|other| !Arc::ptr_eq(other, &node)) {
            if !replace_if_exists {
                return Err(SmbError::Exists);
            }
            if existing.is_directory() || existing.is_read_only() {
                return Err(SmbError::AccessDenied);
            }
            existing.unlinked();
        }
        self.remove(&source, old_name);
        node.renamed(new_name);
        self.insert(&target, new_name, node);
        Ok(())
    }

    /// Returns the entries of `directory` in the order of their lower-case
    /// names. A removed directory has none.
    pub(super) fn entries(&self, directory: &Node) -> impl Iterator<Item = &Arc<Node>> {
        self.directories
            .get(&directory.index)
            .into_iter()
            .flat_map(Entries::values)
    }

    /// Returns whether `node` has no entries. A file never has any.
    pub(super) fn is_empty(&self, node: &Node) -> bool {
        self.entries(node).next().is_none()
    }

    /// Returns every path below the root, parents first. Components are
    /// separated by `/`, and directories end with `/`.
    pub(super) fn paths(&self) -> Vec<String> {
        let mut paths = Vec::new();
        self.collect_paths(&self.root, "", &mut paths);
        paths
    }

    fn collect_paths(&self, directory: &Node, prefix: &str, paths: &mut Vec<String>) {
        for node in self.entries(directory) {
            let path = format!("{prefix}{}", node.name());
            if node.is_directory() {
                let path = format!("{path}/");
                paths.push(path.clone());
                self.collect_paths(node, &path, paths);
            } else {
                paths.push(path);
            }
        }
    }

    /// Returns the directory of the last component of `path`.
    fn parent(&self, path: &SmbPath) -> SmbResult<&Arc<Node>> {
        let components = path.components();
        let above = components
            .split_last()
            .map_or(components, |(_, above)| above);
        above.iter().try_fold(&self.root, |directory, name| {
            self.child(directory, name)
                .filter(|node| node.is_directory())
                .ok_or(SmbError::PathNotFound)
        })
    }

    fn child(&self, directory: &Node, name: &str) -> Option<&Arc<Node>> {
        self.directories.get(&directory.index)?.get(&fold(name))
    }

    /// Returns whether `path` leads through `node`.
    fn is_above(&self, node: &Arc<Node>, path: &SmbPath) -> bool {
        let mut directory = &self.root;
        for name in path.components() {
            if Arc::ptr_eq(directory, node) {
                return true;
            }
            match self.child(directory, name) {
                Some(next) => directory = next,
                None => return false,
            }
        }
        false
    }

    fn insert(&mut self, directory: &Node, name: &str, node: Arc<Node>) {
        if let Some(entries) = self.directories.get_mut(&directory.index) {
            entries.insert(fold(name), node);
            directory.entries_changed();
        }
    }

    fn remove(&mut self, directory: &Node, name: &str) {
        if let Some(entries) = self.directories.get_mut(&directory.index) {
            entries.remove(&fold(name));
            directory.entries_changed();
        }
    }
}
