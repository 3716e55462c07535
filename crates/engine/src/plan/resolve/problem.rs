//! What can be wrong with a profile or an option, each with what would be
//! right, in one line.

use std::fmt;
use std::time::Duration;

use super::{
    FILES_MAX, OPERATIONS_MAX, OUTSTANDING_MAX, PERIOD_MAX, REPEAT_MAX, REQUEST_BYTES_MAX,
    SETUP_RATE_MAX, SIZES_MAX, THREADS_MAX, VERIFY_MEMORY_MAX,
};
use crate::clients::CLIENTS_MAX;
use crate::fileio::FileioProblem;
use crate::pattern::BLOCK_BYTES;
use crate::plan::pattern::PATTERN_LINES_MAX;
use crate::plan::{ConnectionsProblem, DriverKind, THINK_TIME_MAX};
use crate::units::{Size, format_duration};

/// Where a refused value was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// In a profile, by its name or path.
    Profile(String),
    /// In a command-line option, by its field in
    /// [`RunOptions`](crate::spec::RunOptions).
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
    /// An option of a `fileio` test.
    #[error(transparent)]
    Fileio(#[from] FileioProblem),
    /// No read share.
    #[error("read_percent is missing: give the share of reads, 0 to 100, or [[operations]] tables")]
    NoReadPercent,
    /// Two ways to say what is asked for.
    #[error("{0} and [[operations]] are both given: drop one of them")]
    TwoMixes(&'static str),
    /// Something that lines of a pattern say, or cannot have.
    #[error("{0} and [[pattern]] are both given: drop one of them")]
    BesidePattern(&'static str),
    /// A pattern beyond measure.
    #[error("there are {0} [[pattern]] tables: at most {PATTERN_LINES_MAX} are possible")]
    TooManyLines(usize),
    /// A line of a pattern that makes no sense.
    #[error("[[pattern]] table {at}: {problem}")]
    PatternLine {
        /// Which one, from 1.
        at: usize,
        /// What is wrong with it, and what would be right.
        problem: String,
    },
    /// Weights that leave something over.
    #[error("the weights of the [[pattern]] tables sum to {}, not to 100: change them to add up", rounded(*.0))]
    PatternWeightSum(f64),
    /// Two ways to say when operations begin.
    #[error("{0} is given, and the pattern has delays: drop one of them")]
    BesideDelays(&'static str),
    /// A mix of operations beyond measure.
    #[error("there are {0} operations: at most {OPERATIONS_MAX} are possible")]
    TooManyOperations(usize),
    /// A weight that is no share.
    #[error("the weight of operation {op} is {weight}: give a percentage, 0 to 100")]
    OperationWeight {
        /// The operation.
        op: &'static str,
        /// Its weight.
        weight: f64,
    },
    /// Weights that leave something over.
    #[error("the weights of the operations sum to {}, not to 100: change them to add up", rounded(*.0))]
    OperationWeightSum(f64),
    /// A parameter that the operation has no use for.
    #[error("operation {op} takes no {parameter}: {}", listed(.takes))]
    Parameter {
        /// The operation.
        op: &'static str,
        /// As written.
        parameter: &'static str,
        /// What it does take.
        takes: &'static [&'static str],
    },
    /// A parameter that is needed.
    #[error("operation {op} needs a {parameter}: give {expected}")]
    NoParameter {
        /// The operation.
        op: &'static str,
        /// What is missing.
        parameter: &'static str,
        /// What it may be.
        expected: String,
    },
    /// A value that a parameter cannot have.
    #[error("{parameter} of operation {op}: {problem}")]
    Value {
        /// The operation.
        op: &'static str,
        /// Which parameter.
        parameter: &'static str,
        /// What is wrong with it, and what would be right.
        problem: String,
    },
    /// Sizes that nothing has.
    #[error("there are sizes, but no operation that has one: drop the [[sizes]] tables")]
    UnusedSizes,
    /// A command of other dialects.
    #[error("{what} needs SMB {needs}, but the dialects are {dialects}: change them or drop it")]
    Dialect {
        /// The operation, or one of its parameters.
        what: &'static str,
        /// Dialects that have it.
        needs: &'static str,
        /// Dialects offered.
        dialects: String,
    },
    /// A read share that is no percentage.
    #[error("read_percent is {0}: give the share of reads, 0 to 100")]
    ReadPercent(f64),
    /// Two load models.
    #[error("rate and think_time are both given: drop one of them")]
    TwoLoadModels,
    /// An option that means nothing without another.
    #[error("{0} means nothing without {1}: give that as well, or drop it")]
    Without(&'static str, &'static str),
    /// A think time beyond measure.
    #[error("think_time is {}: at most {} are possible", format_duration(*.0), format_duration(THINK_TIME_MAX))]
    ThinkTime(Duration),
    /// Something that a replay cannot have.
    #[error("{what} cannot be had in a replay: {why}")]
    InReplay {
        /// As written.
        what: &'static str,
        /// What to do.
        why: &'static str,
    },
    /// Another load model than that of the recording.
    #[error(
        "{0} would take the place of the pauses that the loadfile has (Sleep): drop it, or take \
         them out of the file"
    )]
    Pauses(&'static str),
    /// Times that nobody recorded.
    #[error("timing is recorded, but {0} has no times: give fast, or a file with times")]
    NoTimes(String),
    /// No loop at all.
    #[error("loops is 0: the least is 1")]
    LoopsZero,
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
    /// Clients that only write, and flushes.
    #[error("flush_every_writes cannot be had with split = \"clients\": drop one of them")]
    SplitFlush,
    /// Nothing to run.
    #[error("there are no load points: give one or more numbers of clients")]
    NoLoadPoints,
    /// Clients out of bounds.
    #[error("a load point has {0} clients: give 1 to {CLIENTS_MAX}")]
    Clients(u32),
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
    /// Sessions per second out of bounds.
    #[error("setup_rate is {0}: give 1 to {SETUP_RATE_MAX} sessions per second")]
    SetupRate(u32),
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
        why: std::borrow::Cow<'static, str>,
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
pub(super) fn rounded(sum: f64) -> f64 {
    (sum * 1000.0).round() / 1000.0
}

fn listed(parameters: &[&str]) -> String {
    match parameters {
        [] => "it has no parameters".to_owned(),
        some => format!("it has {}", some.join(", ")),
    }
}
