//! The screen as text: header, charts, operations, cautions and keys. Nothing here
//! touches a terminal, and a drawing depends on the figures and the size alone.

use std::io;

use anstream::{AutoStream, ColorChoice};
use ratatui::buffer::Buffer;
use ratatui::layout::{Alignment, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::Line;
use ratatui::widgets::{Block, Borders, Widget as _};
use smbench_report::text::Tone;
use smbench_report::units::{self, counted};

use super::charts;
use super::state::{LiveKind, LiveView};

/// Width from which operations and cautions are side by side.
const WIDE: u16 = 140;
const HEADER: u16 = 2;
const FOOTER: u16 = 1;
/// Smallest useful height of the charts.
const CHARTS: u16 = 10;
/// Smallest height between header and footer with charts.
const WITH_CHARTS: u16 = 15;
/// Smallest height of a panel: its title and a line.
const PANEL: u16 = 2;
/// Rows of the table of operations beside kinds and populations: title, columns and sum.
const TABLE: u16 = 3;
const GAP: u16 = 2;

const KEYS: &str = "q: leave this screen, the run continues   Ctrl-C: stop the run";

/// Whether the screen has colours. No meaning is in colours alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Colouring {
    Coloured,
    Plain,
}

impl Colouring {
    /// Returns whether the terminal gets colours: not with the variable `NO_COLOR`.
    pub(super) fn of_terminal() -> Self {
        match AutoStream::choice(&io::stderr()) {
            ColorChoice::Never => Self::Plain,
            _ => Self::Coloured,
        }
    }

    pub(super) const fn style(self, tone: Tone) -> Style {
        match (tone, self) {
            (Tone::Peak, _) => Style::new().add_modifier(Modifier::BOLD),
            (Tone::Caution, Self::Coloured) => Style::new().fg(Color::Yellow),
            (Tone::Problem, Self::Coloured) => Style::new().fg(Color::Red),
            (Tone::Plain | Tone::Caution | Tone::Problem, _) => Style::new(),
        }
    }
}

/// Draws the whole screen.
pub(super) fn draw(view: &LiveView, colouring: Colouring, buffer: &mut Buffer) {
    let area = buffer.area;
    let is_wide = area.width >= WIDE;
    let width = if is_wide {
        (area.width - GAP) / 2
    } else {
        area.width
    };
    let cautions = cautions(view, width.into());
    let rows = view.kinds.len() + view.populations.len();
    let sheet = Sheet::of(area, rows, cautions.len(), is_wide);
    header(view, sheet.header, buffer);
    if sheet.curve.height > 0 {
        charts::curve(view, colouring, sheet.curve, buffer);
        charts::throughput(view, sheet.throughput, buffer);
        charts::p99(view, sheet.p99, buffer);
    }
    operations(view, colouring, sheet.operations, buffer);
    let inside = panel("Cautions", sheet.cautions, buffer);
    for (row, (tone, line)) in inside.rows().zip(cautions) {
        Line::styled(line, colouring.style(tone)).render(row, buffer);
    }
    Line::from(KEYS).render(sheet.footer, buffer);
}

/// The places of all parts.
#[derive(Debug)]
struct Sheet {
    header: Rect,
    curve: Rect,
    throughput: Rect,
    p99: Rect,
    operations: Rect,
    cautions: Rect,
    footer: Rect,
}

impl Sheet {
    /// Divides the screen. The charts get what the tables do not need.
    fn of(area: Rect, rows: usize, cautions: usize, is_wide: bool) -> Self {
        let mut rest = area;
        let header = cut(&mut rest, HEADER);
        let footer = Rect {
            y: rest.bottom().saturating_sub(FOOTER),
            height: FOOTER.min(rest.height),
            ..rest
        };
        rest.height = rest.height.saturating_sub(FOOTER);
        let charts = if rest.height >= WITH_CHARTS {
            CHARTS.max(rest.height / 2)
        } else {
            0
        };
        let charts = if is_wide { charts } else { charts.min(CHARTS) };
        let room = rest.height - charts;
        let rows = u16::try_from(rows).unwrap_or(u16::MAX).max(1);
        let operations = rows.saturating_add(TABLE);
        let cautions = u16::try_from(cautions)
            .unwrap_or(u16::MAX)
            .saturating_add(1);
        let (operations, cautions, below) = if is_wide {
            let below = operations.max(cautions).min(room);
            (below, below, below)
        } else {
            let least = cautions.clamp(PANEL, (room / 3).max(PANEL)).min(room);
            let operations = operations.min(room - least);
            let cautions = cautions.min(room - operations);
            (operations, cautions, operations + cautions)
        };
        let height = match charts {
            0 => 0,
            _ => rest.height - below,
        };
        let charts = cut(&mut rest, height);
        let (curve, mut right) = halves(charts);
        let throughput = cut(&mut right, charts.height / 2);
        let (operations, cautions) = if is_wide {
            halves(rest)
        } else {
            let operations = cut(&mut rest, operations);
            (operations, cut(&mut rest, cautions))
        };
        Self {
            header,
            curve,
            throughput,
            p99: right,
            operations,
            cautions,
            footer,
        }
    }
}

/// Cuts rows off the top.
fn cut(area: &mut Rect, rows: u16) -> Rect {
    let height = rows.min(area.height);
    let top = Rect { height, ..*area };
    area.y += height;
    area.height -= height;
    top
}

fn halves(area: Rect) -> (Rect, Rect) {
    let width = area.width.saturating_sub(GAP) / 2;
    let x = area.right() - width;
    (Rect { width, ..area }, Rect { x, width, ..area })
}

/// Draws a rule with a title. Returns the place below it.
pub(super) fn panel(title: &str, area: Rect, buffer: &mut Buffer) -> Rect {
    let faint = Style::new().add_modifier(Modifier::DIM);
    let bold = Style::new().add_modifier(Modifier::BOLD);
    let title = Line::styled(format!("{title} "), bold.remove_modifier(Modifier::DIM));
    let block = Block::new()
        .borders(Borders::TOP)
        .border_style(faint)
        .title(title);
    let inside = block.inner(area);
    block.render(area, buffer);
    inside
}

fn header(view: &LiveView, area: Rect, buffer: &mut Buffer) {
    let rows: Vec<_> = area.rows().collect();
    let [first, second] = rows[..] else {
        return;
    };
    let title = format!("{} on {}", view.title.profile, view.title.server);
    let share = format!(
        "{:.0} %, {}",
        view.remaining.share * 100.0,
        view.remaining.words
    );
    let share = Line::from(share).alignment(Alignment::Right);
    let room = first.width.saturating_sub(share.width() as u16 + GAP);
    let title = Line::styled(title, Style::new().add_modifier(Modifier::BOLD));
    title.render(
        Rect {
            width: room,
            ..first
        },
        buffer,
    );
    share.render(first, buffer);
    let pass = view.pass();
    let pass = pass.map(|pass| format!("pass {pass}/{}, ", view.title.passes));
    Line::from(pass.unwrap_or_default() + &view.phase).render(second, buffer);
}

/// Draws the table of operations, with the populations below the kinds. If not all kinds have
/// room, it has those with the most operations.
fn operations(view: &LiveView, colouring: Colouring, area: Rect, buffer: &mut Buffer) {
    let title = match view.window {
        Some((point, window_s)) => format!(
            "Operations at {}, {window_s:.0} s measured",
            counted(point.clients.into(), "client")
        ),
        None => "Operations: nothing measured yet".to_owned(),
    };
    let inside = panel(&title, area, buffer);
    let Some(all) = &view.all else {
        return;
    };
    let room = usize::from(inside.height.saturating_sub(TABLE - 1));
    let room = room.saturating_sub(view.populations.len());
    let mut shown: Vec<_> = view.kinds.iter().enumerate().collect();
    shown.sort_by_key(|(_, kind)| std::cmp::Reverse(kind.count));
    let hidden = shown.len().saturating_sub(room);
    shown.truncate(room);
    shown.sort_by_key(|(place, _)| *place);
    let name = match hidden {
        0 => all.name.to_string(),
        _ => format!("all, with {hidden} more"),
    };
    let columns = ["ops/s", "Mbit/s", "p50", "p99", "errors", "differ"].map(str::to_owned);
    let cells = if view.title.is_replay {
        cells_of_replay
    } else {
        cells
    };
    let faint = Style::new().add_modifier(Modifier::DIM);
    let mut lines = vec![Line::styled(cells("", columns), faint)];
    let rows = shown
        .into_iter()
        .map(|(_, kind)| kind)
        .chain(&view.populations)
        .map(|row| (row.name.to_string(), row));
    for (name, kind) in rows.chain([(name, all)]) {
        let tone = match (kind.errors, kind.differ) {
            (0, 0) => Tone::Plain,
            (0, _) => Tone::Caution,
            _ => Tone::Problem,
        };
        lines.push(Line::styled(
            cells(&name, figures(kind)),
            colouring.style(tone),
        ));
    }
    for (row, line) in inside.rows().zip(lines) {
        line.render(row, buffer);
    }
}

fn figures(kind: &LiveKind) -> [String; 6] {
    let or_dash =
        |value: Option<f64>, print: fn(f64) -> String| value.map_or_else(|| "-".to_owned(), print);
    [
        units::rate(kind.ops_per_s),
        or_dash(kind.throughput_mbps, units::throughput),
        or_dash(kind.p50_ns, units::latency),
        or_dash(kind.p99_ns, units::latency),
        kind.errors.to_string(),
        kind.differ.to_string(),
    ]
}

/// Returns a row of the table, of 78 columns. Only replays can differ from a recording.
fn cells(name: &str, figures: [String; 6]) -> String {
    let [rate, throughput, p50, p99, errors, _] = figures;
    format!("{name:<20}{rate:>12}{throughput:>12}{p50:>12}{p99:>12}{errors:>10}")
}

/// Returns a row of the table of a replay, of 78 columns.
fn cells_of_replay(name: &str, figures: [String; 6]) -> String {
    let [rate, throughput, p50, p99, errors, differ] = figures;
    format!("{name:<20}{rate:>10}{throughput:>10}{p50:>10}{p99:>10}{errors:>9}{differ:>9}")
}

/// Returns the lines about problems, at most this wide.
fn cautions(view: &LiveView, width: usize) -> Vec<(Tone, String)> {
    if view.problems.is_empty() {
        return vec![(Tone::Plain, "none so far".to_owned())];
    }
    let problems = view.problems.iter();
    let lines = problems.flat_map(|(tone, words)| {
        let lines = words.lines().flat_map(|line| broken(line, width));
        lines.map(|line| (*tone, line)).collect::<Vec<_>>()
    });
    lines.collect()
}

/// Breaks a line between words. Lines after the first are indented.
fn broken(line: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in line.split(' ') {
        let last = lines.last_mut().map_or(0, |last| last.chars().count());
        let needed = last + 1 + word.chars().count();
        match lines.last_mut() {
            Some(line) if last == 0 => line.push_str(word),
            Some(line) if needed <= width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(format!("  {word}")),
        }
    }
    lines
}

#[cfg(test)]
mod tests;
