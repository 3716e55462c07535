//! Resolves a spec into a plan: defaults, precedence and validation.
//!
//! A command-line option overrides the profile's `[run]` table, which overrides the
//! built-in default. Every error says in one line where the value is, what is wrong
//! with it and how to correct it.

mod checks;
mod cifs;
mod driver;
mod fileio;
mod operations;
mod pattern;
mod populations;
mod replay;
mod shares;
mod stages;
mod stream;
mod tree;
mod units;

use std::collections::HashSet;
use std::thread::available_parallelism;
use std::time::Duration;

use super::Plan;
use super::problem::rounded;
use crate::access::{Access, SizeWeight, Split};
use crate::bounds::{FILES_MAX, OPERATION_BYTES_MAX, SIZES_MAX};
use crate::files::{FileSet, Layout, Scope};
use crate::generator::Generator;
use crate::limits::Limits;
use crate::lists::rates::RateList;
use crate::load::{LoadModel, THINK_TIME_MAX, ThinkTime};
use crate::plan::{Place, PlanError, Problem};
use crate::profile::Profile;
use crate::sessions::Sessions;
use crate::spec::RunOptions;
use crate::target::Target;
use crate::units::Size;
use crate::work::{Work, WorkSpec};
use crate::workload::{Requests, Timing, Workload};

/// Tolerance for the sum of weights around 100, for example for rounded thirds.
const WEIGHT_TOLERANCE: f64 = 0.01;
/// The largest file in bytes: common servers have signed file offsets.
const FILE_BYTES_MAX: u64 = i64::MAX as u64;

impl Plan {
    /// Makes a plan in code: [`Plan::resolve`] with the usual limits. The number of
    /// worker threads is the number of CPUs that this process may use. The only
    /// options are those of the profile ([`Spec::run`](crate::spec::Spec)).
    ///
    /// ```
    /// use smbench_model::spec::{SizeSpec, WorkSpec};
    /// use smbench_model::units::Size;
    /// use smbench_model::{Plan, Profile, RunOptions, Spec, Target};
    ///
    /// let spec = Spec {
    ///     read_percent: Some(70.0),
    ///     sizes: vec![SizeSpec { size: Size(4096), weight: 100.0 }],
    ///     run: RunOptions {
    ///         work: WorkSpec {
    ///             clients: Some("1,8".parse()?),
    ///             ..WorkSpec::default()
    ///         },
    ///         ..RunOptions::default()
    ///     },
    ///     ..Spec::default()
    /// };
    /// let target = Target::with_password("smb://alice@files.example/bench", "secret")?;
    /// let plan = Plan::of(&Profile::from_spec("nightly", spec), target)?;
    /// assert_eq!(plan.work.load_points(), [1, 8]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// The first problem of the profile.
    pub fn of(profile: &Profile, target: Target) -> Result<Self, PlanError> {
        let cores = available_parallelism().map_or(1, |cores| cores.get() as u32);
        Self::resolve(
            profile,
            &RunOptions::default(),
            target,
            Limits::default(),
            cores,
        )
    }

    /// Validates a profile and the options given for it. `cores` is the default
    /// number of worker threads.
    ///
    /// Built-in defaults:
    ///
    /// - clients 1 (or as many as the work needs), 4, 8 and 16, with one request outstanding each;
    /// - 3 s measured, or with events until 30 s after the last one, between 1 s of ramp-up and
    ///   500 ms of ramp-down;
    /// - one pass, and seed 1;
    /// - a capture is replayed once if neither a duration nor loops are given;
    /// - random access to one private file of 1 MiB.
    ///
    /// # Errors
    /// The first problem of the profile and options.
    pub fn resolve(
        profile: &Profile,
        options: &RunOptions,
        target: Target,
        limits: Limits,
        cores: u32,
    ) -> Result<Self, PlanError> {
        let written = PlanSources { profile, options };
        let work = options.work.before(&profile.spec.run.work);
        if work.has_stages() || written.has_lines() {
            return written.staged(&work, target, limits, cores);
        }
        Self::resolve_level(profile, options, target, limits, cores)
    }

    /// Resolves a plan whose load has no stages.
    fn resolve_level(
        profile: &Profile,
        options: &RunOptions,
        target: Target,
        limits: Limits,
        cores: u32,
    ) -> Result<Self, PlanError> {
        let written = PlanSources { profile, options };
        if !profile.spec.population.is_empty() {
            let plan = written.populations(&target, limits, cores)?;
            let checked = plan.check_numbers();
            checked.map_err(|(option, problem)| written.in_option(option, problem))?;
            return Ok(plan);
        }
        let mut merged = options.clone().or(profile.spec.run.clone());
        written.unit(&merged.work)?;
        if let (None, Some(range)) = (&options.work.clients, merged.generator.client_range) {
            merged.work.clients = range.of.to_string().parse().ok();
        }
        written.pass_once(&mut merged.work);
        let workload = written.workload(&merged.work)?;
        let load = written.load(&merged.work, &workload)?;
        let rates = merged.work.rate.as_ref().map(RateList::as_slice);
        let rates = rates.filter(|rates| rates.len() > 1).unwrap_or_default();
        let rates = rates.to_vec();
        let plan = Self {
            work: Work::of(merged.work, profile.name(), workload, load, rates),
            sessions: Sessions::of(merged.sessions, target),
            generator: Generator::of(merged.generator, cores),
            limits,
        };
        let checked = plan.check_numbers();
        checked.map_err(|(option, problem)| written.in_option(option, problem))?;
        written.check_held(&plan.only().workload)?;
        written.check_replay(&plan)?;
        written.check_fileio(&plan)?;
        written.check_driver(&plan)?;
        written.check_share(&plan)?;
        written.check_tree_verify(&plan)?;
        written.check_verify(&plan)?;
        written.check_dialects(&plan)?;
        written.check_cifs(&plan)?;
        Ok(plan)
    }
}

/// The written sources of a plan. Errors name the source at fault.
pub(super) struct PlanSources<'a> {
    profile: &'a Profile,
    pub(super) options: &'a RunOptions,
}

impl PlanSources<'_> {
    fn in_profile(&self, problem: Problem) -> PlanError {
        PlanError {
            place: Place::Profile(self.profile.origin.clone()),
            problem,
        }
    }

    /// Makes an error about an option. Its place is the command line if that gives
    /// the option, otherwise the profile. Built-in defaults cause no errors.
    pub(super) fn in_option(&self, option: &'static str, problem: Problem) -> PlanError {
        if self.options.gives(option) {
            on_command_line(option, problem)
        } else {
            self.in_profile(problem)
        }
    }

    fn workload(&self, merged: &WorkSpec) -> Result<Workload, PlanError> {
        if let Some(stream) = &self.profile.spec.stream {
            return self.stream(stream, merged);
        }
        if let Some(recording) = self.recording(merged)? {
            return self.replay(recording, merged);
        }
        let replays = [
            ("timing", merged.timing.is_some()),
            ("speed", merged.speed.is_some()),
        ];
        if let Some((name, _)) = replays.into_iter().find(|(_, is_given)| *is_given) {
            let problem = Problem::Without(name, "something to replay");
            return Err(self.in_option(name, problem));
        }
        let mut workload = self.other_workload(merged)?;
        if merged.loops.is_some() && workload.chooses_files() {
            // Random choices would leave out some, and take others twice.
            workload.access = Access::Sequential;
        }
        match merged.loops {
            Some(0) => Err(self.in_option("loops", Problem::LoopsZero)),
            Some(loops) if workload.actions_of(loops).is_none() => {
                let what = "a replay, or a mix of only stat, copy_in, copy_out and lookup_missing, of \
                            only list, or of only walk";
                Err(self.in_option("loops", Problem::Without("loops", what)))
            }
            _ => Ok(workload),
        }
    }

    /// Resolves a workload that is no replay.
    fn other_workload(&self, merged: &WorkSpec) -> Result<Workload, PlanError> {
        let spec = &self.profile.spec;
        if !spec.pattern.is_empty() {
            return self.pattern(merged);
        }
        if let Some(test) = &self.profile.fileio {
            return self.fileio(test);
        }
        let requests = match spec.operations.as_slice() {
            [] => self.data()?,
            operations => self.mix(operations)?,
        };
        let mut workload = Workload {
            sizes: Vec::new(),
            requests,
            access: spec.access.unwrap_or(Access::Random),
            files: self.files()?,
        };
        if workload.uses_sizes() {
            workload.sizes = self.sizes(&workload.files)?;
        } else if !spec.sizes.is_empty() {
            return Err(self.in_profile(Problem::UnusedSizes));
        }
        self.check_whole_files(&workload)?;
        Ok(workload)
    }

    /// Resolves plain reads and writes.
    fn data(&self) -> Result<Requests, PlanError> {
        let spec = &self.profile.spec;
        let fail = |problem| Err(self.in_profile(problem));
        let read_percent = match spec.read_percent {
            None => return fail(Problem::NoReadPercent),
            Some(percent) if (0.0..=100.0).contains(&percent) => percent,
            Some(percent) => return fail(Problem::ReadPercent(percent)),
        };
        if spec.split == Some(Split::Clients) {
            return match spec.flush_every_writes {
                None => Ok(Requests::Divided {
                    readers_percent: read_percent,
                }),
                Some(_) => fail(Problem::SplitFlush),
            };
        }
        match spec.flush_every_writes {
            Some(0) => return fail(Problem::FlushZero),
            Some(_) if read_percent == 100.0 => return fail(Problem::FlushWithoutWrites),
            _ => {}
        }
        Ok(Requests::Data {
            read_percent,
            flush_every_writes: spec.flush_every_writes,
        })
    }

    fn files(&self) -> Result<FileSet, PlanError> {
        if let Some(shape) = &self.profile.spec.tree {
            return self.tree(shape);
        }
        let spec = &self.profile.spec.files;
        let files = FileSet {
            scope: spec.scope.unwrap_or(Scope::Private),
            count: spec.count.unwrap_or(1),
            size: self
                .options
                .work
                .file_size
                .or(spec.size)
                .unwrap_or(Size(1 << 20))
                .0,
            layout: Layout::Flat,
        };
        match files.count {
            0 => Err(self.in_profile(Problem::NoFiles)),
            1..=FILES_MAX => Ok(files),
            count => Err(self.in_profile(Problem::TooManyFiles(count))),
        }
    }

    fn sizes(&self, files: &FileSet) -> Result<Vec<SizeWeight>, PlanError> {
        let written = &self.profile.spec.sizes;
        let fail = |problem| Err(self.in_profile(problem));
        if written.is_empty() {
            return fail(Problem::NoSizes);
        }
        if written.len() > SIZES_MAX {
            return fail(Problem::TooManySizes(written.len()));
        }
        let mut seen = HashSet::new();
        let mut sizes = Vec::with_capacity(written.len());
        for entry in written {
            let (size, weight) = (entry.size, entry.weight);
            if size.0 == 0 {
                return fail(Problem::SizeZero);
            }
            let bytes = match u32::try_from(size.0) {
                Ok(bytes) if size.0 <= OPERATION_BYTES_MAX => bytes,
                _ => return fail(Problem::SizeTooLarge(size)),
            };
            if !seen.insert(size) {
                return fail(Problem::SizeTwice(size));
            }
            if !(0.0..=f64::MAX).contains(&weight) {
                return fail(Problem::Weight { size, weight });
            }
            if size.0 > files.size {
                let file = Size(files.size);
                return Err(self.in_option("file_size", Problem::SizeAboveFile { size, file }));
            }
            sizes.push(SizeWeight {
                size: bytes,
                weight,
            });
        }
        let sum: f64 = sizes.iter().map(|size| size.weight).sum();
        if is_all(sum) {
            Ok(sizes)
        } else {
            fail(Problem::WeightSum(sum))
        }
    }

    /// Resolves the load model.
    fn load(&self, merged: &WorkSpec, workload: &Workload) -> Result<LoadModel, PlanError> {
        if let Some(replay) = workload.replay() {
            if replay.timing == Timing::Recorded {
                return self.recorded(merged);
            }
            self.check_pauses(replay, merged)?;
        }
        if let Some(stream) = &self.profile.spec.stream {
            return self.stream_load(stream);
        }
        let fail = |option, problem| Err(self.in_option(option, problem));
        let stray = || {
            let problem = Problem::Without("think_distribution", "think_time");
            fail("think_distribution", problem)
        };
        match (&merged.rate, merged.think_time) {
            (Some(_), Some(_)) => fail("rate", Problem::TwoLoadModels),
            (Some(_), None) if merged.think_distribution.is_some() => stray(),
            (Some(rates), None) => Ok(LoadModel::Rate {
                rate: rates.highest(),
                arrivals: merged.arrivals.unwrap_or_default(),
            }),
            (None, _) if merged.arrivals.is_some() => {
                fail("arrivals", Problem::Without("arrivals", "rate"))
            }
            (None, None) if merged.think_distribution.is_some() => stray(),
            (None, Some(mean)) if mean > THINK_TIME_MAX => {
                fail("think_time", Problem::ThinkTime(mean))
            }
            (None, Some(Duration::ZERO) | None) => Ok(LoadModel::Closed { think: None }),
            (None, Some(mean)) => Ok(LoadModel::Closed {
                think: Some(ThinkTime {
                    mean,
                    spacing: merged.think_distribution.unwrap_or_default(),
                }),
            }),
        }
    }
}

/// Makes an error about an option that no profile can give.
fn on_command_line(option: &'static str, problem: Problem) -> PlanError {
    PlanError {
        place: Place::Option(option),
        problem,
    }
}

/// Whether weights with this sum add up to 100.
fn is_all(sum: f64) -> bool {
    rounded((sum - 100.0).abs()) <= WEIGHT_TOLERANCE
}

#[cfg(test)]
pub(super) mod tests;
