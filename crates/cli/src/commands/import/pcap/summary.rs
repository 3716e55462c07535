//! The summary of a capture as text.

use std::collections::BTreeMap;
use std::time::{Duration, UNIX_EPOCH};

use smbench_capture::{CaptureSummary, CommandSummary};
use smbench_report::block::Block;
use smbench_report::table::{Cell, Column, Table};
use smbench_report::units::{bytes, counted, rate, seconds};

use super::left_out::left_out_of;

/// Rows of a table of names.
const ROWS_MAX: usize = 10;
const SECOND_NS: f64 = 1e9;
/// Commands whose requests have a size.
pub(super) const SIZED: [&str; 4] = ["read", "write", "cifs_read_andx", "cifs_write_andx"];

/// Returns the summary as tables.
pub(super) fn blocks(summary: &CaptureSummary) -> Vec<Block> {
    let mut blocks = vec![
        facts(summary),
        Block::Table(commands(summary)),
        Block::Table(statuses(summary)),
    ];
    if let Some(sizes) = sizes(&summary.commands) {
        blocks.push(Block::Table(sizes));
    }
    for (title, counts, unit) in [
        ("Shares", &summary.shares, "requests"),
        ("Users", &summary.users, "sessions"),
        ("Refused log-ons", &summary.refused_logons, "log-ons"),
    ] {
        if !counts.is_empty() {
            blocks.push(Block::Table(names(title, counts, unit)));
        }
    }
    blocks.extend(left_out_of("Left out", summary));
    blocks
}

/// Returns a time as text, from nanoseconds since 1970.
pub(super) fn instant(since_1970_ns: u64) -> String {
    let time = UNIX_EPOCH + Duration::from_nanos(since_1970_ns);
    humantime::format_rfc3339_millis(time).to_string()
}

/// Returns the time of the day, with milliseconds only if it has some.
fn time_of_day(since_1970_ns: u64) -> String {
    let text = instant(since_1970_ns);
    let time = text.split(['T', 'Z']).nth(1).unwrap_or_default();
    time.trim_end_matches(".000").to_owned()
}

fn facts(summary: &CaptureSummary) -> Block {
    let source = &summary.source;
    let length_s = source.end_ns.saturating_sub(source.begin_ns) as f64 / SECOND_NS;
    let requests: u64 = summary
        .commands
        .values()
        .map(|command| command.requests)
        .sum();
    let joined = |counts: &BTreeMap<String, u64>| {
        let named = counts
            .iter()
            .map(|(name, count)| format!("{name} ({count})"));
        named.collect::<Vec<_>>().join(", ")
    };
    let span_s = summary.span().length_ns() as f64 / SECOND_NS;
    let per_second = if span_s > 0.0 {
        format!(", {} per second", rate(requests as f64 / span_s))
    } else {
        String::new()
    };
    let concurrency = &summary.concurrency;
    let mean = concurrency.mean.map(|mean| format!(", mean {mean:.2}"));
    let mean = mean.unwrap_or_default();
    let frames = counted(source.frames, "frame");
    let connections = counted(summary.connections, "connection");
    let mut facts = vec![
        ("capture", format!("{frames}, {}", bytes(source.bytes))),
        ("begin", instant(source.begin_ns)),
        ("length", seconds(length_s)),
    ];
    if let Some(slice) = summary.slice {
        let (begin, end) = (time_of_day(slice.begin_ns), time_of_day(slice.end_ns));
        let length = seconds(span_s);
        facts.push(("slice", format!("{begin} to {end}, {length}")));
    }
    facts.extend([
        ("clients", summary.clients.len().to_string()),
        ("SMB", named(connections, &joined(&summary.dialects))),
        (
            "sessions",
            named(summary.sessions.to_string(), &joined(&summary.logons)),
        ),
        (
            "requests",
            format!(
                "{requests}{per_second}; at most {} in flight{mean}",
                concurrency.max
            ),
        ),
        ("read", bytes(summary.bytes_read)),
        ("written", bytes(summary.bytes_written)),
    ]);
    let tree = &summary.tree;
    facts.push((
        "tree",
        format!(
            "{}, {} with {} when first opened",
            counted(tree.directories, "directory"),
            counted(tree.files, "file"),
            bytes(tree.bytes)
        ),
    ));
    Block::facts(facts)
}

/// Returns a count with what is counted, if that is known.
fn named(count: String, names: &str) -> String {
    if names.is_empty() {
        count
    } else {
        format!("{count}: {names}")
    }
}

fn commands(summary: &CaptureSummary) -> Table {
    let columns = vec![
        Column::text("command"),
        Column::number("requests"),
        Column::number("answers"),
        Column::number("errors"),
        Column::number("bytes"),
        Column::number("mean"),
        Column::number("p50"),
        Column::number("p99"),
        Column::number("max"),
    ];
    let rows = summary.commands.iter().map(|(name, command)| {
        let time = |of: fn(&smbench_capture::ServiceSummary) -> f64| {
            Cell::latency(command.service_ns.as_ref().map(of))
        };
        vec![
            name.as_str().into(),
            Cell::count(command.requests),
            Cell::count(command.responses),
            Cell::count(command.errors()),
            Cell::number(command.bytes as f64, bytes(command.bytes)),
            time(|times| times.mean),
            time(|times| times.p50 as f64),
            time(|times| times.p99 as f64),
            time(|times| times.max as f64),
        ]
    });
    let mut table = Table::of("Commands", columns, rows.collect());
    let notes = summary.commands.iter().filter_map(|(name, command)| {
        let counts = [
            (command.pending, "interim answer"),
            (command.notifications, "notification"),
            (command.unanswered, "request without an answer"),
            (command.unasked, "answer without a request"),
        ];
        let said = counts.iter().filter(|(count, _)| *count > 0);
        let said: Vec<_> = said.map(|(count, what)| said_of(*count, what)).collect();
        (!said.is_empty()).then(|| format!("{name}: {}", said.join(", ")))
    });
    table.notes = notes.collect();
    table
}

/// Returns a count and what it counts.
fn said_of(count: u64, what: &str) -> String {
    match what.split_once(' ') {
        Some((noun, rest)) if rest.starts_with("without") => {
            format!("{} {rest}", counted(count, noun))
        }
        _ => counted(count, what),
    }
}

fn statuses(summary: &CaptureSummary) -> Table {
    let mut rows = Vec::new();
    for (name, command) in &summary.commands {
        for (status, count) in &command.statuses {
            rows.push((*count, name, status));
        }
    }
    rows.sort_by_key(|(count, name, status)| (std::cmp::Reverse(*count), *name, *status));
    let columns = vec![
        Column::number("answers"),
        Column::text("command"),
        Column::text("status"),
    ];
    let cells = rows.into_iter().map(|(count, name, status)| {
        vec![
            Cell::count(count),
            name.as_str().into(),
            status.as_str().into(),
        ]
    });
    Table::of("Statuses", columns, cells.collect())
}

/// Returns the sizes of reads and writes, the most frequent first.
fn sizes(commands: &BTreeMap<String, CommandSummary>) -> Option<Table> {
    let (mut rows, mut notes) = (Vec::new(), Vec::new());
    for name in SIZED {
        let Some(command) = commands.get(name) else {
            continue;
        };
        let mut sizes: Vec<_> = command.sizes.iter().collect();
        sizes.sort_by_key(|(size, count)| (std::cmp::Reverse(**count), **size));
        let all = command.sized();
        if let more @ 1.. = sizes.len().saturating_sub(ROWS_MAX) {
            notes.push(format!("{name}: and {more} more; --json has all"));
        }
        for (size, count) in sizes.into_iter().take(ROWS_MAX) {
            rows.push(vec![
                name.into(),
                Cell::number(*size as f64, bytes(*size)),
                Cell::count(*count),
                Cell::number(
                    *count as f64 / all as f64,
                    format!("{:.1} %", 100.0 * *count as f64 / all as f64),
                ),
            ]);
        }
    }
    let columns = vec![
        Column::text("command"),
        Column::number("size"),
        Column::number("requests"),
        Column::number("share"),
    ];
    let table = Table::of("Sizes", columns, rows);
    (!table.rows.is_empty()).then_some(Table { notes, ..table })
}

fn names(title: &str, counts: &BTreeMap<String, u64>, unit: &str) -> Table {
    let mut rows: Vec<_> = counts.iter().collect();
    rows.sort_by_key(|(name, count)| (std::cmp::Reverse(**count), (*name).clone()));
    let more = rows.len().saturating_sub(ROWS_MAX);
    let cells = rows.into_iter().take(ROWS_MAX);
    let cells = cells.map(|(name, count)| vec![Cell::count(*count), name.as_str().into()]);
    let columns = vec![Column::number(unit), Column::text("name")];
    let mut table = Table::of(title, columns, cells.collect());
    if more > 0 {
        table.notes.push(format!("and {more} more"));
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_count_without_names_ends_with_itself() {
        let count = || "1 connection".to_owned();
        assert_eq!(named(count(), ""), "1 connection");
        assert_eq!(named(count(), "3.1.1 (1)"), "1 connection: 3.1.1 (1)");
    }

    #[test]
    fn sizes_that_are_not_shown_are_counted() {
        let command = |sizes: u64| CommandSummary {
            sizes: (0..sizes).map(|size| (size, 1)).collect(),
            ..CommandSummary::default()
        };
        let commands = [("read", 36), ("write", 10)];
        let commands = commands.map(|(name, sizes)| (name.to_owned(), command(sizes)));
        let table = sizes(&BTreeMap::from(commands)).unwrap();
        assert_eq!(table.rows.len(), 20);
        assert_eq!(table.notes, ["read: and 26 more; --json has all"]);
        assert_eq!(sizes(&BTreeMap::new()), None);
    }

    #[test]
    fn a_time_of_the_day_has_milliseconds_only_if_needed() {
        let second_ns = 1_000_000_000;
        assert_eq!(time_of_day(86_400 * second_ns), "00:00:00");
        assert_eq!(time_of_day(3_661 * second_ns + 250_000_000), "01:01:01.250");
    }
}
