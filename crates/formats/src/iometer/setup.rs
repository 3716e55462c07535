//! The test setup. Together with the workers it determines the amount of load and
//! its duration. Any other setting that would make a difference becomes a [`Note`].

use std::time::Duration;

use smbench_model::access::SECTOR_BYTES;
use smbench_model::bounds::OUTSTANDING_MAX;
use smbench_model::lists::clients::CLIENTS_MAX;
use smbench_model::units::Size;

use super::lines::{IcfLines, LineProblem, begins, numbers, small, word};
use super::workers::Managers;
use super::{IometerConfig, IometerSetup, Note};

const SETUP: &str = "'TEST SETUP";
/// The largest number of steps in a cycle; more would take too long to run.
const STEPS_MAX: usize = 1000;

/// The values read so far, which are combined at the end.
#[derive(Default)]
pub(super) struct SetupReader {
    default_workers: Option<u32>,
    worker_cycling: Option<Cycle>,
    queue_cycling: Option<Cycle>,
    test_type: Option<(usize, String)>,
    pub(super) managers: Managers,
}

/// The start of a cycle, its end if known, and its steps.
#[derive(Clone, Copy, Debug)]
struct Cycle {
    start: u32,
    end: u32,
    step: u32,
    kind: StepKind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum StepKind {
    Linear,
    Exponential,
}

impl Cycle {
    fn values(self) -> Vec<u32> {
        let Self {
            start,
            end,
            step,
            kind,
        } = self;
        let next = |&value: &u32| match (kind, step) {
            (_, 0) => None,
            (StepKind::Exponential, 2..) => value.checked_mul(step),
            (_, step) => value.checked_add(step),
        };
        std::iter::successors(Some(start.max(1)), next)
            .take_while(|&value| value <= end.max(start).max(1))
            .take(STEPS_MAX)
            .collect()
    }
}

fn step_kind(text: &str) -> StepKind {
    // Old versions write it as a number.
    let kind = text.split([' ', '\t']).next_back().unwrap_or_default();
    if kind.eq_ignore_ascii_case("EXPONENTIAL") || kind == "1" && !text.contains("LINEAR") {
        StepKind::Exponential
    } else {
        StepKind::Linear
    }
}

impl SetupReader {
    pub(super) fn test_setup(
        &mut self,
        lines: &mut IcfLines,
        config: &mut IometerConfig,
    ) -> Result<(), LineProblem> {
        loop {
            let (at, key) = lines.within(SETUP)?;
            if begins(&key, "'END test setup") {
                return Ok(());
            }
            if !key.starts_with('\'') {
                let reason =
                    format!("`{key}` has no key above it: expected a line that begins with '");
                return Err(LineProblem::at(at, reason));
            }
            let Some((line, value)) = lines.value(&key)? else {
                // Iometer saves an empty description for a test without one.
                if !begins(&key, "'Test Description") {
                    let text = format!("{} has no value", key.trim_start_matches('\''));
                    config.notes.push(Note { line: at, text });
                }
                continue;
            };
            self.entry(&key, line, &value, config)?;
        }
    }

    fn entry(
        &mut self,
        key: &str,
        at: usize,
        value: &str,
        config: &mut IometerConfig,
    ) -> Result<(), LineProblem> {
        let is = |name| begins(key, name);
        let setup = &mut config.setup;
        if is("'Test Description") {
            setup.description = Some(value.to_owned());
        } else if is("'Run Time") {
            let parts = numbers(at, value, 3)?;
            let seconds = parts[0]
                .saturating_mul(3600)
                .saturating_add(parts[1].saturating_mul(60).saturating_add(parts[2]));
            match seconds {
                0 => config.notes.push(Note {
                    line: at,
                    text: "run time 0, which is without end: left to smbench".to_owned(),
                }),
                _ => setup.run_time = Some(Duration::from_secs(seconds)),
            }
        } else if is("'Ramp Up Time") {
            setup.ramp_up = Some(Duration::from_secs(numbers(at, value, 1)?[0]));
        } else if is("'Default Disk Workers to Spawn") || is("'Default Workers to Spawn") {
            // NUMBER_OF_CPUS, or 0 in old files, would depend on the machine.
            let count = word(value).parse().ok().filter(|&count| count > 0);
            self.default_workers = count;
        } else if is("'Worker Cycling") {
            let parts = numbers(at, value, 2)?;
            self.worker_cycling = Some(Cycle {
                start: small(parts[0]),
                end: 0,
                step: small(parts[1]),
                kind: step_kind(value),
            });
        } else if is("'Queue Depth Cycling") {
            let parts = numbers(at, value, 3)?;
            self.queue_cycling = Some(Cycle {
                start: small(parts[0]),
                end: small(parts[1]),
                step: small(parts[2]),
                kind: step_kind(value),
            });
        } else if is("'Test Type") {
            self.test_type = Some((at, word(value).to_ascii_uppercase()));
        } else if !is("'Default Network Workers to Spawn")
            && !is("'Record Results")
            && !is("'Disk Cycling")
            && !is("'Target Cycling")
        {
            let text = format!("{} is not known", key.trim_start_matches('\''));
            config.notes.push(Note { line: at, text });
        }
        Ok(())
    }

    /// Combines the values of all sections.
    ///
    /// # Errors
    /// When no load point is left that smbench can run.
    pub(super) fn conclude(self, config: &mut IometerConfig) -> Result<(), LineProblem> {
        let setup = &mut config.setup;
        let type_line = self.test_type.as_ref().map_or(1, |(line, _)| *line);
        let listed = u32::try_from(self.managers.workers.len()).unwrap_or(u32::MAX);
        let workers = match listed {
            0 => self.default_workers,
            some => Some(some),
        };
        config.notes.extend(self.managers.differences());
        setup.workers = workers.into_iter().collect();
        setup.outstanding = self.managers.outstanding().into_iter().collect();
        let kind = self.test_type.as_ref().map_or("NORMAL", |(_, kind)| kind);
        let (cycles_workers, cycles_depth) = match kind {
            "CYCLE_WORKERS" | "CYCLE_WORKERS_AND_TARGETS" => (true, false),
            "CYCLE_OUTSTANDING_IOS" | "CYCLE_OUTSTANDING_IOS_AND_TARGETS" => (false, true),
            _ => (false, false),
        };
        if let (true, Some(cycle), Some(end)) = (cycles_workers, self.worker_cycling, workers) {
            setup.workers = Cycle { end, ..cycle }.values();
        }
        if let (true, Some(cycle)) = (cycles_depth, self.queue_cycling) {
            setup.outstanding = cycle.values();
        }
        if setup.workers.len().max(setup.outstanding.len()) == STEPS_MAX {
            let line = type_line;
            let text =
                format!("a cycle of {STEPS_MAX} steps or more: what comes after is left out");
            config.notes.push(Note { line, text });
        }
        let is_known = matches!(kind, "NORMAL" | "0") || cycles_workers || cycles_depth;
        if let Some((line, kind)) = &self.test_type
            && (!is_known || kind.ends_with("_TARGETS"))
        {
            config.notes.push(Note {
                line: *line,
                text: format!(
                    "test type {kind}: targets are not cycled, each client of smbench has files of \
                     its own"
                ),
            });
        }
        if let Some(depth) = keep_up_to(OUTSTANDING_MAX, &mut setup.outstanding) {
            let text = format!("{depth} outstanding I/Os: smbench has {OUTSTANDING_MAX} at most");
            let note = left_out(&setup.outstanding, type_line, &text)?;
            config.notes.push(note);
        }
        if let Some(clients) = keep_up_to(CLIENTS_MAX, &mut setup.workers) {
            let text = format!("{clients} workers: smbench has {CLIENTS_MAX} clients at most");
            let note = left_out(&setup.workers, type_line, &text)?;
            config.notes.push(note);
        }
        if let Some(first) = self.managers.workers.into_iter().next() {
            let sectors = first.sectors.value;
            setup.file_size =
                (sectors > 0).then(|| Size(sectors.saturating_mul(SECTOR_BYTES.into())));
            setup.seed = first.seed.value;
            setup.assigned = first.assigned.value;
        }
        Ok(())
    }
}

/// Removes the values above `max`. Returns the first of them.
fn keep_up_to(max: u32, values: &mut Vec<u32>) -> Option<u32> {
    let above = values.iter().copied().find(|&value| value > max);
    values.retain(|&value| value <= max);
    above
}

/// Makes a note that values were left out, with the reason. It is an error if none
/// is `left`. The suite's own values would then apply, which the file does not ask
/// for.
fn left_out(left: &[u32], line: usize, reason: &str) -> Result<Note, LineProblem> {
    if left.is_empty() {
        let reason = format!("{reason}, so nothing is left to run");
        return Err(LineProblem::at(line, reason));
    }
    let text = format!("{reason}, more are left out");
    Ok(Note { line, text })
}

impl IometerSetup {
    /// Returns the list of clients, if the file contains numbers of workers.
    #[must_use]
    pub fn clients(&self) -> Option<String> {
        let workers: Vec<_> = self.workers.iter().map(u32::to_string).collect();
        (!workers.is_empty()).then(|| workers.join(","))
    }
}
