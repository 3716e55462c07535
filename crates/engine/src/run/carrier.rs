//! The clients that run a plan, and their number of open files.

use smbench_model::plan::Plan;

/// Sockets of a run in addition to those of its clients.
pub(crate) const EXTRA_SOCKETS: u64 = 32;

/// The kind of clients that run a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Carrier {
    /// SMB clients that are part of smbench.
    Own,
    /// A connector of the embedding program.
    Embedding {
        /// See [`Connector::descriptors_per_group`].
        descriptors_per_group: u32,
    },
}

/// Returns the minimum number of open files, mostly sockets, in the largest load
/// point.
pub(crate) fn descriptors(plan: &Plan, carrier: Carrier) -> u64 {
    match carrier {
        Carrier::Own => plan.sessions.connections.count(plan.max_clients_here()) + EXTRA_SOCKETS,
        Carrier::Embedding {
            descriptors_per_group,
        } => {
            let groups = plan.groups_here() as u64;
            groups * u64::from(descriptors_per_group)
        }
    }
}
