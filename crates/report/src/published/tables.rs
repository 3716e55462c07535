//! The tables of a study.

mod dips;

pub use dips::dips;

use super::words::{versus, whole_change};
use super::{
    Contender, CurvePoint, adapter, efficiency_at_peaks, event_costs, limit_changes, limits,
    percentages,
};
use crate::change::{Change, ConfidenceInterval, Noise};
use crate::doubt::Doubt;
use crate::metric::Metric;
use crate::names::{listed, said_once};
use crate::study::{ComparisonDoc, ComparisonKind, Study, StudyServerDoc};
use crate::table::{Cell, Column, Table};
use crate::units;

/// Returns all tables of a study. Those of each profile are the costs of events, the peaks, the
/// dips, the efficiency at the peaks, and the comparisons of the study. Then come the limits
/// that its searches have found.
#[must_use]
pub fn tables(study: &Study) -> Vec<Table> {
    let mut tables: Vec<_> = adapter(study).into_iter().collect();
    // A study with one load point has its peak in that table already, and no dip.
    let is_in_adapter = !tables.is_empty() && study.doc.load_points.len() == 1;
    for (at, profile) in study.doc.profiles.iter().enumerate() {
        let contenders = contenders(study, at);
        let measured = contenders.iter().filter(|of| !of.points.is_empty());
        let measured: Vec<_> = measured.cloned().collect();
        let mut of_profile: Vec<_> = event_costs(study, at).into_iter().collect();
        if !measured.is_empty() && !is_in_adapter {
            let mut peaks = peaks(&measured);
            // Documents that were not planned together have one profile each.
            if !study.doc.command.is_empty() {
                peaks.notes.extend(missing(&contenders));
            }
            of_profile.push(peaks);
            of_profile.extend(dips(&measured));
        }
        if !measured.is_empty() {
            of_profile.extend(efficiency_at_peaks(study, at));
            let comparisons = study.doc.comparisons.iter();
            of_profile.extend(comparisons.map(|part| asked_for(study, at, part)));
        }
        for table in &mut of_profile {
            if study.doc.profiles.len() > 1 {
                table.title = format!("{profile}: {}", table.title);
            }
        }
        tables.extend(of_profile);
    }
    tables.extend(limits(study));
    let comparisons = study.doc.comparisons.iter();
    tables.extend(comparisons.filter_map(|part| limit_changes(study, part)));
    tables
}

/// Returns a comparison that a study asks for, for one of its profiles.
#[must_use]
pub fn asked_for(study: &Study, profile: usize, part: &ComparisonDoc) -> Table {
    let contenders = contenders(study, profile);
    let named = |name: &str| {
        let known = contenders.iter().find(|contender| contender.name == name);
        known.cloned().unwrap_or_else(|| nothing(name))
    };
    let compared: Vec<_> = part.rows().map(named).collect();
    comparison(&part.title, part.kind, &compared)
}

/// Returns the servers of a study in their order, including those without a result.
#[must_use]
pub fn contenders(study: &Study, profile: usize) -> Vec<Contender> {
    let servers = study.doc.servers.iter().enumerate();
    // The load points of a search are its probes.
    let run = |at| study.run(at, profile).filter(|run| run.find.is_none());
    let contender = |(at, server): (usize, &StudyServerDoc)| match run(at) {
        Some(run) => Contender::of_run(&server.name, run),
        None => nothing(&server.name),
    };
    servers.map(contender).collect()
}

fn nothing(name: &str) -> Contender {
    Contender {
        name: name.to_owned(),
        metric: Metric::Throughput,
        points: Vec::new(),
        left_out: Vec::new(),
        plateau: None,
        remarks: Vec::new(),
    }
}

/// Returns the name of the column of heights, which is their unit.
fn unit(contenders: &[Contender]) -> &'static str {
    let measured = contenders.iter().filter(|of| !of.points.is_empty());
    let mut metrics = measured.map(|contender| contender.metric);
    match metrics.next() {
        Some(Metric::Operations) if metrics.all(|metric| metric == Metric::Operations) => "ops/s",
        _ => "Mbit/s",
    }
}

fn height(contender: &Contender, point: &CurvePoint) -> Cell {
    let cell = of_height(contender, point.height.value);
    point.height_doubt().at(cell)
}

fn mean_response(point: &CurvePoint) -> Cell {
    point.response_doubts[0].at(Cell::latency(point.response_mean_ns))
}

fn p99(point: &CurvePoint) -> Cell {
    let p99 = point.response_p99_ns.map(|ns| ns as f64);
    point.response_doubts[1].at(Cell::latency(p99))
}

/// Formats a height of this contender, or a deviation, with the digits of the
/// metric.
fn of_height(contender: &Contender, value: f64) -> Cell {
    let text = match contender.metric {
        Metric::Throughput => units::throughput(value),
        _ => units::rate(value),
    };
    Cell::number(value, text)
}

/// Returns the notes on the marks of the peaks: of heights, and of these response times.
fn marks(contenders: &[Contender], shown: usize) -> impl Iterator<Item = String> {
    let peaks = contenders.iter().filter_map(Contender::peak);
    Doubt::notes(peaks.flat_map(move |peak| {
        let of_times = peak.response_doubts.into_iter().take(shown);
        of_times.chain([peak.height_doubt()])
    }))
}

/// Returns the table of each server's peak with its response time.
#[must_use]
pub fn peaks(contenders: &[Contender]) -> Table {
    let columns = vec![
        Column::text("server"),
        Column::number(unit(contenders)),
        Column::number("std dev"),
        Column::number("clients"),
        Column::number("mean response"),
        Column::number("p99"),
        Column::number("passes"),
        Column::number("within 5 %"),
    ];
    let cells = |contender: &Contender, peak: &CurvePoint| {
        let deviation = peak
            .height
            .spread
            .filter(|spread| spread.noise == Noise::Passes)
            .map(|spread| spread.relative_variance.sqrt() * peak.height.value)
            .map(|deviation| of_height(contender, deviation));
        vec![
            contender.name.as_str().into(),
            height(contender, peak),
            Cell::or_dash(deviation),
            Cell::count(peak.clients.into()),
            mean_response(peak),
            p99(peak),
            Cell::count(peak.passes as u64),
            Cell::or_dash(contender.plateau.map(|(from, to)| {
                if from == to {
                    from.to_string().into()
                } else {
                    format!("{from} to {to}").into()
                }
            })),
        ]
    };
    let nothing = |contender: &Contender| {
        let name = Cell::from(contender.name.as_str());
        let dashes = (1..columns.len()).map(|_| Cell::or_dash(None));
        [name].into_iter().chain(dashes).collect()
    };
    let rows = contenders.iter().map(|contender| match contender.peak() {
        Some(peak) => cells(contender, peak),
        None => nothing(contender),
    });
    let rows = rows.collect();
    let mut notes = vec![
        "peak: the highest valid load point of the mean over passes".to_owned(),
        "within 5 %: load points around the peak that reach 95 % of it".to_owned(),
        "std dev: standard deviation over passes; response times are over the operations of all passes"
            .to_owned(),
    ];
    notes.extend(marks(contenders, 2));
    let operations = contenders
        .iter()
        .filter(|contender| contender.metric == Metric::Operations && unit(contenders) != "ops/s")
        .filter(|contender| !contender.points.is_empty());
    notes.extend(operations.map(|contender| {
        format!(
            "{} moved no data: its peak is in operations per second",
            contender.name
        )
    }));
    notes.extend(remarks(contenders));
    notes.extend(missing(contenders));
    Table {
        title: "peak, and response time there".to_owned(),
        columns,
        rows,
        notes,
    }
}

/// Returns the table of servers compared with the first one, the baseline, or each
/// with the row above.
#[must_use]
pub fn comparison(title: &str, kind: ComparisonKind, contenders: &[Contender]) -> Table {
    let changes = percentages(kind, contenders);
    let over_passes = |interval: &ConfidenceInterval| interval.noise == Noise::Passes;
    let interval = |change: &Change| change.interval.filter(over_passes);
    let has_intervals = changes.iter().flatten().any(|of| interval(of).is_some());
    let mut columns = vec![
        Column::text("server"),
        Column::number(unit(contenders)),
        Column::number("clients"),
        Column::number(versus(kind, first(contenders))),
    ];
    if has_intervals {
        columns.push(Column::number("95 % interval"));
    }
    columns.push(Column::number("mean response"));
    let rows = contenders.iter().enumerate().zip(&changes);
    let rows = rows.map(|((at, contender), change)| {
        let peak = contender.peak();
        // A change is no better than the peaks that it is made of.
        let before = contenders[from(kind, at)].peak();
        let mut doubts = [before, peak].into_iter().flatten();
        let is_limited = doubts.any(|of| of.is_generator_limited);
        let of_change = if is_limited {
            Doubt::ClientLimited
        } else {
            Doubt::None
        };
        let mut cells = vec![
            contender.name.as_str().into(),
            Cell::or_dash(peak.map(|peak| height(contender, peak))),
            Cell::or_dash(peak.map(|peak| Cell::count(peak.clients.into()))),
            of_change.at(Cell::of(change.map(|change| change.percent), whole_change)),
        ];
        if has_intervals {
            let interval = change.as_ref().and_then(interval);
            let interval = Cell::or_dash(
                interval.map(|interval| units::changes(interval.low, interval.high).into()),
            );
            cells.push(of_change.at(interval));
        }
        cells.push(Cell::or_dash(peak.map(mean_response)));
        cells
    });
    Table {
        title: title.to_owned(),
        columns,
        rows: rows.collect(),
        notes: notes(kind, contenders, has_intervals),
    }
}

fn first(contenders: &[Contender]) -> &str {
    contenders.first().map_or("", |contender| &contender.name)
}

fn notes(kind: ComparisonKind, contenders: &[Contender], has_intervals: bool) -> Vec<String> {
    let from = match kind {
        ComparisonKind::Scaling => "the row above".to_owned(),
        ComparisonKind::Change | ComparisonKind::Gain => {
            format!("the baseline {}", first(contenders))
        }
    };
    let mut notes = vec![format!(
        "{}: change of the peak from {from}",
        versus(kind, first(contenders))
    )];
    if kind == ComparisonKind::Gain {
        notes.push(format!(
            "an earlier release wrote this study: it showed the gain of {} over each other server",
            first(contenders)
        ));
    }
    let mut peaks = contenders.iter().filter_map(Contender::peak);
    if has_intervals {
        notes.push("95 % interval: Welch's over passes, of the percentage".to_owned());
    } else if peaks.any(|peak| peak.height.spread.is_some()) {
        notes.push("one pass: how far runs lie apart is not known".to_owned());
    }
    notes.extend(marks(contenders, 1));
    notes.extend(remarks(contenders));
    notes.extend(missing(contenders));
    notes
}

/// Returns the place of the contender that another one is compared with.
const fn from(kind: ComparisonKind, at: usize) -> usize {
    match kind {
        ComparisonKind::Scaling => at.saturating_sub(1),
        ComparisonKind::Change | ComparisonKind::Gain => 0,
    }
}

/// Returns the remarks on the contenders, each once.
fn remarks(contenders: &[Contender]) -> Vec<String> {
    let remarks = contenders.iter().flat_map(|contender| {
        let remarks = contender.remarks.iter();
        remarks.map(|remark| (contender.name.as_str(), remark.clone()))
    });
    said_once(remarks, contenders.len())
}

/// Names the contenders without results in a line.
fn missing(contenders: &[Contender]) -> Option<String> {
    let missing = contenders.iter().filter(|found| found.points.is_empty());
    let names: Vec<_> = missing.map(|found| found.name.as_str()).collect();
    let has = if names.len() == 1 { "has" } else { "have" };
    (!names.is_empty()).then(|| format!("{} {has} no valid load point yet", listed(&names)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::change::Measured;

    #[test]
    fn a_deviation_has_the_digits_of_its_peak() {
        for (metric, peak, deviation) in [
            (Metric::Throughput, "2400", "141.4"),
            (Metric::Operations, "2400", "141"),
        ] {
            let point = CurvePoint {
                clients: 4,
                passes: 2,
                height: Measured::over_passes(&[2300.0, 2500.0]).unwrap(),
                response_mean_ns: None,
                response_p99_ns: None,
                is_generator_limited: false,
                response_doubts: [Doubt::None; 2],
            };
            let contender = Contender {
                metric,
                points: vec![point],
                ..nothing("x")
            };
            let row = &peaks(&[contender]).rows[0];
            assert_eq!(
                [1, 2].map(|column| Table::cell(row, column)),
                [peak, deviation]
            );
        }
    }
}
