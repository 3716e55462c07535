//! The raw results of some rounds.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::counts::EventCounts;

/// A value of a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Figure {
    /// CPU time per operation, in microseconds.
    Cpu,
    /// CPU time in user mode per operation, in microseconds.
    User,
    /// Operations per second.
    Rate,
}

/// The figures of one program in one round.
#[derive(Clone, Copy, Debug)]
struct RoundSample {
    cpu_us: f64,
    user_us: f64,
    rate: f64,
}

/// All samples, by program and round.
pub(crate) struct Rounds {
    samples: BTreeMap<String, BTreeMap<u32, RoundSample>>,
    counts: BTreeMap<String, EventCounts>,
}

/// The values of a figure over the rounds, in ascending order.
pub(crate) struct SortedValues(Vec<f64>);

impl Rounds {
    /// Reads all files `round-<number>-<program>.json` of a folder, and the counts of
    /// `counted-<program>.csv`.
    pub(crate) fn load(folder: &str) -> Result<Self, String> {
        let in_folder = |error| format!("{folder}: {error}");
        let mut samples: BTreeMap<_, BTreeMap<_, _>> = BTreeMap::new();
        let mut counts = BTreeMap::new();
        for entry in fs::read_dir(folder).map_err(in_folder)? {
            let path = entry.map_err(in_folder)?.path();
            let in_file = |why| format!("{}: {why}", path.display());
            match named(&path) {
                Some(ResultOf::Round(round, program)) => {
                    let sample = RoundSample::load(&path).map_err(in_file)?;
                    samples.entry(program).or_default().insert(round, sample);
                }
                Some(ResultOf::Counted(program)) => {
                    let rate = RoundSample::load(&path).map_err(in_file)?.rate;
                    let counted = EventCounts::load(&path.with_extension("csv"), rate);
                    counts.insert(program, counted.map_err(in_file)?);
                }
                None => {}
            }
        }
        if samples.is_empty() {
            Err(format!("{folder} has no round-<number>-<program>.json"))
        } else {
            Ok(Self { samples, counts })
        }
    }

    pub(crate) fn count(&self) -> usize {
        self.samples.values().map(BTreeMap::len).max().unwrap_or(0)
    }

    /// Returns whether a program was measured.
    pub(crate) fn has(&self, program: &str) -> bool {
        self.samples.contains_key(program)
    }

    pub(crate) fn of(&self, program: &str, figure: Figure) -> Result<SortedValues, String> {
        let values = self.program(program)?.values();
        Ok(SortedValues::new(
            values.map(|sample| sample.figure(figure)).collect(),
        ))
    }

    /// Returns a figure of one program as a multiple of another program's in
    /// the same round.
    pub(crate) fn ratio(&self, of: &str, to: &str, figure: Figure) -> Result<SortedValues, String> {
        let others = self.program(to)?;
        let ratios = self.program(of)?.iter().filter_map(|(round, sample)| {
            let other = others.get(round)?;
            Some(sample.figure(figure) / other.figure(figure))
        });
        let ratios: Vec<f64> = ratios.collect();
        if ratios.is_empty() {
            Err(format!("no round has both {of} and {to}"))
        } else {
            Ok(SortedValues::new(ratios))
        }
    }

    /// Returns the events that were counted for a program.
    pub(crate) fn counts(&self, program: &str) -> EventCounts {
        self.counts.get(program).copied().unwrap_or_default()
    }

    /// Returns all figures as CSV, a line for each program and round.
    pub(crate) fn csv(&self) -> String {
        let mut csv = "program,round,ops_per_s,cpu_us_per_op,cpu_user_us_per_op\n".to_owned();
        for (program, rounds) in &self.samples {
            for (round, sample) in rounds {
                let RoundSample {
                    cpu_us,
                    user_us,
                    rate,
                } = sample;
                // Writing to a string cannot fail.
                let _ = writeln!(csv, "{program},{round},{rate:.0},{cpu_us:.3},{user_us:.3}");
            }
        }
        csv
    }

    fn program(&self, name: &str) -> Result<&BTreeMap<u32, RoundSample>, String> {
        self.samples
            .get(name)
            .ok_or_else(|| format!("no round has {name}"))
    }
}

/// The subject of a result, by the name of its file.
enum ResultOf {
    /// A program in a round.
    Round(u32, String),
    /// A program whose events were counted, which takes CPU time.
    Counted(String),
}

fn named(path: &Path) -> Option<ResultOf> {
    let name = path.file_name()?.to_str()?.strip_suffix(".json")?;
    if let Some(program) = name.strip_prefix("counted-") {
        return Some(ResultOf::Counted(program.to_owned()));
    }
    let (round, program) = name.strip_prefix("round-")?.split_once('-')?;
    Some(ResultOf::Round(round.parse().ok()?, program.to_owned()))
}

impl RoundSample {
    fn load(path: &Path) -> Result<Self, String> {
        let text = fs::read_to_string(path).map_err(|error| error.to_string())?;
        let value: Value = serde_json::from_str(&text).map_err(|error| error.to_string())?;
        match value.get("load_points") {
            Some(points) => Self::of_document(points),
            None => Self::of_figures(&value),
        }
    }

    /// Reads a result document of smbench with one load point.
    fn of_document(points: &Value) -> Result<Self, String> {
        let point = &points[0];
        if point["valid"] != true {
            return Err(format!(
                "the load point is not valid: {}",
                point["invalid_reason"]
            ));
        }
        let client = &point["client"];
        let user_s = number(client, "cpu_user_s")?;
        let cpu_us = number(client, "cpu_us_per_op")?;
        let cpu_s = user_s + number(client, "cpu_system_s")?;
        Ok(Self {
            cpu_us,
            user_us: cpu_us * user_s / cpu_s,
            rate: number(point, "ops_per_s")?,
        })
    }

    /// Reads the figures that the floor or the script wrote.
    fn of_figures(value: &Value) -> Result<Self, String> {
        Ok(Self {
            cpu_us: number(value, "cpu_us_per_op")?,
            user_us: number(value, "cpu_user_us_per_op")?,
            rate: number(value, "ops_per_s")?,
        })
    }

    fn figure(&self, figure: Figure) -> f64 {
        match figure {
            Figure::Cpu => self.cpu_us,
            Figure::User => self.user_us,
            Figure::Rate => self.rate,
        }
    }
}

/// Returns a number, which must be above zero.
fn number(object: &Value, key: &str) -> Result<f64, String> {
    object[key]
        .as_f64()
        .filter(|value| *value > 0.0)
        .ok_or_else(|| format!("no `{key}`"))
}

impl SortedValues {
    fn new(mut values: Vec<f64>) -> Self {
        values.sort_by(f64::total_cmp);
        Self(values)
    }

    pub(crate) fn median(&self) -> f64 {
        let values = &self.0;
        let middle = values.len() / 2;
        match values.len() % 2 {
            0 => f64::midpoint(values[middle - 1], values[middle]),
            _ => values[middle],
        }
    }

    /// Returns the median with the smallest and the largest value.
    pub(crate) fn spread(&self, digits: usize) -> String {
        let (least, most) = (self.0[0], self.0[self.0.len() - 1]);
        format!(
            "{:.digits$} ({least:.digits$}-{most:.digits$})",
            self.median()
        )
    }
}
