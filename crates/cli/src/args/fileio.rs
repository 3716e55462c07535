//! The options of `fileio`, with sysbench's names and defaults.

use std::time::Duration;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{ArgAction, Args, Subcommand};
use smbench_engine::fileio::TestMode;
use smbench_engine::units::{Size, parse_duration};

use super::run::OutputArgs;
use super::server::ServerArgs;

const EXAMPLES: &str = "\
Examples:
  smbench fileio prepare --target smb://ann@files.example/bench --file-total-size=8G
  smbench fileio run     --target smb://ann@files.example/bench --file-total-size=8G \\
                         --file-test-mode=rndrw --threads=16 --time=60 --percentile=50,95,99
  smbench fileio cleanup --target smb://ann@files.example/bench

Each command takes all options, so that the same ones can be given to all three; of an option
that is given twice the last counts.";

#[derive(Debug, Subcommand)]
pub(crate) enum FileioCommand {
    /// Make the files of a test, or go on with it, on a share
    #[command(after_help = EXAMPLES, args_override_self = true)]
    Prepare(Box<FileioArgs>),
    /// Test with the files that were prepared; without --target, with files on a server started here
    #[command(after_help = EXAMPLES, args_override_self = true)]
    Run(Box<FileioArgs>),
    /// Remove the files from the share
    #[command(after_help = EXAMPLES, args_override_self = true)]
    Cleanup(Box<FileioArgs>),
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
    #[arg(long, value_name = "N", default_value_t = 128)]
    pub(crate) file_num: u32,
    /// Bytes of a request
    #[arg(long, value_name = "SIZE", default_value = "16384")]
    pub(crate) file_block_size: Size,
    /// Bytes of all files together
    #[arg(long, value_name = "SIZE", default_value = "2G")]
    pub(crate) file_total_size: Size,
    /// What is done: sequential writes of new files, of these, reads; random reads, writes, both
    #[arg(long, value_name = "MODE", value_parser = modes())]
    pub(crate) file_test_mode: Option<TestMode>,
    /// Flush every file after this many requests, if there was a write; 0 is never
    #[arg(long, value_name = "N", default_value_t = 100)]
    pub(crate) file_fsync_freq: u32,
    /// Flush after each write, and at no other time
    #[arg(long, value_name = "on|off", default_value = "off", default_missing_value = "on",
          num_args = 0..=1, require_equals = true, action = ArgAction::Set, value_parser = switches())]
    pub(crate) file_fsync_all: bool,
    /// Flush every file at the end of the test
    #[arg(long, value_name = "on|off", default_value = "on", default_missing_value = "on",
          num_args = 0..=1, require_equals = true, action = ArgAction::Set, value_parser = switches())]
    pub(crate) file_fsync_end: bool,
    /// Reads for each write in rndrw
    #[arg(long, value_name = "RATIO", default_value_t = 1.5)]
    pub(crate) file_rw_ratio: f64,
    /// Blocks that make one sequential request; 0 is one
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) file_merged_requests: u32,
    /// How requests are made. Over SMB there is one way: others are told, and change nothing
    #[arg(long, value_name = "MODE", default_value = "sync", value_parser = ["sync", "async", "mmap"])]
    pub(crate) file_io_mode: String,
    /// How files are opened: direct is told, and changes nothing; sync and dsync are refused
    #[arg(long, value_name = "LIST", default_value = "", hide_default_value = true,
          value_delimiter = ',', value_parser = parse_flag)]
    pub(crate) file_extra_flags: Vec<String>,
    /// How files are flushed. SMB has one way: the other is told, and changes nothing
    #[arg(long, value_name = "METHOD", default_value = "fsync", value_parser = ["fsync", "fdatasync"])]
    pub(crate) file_fsync_mode: String,
    /// Compare every byte read with what was written
    #[arg(long, value_name = "on|off", default_value = "off", default_missing_value = "on",
          num_args = 0..=1, require_equals = true, action = ArgAction::Set, value_parser = switches())]
    pub(crate) validate: bool,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Load")]
pub(crate) struct TestLoadArgs {
    /// Sessions, each with one request in flight
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) threads: u32,
    /// Requests and flushes after which it is over; 0 is no limit
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) events: u64,
    /// Seconds, or a duration such as 10m, after which it is over; 0 is no limit
    #[arg(long, value_name = "SECONDS", default_value = "10", value_parser = parse_seconds)]
    pub(crate) time: Duration,
    /// The same of load before that, which is not measured
    #[arg(long, value_name = "SECONDS", default_value = "0", value_parser = parse_seconds)]
    pub(crate) warmup_time: Duration,
    /// Events per second on average, at random instants; 0 is as fast as the server answers
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) rate: u32,
    /// Seconds after which interim figures are printed, over and over; 0 is never. Figures are kept
    /// by the second, in tests of over an hour by as many as there are hours begun: it is rounded up
    /// to a multiple of that
    #[arg(long, value_name = "SECONDS", default_value_t = 0)]
    pub(crate) report_interval: u32,
    /// Percentiles of latency to print, such as 50,95,99.9; 0 is none
    #[arg(long, value_name = "LIST", default_value = "95", value_delimiter = ',',
          value_parser = parse_percentile)]
    pub(crate) percentile: Vec<f64>,
    /// Print the histogram of latencies
    #[arg(long, value_name = "on|off", default_value = "off", default_missing_value = "on",
          num_args = 0..=1, require_equals = true, action = ArgAction::Set, value_parser = switches())]
    pub(crate) histogram: bool,
}

/// How the blocks of random requests are chosen.
#[derive(Debug, Args)]
#[command(next_help_heading = "Random numbers")]
pub(crate) struct RandomArgs {
    /// Distribution of random requests over the blocks of all files. sysbench reads this but is
    /// always uniform in fileio
    #[arg(long, value_name = "TYPE", default_value = "uniform", value_parser = kinds())]
    pub(crate) rand_type: RandType,
    /// Numbers that each of gaussian and special is the mean of
    #[arg(long, value_name = "N", default_value_t = 12)]
    pub(crate) rand_spec_iter: u32,
    /// Percent of the blocks that are special
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) rand_spec_pct: u32,
    /// Percent of the requests that go to those
    #[arg(long, value_name = "N", default_value_t = 75)]
    pub(crate) rand_spec_res: u32,
    /// Parameter h of pareto: h of the blocks have all but h of the requests
    #[arg(long, value_name = "H", default_value_t = 0.2)]
    pub(crate) rand_pareto_h: f64,
    /// Exponent of zipfian
    #[arg(long, value_name = "E", default_value_t = 0.8)]
    pub(crate) rand_zipfian_exp: f64,
    /// Seed of all random choices; 0 takes one from the clock, which the result has
    #[arg(long, value_name = "N", default_value_t = 0)]
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

/// Parses a flag for opening files; an empty text means no flag.
fn parse_flag(text: &str) -> Result<String, &'static str> {
    match text {
        "" | "direct" => Ok(text.to_owned()),
        "sync" | "dsync" => Err(
            "writes that are on the disk when they are answered are not to be had: give \
             --file-fsync-all=on, which has each write flushed",
        ),
        _ => Err("sysbench knows sync, dsync and direct"),
    }
}

fn parse_percentile(text: &str) -> Result<f64, &'static str> {
    match text.trim().parse::<f64>() {
        Ok(percentile) if (0.0..=100.0).contains(&percentile) => Ok(percentile),
        _ => Err("expected percentiles, 0 to 100, with commas between them"),
    }
}
