//! A report as a value, whatever it is written as.
//!
//! Invariant: nothing in it is markup; whatever it is written as makes texts
//! harmless by itself, since names and notes come from files.
//! Not here: what is in it ([`crate::content`]), and how it looks.

use smbench_report::table::Table;

use crate::plot::Plot;

/// A report on a study.
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    /// What it is called.
    pub title: String,
    /// Its parts in order.
    pub sections: Vec<Section>,
}

/// A part of a report under a heading.
#[derive(Clone, Debug, PartialEq)]
pub struct Section {
    /// The heading.
    pub title: String,
    /// What belongs to the section as a whole.
    pub blocks: Vec<Block>,
    /// Sections within; they have none of their own.
    pub parts: Vec<Section>,
}

/// One thing after another in a section.
#[derive(Clone, Debug, PartialEq)]
pub enum Block {
    /// A paragraph.
    Text(String),
    /// Statements that belong together.
    List(Vec<String>),
    /// Labels and what they stand for.
    Facts(Vec<(String, String)>),
    /// Lines as they were written: configuration, a command line.
    Verbatim(Vec<String>),
    /// A table.
    Table(Table),
    /// A plot. Those that follow each other may stand side by side.
    Plot(Plot),
}

impl Section {
    /// A section that has nothing in it yet.
    pub(crate) fn new(title: impl Into<String>) -> Self {
        Self {
            title: title.into(),
            blocks: Vec::new(),
            parts: Vec::new(),
        }
    }

    pub(crate) fn text(&mut self, text: impl Into<String>) {
        self.blocks.push(Block::Text(text.into()));
    }

    /// Adds the lines as a list, unless there are none.
    pub(crate) fn list(&mut self, lines: Vec<String>) {
        if !lines.is_empty() {
            self.blocks.push(Block::List(lines));
        }
    }

    pub(crate) fn table(&mut self, table: Table) {
        self.blocks.push(Block::Table(table));
    }

    /// Adds a plot, or says in its place that there is nothing to draw.
    pub(crate) fn plot(&mut self, plot: Plot) {
        match plot.is_empty() {
            true => self.text(format!("{}: nothing was measured.", plot.title)),
            false => self.blocks.push(Block::Plot(plot)),
        }
    }

    /// Adds a section within, unless it would be empty.
    pub(crate) fn part(&mut self, part: Self) {
        if !part.blocks.is_empty() {
            self.parts.push(part);
        }
    }
}

impl Report {
    /// All plots in their order.
    pub fn plots(&self) -> impl Iterator<Item = &Plot> {
        let sections = self.sections.iter();
        let all = sections.flat_map(|section| [section].into_iter().chain(&section.parts));
        all.flat_map(|section| &section.blocks)
            .filter_map(|block| match block {
                Block::Plot(plot) => Some(plot),
                _ => None,
            })
    }
}
