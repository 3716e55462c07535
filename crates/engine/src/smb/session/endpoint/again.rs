//! Endpoints for clients that come back after a lost connection.

use std::net::SocketAddr;

use smbench_model::sessions::NodeList;

use super::{Endpoint, SessionError, addresses_of};

impl Endpoint {
    /// Returns this endpoint with the addresses that clients try in turn when they come back.
    pub(crate) async fn with_nodes(self, nodes: &NodeList) -> Result<Self, SessionError> {
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

    /// Returns the addresses that clients try in turn when they come back; none if those are the
    /// addresses of the server's name.
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
