//! A check-up as blocks, and as a text of 80 columns.

use super::CheckupDoc;
use crate::block::{self, Block};
use crate::table::{Cell as TableCell, Column, Table};
use crate::text::wrapped_to;
use crate::units::{self, plain};

/// Width of the lines.
const COLUMNS: usize = 80;

/// Rows of reads and writes: label, and the parts of the names of the cells.
const TRANSFERS: [(&str, &str, &str); 6] = [
    ("sequential 1 MiB, 1 in flight", "sequential", "1_in_flight"),
    ("sequential 1 MiB, 8 in flight", "sequential", "8_in_flight"),
    ("sequential 1 MiB, 4 clients", "sequential", "4_clients"),
    ("random 4 KiB, 1 in flight", "random", "1_in_flight"),
    ("random 4 KiB, 32 in flight", "random", "32_in_flight"),
    ("random 4 KiB, 16 clients", "random", "16_clients"),
];

/// Rows of two other cells each: label and name.
const OTHERS: [[(&str, &str); 2]; 6] = [
    [("TCP connect", "connect"), ("log-on", "log_on")],
    [
        ("round trip (ECHO)", "echo"),
        ("log-ons, 4 clients", "log_ons"),
    ],
    [
        ("files made and removed", "files_made_and_removed"),
        ("small files read", "files_read"),
    ],
    [("listings", "listings"), ("flush after a write", "flush")],
    [
        ("1 MiB read, signed", "sequential_read_signed"),
        ("1 MiB read, encrypted", "sequential_read_encrypted"),
    ],
    [
        ("missing name", "missing_name"),
        ("in this folder", "missing_name_in_folder"),
    ],
];

/// Formats a value with its unit.
pub(super) fn value(value: f64, unit: &str) -> String {
    match unit {
        "ms" => units::latency(value * 1e6),
        "MB/s" => format!("{} MB/s", units::throughput(value)),
        _ => format!("{} /s", units::rate(value)),
    }
}

fn cell(doc: &CheckupDoc, name: &str) -> TableCell {
    let mut cells = doc.checkup.cells.iter();
    let cell = cells.find(|cell| cell.name == name);
    let found = cell.and_then(|cell| Some((cell.value?, cell)));
    TableCell::or_dash(found.map(|(of, cell)| TableCell::number(of, value(of, &cell.unit))))
}

fn transfers(doc: &CheckupDoc) -> Table {
    let columns = vec![
        Column::text("load"),
        Column::number("read"),
        Column::number("write"),
    ];
    let rows = TRANSFERS.map(|(label, kind, load)| {
        let side = |side: &str| cell(doc, &format!("{kind}_{side}_{load}"));
        vec![TableCell::from(label), side("read"), side("write")]
    });
    Table::of("", columns, rows.into())
}

fn others(doc: &CheckupDoc) -> Table {
    let columns = vec![
        Column::text("other"),
        Column::number("value"),
        Column::text("other"),
        Column::number("value"),
    ];
    let rows = OTHERS.map(|row| {
        let cells = row.map(|(label, name)| [TableCell::from(label), cell(doc, name)]);
        cells.into_iter().flatten().collect()
    });
    Table::of("", columns, rows.into())
}

fn title(doc: &CheckupDoc) -> String {
    let took = units::seconds(doc.checkup.took_s.round());
    format!(
        "Check-up of {} in {took}: {}",
        plain(&doc.url),
        plain(&doc.session)
    )
}

fn findings(doc: &CheckupDoc) -> Vec<String> {
    if doc.checkup.findings.is_empty() {
        return vec!["Findings: none.".to_owned()];
    }
    let findings = doc.checkup.findings.iter().enumerate();
    let numbered = findings.map(|(at, finding)| format!("{}. {}", at + 1, plain(&finding.text)));
    numbered.collect()
}

/// Returns the words of the screen for a value.
fn label(name: &str) -> String {
    let mut rows = OTHERS.iter().flatten();
    let label = rows.find(|(_, of)| *of == name).map(|(label, _)| *label);
    label.map_or_else(|| name.replace('_', " "), str::to_owned)
}

fn notes(doc: &CheckupDoc) -> Vec<String> {
    let size = units::amount(doc.checkup.file_bytes as f64);
    let cache = format!(
        "The file has {size}, which a server keeps in memory: reads show its cache and the \
         network, and not its disks."
    );
    let cells = doc.checkup.cells.iter();
    let missing: Vec<_> = cells
        .filter_map(|cell| Some((cell.name.as_str(), cell.invalid_reason.as_deref()?)))
        .collect();
    let missing = missing.first().map(|(name, reason)| {
        let are = if missing.len() == 1 { "is" } else { "are" };
        format!(
            "{} of {} values {are} missing, {} first: {}",
            missing.len(),
            doc.checkup.cells.len(),
            label(name),
            plain(reason)
        )
    });
    missing.into_iter().chain([cache]).collect()
}

/// Returns the check-up as elements for any format.
#[must_use]
pub fn blocks(doc: &CheckupDoc) -> Vec<Block> {
    vec![
        Block::Text(title(doc)),
        Block::Table(transfers(doc)),
        Block::Table(others(doc)),
        Block::List(findings(doc)),
        Block::List(notes(doc)),
    ]
}

/// Returns the check-up as one screen.
#[must_use]
pub fn render(doc: &CheckupDoc) -> String {
    let wrapped = |lines: Vec<String>| -> String {
        let lines = lines.iter().map(|line| wrapped_to(COLUMNS, 3, line));
        lines.collect()
    };
    let parts = [
        wrapped(vec![title(doc)]),
        block::to_text(&[Block::Table(transfers(doc)), Block::Table(others(doc))]),
        wrapped(findings(doc)),
        wrapped(notes(doc)),
    ];
    parts.join("\n")
}
