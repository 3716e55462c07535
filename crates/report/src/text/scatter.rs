//! The probes of a search as a plot of characters: response times by load, or sessions over
//! time.

use crate::doc::{FindDoc, FindKind, ProbeOutcome, RunDoc};
use crate::metric::Metric;
use crate::threshold::Threshold;
use crate::units;

/// Columns and rows of the plot, without its labels.
const WIDTH: usize = 64;
const HEIGHT: usize = 12;
/// Columns of the labels on the left.
const LABEL: usize = 10;

const HELD: char = 'o';
const BROKE: char = 'x';
const UNKNOWN: char = '?';

/// Marks at places.
struct Scatter {
    title: String,
    /// Name of the horizontal axis, and the label of its end.
    across: (String, String),
    points: Vec<(f64, f64, char)>,
    /// A horizontal line, and its label.
    limit: Option<(f64, String)>,
    scale: Scale,
}

/// How values become heights, and their labels.
#[derive(Clone, Copy)]
enum Scale {
    /// Nanoseconds, logarithmic.
    Time,
    /// Numbers from 0.
    Count,
}

impl Scale {
    fn height(self, value: f64) -> f64 {
        match self {
            Self::Time => value.max(1.0).ln(),
            Self::Count => value,
        }
    }

    fn print(self, value: f64) -> String {
        match self {
            Self::Time => units::latency(value),
            Self::Count => format!("{value:.0}"),
        }
    }
}

/// Returns the plot of a search; `None` with fewer than three points.
pub(super) fn scatter(doc: &RunDoc, find: &FindDoc) -> Option<String> {
    let plot = match find.kind {
        FindKind::Sessions => sessions(doc)?,
        FindKind::Rate | FindKind::Clients | FindKind::Logons => times(doc, find),
    };
    (plot.points.len() >= 3).then(|| plot.draw())
}

/// Returns the response times of the probes by what was achieved. They are those of the
/// first condition on a response time, or else the 99th percentiles. In a search for the rate of a
/// population, they are of that.
fn times(doc: &RunDoc, find: &FindDoc) -> Scatter {
    let population = find.population.as_deref();
    let limits = find.limit.iter();
    let limit = limits
        .filter_map(|limit| limit.parse::<Threshold>().ok()?.time_limit(population))
        .next();
    let (op, metric) = match &limit {
        Some(limit) => (limit.op.as_deref(), limit.metric),
        None => (None, Metric::P99),
    };
    let probes = find.probes.iter().zip(&doc.load_points);
    let points = probes.filter_map(|(probe, point)| {
        let time = metric.measured(&[&find.searched(point)], op)?.value;
        let load = if find.kind.is_rate() {
            probe.ops_per_s
        } else {
            probe.load
        };
        let mark = match probe.verdict {
            ProbeOutcome::Held => HELD,
            ProbeOutcome::Broke => BROKE,
            ProbeOutcome::ClientLimited | ProbeOutcome::Unknown => UNKNOWN,
        };
        Some((load, time, mark))
    });
    let points: Vec<_> = points.collect();
    let last = points.iter().map(|(load, ..)| *load).fold(0.0, f64::max);
    let of_op = op.map(|op| format!("{op} ")).unwrap_or_default();
    let axis = if find.kind.is_rate() {
        "achieved rate"
    } else {
        "clients"
    };
    Scatter {
        title: format!(
            "{of_op}{} response time by {axis} ({HELD} held, {BROKE} broke the limit, {UNKNOWN} not judged)",
            metric.name()
        ),
        across: (axis.to_owned(), find.kind.print(last)),
        points,
        limit: limit.map(|limit| (limit.nanoseconds, "limit".to_owned())),
        scale: Scale::Time,
    }
}

/// Returns the sessions that stood, and those that failed, during the set-up.
fn sessions(doc: &RunDoc) -> Option<Scatter> {
    let attempts = doc.load_points.last()?.setup.attempts.as_ref()?;
    let course = attempts.over_time.iter();
    let points = course.flat_map(|at| {
        let failed = (at.s, f64::from(at.failed), BROKE);
        [failed, (at.s, f64::from(at.stood), HELD)]
    });
    let last = attempts.over_time.last()?.s;
    Some(Scatter {
        title: format!("sessions during the set-up ({HELD} stood, {BROKE} failed)"),
        across: ("time".to_owned(), units::seconds(last)),
        points: points.collect(),
        limit: None,
        scale: Scale::Count,
    })
}

impl Scatter {
    fn draw(&self) -> String {
        let heights = self.points.iter().map(|(_, value, _)| *value);
        let values: Vec<f64> = heights
            .chain(self.limit.iter().map(|(value, _)| *value))
            .collect();
        let highest = values.iter().copied().fold(0.0, f64::max);
        let lowest = match self.scale {
            Scale::Time => values.iter().copied().fold(highest, f64::min),
            Scale::Count => 0.0,
        };
        let last = self.points.iter().map(|(at, ..)| *at).fold(0.0, f64::max);
        let place = |value: f64, from: f64, to: f64, cells: usize| {
            let share = if to > from {
                (value - from) / (to - from)
            } else {
                0.0
            };
            (share * (cells - 1) as f64).round() as usize
        };
        let height = |value: f64| self.scale.height(value);
        let row = |value: f64| {
            let up = place(height(value), height(lowest), height(highest), HEIGHT);
            HEIGHT - 1 - up.min(HEIGHT - 1)
        };
        let mut cells = vec![vec![' '; WIDTH]; HEIGHT];
        if let Some((limit, _)) = &self.limit {
            cells[row(*limit)].fill('-');
        }
        for (at, value, mark) in &self.points {
            let column = place(*at, 0.0, last, WIDTH).min(WIDTH - 1);
            cells[row(*value)][column] = *mark;
        }
        let limit = self.limit.as_ref();
        let label = |number: usize| match limit.filter(|(at, _)| row(*at) == number) {
            Some((_, name)) => name.clone(),
            None if number == 0 => self.scale.print(highest),
            None if number == HEIGHT - 1 => self.scale.print(lowest),
            None => String::new(),
        };
        let mut text = format!("{}\n", self.title);
        for (number, row) in cells.iter().enumerate() {
            let row: String = row.iter().collect();
            let line = format!("{:>LABEL$} |{row}", label(number));
            text += &format!("{}\n", line.trim_end());
        }
        let (name, end) = &self.across;
        let room = WIDTH.saturating_sub(name.chars().count() + 3);
        text += &format!("{:>LABEL$} +{}\n", "", "-".repeat(WIDTH));
        text += &format!("{:>LABEL$}  0 {name} {end:>room$}\n", "");
        text
    }
}
