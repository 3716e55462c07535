//! The prepared names: the files and directories that must exist before a replay
//! begins. Records open, query or delete them before any record makes them.
//!
//! dbench lets clients create missing files when they open them. Here they exist
//! before the load begins, so that every operation is a recorded one.

use super::PathNumber;

/// The names to make before a client begins. Each comes after its directory.
#[doc(hidden)]
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PreparedNames {
    /// Indices of paths, and what to make.
    pub made: Vec<(PathNumber, PreparedName)>,
    /// Indices of the topmost paths that belong to one client.
    pub own: Vec<PathNumber>,
}

#[doc(hidden)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PreparedName {
    Directory,
    /// A file of this number of bytes.
    File(u64),
}

impl PreparedNames {
    pub(super) fn bytes(&self) -> u64 {
        let bytes = |(_, made): &(PathNumber, PreparedName)| match made {
            PreparedName::Directory => 0,
            PreparedName::File(size) => *size,
        };
        let sum = self.made.iter().map(bytes);
        sum.fold(0, u64::saturating_add)
    }

    pub(super) fn files(&self) -> u32 {
        let files = self.made.iter();
        files
            .filter(|(_, made)| matches!(made, PreparedName::File(_)))
            .count() as u32
    }
}

/// Whether a name exists, as far as the earlier records show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Existence {
    Unknown,
    /// Exists since this record.
    There(u64),
    Gone(u64),
}

/// A name, regardless of case.
#[derive(Clone, Debug)]
pub(super) struct NameNode {
    parent: Option<u32>,
    /// The first path with this name.
    path: PathNumber,
    state: Existence,
    /// The record that deleted this name and everything below it.
    deleted_tree: u64,
    /// Index among the prepared names of the file that has this name now. `None` after the
    /// file was emptied, or deleted and made again.
    made: Option<usize>,
    /// The end of the data read and written since the file was last empty.
    end: u64,
}

/// The name space of a client while its records are read.
#[derive(Clone, Debug, Default)]
pub(super) struct Names {
    nodes: Vec<NameNode>,
    now: u64,
    pub(super) prepared: PreparedNames,
}

impl Names {
    /// Adds a name that has not occurred before.
    pub(super) fn add(&mut self, parent: Option<u32>, path: PathNumber) -> u32 {
        self.nodes.push(NameNode {
            parent,
            path,
            state: Existence::Unknown,
            deleted_tree: 0,
            made: None,
            end: 0,
        });
        (self.nodes.len() - 1) as u32
    }

    /// Forgets everything but the prepared names.
    pub(super) fn forget(&mut self) {
        self.nodes = Vec::new();
    }

    /// Moves to the next record.
    pub(super) const fn pass(&mut self) {
        self.now += 1;
    }

    fn node(&mut self, at: u32) -> &mut NameNode {
        &mut self.nodes[at as usize]
    }

    fn state(&self, at: u32) -> Existence {
        let mut state = self.nodes[at as usize].state;
        let mut above = Some(at);
        while let Some(at) = above {
            let node = &self.nodes[at as usize];
            let since = match state {
                Existence::Unknown => 0,
                Existence::There(since) | Existence::Gone(since) => since,
            };
            if node.deleted_tree > since {
                state = Existence::Gone(node.deleted_tree);
            }
            above = node.parent;
        }
        state
    }

    /// Notes that a name was found, itself or as the directory of another name. If
    /// the records themselves made its directory, the name cannot have existed
    /// before them. Nothing is then made for it, and the replay differs from the
    /// recording there.
    pub(super) fn found(&mut self, at: u32, made: PreparedName) {
        self.parent_found(at);
        match (self.state(at), self.made(at)) {
            (Existence::Unknown, _) => {
                self.appeared(at);
                let NameNode { parent, path, .. } = self.nodes[at as usize];
                if parent.is_none_or(|parent| self.was_there(parent)) {
                    self.prepared.made.push((path, made));
                    let place = self.prepared.made.len() - 1;
                    self.node(at).made = Some(place);
                }
            }
            // A name that contains others is a directory, even if it was taken for
            // a file.
            (_, Some(place)) if made == PreparedName::Directory => {
                self.prepared.made[place].1 = made;
            }
            // The recording does not show how the name came back, perhaps with a
            // renamed directory. It is not the same file as before.
            (Existence::Gone(_), _) => self.appeared(at),
            _ => {}
        }
    }

    /// Notes that a name was opened, or made if it was missing. Unless it is known
    /// to be deleted, it is assumed to have existed with the data read from it.
    pub(super) fn found_or_made(&mut self, at: u32, made: PreparedName) {
        match self.state(at) {
            Existence::Gone(_) => self.created(at),
            Existence::Unknown | Existence::There(_) => self.found(at, made),
        }
    }

    /// Notes that a name was made or emptied. A directory that already exists stays
    /// unchanged, because old loadfiles do not show that making it failed.
    pub(super) fn created(&mut self, at: u32) {
        self.parent_found(at);
        let made = self.made(at).map(|place| self.prepared.made[place].1);
        if made != Some(PreparedName::Directory) {
            self.appeared(at);
        }
    }

    /// Notes that a file was renamed.
    pub(super) fn renamed(&mut self, from: u32, to: u32) {
        // Names that differ only in case are the same name.
        if from == to {
            return;
        }
        let (end, made) = (self.end(from), self.made(from));
        self.vanished(from);
        self.created(to);
        let to = self.node(to);
        (to.end, to.made) = (end, made);
    }

    /// Whether the name is made for a replay under this path.
    fn was_there(&self, at: u32) -> bool {
        let path = self.nodes[at as usize].path;
        self.made(at)
            .is_some_and(|place| self.prepared.made[place].0 == path)
    }

    pub(super) fn parent_found(&mut self, at: u32) {
        if let Some(parent) = self.nodes[at as usize].parent {
            self.found(parent, PreparedName::Directory);
        }
    }

    /// Notes that the name exists from now on, and is empty.
    pub(super) fn appeared(&mut self, at: u32) {
        let now = self.now;
        let node = self.node(at);
        (node.state, node.made, node.end) = (Existence::There(now), None, 0);
    }

    /// Notes that the name and everything below it no longer exist.
    pub(super) fn vanished(&mut self, at: u32) {
        let now = self.now;
        let node = self.node(at);
        (node.state, node.deleted_tree) = (Existence::Gone(now), now);
    }

    /// Notes that data up to `end` could be read. This includes a deleted file that
    /// is still open.
    pub(super) fn read_to(&mut self, at: u32, end: u64) {
        let known = self.nodes[at as usize].end;
        if let (Some(place), true) = (self.nodes[at as usize].made, end > known)
            && let PreparedName::File(size) = &mut self.prepared.made[place].1
        {
            *size = end;
        }
        self.written_to(at, end);
    }

    pub(super) fn written_to(&mut self, at: u32, end: u64) {
        let node = self.node(at);
        node.end = node.end.max(end);
    }

    /// Returns its index among the prepared names, if it is still that file.
    pub(super) fn made(&self, at: u32) -> Option<usize> {
        match self.state(at) {
            Existence::There(_) => self.nodes[at as usize].made,
            Existence::Unknown | Existence::Gone(_) => None,
        }
    }

    /// Returns the end of a file, as far as known.
    pub(super) fn end(&self, at: u32) -> u64 {
        self.nodes[at as usize].end
    }
}
