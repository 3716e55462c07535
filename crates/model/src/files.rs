//! The files of a run: their number, sizes and names.

mod names;

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize, Serializer};

use crate::tree::{Children, Tree};

/// Name of the directory in which clients make copies of a tree, inside that of the run.
pub const COPIED_TREES: &str = "copies";

/// One file of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct WorkFile {
    /// The client it belongs to, from 0; 0 for a shared file.
    pub client: u32,
    /// Its index among the client's files, or among the shared ones, from 0.
    pub file: u32,
}

/// A scratch name. It belongs to one slot of one client, so that no other operation
/// uses it at the same time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ScratchName {
    /// A name that is made and removed within one action.
    Temporary,
    /// The new name of a renamed temporary file.
    Renamed,
    /// A file that outlives actions.
    KeptFile,
    /// A directory that outlives actions.
    KeptDirectory,
}

impl ScratchName {
    /// Every kind of scratch name.
    pub const ALL: [Self; 4] = [
        Self::Temporary,
        Self::Renamed,
        Self::KeptFile,
        Self::KeptDirectory,
    ];

    const fn letter(self) -> char {
        match self {
            Self::Temporary => 't',
            Self::Renamed => 'r',
            Self::KeptFile => 'f',
            Self::KeptDirectory => 'd',
        }
    }

    /// Returns the name for slot `slot` of `client`, both from 0, in the target's
    /// folder: `s00001-003-t.tmp`.
    #[must_use]
    pub fn of(self, client: u32, slot: u32) -> String {
        format!("s{client:05}-{slot:03}-{}.tmp", self.letter())
    }

    /// Whether [`ScratchName::of`] makes names like this one, of files and of
    /// directories.
    #[must_use]
    pub fn is_like(name: &str) -> bool {
        let parts = name
            .strip_prefix('s')
            .and_then(|rest| rest.strip_suffix(".tmp"))
            .and_then(|rest| rest.split_once('-'));
        let Some((client, (slot, letter))) =
            parts.and_then(|(client, rest)| Some((client, rest.split_once('-')?)))
        else {
            return false;
        };
        is_number(client)
            && is_number(slot)
            && Self::ALL
                .iter()
                .any(|name| letter.chars().eq([name.letter()]))
    }
}

/// Appends `-f000.dat`, the part of a name after its owner.
fn append_file_part(file: u32, out: &mut impl fmt::Write) -> fmt::Result {
    out.write_str("-f")?;
    append_digits(file, 3, out)?;
    out.write_str(".dat")
}

/// Appends a number with at least `least` digits, in fewer instructions than formatting takes.
fn append_digits(number: u32, least: usize, out: &mut impl fmt::Write) -> fmt::Result {
    let mut digits = [b'0'; 10];
    let (mut first, mut rest) = (digits.len(), number);
    while rest > 0 {
        first -= 1;
        digits[first] = b'0' + (rest % 10) as u8;
        rest /= 10;
    }
    let first = first.min(digits.len() - least);
    digits[first..]
        .iter()
        .try_for_each(|&digit| out.write_char(char::from(digit)))
}

fn is_number(digits: &str) -> bool {
    !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
}

impl FileSet {
    /// Returns the files that `clients` clients work on, client by client.
    pub fn iter(&self, clients: u32) -> impl Iterator<Item = WorkFile> + use<> {
        self.iter_of(0..clients)
    }

    /// Returns the files that these clients work on, and no client before them. It does not
    /// walk the files before them.
    pub fn iter_of(&self, clients: Range<u32>) -> impl Iterator<Item = WorkFile> + use<> {
        let count = self.count;
        let owners = self.owners(clients.start)..self.owners(clients.end);
        owners.flat_map(move |client| (0..count).map(move |file| WorkFile { client, file }))
    }

    /// Returns the bytes of all files of `clients` clients.
    #[must_use]
    pub fn bytes(&self, clients: u32) -> u64 {
        if let Layout::Tree(tree) = &self.layout {
            return if clients == 0 { 0 } else { tree.bytes() };
        }
        u64::from(self.owners(clients))
            .saturating_mul(u64::from(self.count))
            .saturating_mul(self.size)
    }

    /// Returns the path of a file in the directory of the files: `c00001-f000.dat` for a
    /// client's own file, `shared-f000.dat` for a shared one, or the path in a tree.
    #[must_use]
    pub fn file_name(&self, client: u32, file: u32) -> String {
        let mut name = String::new();
        self.append_name(client, file, &mut name)
            .unwrap_or_else(|_| unreachable!("a string takes any text"));
        name
    }

    /// Appends the path that [`FileSet::file_name`] returns.
    ///
    /// # Errors
    /// Only if `out` refuses the text.
    pub fn append_name(&self, client: u32, file: u32, out: &mut impl fmt::Write) -> fmt::Result {
        match (&self.layout, self.scope) {
            (Layout::Tree(tree), _) => tree.append_file(file, out),
            (Layout::Flat, Scope::Private) => {
                out.write_char('c')?;
                append_digits(client, 5, out)?;
                append_file_part(file, out)
            }
            (Layout::Flat, Scope::Shared) => {
                out.write_str("shared")?;
                append_file_part(file, out)
            }
        }
    }

    /// Returns the bytes of a file.
    #[must_use]
    pub fn size_of(&self, file: u32) -> u64 {
        match &self.layout {
            Layout::Flat => self.size,
            Layout::Tree(tree) => tree.size(file),
        }
    }

    /// Returns the number of directories, with the one that all others are in.
    #[must_use]
    pub fn directories(&self) -> u32 {
        match &self.layout {
            Layout::Flat => 1,
            Layout::Tree(tree) => tree.directories(),
        }
    }

    /// Returns the files and the directories in a directory. Flat files are in directory 0.
    #[must_use]
    pub fn children(&self, directory: u32) -> Children {
        match &self.layout {
            Layout::Flat => Children {
                files: 0..self.count,
                directories: 0..0,
            },
            Layout::Tree(tree) => tree.children(directory),
        }
    }

    /// Returns the directory of a file.
    #[must_use]
    pub fn directory_of(&self, file: u32) -> u32 {
        match &self.layout {
            Layout::Flat => 0,
            Layout::Tree(tree) => tree.directory_of(file),
        }
    }

    /// Appends the path of a directory in the directory of the files. That of directory 0 is
    /// empty.
    ///
    /// # Errors
    /// Only if `out` refuses the text.
    pub fn append_directory(&self, directory: u32, out: &mut impl fmt::Write) -> fmt::Result {
        match &self.layout {
            Layout::Flat => Ok(()),
            Layout::Tree(tree) => tree.append_directory(directory, out),
        }
    }

    /// Returns the tree, if the files are in one.
    #[must_use]
    pub fn tree(&self) -> Option<&Arc<Tree>> {
        match &self.layout {
            Layout::Flat => None,
            Layout::Tree(tree) => Some(tree),
        }
    }

    /// Returns the bytes of the file that a client copies to the server as this number.
    #[must_use]
    pub fn copied_size(&self, copy: u32) -> u64 {
        self.size_of(copy % self.count.max(1))
    }

    /// Returns the bytes of a client's first `copies` copies.
    #[must_use]
    pub fn copied_bytes(&self, copies: u64) -> u64 {
        match &self.layout {
            Layout::Flat => copies.saturating_mul(self.size),
            Layout::Tree(tree) => {
                let again = copies.div_ceil(u64::from(self.count.max(1)));
                again.saturating_mul(tree.bytes())
            }
        }
    }

    /// Returns the number of clients with files of their own.
    fn owners(&self, clients: u32) -> u32 {
        match self.scope {
            Scope::Private => clients,
            Scope::Shared => clients.min(1),
        }
    }
}

/// Files on the share.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FileSet {
    /// Whether each client has files of its own.
    pub scope: Scope,
    /// Files per client, or in total when shared.
    pub count: u32,
    /// Bytes in each file; in a tree, in the largest that is possible.
    pub size: u64,
    /// Where the files are.
    #[serde(skip_serializing_if = "Layout::is_flat", rename = "tree")]
    pub layout: Layout,
}

impl From<Arc<Tree>> for FileSet {
    fn from(tree: Arc<Tree>) -> Self {
        Self {
            scope: Scope::Shared,
            count: tree.files(),
            size: tree.largest(),
            layout: Layout::Tree(tree),
        }
    }
}

/// Where the files of a run are. Names and sizes are a function of the number of a file.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Layout {
    /// All are in one directory and have the same size.
    #[default]
    Flat,
    /// They are in a tree of directories, which all clients share.
    Tree(Arc<Tree>),
}

impl Layout {
    const fn is_flat(&self) -> bool {
        matches!(self, Self::Flat)
    }
}

impl Serialize for Layout {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Flat => serializer.serialize_none(),
            Self::Tree(tree) => tree.shape().serialize(serializer),
        }
    }
}

/// Which clients work on a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Scope {
    /// Each client has its own files.
    Private,
    /// All clients work on the same files.
    Shared,
}

#[cfg(test)]
mod tests;
