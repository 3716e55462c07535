//! What clients do when they lose their connection: how long they try to come back, to which
//! addresses, and which handles they ask the server to keep.

use std::fmt;
use std::net::SocketAddr;
use std::str::FromStr;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use smbench_protocol::command::create::OplockLevel;
use smbench_protocol::command::lease::LeaseState;

use super::Caching;
use crate::digest::digested;
use crate::units::format_duration;

/// The largest number of addresses.
const NODES_MAX: usize = 64;

digested! {
    /// What clients do when they lose their connection.
    #[derive(Clone, Debug, Default, PartialEq)]
    pub struct Failover {
        /// How long a client tries to come back; `None` if it drops out at once.
        pub reconnect: Option<Duration>
            => given("reconnect_ns", reconnect.map(|limit| limit.as_nanos())),
        /// The addresses to try in turn; those of the server's name if there are none.
        pub nodes: NodeList => none,
        /// Which handles of files held open the server is asked to keep.
        pub handles: HandleDurability
            => given("handles", (*handles != HandleDurability::None).then(|| handles.name())),
    }
}

smbench_protocol::named! {
    /// The handles of files held open that outlive a lost connection.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
    #[serde(rename_all = "lowercase")]
    pub enum HandleDurability {
        /// None: files are opened again.
        #[default]
        None => "none",
        /// Durable handles, which the server keeps in memory for a while.
        Durable => "durable",
        /// Persistent handles, which outlive a failover of the server. SMB 3.0 and later.
        Persistent => "persistent",
    }
}

/// A problem with these options.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FailoverProblem {
    /// The time for coming back is too short or too long.
    #[error("reconnect is {}: give 1ms to 1h", format_duration(*.0))]
    Limit(Duration),
    /// An option has no meaning unless clients come back.
    #[error("{0} means nothing without reconnect: give that as well, or drop it")]
    NoReconnect(&'static str),
    /// The caching does not keep handles.
    #[error(
        "handles is {handles}, which needs an oplock or lease that keeps handles, and oplock is \
         {caching}: give batch, lease-rh or lease-rwh"
    )]
    Caching {
        /// The handles asked for.
        handles: &'static str,
        /// The caching asked for.
        caching: Caching,
    },
    /// Clients with this work cannot come back.
    #[error("reconnect is not possible {0}")]
    Work(&'static str),
}

impl HandleDurability {
    /// Returns the caching that opens ask for if no other is given.
    pub(super) const fn caching(self) -> Caching {
        match self {
            Self::None => Caching::None,
            Self::Durable | Self::Persistent => Caching::Lease(LeaseState::RWH),
        }
    }
}

impl Failover {
    /// Finds the first problem, with the name of its option.
    pub(crate) fn check(&self, caching: Caching) -> Result<(), (&'static str, FailoverProblem)> {
        match self.reconnect {
            Some(limit) if !(1..=3_600_000).contains(&limit.as_millis()) => {
                return Err(("reconnect", FailoverProblem::Limit(limit)));
            }
            None if !self.nodes.as_slice().is_empty() => {
                return Err(("nodes", FailoverProblem::NoReconnect("nodes")));
            }
            None if self.handles != HandleDurability::None => {
                return Err(("handles", FailoverProblem::NoReconnect("handles")));
            }
            _ => {}
        }
        let keeps = match caching {
            Caching::Oplock(level) => level == OplockLevel::Batch,
            Caching::Lease(state) | Caching::DirectoryLease(state) => {
                state.contains(LeaseState::RH)
            }
            Caching::None => false,
        };
        if self.handles != HandleDurability::None && !keeps {
            let handles = self.handles.name();
            return Err(("handles", FailoverProblem::Caching { handles, caching }));
        }
        Ok(())
    }
}

/// Addresses of a server that clients try in turn: `192.0.2.11,192.0.2.12`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NodeList(Vec<ServerNode>);

/// An address of a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerNode {
    /// The name or address.
    pub host: String,
    /// The port; that of the server's URL if there is none.
    pub port: Option<u16>,
}

impl NodeList {
    /// Returns the addresses in their order.
    #[must_use]
    pub fn as_slice(&self) -> &[ServerNode] {
        &self.0
    }
}

impl FromIterator<SocketAddr> for NodeList {
    fn from_iter<I: IntoIterator<Item = SocketAddr>>(addresses: I) -> Self {
        let addresses = addresses.into_iter();
        Self(addresses.map(ServerNode::from).collect())
    }
}

impl From<SocketAddr> for ServerNode {
    fn from(address: SocketAddr) -> Self {
        Self {
            host: address.ip().to_string(),
            port: Some(address.port()),
        }
    }
}

/// The text is not a list of addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected up to {NODES_MAX} addresses, such as 192.0.2.11,192.0.2.12 or node1:4450")]
pub struct UnknownNodes;

impl FromStr for NodeList {
    type Err = UnknownNodes;

    fn from_str(text: &str) -> Result<Self, UnknownNodes> {
        let nodes = text.split(',').map(str::trim).map(ServerNode::from_str);
        let nodes: Vec<_> = nodes.collect::<Result<_, _>>()?;
        match nodes.len() {
            1..=NODES_MAX => Ok(Self(nodes)),
            _ => Err(UnknownNodes),
        }
    }
}

impl fmt::Display for NodeList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let nodes: Vec<_> = self.0.iter().map(ServerNode::to_string).collect();
        f.write_str(&nodes.join(","))
    }
}

impl FromStr for ServerNode {
    type Err = UnknownNodes;

    fn from_str(text: &str) -> Result<Self, UnknownNodes> {
        let (host, port) = match text.strip_prefix('[') {
            Some(rest) => {
                let (host, after) = rest.split_once(']').ok_or(UnknownNodes)?;
                match after {
                    "" => (host, None),
                    after => (host, Some(after.strip_prefix(':').ok_or(UnknownNodes)?)),
                }
            }
            // An address of IPv6 without brackets has no port.
            None if text.matches(':').count() > 1 => (text, None),
            None => match text.split_once(':') {
                Some((host, port)) => (host, Some(port)),
                None => (text, None),
            },
        };
        let is_odd = |c: char| c.is_whitespace() || matches!(c, '/' | '@' | '\\');
        if host.is_empty() || host.contains(is_odd) {
            return Err(UnknownNodes);
        }
        let port = port.map(|port| port.parse::<u16>().ok().filter(|port| *port > 0));
        Ok(Self {
            host: host.to_owned(),
            port: match port {
                Some(None) => return Err(UnknownNodes),
                Some(port) => port,
                None => None,
            },
        })
    }
}

impl fmt::Display for ServerNode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.port {
            Some(port) if self.host.contains(':') => write!(f, "[{}]:{port}", self.host),
            Some(port) => write!(f, "{}:{port}", self.host),
            None => f.write_str(&self.host),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_read_back() {
        for (text, written) in [
            ("192.0.2.11,192.0.2.12", None),
            (
                "node1:4450, [fe80::1]:445",
                Some("node1:4450,[fe80::1]:445"),
            ),
            ("2001:db8::1,[2001:db8::2]", Some("2001:db8::1,2001:db8::2")),
        ] {
            let nodes: NodeList = text.parse().unwrap();
            assert_eq!(nodes.to_string(), written.unwrap_or(text));
            assert_eq!(nodes.to_string().parse(), Ok(nodes));
        }
        for text in [
            "", ",", "a,,b", "a:0", "a:x", "[::1", "smb://a", "ann@a", "a b",
        ] {
            assert_eq!(text.parse::<NodeList>(), Err(UnknownNodes), "{text}");
        }
    }

    #[test]
    fn handles_need_a_caching_that_keeps_them() {
        let failover = Failover {
            reconnect: Some(Duration::from_secs(1)),
            handles: HandleDurability::Durable,
            ..Failover::default()
        };
        for (name, caching) in Caching::ALL {
            let keeps = ["batch", "lease-rh", "lease-rwh", "dir-lease-rh"].contains(&name);
            assert_eq!(failover.check(caching).is_ok(), keeps, "{name}");
        }
        assert_eq!(Failover::default().check(Caching::None), Ok(()));
    }
}
