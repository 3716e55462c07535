//! Names of users, shares and files: as recorded, or in their place a hash.
//!
//! The key of the hashes comes from the messages of the capture up to the end of the first
//! log-on. They have random numbers of the server. So the same capture gives the same hashes,
//! and nobody without the capture can try names.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use aws_lc_rs::{digest, hmac};
use serde::{Deserialize, Serialize};

use crate::distinct::DistinctCount;

/// Whether names are written as recorded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum NameTreatment {
    /// A hash stands for each name.
    #[default]
    Hash,
    /// Names are written as recorded.
    Keep,
}

/// Names that every share has, and that tell nothing. The last three are of streams
/// (MS-FSCC 2.1.5).
const PUBLIC: [&str; 8] = [
    "",
    ".",
    "..",
    "IPC$",
    "anonymous",
    "$DATA",
    "$I30",
    "$INDEX_ALLOCATION",
];
/// Characters of patterns that stand for others (MS-FSCC 2.1.4.1).
pub(crate) const WILDCARDS: [char; 5] = ['*', '?', '<', '>', '"'];
/// Characters that no name of a file has (MS-FSCC 2.1.5), but for the colon before a stream.
/// They decide how a server answers.
const RESERVED: [char; 7] = ['*', '?', '<', '>', '"', ':', '|'];

/// Digits of the hash of a user or a share.
const DIGITS: usize = 16;
/// The fewest digits of the hash of a file. With fewer, too many names would have the same.
const FILE_DIGITS_MIN: usize = 8;
/// Bytes of messages that the key comes from, at most.
const KEY_BYTES_MAX: usize = 1 << 20;

/// Writes names.
pub(crate) struct NameWriter {
    treatment: NameTreatment,
    /// The messages so far, until there is a key.
    seen: digest::Context,
    seen_bytes: usize,
    key: Option<hmac::Key>,
}

impl NameWriter {
    pub(crate) fn new(treatment: NameTreatment) -> Self {
        Self {
            treatment,
            seen: digest::Context::new(&digest::SHA256),
            seen_bytes: 0,
            key: None,
        }
    }

    pub(crate) const fn treatment(&self) -> NameTreatment {
        self.treatment
    }

    /// Adds a message to what the key comes from, as it was on the wire: keys that open it
    /// change no hash. `is_last` says whether the key needs no further one.
    pub(crate) fn seed(&mut self, message: &[u8], is_last: impl FnOnce() -> bool) {
        if self.key.is_some() {
            return;
        }
        self.seen.update(message);
        self.seen_bytes += message.len();
        if self.seen_bytes >= KEY_BYTES_MAX || is_last() {
            self.key();
        }
    }

    /// Returns the key. From now on it stays the same.
    fn key(&mut self) -> &hmac::Key {
        let seen = &self.seen;
        self.key.get_or_insert_with(|| {
            let seen = seen.clone().finish();
            hmac::Key::new(hmac::HMAC_SHA256, seen.as_ref())
        })
    }

    /// Returns the hash of a name without capital letters.
    fn hash(&mut self, lower: &str) -> [u8; 32] {
        let tag = hmac::sign(self.key(), lower.as_bytes());
        tag.as_ref().first_chunk().copied().unwrap_or_default()
    }

    /// Returns the number that stands for a name below another one, ignoring case. No output
    /// depends on it, so it is found for each part of each path without the key.
    fn number(&mut self, parent: NodeNumber, name: &str) -> u64 {
        // From the first name on, the key stays the same.
        self.key();
        let mut hasher = DefaultHasher::new();
        (parent, name.to_lowercase()).hash(&mut hasher);
        hasher.finish()
    }

    /// Returns the name of a user or a share as it is written.
    pub(crate) fn written(&mut self, name: &str) -> String {
        self.written_as(name, |_| DIGITS)
    }

    /// Returns a name as it is written. `digits` returns the length of its hash, for the length of
    /// the name in units of UTF-16.
    fn written_as(&mut self, name: &str, digits: impl Fn(usize) -> usize) -> String {
        if self.treatment == NameTreatment::Keep || PUBLIC.contains(&name) {
            return name.to_owned();
        }
        let lower = name.to_lowercase();
        let all = self.hash(&lower);
        let all = all.iter().flat_map(|byte| [byte >> 4, byte & 15]);
        let written = all.cycle().take(digits(lower.encode_utf16().count()));
        written
            .filter_map(|digit| char::from_digit(digit.into(), 16))
            .collect()
    }

    /// Returns a pattern as it is written: wildcards stay.
    pub(crate) fn pattern(&mut self, pattern: &str) -> String {
        self.in_parts(pattern, &WILDCARDS)
    }

    /// Returns the name of a file as it is written: a stream of it stays one.
    fn file(&mut self, name: &str) -> String {
        self.in_parts(name, &RESERVED)
    }

    /// Returns a text whose parts between these characters are written as names of files. They
    /// keep their lengths: as many names as recorded fit into an answer of a listing.
    fn in_parts(&mut self, text: &str, kept: &[char]) -> String {
        let parts = text.split_inclusive(kept);
        let mut text = String::new();
        for part in parts {
            let name = part.trim_end_matches(kept);
            text += &self.written_as(name, |units| units.max(FILE_DIGITS_MIN));
            text += &part[name.len()..];
        }
        text
    }
}

/// Different paths that are kept.
const PATHS_MAX: usize = 1_000_000;

/// The number of a path, from 1. A share's root has a number as well.
pub(crate) type NodeNumber = u32;

/// A file, a directory or a share.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct PathNode {
    pub(crate) parent: Option<NodeNumber>,
    pub(crate) name: Box<str>,
    /// Size when it was first opened in the slice, or else in the capture.
    pub(crate) size: Option<u64>,
    pub(crate) is_directory: Option<bool>,
    /// The name was not recorded.
    pub(crate) is_made_up: bool,
    /// A request of the slice uses or lists it, or a name below it.
    pub(crate) is_in_slice: bool,
    /// A request of the slice opened it.
    pub(crate) is_opened: bool,
    /// What the first listing with this name says.
    pub(crate) listed: Option<ListedName>,
}

/// What a listing says of a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ListedName {
    pub(crate) is_directory: Option<bool>,
    pub(crate) size: Option<u64>,
}

/// The tree of names that the capture shows.
#[derive(Default)]
pub(crate) struct PathTable {
    by_name: HashMap<u64, NodeNumber>,
    pub(crate) nodes: Vec<PathNode>,
    /// Names that were not kept because there are too many.
    pub(crate) unkept: DistinctCount,
}

impl PathTable {
    /// Returns the node of a path below another; `None` if there are too many.
    pub(crate) fn below(
        &mut self,
        parent: Option<NodeNumber>,
        path: &str,
        names: &mut NameWriter,
    ) -> Option<NodeNumber> {
        let mut node = parent;
        for name in path.split(['\\', '/']).filter(|name| !name.is_empty()) {
            node = Some(self.child(node, name, names)?);
        }
        node
    }

    /// Returns the node of a name.
    pub(crate) fn child(
        &mut self,
        parent: Option<NodeNumber>,
        name: &str,
        names: &mut NameWriter,
    ) -> Option<NodeNumber> {
        let key = names.number(parent.unwrap_or(0), name);
        if let Some(&known) = self.by_name.get(&key) {
            return Some(known);
        }
        let node = self.add(PathNode {
            parent,
            name: match parent {
                Some(_) => names.file(name).into(),
                // A share, which is selected by its hash.
                None => names.written(name).into(),
            },
            ..PathNode::default()
        });
        match node {
            Some(node) => {
                self.by_name.insert(key, node);
            }
            None => self.unkept.note(key),
        }
        node
    }

    /// Makes up a name for an open that was not seen.
    pub(crate) fn made_up(&mut self, parent: Option<NodeNumber>) -> Option<NodeNumber> {
        let number = self.nodes.len() + 1;
        let node = self.add(PathNode {
            parent,
            name: format!("unseen-{number}").into(),
            is_made_up: true,
            ..PathNode::default()
        });
        if node.is_none() {
            self.unkept.add();
        }
        node
    }

    /// Marks a name, and the directories above it, as used in the slice.
    pub(crate) fn mark_in_slice(&mut self, number: Option<NodeNumber>) {
        let mut next = number;
        while let Some(node) = next.and_then(|number| self.get(number))
            && !node.is_in_slice
        {
            node.is_in_slice = true;
            next = node.parent;
        }
    }

    fn add(&mut self, node: PathNode) -> Option<NodeNumber> {
        if self.nodes.len() >= PATHS_MAX {
            return None;
        }
        self.nodes.push(node);
        // The cast is safe: the number is bounded.
        Some(self.nodes.len() as NodeNumber)
    }

    pub(crate) fn get(&mut self, number: NodeNumber) -> Option<&mut PathNode> {
        self.nodes.get_mut((number as usize).checked_sub(1)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hash_stands_for_each_name_whatever_its_case() {
        let mut names = NameWriter::new(NameTreatment::Hash);
        let hidden = names.written("Secret.docx");
        assert_eq!(hidden, names.written("SECRET.DOCX"));
        assert_ne!(hidden, names.written("Other.docx"));
        assert_eq!(hidden.len(), DIGITS);
        assert_eq!(names.written("IPC$"), "IPC$");
        let pattern = names.pattern("*.docx");
        assert!(
            pattern.starts_with('*') && !pattern.contains("docx"),
            "{pattern}"
        );
        assert_eq!(names.pattern("*"), "*");
        let mut kept = NameWriter::new(NameTreatment::Keep);
        assert_eq!(kept.written("Secret.docx"), "Secret.docx");
    }

    #[test]
    fn the_key_comes_from_all_messages_up_to_the_end_of_a_log_on() {
        let hidden = |messages: &[(&[u8], bool)], later: &[u8]| {
            let mut names = NameWriter::new(NameTreatment::Hash);
            for (message, is_last) in messages {
                names.seed(message, || *is_last);
            }
            let hidden = names.written("Secret.docx");
            names.seed(later, || true);
            assert_eq!(hidden, names.written("Secret.docx"));
            hidden
        };
        let [first, second, third]: [&[u8]; 3] = [b"first", b"second", b"third"];
        let sealed = hidden(&[(first, false), (second, true)], b"");
        assert_eq!(
            sealed,
            hidden(&[(first, false), (second, true), (third, false)], b"")
        );
        // Without the end of a log-on, it ends with the first name.
        assert_eq!(sealed, hidden(&[(first, false), (second, false)], third));
        assert_ne!(sealed, hidden(&[(first, false), (third, true)], b""));
        assert_ne!(sealed, hidden(&[(first, true)], b""));
        let much = vec![0; KEY_BYTES_MAX];
        let much = &much[..];
        assert_eq!(
            hidden(&[(much, false), (first, false)], b""),
            hidden(&[(much, false), (second, false)], b"")
        );
    }

    #[test]
    fn the_hash_of_a_file_has_the_length_of_its_name() {
        let mut names = NameWriter::new(NameTreatment::Hash);
        let hidden = names.file("Secret.docx");
        assert_eq!(hidden.len(), "Secret.docx".len());
        assert_eq!(hidden, names.pattern("SECRET.DOCX"));
        let long = "ü".repeat(255);
        for (name, len) in [
            ("a", 8),
            ("12345678", 8),
            ("𝄞.123456789", 12),
            (&long[..], 255),
        ] {
            assert_eq!(names.file(name).len(), len, "{name}");
        }
        let streams = ["Secret.docx:one:$DATA", "Secret.docx:two", "Secret.docx*"];
        let [typed, plain, wild] = streams.map(|name| names.file(name));
        assert!(typed.starts_with(&format!("{hidden}:")) && typed.ends_with(":$DATA"));
        assert!(plain.starts_with(&format!("{hidden}:")) && !plain.contains("two"));
        assert_eq!(wild, format!("{hidden}*"));
        let mut paths = PathTable::default();
        paths.child(None, "bench", &mut names);
        assert_eq!(*paths.nodes[0].name, *names.written("bench"));
    }

    #[test]
    fn a_path_has_one_number() {
        let mut names = NameWriter::new(NameTreatment::Keep);
        let mut paths = PathTable::default();
        let share = paths.child(None, "data", &mut names);
        let file = paths.below(share, r"a\b\c.txt", &mut names);
        assert_eq!(file, paths.below(share, r"\A\b\C.TXT", &mut names));
        assert_eq!(paths.below(share, "", &mut names), share);
        let made_up = paths.made_up(share).unwrap();
        assert_eq!(paths.nodes.len(), 5);
        assert!(paths.get(made_up).unwrap().is_made_up);
    }

    #[test]
    fn names_beyond_those_that_are_kept_are_counted_once() {
        let mut names = NameWriter::new(NameTreatment::Hash);
        let mut paths = PathTable {
            nodes: vec![PathNode::default(); PATHS_MAX],
            ..PathTable::default()
        };
        for name in ["a", "b", "A", "b", "a"] {
            assert_eq!(paths.child(Some(1), name, &mut names), None);
        }
        assert_eq!(paths.unkept.count(), 2);
        assert_eq!(paths.made_up(Some(1)), None);
        assert_eq!(paths.unkept.count(), 3);
    }
}
