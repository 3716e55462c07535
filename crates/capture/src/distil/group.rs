//! Sessions that are alike, as a profile.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use smbench_model::bounds::REQUEST_BYTES_MAX;
use smbench_model::load::THINK_TIME_MAX;

use super::asked::FILE_BYTES_MAX;
use super::issued::{DistilledCounts, distance};
use super::work::SessionWork;

/// Actions of a session below which its shares say little.
pub const DISTILLED_ACTIONS_MIN: u64 = 20;
/// Distance of the actions of a session from those of a group that it may have.
const ALIKE_MAX: f64 = 0.25;
/// Different sizes of a profile. Others are joined to the next larger one.
const SIZES_MAX: usize = 48;
/// Files of a client.
const FILES_MAX: u64 = 1000;
/// Mean pauses below this are the client's own work, not a think time.
const THINK_NS_MIN: f64 = 1e6;

/// Sessions that are alike.
#[derive(Debug, Default)]
pub struct DistilledGroup {
    /// Number of sessions.
    pub sessions: u64,
    work: SessionWork,
    /// Files of the sessions in total: more than all files if sessions share them.
    files: u64,
}

impl DistilledGroup {
    pub(super) fn new(work: SessionWork) -> Self {
        Self {
            sessions: 1,
            files: work.files.len() as u64,
            work,
        }
    }

    pub(super) fn is_like(&self, work: &SessionWork) -> bool {
        let found = distance(&self.work.actions, &work.actions);
        found.is_some_and(|found| found <= ALIKE_MAX)
    }

    pub(super) fn join(&mut self, work: SessionWork) {
        self.sessions += 1;
        self.files += work.files.len() as u64;
        self.work.join(work);
    }

    /// Returns the requests of its sessions, without log-ons and tree connects.
    #[must_use]
    pub fn requests(&self) -> u64 {
        self.work.requests()
    }

    /// Returns the actions that its requests are.
    #[must_use]
    pub fn actions(&self) -> u64 {
        self.work.action_count()
    }

    /// Returns what was recorded.
    #[must_use]
    pub fn recorded(&self) -> DistilledCounts {
        DistilledCounts {
            think_ns: self.think_ns(),
            ..self.work.counts.clone()
        }
    }

    /// Returns the requests that a client of the profile has in flight.
    fn outstanding(&self) -> f64 {
        self.work.pace.in_flight().round().clamp(1.0, 64.0)
    }

    fn think_ns(&self) -> f64 {
        self.work.pace.paused_ns() / (self.actions() as f64).max(1.0)
    }

    /// Returns the profile.
    #[must_use]
    pub fn to_toml(&self, name: &str) -> String {
        let work = &self.work;
        let access = if work.sequential * 2 > work.placed {
            "sequential"
        } else {
            "random"
        };
        let sizes = self.sizes();
        let mut toml = format!(
            "# Made from the statistics of a capture.\n\
             name = {}\n\
             description = \"{} of a capture, {} requests\"\n\
             access = \"{access}\"\n",
            // A JSON text is one of TOML.
            serde_json::Value::from(name),
            sessions(self.sessions),
            self.requests(),
        );
        for note in self.notes() {
            // Writing to a String cannot fail.
            let _ = writeln!(toml, "# {note}");
        }
        toml += &self.places(&sizes);
        let outstanding = self.outstanding();
        let _ = write!(
            toml,
            "[run]\nclients = \"{}\"\noutstanding = {outstanding}\n",
            self.sessions
        );
        let think_ns = self.think_ns();
        if think_ns >= THINK_NS_MIN {
            let varies = if work.pace.varies() {
                "exponential"
            } else {
                "fixed"
            };
            // Each request in flight has pauses of its own after it.
            let think_us = (think_ns * outstanding / 1e3).round();
            let think_us = think_us.min(THINK_TIME_MAX.as_micros() as f64);
            let _ = write!(
                toml,
                "think_time = \"{think_us}us\"\nthink_distribution = \"{varies}\"\n"
            );
        }
        for (bytes, weight) in weights(&sizes) {
            let _ = write!(toml, "[[sizes]]\nsize = {bytes}\nweight = {weight}\n");
        }
        for (action, weight) in weights(&work.actions) {
            let _ = write!(toml, "[[operations]]\n{action}\nweight = {weight}\n");
        }
        toml
    }

    /// Returns in what the files of the profile differ from the recorded ones, a line each.
    #[must_use]
    pub fn notes(&self) -> Vec<String> {
        if self.has_tree() {
            return Vec::new();
        }
        let mut notes = Vec::new();
        let largest = largest_of(&self.sizes());
        let files = self.work.files.values();
        let shorter = files.filter(|&&bytes| bytes < largest).count();
        if shorter > 0 && self.mean_bytes() < largest {
            notes.push(format!(
                "files have {largest} bytes, as the largest request: {shorter} of {} recorded files \
                 were shorter",
                self.work.files.len()
            ));
        }
        let count = self.file_count();
        if count > FILES_MAX {
            let (owner, of_each) = if self.has_shared_files() {
                ("the clients have", "")
            } else {
                ("each client has", " for each")
            };
            notes.push(format!(
                "{owner} {FILES_MAX} files, the most that a profile is made with: {count} were \
                 recorded{of_each}"
            ));
        }
        notes
    }

    /// Whether the files are a tree: all actions open them by name, and there are many.
    fn has_tree(&self) -> bool {
        let by_name = ["op = \"create_read_close\"", "op = \"create_query_close\""];
        let is_by_name = |action: &String| by_name.iter().any(|name| action.starts_with(name));
        let distinct = self.work.files.len() as u64;
        distinct > FILES_MAX && self.work.actions.keys().all(is_by_name)
    }

    /// Returns the mean length of the files.
    fn mean_bytes(&self) -> u64 {
        // Nothing shows how long they are.
        if self.work.files.is_empty() {
            return 4096;
        }
        let lengths = self.work.files.values().map(|&bytes| bytes as f64);
        let mean = lengths.sum::<f64>() / self.work.files.len() as f64;
        (mean.round() as u64).clamp(1, FILE_BYTES_MAX)
    }

    fn has_shared_files(&self) -> bool {
        self.sessions > 1 && self.files > self.work.files.len() as u64
    }

    /// Returns the number of files of a client, or of shared files.
    fn file_count(&self) -> u64 {
        match self.work.files.len() as u64 {
            distinct if self.has_shared_files() => distinct,
            0 => self.work.held_files.div_ceil(self.sessions),
            distinct => distinct.div_ceil(self.sessions),
        }
    }

    /// Returns the files, or a tree if all actions open files by name.
    fn places(&self, sizes: &BTreeMap<u64, u64>) -> String {
        let mean = self.mean_bytes();
        if self.has_tree() {
            let files = self.work.files.len();
            return format!("[tree]\nfiles = {files}\nsizes = \"{mean}:100\"\n");
        }
        let scope = if self.has_shared_files() {
            "shared"
        } else {
            "private"
        };
        let count = self.file_count().clamp(1, FILES_MAX);
        // A request fits into each file.
        let bytes = mean.max(largest_of(sizes));
        format!("[files]\nscope = \"{scope}\"\ncount = {count}\nsize = {bytes}\n")
    }

    /// Returns the sizes of requests, at most as many as a profile should have.
    fn sizes(&self) -> BTreeMap<u64, u64> {
        let needs = [
            "read\"",
            "write\"",
            "lock\"",
            "copy_chunk\"",
            "create_read_close\"",
        ];
        let has_size = |action: &String| {
            let first = action.lines().next().unwrap_or_default();
            let is_past_end = action.ends_with("past_end = true");
            !is_past_end && needs.iter().any(|op| first == format!("op = \"{op}"))
        };
        if !self.work.actions.keys().any(has_size) {
            return BTreeMap::new();
        }
        let mut sizes: Vec<_> = self.work.sizes.iter().collect();
        sizes.sort_by_key(|(bytes, count)| (std::cmp::Reverse(**count), **bytes));
        let kept: Vec<_> = sizes
            .iter()
            .take(SIZES_MAX)
            .map(|(bytes, _)| **bytes)
            .collect();
        let mut joined = BTreeMap::new();
        for (&bytes, &count) in sizes {
            let larger = kept.iter().filter(|&&kept| kept >= bytes).min();
            let nearest = larger
                .or_else(|| kept.iter().max())
                .copied()
                .unwrap_or(bytes);
            let nearest = nearest.min(REQUEST_BYTES_MAX);
            *joined.entry(nearest).or_default() += count;
        }
        if joined.is_empty() {
            joined.insert(4096, 1);
        }
        joined
    }
}

fn largest_of(sizes: &BTreeMap<u64, u64>) -> u64 {
    sizes.keys().next_back().copied().unwrap_or(0)
}

fn sessions(count: u64) -> String {
    if count == 1 {
        "1 session".to_owned()
    } else {
        format!("{count} sessions")
    }
}

/// Returns the shares of counts in percent, which add up to 100. The largest has the rest
/// that rounding leaves.
fn weights<K: Ord + Clone>(counts: &BTreeMap<K, u64>) -> Vec<(K, String)> {
    /// Parts of a percent.
    const PARTS: u64 = 10_000;
    let all: u64 = counts.values().sum();
    let parts = |count: u64| {
        let share = u128::from(count) * u128::from(100 * PARTS) / u128::from(all.max(1));
        // The cast is safe: at most all parts. A weight of 0 is not valid.
        (share as u64).max(1)
    };
    let mut shares: Vec<_> = counts
        .iter()
        .filter(|(_, count)| **count > 0)
        .map(|(key, &count)| (key.clone(), parts(count)))
        .collect();
    shares.sort_by_key(|(_, share)| std::cmp::Reverse(*share));
    let rest: u64 = shares.iter().skip(1).map(|(_, share)| share).sum();
    if let Some((_, first)) = shares.first_mut() {
        *first = (100 * PARTS).saturating_sub(rest);
    }
    let shown = shares.into_iter().map(|(key, share)| {
        let text = format!("{}.{:04}", share / PARTS, share % PARTS);
        (key, text)
    });
    shown.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_add_up_to_100() {
        let counts = BTreeMap::from([("a", 1), ("b", 1), ("c", 1), ("d", 0)]);
        let made = weights(&counts);
        assert_eq!(made.len(), 3);
        let sum: f64 = made
            .iter()
            .map(|(_, weight)| weight.parse::<f64>().unwrap())
            .sum();
        assert!((sum - 100.0).abs() < 1e-9, "{made:?}");
    }
}
