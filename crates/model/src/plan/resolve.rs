//! Resolves a spec into a plan: defaults, precedence and validation.
//!
//! A command-line option overrides the profile's `[run]` table, which overrides the
//! built-in default. Every error says in one line where the value is, what is wrong
//! with it and how to correct it.

mod driver;

mod fileio;
mod operations;
mod pattern;
mod replay;

use std::collections::HashSet;
use std::thread::available_parallelism;
use std::time::Duration;

use super::Plan;
use super::problem::rounded;
use crate::access::{Access, SizeWeight, Split};
use crate::bounds::{FILES_MAX, REQUEST_BYTES_MAX, SIZES_MAX, THREADS_MAX, VERIFY_MEMORY_MAX};
use crate::contents::block::BLOCK_BYTES;
use crate::contents::{Verify, verify};
use crate::files::{FileSet, Scope};
use crate::generator::Generator;
use crate::limits::Limits;
use crate::load::{LoadModel, THINK_TIME_MAX, ThinkTime};
use crate::plan::{Place, PlanError, Problem};
use crate::profile::Profile;
use crate::sessions::{Connections, SessionOptions, Sessions};
use crate::spec::RunOptions;
use crate::target::Target;
use crate::units::Size;
use crate::work::Work;
use crate::workload::{Requests, Timing, Workload};

/// Default time limit of a replay with `loops` and of a `fileio` test.
const LOOPS_DURATION: Duration = Duration::from_secs(3600);
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
    /// use smbench_model::spec::SizeSpec;
    /// use smbench_model::units::Size;
    /// use smbench_model::{Plan, Profile, RunOptions, Spec, Target};
    ///
    /// let spec = Spec {
    ///     read_percent: Some(70.0),
    ///     sizes: vec![SizeSpec { size: Size(4096), weight: 100.0 }],
    ///     run: RunOptions {
    ///         clients: Some("1,8".parse()?),
    ///         ..RunOptions::default()
    ///     },
    ///     ..Spec::default()
    /// };
    /// let target = Target::with_password("smb://alice@files.example/bench", "secret")?;
    /// let plan = Plan::of(&Profile::from_spec("nightly", spec), target)?;
    /// assert_eq!(plan.work.load_points, [1, 8]);
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
    /// - clients 1, 4, 8 and 16, with one request outstanding each;
    /// - 3 s measured, between 1 s of ramp-up and 500 ms of ramp-down;
    /// - one pass, and seed 1;
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
        let written = Written { profile, options };
        let merged = options.clone().or(profile.spec.run.clone());
        let workload = written.workload(&merged)?;
        let load = written.load(&merged, &workload)?;
        // A counted replay and a `fileio` test end when their work is done; the
        // duration is only a limit.
        let (ramp, duration, ramp_down) =
            match merged.loops.is_some() || workload.fileio().is_some() {
                true => (Duration::ZERO, LOOPS_DURATION, Duration::ZERO),
                false => (
                    Duration::from_secs(1),
                    Duration::from_secs(3),
                    Duration::from_millis(500),
                ),
            };
        let load_points = match merged.clients {
            Some(list) => list.into(),
            None => vec![1, 4, 8, 16],
        };
        let plan = Self {
            work: Work {
                profile: profile.name(),
                workload,
                load_points,
                repeat: merged.repeat.unwrap_or(1),
                outstanding: merged.outstanding.unwrap_or(1),
                load,
                ramp: merged.ramp.unwrap_or_default(),
                ramp_up: merged.ramp_up.unwrap_or(ramp),
                duration: merged.duration.unwrap_or(duration),
                ramp_down: merged.ramp_down.unwrap_or(ramp_down),
                seed: merged.seed.unwrap_or(1),
                verify: merged.verify.unwrap_or_default(),
            },
            sessions: Sessions {
                target,
                options: SessionOptions {
                    dialects: merged.dialect.unwrap_or_default(),
                    signing: merged.sign.unwrap_or_default(),
                    signing_algorithm: merged.signing_algorithm,
                    encryption: merged.encrypt.unwrap_or_default(),
                    ciphers: merged.cipher.unwrap_or_default(),
                },
                connections: Connections {
                    sessions_per_connection: merged.sessions_per_connection.unwrap_or(1),
                    connections_per_session: merged.connections_per_session.unwrap_or(1),
                    credits: merged.credits,
                    sources: merged.source_ip,
                },
                caching: merged.oplock.unwrap_or_default(),
            },
            generator: Generator {
                threads: merged.threads.unwrap_or(cores.clamp(1, THREADS_MAX)),
                pinning: merged.pin_threads.unwrap_or_default(),
                setup_rate: merged.setup_rate,
                driver: merged.driver.unwrap_or_default(),
                server_cpu: merged.server_cpu.unwrap_or_default(),
            },
            limits,
        };
        written.check_run(&plan)?;
        written.check_replay(&plan)?;
        written.check_fileio(&plan)?;
        written.check_connections(&plan)?;
        written.check_driver(&plan)?;
        written.check_share(&plan)?;
        written.check_verify(&plan)?;
        written.check_dialects(&plan)?;
        Ok(plan)
    }
}

/// The written sources of a plan. Errors name the source at fault.
pub(super) struct Written<'a> {
    profile: &'a Profile,
    pub(super) options: &'a RunOptions,
}

impl Written<'_> {
    fn in_profile(&self, problem: Problem) -> PlanError {
        PlanError {
            place: Place::Profile(self.profile.origin.clone()),
            problem,
        }
    }

    /// Makes an error about an option. Its place is the command line if it
    /// `is_given` there, otherwise the profile. Built-in defaults cause no errors.
    pub(super) fn in_option(
        &self,
        field: &'static str,
        is_given: bool,
        problem: Problem,
    ) -> PlanError {
        if is_given {
            PlanError {
                place: Place::Option(field),
                problem,
            }
        } else {
            self.in_profile(problem)
        }
    }

    fn in_file_size(&self, problem: Problem) -> PlanError {
        self.in_option("file_size", self.options.file_size.is_some(), problem)
    }

    fn workload(&self, merged: &RunOptions) -> Result<Workload, PlanError> {
        let spec = &self.profile.spec;
        if let Some(trace) = self.trace(merged)? {
            return self.replay(trace, merged);
        }
        for (name, given, is_given) in [
            (
                "timing",
                merged.timing.is_some(),
                self.options.timing.is_some(),
            ),
            (
                "loops",
                merged.loops.is_some(),
                self.options.loops.is_some(),
            ),
        ] {
            if given {
                let problem = Problem::Without(name, "something to replay");
                return Err(self.in_option(name, is_given, problem));
            }
        }
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
        let spec = &self.profile.spec.files;
        let files = FileSet {
            scope: spec.scope.unwrap_or(Scope::Private),
            count: spec.count.unwrap_or(1),
            size: self
                .options
                .file_size
                .or(spec.size)
                .unwrap_or(Size(1 << 20))
                .0,
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
                Ok(bytes) if size.0 <= REQUEST_BYTES_MAX => bytes,
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
                return Err(self.in_file_size(Problem::SizeAboveFile { size, file }));
            }
            sizes.push(SizeWeight {
                size: bytes,
                weight,
            });
        }
        let sum: f64 = sizes.iter().map(|size| size.weight).sum();
        match is_all(sum) {
            true => Ok(sizes),
            false => fail(Problem::WeightSum(sum)),
        }
    }

    /// Resolves the load model.
    fn load(&self, merged: &RunOptions, workload: &Workload) -> Result<LoadModel, PlanError> {
        let options = self.options;
        if let Some(replay) = workload.replay() {
            if replay.timing == Timing::Recorded {
                return self.recorded(merged);
            }
            self.check_pauses(replay, merged)?;
        }
        let fail = |field, is_given, problem| Err(self.in_option(field, is_given, problem));
        match (merged.rate, merged.think_time) {
            (Some(_), Some(_)) => fail(
                "rate",
                options.rate.is_some() && options.think_time.is_some(),
                Problem::TwoLoadModels,
            ),
            (Some(_), None) if merged.think_distribution.is_some() => fail(
                "think_distribution",
                options.think_distribution.is_some(),
                Problem::Without("think_distribution", "think_time"),
            ),
            (Some(rate), None) => Ok(LoadModel::Rate {
                rate,
                arrivals: merged.arrivals.unwrap_or_default(),
            }),
            (None, _) if merged.arrivals.is_some() => fail(
                "arrivals",
                options.arrivals.is_some(),
                Problem::Without("arrivals", "rate"),
            ),
            (None, None) if merged.think_distribution.is_some() => fail(
                "think_distribution",
                options.think_distribution.is_some(),
                Problem::Without("think_distribution", "think_time"),
            ),
            (None, Some(mean)) if mean > THINK_TIME_MAX => fail(
                "think_time",
                options.think_time.is_some(),
                Problem::ThinkTime(mean),
            ),
            (None, Some(Duration::ZERO) | None) => Ok(LoadModel::Closed { think: None }),
            (None, Some(mean)) => Ok(LoadModel::Closed {
                think: Some(ThinkTime {
                    mean,
                    spacing: merged.think_distribution.unwrap_or_default(),
                }),
            }),
        }
    }

    fn check_run(&self, plan: &Plan) -> Result<(), PlanError> {
        plan.check_numbers().map_err(|(field, problem)| {
            let options = self.options;
            let is_given = match field {
                "outstanding" => options.outstanding.is_some(),
                "repeat" => options.repeat.is_some(),
                "threads" => options.threads.is_some(),
                "setup_rate" => options.setup_rate.is_some(),
                "duration" => options.duration.is_some(),
                "ramp" => options.ramp.is_some(),
                "ramp_up" => options.ramp_up.is_some(),
                "ramp_down" => options.ramp_down.is_some(),
                _ => options.clients.is_some(),
            };
            self.in_option(field, is_given, problem)
        })
    }

    fn check_connections(&self, plan: &Plan) -> Result<(), PlanError> {
        let checked = plan.sessions.connections.check(
            plan.largest_request(),
            plan.largest_charge(),
            plan.sessions.options.dialects,
        );
        checked.map_err(|(field, problem)| {
            let options = self.options;
            let is_given = match field {
                "credits" => options.credits.is_some(),
                "sessions_per_connection" => options.sessions_per_connection.is_some(),
                _ => options.connections_per_session.is_some(),
            };
            self.in_option(field, is_given, problem.into())
        })
    }

    fn check_share(&self, plan: &Plan) -> Result<(), PlanError> {
        if plan.bytes_on_share() > FILE_BYTES_MAX {
            let clients = plan.max_clients();
            return Err(self.in_file_size(Problem::FilesTooLarge { clients }));
        }
        Ok(())
    }

    fn check_verify(&self, plan: &Plan) -> Result<(), PlanError> {
        if plan.work.verify == Verify::Off {
            return Ok(());
        }
        let is_whole = |bytes: u64| bytes.is_multiple_of(BLOCK_BYTES as u64);
        let files = &plan.work.workload.files;
        if !is_whole(files.size) {
            return Err(self.in_file_size(Problem::Unverifiable {
                what: "file size",
                size: Size(files.size),
            }));
        }
        let memory = verify::memory_bytes(files, plan.max_clients());
        if memory > VERIFY_MEMORY_MAX {
            return Err(self.in_file_size(Problem::VerifyMemory {
                bytes: Size(plan.bytes_on_share()),
                memory: Size(memory),
            }));
        }
        let sizes = plan
            .work
            .workload
            .request_sizes()
            .map(|size| ("size", size));
        let lines = plan.work.workload.pattern().unwrap_or_default().iter();
        let mut units = sizes.chain(lines.map(|line| ("align", line.align)));
        match units.find(|&(_, unit)| !is_whole(unit.into())) {
            None => Ok(()),
            Some((what, unit)) => Err(self.in_profile(Problem::Unverifiable {
                what,
                size: Size(unit.into()),
            })),
        }
    }
}

/// Whether weights with this sum add up to 100.
fn is_all(sum: f64) -> bool {
    rounded((sum - 100.0).abs()) <= WEIGHT_TOLERANCE
}

#[cfg(test)]
pub(super) mod tests;
