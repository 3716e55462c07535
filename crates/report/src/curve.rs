//! Load points averaged over their passes: a curve over clients and its peak.
//!
//! An invalid pass is in no average. A row without any valid pass still shows its
//! numbers but is never the peak. Throughput is the mean over passes, as in
//! published NetBench results. Latency is pooled over all operations of those
//! passes. Not here: CPU time ([`crate::metric`]), printing.

mod overall;

use crate::doc::{
    FindDoc, FindKind, LoadPointDoc, OpDoc, PeakDoc, PooledDoc, RepeatsDoc, ServerCpuDoc,
    StreamsDoc,
};
use crate::latency::{LatencyDoc, pool};
use crate::load::Load;
use crate::metric::{Metric, PassSample};
use crate::replayed::Replayed;
use crate::statistics::{Estimate, per};

/// Least bytes per operation of a load that is about data.
const BYTES_PER_OP_MIN: f64 = 100.0;

/// A curve with one row per load, ascending: per number of clients, and per rate where
/// load points differ in it.
#[derive(Clone, Debug, PartialEq)]
pub struct Curve<'a> {
    /// Rows of the curve.
    pub rows: Vec<CurveRow<'a>>,
}

/// All passes at one load.
#[derive(Clone, Debug, PartialEq)]
pub struct CurveRow<'a> {
    /// Number of clients asked for.
    pub clients: u32,
    /// The load.
    load: Load,
    /// Passes behind the numbers below: the valid ones, or all passes if none is
    /// valid. Never empty.
    pub passes: Vec<&'a LoadPointDoc>,
    /// The passes that are not valid.
    pub invalid: Vec<&'a LoadPointDoc>,
    /// Throughput in Mbit/s, mean over passes.
    pub throughput_mbps: f64,
    /// Means over passes with their confidence intervals; `None` unless there are
    /// several valid passes. Response times over all of them are not among these
    /// ([`Self::pooled`]).
    pub repeats: Option<RepeatsDoc>,
    /// Operations per second, mean over passes.
    pub ops_per_s: f64,
    /// Response times pooled over passes; `None` without operations.
    pub latency_ns: Option<LatencyDoc>,
    /// Service times pooled over passes, if operations are due by the clock; `None`
    /// if they equal the response times.
    pub service_ns: Option<LatencyDoc>,
    /// Microseconds of the generator's CPU per operation: the mean of its busy cores
    /// over the mean of the operations per second.
    pub cpu_us_per_op: Option<f64>,
    /// Failed operations of all passes, including ramps and invalid passes.
    pub errors: u64,
    /// Operations of a replay that did not go as recorded, of the same passes.
    pub(crate) replayed: Replayed,
}

impl CurveRow<'_> {
    /// Returns the load of the row.
    #[must_use]
    pub const fn load(&self) -> Load {
        self.load
    }

    /// Returns whether the numbers may be quoted.
    #[must_use]
    pub fn is_valid(&self) -> bool {
        self.passes.iter().all(|pass| pass.valid)
    }

    /// Returns whether the numbers may be quoted, and exist.
    #[must_use]
    pub fn is_quotable(&self) -> bool {
        self.is_valid() && self.latency_ns.is_some()
    }

    /// Returns whether any pass is client-limited: the generator, not the server,
    /// limited its throughput.
    #[must_use]
    pub fn is_generator_limited(&self) -> bool {
        self.passes.iter().any(|pass| pass.is_client_limited())
    }

    /// Returns whether a stall at the end of the window is missing from the
    /// latencies of any pass.
    #[must_use]
    pub fn is_stalled(&self) -> bool {
        self.passes.iter().any(|pass| pass.stall_ns().is_some())
    }

    /// Returns the share of due operations that was answered at the requested rate,
    /// over all passes, 0 to 1. `None` without a rate, or if the share is not
    /// known.
    #[must_use]
    pub fn reached_share(&self) -> Option<f64> {
        let (mut due, mut answered) = (0.0, 0.0);
        for pass in &self.passes {
            let offered = pass.rated()?;
            // A pass that also answered what was due before it does not make up for another.
            let operations = offered.operations as f64;
            due += operations;
            answered += offered.reached_share()? * operations;
        }
        (due > 0.0).then(|| answered / due)
    }

    /// Returns the frames of streams over all passes; `None` unless each pass has them.
    #[must_use]
    pub fn streams(&self) -> Option<StreamsDoc> {
        let passes: Option<Vec<_>> = self.passes.iter().map(|pass| pass.streams).collect();
        StreamsDoc::of_all(passes?)
    }

    /// Returns the late frames of streams in percent of all.
    #[must_use]
    pub fn late_percent(&self) -> Option<f64> {
        self.streams()?.late_share.map(|share| share * 100.0)
    }

    /// Returns whether operations of a replay did not go as recorded, so that no latency
    /// contains them.
    #[must_use]
    pub fn has_differences(&self) -> bool {
        self.replayed.count() > 0
    }

    /// Returns a figure of the server's CPUs, the mean over passes; `None` unless
    /// each pass has it.
    #[must_use]
    pub fn server_cpu(&self, of: fn(&ServerCpuDoc) -> Option<f64>) -> Option<f64> {
        estimate(&self.passes, |pass| of(pass.server_cpu.as_ref()?)).map(|of| of.mean)
    }
}

impl CurveRow<'_> {
    /// Returns [`Self::repeats`] with the response times over the operations of all
    /// passes.
    #[must_use]
    pub fn pooled(&self) -> Option<RepeatsDoc> {
        let sample = PassSample::new(&self.passes, None);
        let pooled = |metric: Metric| PooledDoc::of(&metric.measured_in(&sample)?);
        Some(RepeatsDoc {
            latency_mean_pooled_ns: pooled(Metric::Mean),
            latency_p99_pooled_ns: pooled(Metric::P99),
            ..self.repeats?
        })
    }

    /// Returns the amount of an operation per second of the window, the mean over
    /// passes. `None` if no pass has the operation.
    #[must_use]
    pub fn op_per_s(&self, op: &str, of: fn(&OpDoc) -> u64) -> Option<f64> {
        let amounts = self.passes.iter().map(|pass| pass.ops.get(op).map(of));
        let amounts: Vec<_> = amounts.collect();
        amounts.iter().flatten().next()?;
        let rates = self.passes.iter().zip(&amounts);
        let rates = rates.map(|(pass, amount)| per(amount.unwrap_or(0) as f64, pass.window_s));
        let rates: Vec<_> = rates.collect();
        Estimate::of(&rates).map(|rates| rates.mean)
    }
}

impl<'a> CurveRow<'a> {
    /// Returns all passes, also those that are not valid.
    pub(crate) fn all_passes(&self) -> impl Iterator<Item = &'a LoadPointDoc> {
        let valid = self.passes.iter().filter(|pass| pass.valid);
        valid.chain(&self.invalid).copied()
    }

    /// Returns the operations of all passes that the workload asked for.
    pub fn asked_for(&self) -> impl Iterator<Item = &'a OpDoc> {
        self.passes.iter().flat_map(|pass| pass.asked_for())
    }
}

impl<'a> Curve<'a> {
    /// Averages the load points of a run.
    #[must_use]
    pub fn of(load_points: &'a [LoadPointDoc]) -> Self {
        let mut points: Vec<_> = load_points.iter().collect();
        points.sort_by_key(|point| point.load());
        let rows = points.chunk_by(|left, right| left.load() == right.load());
        Self {
            rows: rows.map(row).collect(),
        }
    }

    /// Returns the row with the highest throughput among the valid ones with
    /// operations. Of two equal rows, it is the one with fewer clients. If no row
    /// moved any data, it is the row with the most operations per second.
    #[must_use]
    pub fn peak_row(&self) -> Option<&CurveRow<'a>> {
        self.peak_index().map(|at| &self.rows[at])
    }

    /// Returns the row of a load.
    #[must_use]
    pub fn row(&self, load: Load) -> Option<&CurveRow<'a>> {
        self.rows.iter().find(|row| row.load() == load)
    }

    /// Returns the row of the answer of a search.
    #[must_use]
    pub fn row_of(&self, find: &FindDoc) -> Option<&CurveRow<'a>> {
        let result = find.result?;
        self.rows.iter().find(|row| match find.kind {
            FindKind::Rate | FindKind::Logons => row.load.rate == Some(result),
            FindKind::Clients | FindKind::Sessions => f64::from(row.clients) == result,
        })
    }

    /// Returns the peak, and the range of the plateau around it.
    #[must_use]
    pub fn peak(&self) -> Option<PeakDoc> {
        let at = self.peak_index()?;
        let row = &self.rows[at];
        let latency = row.latency_ns?;
        let height = self.height();
        // Stages are times, and no clients that could stand beside the peak.
        let near = |row: &&CurveRow<'_>| {
            let is_stage = row.load().stage.is_some();
            !is_stage && row.is_quotable() && height(row) >= 0.95 * height(&self.rows[at])
        };
        let last = self.rows[at..].iter().take_while(near).last();
        let first = self.rows[..=at].iter().rev().take_while(near).last();
        Some(PeakDoc {
            throughput_mbps: row.throughput_mbps,
            ops_per_s: Some(row.ops_per_s),
            clients: row.clients,
            latency_mean_ns: latency.mean,
            latency_p99_ns: latency.p99,
            passes: u32::try_from(row.passes.len()).unwrap_or(u32::MAX),
            within_95_percent_clients: last.unwrap_or(row).clients,
            within_95_percent_from_clients: first.unwrap_or(row).clients,
        })
    }

    /// Returns the metric of the curve: throughput, or operations per second if no
    /// row moved much data.
    #[must_use]
    pub fn metric(&self) -> Metric {
        let is_data = |row: &CurveRow<'_>| is_about_data(row.throughput_mbps, Some(row.ops_per_s));
        if self.rows.iter().any(is_data) {
            Metric::Throughput
        } else {
            Metric::Operations
        }
    }

    /// Returns a function that gives the value of a row.
    fn height(&self) -> fn(&CurveRow<'_>) -> f64 {
        match self.metric() {
            Metric::Throughput => |row| row.throughput_mbps,
            _ => |row| row.ops_per_s,
        }
    }

    fn peak_index(&self) -> Option<usize> {
        let height = self.height();
        let rows = self.rows.iter().enumerate();
        let rows = rows.filter(|(_, row)| row.is_quotable());
        first_highest(rows.map(|(at, row)| (at, height(row))))
    }
}

/// Returns whether a load is about data, with these Mbit/s and operations per second. If few
/// operations of many have data, its Mbit/s say little.
pub(crate) fn is_about_data(mbps: f64, ops_per_s: Option<f64>) -> bool {
    let bytes_per_s_min = ops_per_s.unwrap_or(0.0) * BYTES_PER_OP_MIN;
    mbps > 0.0 && mbps * 1e6 / 8.0 >= bytes_per_s_min
}

fn row<'a>(points: &[&'a LoadPointDoc]) -> CurveRow<'a> {
    let (valid, invalid): (Vec<&'a LoadPointDoc>, Vec<_>) =
        points.iter().partition(|point| point.valid);
    let passes = if valid.is_empty() {
        invalid.clone()
    } else {
        valid
    };
    let throughput = estimate(&passes, |pass| Some(pass.throughput_mbps));
    let ops_per_s = estimate(&passes, |pass| Some(pass.ops_per_s));
    let asked_for = || passes.iter().flat_map(|pass| pass.asked_for());
    // At a rate alone: with think times the two hardly differ.
    let is_paced = passes.iter().any(|pass| pass.rated().is_some());
    let service = is_paced.then(|| pool(asked_for().map(|op| &op.hdr)));
    CurveRow {
        clients: points.first().map_or(0, |point| point.clients),
        load: points
            .first()
            .map_or(Load::of(0, None), |point| point.load()),
        throughput_mbps: throughput.map_or(0.0, |of| of.mean),
        ops_per_s: ops_per_s.map_or(0.0, |of| of.mean),
        repeats: repeats(&passes),
        latency_ns: LatencyDoc::of(&pool(asked_for().map(OpDoc::response))),
        service_ns: service.as_ref().and_then(LatencyDoc::of),
        cpu_us_per_op: Metric::Cpu.us_per_op(&passes),
        errors: total(points.iter().map(|point| point.errors)),
        replayed: Replayed::of(points.iter().copied()),
        passes,
        invalid,
    }
}

/// Estimates a mean over passes; `None` if a pass lacks the value, or there is no
/// pass.
fn estimate(
    passes: &[&LoadPointDoc],
    of: impl Fn(&LoadPointDoc) -> Option<f64>,
) -> Option<Estimate> {
    let values: Option<Vec<f64>> = passes.iter().map(|pass| of(pass)).collect();
    Estimate::of(&values?)
}

fn repeats(passes: &[&LoadPointDoc]) -> Option<RepeatsDoc> {
    let first = passes.first()?;
    if passes.len() < 2 || !first.valid {
        return None;
    }
    Some(RepeatsDoc {
        clients: first.clients,
        passes: u32::try_from(passes.len()).unwrap_or(u32::MAX),
        throughput_mbps: estimate(passes, |pass| Some(pass.throughput_mbps))?,
        ops_per_s: estimate(passes, |pass| Some(pass.ops_per_s))?,
        latency_mean_ns: estimate(passes, |pass| Some(pass.latency_ns?.mean)),
        latency_p99_ns: estimate(passes, |pass| Some(pass.latency_ns?.p99 as f64)),
        latency_mean_pooled_ns: None,
        latency_p99_pooled_ns: None,
    })
}

/// Returns the place of the highest value; of two equal ones, the first.
pub(crate) fn first_highest(
    values: impl DoubleEndedIterator<Item = (usize, f64)>,
) -> Option<usize> {
    let highest = values.rev().max_by(|one, other| one.1.total_cmp(&other.1));
    highest.map(|(at, _)| at)
}

/// Adds counts so that a hostile document cannot make the sum overflow.
pub(crate) fn total(counts: impl Iterator<Item = u64>) -> u64 {
    counts.fold(0, u64::saturating_add)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_saturate() {
        assert_eq!(total([u64::MAX, 1].into_iter()), u64::MAX);
    }
}
