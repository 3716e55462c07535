//! A population at a load, over all passes. Averages are those of [`crate::curve`]: rates are
//! means over passes, response times are pooled. Not here: printing.

use std::borrow::Cow;

use crate::curve::{CurveRow, total};
use crate::doc::{
    ConcurrencyDoc, FindDoc, LoadPointDoc, OpDoc, PopulationPointDoc, ReachedDoc, StreamsDoc,
    is_asked_for,
};
use crate::latency::{LatencyDoc, pool};
use crate::statistics::{Estimate, per};

impl FindDoc {
    /// Returns the part of a load point whose rate was searched for.
    #[must_use]
    pub fn searched<'a>(&self, point: &'a LoadPointDoc) -> Cow<'a, LoadPointDoc> {
        point.part_of(self.population.as_deref())
    }
}

impl LoadPointDoc {
    /// Returns the part of a population, or the whole load point if none is named.
    pub(crate) fn part_of(&self, population: Option<&str>) -> Cow<'_, Self> {
        let part = population.and_then(|name| self.of_population(name));
        part.map_or(Cow::Borrowed(self), Cow::Owned)
    }

    /// Returns the part of the population of this name, as if its clients had been all. What is
    /// not measured by population stays that of all clients.
    #[must_use]
    pub fn of_population(&self, name: &str) -> Option<Self> {
        let part = self.populations.iter().find(|part| part.name == name)?;
        Some(Self {
            clients: part.clients,
            throughput_mbps: part.throughput_mbps,
            ops_per_s: part.ops_per_s,
            latency_ns: part.latency_ns,
            ops: part.ops.clone(),
            series: Some(part.series.clone()),
            offered: part.offered,
            streams: part.streams,
            concurrency: Some(part.concurrency(self.window_s)),
            fairness: None,
            populations: Vec::new(),
            ..self.clone()
        })
    }
}

impl PopulationPointDoc {
    /// Returns how many of its operations were in flight, by Little's law.
    fn concurrency(&self, window_s: f64) -> ConcurrencyDoc {
        let asked_for = self.ops.iter().filter(|(name, _)| is_asked_for(name));
        let busy_s = asked_for.map(|(_, op)| {
            let mean_ns = op.service_ns.map_or(0.0, |service| service.mean);
            mean_ns / 1e9 * op.count as f64
        });
        let in_flight = per(busy_s.sum(), window_s);
        ConcurrencyDoc {
            in_flight_mean: in_flight,
            by_littles_law: in_flight,
            littles_ratio: None,
        }
    }
}

/// A population at a load. Of a row without a valid pass it has all passes.
pub(crate) struct PopulationRow<'a> {
    /// Its part of each pass, with the length of the window in seconds.
    passes: Vec<(f64, &'a PopulationPointDoc)>,
    /// Its part of each further pass, which is not valid.
    invalid: Vec<&'a PopulationPointDoc>,
}

impl<'a> PopulationRow<'a> {
    /// Returns the names of the populations of a row, in the order of the plan.
    pub(crate) fn names(row: &CurveRow<'a>) -> impl Iterator<Item = &'a str> + use<'a> {
        let first: Option<&'a LoadPointDoc> = row.passes.first().copied();
        let parts = first.into_iter().flat_map(|pass| &pass.populations);
        parts.map(|part| &part.name[..])
    }

    /// Returns the part of the population of this name in each pass of a row.
    pub(crate) fn points(row: &CurveRow<'_>, name: &str) -> Vec<LoadPointDoc> {
        let passes = row.passes.iter();
        passes.filter_map(|pass| pass.of_population(name)).collect()
    }

    /// Returns the population of this name, if the row has it.
    pub(crate) fn named(row: &CurveRow<'a>, name: &str) -> Option<Self> {
        let of = |pass: &'a LoadPointDoc| {
            let mut parts = pass.populations.iter();
            let part = parts.find(|part| part.name == name)?;
            Some((pass.window_s, part))
        };
        let passes: Vec<_> = row.passes.iter().copied().filter_map(of).collect();
        let invalid = row.invalid.iter().filter(|_| row.is_valid());
        let invalid = invalid.copied().filter_map(of).map(|(_, part)| part);
        let invalid = invalid.collect();
        (!passes.is_empty()).then_some(Self { passes, invalid })
    }

    /// Returns the number of its clients.
    pub(crate) fn clients(&self) -> u32 {
        self.passes.first().map_or(0, |(_, part)| part.clients)
    }

    /// Returns its throughput in Mbit/s; of one kind of operation, if `op` is given.
    pub(crate) fn throughput_mbps(&self, op: Option<&str>) -> Option<f64> {
        self.mean(|length_s, part| match op {
            None => Some(part.throughput_mbps),
            Some(op) => Some(per(part.ops.get(op)?.bytes as f64 * 8.0 / 1e6, length_s)),
        })
    }

    /// Returns its operations per second.
    pub(crate) fn ops_per_s(&self, op: Option<&str>) -> Option<f64> {
        self.mean(|length_s, part| match op {
            None => Some(part.ops_per_s),
            Some(op) => Some(per(part.ops.get(op)?.count as f64, length_s)),
        })
    }

    /// Returns the mean over passes; a pass without the value has none of it.
    fn mean(&self, of: impl Fn(f64, &PopulationPointDoc) -> Option<f64>) -> Option<f64> {
        let values = self
            .passes
            .iter()
            .map(|(length_s, part)| of(*length_s, part));
        let values: Vec<_> = values.collect();
        values.iter().flatten().next()?;
        let rates: Vec<_> = values.iter().map(|value| value.unwrap_or(0.0)).collect();
        Estimate::of(&rates).map(|rates| rates.mean)
    }

    /// Returns the frames of its streams over all passes; `None` unless each pass has them.
    pub(crate) fn streams(&self) -> Option<StreamsDoc> {
        let passes: Option<Vec<_>> = self.passes.iter().map(|(_, part)| part.streams).collect();
        StreamsDoc::of_all(passes?)
    }

    /// Returns what its clients reached of their rate, over the passes in which that was counted.
    pub(crate) fn reached(&self) -> Vec<ReachedDoc> {
        let parts = self.passes.iter();
        parts.filter_map(|(_, part)| part.reached).collect()
    }

    /// Returns its response times.
    pub(crate) fn latency(&self, op: Option<&str>) -> Option<LatencyDoc> {
        let ops = self.passes.iter().flat_map(|(_, part)| &part.ops);
        let ops = ops.filter(|(name, _)| op.map_or_else(|| is_asked_for(name), |op| op == *name));
        LatencyDoc::of(&pool(ops.map(|(_, op)| OpDoc::response(op))))
    }

    /// Returns the number of its failed operations, ramps and invalid passes included.
    pub(crate) fn errors(&self, op: Option<&str>) -> Option<u64> {
        match op {
            None => Some(total(self.all().map(|part| part.errors))),
            Some(op) => {
                let ops = || self.all().filter_map(|part| part.ops.get(op));
                ops().next()?;
                Some(total(ops().map(|op| op.errors)))
            }
        }
    }

    /// Returns its failed operations as a share of all, in percent.
    pub(crate) fn error_share(&self, op: Option<&str>) -> Option<f64> {
        let ops = self.all().flat_map(|part| &part.whole);
        let ops = ops.filter(|(name, _)| op.map_or_else(|| is_asked_for(name), |op| op == *name));
        let (mut errors, mut answered) = (0_u64, 0_u64);
        for (_, op) in ops {
            errors = errors.saturating_add(op.errors);
            answered = answered.saturating_add(op.count).saturating_add(op.errors);
        }
        (answered > 0).then(|| errors as f64 * 100.0 / answered as f64)
    }

    /// Returns its kinds of operations.
    pub(crate) fn kinds(&self) -> impl Iterator<Item = &'a str> {
        let parts = self.passes.iter();
        parts.flat_map(|(_, part)| part.ops.keys().map(String::as_str))
    }

    /// Returns one kind of its operations, of each pass.
    pub(crate) fn ops_of(&self, op: &str) -> impl Iterator<Item = &'a OpDoc> {
        let parts = self.passes.iter();
        parts.filter_map(move |(_, part)| part.ops.get(op))
    }

    fn all(&self) -> impl Iterator<Item = &'a PopulationPointDoc> {
        let passes = self.passes.iter().map(|(_, part)| *part);
        passes.chain(self.invalid.iter().copied())
    }
}
