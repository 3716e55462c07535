//! Resolves `[[pattern]]` tables into the lines of an access pattern.

use std::time::Duration;

use super::{PlanSources, is_all};
use crate::access::{Access, AccessLine, PATTERN_LINES_MAX, SECTOR_BYTES};
use crate::bounds::OPERATION_BYTES_MAX;
use crate::files::FileSet;
use crate::load::THINK_TIME_MAX;
use crate::plan::{PlanError, Problem};
use crate::spec::PatternSpec;
use crate::units::{Size, format_duration};
use crate::work::WorkSpec;
use crate::workload::{Requests, Workload};

impl PlanSources<'_> {
    /// Resolves the workload of an access pattern.
    pub(super) fn pattern(&self, merged: &WorkSpec) -> Result<Workload, PlanError> {
        let spec = &self.profile.spec;
        let fail = |problem| Err(self.in_profile(problem));
        for (name, is_given) in [
            ("read_percent", spec.read_percent.is_some()),
            ("access", spec.access.is_some()),
            ("flush_every_writes", spec.flush_every_writes.is_some()),
            ("[[sizes]]", !spec.sizes.is_empty()),
            ("[[operations]]", !spec.operations.is_empty()),
        ] {
            if is_given {
                return fail(Problem::BesidePattern(name));
            }
        }
        if spec.pattern.len() > PATTERN_LINES_MAX {
            return fail(Problem::TooManyLines(spec.pattern.len()));
        }
        let files = self.files()?;
        let mut lines = Vec::with_capacity(spec.pattern.len());
        for (at, written) in (1..).zip(&spec.pattern) {
            let line = line(written)
                .map_err(|problem| self.in_profile(Problem::PatternLine { at, problem }))?;
            self.check_fits(&line, &files)?;
            lines.push(line);
        }
        let sum: f64 = lines.iter().map(|line| line.weight).sum();
        if !is_all(sum) {
            return fail(Problem::PatternWeightSum(sum));
        }
        self.check_delays(&lines, merged)?;
        Ok(Workload {
            sizes: Vec::new(),
            // Only the lines determine the access: random if all lines are fully
            // random.
            access: if lines.iter().all(|line| line.random_percent == 100.0) {
                Access::Random
            } else {
                Access::Sequential
            },
            requests: Requests::Pattern(lines),
            files,
        })
    }

    fn check_fits(&self, line: &AccessLine, files: &FileSet) -> Result<(), PlanError> {
        let size = u64::from(line.size.max(line.reply));
        if size > files.size {
            let (size, file) = (Size(size), Size(files.size));
            return Err(self.in_option("file_size", Problem::SizeAboveFile { size, file }));
        }
        Ok(())
    }

    /// Refuses other options that say when operations begin, if any line has a
    /// delay.
    fn check_delays(&self, lines: &[AccessLine], merged: &WorkSpec) -> Result<(), PlanError> {
        if lines.iter().all(|line| line.delay.is_zero()) {
            return Ok(());
        }
        let think_time = merged.think_time.unwrap_or_default();
        for (name, is_given) in [
            ("rate", merged.rate.is_some()),
            ("think_time", !think_time.is_zero()),
        ] {
            if is_given {
                return Err(self.in_option(name, Problem::BesideDelays(name)));
            }
        }
        Ok(())
    }
}

fn line(written: &PatternSpec) -> Result<AccessLine, String> {
    let PatternSpec {
        size,
        weight,
        reads,
        random,
        delay,
        burst,
        align,
        reply,
    } = *written;
    for (name, percent) in [("weight", weight), ("reads", reads), ("random", random)] {
        if !(0.0..=100.0).contains(&percent) {
            return Err(format!("{name} is {percent}: give a percentage, 0 to 100"));
        }
    }
    if size.0 == 0 {
        return Err("its size is 0: it must be at least 1 byte".to_owned());
    }
    let delay = delay.unwrap_or(Duration::ZERO);
    if delay > THINK_TIME_MAX {
        return Err(format!(
            "delay is {}: at most {} are possible",
            format_duration(delay),
            format_duration(THINK_TIME_MAX)
        ));
    }
    if burst == Some(0) {
        return Err("burst is 0: it must be at least 1 request".to_owned());
    }
    let align = match align {
        None | Some(Size(0)) => SECTOR_BYTES,
        Some(align) => u32::try_from(align.0)
            .map_err(|_| format!("align is {align:#}: give less than 4 GiB"))?,
    };
    Ok(AccessLine {
        size: request("size", size)?,
        weight,
        read_percent: reads,
        random_percent: random,
        delay,
        burst: burst.unwrap_or(1),
        align,
        reply: request("reply", reply.unwrap_or(Size(0)))?,
    })
}

fn request(name: &str, size: Size) -> Result<u32, String> {
    match u32::try_from(size.0) {
        Ok(bytes) if size.0 <= OPERATION_BYTES_MAX => Ok(bytes),
        _ => Err(format!(
            "{name} {size:#} is more than {}, the largest operation",
            Size(OPERATION_BYTES_MAX)
        )),
    }
}

#[cfg(test)]
mod tests;
