//! A table as a value, whatever it is printed as: text, Markdown or CSV here,
//! HTML where reports are made.
//!
//! Invariant: what a cell shows is printed already (see [`crate::units`]), and a
//! cell that shows a rounded number may carry the exact one, which only CSV
//! has. Names from files may be in any text of a table: each rendering makes
//! them harmless in its own way. Not here: what is in which table.

use std::io::Write;

use comfy_table::CellAlignment;
use comfy_table::presets::NOTHING;

use crate::units::{self, plain};

/// Rows under named columns, with a title and notes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Table {
    /// What it shows, without a final stop; empty where that goes without
    /// saying.
    pub title: String,
    /// The columns, from left to right; none where the title is all there is to
    /// say.
    pub columns: Vec<Column>,
    /// One cell for each column; what is missing at the end is empty.
    pub rows: Vec<Vec<Cell>>,
    /// What the reader must know besides, a line each.
    pub notes: Vec<String>,
}

/// A column of a [`Table`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    /// Its header, with the unit where cells have none.
    pub name: String,
    /// Where its cells stand.
    pub align: Align,
}

/// Where the cells of a column stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Align {
    /// Text.
    Left,
    /// Numbers.
    Right,
}

/// One cell of a [`Table`].
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Cell {
    /// What people read.
    pub text: String,
    /// The number that `text` rounds, in the unit that the column names; times
    /// in nanoseconds where it names none. `None` where `text` is all there is.
    pub exact: Option<f64>,
}

impl Column {
    /// A column of text.
    pub fn text(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            align: Align::Left,
        }
    }

    /// A column of numbers.
    pub fn number(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            align: Align::Right,
        }
    }
}

impl Cell {
    /// A number, and how it is shown.
    pub fn number(exact: f64, text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            exact: exact.is_finite().then_some(exact),
        }
    }

    /// A number as `print` shows it, or a dash where there is none.
    pub fn of(exact: Option<f64>, print: fn(f64) -> String) -> Self {
        Self::or_dash(exact.map(|exact| Self::number(exact, print(exact))))
    }

    /// How many.
    #[must_use]
    pub fn count(count: u64) -> Self {
        Self::number(count as f64, count.to_string())
    }

    /// A time in nanoseconds, or a dash where there is none.
    #[must_use]
    pub fn latency(nanoseconds: Option<f64>) -> Self {
        Self::of(nanoseconds, units::latency)
    }

    /// A cell, or a dash where there is none to show.
    #[must_use]
    pub fn or_dash(cell: Option<Self>) -> Self {
        cell.unwrap_or_else(|| Self::from("-"))
    }
}

impl<T: Into<String>> From<T> for Cell {
    fn from(text: T) -> Self {
        Self {
            text: text.into(),
            exact: None,
        }
    }
}

impl Table {
    /// The cell of a row in a column; empty where the row is short.
    #[must_use]
    pub fn cell(row: &[Cell], column: usize) -> &str {
        row.get(column).map_or("", |cell| &cell.text)
    }

    /// For a terminal: the title, columns two spaces apart, the notes. Ends with
    /// a newline.
    #[must_use]
    pub fn to_text(&self) -> String {
        let mut text = String::new();
        if !self.title.is_empty() {
            text += &format!("{}\n", plain(&self.title));
        }
        if !self.columns.is_empty() {
            let align: Vec<_> = self.columns.iter().map(|column| column.align).collect();
            let header = self.columns.iter().map(|column| plain(&column.name));
            let rows = self.texts(plain);
            text += &aligned(&align, header.collect(), rows.collect());
        }
        for note in &self.notes {
            text += &format!("{}\n", plain(note));
        }
        text
    }

    /// As a pipe table of GitHub's Markdown, the title in bold above it and the
    /// notes as a list below. Ends with a newline.
    #[must_use]
    pub fn to_markdown(&self) -> String {
        let mut text = String::new();
        if !self.title.is_empty() {
            text += &format!("**{}**\n\n", markdown(&self.title));
        }
        let line = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
        if !self.columns.is_empty() {
            let header = self.columns.iter().map(|column| markdown(&column.name));
            text += &line(header.collect());
            let rules = self.columns.iter().map(|column| match column.align {
                Align::Left => "---".to_owned(),
                Align::Right => "---:".to_owned(),
            });
            text += &line(rules.collect());
            text.extend(self.texts(markdown).map(line));
        }
        if !self.notes.is_empty() {
            text.push('\n');
        }
        for note in &self.notes {
            text += &format!("- {}\n", markdown(note));
        }
        text
    }

    /// As CSV: a header line and the rows, exact numbers where there are any.
    /// Title and notes are left out.
    ///
    /// # Errors
    ///
    /// When `output` cannot be written.
    pub fn write_csv(&self, output: impl Write) -> Result<(), ::csv::Error> {
        let mut writer = ::csv::Writer::from_writer(output);
        writer.write_record(self.columns.iter().map(|column| &column.name))?;
        for row in &self.rows {
            writer.write_record((0..self.columns.len()).map(|column| {
                let exact = row.get(column).and_then(|cell| cell.exact);
                let shown = || Self::cell(row, column).to_owned();
                exact.map_or_else(shown, |exact| exact.to_string())
            }))?;
        }
        writer.flush()?;
        Ok(())
    }

    /// What the rows show, one text for each column.
    fn texts(&self, print: fn(&str) -> String) -> impl Iterator<Item = Vec<String>> {
        let columns = 0..self.columns.len();
        self.rows.iter().map(move |row| {
            let shown = columns.clone().map(|column| Self::cell(row, column));
            shown.map(print).collect()
        })
    }
}

/// Columns without rules, two spaces apart, under one header line.
fn aligned(align: &[Align], header: Vec<String>, rows: Vec<Vec<String>>) -> String {
    let mut table = comfy_table::Table::new();
    table.load_style(NOTHING).set_header(header).add_rows(rows);
    for ((at, column), align) in table.column_iter_mut().enumerate().zip(align) {
        column.set_padding((if at == 0 { 0 } else { 2 }, 0));
        column.set_cell_alignment(match align {
            Align::Left => CellAlignment::Left,
            Align::Right => CellAlignment::Right,
        });
    }
    table.trim_fmt() + "\n"
}

/// Text that Markdown shows as it is, on one line.
#[must_use]
pub fn markdown(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in plain(text).chars() {
        match c {
            '&' => safe += "&amp;",
            '<' => safe += "&lt;",
            '>' => safe += "&gt;",
            '\\' | '`' | '*' | '_' | '[' | ']' | '|' | '#' | '~' | '!' => safe.extend(['\\', c]),
            _ => safe.push(c),
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> Table {
        Table {
            title: "Peaks".to_owned(),
            columns: vec![Column::text("server"), Column::number("Mbit/s")],
            rows: vec![
                vec!["Samba | 4".into(), Cell::number(941.26, "941.3")],
                vec!["a, b".into(), Cell::or_dash(None)],
                vec!["short".into()],
            ],
            notes: vec!["two *passes*".to_owned()],
        }
    }

    #[test]
    fn text_has_columns() {
        let text = "\
Peaks
server     Mbit/s
Samba | 4   941.3
a, b            -
short
two *passes*
";
        assert_eq!(table().to_text(), text);
    }

    #[test]
    fn markdown_is_not_steered_by_what_it_shows() {
        let text = "\
**Peaks**

| server | Mbit/s |
| --- | ---: |
| Samba \\| 4 | 941.3 |
| a, b | - |
| short |  |

- two \\*passes\\*
";
        assert_eq!(table().to_markdown(), text);
        assert_eq!(
            markdown("<b>\n[x](y)"),
            "&lt;b&gt;?\\[x\\](y)",
            "neither markup nor a link nor a second line"
        );
    }

    #[test]
    fn csv_has_the_exact_numbers() {
        let mut csv = Vec::new();
        table().write_csv(&mut csv).unwrap();
        let text = "server,Mbit/s\nSamba | 4,941.26\n\"a, b\",-\nshort,\n";
        assert_eq!(String::from_utf8(csv).unwrap(), text);
    }

    #[test]
    fn a_title_may_be_all_there_is() {
        let title = "not measured".to_owned();
        let table = Table {
            title,
            ..Table::default()
        };
        assert_eq!(table.to_text(), "not measured\n");
        assert_eq!(table.to_markdown(), "**not measured**\n\n");
    }

    #[test]
    fn what_is_no_number_is_not_exact() {
        assert_eq!(Cell::number(f64::NAN, "-"), Cell::or_dash(None));
    }
}
