//! From what was written to what will run: defaults, precedence, judgement.
//!
//! A command-line option goes before the profile's `[run]` table, and that
//! before the built-in default. Every refusal says where the value stands,
//! what is wrong with it and what would be right, in one line.

use std::collections::HashSet;
use std::fmt;
use std::time::Duration;

use super::{
    Access, Connections, ConnectionsProblem, DriverKind, FileSet, Limits, Plan, Scope,
    SessionOptions, SizeWeight, Verify, Workload,
};
use crate::pattern::BLOCK_BYTES;
use crate::profile::Profile;
use crate::spec::RunOptions;
use crate::target::Target;
use crate::units::{Size, format_duration};
use crate::verify;

/// The most requests a client may keep in flight.
pub const OUTSTANDING_MAX: u32 = 1024;
/// The largest request in bytes: the largest MaxReadSize and MaxWriteSize that
/// SMB servers are known to grant. The server at hand may grant less.
pub const REQUEST_BYTES_MAX: u64 = 8 << 20;
/// The most files of one client, or shared ones. All are open at once.
pub const FILES_MAX: u32 = 10_000;
/// The longest window or ramp.
pub const PERIOD_MAX: Duration = Duration::from_secs(30 * 86_400);
/// The most worker threads.
pub const THREADS_MAX: u32 = 1024;
/// The most passes over the load points.
pub const REPEAT_MAX: u32 = 1000;
/// The most request sizes of a mix.
pub const SIZES_MAX: usize = 1000;
/// How far from 100 the weights may add up, for sums of rounded thirds.
const WEIGHT_TOLERANCE: f64 = 0.01;
/// The most memory verification may take, in bytes: enough for 85 GiB of files.
const VERIFY_MEMORY_MAX: u64 = 4 << 30;
/// File offsets are signed on the servers that matter.
const FILE_BYTES_MAX: u64 = i64::MAX as u64;

/// Where a refused value was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// In a profile, by its name or path.
    Profile(String),
    /// In a command-line option, by its field in [`RunOptions`].
    Option(&'static str),
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Profile(origin) => write!(f, "profile {origin}"),
            Self::Option(field) => write!(f, "--{}", field.replace('_', "-")),
        }
    }
}

/// A spec that cannot run.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{place}: {problem}")]
pub struct PlanError {
    /// Where the value stands.
    pub place: Place,
    /// What is wrong with it.
    pub problem: Problem,
}

/// What is wrong with a value, and what would be right.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Problem {
    /// No read share.
    #[error("read_percent is missing: give the share of reads, 0 to 100")]
    NoReadPercent,
    /// A read share that is no percentage.
    #[error("read_percent is {0}: give the share of reads, 0 to 100")]
    ReadPercent(f64),
    /// An empty mix.
    #[error("there are no sizes: add [[sizes]] tables with a size and a weight")]
    NoSizes,
    /// A mix beyond measure.
    #[error("there are {0} sizes: at most {SIZES_MAX} are possible")]
    TooManySizes(usize),
    /// A request without bytes.
    #[error("a size is 0: the least is 1 byte")]
    SizeZero,
    /// A request no server takes.
    #[error("size {0:#} is more than {max}, the largest request servers take", max = Size(REQUEST_BYTES_MAX))]
    SizeTooLarge(Size),
    /// The same size in two tables.
    #[error("size {0:#} is listed twice: give it once, with the sum of the weights")]
    SizeTwice(Size),
    /// A request that fits in no file.
    #[error("size {size:#} does not fit in a file of {file:#}: enlarge the files or drop the size")]
    SizeAboveFile {
        /// The request size.
        size: Size,
        /// The file size.
        file: Size,
    },
    /// A weight that is no share.
    #[error("the weight of size {size:#} is {weight}: give a percentage, 0 to 100")]
    Weight {
        /// The request size.
        size: Size,
        /// Its weight.
        weight: f64,
    },
    /// Weights that leave something over.
    #[error("the weights of the sizes sum to {}, not to 100: change them to add up", rounded(*.0))]
    WeightSum(f64),
    /// No file to work on.
    #[error("the file count is 0: the least is 1")]
    NoFiles,
    /// More files than can be held open.
    #[error("the file count is {0}: at most {FILES_MAX} are possible")]
    TooManyFiles(u32),
    /// Files beyond measure.
    #[error("the files are too large: {clients} clients would need 2^63 bytes or more")]
    FilesTooLarge {
        /// Clients of the largest load point.
        clients: u32,
    },
    /// A flush after no write.
    #[error("flush_every_writes is 0: give a number of writes, or leave it out for never")]
    FlushZero,
    /// A flush that would never come.
    #[error(
        "flush_every_writes is set, but read_percent is 100 and nothing is ever written: drop one of them"
    )]
    FlushWithoutWrites,
    /// Requests in flight out of bounds.
    #[error("outstanding is {0}: give 1 to {OUTSTANDING_MAX}")]
    Outstanding(u32),
    /// No pass at all.
    #[error("repeat is 0: the least is 1")]
    RepeatZero,
    /// More passes than anybody waits for.
    #[error("repeat is {0}: the most is {REPEAT_MAX}")]
    RepeatTooLarge(u32),
    /// Threads out of bounds.
    #[error("threads is {0}: give 1 to {THREADS_MAX}")]
    Threads(u32),
    /// Nothing is measured.
    #[error("duration is zero: the measured window needs a length, such as 30s")]
    DurationZero,
    /// A window or a ramp beyond measure.
    #[error("{name} is {}: the longest is {}", format_duration(*.period), format_duration(PERIOD_MAX))]
    PeriodTooLong {
        /// Which one.
        name: &'static str,
        /// As written.
        period: Duration,
    },
    /// Connections that cannot be had.
    #[error(transparent)]
    Connections(#[from] ConnectionsProblem),
    /// An option that the chosen client has no setting for.
    #[error("the driver {driver} {why}")]
    Driver {
        /// The client.
        driver: DriverKind,
        /// What it does instead, and what to do.
        why: &'static str,
    },
    /// Verification keeps account of every block.
    #[error(
        "verifying {bytes} of files takes {memory} of memory here, more than {}: use smaller files, fewer clients or no verification",
        Size(VERIFY_MEMORY_MAX)
    )]
    VerifyMemory {
        /// Bytes on the share.
        bytes: Size,
        /// Memory of all ledgers.
        memory: Size,
    },
    /// Verification works on whole blocks.
    #[error(
        "{what} {size:#} is not a multiple of {BLOCK_BYTES} bytes, which verification needs: change it or turn verification off"
    )]
    Unverifiable {
        /// A request or the file.
        what: &'static str,
        /// Its size.
        size: Size,
    },
}

/// At most three decimals, so that 99.99999999 from a float sum reads 100.
fn rounded(sum: f64) -> f64 {
    (sum * 1000.0).round() / 1000.0
}

impl Plan {
    /// Judges a profile and the options given for it. `cores` is the number of
    /// worker threads when nobody says otherwise.
    ///
    /// Built-in defaults: clients 1,4,8,16; one request outstanding; 3 s
    /// measured between 1 s of ramp-up and 500 ms of ramp-down; one pass;
    /// seed 1; random access; one private file of 1 MiB.
    ///
    /// # Errors
    /// The first thing that cannot run.
    pub fn resolve(
        profile: &Profile,
        options: &RunOptions,
        target: Target,
        limits: Limits,
        cores: u32,
    ) -> Result<Self, PlanError> {
        let written = Written { profile, options };
        let merged = options.clone().or(profile.spec.run.clone());
        let workload = written.workload()?;
        let load_points = match merged.clients {
            Some(list) => list.into(),
            None => vec![1, 4, 8, 16],
        };
        let plan = Self {
            profile: profile.name(),
            workload,
            target,
            load_points,
            repeat: merged.repeat.unwrap_or(1),
            outstanding: merged.outstanding.unwrap_or(1),
            ramp_up: merged.ramp_up.unwrap_or(Duration::from_secs(1)),
            duration: merged.duration.unwrap_or(Duration::from_secs(3)),
            ramp_down: merged.ramp_down.unwrap_or(Duration::from_millis(500)),
            seed: merged.seed.unwrap_or(1),
            threads: merged.threads.unwrap_or(cores.clamp(1, THREADS_MAX)),
            driver: merged.driver.unwrap_or_default(),
            session: SessionOptions {
                dialects: merged.dialect.unwrap_or_default(),
                signing: merged.sign.unwrap_or_default(),
                signing_algorithm: merged.signing_algorithm,
                encryption: merged.encrypt.unwrap_or_default(),
                ciphers: merged.cipher.unwrap_or_default(),
            },
            connections: Connections {
                credits: merged.credits,
                sources: merged.source_ip,
            },
            verify: merged.verify.unwrap_or_default(),
            limits,
        };
        written.check_run(&plan)?;
        written.check_connections(&plan)?;
        written.check_driver(&plan)?;
        written.check_share(&plan)?;
        written.check_verify(&plan)?;
        Ok(plan)
    }
}

/// The sources of a plan, for naming the one at fault.
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

    /// A problem with an option: on the command line if it `is_given` there,
    /// in the profile otherwise (built-in defaults have none).
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

    fn workload(&self) -> Result<Workload, PlanError> {
        let spec = &self.profile.spec;
        let fail = |problem| Err(self.in_profile(problem));
        let read_percent = match spec.read_percent {
            None => return fail(Problem::NoReadPercent),
            Some(percent) if (0.0..=100.0).contains(&percent) => percent,
            Some(percent) => return fail(Problem::ReadPercent(percent)),
        };
        match spec.flush_every_writes {
            Some(0) => return fail(Problem::FlushZero),
            Some(_) if read_percent == 100.0 => return fail(Problem::FlushWithoutWrites),
            _ => {}
        }
        let files = self.files()?;
        Ok(Workload {
            sizes: self.sizes(&files)?,
            read_percent,
            access: spec.access.unwrap_or(Access::Random),
            flush_every_writes: spec.flush_every_writes,
            files,
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
        if rounded((sum - 100.0).abs()) > WEIGHT_TOLERANCE {
            return fail(Problem::WeightSum(sum));
        }
        Ok(sizes)
    }

    fn check_run(&self, plan: &Plan) -> Result<(), PlanError> {
        let options = self.options;
        let fail = |field, is_given, problem| Err(self.in_option(field, is_given, problem));
        if !(1..=OUTSTANDING_MAX).contains(&plan.outstanding) {
            let problem = Problem::Outstanding(plan.outstanding);
            return fail("outstanding", options.outstanding.is_some(), problem);
        }
        if plan.repeat == 0 {
            return fail("repeat", options.repeat.is_some(), Problem::RepeatZero);
        }
        if plan.repeat > REPEAT_MAX {
            let problem = Problem::RepeatTooLarge(plan.repeat);
            return fail("repeat", options.repeat.is_some(), problem);
        }
        if !(1..=THREADS_MAX).contains(&plan.threads) {
            let problem = Problem::Threads(plan.threads);
            return fail("threads", options.threads.is_some(), problem);
        }
        if plan.duration.is_zero() {
            let given = options.duration.is_some();
            return fail("duration", given, Problem::DurationZero);
        }
        for (name, period, given) in [
            ("duration", plan.duration, options.duration),
            ("ramp_up", plan.ramp_up, options.ramp_up),
            ("ramp_down", plan.ramp_down, options.ramp_down),
        ] {
            if period > PERIOD_MAX {
                let problem = Problem::PeriodTooLong { name, period };
                return fail(name, given.is_some(), problem);
            }
        }
        Ok(())
    }

    fn check_connections(&self, plan: &Plan) -> Result<(), PlanError> {
        let checked = plan.connections.check(plan.largest_request());
        checked.map_err(|(field, problem)| {
            let is_given = match field {
                "credits" => self.options.credits.is_some(),
                _ => false,
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
        if plan.verify == Verify::Off {
            return Ok(());
        }
        let is_whole = |bytes: u64| bytes.is_multiple_of(BLOCK_BYTES as u64);
        let files = &plan.workload.files;
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
        let odd = |size: &&SizeWeight| !is_whole(u64::from(size.size));
        match plan.workload.sizes.iter().find(odd) {
            None => Ok(()),
            Some(size) => Err(self.in_profile(Problem::Unverifiable {
                what: "size",
                size: Size(u64::from(size.size)),
            })),
        }
    }
}

#[cfg(test)]
pub(super) mod tests;
