//! The clients that run a plan, and their number of open files.

use smbench_model::kind::OpKind;
use smbench_model::plan::Plan;

use crate::smb::session::LogoffScope;

/// Sockets of a run in addition to those of its clients.
pub(crate) const EXTRA_SOCKETS: u64 = 32;

/// The kind of clients that run a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Carrier {
    /// SMB clients that are part of smbench, on a server that ends this at a LOGOFF.
    Own(LogoffScope),
    /// A connector of the embedding program.
    Embedding {
        /// See [`Connector::descriptors_per_group`].
        descriptors_per_group: u32,
    },
}

/// Returns the number of connections that this many clients need for their log-ons alone:
/// one for each slot, if a LOGOFF would end the sessions of the clients.
pub(crate) fn for_log_ons(plan: &Plan, clients: u32, logoff: LogoffScope) -> u64 {
    let logs_on = || plan.only().workload.kinds().contains(&OpKind::LogOn);
    if logoff == LogoffScope::Connection && logs_on() {
        u64::from(clients) * u64::from(plan.only().outstanding)
    } else {
        0
    }
}

/// Returns the minimum number of open files, mostly sockets, in the largest load
/// point.
pub(crate) fn descriptors(plan: &Plan, carrier: Carrier) -> u64 {
    let of_one = |plan: Plan| descriptors_of_one(&plan, carrier);
    plan.alone().map(of_one).sum()
}

/// Returns those of the only population of a plan.
fn descriptors_of_one(plan: &Plan, carrier: Carrier) -> u64 {
    match carrier {
        Carrier::Own(logoff) => {
            let clients = plan.max_clients_here();
            let for_log_ons = for_log_ons(plan, clients, logoff);
            let load = plan.work.ramp_up + plan.work.longest_window() + plan.work.ramp_down;
            let silent = u64::from(plan.sessions.churn.silent(plan.max_clients(), load));
            let connections = plan.sessions.connections.count(clients);
            connections * (1 + silent) + for_log_ons + EXTRA_SOCKETS
        }
        Carrier::Embedding {
            descriptors_per_group,
        } => {
            let groups = plan.groups_here() as u64;
            groups * u64::from(descriptors_per_group)
        }
    }
}
