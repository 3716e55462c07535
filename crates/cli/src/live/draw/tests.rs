use std::time::Duration;

use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::buffer::Cell;
use smbench_engine::run::{Live, PointNumber};

use super::super::state::{LivePoint, LiveSecond, LiveTitle, Remaining, Standing};
use super::*;

fn kind(name: &'static str, count: u64, throughput_mbps: Option<f64>) -> LiveKind {
    LiveKind {
        name: name.into(),
        count,
        ops_per_s: count as f64 / 12.0,
        throughput_mbps,
        p50_ns: Some(591_000.0),
        p99_ns: Some(5_870_000.0),
        errors: 0,
        differ: 0,
    }
}

fn second(at_s: f64) -> LiveSecond {
    LiveSecond {
        at_s,
        point: 7,
        live: Live {
            throughput_mbps: 900.0 + at_s % 7.0,
            ops_per_s: 9000.0,
            p99: Duration::from_micros(1230),
        },
    }
}

fn point(clients: u32, throughput_mbps: f64, standing: Standing) -> LivePoint {
    LivePoint {
        clients,
        throughput_mbps,
        ops_per_s: throughput_mbps * 10.0,
        standing,
    }
}

/// A run in its second pass.
fn view() -> LiveView {
    let present = PointNumber {
        number: 7,
        of: 8,
        repeat: 2,
        clients: 8,
        rate: None,
    };
    LiveView {
        title: LiveTitle {
            profile: "file-server".to_owned(),
            server: "smb://ann@files.example/bench".to_owned(),
            clients: vec![1, 4, 8, 16],
            passes: 2,
            is_replay: false,
        },
        phase: "point 7/8: 8 clients, measuring 12/30 s, 903.0 Mbit/s, p99 1.23 ms".to_owned(),
        remaining: Remaining {
            share: 0.7,
            words: "1m 5s left".to_owned(),
        },
        now_s: 100.2,
        seconds: (1..=100).map(|at_s| second(at_s.into())).collect(),
        curve: vec![
            point(1, 300.0, Standing::Valid),
            point(4, 700.0, Standing::ClientLimited),
            point(16, 1200.0, Standing::Invalid),
        ],
        present: Some(present),
        kinds: vec![
            kind("read", 40_000, Some(700.0)),
            kind("write", 9_000, Some(200.0)),
            kind("create_query_close", 1_200, None),
        ],
        populations: Vec::new(),
        all: Some(kind("all", 50_200, Some(900.0))),
        window: Some((present, 12.0)),
        problems: vec![
            (Tone::Caution, "stopping: a held message".to_owned()),
            (
                Tone::Problem,
                "not valid at 16 clients, pass 1: why".to_owned(),
            ),
        ],
    }
}

fn drawn(view: &LiveView, colouring: Colouring, (width, height): (u16, u16)) -> Buffer {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    let frame = terminal.draw(|frame| draw(view, colouring, frame.buffer_mut()));
    frame.unwrap().buffer.clone()
}

fn lines(view: &LiveView, (width, height): (u16, u16)) -> Vec<String> {
    let buffer = drawn(view, Colouring::Coloured, (width, height));
    let rows = buffer.content.chunks(width.into());
    let text = |row: &[Cell]| {
        let line: String = row.iter().map(Cell::symbol).collect();
        line.trim_end().to_owned()
    };
    rows.map(text).collect()
}

#[test]
fn a_replay_has_a_column_of_what_differs() {
    let mut view = view();
    view.title.is_replay = true;
    view.kinds[2].differ = 17;
    if let Some(all) = &mut view.all {
        all.differ = 17;
    }
    let lines = lines(&view, (80, 24));
    assert_eq!(
        lines[15..19],
        [
            "                         ops/s    Mbit/s       p50       p99   errors   differ",
            "read                      3333     700.0    591 us   5.87 ms        0        0",
            "write                      750     200.0    591 us   5.87 ms        0        0",
            "create_query_close         100         -    591 us   5.87 ms        0       17",
        ]
    );
}

#[test]
fn everything_has_room_in_80_columns() {
    let lines = lines(&view(), (80, 24));
    let below = &lines[14..];
    let (title, left) = lines[0].split_once("  ").unwrap();
    assert_eq!(title, "file-server on smb://ann@files.example/bench");
    assert_eq!(left.trim_start(), "70 %, 1m 5s left");
    assert_eq!(lines[0].len(), 80);
    let phase = "pass 2/2, point 7/8: 8 clients, measuring 12/30 s, 903.0 Mbit/s, p99 1.23 ms";
    assert_eq!(lines[1], phase);
    assert!(
        lines[2].starts_with("Mbit/s by clients, peak 700.0 at 4 ─"),
        "{}",
        lines[2]
    );
    assert!(
        lines[2].contains("Mbit/s, last 2 minutes: now 902.0 ─"),
        "{}",
        lines[2]
    );
    let charts = lines[3..14].join("\n");
    for part in [
        "p99, last 2 minutes: now 1.23 ms ─",
        "1.50 ms│",
        "1000│",
        "1500│",
        "750.0│",
    ] {
        assert!(charts.contains(part), "{part}\n{charts}");
    }
    for mark in ['•', '~', '+', '!'] {
        assert!(charts.contains(mark), "{mark}\n{charts}");
    }
    let titles = below
        .iter()
        .map(|line| line.trim_end_matches('─').trim_end());
    assert_eq!(
        titles.collect::<Vec<_>>(),
        [
            "Operations at 8 clients, 12 s measured",
            "                           ops/s      Mbit/s         p50         p99    errors",
            "read                        3333       700.0      591 us     5.87 ms         0",
            "write                        750       200.0      591 us     5.87 ms         0",
            "create_query_close           100           -      591 us     5.87 ms         0",
            "all                         4183       900.0      591 us     5.87 ms         0",
            "Cautions",
            "stopping: a held message",
            "not valid at 16 clients, pass 1: why",
            KEYS,
        ]
    );
}

#[test]
fn a_wide_screen_has_operations_and_cautions_side_by_side() {
    let lines = lines(&view(), (200, 60));
    let at = lines
        .iter()
        .position(|line| line.starts_with("Operations at 8"));
    let below = &lines[at.unwrap()..];
    assert!(below[0].contains("─  Cautions ─"), "{}", below[0]);
    assert!(
        below[1].ends_with("stopping: a held message"),
        "{}",
        below[1]
    );
    assert!(lines.iter().any(|line| line.contains("-1 min")));
    assert_eq!(lines[59], KEYS);
}

/// ratatui panics on a write outside of the screen.
#[test]
fn a_screen_of_any_size_can_be_drawn() {
    let view = view();
    for width in (0..=40).chain([79, 139, 140, 141, 300]) {
        for height in (0..=30).chain([60, 100]) {
            drawn(&view, Colouring::Coloured, (width, height));
            drawn(&LiveView::default(), Colouring::Plain, (width, height));
        }
    }
}

#[test]
fn without_colours_no_cell_has_one() {
    let mut view = view();
    view.kinds[0].errors = 3;
    let has_colour = |colouring| {
        let buffer = drawn(&view, colouring, (80, 24));
        buffer.content.iter().any(|cell| cell.fg != Color::Reset)
    };
    assert!(has_colour(Colouring::Coloured));
    assert!(!has_colour(Colouring::Plain));
}

/// Returns the first words of the rows of the table of operations.
fn names(view: &LiveView) -> Vec<String> {
    let lines = lines(view, (80, 24));
    let rows = lines
        .iter()
        .skip_while(|line| !line.ends_with("errors"))
        .skip(1)
        .take_while(|line| !line.starts_with("Cautions"))
        .filter_map(|line| line.split_once("  "));
    rows.map(|(name, _)| name.to_owned()).collect()
}

#[test]
fn the_most_frequent_operations_are_shown_if_there_are_too_many() {
    const NAMES: [&str; 12] = ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l"];
    let mut view = view();
    let kinds = NAMES.into_iter().enumerate();
    view.kinds = kinds
        .map(|(at, name)| kind(name, at as u64 + 1, None))
        .collect();
    let expected = ["h", "i", "j", "k", "l", "all, with 7 more"];
    assert_eq!(names(&view), expected);
    view.populations = vec![kind("office", 60, None), kind("backup", 18, None)];
    let expected = ["j", "k", "l", "office", "backup", "all, with 9 more"];
    assert_eq!(names(&view), expected);
}

#[test]
fn a_long_caution_is_broken_between_words() {
    assert_eq!(broken("one two three", 7), ["one two", "  three"]);
    assert_eq!(broken("much-too-long", 7), ["much-too-long"]);
}
