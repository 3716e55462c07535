//! The options of `find`: those of `run`, and those of the search.

use std::time::Duration;

use clap::{Args, Subcommand};
use smbench_model::lists::clients::CLIENTS_MAX;
use smbench_model::lists::sources::SourceList;
use smbench_model::load::Spacing;
use smbench_model::search::Confirmations;
use smbench_model::units::{parse_count, parse_duration};
use smbench_report::Threshold;
use smbench_report::find::HeldLimit;
use smbench_runner::searching::defaults::{
    CONFIRM, HOLD, KEEP_ALIVE, LOGON_CLIENTS, PRECISION, PROBES, SearchRange, UNTIL,
    parse_confirmations, parse_precision,
};

use super::headings::COMMON;
use super::load::spacings;
use super::run::{ConnectionArgs, OutputArgs, RunArgs};
use super::server::ServerArgs;
use super::value::{whole, whole_within};

/// What to search for.
#[derive(Debug, Subcommand)]
pub(crate) enum FindCommand {
    /// Find the highest rate at which conditions hold
    #[command(after_help = super::examples::FIND_RATE,
        mut_arg("rate", |arg| arg.hide(true)), mut_arg("repeat", |arg| arg.hide(true)),
        mut_arg("think_time", |arg| arg.hide(true)), mut_arg("profiles", |arg| arg.help(PROFILE)),
        mut_arg("clients", |arg| arg.help(CLIENTS).value_name("NUMBER")),
        mut_arg("long", |arg| arg.help(LONG)), mut_arg("stages", |arg| arg.hide(true)),
        mut_arg("soak", |arg| arg.hide(true)))]
    Rate(Box<FindArgs>),
    /// Find the largest number of clients at which conditions hold
    #[command(after_help = super::examples::FIND_CLIENTS,
        mut_arg("clients", |arg| arg.hide(true)), mut_arg("repeat", |arg| arg.hide(true)),
        mut_arg("curve", |arg| arg.hide(true)), mut_arg("population", |arg| arg.hide(true)),
        mut_arg("profiles", |arg| arg.help(PROFILE)), mut_arg("long", |arg| arg.help(LONG)),
        mut_arg("rate", |arg| arg.help(RATE).value_name("RATE")),
        mut_arg("stages", |arg| arg.hide(true)), mut_arg("soak", |arg| arg.hide(true)))]
    Clients(Box<FindArgs>),
    /// Find the highest rate of complete log-ons
    #[command(after_help = super::examples::FIND_LOGONS)]
    Logons(Box<FindLogonsArgs>),
    /// Find how many sessions a server holds at the same time
    #[command(after_help = super::examples::FIND_SESSIONS)]
    Sessions(Box<FindSessionsArgs>),
}

impl FindCommand {
    /// Returns the server of the search.
    pub(super) fn server(&self) -> &ServerArgs {
        match self {
            Self::Rate(args) | Self::Clients(args) => &args.run.server,
            Self::Logons(args) => &args.server,
            Self::Sessions(args) => &args.server,
        }
    }
}

/// Options of a search for log-ons.
#[derive(Debug, Args)]
pub(crate) struct FindLogonsArgs {
    #[command(flatten)]
    pub(crate) server: ServerArgs,
    /// Share of failed log-ons that breaks the limit
    #[arg(long, value_name = "CONDITION", default_value = UNTIL, help_heading = COMMON)]
    pub(crate) until: HeldLimit,
    /// Measured time of each rate
    #[arg(long, value_name = "DURATION", default_value = HOLD, value_parser = parse_duration,
        help_heading = COMMON)]
    pub(crate) hold: Duration,
    /// Number of clients, each with one log-on at a time
    #[arg(long, short, value_name = "NUMBER", default_value_t = LOGON_CLIENTS, help_heading = COMMON,
        value_parser = whole_within(1..=CLIENTS_MAX))]
    pub(crate) clients: u32,
    /// Intervals between log-ons [default: constant]
    #[arg(long, value_name = "KIND", value_parser = spacings(Spacing::of_arrivals),
        hide_short_help = true)]
    pub(crate) arrivals: Option<Spacing>,
    /// Threads that generate the load, 1 to 1024 [default: one per core]
    #[arg(long, value_name = "NUMBER", hide_short_help = true, value_parser = whole::<u32>())]
    pub(crate) threads: Option<u32>,
    /// Local addresses to connect from, in turn, for example 192.0.2.1,192.0.2.10-192.0.2.20
    /// [default: the system's choice]
    #[arg(long, value_name = "LIST", hide_short_help = true)]
    pub(crate) source_ip: Option<SourceList>,
    #[command(flatten)]
    pub(crate) search: SearchArgs,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
    /// Print all tables: CPU use and every percentile
    #[arg(long, help_heading = COMMON)]
    pub(crate) details: bool,
}

/// Options of a search for sessions.
#[derive(Debug, Args)]
pub(crate) struct FindSessionsArgs {
    #[command(flatten)]
    pub(crate) server: ServerArgs,
    /// Share of failed sessions that ends the search
    #[arg(long, value_name = "CONDITION", default_value = UNTIL, help_heading = COMMON)]
    pub(crate) until: HeldLimit,
    /// Highest number of sessions, 2 to 100000
    #[arg(long, value_name = "NUMBER", default_value_t = CLIENTS_MAX, help_heading = COMMON,
        value_parser = whole_within(2..=CLIENTS_MAX))]
    pub(crate) max: u32,
    /// How long the sessions are held after the last one was set up
    #[arg(long, value_name = "DURATION", default_value = HOLD, value_parser = parse_duration,
        help_heading = COMMON)]
    pub(crate) hold: Duration,
    /// Interval between two ECHO requests in each session, which prove that it is alive
    #[arg(long, value_name = "DURATION", default_value = KEEP_ALIVE, value_parser = parse_duration,
        help_heading = COMMON)]
    pub(crate) keep_alive: Duration,
    /// Maximum session setups per second, 1 to 1000000 [default: no limit]
    #[arg(long, value_name = "NUMBER", help_heading = COMMON, value_parser = whole::<u32>())]
    pub(crate) setup_rate: Option<u32>,
    /// Threads that generate the load, 1 to 1024 [default: one per core]
    #[arg(long, value_name = "NUMBER", hide_short_help = true, value_parser = whole::<u32>())]
    pub(crate) threads: Option<u32>,
    #[command(flatten)]
    pub(crate) connections: ConnectionArgs,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
    /// Print all tables: CPU use and every percentile
    #[arg(long, help_heading = COMMON)]
    pub(crate) details: bool,
}

/// Help of options of a run that a search has in another form.
const PROFILE: &str = "Built-in profile (see `smbench profiles`), .toml file, loadfile of dbench or \
                       trace:FOLDER of a capture to replay [default: file-server]";
const LONG: &str = "Measure 60 s per load point after 5 s of warm-up";
const RATE: &str = "Fixed request rate (open loop) in operations per second: 5000 for all clients \
                    together, or 50/client [default: the profile's, else as fast as the server answers]";
const CLIENTS: &str =
    "Number of clients that share the rate [default: 64, or those of the populations]";

/// Options of a search.
#[derive(Debug, Args)]
pub(crate) struct FindArgs {
    #[command(flatten)]
    pub(crate) run: RunArgs,
    #[command(flatten)]
    pub(crate) search: SearchArgs,
    /// After a search for a rate, measure this number of even rates up to it, and the overall
    /// response time
    #[arg(long, value_name = "POINTS", help_heading = "Search", value_parser = whole::<u32>())]
    pub(crate) curve: Option<u32>,
    /// In a profile with populations, the one whose rate is searched for; the others keep theirs
    #[arg(long, value_name = "NAME", help_heading = "Search")]
    pub(crate) population: Option<String>,
}

/// Options that only a search has.
#[derive(Debug, Args)]
#[command(next_help_heading = "Search")]
pub(crate) struct SearchArgs {
    /// Condition that must hold, for example 'p99 < 10ms', 'write p99.9 < 50ms' or
    /// 'errors < 0.1%'; can be repeated
    #[arg(long, value_name = "CONDITION", help_heading = COMMON)]
    pub(crate) slo: Vec<Threshold>,
    /// Largest distance between the answer and the next load that does not hold, in percent
    #[arg(long, value_name = "PERCENT", default_value = PRECISION, value_parser = parse_precision,
        help_heading = COMMON)]
    pub(crate) precision: f64,
    /// In how many of how many probes the answer must hold
    #[arg(long, value_name = "K/N", default_value = CONFIRM, value_parser = parse_confirmations,
        help_heading = COMMON)]
    pub(crate) confirm: Confirmations,
    /// First load to probe, such as 5000 or 5k [default: 1000 ops/s, 4 clients, or 100 log-ons/s]
    #[arg(long, value_name = "LOAD", value_parser = parse_load)]
    pub(crate) start: Option<f64>,
    /// Highest load to probe, such as 20k or 1M [default: 1000000 ops/s or log-ons/s, or 1000
    /// clients]
    #[arg(long, value_name = "LOAD", value_parser = parse_load, help_heading = COMMON)]
    pub(crate) max: Option<f64>,
    /// Highest number of probes
    #[arg(long, value_name = "NUMBER", default_value_t = PROBES,
        value_parser = whole_within(1..=1000))]
    pub(crate) probes: u32,
}

impl SearchArgs {
    /// Returns the range of the search.
    pub(crate) const fn range(&self) -> SearchRange {
        SearchRange {
            precision: self.precision,
            confirm: self.confirm,
            start: self.start,
            max: self.max,
            probes: self.probes,
        }
    }
}

/// Parses `5000` or `5k`.
fn parse_load(text: &str) -> Result<f64, String> {
    let load = parse_count(text).filter(|load| *load >= 1.0);
    load.ok_or_else(|| format!("`{text}` is not a load of 1 or more, such as 5000 or 5k"))
}
