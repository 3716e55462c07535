//! Two check-ups side by side.

use super::CheckupDoc;
use super::text::value;
use crate::block::Block;
use crate::table::{Cell, Column, Table};
use crate::units::{self, plain};

/// Returns the cells of both check-ups with their change, and the findings that only one has.
/// One check-up has one pass, so nothing is judged.
#[must_use]
pub fn compare(before: &CheckupDoc, after: &CheckupDoc) -> Vec<Block> {
    let columns = vec![
        Column::text("value"),
        Column::number("before"),
        Column::number("after"),
        Column::number("change"),
    ];
    let rows = before.checkup.cells.iter().map(|cell| {
        let other = after.value(&cell.name);
        let shown =
            |of: Option<f64>| Cell::or_dash(of.map(|of| Cell::number(of, value(of, &cell.unit))));
        let change = cell.value.zip(other).filter(|(one, _)| *one > 0.0);
        let change = change.map(|(one, other)| (other / one - 1.0) * 100.0);
        vec![
            Cell::from(plain(&cell.name)),
            shown(cell.value),
            shown(other),
            Cell::of(change, units::change),
        ]
    });
    let title = format!(
        "Check-ups: {} ({}) and {} ({})",
        plain(&before.url),
        plain(&before.started),
        plain(&after.url),
        plain(&after.started)
    );
    let table = Table::of(title, columns, rows.collect());
    let only = |one: &CheckupDoc, other: &CheckupDoc, when: &str| -> Vec<String> {
        let is_new = |name: &String| !other.checkup.findings.iter().any(|of| of.name == *name);
        let findings = one.checkup.findings.iter().filter(|of| is_new(&of.name));
        findings
            .map(|of| format!("only {when}: {}", plain(&of.text)))
            .collect()
    };
    let mut lines = only(before, after, "before");
    lines.extend(only(after, before, "after"));
    let mut blocks = vec![Block::Table(table)];
    if !lines.is_empty() {
        blocks.push(Block::List(lines));
    }
    blocks
}
