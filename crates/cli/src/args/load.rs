//! The options that set the amount and kind of load. Options of the workload, of
//! connections and of results are in [`super::run`], those of the server in
//! [`super::server`].

use std::time::Duration;

use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use smbench_model::generator::{DriverKind, Pinning};
use smbench_model::lists::clients::ClientList;
use smbench_model::lists::rates::RateList;
use smbench_model::load::{Ramp, Spacing};
use smbench_model::sessions::Caching;
use smbench_model::spec::{GeneratorSpec, RunOptions, SessionsSpec, WorkSpec};
use smbench_model::units::parse_duration;

use super::headings::COMMON;
use super::value::whole;

#[derive(Debug, Args)]
#[command(next_help_heading = "Load")]
pub(crate) struct LoadArgs {
    /// Clients at each load point, for example 1,4..60:4,120 [default: the profile's, else 1,4,8,16]
    #[arg(long, short, value_name = "LIST", help_heading = COMMON)]
    pub(crate) clients: Option<ClientList>,
    /// Units at each load point, for example 1..10; only for a profile with a unit [default: the
    /// profile's, else 1..10]
    #[arg(
        long,
        value_name = "LIST",
        conflicts_with = "clients",
        hide_short_help = true
    )]
    pub(crate) units: Option<ClientList>,
    /// Requests in flight per client, 1 to 1024; the maximum, if a rate is set [default: the
    /// profile's, else 1]
    #[arg(long, value_name = "NUMBER", help_heading = COMMON, value_parser = whole::<u32>())]
    pub(crate) outstanding: Option<u32>,
    /// Fixed request rate (open loop) in operations per second: 5000 or 5k for all clients
    /// together, 50/client, or 1000..5000:1000 for several load points [default: the profile's, else as
    /// fast as the server answers]
    #[arg(long, value_name = "LIST", conflicts_with = "think_time", help_heading = COMMON)]
    pub(crate) rate: Option<RateList>,
    /// Intervals between operations at a rate [default: the profile's, else constant]
    #[arg(long, value_name = "KIND", value_parser = spacings(Spacing::of_arrivals),
        hide_short_help = true)]
    pub(crate) arrivals: Option<Spacing>,
    /// Mean pause of a client after each operation [default: the profile's, else none]
    #[arg(long, value_name = "DURATION", value_parser = parse_duration, hide_short_help = true)]
    pub(crate) think_time: Option<Duration>,
    /// Distribution of think times [default: the profile's, else fixed]
    #[arg(long, value_name = "KIND", value_parser = spacings(Spacing::of_think_times),
        hide_short_help = true)]
    pub(crate) think_distribution: Option<Spacing>,
    /// Start all clients at once (full), or add them one by one during the ramp-up (linear)
    /// [default: the profile's, else full]
    #[arg(long, value_name = "KIND", value_parser = ramps(), hide_short_help = true)]
    pub(crate) ramp: Option<Ramp>,
    #[command(flatten)]
    pub(crate) window: WindowArgs,
    /// Bind each thread to a CPU of its own
    #[arg(long, hide_short_help = true)]
    pub(crate) pin_threads: bool,
    /// How often to repeat all load points; five repeats give useful confidence intervals [default:
    /// the profile's, else 1]
    #[arg(long, value_name = "NUMBER", help_heading = COMMON, value_parser = whole::<u32>())]
    pub(crate) repeat: Option<u32>,
    /// Maximum session setups per second, 1 to 1000000 [default: the profile's, else no limit]
    #[arg(long, value_name = "NUMBER", hide_short_help = true, value_parser = whole::<u32>())]
    pub(crate) setup_rate: Option<u32>,
    /// SMB client implementation: smbench's own (native), or the library smb-rs as a cross-check
    /// [default: the profile's, else native]
    #[arg(long, value_name = "NAME", value_parser = drivers(), hide_short_help = true)]
    pub(crate) driver: Option<DriverKind>,
    /// Oplock or lease to request with each open; breaks are acknowledged and counted [default: the
    /// profile's, else none]
    #[arg(long, value_name = "NAME", value_parser = oplocks(), hide_short_help = true)]
    pub(crate) oplock: Option<Caching>,
}

impl LoadArgs {
    pub(super) fn options(&self) -> RunOptions {
        let options = RunOptions {
            work: WorkSpec {
                clients: self.clients.clone(),
                units: self.units.clone(),
                outstanding: self.outstanding,
                rate: self.rate.clone(),
                arrivals: self.arrivals,
                think_time: self.think_time,
                think_distribution: self.think_distribution,
                ramp: self.ramp,
                repeat: self.repeat,
                ..WorkSpec::default()
            },
            generator: GeneratorSpec {
                pin_threads: self.pin_threads.then_some(Pinning::Pinned),
                setup_rate: self.setup_rate,
                driver: self.driver,
                ..GeneratorSpec::default()
            },
            sessions: SessionsSpec {
                oplock: self.oplock,
                ..SessionsSpec::default()
            },
        };
        options.or(self.window.options())
    }
}

/// How long a load point is, and what generates it: of runs and of suites.
#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct WindowArgs {
    /// Measured time per load point, up to 30 days [default: the profile's, else 3s, or with events
    /// until 30s after the last one]
    #[arg(long, short, value_name = "DURATION", value_parser = parse_duration,
        help_heading = COMMON)]
    pub(crate) duration: Option<Duration>,
    /// Extend the measured time until the load is steady, to at most this length [default: the
    /// profile's, else not]
    #[arg(long, value_name = "MAX", value_parser = parse_duration, hide_short_help = true)]
    pub(crate) until_steady: Option<Duration>,
    /// Warm-up: load before the measured time [default: the profile's, else 1s]
    #[arg(long, value_name = "DURATION", value_parser = parse_duration, help_heading = COMMON)]
    pub(crate) ramp_up: Option<Duration>,
    /// Load after the measured time [default: the profile's, else 500ms]
    #[arg(long, value_name = "DURATION", value_parser = parse_duration, hide_short_help = true)]
    pub(crate) ramp_down: Option<Duration>,
    /// Threads that generate the load, 1 to 1024 [default: the profile's, else one per core]
    #[arg(long, value_name = "NUMBER", hide_short_help = true, value_parser = whole::<u32>())]
    pub(crate) threads: Option<u32>,
}

impl WindowArgs {
    pub(crate) fn options(&self) -> RunOptions {
        RunOptions {
            work: WorkSpec {
                duration: self.duration,
                until_steady: self.until_steady,
                ramp_up: self.ramp_up,
                ramp_down: self.ramp_down,
                ..WorkSpec::default()
            },
            generator: GeneratorSpec {
                threads: self.threads,
                ..GeneratorSpec::default()
            },
            ..RunOptions::default()
        }
    }
}

fn drivers() -> impl TypedValueParser<Value = DriverKind> {
    PossibleValuesParser::new(DriverKind::ALL.iter().map(|kind| kind.name()))
        .try_map(|name| name.parse::<DriverKind>())
}

fn oplocks() -> impl TypedValueParser<Value = Caching> {
    PossibleValuesParser::new(Caching::ALL.map(|(name, _)| name))
        .try_map(|name| name.parse::<Caching>())
}

pub(super) fn spacings(
    name: impl Fn(Spacing) -> &'static str + Clone + Send + Sync + 'static,
) -> impl TypedValueParser<Value = Spacing> {
    const ALL: [Spacing; 2] = [Spacing::Fixed, Spacing::Exponential];
    PossibleValuesParser::new(ALL.map(&name)).map(move |text| {
        let mut all = ALL.into_iter();
        all.find(|&spacing| name(spacing) == text)
            .unwrap_or_default()
    })
}

fn ramps() -> impl TypedValueParser<Value = Ramp> {
    PossibleValuesParser::new(["full", "linear"]).map(|ramp| match ramp.as_str() {
        "linear" => Ramp::Linear,
        _ => Ramp::Full,
    })
}
