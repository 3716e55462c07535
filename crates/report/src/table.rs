//! A table as a value, which can be printed as text, Markdown or CSV, and as HTML
//! by reports.
//!
//! Invariant: the text of a cell is already formatted (see [`crate::units`]). A
//! cell with a rounded number may also have the exact one, which only CSV shows.
//! Any text of a table may contain names from files, so each output format escapes
//! them. Not here: the contents of tables.

use std::io::Write;

use comfy_table::CellAlignment;
use comfy_table::presets::NOTHING;

use crate::load::Load;
use crate::units::{self, plain};

/// Rows under named columns, with a title and notes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Table {
    /// Title without a final stop; empty if the table needs none.
    pub title: String,
    /// Columns from left to right; empty if the table is only a title.
    pub columns: Vec<Column>,
    /// Rows with one cell for each column; missing cells at the end are empty.
    pub rows: Vec<Vec<Cell>>,
    /// Notes for the reader, a line each.
    pub notes: Vec<String>,
}

/// A column of a [`Table`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    /// Header of the column, with the unit if the cells have none.
    pub name: String,
    /// Alignment of the cells.
    pub align: Align,
}

/// Alignment of the cells of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Align {
    /// Left, for text.
    Left,
    /// Right, for numbers.
    Right,
}

/// One cell of a [`Table`].
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Cell {
    /// The text that people read.
    pub text: String,
    /// The number that `text` rounds, in the unit of the column's name. Times are
    /// in nanoseconds if the name has no unit. `None` if there is only the text.
    pub exact: Option<f64>,
}

impl Column {
    /// Creates a column of text.
    pub fn text(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            align: Align::Left,
        }
    }

    /// Creates a column of numbers.
    pub fn number(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            align: Align::Right,
        }
    }
}

impl Cell {
    /// Creates a cell from a number and its text.
    pub fn number(exact: f64, text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            exact: exact.is_finite().then_some(exact),
        }
    }

    /// Creates a cell from a number formatted by `print`, or a dash if there is
    /// none.
    pub fn of(exact: Option<f64>, print: impl Fn(f64) -> String) -> Self {
        Self::or_dash(exact.map(|exact| Self::number(exact, print(exact))))
    }

    /// Creates a cell with the number of clients of a load point, after its mark.
    #[must_use]
    pub fn load(mark: &str, load: Load) -> Self {
        Self::number(load.number(), format!("{mark}{}", load.print()))
    }

    /// Creates a cell with a count.
    #[must_use]
    pub fn count(count: u64) -> Self {
        Self::number(count as f64, count.to_string())
    }

    /// Creates a cell with a time in nanoseconds, or a dash if there is none.
    #[must_use]
    pub fn latency(nanoseconds: Option<f64>) -> Self {
        Self::of(nanoseconds, units::latency)
    }

    /// Returns the cell with a mark before its value; a dash has no value.
    #[must_use]
    pub fn marked(mut self, mark: &str) -> Self {
        if self.text != "-" {
            self.text.insert_str(0, mark);
        }
        self
    }

    /// Returns the cell, or a dash if there is none.
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
    /// Creates a table without notes.
    pub fn of(title: impl Into<String>, columns: Vec<Column>, rows: Vec<Vec<Cell>>) -> Self {
        Self {
            title: title.into(),
            columns,
            rows,
            notes: Vec::new(),
        }
    }

    /// Returns the text of a row's cell in a column; empty if the row is short.
    #[must_use]
    pub fn cell(row: &[Cell], column: usize) -> &str {
        row.get(column).map_or("", |cell| &cell.text)
    }

    /// Formats the table for a terminal: the title, columns two spaces apart, the
    /// notes. Ends with a newline.
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

    /// Formats the table as a pipe table of GitHub's Markdown. The title is in bold
    /// above it, and the notes are a list below. Ends with a newline.
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

    /// Writes the table as CSV: a header line and the rows, with exact numbers if
    /// there are any. Title and notes are left out.
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

    /// Returns the texts of each row, one for each column.
    fn texts(&self, print: fn(&str) -> String) -> impl Iterator<Item = Vec<String>> {
        let columns = 0..self.columns.len();
        self.rows.iter().map(move |row| {
            let shown = columns.clone().map(|column| Self::cell(row, column));
            shown.map(print).collect()
        })
    }
}

/// Formats columns without rules, two spaces apart, under one header line.
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

/// Escapes text so that Markdown shows it unchanged, on one line.
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
