//! State of the sessions of a group whose connection was lost, for the new ones. Not
//! here: how the new ones are set up.

use smbench_model::sessions::{Caching, NodeList};
use smbench_protocol::FileId;

use crate::smb::session::Endpoint;

/// What new sessions need of the old ones.
#[derive(Clone, Debug, Default)]
pub struct SessionRemains {
    /// By which the server recognises the clients of the group.
    pub(crate) client_guid: Option<[u8; 16]>,
    /// From which the keys of leases are made.
    pub(crate) lease_seed: Option<u64>,
    /// What each client of the group leaves.
    pub(crate) clients: Box<[ClientRemains]>,
    /// Number of the address of the server that the group was connected to, if there are several.
    pub(crate) node: Option<usize>,
}

impl SessionRemains {
    /// Returns the handles of the client with this index in its group.
    pub(crate) fn handles_of(&self, member: usize) -> &[HeldHandle] {
        let client = self.clients.get(member);
        client.map_or(&[], |client| &client.handles)
    }
}

/// What a client leaves of its session.
#[derive(Clone, Debug)]
pub(crate) struct ClientRemains {
    /// The id of the session.
    pub(crate) id: u64,
    /// The handles of its files, if the server was to keep them.
    pub(crate) handles: Box<[HeldHandle]>,
}

/// A handle that the server was asked to keep.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HeldHandle {
    pub(crate) file_id: FileId,
    pub(crate) create_guid: [u8; 16],
    pub(crate) promise: KeepPromise,
    /// The caching that the server granted for it.
    pub(crate) caching: Caching,
}

/// The promise of the server about a handle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum KeepPromise {
    /// Nothing.
    None,
    /// It is durable, in the first version of the protocol.
    V1,
    /// It is durable or persistent, in the second version.
    V2,
}

/// An attempt to set up the sessions of a group anew.
#[derive(Clone, Debug, Default)]
pub struct Reopening {
    pub(crate) before: SessionRemains,
    /// Number of the attempt since the loss, from 0.
    pub(crate) attempt: usize,
}

impl Reopening {
    /// Returns the endpoint with the address for this attempt. `names` are those of the plan.
    pub(crate) async fn at_next(&self, endpoint: Endpoint, names: &NodeList) -> Endpoint {
        let endpoint = endpoint.for_attempt(self.attempt, names).await;
        endpoint.at_node(self.node(endpoint.nodes().len()))
    }

    /// Returns the number of the address to try, of this many.
    fn node(&self, of: usize) -> usize {
        let next = self.before.node.map_or(0, |node| node + 1);
        (next + self.attempt) % of.max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_attempt_tries_the_next_address() {
        let tried = |node| {
            let attempts = (0..4).map(move |attempt| Reopening {
                before: SessionRemains {
                    node,
                    ..SessionRemains::default()
                },
                attempt,
            });
            attempts.map(|again| again.node(3)).collect::<Vec<_>>()
        };
        assert_eq!(tried(None), [0, 1, 2, 0]);
        assert_eq!(tried(Some(0)), [1, 2, 0, 1]);
        assert_eq!(tried(Some(2)), [0, 1, 2, 0]);
    }
}
