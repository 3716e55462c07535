//! The tree that must exist before a replay, as far as the operations show it.

mod by_name;
mod read_only;

use std::collections::HashMap;
use std::ops::Range;

use serde::Deserialize;
use smbench_model::trace::PreparedName;

use self::read_only::ReadOnlyNames;
use super::effect::is_open_shown;
use super::step::CLOSED_BY_END;
use crate::names::NameTreatment;
use crate::trace::{TraceCreate, TraceLine};

/// The share of named pipes.
pub(super) const PIPES: &str = "IPC$";
/// Bytes of a file that are made even if nobody reads them.
const UNREAD_BYTES_MAX: u64 = 1 << 20;
/// Directories above a name, at most.
const DEPTH_MAX: u32 = 512;
/// The directory of a copy. The number of the copy takes the place of the 1.
pub(super) const COPY: &str = "client1";
/// FILE_DIRECTORY_FILE and FILE_DELETE_ON_CLOSE (MS-SMB2 2.2.13).
const DIRECTORY_FILE: u32 = 1;
const DELETE_ON_CLOSE: u32 = 0x1000;
/// FILE_CREATED (MS-SMB2 2.2.14): the file was not there.
const CREATED: u32 = 2;
/// FILE_OPENED: the file was there, and its size is known.
const OPENED: u32 = 1;

/// A line of `tree.jsonl.gz`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct TreeNode {
    parent: Option<u32>,
    name: String,
    size: Option<u64>,
    directory: Option<bool>,
    listed: bool,
    #[serde(skip)]
    state: NamePresence,
    /// Index among the prepared names.
    #[serde(skip)]
    made: Option<usize>,
    /// The first answer to an operation that found the name.
    #[serde(skip)]
    found_ns: Option<u64>,
}

/// Whether a name exists.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum NamePresence {
    #[default]
    Unknown,
    There,
    Gone,
}

/// The names of a capture, and what operations did to them so far.
pub(super) struct RecordedTree {
    nodes: Vec<TreeNode>,
    prepared: Vec<(String, PreparedName)>,
    /// Opens that delete their file when they are closed.
    deleting: HashMap<u64, bool>,
    pub(super) read_only: ReadOnlyNames,
    /// How the names are written.
    pub(super) names: NameTreatment,
    /// From the request to the answer of the line that is followed.
    line_ns: Range<u64>,
}

impl RecordedTree {
    /// Takes the names of a folder. One that is too deep has no path.
    pub(super) fn new(mut nodes: Vec<TreeNode>) -> Self {
        let mut depths = vec![0; nodes.len()];
        for at in 0..nodes.len() {
            let above = nodes[at]
                .parent
                .map(|parent| (parent as usize).wrapping_sub(1));
            // A parent has a lower number.
            depths[at] = match above {
                None => 1,
                Some(above) if above < at => depths[above] + 1,
                Some(_) => DEPTH_MAX + 1,
            };
            if depths[at] > DEPTH_MAX {
                nodes[at].parent = Some(u32::MAX);
            }
        }
        Self {
            nodes,
            prepared: Vec::new(),
            deleting: HashMap::new(),
            read_only: ReadOnlyNames::default(),
            names: NameTreatment::Hash,
            line_ns: 0..0,
        }
    }

    fn node(&self, number: u32) -> Option<&TreeNode> {
        self.nodes.get((number as usize).checked_sub(1)?)
    }

    fn node_mut(&mut self, number: u32) -> Option<&mut TreeNode> {
        self.nodes.get_mut((number as usize).checked_sub(1)?)
    }

    /// Returns the directory of a name.
    pub(super) fn parent(&self, number: u32) -> Option<u32> {
        self.node(number)?.parent
    }

    /// Returns the share that a path is in.
    pub(super) fn share(&self, number: u32) -> Option<u32> {
        let (mut at, mut node) = (number, self.node(number)?);
        // A parent has a lower number.
        while let Some(above) = node.parent.filter(|&above| above < at) {
            (at, node) = (above, self.node(above)?);
        }
        Some(at)
    }

    /// Returns whether a path is a named pipe.
    pub(super) fn is_pipe(&self, number: u32) -> bool {
        let share = self.share(number).and_then(|share| self.node(share));
        share.is_some_and(|share| share.name == PIPES)
    }

    /// Returns a path below the directory of all copies.
    pub(super) fn path(&self, number: u32) -> Option<String> {
        let node = self.node(number)?;
        let above = match node.parent {
            Some(parent) if parent < number => self.path(parent)?,
            Some(_) => return None,
            None => COPY.to_owned(),
        };
        Some(format!("{above}\\{}", node.name))
    }

    /// Follows an operation: what it found must have been there.
    pub(super) fn follow(&mut self, line: &TraceLine) {
        let (Some(path), Some(status)) = (line.path, line.status.as_deref()) else {
            return;
        };
        self.line_ns = line.at_ns..line.done_ns();
        let is_done = status == "STATUS_SUCCESS";
        self.read_only.follow(line, path, status);
        if let Some(create) = &line.create {
            self.follow_create(line, path, create, status);
            return;
        }
        // An open that was not seen shows that its file was there.
        if line.handle.is_some() && is_open_shown(status) {
            let is_list = matches!(line.command.as_str(), "query_directory" | "change_notify");
            self.found(path, is_list, 0);
        }
        let moved = line.moved.filter(|_| is_done).unwrap_or(0);
        match line.command.as_str() {
            "read" | "cifs_read_andx" => {
                let end = line.offset.unwrap_or(0).saturating_add(moved);
                self.read_to(path, end);
            }
            "close" | "cifs_close" | CLOSED_BY_END => {
                let deletes = line.handle.and_then(|handle| self.deleting.remove(&handle));
                if deletes == Some(true) && is_done {
                    self.vanished(path);
                }
            }
            "set_info" if is_done => self.follow_change(line, path),
            _ if line.handle.is_none() => self.follow_name(line, path, status),
            _ => {}
        }
    }

    fn follow_create(&mut self, line: &TraceLine, path: u32, create: &TraceCreate, status: &str) {
        let is_directory = create.options & DIRECTORY_FILE != 0;
        let is_stream = self.node(path).is_some_and(|node| node.name.contains(':'));
        match status {
            "STATUS_SUCCESS" => {
                let seen = self.node(path).and_then(|node| node.directory);
                let is_directory = seen.unwrap_or(is_directory);
                if create.action == Some(CREATED) {
                    self.created(path);
                } else {
                    let size = create.size.filter(|_| create.action == Some(OPENED));
                    self.found(path, is_directory, size.unwrap_or(0).min(UNREAD_BYTES_MAX));
                }
                if let Some(handle) = line.handle {
                    let deletes = create.options & DELETE_ON_CLOSE != 0;
                    self.deleting.insert(handle, deletes);
                }
            }
            "STATUS_OBJECT_NAME_NOT_FOUND" | "STATUS_NO_SUCH_FILE" => {
                self.parent_found(path);
                self.absent(path);
            }
            "STATUS_OBJECT_PATH_NOT_FOUND" => self.absent(path),
            // Whether it was there is not shown, and not every server has streams.
            _ if is_stream => {}
            "STATUS_FILE_IS_A_DIRECTORY" => self.found(path, true, 0),
            "STATUS_OBJECT_NAME_COLLISION" => {
                let seen = self.node(path).and_then(|node| node.directory);
                self.found(path, seen.unwrap_or(is_directory), 0);
            }
            "STATUS_NOT_A_DIRECTORY"
            | "STATUS_SHARING_VIOLATION"
            | "STATUS_ACCESS_DENIED"
            | "STATUS_DELETE_PENDING" => self.found(path, false, 0),
            _ => {}
        }
    }

    /// Follows a SET_INFO that renames a file, or marks it for deletion.
    fn follow_change(&mut self, line: &TraceLine, path: u32) {
        const RENAME: u32 = 0x010a;
        const DISPOSITION: u32 = 0x010d;
        const DISPOSITION_EX: u32 = 0x0140;
        match (line.level, line.to) {
            (Some(RENAME), Some(to)) => self.renamed(path, to),
            (Some(DISPOSITION | DISPOSITION_EX), _) => {
                if let Some(handle) = line.handle {
                    let deletes = line.value.unwrap_or(1) & 1 != 0;
                    self.deleting.insert(handle, deletes);
                }
            }
            _ => {}
        }
    }

    /// Notes that a name was found. If operations made its directory, it cannot have been
    /// there before them.
    fn found(&mut self, path: u32, is_directory: bool, size: u64) {
        self.parent_found(path);
        let made = self.node(path).and_then(|node| node.made);
        if let (true, Some(place)) = (is_directory, made) {
            self.prepared[place].1 = PreparedName::Directory;
        }
        let done = self.line_ns.end;
        let Some(node) = self.node_mut(path) else {
            return;
        };
        node.found_ns = Some(node.found_ns.map_or(done, |first| first.min(done)));
        // A stream is no directory. Such a name is another name of the directory.
        let is_directory = is_directory || node.directory == Some(true);
        if node.state != NamePresence::Unknown || (is_directory && node.name.contains(':')) {
            return;
        }
        let name = node.name.clone();
        let Some(above) = node.parent else {
            return self.set(path, NamePresence::There);
        };
        let above = self.place_before(above);
        self.set(path, NamePresence::There);
        if let Some(above) = above {
            let made = if is_directory {
                PreparedName::Directory
            } else {
                PreparedName::File(size)
            };
            self.prepared.push((format!("{above}\\{name}"), made));
            let place = self.prepared.len() - 1;
            if let Some(node) = self.node_mut(path) {
                node.made = Some(place);
            }
        }
    }

    /// Returns where a directory was before the capture, if it was there.
    fn place_before(&self, path: u32) -> Option<String> {
        let node = self.node(path)?;
        match (node.parent, node.made) {
            (None, _) => self.path(path),
            // A renamed directory was there under its first name.
            (_, made) => made.map(|place| self.prepared[place].0.clone()),
        }
    }

    fn parent_found(&mut self, path: u32) {
        let parent = self.node(path).and_then(|node| node.parent);
        if let Some(parent) = parent.filter(|&parent| parent < path) {
            self.found(parent, true, 0);
        }
    }

    fn created(&mut self, path: u32) {
        self.parent_found(path);
        let sent = self.line_ns.start;
        let Some(node) = self.node_mut(path) else {
            return;
        };
        node.state = NamePresence::There;
        let found = node.found_ns;
        // Who found it was under way at the same time, and came after this.
        let place = node.made.take().filter(|_| found > Some(sent));
        if let Some(place) = place {
            self.prepared[place].0.clear();
        }
    }

    fn absent(&mut self, path: u32) {
        if self
            .node(path)
            .is_some_and(|node| node.state == NamePresence::Unknown)
        {
            self.set(path, NamePresence::Gone);
        }
    }

    fn vanished(&mut self, path: u32) {
        if let Some(node) = self.node_mut(path) {
            (node.state, node.made) = (NamePresence::Gone, None);
        }
    }

    fn renamed(&mut self, from: u32, to: u32) {
        if from == to {
            return;
        }
        let made = self.node(from).and_then(|node| node.made);
        self.parent_found(to);
        self.set(from, NamePresence::Gone);
        if let Some(node) = self.node_mut(to) {
            (node.state, node.made) = (NamePresence::There, made);
        }
    }

    fn set(&mut self, path: u32, state: NamePresence) {
        if let Some(node) = self.node_mut(path) {
            node.state = state;
        }
    }

    /// Notes that data up to here was read.
    fn read_to(&mut self, path: u32, end: u64) {
        let place = self.node(path).and_then(|node| node.made);
        if let Some(PreparedName::File(size)) = place.map(|place| &mut self.prepared[place].1) {
            *size = end.max(*size);
        }
    }

    /// Returns the names to make, each after its directory. Those that were only listed are
    /// among them.
    pub(super) fn finish(&mut self) -> Vec<(String, PreparedName)> {
        for number in 1..=self.nodes.len() as u32 {
            let Some(node) = self.node(number) else { break };
            if node.listed && node.state == NamePresence::Unknown {
                let is_directory = node.directory == Some(true);
                let size = node.size.unwrap_or(0).min(UNREAD_BYTES_MAX);
                self.found(number, is_directory, size);
            }
        }
        self.prepared.retain(|(name, _)| !name.is_empty());
        std::mem::take(&mut self.prepared)
    }

    /// Returns the directories of the shares in a copy.
    pub(super) fn shares(&self) -> Vec<String> {
        let shares = (1..)
            .zip(&self.nodes)
            .filter(|(_, node)| node.parent.is_none());
        shares.filter_map(|(number, _)| self.path(number)).collect()
    }
}
