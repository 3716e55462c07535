//! Problems of a profile or an option. Each message is one line and says how to
//! correct the value.

mod population;

use std::fmt;
use std::time::Duration;

use crate::access::PATTERN_LINES_MAX;
use crate::bounds::{
    FILES_MAX, HELD_FILES_MAX, OPERATION_BYTES_MAX, OPERATIONS_MAX, REQUEST_BYTES_MAX, SIZES_MAX,
    SPEED_MAX, VERIFY_MEMORY_MAX,
};
use crate::contents::after::BLOCKS_MAX;
use crate::contents::block::BLOCK_BYTES;
use crate::fileio::FileioProblem;
use crate::generator::{DriverKind, GeneratorProblem};
use crate::load::THINK_TIME_MAX;
use crate::load::stream::StreamProblem;
use crate::part::ClientRange;
use crate::sessions::{ChurnProblem, ConnectionsProblem, FailoverProblem};
use crate::setting::spelled;
use crate::tree::TreeProblem;
use crate::units::{Size, format_duration};
use crate::work::WorkProblem;
pub use population::PopulationProblem;

/// The place where a refused value is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// A profile, by its name or path.
    Profile(String),
    /// An option, by its field in
    /// [`RunOptions`](crate::spec::RunOptions).
    Option(&'static str),
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Profile(origin) => write!(f, "profile {origin}"),
            Self::Option(field) => f.write_str(&spelled(field)),
        }
    }
}

/// A spec that cannot run: the problem and its place.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{place}: {problem}")]
pub struct PlanError {
    /// The place of the value.
    pub place: Place,
    /// The problem with the value.
    #[source]
    pub problem: Problem,
}

/// A problem with a value, and how to correct it.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Problem {
    /// A problem with an option of a `fileio` test.
    #[error(transparent)]
    Fileio(#[from] FileioProblem),
    /// A problem of populations.
    #[error(transparent)]
    Population(#[from] PopulationProblem),
    /// The share of reads is missing.
    #[error("read_percent is missing: give the share of reads, 0 to 100, or [[operations]] tables")]
    NoReadPercent,
    /// Two mixes of operations are given.
    #[error("{0} and [[operations]] are both given: drop one of them")]
    TwoMixes(&'static str),
    /// A key is given that a pattern replaces or cannot have.
    #[error("{0} and [[pattern]] are both given: drop one of them")]
    BesidePattern(&'static str),
    /// The pattern has too many lines.
    #[error("there are {0} [[pattern]] tables: at most {PATTERN_LINES_MAX} are possible")]
    TooManyLines(usize),
    /// A line of a pattern is not valid.
    #[error("[[pattern]] table {at}: {problem}")]
    PatternLine {
        /// The number of the line, from 1.
        at: usize,
        /// The problem with the line, and how to correct it.
        problem: String,
    },
    /// The weights of the pattern do not sum to 100.
    #[error("the weights of the [[pattern]] tables sum to {}, not to 100: change them to add up", rounded(*.0))]
    PatternWeightSum(f64),
    /// Two settings say when operations begin.
    #[error("{0} is given, and the pattern has delays: drop one of them")]
    BesideDelays(&'static str),
    /// The mix has too many operations.
    #[error("there are {0} operations: at most {OPERATIONS_MAX} are possible")]
    TooManyOperations(usize),
    /// A weight is not a percentage.
    #[error("the weight of operation {op} is {weight}: give a percentage, 0 to 100")]
    OperationWeight {
        /// The operation.
        op: &'static str,
        /// Its weight.
        weight: f64,
    },
    /// The weights of the operations do not sum to 100.
    #[error("the weights of the operations sum to {}, not to 100: change them to add up", rounded(*.0))]
    OperationWeightSum(f64),
    /// Operation session is one of several.
    #[error(
        "operation session is one of several: it needs a mix of its own, because its clients have \
         no other session"
    )]
    SessionNotAlone,
    /// A walk is one of several operations.
    #[error(
        "operation walk is one of several: it needs a mix of its own, because its next directory \
         depends on the answers"
    )]
    WalkNotAlone,
    /// A neighbour has nothing to look at.
    #[error(
        "operation neighbour looks at the files that copy_in makes: add operation copy_in, with a \
         weight above 0"
    )]
    NeighbourAlone,
    /// Sizes are given, but no operation has a size.
    #[error("there are sizes, but no operation that has one: drop the [[sizes]] tables")]
    UnusedSizes,
    /// None of the offered dialects has the command.
    #[error("{what} needs SMB {needs}, but the dialects are {dialects}: change them or drop it")]
    Dialect {
        /// The operation or parameter.
        what: &'static str,
        /// Dialects that have it.
        needs: &'static str,
        /// Dialects offered.
        dialects: String,
    },
    /// The share of reads is not a percentage.
    #[error("read_percent is {0}: give the share of reads, 0 to 100")]
    ReadPercent(f64),
    /// Two load models are given.
    #[error("rate and think_time are both given: drop one of them")]
    TwoLoadModels,
    /// An option has no meaning without another option.
    #[error("{0} means nothing without {1}: give that as well, or drop it")]
    Without(&'static str, &'static str),
    /// The think time is too long.
    #[error("think_time is {}: at most {} are possible", format_duration(*.0), format_duration(THINK_TIME_MAX))]
    ThinkTime(Duration),
    /// A replay does not support the option.
    #[error("{what} cannot be had in a replay: {why}")]
    InReplay {
        /// The option as written.
        what: &'static str,
        /// The advice.
        why: &'static str,
    },
    /// A load model would replace the pauses of the recording.
    #[error(
        "{0} would take the place of the pauses that the loadfile has (Sleep): drop it, or take \
         them out of the file"
    )]
    Pauses(&'static str),
    /// The recording has no times.
    #[error("timing is recorded, but {0} has no times: give fast, or a file with times")]
    NoTimes(String),
    /// The number of loops is 0.
    #[error("loops is 0: it must be at least 1")]
    LoopsZero,
    /// The speed of a replay is out of bounds.
    #[error("speed is {0}: it must be more than 0 and at most {SPEED_MAX}")]
    Speed(f64),
    /// A file is too large for an operation that carries it as a whole.
    #[error("file size {size:#} is more than {max}, the largest file of operation {op}", max = Size(OPERATION_BYTES_MAX))]
    WholeFile {
        /// Name of the operation.
        op: &'static str,
        /// The file size as written.
        size: Size,
    },
    /// The data of an operation cannot be verified.
    #[error("the data of operation {op} is not verified: drop verify, or the operation")]
    VerifyWholeFile {
        /// Name of the operation.
        op: &'static str,
    },
    /// The mix has no sizes.
    #[error("there are no sizes: add [[sizes]] tables with a size and a weight")]
    NoSizes,
    /// The mix has too many sizes.
    #[error("there are {0} sizes: at most {SIZES_MAX} are possible")]
    TooManySizes(usize),
    /// A request size is 0 bytes.
    #[error("a size is 0: it must be at least 1 byte")]
    SizeZero,
    /// An operation is too large.
    #[error("size {0:#} is more than {max}, the largest operation", max = Size(OPERATION_BYTES_MAX))]
    SizeTooLarge(Size),
    /// An operation whose data one request carries is larger than any server accepts.
    #[error(
        "size {size:#} is more than {max}, the largest request servers take, and a {op} is not split",
        max = Size(REQUEST_BYTES_MAX)
    )]
    Unsplit {
        /// The action.
        op: &'static str,
        /// The largest size of the workload.
        size: Size,
    },
    /// Two tables have the same size.
    #[error("size {0:#} is listed twice: give it once, with the sum of the weights")]
    SizeTwice(Size),
    /// A request is larger than a file.
    #[error("size {size:#} does not fit in a file of {file:#}: enlarge the files or drop the size")]
    SizeAboveFile {
        /// The request size.
        size: Size,
        /// The file size.
        file: Size,
    },
    /// A weight is not a percentage.
    #[error("the weight of size {size:#} is {weight}: give a percentage, 0 to 100")]
    Weight {
        /// The request size.
        size: Size,
        /// Its weight.
        weight: f64,
    },
    /// The weights of the sizes do not sum to 100.
    #[error("the weights of the sizes sum to {}, not to 100: change them to add up", rounded(*.0))]
    WeightSum(f64),
    /// The number of files is 0.
    #[error("the file count is 0: it must be at least 1")]
    NoFiles,
    /// The tree is not possible.
    #[error("tree: {0}")]
    Tree(TreeProblem),
    /// There are two descriptions of the files.
    #[error("[files] and [tree] are both given: leave one out")]
    TreeAndFiles,
    /// The size of the files of a tree is given.
    #[error("the files of a tree have sizes of their own: leave out the size of files")]
    TreeFileSize,
    /// An operation cannot work on a tree.
    #[error(
        "operation {0} is not possible in a tree: it works on open files, or changes files that \
         other runs use"
    )]
    NotInTree(&'static str),
    /// The contents of a tree are verified.
    #[error("the contents of a tree cannot be verified: leave out the verification")]
    TreeVerify,
    /// There are more files than possible.
    #[error("the file count is {0}: at most {FILES_MAX} are possible")]
    TooManyFiles(u32),
    /// There are too many files for clients that hold all of them open.
    #[error(
        "the file count is {0}: at most {HELD_FILES_MAX} are possible where operations work on open files"
    )]
    TooManyHeldFiles(u32),
    /// The files are too large together.
    #[error("the files are too large: {clients} clients would need 2^63 bytes or more")]
    FilesTooLarge {
        /// Clients of the largest load point.
        clients: u32,
    },
    /// The interval of flushes is 0 writes.
    #[error("flush_every_writes is 0: give a number of writes, or leave it out for never")]
    FlushZero,
    /// Flushes are asked for, but no write ever occurs.
    #[error(
        "flush_every_writes is set, but read_percent is 100 and nothing is ever written: drop one of them"
    )]
    FlushWithoutWrites,
    /// Flushes are asked for, but some clients only read.
    #[error("flush_every_writes cannot be had with split = \"clients\": drop one of them")]
    SplitFlush,
    /// A part of the clients of another load point, or of several.
    #[error(
        "client_range {0} needs one load point of {of} clients in one pass: give clients {of}, \
         one rate at most, and repeat 1",
        of = .0.of
    )]
    PartOfClients(ClientRange),
    /// Several load points cannot begin at one time.
    #[error("begin_at needs one load point in one pass: run smbench once for each")]
    BeginAt,
    /// A `fileio` test has fewer clients than hosts.
    #[error("there are fewer clients than hosts, of which there are {0}: give at least {0}")]
    IdleHosts(u32),
    /// Hosts would share the clients of a copy of a capture.
    #[error(
        "a copy of the capture has {0} clients that wait for each other, and several hosts cannot \
         share it: run it on one host"
    )]
    CopyOnHosts(u32),
    /// A range has a part of a copy of a capture.
    #[error(
        "client_range {range} has a part of a copy of the capture, whose {clients} clients wait \
         for each other: begin and end it at multiples of {clients}"
    )]
    CopyInRanges {
        /// The range.
        range: ClientRange,
        /// Clients of a copy.
        clients: u32,
    },
    /// Hosts do not know which data the clients of other hosts have written.
    #[error(
        "verify needs private files on several hosts, because none knows what the others write: \
         set scope = \"private\", or drop verify"
    )]
    VerifyOnHosts,
    /// A problem with the work.
    #[error(transparent)]
    Work(#[from] WorkProblem),
    /// A problem with a stream.
    #[error(transparent)]
    Stream(#[from] StreamProblem),
    /// A problem with the load generator.
    #[error(transparent)]
    Generator(#[from] GeneratorProblem),
    /// A problem with the connections.
    #[error(transparent)]
    Connections(#[from] ConnectionsProblem),
    /// A problem with what clients do when they lose their connection.
    #[error(transparent)]
    Failover(#[from] FailoverProblem),
    /// Clients that log off and come back.
    #[error(transparent)]
    Churn(#[from] ChurnProblem),
    /// CIFS does not have the option.
    #[error("CIFS {0}")]
    Cifs(&'static str),
    /// The driver has no setting for the option.
    #[error("the driver {driver} {why}")]
    Driver {
        /// The driver.
        driver: DriverKind,
        /// What the driver does instead, and the advice.
        why: String,
    },
    /// Verification would take too much memory, because it has an entry for every
    /// block.
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
    /// Writes of this work are not noted.
    #[error("its writes cannot be noted for a check after a crash: {0}")]
    Unnoted(&'static str),
    /// A size that is not a multiple of a block.
    #[error(
        "{what} {size:#} is not a multiple of {BLOCK_BYTES} bytes, which a check after a crash needs: change it"
    )]
    UnnotedSize {
        /// The request or the file.
        what: &'static str,
        /// Its size.
        size: Size,
    },
    /// More blocks are noted than a check after a crash can hold in memory.
    #[error(
        "its files have {size:#}, and a check after a crash can judge {:#} at most: give fewer or \
         smaller files",
        Size((BLOCKS_MAX * BLOCK_BYTES as u64) >> 30 << 30)
    )]
    UnnotedBytes {
        /// Bytes of all files that are written.
        size: Size,
    },
    /// Verification needs whole blocks.
    #[error(
        "{what} {size:#} is not a multiple of {BLOCK_BYTES} bytes, which verification needs: change it or turn verification off"
    )]
    Unverifiable {
        /// The request or the file.
        what: &'static str,
        /// Its size.
        size: Size,
    },
}

/// Rounds to three decimals, so that a float sum of 99.99999999 reads 100.
pub(super) fn rounded(sum: f64) -> f64 {
    (sum * 1000.0).round() / 1000.0
}
