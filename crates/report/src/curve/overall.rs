//! The overall response time of a curve: its mean response time over all rates.
//!
//! It is the area under mean response time by achieved operations per second, by the
//! trapezoidal rule, divided by the range of these operations. The published rules of
//! file server benchmarks divide by the highest rate instead, but their figures are
//! those of the range.

use super::{Curve, CurveRow};
use crate::doc::{CurveDoc, CurvePointDoc};

/// Fewest load points of a curve.
const POINTS_MIN: usize = 3;
/// Largest deviation of a gap between loads from the mean gap of an even curve.
const GAP_TOLERANCE: f64 = 0.3;

impl Curve<'_> {
    /// Returns the overall response time; `None` with fewer than three load points.
    #[must_use]
    pub fn overall(&self) -> Option<CurveDoc> {
        // Stages are one load over time, and no curve over loads.
        let is_staged = self.rows.iter().any(|row| row.load().stage.is_some());
        if self.rows.len() < POINTS_MIN || is_staged {
            return None;
        }
        let rates = self.rows.iter().map(|row| row.ops_per_s);
        let top = super::first_highest(rates.enumerate())?;
        let rows = &self.rows[..=top];
        let points: Vec<_> = rows.iter().filter_map(point).collect();
        let reason = self.objection(rows, &points);
        Some(CurveDoc {
            ort_ns: reason.is_none().then(|| overall(&points)),
            points: u32::try_from(rows.len()).unwrap_or(u32::MAX),
            ops_per_s_from: rows.first()?.ops_per_s,
            ops_per_s_to: rows.last()?.ops_per_s,
            even: is_even(rows),
            valid: reason.is_none(),
            reason,
            rightmost: self.rightmost(),
        })
    }

    /// Returns the quotable load point of the highest load.
    fn rightmost(&self) -> Option<CurvePointDoc> {
        let mut rows = self.rows.iter().rev();
        let row = rows.find(|row| row.is_quotable() && !misses_rate(row))?;
        let (ops_per_s, latency_mean_ns) = point(row)?;
        Some(CurvePointDoc {
            clients: row.clients,
            rate: row.load().rate,
            units: row.passes.first().and_then(|pass| pass.units),
            ops_per_s,
            latency_mean_ns,
        })
    }

    /// Returns why the curve may not be quoted.
    fn objection(&self, rows: &[CurveRow<'_>], points: &[(f64, f64)]) -> Option<String> {
        if let Some(row) = self.rows.iter().find(|row| !row.is_quotable()) {
            let load = row.load();
            return Some(format!("the load point of {load} is not valid"));
        }
        if let Some(row) = rows.iter().find(|row| misses_rate(row)) {
            return Some(format!("the rate of {} was not reached", row.load()));
        }
        if rows.len() < POINTS_MIN {
            let load = rows.last()?.load();
            let place = format!("operations per second are highest at {load}");
            return Some(format!("{place}: fewer than 3 load points lead there"));
        }
        let rises = points.windows(2).all(|pair| pair[0].0 < pair[1].0);
        (!rises).then(|| "operations per second do not rise from point to point".to_owned())
    }
}

fn misses_rate(row: &CurveRow<'_>) -> bool {
    row.passes.iter().any(|pass| pass.misses_rate())
}

/// Returns operations per second and the mean response time in nanoseconds.
fn point(row: &CurveRow<'_>) -> Option<(f64, f64)> {
    Some((row.ops_per_s, row.latency_ns.as_ref()?.mean))
}

/// Returns the area under the points, divided by their range.
fn overall(points: &[(f64, f64)]) -> f64 {
    let areas = points.windows(2).map(|pair| {
        let [(from, low), (to, high)] = [pair[0], pair[1]];
        (to - from) * (low + high) / 2.0
    });
    let ends = points.first().zip(points.last());
    let range = ends.map_or(0.0, |((from, _), (to, _))| to - from);
    areas.sum::<f64>() / range
}

fn is_even(rows: &[CurveRow<'_>]) -> bool {
    let loads: Vec<_> = rows.iter().map(|row| row.load().number()).collect();
    let mean_gap = loads.last().copied().unwrap_or(0.0) / loads.len() as f64;
    let before = std::iter::once(&0.0).chain(&loads);
    let mut gaps = before.zip(&loads).map(|(before, load)| load - before);
    gaps.all(|gap| (gap / mean_gap - 1.0).abs() <= GAP_TOLERANCE)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The worked example of the published rules.
    #[test]
    fn the_area_is_divided_by_the_range() {
        let ms = 1e6;
        assert_eq!(overall(&[(1000.0, ms), (2000.0, 2.0 * ms)]), 1.5 * ms);
        let uneven = [(100.0, ms), (200.0, ms), (1000.0, 3.0 * ms)];
        let expected = (100.0 * ms + 800.0 * 2.0 * ms) / 900.0;
        assert!((overall(&uneven) - expected).abs() < 1e-3);
    }
}
