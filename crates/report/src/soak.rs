//! Trends of a soak: whether latency, rate, errors, memory or handles drifted under an even load.
//!
//! The order of a value that drifts is unlikely without a trend (Mann-Kendall, with the correction
//! for ties). The change must also be large enough to matter. The size of the change is
//! the median of the slopes between all pairs of rows (Sen 1968), which a few bad rows do not
//! move.

mod growth;

use std::time::Duration;

use smbench_model::cpu::CpuScope;
use smbench_model::stages::StagesPurpose;
use smbench_model::units::format_duration;
use statrs::distribution::{ContinuousCDF as _, Normal};

use crate::doc::{LoadPointDoc, Named, RunDoc, SoakDoc, TrendDoc};
use crate::units::{self, bytes};
pub(crate) use growth::GrowthFigure;

/// Fewest rows that show a trend.
const ROWS_MIN: usize = 8;
/// Highest probability of an order of values that counts as a trend.
const P_MAX: f64 = 0.001;
/// Most rows of which all pairs are looked at; of more, rows are left out evenly.
const ROWS_MAX: usize = 500;

/// A value of the rows.
struct WatchedValue {
    name: &'static str,
    of: fn(&LoadPointDoc) -> Option<f64>,
    /// Smallest change over the soak that matters, as a part of the value, 0 to 1.
    share_min: f64,
    /// Smallest change that matters.
    change_min: f64,
    /// Which way is bad.
    bad: Bad,
    /// The rows that have it.
    rows: Rows,
}

/// The rows that a value is compared in.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Rows {
    /// Each: the value does not depend on what operations did.
    All,
    /// Those whose operations say something.
    Quotable,
}

/// The direction in which a change is worse.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Bad {
    Up,
    Down,
}

const MIB: f64 = 1_048_576.0;
const SERVER_MEMORY: &str = "server_memory_bytes";
const WATCHED: [WatchedValue; 7] = [
    WatchedValue {
        name: "latency_mean_ns",
        of: |row| row.latency_ns.map(|latency| latency.mean),
        share_min: 0.1,
        change_min: 20_000.0,
        bad: Bad::Up,
        rows: Rows::Quotable,
    },
    WatchedValue {
        name: "latency_p99_ns",
        of: |row| row.latency_ns.map(|latency| latency.p99 as f64),
        share_min: 0.2,
        change_min: 100_000.0,
        bad: Bad::Up,
        rows: Rows::Quotable,
    },
    WatchedValue {
        name: "ops_per_s",
        of: |row| Some(row.ops_per_s),
        share_min: 0.1,
        change_min: 0.1,
        bad: Bad::Down,
        rows: Rows::Quotable,
    },
    WatchedValue {
        name: "errors_per_s",
        of: |row| Some(row.errors as f64 / row.window_s.max(1e-9)),
        share_min: 0.1,
        change_min: 1e-6,
        bad: Bad::Up,
        rows: Rows::All,
    },
    WatchedValue {
        name: SERVER_MEMORY,
        of: |row| row.memory?.server_bytes.map(|bytes| bytes as f64),
        share_min: 0.02,
        change_min: MIB,
        bad: Bad::Up,
        rows: Rows::All,
    },
    WatchedValue {
        name: "server_handles",
        of: |row| row.memory?.server_handles.map(|handles| handles as f64),
        share_min: 0.02,
        change_min: 10.0,
        bad: Bad::Up,
        rows: Rows::All,
    },
    WatchedValue {
        name: "own_memory_bytes",
        of: |row| row.memory?.own_bytes.map(|bytes| bytes as f64),
        share_min: 0.02,
        change_min: MIB,
        bad: Bad::Up,
        rows: Rows::All,
    },
];

/// A value at a time, in seconds from the start of the soak.
#[derive(Clone, Copy)]
struct RowValue {
    at_s: f64,
    value: f64,
}

impl SoakDoc {
    /// Returns the trends of a document; `None` if it is not one of a soak.
    #[must_use]
    pub fn of(doc: &RunDoc) -> Option<Self> {
        if doc.plan.stages_purpose() != StagesPurpose::Soak {
            return None;
        }
        let all: Vec<_> = doc.load_points.iter().collect();
        let judged = |row: &&&LoadPointDoc| row.valid || has_errors_only(row);
        let rows: Vec<_> = all.iter().filter(judged).copied().collect();
        let end = |row: &LoadPointDoc| {
            row.stage.as_ref().map_or(0.0, |stage| stage.begin_s) + row.window_s
        };
        let begin = all
            .first()
            .and_then(|row| Some(row.stage.as_ref()?.begin_s));
        let trends = WATCHED.iter().filter_map(|watched| {
            let of_watched = match watched.rows {
                Rows::All => &all,
                Rows::Quotable => &rows,
            };
            trend(watched, of_watched)
        });
        let trends: Vec<_> = trends.collect();
        let drifts = trends.iter().any(|trend| trend.drifts);
        let is_steady = (rows.len() >= ROWS_MIN).then_some(true);
        Some(Self {
            rows: u32::try_from(rows.len()).unwrap_or(u32::MAX),
            length_s: all
                .last()
                .map_or(0.0, |row| end(row) - begin.unwrap_or_default()),
            steady: if drifts { Some(false) } else { is_steady },
            trends,
        })
    }

    /// Says whether anything drifted, one sentence each.
    #[must_use]
    pub fn sentences(&self) -> Vec<String> {
        let length = time(self.length_s);
        match self.steady {
            None => vec![format!(
                "{} rows are too few to tell a trend: {ROWS_MIN} are needed",
                self.rows
            )],
            Some(true) => vec![format!(
                "steady over {length}: no value of {} rows drifted{}",
                self.rows,
                self.not_judged()
            )],
            Some(false) => {
                let drifting = self.trends.iter().filter(|trend| trend.drifts);
                drifting.map(TrendDoc::sentence).collect()
            }
        }
    }

    /// Names the values that too few rows have, as the tail of a sentence.
    fn not_judged(&self) -> String {
        let has_trend = |name: &str| self.trends.iter().any(|trend| trend.name == name);
        let lacking = WATCHED.iter().filter(|watched| !has_trend(watched.name));
        let lacking: Vec<_> = lacking.map(|watched| words(watched.name)).collect();
        if lacking.is_empty() {
            String::new()
        } else {
            format!("; not judged: {}", lacking.join(", "))
        }
    }
}

impl TrendDoc {
    /// Returns the growth in percent per hour. From 0, it is infinite.
    pub(crate) fn growth(&self) -> f64 {
        let from_zero = match self.per_hour {
            0.0 => 0.0,
            slope => f64::INFINITY.copysign(slope),
        };
        self.percent_per_hour.unwrap_or(from_zero)
    }

    /// Returns whether the order of the values is unlikely by chance.
    pub(crate) fn is_sure(&self) -> bool {
        self.p < P_MAX
    }

    fn sentence(&self) -> String {
        let print: fn(f64) -> String = match self.name.as_str() {
            "latency_mean_ns" | "latency_p99_ns" => |value| units::latency(value),
            "ops_per_s" | "errors_per_s" => |value| units::rate(value),
            "server_handles" => |value| format!("{value:.0}"),
            _ => |value| bytes(value as u64),
        };
        let name = match self.scope {
            Some(Named::Known(CpuScope::Machine)) => "memory of the server's machine",
            _ => words(&self.name),
        };
        let per_hour = self
            .percent_per_hour
            .map_or_else(String::new, |percent| format!(", {percent:+.1} % per hour"));
        let since = time(self.since_s.unwrap_or_default());
        format!(
            "{name} drifted from {} to {}{per_hour}, since {since}",
            print(self.first),
            print(self.last)
        )
    }
}

/// Names a value in a sentence.
fn words(name: &str) -> &'static str {
    match name {
        "latency_mean_ns" => "mean response time",
        "latency_p99_ns" => "p99",
        "ops_per_s" => "operations per second",
        "errors_per_s" => "errors per second",
        SERVER_MEMORY => "memory of the server",
        "server_handles" => "open handles of the server",
        _ => "memory of smbench",
    }
}

/// Formats a time as the length of a soak is written: `8h`, to the second.
fn time(seconds: f64) -> String {
    let whole = Duration::try_from_secs_f64(seconds.round());
    format_duration(whole.unwrap_or(Duration::MAX))
}

/// Returns whether failed operations are all that is wrong with a row. The others have been
/// answered, so that their latencies count.
fn has_errors_only(row: &LoadPointDoc) -> bool {
    row.errors > 0 && row.dropouts.is_empty() && row.latency_ns.is_some()
}

/// Returns the trend of a value over the rows that have it; `None` if they are too few.
fn trend(watched: &WatchedValue, rows: &[&LoadPointDoc]) -> Option<TrendDoc> {
    let all = rows.iter().map(|row| {
        let stage = row.stage.as_ref()?;
        let value = (watched.of)(row)?;
        Some(RowValue {
            at_s: stage.begin_s + row.window_s / 2.0,
            value,
        })
    });
    let all: Vec<RowValue> = all.flatten().collect();
    if all.len() < ROWS_MIN {
        return None;
    }
    let step = all.len().div_ceil(ROWS_MAX);
    let samples: Vec<_> = all.iter().copied().step_by(step).collect();
    let fifth = (all.len() / 5).max(1);
    let first = median(all[..fifth].iter().map(|sample| sample.value))?;
    let last = median(all[all.len() - fifth..].iter().map(|sample| sample.value))?;
    let slopes =
        pairs(&samples).map(|(one, other)| (other.value - one.value) / (other.at_s - one.at_s));
    let per_s = median(slopes)?;
    let p = mann_kendall(&samples);
    let change = (per_s * (all.last()?.at_s - all.first()?.at_s)).abs();
    let is_worse = match watched.bad {
        Bad::Up => per_s > 0.0,
        Bad::Down => per_s < 0.0,
    };
    let matters = change >= watched.change_min && change >= watched.share_min * first.abs();
    let drifts = p < P_MAX && is_worse && matters;
    let per_hour = per_s * 3600.0;
    Some(TrendDoc {
        name: watched.name.to_owned(),
        first,
        last,
        per_hour,
        percent_per_hour: (first != 0.0).then(|| per_hour / first.abs() * 100.0),
        p,
        drifts,
        since_s: drifts.then(|| since(&all, fifth, watched.bad)),
        scope: rows
            .iter()
            .find_map(|row| row.server_cpu.as_ref()?.scope.clone())
            .filter(|_| watched.name == SERVER_MEMORY),
    })
}

/// Returns when the values leave the range of the first ones for good.
fn since(all: &[RowValue], first: usize, bad: Bad) -> f64 {
    let values = || all[..first].iter().map(|sample| sample.value);
    let is_beyond = |sample: &&RowValue| match bad {
        Bad::Up => values().all(|value| sample.value > value),
        Bad::Down => values().all(|value| sample.value < value),
    };
    let beyond = all.iter().rev().take_while(is_beyond).last();
    let start = all.first().map_or(0.0, |sample| sample.at_s);
    beyond
        .or(all.last())
        .map_or(0.0, |sample| sample.at_s - start)
}

fn pairs(samples: &[RowValue]) -> impl Iterator<Item = (&RowValue, &RowValue)> {
    let numbered = samples.iter().enumerate();
    numbered.flat_map(|(at, one)| samples[at + 1..].iter().map(move |other| (one, other)))
}

fn median(values: impl Iterator<Item = f64>) -> Option<f64> {
    let mut sorted: Vec<_> = values.collect();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    let upper = *sorted.get(middle)?;
    Some(if sorted.len().is_multiple_of(2) {
        f64::midpoint(sorted[middle - 1], upper)
    } else {
        upper
    })
}

/// Returns the probability of an order at least as even as this one without a trend (Mann 1945,
/// Kendall 1975), by the normal approximation.
fn mann_kendall(samples: &[RowValue]) -> f64 {
    let signs = pairs(samples).map(|(one, other)| match other.value.total_cmp(&one.value) {
        std::cmp::Ordering::Less => -1_i64,
        std::cmp::Ordering::Equal => 0,
        std::cmp::Ordering::Greater => 1,
    });
    let sum: i64 = signs.sum();
    let spread = |count: f64| count * (count - 1.0) * (2.0 * count + 5.0);
    let mut values: Vec<_> = samples.iter().map(|sample| sample.value).collect();
    values.sort_by(f64::total_cmp);
    let ties = values.chunk_by(|one, other| one.total_cmp(other).is_eq());
    let ties: f64 = ties.map(|tie| spread(tie.len() as f64)).sum();
    let variance = (spread(samples.len() as f64) - ties) / 18.0;
    if variance <= 0.0 {
        return 1.0;
    }
    let distance = (sum.unsigned_abs() as f64 - 1.0).max(0.0) / variance.sqrt();
    let normal = Normal::standard();
    2.0 * (1.0 - normal.cdf(distance))
}

#[cfg(test)]
mod tests;
