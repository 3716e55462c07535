//! `smbench fileio run`: runs the test and prints its report.

use std::fs;
use std::io::{self, Write as _};
use std::time::Duration;

use smbench_engine::run::MeasuredInterval;
use smbench_model::contents::Verify;
use smbench_model::fileio::{FileOrigin, Fileio};
use smbench_model::load::{Rate, RateScope, Spacing};
use smbench_model::plan::{Place, PlanError, Problem};
use smbench_model::profile::Profile;
use smbench_model::record::Series;
use smbench_model::spec::{RunOptions, Spec, WorkSpec};
use smbench_model::units::Size;
use smbench_model::work::WorkProblem;
use smbench_report::fileio::{Interim, Shown, report};
use smbench_report::{RunDoc, render};

use super::{seed, test};
use crate::args::FileioArgs;
use crate::commands::run::{NextSteps, Presentation, carry_out};
use crate::conditions::Gate;
use crate::failure::{Exit, Failure};
use crate::hosts::Hosts;
use crate::output::{complain, print};
use crate::progress::{LineReport, ProgressLine, Visibility};
use crate::requests;

pub(super) fn run(args: &FileioArgs, hosts: &Hosts) -> Result<Exit, Failure> {
    let Some(mode) = args.test.file_test_mode else {
        return Err(Failure::Usage(
            "--file-test-mode is missing: give seqwr, seqrewr, seqrd, rndrd, rndwr or rndrw"
                .to_owned(),
        ));
    };
    let test = test(args, mode);
    let profile = Profile {
        fileio: Some(test.clone()),
        ..Profile::from_spec("fileio", Spec::default())
    };
    let request = requests::of(&profile, options(args, &test)?, &args.server, &args.output);
    let request = request.map_err(in_sysbench_terms)?;
    if test.home == FileOrigin::Own {
        check_memory(&test)?;
        if !args.output.quiet {
            complain(format_args!(
                "no --target: {} files of {:#} are prepared on a server started here, for this run \
                 only",
                test.files,
                Size(test.file_bytes())
            ));
        }
    }
    let shown = Shown {
        percentiles: percentiles(args),
        histogram: args.load.histogram,
    };
    let show = |doc: &RunDoc| print(&report(doc, &shown).unwrap_or_else(|| render(doc)));
    let presentation = Presentation {
        remedy: String::new(),
        show: &show,
        find: None,
        gate: Gate::default(),
        alone: 0,
        next_steps: NextSteps::Hidden,
        points: Visibility::Hidden,
        screen: None,
        hosts,
        state: None,
    };
    carry_out(
        &[request],
        &args.output,
        &presentation,
        interim(args, &test),
    )
}

fn options(args: &FileioArgs, test: &Fileio) -> Result<RunOptions, Failure> {
    let load = &args.load;
    let clients = load.threads.to_string().parse();
    let clients = clients.map_err(|error| Failure::Usage(format!("--threads: {error}")))?;
    Ok(RunOptions {
        work: WorkSpec {
            clients: Some(clients),
            rate: (load.rate > 0).then(|| {
                let rate = Rate {
                    per_second: load.rate.into(),
                    scope: RateScope::Total,
                };
                rate.into()
            }),
            arrivals: (load.rate > 0).then_some(Spacing::Exponential),
            duration: test.time,
            ramp_up: Some(load.warmup_time),
            seed: Some(seed(args)),
            verify: args.test.validate.then_some(Verify::ReadBack),
            ..WorkSpec::default()
        },
        ..RunOptions::default()
    })
}

/// Translates a failure that names an option of `run` to sysbench's name for the
/// option.
fn in_sysbench_terms(failure: Failure) -> Failure {
    let named = |field| match field {
        "clients" => "threads",
        "duration" => "time",
        "ramp_up" => "warmup-time",
        "arrivals" => "rate",
        "seed" => "rand-seed",
        "verify" => "validate",
        field => field,
    };
    let Failure::Plan(PlanError { place, problem }) = failure else {
        return failure;
    };
    Failure::Plan(PlanError {
        place: match place {
            Place::Option(field) => Place::Option(named(field)),
            place => place,
        },
        problem: match problem {
            Problem::Work(WorkProblem::PeriodTooLong { name, period }) => {
                let name = named(name);
                WorkProblem::PeriodTooLong { name, period }.into()
            }
            problem => problem,
        },
    })
}

fn percentiles(args: &FileioArgs) -> Vec<f64> {
    let all = args.load.percentile.iter().copied();
    all.filter(|&percentile| percentile > 0.0).collect()
}

/// Fails if the files exceed the free memory. The embedded server keeps files in
/// memory, so larger files would kill it, or stop this machine.
fn check_memory(test: &Fileio) -> Result<(), Failure> {
    let available = fs::read_to_string("/proc/meminfo").ok().and_then(|text| {
        let mut lines = text.lines();
        let line = lines.find_map(|line| line.strip_prefix("MemAvailable:"))?;
        let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
        Some(kib * 1024)
    });
    match available {
        Some(available) if test.total.0 > available => Err(Failure::Embedded(format!(
            "files of {} are more than the {} of memory that it could keep them in: give a smaller \
             --file-total-size, or --target",
            test.total,
            Size(available)
        ))),
        _ => Ok(()),
    }
}

/// Returns the number of whole seconds of each recorded interval, for a test of
/// this length.
fn kept_every(time: Option<Duration>) -> u64 {
    Series::interval_of(time.unwrap_or_default()).as_secs()
}

/// Returns the interval for interim figures in whole seconds. The requested
/// interval is rounded up to a multiple of the recorded one.
fn shown_every(asked_s: u32, time: Option<Duration>) -> u64 {
    u64::from(asked_s).next_multiple_of(kept_every(time))
}

/// Returns a function that prints interim figures at a regular interval, as
/// sysbench does. They do not go to standard output if a document goes there.
fn interim(args: &FileioArgs, test: &Fileio) -> Option<LineReport> {
    let asked = args.load.report_interval;
    if asked == 0 {
        return None;
    }
    let every = shown_every(asked, test.time);
    if every != u64::from(asked) && !args.output.quiet {
        complain(format_args!(
            "--report-interval: {asked} s is rounded up to {every} s: a test of over an hour keeps \
             figures for every {} s only",
            kept_every(test.time)
        ));
    }
    let every = every as f64;
    let flushing = test.flushing;
    let percentiles = percentiles(args);
    // Two such options are refused later.
    let is_taken = args.output.is_stdout_taken().unwrap_or(true);
    let (mut end_s, mut interim) = (0.0, Interim::new(flushing));
    Some(Box::new(
        move |interval: &MeasuredInterval<'_>, line: &ProgressLine| {
            let length_s = interval.length.as_secs_f64();
            end_s += length_s;
            interim.add(interval.ops, length_s);
            // Intervals are whole seconds, or sums of them; only the last may be
            // shorter.
            if interim.length_s() + 1e-6 < every {
                return;
            }
            let text = interim.line(end_s, &percentiles);
            interim = Interim::new(flushing);
            // An error here means that the reader is gone, so it is ignored.
            line.suspended(|| {
                if is_taken {
                    drop(io::stderr().lock().write_all(text.as_bytes()));
                } else {
                    drop(print(&text));
                }
            });
        },
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interim_figures_come_as_asked_for_or_at_the_next_multiple_of_what_is_kept() {
        const HOUR: u64 = 3600;
        for (asked, time_s, expected) in [
            (1, 10, 1),
            (7, HOUR, 7),
            (1, HOUR + 1, 2),
            (10, 2 * HOUR, 10),
            (5, 2 * HOUR, 6),
            (10, 4 * HOUR, 12),
            (u32::MAX, 24 * HOUR, 4_294_967_304),
        ] {
            let time = Duration::from_secs(time_s);
            assert_eq!(shown_every(asked, Some(time)), expected, "{asked} {time_s}");
        }
        // A test with a number of events and no time limit has the shortest
        // interval.
        assert_eq!(shown_every(1, None), 1);
    }
}
