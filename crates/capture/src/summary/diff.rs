//! Two captures side by side: what changed from the first to the second.
//!
//! Only counts and service times are compared. Names have other hashes in each capture.

use std::collections::BTreeSet;

use serde::Serialize;

use super::{CaptureSummary, CommandSummary, SCHEMA_VERSION, ServiceSummary};

/// Answers of each capture below which service times are not judged.
pub const JUDGED_ANSWERS_MIN: u64 = 20;
/// Ratio of the service times from which a command is slower. Its inverse is faster.
pub const JUDGED_RATIO: f64 = 1.1;

/// Two captures side by side.
#[derive(Clone, Debug, Serialize)]
pub struct CaptureDiff {
    /// Version of the keys.
    pub schema_version: u32,
    /// The first capture.
    pub first: CaptureSummary,
    /// The second capture.
    pub second: CaptureSummary,
    /// The commands of both, those that take more time in the second one first.
    pub commands: Vec<CommandDiff>,
    /// Answers of both by command and status.
    pub statuses: Vec<CountDiff<String>>,
    /// Requests of both by command and size.
    pub sizes: Vec<CountDiff<u64>>,
}

/// How service times changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Trend {
    /// Mean, median and 95th percentile are all longer, by [`JUDGED_RATIO`] or more.
    Slower,
    /// All three are shorter, by the same ratio or more.
    Faster,
    /// Neither.
    Unclear,
    /// A capture has fewer than [`JUDGED_ANSWERS_MIN`] answers.
    TooFew,
}

/// A command in two captures.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CommandDiff {
    /// Name of the command.
    pub command: String,
    /// In the first capture.
    pub first: CommandSide,
    /// In the second capture.
    pub second: CommandSide,
    /// How its service times changed.
    pub trend: Trend,
    /// Change of the mean service time, times the answers of the second capture: the time
    /// that they took more or less than at the mean of the first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub added_ns: Option<f64>,
}

/// A command in one of two captures.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct CommandSide {
    /// Request messages.
    pub requests: u64,
    /// Requests whose final answer is in the capture.
    pub answered: u64,
    /// Answers whose status is an error.
    pub errors: u64,
    /// Bytes that were moved.
    pub bytes: u64,
    /// Service times.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub service_ns: Option<ServiceSummary>,
}

/// A count of a command in two captures.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CountDiff<T> {
    /// Name of the command.
    pub command: String,
    /// The status, or the size.
    pub value: T,
    /// Count of the first capture.
    pub first: u64,
    /// Count of the second capture.
    pub second: u64,
    /// All counts of the command in the first capture.
    pub first_of: u64,
    /// All counts of the command in the second capture.
    pub second_of: u64,
}

impl<T> CountDiff<T> {
    /// Returns the change of its share of the command, from -1 to 1.
    #[must_use]
    pub fn change(&self) -> f64 {
        let share = |count: u64, of: u64| {
            if of == 0 {
                0.0
            } else {
                count as f64 / of as f64
            }
        };
        share(self.second, self.second_of) - share(self.first, self.first_of)
    }
}

impl CommandSide {
    fn of(command: Option<&CommandSummary>) -> Self {
        command.map_or_else(Self::default, |command| Self {
            requests: command.requests,
            answered: command.answered,
            errors: command.errors(),
            bytes: command.bytes,
            service_ns: command.service_ns,
        })
    }
}

impl CommandDiff {
    fn new(command: &str, first: CommandSide, second: CommandSide) -> Self {
        let added = |(first, then): (ServiceSummary, ServiceSummary)| {
            (then.mean - first.mean) * second.answered as f64
        };
        Self {
            command: command.to_owned(),
            trend: trend(&first, &second),
            added_ns: first.service_ns.zip(second.service_ns).map(added),
            first,
            second,
        }
    }
}

fn trend(first: &CommandSide, second: &CommandSide) -> Trend {
    let is_judged = first.answered.min(second.answered) >= JUDGED_ANSWERS_MIN;
    let (true, Some(before), Some(after)) = (is_judged, first.service_ns, second.service_ns) else {
        return Trend::TooFew;
    };
    let times = |times: ServiceSummary| [times.mean, times.p50 as f64, times.p95 as f64];
    let pairs = || times(before).into_iter().zip(times(after));
    if pairs().all(|(before, after)| after > 0.0 && after >= before * JUDGED_RATIO) {
        Trend::Slower
    } else if pairs().all(|(before, after)| before > 0.0 && before >= after * JUDGED_RATIO) {
        Trend::Faster
    } else {
        Trend::Unclear
    }
}

impl CaptureDiff {
    /// Compares two captures.
    #[must_use]
    pub fn new(first: CaptureSummary, second: CaptureSummary) -> Self {
        let names: BTreeSet<_> = first
            .commands
            .keys()
            .chain(second.commands.keys())
            .collect();
        let (mut commands, mut statuses, mut sizes) = (Vec::new(), Vec::new(), Vec::new());
        for name in names {
            let sides = [&first, &second].map(|summary| summary.commands.get(name));
            let [one, other] = sides.map(CommandSide::of);
            commands.push(CommandDiff::new(name, one, other));
            statuses.extend(counts(name, sides, |command| {
                let counts = command.statuses.iter();
                counts
                    .map(|(status, &count)| (status.clone(), count))
                    .collect()
            }));
            sizes.extend(counts(name, sides, |command| {
                let counts = command.sizes.iter();
                counts.map(|(&size, &count)| (size, count)).collect()
            }));
        }
        commands.sort_by(|one: &CommandDiff, other| {
            let added = |diff: &CommandDiff| diff.added_ns.unwrap_or(0.0);
            added(other).total_cmp(&added(one))
        });
        statuses.sort_by(most_changed);
        sizes.sort_by(most_changed);
        Self {
            schema_version: SCHEMA_VERSION,
            first,
            second,
            commands,
            statuses,
            sizes,
        }
    }

    /// Returns the comparison as JSON.
    #[must_use]
    pub fn to_json(&self) -> String {
        super::to_json(self)
    }
}

/// Orders counts by how much their share changed.
fn most_changed<T: Ord>(one: &CountDiff<T>, other: &CountDiff<T>) -> std::cmp::Ordering {
    let change = other.change().abs().total_cmp(&one.change().abs());
    change.then_with(|| (&one.command, &one.value).cmp(&(&other.command, &other.value)))
}

/// Pairs the counts of a command in both captures.
fn counts<T: Ord + Clone>(
    name: &str,
    sides: [Option<&CommandSummary>; 2],
    of: impl Fn(&CommandSummary) -> std::collections::BTreeMap<T, u64>,
) -> Vec<CountDiff<T>> {
    let [first, second] = sides.map(|side| side.map(&of).unwrap_or_default());
    let [first_of, second_of] = [&first, &second].map(|counts| counts.values().sum());
    let values: BTreeSet<_> = first.keys().chain(second.keys()).cloned().collect();
    let pairs = values.into_iter().map(|value| CountDiff {
        command: name.to_owned(),
        first: first.get(&value).copied().unwrap_or(0),
        second: second.get(&value).copied().unwrap_or(0),
        first_of,
        second_of,
        value,
    });
    pairs.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn side(answered: u64, mean: f64, p50: u64, p95: u64) -> CommandSide {
        CommandSide {
            answered,
            service_ns: Some(ServiceSummary {
                mean,
                p50,
                p95,
                min: p50,
                max: p95,
                p90: p95,
                p99: p95,
                p999: p95,
            }),
            ..CommandSide::default()
        }
    }

    #[test]
    fn mean_median_and_tail_must_agree_before_a_command_is_slower() {
        let base = side(20, 100.0, 100, 200);
        for (other, expected) in [
            (side(20, 111.0, 111, 221), Trend::Slower),
            (side(20, 111.0, 111, 219), Trend::Unclear),
            (side(20, 400.0, 100, 900), Trend::Unclear),
            (side(19, 400.0, 400, 900), Trend::TooFew),
            (side(20, 90.0, 90, 180), Trend::Faster),
            (CommandSide::default(), Trend::TooFew),
        ] {
            assert_eq!(trend(&base, &other), expected, "{other:?}");
        }
        let added = CommandDiff::new("read", base, side(30, 150.0, 1, 1)).added_ns;
        assert_eq!(added, Some(1500.0));
    }
}
