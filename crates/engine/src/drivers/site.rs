//! A server and the run's directory on it.

use std::sync::Arc;

use smbench_model::contents::block::Salt;
use smbench_model::operations::Mix;
use smbench_model::plan::Plan;
use smbench_model::record::SplitSizes;
use smbench_model::sessions::Caching;
use smbench_model::trace::Trace;
use smbench_protocol::credit::MAX_CREDIT_TARGET;

use crate::drivers::changes::Changes;
use crate::drivers::copies::Copies;
use crate::drivers::reconnecting::ReconnectPolicy;
use crate::smb::session::{Endpoint, SessionError};

/// A server and the run's directory on it, for the drivers of the run.
pub(crate) struct Site {
    pub(crate) plan: Arc<Plan>,
    pub(crate) endpoint: Endpoint,
    /// The requests of larger operations, if some are split.
    pub(crate) split: Option<SplitSizes>,
    pub(crate) mix: Arc<Mix>,
    /// What happens when a connection is lost under load.
    pub(crate) reconnect: ReconnectPolicy,
    /// The run's directory on the share.
    pub(crate) directory: String,
    /// The directory of the files: the run's, or the root of a tree.
    pub(crate) files_in: String,
    /// Salt of the contents of files there.
    pub(crate) salt: Salt,
    /// What the clients change in the run's directory, under leases on directories.
    pub(crate) changes: Arc<Changes>,
    /// How far the clients of a replay are.
    pub(crate) copies: Copies,
}

impl Site {
    /// Returns whether clients set up sessions again under load.
    pub(crate) fn sets_up_again(&self) -> bool {
        self.reconnect != ReconnectPolicy::Never || self.plan.sessions.churn.rate.is_some()
    }

    /// Returns the trace that a client replays.
    pub(crate) fn track(&self, client: u32) -> &Arc<Trace> {
        let Some(replay) = self.plan.only().workload.replay() else {
            unreachable!("only a replay asks for its trace");
        };
        replay.recording.track(client)
    }

    /// Returns the number that stands for a client in the names of a replay.
    pub(crate) fn copy_of(&self, client: u32) -> u32 {
        let replay = self.plan.only().workload.replay();
        replay.map_or(client, |replay| replay.recording.copy_of(client))
    }
}

pub(crate) async fn endpoint(plan: &Plan) -> Result<Endpoint, SessionError> {
    let per_request = u32::from(plan.largest_charge());
    let connections = &plan.sessions.connections;
    // Each connection carries an equal part of the requests in flight of a group of
    // clients.
    let window = plan.only().outstanding * connections.sessions_per_connection;
    let share = window.div_ceil(connections.connections_per_session);
    // One credit more than that is for requests outside the window. With caching,
    // breaks can also be acknowledged while the window is full.
    let spare = match plan.sessions.caching {
        Caching::None => 1,
        _ => 4,
    };
    let wanted = per_request.saturating_mul(share).saturating_add(spare);
    let credit_target = wanted.min(MAX_CREDIT_TARGET.into()) as u16;
    Endpoint::resolve(
        &plan.sessions.target,
        plan.sessions.options,
        plan.limits,
        credit_target,
    )
    .await?
    .with_credit_cap(connections.credits)
    .with_connections_per_session(connections.connections_per_session)
    .with_nodes(&plan.sessions.failover.nodes)
    .await?
    .with_sources(connections.sources.as_ref())
}
