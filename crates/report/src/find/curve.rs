//! The load curve after a search for a rate: even rates up to the answer, and two figures for
//! all of them.
//!
//! Invariant: one point that does not count leaves the curve without figures.

use itertools::Itertools as _;

use super::judge::achieved;
use crate::doc::{FindDoc, LoadCurveDoc, LoadCurvePointDoc, LoadPointDoc};
use crate::table::{Cell, Column, Table};
use crate::units::{counted, latency, plain, rate};

/// Share of its rate that a point must reach.
const REACHED_MIN: f64 = 0.95;
/// Share of its part of the rate that the slowest client must reach.
const SLOWEST_MIN: f64 = 0.75;

/// The points of a curve so far.
#[derive(Clone, Debug)]
pub(super) struct LoadCurve {
    /// How many points are asked for.
    pub(super) asked: u32,
    points: Vec<LoadCurvePointDoc>,
}

impl LoadCurve {
    pub(super) const fn new(asked: u32) -> Self {
        Self {
            asked,
            points: Vec::new(),
        }
    }

    /// Returns the rate of the next point; `None` after the last one.
    pub(super) fn next_load(&self, answer: f64) -> Option<f64> {
        let at = self.points.len() as u32 + 1;
        (at <= self.asked).then(|| answer * f64::from(at) / f64::from(self.asked))
    }

    /// Adds a load point. `missed` says which population missed its rate.
    pub(super) fn add(&mut self, load: f64, point: &LoadPointDoc, missed: Option<String>) {
        self.points.push(LoadCurvePointDoc {
            rate: load,
            ops_per_s: achieved(point),
            latency_mean_ns: point.latency_ns.map(|latency| latency.mean),
            invalid_reason: objection(load, point).or(missed),
        });
    }

    pub(super) fn to_doc(&self) -> LoadCurveDoc {
        let is_whole = self.points.len() == self.asked as usize
            && self
                .points
                .iter()
                .all(|point| point.invalid_reason.is_none());
        let last = self.points.last().filter(|_| is_whole);
        let areas = areas(&self.points).filter(|_| is_whole);
        LoadCurveDoc {
            asked: self.asked,
            points: self.points.clone(),
            ops_per_s: last.map(|point| point.ops_per_s),
            ort_ns: areas.map(|(area, range, _)| area / range),
            ort_by_peak_ns: areas.map(|(area, _, peak)| area / peak),
        }
    }
}

/// Returns why a point does not count.
fn objection(load: f64, point: &LoadPointDoc) -> Option<String> {
    if !point.valid {
        let reason = point.invalid_reason.clone();
        return Some(reason.unwrap_or_else(|| "no reason given".to_owned()));
    }
    if point.latency_ns.is_none() {
        return Some("no operation completed".to_owned());
    }
    let reached = achieved(point) / load;
    let due = load * point.window_s;
    // Two operations may be at the edges of the window.
    if due * (1.0 - reached) > (due * (1.0 - REACHED_MIN)).max(2.0) {
        return Some(format!("{:.0} % of the rate was reached", reached * 100.0));
    }
    let part = due / f64::from(point.clients.max(1));
    let fewest = point.fairness.as_ref()?.min as f64;
    // An operation may be at the edge of the window.
    (fewest + 1.0 < part * SLOWEST_MIN).then(|| {
        let share = fewest / part * 100.0;
        format!("a client reached {share:.0} % of its part of the rate")
    })
}

/// Returns the area below the curve, its range, and its highest rate.
fn areas(points: &[LoadCurvePointDoc]) -> Option<(f64, f64, f64)> {
    let at: Option<Vec<(f64, f64)>> = points
        .iter()
        .map(|point| Some((point.ops_per_s, point.latency_mean_ns?)))
        .collect();
    let at = at?;
    let area = at
        .iter()
        .tuple_windows()
        .map(|(one, next)| (next.0 - one.0) * (one.1 + next.1) / 2.0)
        .sum();
    let rates = || at.iter().map(|point| point.0);
    let (least, most) = (
        rates().min_by(f64::total_cmp)?,
        rates().max_by(f64::total_cmp)?,
    );
    (most > least).then_some((area, most - least, most))
}

/// Returns the curve of a search, if one was asked for and begun.
#[must_use]
pub fn curve(doc: &FindDoc) -> Option<Table> {
    let curve = doc
        .curve
        .as_ref()
        .filter(|curve| !curve.points.is_empty())?;
    let columns = vec![
        Column::number("asked ops/s"),
        Column::number("ops/s"),
        Column::number("mean"),
        Column::text("because"),
    ];
    let row = |point: &LoadCurvePointDoc| {
        vec![
            Cell::of(Some(point.rate), rate),
            Cell::of(Some(point.ops_per_s), rate),
            Cell::of(point.latency_mean_ns, latency),
            plain(point.invalid_reason.as_deref().unwrap_or("counts")).into(),
        ]
    };
    Some(Table {
        title: "Load curve".to_owned(),
        columns,
        rows: curve.points.iter().map(row).collect(),
        notes: vec![in_words(curve)],
    })
}

fn in_words(curve: &LoadCurveDoc) -> String {
    let last = curve.points.last().and_then(|point| point.latency_mean_ns);
    match (curve.ops_per_s, last, curve.ort_ns, curve.ort_by_peak_ns) {
        (Some(ops_per_s), Some(last), Some(ort), Some(by_peak)) => format!(
            "{} ops/s at {}, overall response time {} (divided by the highest rate: {})",
            rate(ops_per_s),
            latency(last),
            latency(ort),
            latency(by_peak)
        ),
        _ => {
            let counting = curve
                .points
                .iter()
                .filter(|point| point.invalid_reason.is_none());
            format!(
                "no overall response time: {} of {} count",
                counting.count(),
                counted(curve.asked.into(), "point")
            )
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn point(ops_per_s: f64, ms: f64) -> LoadCurvePointDoc {
        LoadCurvePointDoc {
            rate: ops_per_s,
            ops_per_s,
            latency_mean_ns: Some(ms * 1e6),
            invalid_reason: None,
        }
    }

    fn of(points: Vec<LoadCurvePointDoc>) -> LoadCurveDoc {
        let asked = points.len() as u32;
        LoadCurve { asked, points }.to_doc()
    }

    #[test]
    fn the_overall_response_time_is_the_area_divided_by_the_range() {
        let doc = of(vec![point(1000.0, 1.0), point(2000.0, 2.0)]);
        assert_eq!(doc.ort_ns, Some(1.5e6));
        assert_eq!(doc.ort_by_peak_ns, Some(0.75e6));
        assert_eq!(doc.ops_per_s, Some(2000.0));
        // The last point counts, and not the highest.
        let doc = of(vec![
            point(1000.0, 1.0),
            point(2000.0, 1.0),
            point(1900.0, 1.0),
        ]);
        assert_eq!(doc.ops_per_s, Some(1900.0));
        let doc = of(vec![point(1000.0, 1.0)]);
        assert_eq!(doc.ort_ns, None);
    }

    #[test]
    fn one_point_that_does_not_count_leaves_no_figures() {
        let bad = LoadCurvePointDoc {
            invalid_reason: Some("90 % of the rate was reached".to_owned()),
            ..point(2000.0, 2.0)
        };
        let doc = of(vec![point(1000.0, 1.0), bad]);
        assert_eq!((doc.ort_ns, doc.ops_per_s), (None, None));
        assert_eq!(
            in_words(&doc),
            "no overall response time: 1 of 2 points count"
        );
    }

    #[test]
    fn rates_are_even_up_to_the_answer() {
        let mut curve = LoadCurve::new(4);
        let mut loads = Vec::new();
        while let Some(load) = curve.next_load(1000.0) {
            loads.push(load);
            curve.points.push(point(load, 1.0));
        }
        assert_eq!(loads, [250.0, 500.0, 750.0, 1000.0]);
    }
}
