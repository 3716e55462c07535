//! The sessions of a plan in a document.

use std::collections::HashSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use smbench_model::sessions::{Caching, HandleDurability, Mode, SessionOptions, Sessions};
use smbench_model::target::ClientAccount;

use super::named::Named;

/// The sessions of a plan. They do not change the work.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct PlanSessionsDoc {
    /// The oplock or lease that opens of files asked for, such as `batch` or
    /// `lease-rh`. Absent if they asked for none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub oplock: Option<Named<Caching>>,
    /// The dialects offered, such as `3.1.1` or `2.1..3.0.2`; `auto` for all.
    pub dialect: String,
    /// Signing as asked for; `server.signing` has the result.
    pub signing: Mode,
    /// The one signing algorithm offered, or `auto`. Absent, like the next two
    /// keys, in documents of releases without the choice.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signing_algorithm: Option<String>,
    /// Encryption as asked for; `server.encryption` has the result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub encryption: Option<Mode>,
    /// The ciphers offered, the preferred one first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ciphers: Option<Vec<String>>,
    /// Number of sessions that shared each connection. Absent, like the next key,
    /// in documents of releases without the choice.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sessions_per_connection: Option<u32>,
    /// Number of connections that each session used at a time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub connections_per_session: Option<u32>,
    /// Highest number of credits that each connection held and used. Absent if it
    /// was the number that its requests in flight need.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub credits: Option<u16>,
    /// Local addresses of the connections, such as `192.0.2.10-192.0.2.20`. Absent
    /// if the system chose them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source_ip: Option<String>,
    /// Number of different accounts of the clients. Absent if all log on as one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub accounts: Option<u32>,
    /// Seconds for which a client that lost its connection tried to come back. Absent if it
    /// dropped out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reconnect_s: Option<f64>,
    /// Addresses of the server that such a client tried in turn, such as
    /// `192.0.2.11,192.0.2.12`. Absent if those were the addresses of its name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nodes: Option<String>,
    /// The handles of files held open that were to outlive a lost connection: `durable` or
    /// `persistent`. Absent if files were opened again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub handles: Option<Named<HandleDurability>>,
    /// How many clients logged off and came back, such as `5%/min`. Absent if none did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub churn: Option<String>,
    /// The share of these that went without LOGOFF, and how, such as `10%:reset`. Absent if all
    /// logged off.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vanish: Option<String>,
}

impl From<&Sessions> for PlanSessionsDoc {
    fn from(sessions: &Sessions) -> Self {
        let Sessions {
            target,
            options,
            connections,
            caching,
            failover,
            churn,
        } = sessions;
        let algorithm = options.signing_algorithm;
        let algorithm = algorithm.map_or("auto", |algorithm| algorithm.name());
        let ciphers = options.ciphers.iter();
        Self {
            oplock: (*caching != Caching::None).then_some(Named::Known(*caching)),
            dialect: match options.dialects {
                all if all == SessionOptions::default().dialects => "auto".to_owned(),
                dialects => dialects.to_string(),
            },
            signing: options.signing,
            signing_algorithm: Some(algorithm.to_owned()),
            encryption: Some(options.encryption),
            ciphers: Some(ciphers.map(|cipher| cipher.name().to_owned()).collect()),
            sessions_per_connection: Some(connections.sessions_per_connection),
            connections_per_session: Some(connections.connections_per_session),
            credits: connections.credits,
            source_ip: connections.sources.as_ref().map(ToString::to_string),
            accounts: different(&target.accounts),
            reconnect_s: failover.reconnect.map(|limit| limit.as_secs_f64()),
            nodes: (!failover.nodes.as_slice().is_empty()).then(|| failover.nodes.to_string()),
            handles: (failover.handles != HandleDurability::None)
                .then_some(Named::Known(failover.handles)),
            churn: churn.rate.map(|rate| rate.to_string()),
            vanish: churn.vanish.map(|vanish| vanish.to_string()),
        }
    }
}

/// Returns the number of different accounts, if there are any.
fn different(accounts: &[ClientAccount]) -> Option<u32> {
    let names = accounts
        .iter()
        .map(|account| (&account.domain, &account.user));
    let names: HashSet<_> = names.collect();
    (!names.is_empty()).then_some(names.len() as u32)
}
