//! The options of `run` and `plan`; those of the load are in [`super::load`].

use std::path::PathBuf;

use clap::Args;
use smbench_model::lists::sources::SourceList;
use smbench_model::plan::{Timing, Verify};
use smbench_model::spec::{RunOptions, SessionsSpec, WorkSpec};
use smbench_model::units::Size;

use super::calibrate::{CalibrationSource, calibration_sources};
use super::load::LoadArgs;
use super::server::ServerArgs;
use super::value::{Destination, destinations, files, parse_profile, paths, timings};

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
    pub(crate) connections: ConnectionArgs,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

impl RunArgs {
    /// Returns the options that are given, without those of the server.
    pub(crate) fn options(&self) -> RunOptions {
        let load = self.load.options();
        RunOptions {
            work: load.work.or(self.workload.options()),
            sessions: load.sessions.or(self.connections.options()),
            ..load
        }
    }
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Workload")]
pub(crate) struct WorkloadArgs {
    /// Built-in profile (see `smbench profiles`), path of a .toml file, or loadfile: and the path
    /// of a loadfile of dbench to replay; several run one after the other [default: file-server]
    #[arg(long = "profile", value_name = "NAME|FILE", value_parser = parse_profile)]
    pub(crate) profiles: Vec<String>,
    /// When operations of a replay begin: each after the one before, or as recorded [default: the
    /// profile's, else fast]
    #[arg(long, value_name = "KIND", value_parser = timings())]
    pub(crate) timing: Option<Timing>,
    /// Times each client goes through what it replays, all of it measured, after which the load
    /// point ends [default: the profile's, else over and over until the measured time is up]
    #[arg(long, value_name = "NUMBER")]
    pub(crate) loops: Option<u32>,
    /// Leave out lines of a loadfile that cannot be replayed, and count them: an unknown verb,
    /// level or status, a handle that is not open, a delete or rename by wildcards
    #[arg(long)]
    pub(crate) skip_unknown: bool,
    /// Bytes in each file, such as 64MiB [default: the profile's]
    #[arg(long, value_name = "SIZE")]
    pub(crate) file_size: Option<Size>,
    /// Compare what is read with what was written: every block, those beside a write under way as
    /// far as can be; reads of which not all could be judged are counted
    #[arg(long)]
    pub(crate) verify: bool,
    /// Seed of every random choice, 0 to 2^64-1 [default: the profile's, else 1]
    #[arg(long, value_name = "NUMBER")]
    pub(crate) seed: Option<u64>,
}

impl WorkloadArgs {
    fn options(&self) -> WorkSpec {
        WorkSpec {
            timing: self.timing,
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
    /// Sessions, one for each client, that share a connection, 1 to 256 [default: the profile's,
    /// else 1]
    #[arg(long, value_name = "NUMBER")]
    pub(crate) sessions_per_connection: Option<u32>,
    /// Connections each session uses at a time (multichannel), 1 to 32 [default: the profile's,
    /// else 1]
    #[arg(long, value_name = "NUMBER")]
    pub(crate) connections_per_session: Option<u32>,
    /// The most credits each connection holds and uses, 1 to 8192 [default: the profile's, else as
    /// many as its requests need]
    #[arg(long, value_name = "NUMBER")]
    pub(crate) credits: Option<u16>,
    /// Addresses of this machine to connect from, in turn, such as 192.0.2.1,192.0.2.10-192.0.2.20
    /// [default: the profile's, else as the system chooses]
    #[arg(long, value_name = "LIST")]
    pub(crate) source_ip: Option<SourceList>,
}

impl ConnectionArgs {
    fn options(&self) -> SessionsSpec {
        SessionsSpec {
            sessions_per_connection: self.sessions_per_connection,
            connections_per_session: self.connections_per_session,
            credits: self.credits,
            source_ip: self.source_ip.clone(),
            ..SessionsSpec::default()
        }
    }
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Results")]
pub(crate) struct OutputArgs {
    /// Folder for the result document. Each run has a file of its own
    #[arg(long, value_name = "DIR", default_value = "smbench-results", value_parser = paths())]
    pub(crate) out: PathBuf,
    /// Write the document to FILE as well, and replace FILE; - for standard output, in place of the
    /// table
    #[arg(long, value_name = "FILE|-", value_parser = destinations())]
    pub(crate) json: Option<Destination>,
    /// Write the load points as CSV, and replace FILE; - for standard output, in place of the table
    #[arg(long, value_name = "FILE|-", value_parser = destinations())]
    pub(crate) csv: Option<Destination>,
    /// Write the load points as Iometer's result file, with its columns. Replaces FILE
    #[arg(long, value_name = "FILE", value_parser = files())]
    pub(crate) csv_iometer: Option<PathBuf>,
    /// Write an HDR interval log: latencies per second and operation. Replaces FILE
    #[arg(long, value_name = "FILE", value_parser = files())]
    pub(crate) hlog: Option<PathBuf>,
    /// What this machine can generate at most, as `smbench calibrate` has written it, to hold the
    /// peak against; or off [default: calibration.json of this machine in the folder of --out]
    #[arg(long, value_name = "FILE|off", value_parser = calibration_sources())]
    pub(crate) calibration: Option<CalibrationSource>,
    /// Fail (exit code 4) if a load point is client-limited: the generator, not the server, limited
    /// its throughput
    #[arg(long)]
    pub(crate) strict: bool,
    /// Do not fail (exit code 4) if the server does not reach the rate that was asked for
    #[arg(long)]
    pub(crate) allow_missed_rate: bool,
    /// Show no progress on the terminal
    #[arg(long, short)]
    pub(crate) quiet: bool,
}
