//! The charts: the curve so far, and throughput and p99 of the last two minutes.

use ratatui::buffer::Buffer;
use ratatui::layout::{Alignment, Rect};
use ratatui::style::{Modifier, Style};
use ratatui::symbols::Marker;
use ratatui::widgets::{Axis, Chart, Dataset, GraphType, Widget as _};
use smbench_engine::run::Live;
use smbench_report::metric::Metric;
use smbench_report::text::Tone;
use smbench_report::units;

use super::draw::{Colouring, panel};
use super::state::{LivePoint, LiveSecond, LiveView, SPAN_S, Standing};

/// Width of the labels of vertical axes, so that charts align.
const LABEL: usize = 8;
/// Height from which a chart has a label in the middle.
const WITH_MIDDLE: u16 = 7;
/// Height from which a chart of seconds has an axis of time.
const WITH_TIME: u16 = 8;
/// Seconds without a figure that break a line.
const PAUSE_S: f64 = 3.0;

/// Marks of load points. The first two are those of tables.
const INVALID: Marker = Marker::Custom('!');
const CLIENT_LIMITED: Marker = Marker::Custom('~');
const PRESENT: Marker = Marker::Custom('+');

type Points = Vec<(f64, f64)>;

/// A figure of a second.
type SecondFigure = fn(&Live) -> f64;
/// The format of a figure.
type Print = fn(f64) -> String;

/// Draws the load points, and marks the one under way.
pub(super) fn curve(view: &LiveView, colouring: Colouring, area: Rect, buffer: &mut Buffer) {
    let scale = HeightScale::of(view.metric());
    let place = |point: &LivePoint| (f64::from(point.clients), (scale.height)(point));
    let of = |standing| {
        let points = view.curve.iter();
        let points = points.filter(move |point| point.standing == standing);
        points.map(place).collect::<Points>()
    };
    let (valid, limited) = (of(Standing::Valid), of(Standing::ClientLimited));
    let invalid = of(Standing::Invalid);
    // Load points that are not valid are not on the line, as in reports.
    let on_line = view.curve.iter();
    let on_line = on_line.filter(|point| point.standing != Standing::Invalid);
    let on_line: Points = on_line.map(place).collect();
    let present = view.present_point();
    let now: Points = present.as_ref().map(place).into_iter().collect();
    let scattered = [
        (Marker::Dot, &valid, Tone::Plain),
        (CLIENT_LIMITED, &limited, Tone::Caution),
        (INVALID, &invalid, Tone::Problem),
        (PRESENT, &now, Tone::Caution),
    ];
    let mut datasets = vec![line(&on_line)];
    datasets.extend(scattered.map(|(marker, points, tone)| {
        let dataset = Dataset::default().data(points).marker(marker);
        dataset.style(colouring.style(tone))
    }));
    let heights = view.curve.iter().chain(&present).map(scale.height);
    let top = ceiling(heights.fold(0.0, f64::max));
    let clients = view.title.clients.iter().max().copied().unwrap_or(1);
    // Even, for the label in the middle.
    let clients = clients.next_multiple_of(2);
    let labels = [0, clients / 2, clients].map(|clients| clients.to_string());
    let across = Axis::default().bounds([0.0, clients.into()]).labels(labels);
    let inside = panel(&curve_title(view, &scale), area, buffer);
    let upright = upright(top, scale.print, inside);
    chart(datasets, across, upright, inside, buffer);
}

/// The heights of a curve.
struct HeightScale {
    unit: &'static str,
    height: fn(&LivePoint) -> f64,
    print: Print,
}

impl HeightScale {
    fn of(metric: Metric) -> Self {
        match metric {
            Metric::Operations => Self {
                unit: "ops/s",
                height: |point| point.ops_per_s,
                print: units::rate,
            },
            _ => Self {
                unit: "Mbit/s",
                height: |point| point.throughput_mbps,
                print: units::throughput,
            },
        }
    }
}

fn curve_title(view: &LiveView, scale: &HeightScale) -> String {
    let valid = view.curve.iter();
    let valid = valid.filter(|point| point.standing != Standing::Invalid);
    let height = |point: &LivePoint| (scale.height)(point);
    let peak = valid.max_by(|one, other| height(one).total_cmp(&height(other)));
    let peak = peak.map(|peak| {
        let height = (scale.print)(height(peak));
        format!(", peak {height} at {}", peak.clients)
    });
    format!("{} by clients{}", scale.unit, peak.unwrap_or_default())
}

/// Draws the throughput of the last two minutes, or the rate of operations without data.
pub(super) fn throughput(view: &LiveView, area: Rect, buffer: &mut Buffer) {
    let (unit, of, print): (_, SecondFigure, Print) = match view.metric() {
        Metric::Operations => ("ops/s", |live| live.ops_per_s, units::rate),
        _ => ("Mbit/s", |live| live.throughput_mbps, units::throughput),
    };
    seconds(view, unit, of, print, area, buffer);
}

/// Draws the 99th percentile of each second of the last two minutes.
pub(super) fn p99(view: &LiveView, area: Rect, buffer: &mut Buffer) {
    let of: SecondFigure = |live| live.p99.as_nanos() as f64;
    seconds(view, "p99", of, units::latency, area, buffer);
}

fn seconds(
    view: &LiveView,
    name: &str,
    of: SecondFigure,
    print: Print,
    area: Rect,
    buffer: &mut Buffer,
) {
    let now = now(view).map(|live| format!(": now {}", print(of(&live))));
    let title = format!("{name}, last 2 minutes{}", now.unwrap_or_default());
    let inside = panel(&title, area, buffer);
    let seconds: Vec<_> = view.seconds.iter().copied().collect();
    let lines = stretches(&seconds).map(|stretch| {
        let points = stretch.iter();
        let points = points.map(|second| (second.at_s - view.now_s, of(&second.live)));
        points.collect()
    });
    let lines: Vec<Points> = lines.collect();
    let figures = seconds.iter().map(|second| of(&second.live));
    let top = ceiling(figures.fold(0.0, f64::max));
    let mut across = Axis::default().bounds([-SPAN_S, 0.0]);
    if inside.height >= WITH_TIME {
        across = across.labels(["-2 min", "-1 min", "now"]);
    }
    let datasets = lines.iter().map(|points| line(points)).collect();
    chart(
        datasets,
        across,
        upright(top, print, inside),
        inside,
        buffer,
    );
}

/// Returns the figures of the last second, unless the load has ended since.
fn now(view: &LiveView) -> Option<Live> {
    let last = view.seconds.back()?;
    (view.now_s - last.at_s < PAUSE_S).then_some(last.live)
}

/// Divides seconds where the load paused between load points.
fn stretches(seconds: &[LiveSecond]) -> impl Iterator<Item = &[LiveSecond]> {
    seconds.chunk_by(|one, next| one.point == next.point && next.at_s - one.at_s < PAUSE_S)
}

fn line(points: &[(f64, f64)]) -> Dataset<'_> {
    let dataset = Dataset::default().data(points);
    dataset.marker(Marker::Braille).graph_type(GraphType::Line)
}

/// Returns the vertical axis from 0. Without a figure it has no labels.
fn upright(top: f64, print: Print, inside: Rect) -> Axis<'static> {
    let values = if inside.height >= WITH_MIDDLE {
        &[0.0, 0.5, 1.0][..]
    } else {
        &[0.0, 1.0]
    };
    let labels = values.iter().map(|share| {
        let text = match share * top {
            _ if top == 0.0 => String::new(),
            0.0 => "0".to_owned(),
            value => print(value),
        };
        format!("{text:>LABEL$}")
    });
    let bounds = [0.0, if top > 0.0 { top } else { 1.0 }];
    let axis = Axis::default().bounds(bounds).labels(labels);
    axis.labels_alignment(Alignment::Right)
}

fn chart(
    datasets: Vec<Dataset<'_>>,
    across: Axis<'_>,
    upright: Axis<'_>,
    inside: Rect,
    buffer: &mut Buffer,
) {
    // ratatui asserts that a chart has room.
    if inside.width < 2 * LABEL as u16 || inside.height < 3 {
        return;
    }
    let faint = Style::new().add_modifier(Modifier::DIM);
    let chart = Chart::new(datasets).legend_position(None);
    let chart = chart.x_axis(across.style(faint));
    chart.y_axis(upright.style(faint)).render(inside, buffer);
}

/// Returns the next higher round number: the top of an axis. 0 stays 0.
fn ceiling(value: f64) -> f64 {
    const ROUND: [f64; 8] = [1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 8.0, 10.0];
    if value <= 0.0 {
        return 0.0;
    }
    let scale = 10_f64.powf(value.log10().floor());
    let round = ROUND.map(|round| round * scale);
    round
        .into_iter()
        .find(|round| *round >= value)
        .unwrap_or(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_axis_ends_at_a_round_number() {
        for (value, top) in [
            (0.0, 0.0),
            (0.9, 1.0),
            (941.3, 1000.0),
            (1138.0, 1500.0),
            (5.1, 8.0),
        ] {
            assert_eq!(ceiling(value), top, "{value}");
        }
    }

    #[test]
    fn a_pause_and_a_new_load_point_break_the_line() {
        let second = |at_s, point| LiveSecond {
            at_s,
            point,
            live: Live::default(),
        };
        let seconds = [(1.0, 1), (2.0, 1), (3.0, 2), (9.0, 2)];
        let seconds = seconds.map(|(at_s, point)| second(at_s, point));
        let lengths: Vec<_> = stretches(&seconds).map(<[LiveSecond]>::len).collect();
        assert_eq!(lengths, [2, 1, 1]);
    }
}
