//! Names that are looked up although no file has them.

use serde::{Deserialize, Serialize};

use super::Range;

/// Most characters of a name without those of a file's name.
const NAME_LEN_MAX: usize = 100;
/// Characters that no name has, but for one `*` (MS-FSCC 2.1.5).
const NOT_IN_NAMES: [char; 9] = ['\\', '/', ':', '*', '?', '"', '<', '>', '|'];

/// A name that no file has, in a directory of the set or beside one of its files.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum MissingName {
    /// A name in a directory, such as `.DS_Store`.
    InDirectory(String),
    /// A name beside a file, such as `._*`: what is before and after the name of the file.
    OfFile {
        /// The part before the name of the file.
        before: String,
        /// The part after the name of the file.
        after: String,
    },
}

impl MissingName {
    /// Returns the part of the files that such a lookup works on.
    pub(super) const fn range(&self) -> Range {
        match self {
            Self::InDirectory(_) => Range::Directory,
            Self::OfFile { .. } => Range::WholeFile,
        }
    }
}

impl TryFrom<String> for MissingName {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let (before, after) = match text.split_once('*') {
            Some((before, after)) => (before, Some(after)),
            None => (&text[..], None),
        };
        let rest = after.unwrap_or_default();
        let is_name = matches!(
            before.chars().count() + rest.chars().count(),
            1..=NAME_LEN_MAX
        ) && ![before, rest]
            .iter()
            .any(|part| part.contains(NOT_IN_NAMES));
        if !is_name {
            return Err(format!(
                "'{text}' is not a name: give 1 to {NAME_LEN_MAX} characters that names may have, \
                 such as .DS_Store; one * stands for the name of a file"
            ));
        }
        Ok(match after {
            Some(after) => Self::OfFile {
                before: before.to_owned(),
                after: after.to_owned(),
            },
            None => Self::InDirectory(text),
        })
    }
}

impl From<MissingName> for String {
    fn from(name: MissingName) -> Self {
        match name {
            MissingName::InDirectory(name) => name,
            MissingName::OfFile { before, after } => format!("{before}*{after}"),
        }
    }
}
