//! Two captures side by side as text: which command is slower, which status is new.

use smbench_capture::{
    CaptureDiff, CaptureSummary, CommandDiff, CommandSide, CountDiff, JUDGED_ANSWERS_MIN,
    JUDGED_RATIO, ServiceSummary, Trend,
};
use smbench_report::block::Block;
use smbench_report::table::{Cell, Column, Table};
use smbench_report::units::{bytes, change, counted, latency, percent, rate, seconds};

use super::left_out::left_out_of;
use super::summary::instant;

/// Rows of a table of statuses or sizes.
const ROWS_MAX: usize = 20;
const SECOND_NS: f64 = 1e9;

/// Names of the two captures, as the user gave them.
#[derive(Clone, Copy, Debug)]
pub(super) struct DiffNames<'a> {
    pub(super) first: &'a str,
    pub(super) second: &'a str,
}

/// Returns what changed, then all numbers side by side.
pub(super) fn blocks(diff: &CaptureDiff, names: DiffNames<'_>) -> Vec<Block> {
    let mut blocks = vec![
        Block::facts([
            ("first", source(names.first, &diff.first)),
            ("second", source(names.second, &diff.second)),
        ]),
        Block::List(changes(diff)),
        Block::Table(service_times(diff)),
        Block::Table(commands(diff)),
        Block::Table(statuses(diff)),
        Block::Table(sizes(diff)),
    ];
    blocks.extend(left_out_of("Left out of the first", &diff.first));
    blocks.extend(left_out_of("Left out of the second", &diff.second));
    blocks
}

fn source(name: &str, summary: &CaptureSummary) -> String {
    let span = summary.span();
    let begin = instant(span.begin_ns);
    let length_s = span.length_ns() as f64 / SECOND_NS;
    let commands = summary.commands.values();
    let requests: u64 = commands.map(|command| command.requests).sum();
    let per_second = if length_s > 0.0 {
        format!(", {} per second", rate(requests as f64 / length_s))
    } else {
        String::new()
    };
    let clients = counted(summary.clients.len() as u64, "client");
    let length = seconds(length_s);
    let requests = counted(requests, "request");
    format!("{name}: {begin}, {length}, {clients}, {requests}{per_second}")
}

/// Returns the changes in sentences.
fn changes(diff: &CaptureDiff) -> Vec<String> {
    let mut lines = Vec::new();
    let of = |trend| diff.commands.iter().filter(move |one| one.trend == trend);
    lines.extend(of(Trend::Slower).map(|one| judged("slower", one)));
    // Those that gained most come first.
    let mut faster: Vec<_> = of(Trend::Faster).map(|one| judged("faster", one)).collect();
    faster.reverse();
    lines.extend(faster);
    if lines.is_empty() {
        lines.push("no command is clearly slower or faster".to_owned());
    }
    let new = diff.statuses.iter().filter(|one| one.first == 0);
    lines.extend(new.map(|one| counted_of("new", one, one.second, one.second_of)));
    let gone = diff.statuses.iter().filter(|one| one.second == 0);
    lines.extend(gone.map(|one| counted_of("only in the first", one, one.first, one.first_of)));
    lines
}

/// Says in how many answers to its command a status is.
fn counted_of(word: &str, status: &CountDiff<String>, count: u64, answers: u64) -> String {
    let CountDiff { command, value, .. } = status;
    let answers = counted(answers, "answer");
    format!("{word}: {value} of {command}, {count} of {answers}")
}

fn judged(word: &str, one: &CommandDiff) -> String {
    let Some((before, after)) = one.first.service_ns.zip(one.second.service_ns) else {
        return format!("{word}: {}", one.command);
    };
    let moved = |before: f64, after: f64| format!("{} -> {}", latency(before), latency(after));
    format!(
        "{word}: {}, p50 {}, p95 {}, mean {}",
        one.command,
        moved(before.p50 as f64, after.p50 as f64),
        moved(before.p95 as f64, after.p95 as f64),
        moved(before.mean, after.mean),
    )
}

fn service_times(diff: &CaptureDiff) -> Table {
    type TimeOf = fn(&ServiceSummary) -> f64;
    const TIMES: [(&str, TimeOf); 3] = [
        ("p50", |times| times.p50 as f64),
        ("p95", |times| times.p95 as f64),
        ("mean", |times| times.mean),
    ];
    let mut columns = vec![
        Column::text("command"),
        Column::number("answered"),
        Column::number("second"),
    ];
    for (name, _) in TIMES {
        columns.extend([Column::number(name), Column::number("second")]);
    }
    columns.extend([Column::number("change of mean"), Column::number("added")]);
    columns.push(Column::text("trend"));
    let rows = diff.commands.iter().map(|one| {
        let sides = [&one.first, &one.second];
        let mut row = vec![one.command.as_str().into()];
        row.extend(sides.map(|side| Cell::count(side.answered)));
        for (_, of) in TIMES {
            row.extend(sides.map(|side| Cell::latency(side.service_ns.as_ref().map(of))));
        }
        let both = one.first.service_ns.zip(one.second.service_ns);
        let both = both.filter(|(before, _)| before.mean > 0.0);
        let moved = both.map(|(before, after)| 100.0 * (after.mean / before.mean - 1.0));
        row.push(Cell::of(moved, change));
        row.push(Cell::of(one.added_ns, signed_time));
        row.push(trend(one.trend).into());
        row
    });
    let mut table = Table::of("Service times", columns, rows.collect());
    table.notes = vec![
        "added: change of the mean, times the answers of the second capture".to_owned(),
        format!(
            "slower, faster: p50, p95 and mean all differ by a factor of {JUDGED_RATIO} or more; \
             both captures have {JUDGED_ANSWERS_MIN} answers or more"
        ),
    ];
    table
}

fn signed_time(nanoseconds: f64) -> String {
    let sign = if nanoseconds < 0.0 { "-" } else { "+" };
    format!("{sign}{}", latency(nanoseconds.abs()))
}

const fn trend(trend: Trend) -> &'static str {
    match trend {
        Trend::Slower => "slower",
        Trend::Faster => "faster",
        Trend::Unclear => "",
        Trend::TooFew => "too few",
    }
}

fn commands(diff: &CaptureDiff) -> Table {
    let mut columns = vec![Column::text("command")];
    for name in ["requests", "errors", "bytes"] {
        columns.extend([Column::number(name), Column::number("second")]);
    }
    let mut commands: Vec<_> = diff.commands.iter().collect();
    commands.sort_by_key(|one| &one.command);
    let rows = commands.into_iter().map(|one| {
        let sides = [&one.first, &one.second];
        let mut row = vec![one.command.as_str().into()];
        row.extend(sides.map(|side| Cell::count(side.requests)));
        row.extend(sides.map(|side| Cell::count(side.errors)));
        let moved = |side: &CommandSide| Cell::number(side.bytes as f64, bytes(side.bytes));
        row.extend(sides.map(moved));
        row
    });
    Table::of("Commands", columns, rows.collect())
}

fn statuses(diff: &CaptureDiff) -> Table {
    let show = |status: &String| status.as_str().into();
    side_by_side("Statuses", "status", "answers", &diff.statuses, show)
}

fn sizes(diff: &CaptureDiff) -> Table {
    let show = |size: &u64| Cell::number(*size as f64, bytes(*size));
    side_by_side("Sizes", "size", "requests", &diff.sizes, show)
}

/// Returns counts of both captures with their share of the command.
fn side_by_side<T>(
    title: &str,
    value: &str,
    unit: &str,
    counts: &[CountDiff<T>],
    show: impl Fn(&T) -> Cell,
) -> Table {
    let columns = vec![
        Column::text("command"),
        Column::text(value),
        Column::number(unit),
        Column::number("second"),
        Column::number("share"),
        Column::number("second"),
    ];
    let share = |count: u64, of: u64| {
        let share = (of > 0).then(|| 100.0 * count as f64 / of as f64);
        Cell::of(share, percent)
    };
    let rows = counts.iter().take(ROWS_MAX).map(|one| {
        vec![
            one.command.as_str().into(),
            show(&one.value),
            Cell::count(one.first),
            Cell::count(one.second),
            share(one.first, one.first_of),
            share(one.second, one.second_of),
        ]
    });
    let mut table = Table::of(title, columns, rows.collect());
    table
        .notes
        .push("the share is of the command; what changed most comes first".to_owned());
    if let more @ 1.. = counts.len().saturating_sub(ROWS_MAX) {
        table.notes.push(format!("and {more} more; --json has all"));
    }
    table
}
