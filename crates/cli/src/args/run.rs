//! The options of `run` and `plan`; those of the load are in [`super::load`].

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use clap::Args;
use smbench_model::access::Access;
use smbench_model::contents::Verify;
use smbench_model::lists::sources::SourceList;
use smbench_model::part::ClientRange;
use smbench_model::profile::{SizeMix, WorkloadChange};
use smbench_model::spec::{GeneratorSpec, RunOptions, SessionsSpec, WorkSpec};
use smbench_model::units::{Size, parse_duration};
use smbench_model::workload::Timing;
use smbench_report::Threshold;
use smbench_runner::calibration::CalibrationSource;
use smbench_runner::results::ResultFiles;

use super::calibrate::calibration_sources;
use super::failover::{EventArgs, FailoverArgs};
use super::headings::COMMON;
use super::load::LoadArgs;
use super::server::ServerArgs;
use super::stages::StageArgs;
use super::value::{
    Destination, accesses, destinations, files, is_stdout_taken, label, parse_address,
    parse_percent, parse_profile, parse_speed, parse_time, paths, timings, whole,
};
use crate::failure::Failure;

/// Options of `run` and `plan`.
#[derive(Debug, Args)]
pub(crate) struct RunArgs {
    #[command(flatten)]
    pub(crate) server: ServerArgs,
    #[command(flatten)]
    pub(crate) workload: WorkloadArgs,
    #[command(flatten)]
    pub(crate) load: LoadArgs,
    #[command(flatten)]
    pub(crate) length: LengthArgs,
    #[command(flatten)]
    pub(crate) connections: ConnectionArgs,
    #[command(flatten)]
    pub(crate) part: PartArgs,
    #[command(flatten)]
    pub(crate) hooks: HookArgs,
    #[command(flatten)]
    pub(crate) events: EventArgs,
    #[command(flatten)]
    pub(crate) stages: StageArgs,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
    /// Fail (exit code 1) if a value meets this condition, for example 'p95 > 5ms', 'errors > 0' or
    /// 'throughput < 800'; can be repeated
    #[arg(long, value_name = "CONDITION", help_heading = COMMON)]
    pub(crate) fail_if: Vec<Threshold>,
    /// Stop the run as soon as a condition of --fail-if fails. Each load point is judged from this
    /// measured time on, for example 30s
    #[arg(long, value_name = "DURATION", value_parser = parse_duration, requires = "fail_if",
        hide_short_help = true)]
    pub(crate) abort_on_fail: Option<Duration>,
    /// Also write the outcomes of --fail-if, and whether the run is valid, to FILE as JUnit tests
    #[arg(long, value_name = "FILE", value_parser = files(), hide_short_help = true)]
    pub(crate) junit: Option<PathBuf>,
    /// Note each answered write and flush in FILE, and leave the files of the run on the share.
    /// After a crash, `smbench verify-after` tells what the server has lost
    #[arg(long, value_name = "FILE", value_parser = files(), hide_short_help = true)]
    pub(crate) state: Option<PathBuf>,
    /// Serve counts of the run in OpenMetrics at http://ADDRESS/metrics, for example 127.0.0.1:9464
    #[arg(long, value_name = "ADDRESS:PORT", value_parser = parse_address, hide_short_help = true)]
    pub(crate) metrics: Option<SocketAddr>,
    /// Show a full screen during the run; q leaves it
    #[arg(long, conflicts_with = "quiet", hide_short_help = true)]
    pub(crate) live: bool,
    /// Measure each population of the profile alone before all together, and print how they disturb
    /// one another
    #[arg(long, hide_short_help = true)]
    pub(crate) alone: bool,
    /// Print all tables: CPU use, every percentile, the operations at the peak
    #[arg(long, help_heading = COMMON)]
    pub(crate) details: bool,
}

impl RunArgs {
    /// Returns the options that are given, without those of the server.
    pub(crate) fn options(&self) -> RunOptions {
        let load = self.load.options().or(self.length.options());
        RunOptions {
            work: load
                .work
                .or(self.workload.options())
                .or(self.events.options())
                .or(self.stages.options()),
            sessions: load.sessions.or(self.connections.options()),
            generator: load
                .generator
                .or(self.part.options())
                .or(self.hooks.options()),
        }
    }
}

/// The part of a run that spans several machines without MPI.
#[derive(Debug, Args)]
#[command(next_help_heading = "Several machines")]
pub(crate) struct PartArgs {
    /// Carry only these clients, for example 0..500/1000: the first 500 of 1000. Start the others
    /// on other machines, and join the results with `smbench merge`
    #[arg(long, value_name = "FROM..TO/ALL", hide_short_help = true)]
    pub(crate) client_range: Option<ClientRange>,
    /// Begin the load at this time in UTC, for example 2026-11-23T10:00:00Z; the clocks of the
    /// machines must agree
    #[arg(long, value_name = "TIME", value_parser = parse_time, hide_short_help = true)]
    pub(crate) begin_at: Option<SystemTime>,
}

impl PartArgs {
    /// Returns whether the run is a part of another.
    pub(crate) const fn is_given(&self) -> bool {
        self.client_range.is_some() || self.begin_at.is_some()
    }

    fn options(&self) -> GeneratorSpec {
        GeneratorSpec {
            client_range: self.client_range,
            begin_at: self.begin_at,
            ..GeneratorSpec::default()
        }
    }
}

/// What is done around each load point, while no load runs.
#[derive(Debug, Args)]
#[command(next_help_heading = "Around load points")]
pub(crate) struct HookArgs {
    /// Run this shell command before each load point; SMBENCH_POINT_CLIENTS and other variables tell
    /// which. If it fails, the load point is not valid
    #[arg(long, value_name = "COMMAND", hide_short_help = true)]
    pub(crate) before_point: Option<String>,
    /// Run this shell command after each load point, when its sessions are logged off
    #[arg(long, value_name = "COMMAND", hide_short_help = true)]
    pub(crate) after_point: Option<String>,
    /// Limit of each of these commands; one that takes longer is killed with all that it has started
    /// [default: 5m]
    #[arg(long, value_name = "DURATION", value_parser = parse_duration, hide_short_help = true)]
    pub(crate) hook_limit: Option<Duration>,
    /// Begin each load point when the server's CPU and disks are quiet, at the latest after this
    /// time, for example 60s [default: the profile's, else at once]
    #[arg(long, value_name = "MAX", value_parser = parse_duration, hide_short_help = true)]
    pub(crate) until_quiet: Option<Duration>,
}

impl HookArgs {
    pub(crate) fn options(&self) -> GeneratorSpec {
        GeneratorSpec {
            before_point: self.before_point.clone(),
            after_point: self.after_point.clone(),
            hook_limit: self.hook_limit,
            until_quiet: self.until_quiet,
            ..GeneratorSpec::default()
        }
    }
}

/// Usual combinations of `--duration`, `--ramp-up` and `--repeat`, which go before them.
#[derive(Debug, Args)]
#[command(next_help_heading = COMMON)]
pub(crate) struct LengthArgs {
    /// Measure 1 s per load point after 200 ms of warm-up (results are not representative)
    #[arg(long, conflicts_with = "long")]
    quick: bool,
    /// Measure 60 s per load point after 5 s of warm-up, and repeat all load points 5 times
    #[arg(long)]
    long: bool,
}

impl LengthArgs {
    fn options(&self) -> RunOptions {
        let work = match (self.quick, self.long) {
            (true, _) => WorkSpec {
                duration: Some(Duration::from_secs(1)),
                ramp_up: Some(Duration::from_millis(200)),
                ramp_down: Some(Duration::from_millis(100)),
                ..WorkSpec::default()
            },
            (_, true) => WorkSpec {
                duration: Some(Duration::from_secs(60)),
                ramp_up: Some(Duration::from_secs(5)),
                repeat: Some(5),
                ..WorkSpec::default()
            },
            _ => WorkSpec::default(),
        };
        RunOptions {
            work,
            ..RunOptions::default()
        }
    }
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Workload")]
pub(crate) struct WorkloadArgs {
    /// Built-in profile (see `smbench profiles`), .toml file, loadfile of dbench or trace:FOLDER of a
    /// capture to replay; can be repeated [default: file-server]
    #[arg(long = "profile", short, value_name = "NAME|FILE", value_parser = parse_profile,
        help_heading = COMMON)]
    pub(crate) profiles: Vec<String>,
    /// Share of reads among reads and writes in percent [default: the profile's]
    #[arg(long = "read", value_name = "PERCENT", value_parser = parse_percent,
        help_heading = COMMON)]
    pub(crate) read_percent: Option<f64>,
    /// Request sizes, with shares in percent, for example 4KiB or 4KiB:60,64KiB:40 [default: the
    /// profile's]
    #[arg(long = "size", value_name = "LIST", help_heading = COMMON)]
    pub(crate) sizes: Option<SizeMix>,
    /// Order of offsets [default: the profile's]
    #[arg(long, value_name = "KIND", value_parser = accesses(), help_heading = COMMON)]
    pub(crate) access: Option<Access>,
    /// Replay speed: fast (one after another) or recorded (original timing) [default: the profile's,
    /// else fast]
    #[arg(long, value_name = "KIND", value_parser = timings(), hide_short_help = true)]
    pub(crate) timing: Option<Timing>,
    /// How many times as fast as recorded, with --timing recorded [default: the profile's, else 1]
    #[arg(long, value_name = "NUMBER", hide_short_help = true, value_parser = parse_speed)]
    pub(crate) speed: Option<f64>,
    /// How often each client replays the file or works through its files, all of it measured
    /// [default: the profile's, else until the measured time is over, but a capture without
    /// --duration once]
    #[arg(long, value_name = "NUMBER", hide_short_help = true, value_parser = whole::<u32>())]
    pub(crate) loops: Option<u32>,
    /// Skip and count lines of a loadfile that cannot be replayed: an unknown verb, level or status,
    /// a handle that is not open, a delete or rename with wildcards
    #[arg(long, hide_short_help = true)]
    pub(crate) skip_unknown: bool,
    /// Size of each file, for example 64MiB [default: the profile's]
    #[arg(long, value_name = "SIZE", help_heading = COMMON)]
    pub(crate) file_size: Option<Size>,
    /// Verify the data read. Reads that overlap a write in progress are checked as far as possible,
    /// and counted
    #[arg(long, hide_short_help = true)]
    pub(crate) verify: bool,
    /// Random seed, 0 to 2^64-1 [default: the profile's, else 1]
    #[arg(long, value_name = "NUMBER", hide_short_help = true, value_parser = whole::<u64>())]
    pub(crate) seed: Option<u64>,
}

impl WorkloadArgs {
    /// Returns what replaces values of a profile of reads and writes.
    pub(crate) fn change(&self) -> WorkloadChange {
        WorkloadChange {
            read_percent: self.read_percent,
            sizes: self.sizes.clone(),
            access: self.access,
        }
    }

    fn options(&self) -> WorkSpec {
        WorkSpec {
            timing: self.timing,
            speed: self.speed,
            loops: self.loops,
            file_size: self.file_size,
            verify: self.verify.then_some(Verify::ReadBack),
            seed: self.seed,
            ..WorkSpec::default()
        }
    }
}

// The defaults are Plan::resolve's; a test compares them.
/// How sessions use connections, and where those come from.
#[derive(Debug, Args)]
#[command(next_help_heading = "Connections")]
pub(crate) struct ConnectionArgs {
    /// Sessions (one per client) that share a connection, 1 to 256 [default: the profile's, else 1]
    #[arg(long, value_name = "NUMBER", hide_short_help = true, value_parser = whole::<u32>())]
    pub(crate) sessions_per_connection: Option<u32>,
    /// Connections per session (multichannel), 1 to 32 [default: the profile's, else 1]
    #[arg(long, value_name = "NUMBER", hide_short_help = true, value_parser = whole::<u32>())]
    pub(crate) connections_per_session: Option<u32>,
    /// Maximum credits per connection, 1 to 8192 [default: the profile's, else as many as its
    /// requests need]
    #[arg(long, value_name = "NUMBER", hide_short_help = true, value_parser = whole::<u16>())]
    pub(crate) credits: Option<u16>,
    /// Local addresses to connect from, in turn, for example 192.0.2.1,192.0.2.10-192.0.2.20
    /// [default: the profile's, else the system's choice]
    #[arg(long, value_name = "LIST", hide_short_help = true)]
    pub(crate) source_ip: Option<SourceList>,
    #[command(flatten)]
    pub(crate) failover: FailoverArgs,
}

impl ConnectionArgs {
    pub(crate) fn options(&self) -> SessionsSpec {
        SessionsSpec {
            sessions_per_connection: self.sessions_per_connection,
            connections_per_session: self.connections_per_session,
            credits: self.credits,
            source_ip: self.source_ip.clone(),
            ..self.failover.options()
        }
    }
}

impl OutputArgs {
    /// Leaves out everything that would be written or shown.
    pub(super) fn quieten(&mut self) {
        (self.json, self.csv, self.markdown) = (None, None, None);
        (self.csv_iometer, self.hlog) = (None, None);
        self.calibration = Some(CalibrationSource::Off);
        self.quiet = true;
    }

    /// Returns the files of a run.
    pub(crate) fn files(&self) -> ResultFiles {
        let file = |to: &Option<Destination>| match to {
            Some(Destination::File(path)) => Some(path.clone()),
            Some(Destination::Stdout) | None => None,
        };
        let texts = [file(&self.csv), file(&self.markdown)];
        let others = texts.into_iter().flatten();
        let others = others.chain(self.csv_iometer.clone());
        ResultFiles {
            folder: self.out.clone(),
            copy: file(&self.json),
            others: others.chain(self.hlog.clone()).collect(),
        }
    }

    /// Returns whether a document has standard output instead of the text.
    pub(crate) fn is_stdout_taken(&self) -> Result<bool, Failure> {
        is_stdout_taken(&[
            ("--json", &self.json),
            ("--csv", &self.csv),
            ("--markdown", &self.markdown),
        ])
    }
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Results")]
pub(crate) struct OutputArgs {
    /// Folder for the result documents; each run adds one
    #[arg(long, value_name = "DIR", default_value = "smbench-results", value_parser = paths(),
        help_heading = COMMON)]
    pub(crate) out: PathBuf,
    /// Name of the result in tables and reports; results with equal labels are joined as passes
    #[arg(long, value_name = "TEXT", value_parser = label, help_heading = COMMON)]
    pub(crate) label: Option<String>,
    /// Remark to store in the result
    #[arg(long, value_name = "TEXT", value_parser = label, hide_short_help = true)]
    pub(crate) note: Option<String>,
    /// Also write the result document to FILE, replacing it; - prints it instead of the table
    #[arg(long, value_name = "FILE|-", value_parser = destinations(), help_heading = COMMON)]
    pub(crate) json: Option<Destination>,
    /// Also write the load points as CSV to FILE, replacing it; - prints them instead of the table
    #[arg(long, value_name = "FILE|-", value_parser = destinations(), help_heading = COMMON)]
    pub(crate) csv: Option<Destination>,
    /// Also write the summary as Markdown to FILE, replacing it; - prints it instead of the table
    #[arg(long, value_name = "FILE|-", value_parser = destinations(), hide_short_help = true)]
    pub(crate) markdown: Option<Destination>,
    /// Also write the load points to FILE with the columns of Iometer's result file, replacing it
    #[arg(long, value_name = "FILE", value_parser = files(), hide_short_help = true)]
    pub(crate) csv_iometer: Option<PathBuf>,
    /// Also write an HDR interval log to FILE: latencies per second and operation, replacing it
    #[arg(long, value_name = "FILE", value_parser = files(), hide_short_help = true)]
    pub(crate) hlog: Option<PathBuf>,
    /// Calibration file to compare the peak with, or off [default: calibration.json of this machine
    /// in the folder of --out]
    #[arg(long, value_name = "FILE|off", value_parser = calibration_sources(),
        hide_short_help = true)]
    pub(crate) calibration: Option<CalibrationSource>,
    /// Fail (exit code 4) if a load point is client-limited: the generator, not the server, limited
    /// its throughput
    #[arg(long, hide_short_help = true)]
    pub(crate) strict: bool,
    /// Do not fail (exit code 4) if the server does not reach the rate
    #[arg(long, hide_short_help = true)]
    pub(crate) allow_missed_rate: bool,
    /// Do not show progress; `run` prints only the peak, the table of --loops and the cautions
    #[arg(long, short, help_heading = COMMON)]
    pub(crate) quiet: bool,
}
