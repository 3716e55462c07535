//! A report as a value, independent of its output format.
//!
//! Invariant: texts contain no markup. Names and notes come from files, so each
//! output format escapes them. Not here: the content ([`crate::content`]), and the
//! layout.

use smbench_report::block::Block;
use smbench_report::table::Table;

use crate::plot::Plot;

/// A report on a study.
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    /// Title of the report: what was measured.
    pub title: String,
    /// Day of the first measurement; empty if it is not known.
    pub day: String,
    /// Lines below the title: the servers, and when they were measured.
    pub lines: Vec<String>,
    /// Sections in their order.
    pub sections: Vec<Section>,
}

/// A part of a report under a heading.
#[derive(Clone, Debug, PartialEq)]
pub struct Section {
    /// The heading.
    pub title: String,
    /// Content of the section itself.
    pub blocks: Vec<ReportBlock>,
    /// Subsections; they have none of their own.
    pub parts: Vec<Section>,
}

/// One element of a section.
#[derive(Clone, Debug, PartialEq)]
pub enum ReportBlock {
    /// Text or a table.
    Plain(Block),
    /// A plot. Consecutive plots may be side by side.
    Plot(Plot),
}

impl Section {
    /// Creates an empty section.
    pub(crate) fn new(title: impl Into<String>) -> Self {
        Self {
            title: title.into(),
            blocks: Vec::new(),
            parts: Vec::new(),
        }
    }

    /// Adds text or a table.
    pub(crate) fn add(&mut self, block: Block) {
        self.blocks.push(ReportBlock::Plain(block));
    }

    pub(crate) fn text(&mut self, text: impl Into<String>) {
        self.add(Block::Text(text.into()));
    }

    /// Adds the lines as a list, unless there are none.
    pub(crate) fn list(&mut self, lines: Vec<String>) {
        if !lines.is_empty() {
            self.add(Block::List(lines));
        }
    }

    /// Adds a table, without the notes that an earlier table of the section has.
    pub(crate) fn table(&mut self, mut table: Table) {
        let is_known = |note: &String| {
            self.blocks.iter().any(|block| match block {
                ReportBlock::Plain(Block::Table(earlier)) => earlier.notes.contains(note),
                _ => false,
            })
        };
        table.notes.retain(|note| !is_known(note));
        self.add(Block::Table(table));
    }

    /// Adds a plot, or a text that there is nothing to draw.
    pub(crate) fn plot(&mut self, plot: Plot) {
        if plot.is_empty() {
            self.text(format!("{}: nothing was measured.", plot.title));
        } else {
            self.blocks.push(ReportBlock::Plot(plot));
        }
    }

    /// Adds a subsection, unless it is empty.
    pub(crate) fn part(&mut self, part: Self) {
        if !part.blocks.is_empty() {
            self.parts.push(part);
        }
    }
}

impl Report {
    /// Returns all plots in their order.
    pub fn plots(&self) -> impl Iterator<Item = &Plot> {
        let sections = self.sections.iter();
        let all = sections.flat_map(|section| [section].into_iter().chain(&section.parts));
        all.flat_map(|section| &section.blocks)
            .filter_map(|block| match block {
                ReportBlock::Plot(plot) => Some(plot),
                ReportBlock::Plain(_) => None,
            })
    }
}
