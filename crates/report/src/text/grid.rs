//! Columns without rules: two spaces apart, numbers to the right.

use comfy_table::presets::NOTHING;
use comfy_table::{CellAlignment, Table};

use crate::table::Align;

/// How the first column, the name of the row, is aligned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RowName {
    Number,
    Text,
}

/// A table of one header line and these rows; ends with a newline.
pub(super) fn grid(name: RowName, header: Vec<&str>, rows: Vec<Vec<String>>) -> String {
    let mut align = vec![Align::Right; header.len()];
    if let (Some(first), RowName::Text) = (align.first_mut(), name) {
        *first = Align::Left;
    }
    aligned(
        &align,
        header.into_iter().map(str::to_owned).collect(),
        rows,
    )
}

/// The same with columns aligned one by one.
pub(crate) fn aligned(align: &[Align], header: Vec<String>, rows: Vec<Vec<String>>) -> String {
    let mut table = Table::new();
    table.load_style(NOTHING).set_header(header).add_rows(rows);
    for (at, column) in table.column_iter_mut().enumerate() {
        column.set_padding((if at == 0 { 0 } else { 2 }, 0));
        column.set_cell_alignment(match align.get(at) {
            Some(Align::Left) => CellAlignment::Left,
            Some(Align::Right) | None => CellAlignment::Right,
        });
    }
    table.trim_fmt() + "\n"
}

/// A value, or a dash where there is none.
pub(super) fn or_dash(value: Option<String>) -> String {
    value.unwrap_or_else(|| "-".to_owned())
}
