//! Lists a tree on a share and compares it with its description.

use std::cell::{Cell, RefCell};
use std::ops::Range;
use std::sync::Arc;

use smbench_model::tree::{Tree, TreeDifference, TreeEntry};
use smbench_protocol::NtStatus;
use smbench_protocol::directory::Entry;

use crate::smb::calls::FileCalls;
use crate::smb::session::SessionError;
use crate::smb::share::ShareSession;
use crate::smb::share::files::join;

/// A tree on a share.
#[derive(Clone)]
pub(super) struct TreeOnShare {
    pub(super) tree: Arc<Tree>,
    /// Path of its root from that of the share.
    pub(super) root: String,
}

impl TreeOnShare {
    /// Returns the path of a file.
    pub(super) fn file(&self, file: u32) -> String {
        let mut path = format!(r"{}\", self.root);
        let appended = self.tree.append_file(file, &mut path);
        appended.unwrap_or_else(|_| unreachable!("a string takes any text"));
        path
    }

    /// Returns the path of a directory.
    pub(super) fn directory(&self, directory: u32) -> String {
        let mut path = String::new();
        let appended = self.tree.append_directory(directory, &mut path);
        appended.unwrap_or_else(|_| unreachable!("a string takes any text"));
        match directory {
            0 => self.root.clone(),
            _ => join(&self.root, &path),
        }
    }

    fn entry(&self, entry: TreeEntry) -> String {
        match entry {
            TreeEntry::File(file) => self.file(file),
            TreeEntry::Directory(directory) => self.directory(directory),
        }
    }
}

/// A set of numbers, one bit each.
pub(super) struct Bits(Vec<u64>);

impl Bits {
    pub(super) fn new(count: usize) -> Self {
        Self(vec![0; count.div_ceil(64)])
    }

    pub(super) fn has(&self, number: usize) -> bool {
        self.0[number / 64] & 1 << (number % 64) != 0
    }

    /// Adds a number. Returns whether it is new.
    pub(super) fn add(&mut self, number: usize) -> bool {
        let is_new = !self.has(number);
        self.0[number / 64] |= 1 << (number % 64);
        is_new
    }
}

/// What a scan has found so far.
pub(super) struct Scan {
    on_share: TreeOnShare,
    /// Files that are complete.
    pub(super) complete: RefCell<Bits>,
    /// Number of directories that were listed.
    pub(super) listed: Cell<u32>,
    /// Numbers of directories and files that are as described.
    pub(super) directories: Cell<u32>,
    pub(super) files: Cell<u32>,
    /// The first difference, and the directory that it is in.
    pub(super) difference: RefCell<Option<(u32, TreeDifference)>>,
    /// The first entry that does not belong to the tree.
    pub(super) foreign: RefCell<Option<String>>,
}

impl Scan {
    pub(super) fn of(on_share: &TreeOnShare) -> Self {
        Self {
            complete: RefCell::new(Bits::new(on_share.tree.files() as usize)),
            on_share: on_share.clone(),
            listed: Cell::default(),
            directories: Cell::default(),
            files: Cell::default(),
            difference: RefCell::default(),
            foreign: RefCell::default(),
        }
    }

    /// Lists these directories. After a difference, later directories are left out if
    /// `stops_early`.
    pub(super) async fn look(
        &self,
        session: &mut ShareSession,
        directories: Range<u32>,
        stops_early: bool,
    ) -> Result<(), SessionError> {
        for directory in directories {
            let before = self.difference.borrow().as_ref().map(|(at, _)| *at);
            if stops_early && before.is_some_and(|before| before < directory) {
                break;
            }
            self.list(session, directory).await?;
            self.listed.set(self.listed.get() + 1);
        }
        Ok(())
    }

    async fn list(&self, session: &mut ShareSession, directory: u32) -> Result<(), SessionError> {
        let path = self.on_share.directory(directory);
        let doing = format!("list directory '{path}'");
        let mut looked = Looked::of(self, directory, path.clone());
        let expected = self.on_share.tree.children(directory).len();
        let listed = session.see_each(&doing, &path, expected, |entry| looked.note(entry));
        match listed.await {
            Ok(()) => {
                self.directories.set(self.directories.get() + 1);
                looked.finish();
                Ok(())
            }
            Err(error) => match error.status() {
                Some(status) if status.leads_nowhere() => {
                    self.differs(directory, TreeDifference::Missing(path));
                    Ok(())
                }
                Some(NtStatus::NOT_A_DIRECTORY) => {
                    self.is_foreign(directory, path);
                    Ok(())
                }
                _ => Err(error),
            },
        }
    }

    fn is_foreign(&self, directory: u32, path: String) {
        self.foreign
            .borrow_mut()
            .get_or_insert_with(|| path.clone());
        self.differs(directory, TreeDifference::Foreign(path));
    }

    /// Notes a difference. The first one counts, in the order of directories.
    fn differs(&self, directory: u32, difference: TreeDifference) {
        let mut first = self.difference.borrow_mut();
        if first.as_ref().is_none_or(|(at, _)| directory < *at) {
            *first = Some((directory, difference));
        }
    }
}

/// The listing of one directory.
struct Looked<'a> {
    scan: &'a Scan,
    directory: u32,
    path: String,
    /// Files, then directories, as they are numbered in the directory.
    found: Bits,
    /// The first file with another size, and that size.
    other_size: Option<(u32, u64)>,
    buffer: String,
}

impl<'a> Looked<'a> {
    fn of(scan: &'a Scan, directory: u32, path: String) -> Self {
        Self {
            found: Bits::new(scan.on_share.tree.children(directory).len()),
            scan,
            directory,
            path,
            other_size: None,
            buffer: String::new(),
        }
    }

    fn note(&mut self, entry: &Entry) {
        let tree = &self.scan.on_share.tree;
        let children = tree.children(self.directory);
        let at = match tree.find(self.directory, &entry.name, &mut self.buffer) {
            Some(TreeEntry::File(file)) if !entry.is_directory => {
                if entry.end_of_file == tree.size(file) {
                    self.scan.complete.borrow_mut().add(file as usize);
                } else {
                    self.other_size.get_or_insert((file, entry.end_of_file));
                }
                (file - children.files.start) as usize
            }
            Some(TreeEntry::Directory(directory)) if entry.is_directory => {
                children.files.len() + (directory - children.directories.start) as usize
            }
            _ => {
                let path = join(&self.path, &entry.name);
                self.scan.is_foreign(self.directory, path);
                return;
            }
        };
        if !self.found.add(at) {
            let twice = TreeDifference::Twice(join(&self.path, &entry.name));
            self.scan.differs(self.directory, twice);
        }
    }

    /// Notes the first entry that is missing or has another size.
    fn finish(self) {
        let on_share = &self.scan.on_share;
        let children = on_share.tree.children(self.directory);
        let mut complete = 0;
        for file in children.files.clone() {
            if self.scan.complete.borrow().has(file as usize) {
                complete += 1;
            }
        }
        self.scan.files.set(self.scan.files.get() + complete);
        let missing = (0..children.len()).find(|&at| !self.found.has(at));
        if let Some(at) = missing {
            let entry = match at.checked_sub(children.files.len()) {
                None => TreeEntry::File(children.files.start + at as u32),
                Some(at) => TreeEntry::Directory(children.directories.start + at as u32),
            };
            let path = on_share.entry(entry);
            self.scan
                .differs(self.directory, TreeDifference::Missing(path));
        }
        if let Some((file, found)) = self.other_size {
            let size = TreeDifference::Size {
                path: on_share.file(file),
                found,
                bytes: on_share.tree.size(file),
            };
            self.scan.differs(self.directory, size);
        }
    }
}
