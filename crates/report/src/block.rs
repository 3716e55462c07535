//! Elements of a text for people, independent of its format.
//!
//! Invariant: texts contain no markup. Names and notes come from files, so each output
//! format escapes them. Not here: what the elements say, and HTML.

use crate::table::{Table, markdown};
use crate::units::{labelled, plain};

/// One element.
#[derive(Clone, Debug, PartialEq)]
pub enum Block {
    /// A paragraph.
    Text(String),
    /// Statements that belong together.
    List(Vec<String>),
    /// Pairs of a label and a text.
    Facts(Vec<(String, String)>),
    /// Literal lines: configuration, a command line.
    Verbatim(Vec<String>),
    /// A table.
    Table(Table),
}

impl Block {
    /// Creates pairs of a label and a text.
    pub fn facts<L: Into<String>>(facts: impl IntoIterator<Item = (L, String)>) -> Self {
        let facts = facts.into_iter();
        Self::Facts(facts.map(|(label, text)| (label.into(), text)).collect())
    }

    /// Formats the element for a terminal. Ends with a newline.
    #[must_use]
    pub fn to_text(&self) -> String {
        match self {
            Self::Text(text) => format!("{}\n", plain(text)),
            Self::List(lines) | Self::Verbatim(lines) => {
                let lines = lines.iter();
                lines.map(|line| format!("{}\n", plain(line))).collect()
            }
            Self::Facts(facts) => {
                let facts = facts.iter();
                labelled(facts.map(|(label, text)| (&**label, plain(text))))
            }
            Self::Table(table) => table.to_text(),
        }
    }

    /// Formats the element as GitHub's Markdown. Ends with a newline.
    #[must_use]
    pub fn to_markdown(&self) -> String {
        match self {
            Self::Text(text) => format!("{}\n", markdown(text)),
            Self::List(lines) => {
                let lines = lines.iter();
                lines
                    .map(|line| format!("- {}\n", markdown(line)))
                    .collect()
            }
            Self::Facts(facts) => {
                let facts = facts.iter();
                facts
                    .map(|(label, text)| format!("- {}: {}\n", markdown(label), markdown(text)))
                    .collect()
            }
            Self::Verbatim(lines) => {
                let fence = fence(lines);
                let lines: String = lines.iter().map(|line| plain(line) + "\n").collect();
                format!("{fence}\n{lines}{fence}\n")
            }
            Self::Table(table) => format!("{}\n", table.to_markdown().trim_end()),
        }
    }
}

/// Formats elements for a terminal, with an empty line between two.
#[must_use]
pub fn to_text(blocks: &[Block]) -> String {
    let texts: Vec<_> = blocks.iter().map(Block::to_text).collect();
    texts.join("\n")
}

/// Formats elements as GitHub's Markdown, under a heading.
#[must_use]
pub fn to_markdown(heading: &str, blocks: &[Block]) -> String {
    let texts = blocks
        .iter()
        .map(|block| format!("\n{}", block.to_markdown()));
    format!("### {}\n{}", markdown(heading), texts.collect::<String>())
}

/// Returns a fence that no line can end.
fn fence(lines: &[String]) -> String {
    let runs = lines.iter().flat_map(|line| line.split(|c| c != '`'));
    let longest = runs.map(str::len).max().unwrap_or(0);
    "`".repeat(longest.max(2) + 1)
}
