//! The options of `suite` and `suites`.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use smbench_model::spec::RunOptions;
use smbench_report::{FlushDoc, WritePolicyDoc};
use smbench_runner::calibration::CalibrationSource;

use super::load::WindowArgs;
use super::run::HookArgs;
use super::server::{ConnectArgs, CounterArgs, SessionArgs};
use super::value::{parse_profile, paths, whole};
use crate::suite::options::{NamedPolicy, NamedServers, PointChoice, SuiteLoad, SuiteOptions};

pub(super) const EXIT_CODES: &str = "\
Run the same command again to resume an interrupted suite. Values in the suite override those in
the profile. The password for --server comes from --password-file, --authentication-file, the
variable SMBENCH_PASSWORD, or a prompt.

Exit codes:
  0    done
  2    invalid command line, suite or profile, or the folder holds another study
  3    the setup of a server failed, or output cannot be written; the other servers were measured
  4    a server failed during a run, or a load point is not valid
  130  interrupted";

#[derive(Debug, Subcommand)]
pub(crate) enum SuitesCommand {
    /// Print a suite as a template
    Show {
        /// Built-in suite or path of a .toml file
        #[arg(value_name = "NAME|FILE", value_parser = parse_profile)]
        name: String,
    },
}

/// What to run, and what of it otherwise than the suite says.
#[derive(Debug, Args)]
pub(crate) struct SuiteArgs {
    /// Built-in suite (see `smbench suites`) or path of a .toml file [default: with --server, 5
    /// passes of the profile file-server, compared with the first server]
    #[arg(value_name = "NAME|FILE", value_parser = parse_profile,
        required_unless_present_any = ["list", "servers"])]
    pub(crate) suite: Option<String>,
    /// List the built-in suites
    #[arg(long, exclusive = true)]
    pub(crate) list: bool,
    #[command(flatten)]
    pub(crate) servers: NamedServerArgs,
    #[command(flatten)]
    pub(crate) load: SuiteLoadArgs,
    #[command(flatten)]
    pub(crate) hooks: HookArgs,
    #[command(flatten, next_help_heading = "Servers")]
    pub(crate) counters: CounterArgs,
    #[command(flatten, next_help_heading = "Sessions")]
    pub(crate) session: SessionArgs,
    #[command(flatten, next_help_heading = "Sessions")]
    pub(crate) connect: ConnectArgs,
    /// Folder of the study; an incomplete study is completed [default: smbench-results/NAME, with
    /// --quick smbench-results/NAME-quick]
    #[arg(long, value_name = "DIR", help_heading = "Results", value_parser = paths())]
    pub(crate) out: Option<PathBuf>,
    /// Calibration file to compare peaks with, or off [default: the study's, else measured in a few
    /// seconds at the start]
    #[arg(long, value_name = "FILE|off", help_heading = "Results",
        value_parser = super::calibrate::calibration_sources())]
    pub(crate) calibration: Option<CalibrationSource>,
    /// Do not show progress
    #[arg(long, short, help_heading = "Results")]
    pub(crate) quiet: bool,
}

/// Servers beside those of the suite.
#[derive(Debug, Args)]
#[command(next_help_heading = "Servers")]
pub(crate) struct NamedServerArgs {
    // Not a doc comment, because rustdoc would treat the brackets as links. A
    // string, because clap would repeat a password in its message about a bad
    // value.
    #[arg(
        long = "server",
        value_name = "NAME=URL",
        help = "Server to measure too, for example nas=smb://ann@nas/bench, or \
            new=lab:/opt/samba/sbin/smbd for a temporary Samba of that build; can be repeated"
    )]
    pub(crate) servers: Vec<String>,
    /// Whether this server writes to stable storage on FLUSH, for example nas=honours or nas=ignores;
    /// recorded in the result, can be repeated [default: unknown]
    #[arg(
        long = "server-flush",
        value_name = "NAME=POLICY",
        requires = "servers"
    )]
    pub(crate) flush: Vec<NamedPolicy<FlushDoc>>,
    /// Whether each WRITE to this server waits for stable storage, for example nas=waits or
    /// nas=buffers; recorded in the result, can be repeated [default: unknown]
    #[arg(
        long = "server-write",
        value_name = "NAME=POLICY",
        requires = "servers"
    )]
    pub(crate) write: Vec<NamedPolicy<WritePolicyDoc>>,
    /// File with the password for these servers in its first line
    #[arg(long, value_name = "FILE", requires = "servers", value_parser = paths())]
    pub(crate) password_file: Option<PathBuf>,
    /// File with lines `username = `, `password = ` and `domain = ` for these servers
    #[arg(long, value_name = "FILE", requires = "servers", value_parser = paths())]
    pub(crate) authentication_file: Option<PathBuf>,
}

/// How much of the suite, and how long.
#[derive(Debug, Args)]
#[command(next_help_heading = "Load")]
pub(crate) struct SuiteLoadArgs {
    /// Use 3 s windows to try out the suite (results are not representative)
    #[arg(long)]
    pub(crate) quick: bool,
    /// Clients at each load point, for example 1,8,16; or /4 for every fourth load point of the suite
    /// [default: the suite's]
    #[arg(long, short = 'c', visible_alias = "clients", value_name = "LIST|/K")]
    pub(crate) points: Option<PointChoice>,
    /// How often to repeat all load points of each server [default: the suite's]
    #[arg(long, visible_alias = "repeat", value_name = "NUMBER", value_parser = whole::<u32>())]
    pub(crate) passes: Option<u32>,
    /// Built-in profile or .toml file to use instead of the suite's; can be repeated
    #[arg(long = "profile", short, value_name = "NAME|FILE", value_parser = parse_profile)]
    pub(crate) profiles: Vec<String>,
    /// Skip and count lines of a loadfile that cannot be replayed: an unknown verb, level or status,
    /// a handle that is not open, a delete or rename with wildcards
    #[arg(long, hide_short_help = true)]
    pub(crate) skip_unknown: bool,
    /// Do not fail (exit code 4) if a server does not reach the rate
    #[arg(long, hide_short_help = true)]
    pub(crate) allow_missed_rate: bool,
    #[command(flatten)]
    pub(crate) window: WindowArgs,
}

impl SuiteArgs {
    /// Returns the options of the suite.
    pub(crate) fn options(&self) -> SuiteOptions {
        let (servers, load) = (&self.servers, &self.load);
        let window = load.window.options();
        SuiteOptions {
            servers: NamedServers {
                servers: servers.servers.clone(),
                flush: servers.flush.clone(),
                write: servers.write.clone(),
                password_file: servers.password_file.clone(),
                authentication_file: servers.authentication_file.clone(),
            },
            load: SuiteLoad {
                quick: load.quick,
                points: load.points.clone(),
                passes: load.passes,
                profiles: load.profiles.clone(),
                skip_unknown: load.skip_unknown,
            },
            run: RunOptions {
                sessions: self.session.options(),
                generator: window.generator.or(self.hooks.options()),
                ..window
            },
            limits: self.connect.limits(),
        }
    }
}
