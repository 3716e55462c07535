//! Endpoints for clients that come back after a lost connection.

use std::net::SocketAddr;
use std::sync::Arc;

use smbench_model::sessions::NodeList;

use super::{Endpoint, SessionError, addresses_of};

impl Endpoint {
    /// Returns this endpoint with the addresses that clients try in turn when they come back:
    /// these, or those of the server's name if it has several.
    pub(crate) async fn with_nodes(self, nodes: &NodeList) -> Result<Self, SessionError> {
        if nodes.as_slice().is_empty() && self.addresses.len() > 1 {
            let nodes = Arc::clone(&self.addresses);
            return Ok(Self { nodes, ..self });
        }
        let mut found = Vec::new();
        for node in nodes.as_slice() {
            let port = node.port.unwrap_or(self.target.port);
            found.extend(addresses_of(&node.host, port, &self.limits).await?);
        }
        // What cannot wait for a client, such as a clean-up, tries them all.
        let mut addresses = self.addresses.to_vec();
        addresses.extend(found.iter().filter(|node| !self.addresses.contains(node)));
        Ok(Self {
            addresses: addresses.into(),
            nodes: found.into(),
            ..self
        })
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
}
