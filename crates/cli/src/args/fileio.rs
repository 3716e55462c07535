//! The options of `fileio`, with sysbench's names and defaults.

use std::time::Duration;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{ArgAction, Args, Subcommand};
use smbench_model::fileio::TestMode;
use smbench_model::units::{Size, parse_duration};

use super::run::OutputArgs;
use super::server::ServerArgs;
use super::value::{decimal, parse_percent, whole};

const EXAMPLES: &str = "\
Examples:
  smbench fileio prepare --target smb://ann@files.example/bench --file-total-size=8G
  smbench fileio run     --target smb://ann@files.example/bench --file-total-size=8G \\
                         --file-test-mode=rndrw --threads=16 --time=60 --percentile=50,95,99
  smbench fileio cleanup --target smb://ann@files.example/bench

All three commands take the same options. As in sysbench, the command may come last. If an option
is given twice, the last one counts.";

#[derive(Debug, Subcommand)]
pub(crate) enum FileioCommand {
    /// Create the test files on a share, or resume creating them
    #[command(after_help = EXAMPLES, args_override_self = true)]
    Prepare(Box<FileioArgs>),
    /// Run the test on the prepared files; without a URL, on a server started for the test
    #[command(after_help = EXAMPLES, args_override_self = true)]
    Run(Box<FileioArgs>),
    /// Delete the test files from the share
    #[command(after_help = EXAMPLES, args_override_self = true)]
    Cleanup(Box<FileioArgs>),
}

impl FileioCommand {
    /// Returns the options of the command.
    pub(super) const fn args(&self) -> &FileioArgs {
        match self {
            Self::Prepare(args) | Self::Run(args) | Self::Cleanup(args) => args,
        }
    }
}

#[derive(Debug, Args)]
pub(crate) struct FileioArgs {
    #[command(flatten)]
    pub(crate) server: ServerArgs,
    #[command(flatten)]
    pub(crate) test: TestArgs,
    #[command(flatten)]
    pub(crate) load: TestLoadArgs,
    #[command(flatten)]
    pub(crate) random: RandomArgs,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Test")]
pub(crate) struct TestArgs {
    /// Number of files
    #[arg(long, value_name = "N", default_value_t = 128, value_parser = whole::<u32>())]
    pub(crate) file_num: u32,
    /// Request size
    #[arg(long, value_name = "SIZE", default_value = "16384")]
    pub(crate) file_block_size: Size,
    /// Total size of all files
    #[arg(long, value_name = "SIZE", default_value = "2G")]
    pub(crate) file_total_size: Size,
    /// Test mode: sequential write, rewrite or read; random read, write or both
    #[arg(long, value_name = "MODE", value_parser = modes())]
    pub(crate) file_test_mode: Option<TestMode>,
    /// Flush all files after this many requests (0 = never)
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = whole::<u32>())]
    pub(crate) file_fsync_freq: u32,
    /// Flush after each write only
    #[arg(long, value_name = "on|off", default_value = "off", default_missing_value = "on",
          num_args = 0..=1, require_equals = true, action = ArgAction::Set, value_parser = switches())]
    pub(crate) file_fsync_all: bool,
    /// Flush all files at the end of the test
    #[arg(long, value_name = "on|off", default_value = "on", default_missing_value = "on",
          num_args = 0..=1, require_equals = true, action = ArgAction::Set, value_parser = switches())]
    pub(crate) file_fsync_end: bool,
    /// Reads per write in rndrw
    #[arg(long, value_name = "RATIO", default_value_t = 1.5, value_parser = decimal)]
    pub(crate) file_rw_ratio: f64,
    /// Blocks per sequential request (0 = 1)
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = whole::<u32>())]
    pub(crate) file_merged_requests: u32,
    /// Accepted for compatibility with sysbench; has no effect over SMB
    #[arg(long, value_name = "MODE", default_value = "sync", value_parser = ["sync", "async", "mmap"])]
    pub(crate) file_io_mode: String,
    /// Flags for opening files: direct has no effect; sync and dsync are not supported
    #[arg(long, value_name = "LIST", default_value = "", hide_default_value = true,
          value_delimiter = ',', value_parser = parse_flag)]
    pub(crate) file_extra_flags: Vec<String>,
    /// Accepted for compatibility with sysbench; SMB has one way to flush
    #[arg(long, value_name = "METHOD", default_value = "fsync", value_parser = ["fsync", "fdatasync"])]
    pub(crate) file_fsync_mode: String,
    /// Verify all data read
    #[arg(long, value_name = "on|off", default_value = "off", default_missing_value = "on",
          num_args = 0..=1, require_equals = true, action = ArgAction::Set, value_parser = switches())]
    pub(crate) validate: bool,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Load")]
pub(crate) struct TestLoadArgs {
    /// Number of sessions, each with one request in flight
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = whole::<u32>())]
    pub(crate) threads: u32,
    /// Maximum number of requests and flushes (0 = no limit)
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = whole::<u64>())]
    pub(crate) events: u64,
    /// Duration of the test in seconds, or with a unit such as 10m (0 = no limit)
    #[arg(long, value_name = "SECONDS", default_value = "10", value_parser = parse_seconds)]
    pub(crate) time: Duration,
    /// Warm-up before the test, not measured
    #[arg(long, value_name = "SECONDS", default_value = "0", value_parser = parse_seconds)]
    pub(crate) warmup_time: Duration,
    /// Mean rate of events per second, at random instants (0 = as fast as the server answers)
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = whole::<u32>())]
    pub(crate) rate: u32,
    /// Interval of interim reports in seconds (0 = none). Rounded up to a multiple of N seconds in
    /// tests of up to N hours
    #[arg(long, value_name = "SECONDS", default_value_t = 0, value_parser = parse_whole_seconds)]
    pub(crate) report_interval: u32,
    /// Latency percentiles to print, for example 50,95,99.9 (0 = none)
    #[arg(long, value_name = "LIST", default_value = "95", value_delimiter = ',',
          value_parser = parse_percentile)]
    pub(crate) percentile: Vec<f64>,
    /// Print a histogram of latencies
    #[arg(long, value_name = "on|off", default_value = "off", default_missing_value = "on",
          num_args = 0..=1, require_equals = true, action = ArgAction::Set, value_parser = switches())]
    pub(crate) histogram: bool,
}

/// How the blocks of random requests are chosen.
#[derive(Debug, Args)]
#[command(next_help_heading = "Random numbers")]
pub(crate) struct RandomArgs {
    /// Distribution of random requests over the blocks of all files. sysbench ignores it in fileio
    #[arg(long, value_name = "TYPE", default_value = "uniform", value_parser = kinds())]
    pub(crate) rand_type: RandType,
    /// Iterations for gaussian and special distributions
    #[arg(long, value_name = "N", default_value_t = 12, value_parser = whole::<u32>())]
    pub(crate) rand_spec_iter: u32,
    /// Special blocks, in percent of all blocks
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = whole::<u32>())]
    pub(crate) rand_spec_pct: u32,
    /// Requests to special blocks, in percent
    #[arg(long, value_name = "N", default_value_t = 75, value_parser = whole::<u32>())]
    pub(crate) rand_spec_res: u32,
    /// Parameter h of the Pareto distribution
    #[arg(long, value_name = "H", default_value_t = 0.2, value_parser = decimal)]
    pub(crate) rand_pareto_h: f64,
    /// Exponent of the Zipf distribution
    #[arg(long, value_name = "E", default_value_t = 0.8, value_parser = decimal)]
    pub(crate) rand_zipfian_exp: f64,
    /// Random seed; 0 uses the clock (the seed is saved in the result)
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = whole::<u64>())]
    pub(crate) rand_seed: u64,
}

/// A distribution, selected by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RandType {
    Uniform,
    Gaussian,
    Special,
    Pareto,
    Zipf,
}

fn modes() -> impl TypedValueParser<Value = TestMode> {
    PossibleValuesParser::new(TestMode::ALL.map(TestMode::name)).map(|name| {
        let mut modes = TestMode::ALL.into_iter();
        let mode = modes.find(|mode| mode.name() == name);
        mode.unwrap_or_else(|| unreachable!("these are all that is possible"))
    })
}

fn kinds() -> impl TypedValueParser<Value = RandType> {
    PossibleValuesParser::new([
        "uniform", "gaussian", "special", "pareto", "zipfian", "zipf",
    ])
    .map(|name| match name.as_str() {
        "gaussian" => RandType::Gaussian,
        "special" => RandType::Special,
        "pareto" => RandType::Pareto,
        "zipfian" | "zipf" => RandType::Zipf,
        _ => RandType::Uniform,
    })
}

fn switches() -> impl TypedValueParser<Value = bool> {
    PossibleValuesParser::new(["on", "off"]).map(|text| text == "on")
}

/// Parses a duration; a plain number means seconds.
fn parse_seconds(text: &str) -> Result<Duration, String> {
    match text.parse::<u32>() {
        Ok(seconds) => Ok(Duration::from_secs(seconds.into())),
        Err(_) => parse_duration(text).map_err(|error| error.to_string()),
    }
}

/// Parses whole seconds.
fn parse_whole_seconds(text: &str) -> Result<u32, String> {
    let interval = parse_seconds(text)?;
    let seconds = u32::try_from(interval.as_secs()).ok();
    let seconds = seconds.filter(|_| interval.subsec_nanos() == 0);
    seconds.ok_or_else(|| format!("`{text}` is not in whole seconds, such as 1 or 10s"))
}

/// Parses a flag for opening files; an empty text means no flag.
fn parse_flag(text: &str) -> Result<String, &'static str> {
    match text {
        "" | "direct" => Ok(text.to_owned()),
        "sync" | "dsync" => Err(
            "SMB has no synchronous opens: use --file-fsync-all=on, which flushes after each write",
        ),
        _ => Err("sysbench knows sync, dsync and direct"),
    }
}

fn parse_percentile(text: &str) -> Result<f64, &'static str> {
    parse_percent(text).map_err(|_| "expected percentiles, 0 to 100, with commas between them")
}
