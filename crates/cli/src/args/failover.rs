//! The options for lost connections, and for events that cut them.

use std::time::Duration;

use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use smbench_model::event::PlannedEvent;
use smbench_model::sessions::{ChurnRate, HandleDurability, NodeList, Vanish};
use smbench_model::spec::{SessionsSpec, WorkSpec};
use smbench_model::units::parse_duration;

/// What clients do when they lose their connection.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Failover")]
pub(crate) struct FailoverArgs {
    /// How long a client that lost its connection tries to come back, for example 60s [default: the
    /// profile's, else it drops out]
    #[arg(long, value_name = "DURATION", value_parser = parse_duration, hide_short_help = true)]
    pub(crate) reconnect: Option<Duration>,
    /// Addresses of the server to try in turn with --reconnect, for example 192.0.2.11,192.0.2.12
    /// [default: the profile's, else those of the URL's host]
    #[arg(long, value_name = "HOST[:PORT],...", hide_short_help = true)]
    pub(crate) nodes: Option<NodeList>,
    /// Handles of files held open that outlive a lost connection; without --oplock, files are opened
    /// with lease-rwh [default: the profile's, else none]
    #[arg(long, value_name = "KIND", value_parser = durabilities(), hide_short_help = true)]
    pub(crate) handles: Option<HandleDurability>,
    /// How many clients log off and come back, for example 5%/min, 2/s or 100/h [default: the
    /// profile's, else none]
    #[arg(long, value_name = "RATE", hide_short_help = true)]
    pub(crate) churn: Option<ChurnRate>,
    /// Share of these that goes without LOGOFF, by silence or reset, for example 10% or 10%:reset
    /// [default: the profile's, else none; silence]
    #[arg(long, value_name = "SHARE[:HOW]", hide_short_help = true)]
    pub(crate) vanish: Option<Vanish>,
}

impl FailoverArgs {
    pub(super) fn options(&self) -> SessionsSpec {
        SessionsSpec {
            reconnect: self.reconnect,
            nodes: self.nodes.clone(),
            handles: self.handles,
            churn: self.churn,
            vanish: self.vanish,
            ..SessionsSpec::default()
        }
    }
}

/// What is done at instants of each load point.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Failover")]
pub(crate) struct EventArgs {
    /// Do this at a time of each window: 'at 30s: drop 100%' resets connections, 'at 60s: exec
    /// COMMAND' runs a shell command; 'stop 2s' and 'signal KILL' are for a lab server; can be
    /// repeated
    #[arg(long = "event", value_name = "EVENT", hide_short_help = true)]
    pub(crate) events: Vec<PlannedEvent>,
}

impl EventArgs {
    pub(super) fn options(&self) -> WorkSpec {
        WorkSpec {
            event: (!self.events.is_empty()).then(|| self.events.clone()),
            ..WorkSpec::default()
        }
    }
}

fn durabilities() -> impl TypedValueParser<Value = HandleDurability> {
    PossibleValuesParser::new(HandleDurability::ALL.map(HandleDurability::name)).map(|name| {
        let mut all = HandleDurability::ALL.into_iter();
        all.find(|kind| kind.name() == name).unwrap_or_default()
    })
}
