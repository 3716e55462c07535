//! The names in a tree.
//!
//! A name has drawn letters, then the number of its entry in the directory, and a file also an
//! extension: `kvemas3f.dat`. The number makes the name unique, also for servers that ignore
//! case. All numbers of a directory have the same width. Letters and digits lack o, p, r and u,
//! so that no name is one that Windows reserves (CON, PRN, AUX, NUL, COM1, LPT1).

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Tree;
use crate::random::{Draws, below, draw};

/// The digits of numbers, in the order of their value; the letters follow ten digits.
pub(super) const DIGITS: &[u8; 32] = b"0123456789abcdefghijklmnqstvwxyz";
const LETTERS_FROM: usize = 10;
/// Letters that have several bytes, each with one form in Unicode of one UTF-16 unit.
const WIDE_LETTERS: [char; 16] = [
    'ä', 'é', 'ñ', 'ø', 'ß', 'ł', 'ž', 'ж', 'ш', 'λ', 'ω', '語', '名', '日', '한', '글',
];
const WIDE_BYTES_MAX: usize = 3;
/// The longest name in bytes, which most servers can store.
const NAME_BYTES_MAX: usize = 255;
/// The largest number of ranges of lengths.
const RANGES_MAX: usize = 255;
/// The extensions of files.
const EXTENSIONS: [&str; 8] = [
    ".dat", ".txt", ".pdf", ".doc", ".jpg", ".xml", ".bin", ".log",
];
/// Characters of an extension.
const EXTENSION_LEN: usize = 4;

/// Names of files and directories.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct TreeNames {
    /// Lengths in characters.
    pub length: NameLengths,
    /// Percent of the letters that are outside ASCII, 0 to 100.
    pub utf8: u8,
    /// Upper or lower case of letters.
    pub case: NameCase,
}

smbench_protocol::named! {
    /// The case of letters in names.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
    #[serde(rename_all = "lowercase")]
    pub enum NameCase {
        /// Lower case.
        #[default]
        Lower => "lower",
        /// Upper case.
        Upper => "upper",
        /// Each letter is drawn.
        Mixed => "mixed",
    }
}

/// Lengths of names in characters: `12`, `8..24`, or several with their weights, such as
/// `8:10,12..20:90`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
pub struct NameLengths(Vec<LengthRange>);

#[derive(Clone, Copy, Debug, PartialEq)]
struct LengthRange {
    from: u8,
    to: u8,
    weight: u32,
}

impl Default for NameLengths {
    fn default() -> Self {
        Self(vec![LengthRange {
            from: 8,
            to: 24,
            weight: 1,
        }])
    }
}

impl NameLengths {
    /// Makes the lengths of a number of names of each length; `None` if there are none.
    #[must_use]
    pub fn of_counts(counts: impl IntoIterator<Item = (u8, u32)>) -> Option<Self> {
        let range = |(length, weight)| LengthRange {
            from: length,
            to: length,
            weight,
        };
        let lengths = Self(counts.into_iter().map(range).collect());
        lengths.check().is_ok().then_some(lengths)
    }

    /// Returns the shortest length of each range, and its weight.
    pub fn counts(&self) -> impl Iterator<Item = (u8, u32)> + use<'_> {
        self.0.iter().map(|range| (range.from, range.weight))
    }

    fn longest(&self) -> u8 {
        self.0.iter().map(|range| range.to).max().unwrap_or(1)
    }

    fn total(&self) -> u64 {
        self.0.iter().map(|range| u64::from(range.weight)).sum()
    }

    fn check(&self) -> Result<(), String> {
        let is_wrong = |range: &&LengthRange| range.from == 0 || range.to < range.from;
        if self.0.is_empty() || self.0.len() > RANGES_MAX || self.total() == 0 {
            Err("names have no length: give one of 1 to 255 characters".to_owned())
        } else if let Some(range) = self.0.iter().find(is_wrong) {
            let LengthRange { from, to, .. } = range;
            Err(format!(
                "lengths from {from} to {to} are not possible: give the smaller one first, from 1"
            ))
        } else {
            Ok(())
        }
    }

    fn draw(&self, draws: &mut Draws) -> usize {
        let mut at = below(draws.next(), self.total());
        for range in &self.0 {
            let weight = u64::from(range.weight);
            if at < weight {
                let lengths = u64::from(range.to - range.from) + 1;
                return usize::from(range.from) + below(draws.next(), lengths) as usize;
            }
            at -= weight;
        }
        usize::from(self.longest())
    }
}

impl FromStr for NameLengths {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let part = |part: &str| {
            let (range, weight) = part.split_once(':').unwrap_or((part, "1"));
            let (from, to) = range.split_once("..").unwrap_or((range, range));
            Some(LengthRange {
                from: from.trim().parse().ok()?,
                to: to.trim().parse().ok()?,
                weight: weight.trim().parse().ok()?,
            })
        };
        let ranges: Option<Vec<_>> = text.split(',').map(part).collect();
        let ranges = ranges.ok_or_else(|| {
            format!("`{text}` is no length of names: give 12, 8..24 or 8:10,12..20:90, up to 255")
        })?;
        let lengths = Self(ranges);
        lengths.check().map(|()| lengths)
    }
}

impl fmt::Display for NameLengths {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, range) in self.0.iter().enumerate() {
            let comma = if at == 0 { "" } else { "," };
            write!(f, "{comma}{}..{}:{}", range.from, range.to, range.weight)?;
        }
        Ok(())
    }
}

impl TryFrom<String> for NameLengths {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl From<NameLengths> for String {
    fn from(lengths: NameLengths) -> Self {
        lengths.to_string()
    }
}

impl TreeNames {
    pub(super) fn check(&self) -> Result<(), String> {
        self.length.check()?;
        if self.utf8 > 100 {
            return Err(format!(
                "{} percent of the letters are not possible: give 0 to 100",
                self.utf8
            ));
        }
        match self.bytes_max() {
            ..=NAME_BYTES_MAX => Ok(()),
            bytes => Err(format!(
                "names of up to {bytes} bytes are too long: give at most {NAME_BYTES_MAX}, or \
                 {} characters with letters outside ASCII",
                NAME_BYTES_MAX / WIDE_BYTES_MAX
            )),
        }
    }

    fn bytes_max(&self) -> usize {
        let letter = if self.utf8 == 0 { 1 } else { WIDE_BYTES_MAX };
        usize::from(self.length.longest()) * letter
    }
}

/// The two kinds of entries of a directory, and their place among the draws.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum NameKind {
    File = 0,
    Directory = 1,
}

/// Returns the number of digits for `count` numbers from 0.
pub(super) const fn width(count: usize) -> usize {
    let mut width = 1;
    while count > 1 << (5 * width) {
        width += 1;
    }
    width
}

impl Tree {
    /// Returns the bytes of the longest name.
    pub(super) fn name_bytes_max(&self) -> usize {
        // A number may need more characters than the name has.
        self.shape
            .names
            .bytes_max()
            .max(width(self.levels.largest_directory()))
    }

    /// Appends the name of entry `index` of `count` of a directory.
    pub(super) fn append_name(
        &self,
        kind: NameKind,
        number: u32,
        index: u32,
        count: usize,
        out: &mut impl fmt::Write,
    ) -> fmt::Result {
        let TreeNames { length, utf8, case } = &self.shape.names;
        let key = draw(self.names_key, u64::from(number) << 1 | kind as u64);
        let mut draws = Draws::new(key);
        let width = width(count);
        let letters = length.draw(&mut draws).saturating_sub(width);
        let extension = match kind {
            NameKind::File if letters > EXTENSION_LEN => {
                EXTENSIONS[below(draws.next(), EXTENSIONS.len() as u64) as usize]
            }
            _ => "",
        };
        for _ in extension.len()..letters {
            let random = draws.next();
            let letter = if random & 0xFF < u64::from(*utf8) * 256 / 100 {
                WIDE_LETTERS[below(random, WIDE_LETTERS.len() as u64) as usize]
            } else {
                let letters = (DIGITS.len() - LETTERS_FROM) as u64;
                let letter = DIGITS[LETTERS_FROM + below(random, letters) as usize];
                let is_upper = match case {
                    NameCase::Lower => false,
                    NameCase::Upper => true,
                    NameCase::Mixed => random & 0x100 != 0,
                };
                char::from(if is_upper {
                    letter.to_ascii_uppercase()
                } else {
                    letter
                })
            };
            out.write_char(letter)?;
        }
        for digit in (0..width).rev() {
            let digit = DIGITS[(index >> (5 * digit) & 31) as usize];
            let upper = *case == NameCase::Upper;
            out.write_char(char::from(if upper {
                digit.to_ascii_uppercase()
            } else {
                digit
            }))?;
        }
        out.write_str(extension)
    }
}
