//! Events that `perf stat -I` counted, per operation.

use std::fs;
use std::path::Path;

/// Events per operation. An event that the machine cannot count is missing.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct EventCounts {
    pub(crate) wakeups: Option<f64>,
    pub(crate) system_calls: Option<f64>,
    pub(crate) instructions: Option<f64>,
}

impl EventCounts {
    /// Reads the counts of a program that had this many operations per second.
    pub(crate) fn load(path: &Path, rate: f64) -> Result<Self, String> {
        let text = fs::read_to_string(path).map_err(|error| error.to_string())?;
        let per_second = |event| per_second(&text, event).map(|count| count / rate);
        Ok(Self {
            wakeups: per_second("context-switches"),
            system_calls: per_second("raw_syscalls:sys_enter"),
            instructions: per_second("instructions"),
        })
    }
}

/// Returns how often an event occurred in a second under load. The set-up and the end have fewer
/// events, so intervals with less than half of the most are left out. The result is the median
/// of the others.
///
/// Lines of perf are: time, count, unit, event, and more.
fn per_second(text: &str, event: &str) -> Option<f64> {
    let (mut before, mut rates) = (0.0, Vec::new());
    for line in text.lines() {
        let fields: Vec<&str> = line.split(',').map(str::trim).collect();
        let [time, count, _, name, ..] = fields[..] else {
            continue;
        };
        if name.split(':').next() != event.split(':').next() {
            continue;
        }
        let Ok(time) = time.parse::<f64>() else {
            continue;
        };
        if let Ok(count) = count.parse::<f64>() {
            rates.push(count / (time - before));
        }
        before = time;
    }
    rates.sort_by(f64::total_cmp);
    let most = rates.last()?;
    let under_load: Vec<f64> = rates
        .iter()
        .copied()
        .filter(|rate| rate * 2.0 >= *most)
        .collect();
    Some(under_load[under_load.len() / 2])
}
