//! Endpoints for clients that come back after a lost connection.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use smbench_model::Nanos;
use smbench_model::sessions::NodeList;

use super::{Endpoint, SessionError, addresses_of};
use crate::machine::clock;

/// The shortest time between two look-ups of the server's names, for all clients together.
const LOOK_UP_INTERVAL: Nanos = Nanos(1_000_000_000);

/// The addresses of a server whose names were looked up again after a failover.
#[derive(Debug, Default)]
pub(super) struct LatestNodes(Mutex<LookedUp>);

#[derive(Debug, Default)]
struct LookedUp {
    /// Instant of the last look-up.
    at: Option<Nanos>,
    /// The addresses, if they are others than at first.
    nodes: Option<Arc<[SocketAddr]>>,
}

impl LatestNodes {
    fn lock(&self) -> MutexGuard<'_, LookedUp> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn get(&self) -> Option<Arc<[SocketAddr]>> {
        self.lock().nodes.clone()
    }

    fn set(&self, nodes: Arc<[SocketAddr]>) {
        self.lock().nodes = Some(nodes);
    }

    /// Returns whether the names are to be looked up at `now`, and notes that they are.
    fn is_due(&self, now: Nanos) -> bool {
        let looked_up = &mut *self.lock();
        let is_fresh = |at: Nanos| now.since(at) < LOOK_UP_INTERVAL;
        if looked_up.at.is_some_and(is_fresh) {
            return false;
        }
        looked_up.at = Some(now);
        true
    }
}

impl Endpoint {
    /// Returns this endpoint with the addresses that clients try in turn when they come back:
    /// these, or those of the server's name if it has several.
    pub(crate) async fn with_nodes(self, nodes: &NodeList) -> Result<Self, SessionError> {
        if nodes.as_slice().is_empty() {
            let several = Some(&self.addresses).filter(|addresses| addresses.len() > 1);
            let nodes = several.cloned().unwrap_or_default();
            return Ok(Self { nodes, ..self });
        }
        let found = self.look_up(nodes).await?;
        // What cannot wait for a client, such as a clean-up, tries them all.
        let mut addresses = self.addresses.to_vec();
        addresses.extend(found.iter().filter(|node| !self.addresses.contains(node)));
        Ok(Self {
            addresses: addresses.into(),
            nodes: found.into(),
            ..self
        })
    }

    /// Returns the addresses of these names, or of the server's own name if there are none.
    async fn look_up(&self, names: &NodeList) -> Result<Vec<SocketAddr>, SessionError> {
        if names.as_slice().is_empty() {
            return addresses_of(&self.target.host, self.target.port, &self.limits).await;
        }
        let mut found = Vec::new();
        for node in names.as_slice() {
            let port = node.port.unwrap_or(self.target.port);
            found.extend(addresses_of(&node.host, port, &self.limits).await?);
        }
        Ok(found)
    }

    /// Returns this endpoint with the addresses for this attempt to come back, from 0. When all
    /// were tried, the names are looked up again, because a failover may have changed them. If
    /// that fails, the addresses stay.
    pub(crate) async fn for_attempt(self, attempt: usize, names: &NodeList) -> Self {
        let mut nodes = self.latest.get().unwrap_or_else(|| Arc::clone(&self.nodes));
        let all_are_tried = attempt >= nodes.len().max(1);
        if all_are_tried
            && self.latest.is_due(clock::now())
            && let Ok(found) = self.look_up(names).await
        {
            let known = if nodes.is_empty() {
                &self.addresses
            } else {
                &nodes
            };
            let is_known = |address: &SocketAddr| known.contains(address);
            let is_same = found.len() == known.len() && found.iter().all(is_known);
            if !is_same && !found.is_empty() {
                nodes = found.into();
                self.latest.set(Arc::clone(&nodes));
            }
        }
        Self { nodes, ..self }
    }

    /// Returns this endpoint with the addresses after the last failover before the others.
    pub(crate) fn at_latest(self) -> Self {
        let Some(latest) = self.latest.get() else {
            return self;
        };
        let mut addresses = latest.to_vec();
        addresses.extend(
            self.addresses
                .iter()
                .filter(|known| !latest.contains(known)),
        );
        Self {
            addresses: addresses.into(),
            ..self
        }
    }

    /// Returns the addresses that clients try in turn when they come back; none if the server
    /// has only one.
    pub(crate) fn nodes(&self) -> &[SocketAddr] {
        &self.nodes
    }

    /// Returns this endpoint with one of those addresses.
    pub(crate) fn at_node(&self, node: usize) -> Self {
        match self.nodes.get(node) {
            Some(&address) => self.at_address(address),
            None => self.clone(),
        }
    }

    /// Returns the GUID of the client, if its connections have one in common.
    pub(crate) const fn client_guid(&self) -> Option<[u8; 16]> {
        self.client_guid
    }

    /// Returns this endpoint for connections of the client with this GUID.
    pub(crate) fn of_client(self, client_guid: [u8; 16]) -> Self {
        Self {
            client_guid: Some(client_guid),
            ..self
        }
    }

    /// Returns this endpoint for a session in the place of an earlier one; 0 for none.
    pub(crate) fn in_place_of(self, previous_session: u64) -> Self {
        Self {
            previous_session,
            ..self
        }
    }
}

#[cfg(test)]
mod tests {
    use smbench_model::limits::Limits;
    use smbench_model::sessions::SessionOptions;
    use smbench_model::target::Target;

    use super::*;

    #[tokio::test]
    async fn the_addresses_of_a_name_are_tried_in_turn_like_given_ones() {
        let (target, _) = Target::parse("smb://ann:pw@127.0.0.1:4450/bench").unwrap();
        let options = SessionOptions::default();
        let one = Endpoint::resolve(&target, options, Limits::default(), 1).await;
        let one = one.unwrap();
        let none = NodeList::default();
        assert!(
            one.clone()
                .with_nodes(&none)
                .await
                .unwrap()
                .nodes()
                .is_empty()
        );
        let of_name: [SocketAddr; 2] =
            ["127.0.0.1:4450", "127.0.0.2:4450"].map(|at| at.parse().unwrap());
        let several = Endpoint {
            addresses: of_name.into(),
            ..one
        };
        let several = several.with_nodes(&none).await.unwrap();
        assert_eq!(several.nodes(), of_name);
        let second = several.at_node(1);
        assert_eq!(second.addresses().collect::<Vec<_>>(), [of_name[1]]);
        // After another loss, the next one is known.
        assert_eq!(second.nodes(), of_name);
        let given = "127.0.0.3".parse().unwrap();
        let given = several.with_nodes(&given).await.unwrap();
        assert_eq!(given.nodes(), ["127.0.0.3:4450".parse().unwrap()]);
    }

    /// An endpoint of a server whose name had another address at first.
    async fn moved() -> Endpoint {
        let (target, _) = Target::parse("smb://ann:pw@127.0.0.1:4450/bench").unwrap();
        let options = SessionOptions::default();
        let now = Endpoint::resolve(&target, options, Limits::default(), 1).await;
        Endpoint {
            addresses: ["127.0.0.9:4450".parse().unwrap()].into(),
            ..now.unwrap()
        }
    }

    #[tokio::test]
    async fn a_changed_address_is_found_when_all_known_ones_were_tried() {
        let (names, moved) = (NodeList::default(), moved().await);
        let first = moved.clone().for_attempt(0, &names).await;
        assert!(first.nodes().is_empty());
        let now: SocketAddr = "127.0.0.1:4450".parse().unwrap();
        let second = moved.clone().for_attempt(1, &names).await;
        assert_eq!(second.nodes(), [now]);
        // Other clients know it from then on, and so does a clean-up.
        let other = moved.clone().for_attempt(0, &names).await;
        assert_eq!(other.at_node(0).addresses().collect::<Vec<_>>(), [now]);
        let error = SessionError::Other("it is gone".to_owned());
        let after: Vec<_> = moved.after(&error).addresses().collect();
        assert_eq!(after, [now, "127.0.0.9:4450".parse().unwrap()]);
    }

    #[tokio::test]
    async fn clients_do_not_look_up_names_one_after_the_other() {
        let moved = moved().await;
        // Another client has just begun to.
        moved.latest.lock().at = Some(Nanos::MAX);
        let same = moved.for_attempt(7, &NodeList::default()).await;
        assert!(same.nodes().is_empty());
    }

    #[tokio::test]
    async fn the_same_addresses_keep_their_order() {
        let names: NodeList = "127.0.0.2,127.0.0.1".parse().unwrap();
        let two = moved().await.with_nodes(&names).await.unwrap();
        let other_order = "127.0.0.1,127.0.0.2".parse().unwrap();
        let again = two.clone().for_attempt(2, &other_order).await;
        assert_eq!(again.nodes(), two.nodes());
    }
}
