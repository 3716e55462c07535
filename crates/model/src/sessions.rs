//! The sessions of a run: their options, their server, dialects, signing,
//! encryption, connections and caching.

mod caching;
mod churn;
mod connections;
mod failover;

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
pub use smbench_protocol::command::create::OplockLevel;
pub use smbench_protocol::command::lease::LeaseState;
pub use smbench_protocol::{Cipher, CipherList, Dialect, DialectRange, SigningAlgorithm};

use crate::digest::digested;
use crate::lists::sources::SourceList;
use crate::options::{duration, from_text, options};
use crate::target::Target;
use crate::units::format_duration;
pub use caching::{Caching, UnknownCaching};
pub use churn::{
    Churn, ChurnAmount, ChurnProblem, ChurnRate, ChurnTime, Leavings, UnknownChurn, UnknownVanish,
    Vanish, VanishKind,
};
pub use connections::{
    CONNECTIONS_PER_SESSION_MAX, Connections, ConnectionsProblem, SESSIONS_PER_CONNECTION_MAX,
};
pub use failover::{
    Failover, FailoverProblem, HandleDurability, NodeList, ServerNode, UnknownNodes,
};

options! {
    /// The options of sessions as written. A suite may override them for each server.
    SessionsSpec {
        /// The caching that opens of files ask for, such as `batch` or `lease-rh`.
        oplock: Caching,
        /// Dialects to offer, such as `3.1.1` or `2.1..3.0.2`.
        #[serde(deserialize_with = "from_text::<DialectRange, _>")]
        #[written(String)]
        dialect: DialectRange,
        /// Message signing.
        sign: Mode,
        /// The only algorithm to sign with, such as `aes-128-cmac`.
        #[serde(deserialize_with = "from_text::<SigningAlgorithm, _>")]
        #[written(String)]
        signing_algorithm: SigningAlgorithm,
        /// Message encryption.
        encrypt: Mode,
        /// Ciphers to offer, such as `aes-128-gcm,aes-128-ccm`.
        #[serde(deserialize_with = "from_text::<CipherList, _>")]
        #[written(String)]
        cipher: CipherList,
        /// Sessions on each connection, one for each client, 1 to
        /// [`SESSIONS_PER_CONNECTION_MAX`]; 1 when absent.
        sessions_per_connection: u32,
        /// Connections that each session uses at the same time, 1 to
        /// [`CONNECTIONS_PER_SESSION_MAX`]; 1 when absent. More than 1 requires SMB
        /// 3.0 or newer.
        connections_per_session: u32,
        /// Maximum number of credits that each connection holds and uses, 1 to
        /// [`MAX_CREDIT_TARGET`](smbench_protocol::credit::MAX_CREDIT_TARGET). It must
        /// cover the costliest operation that is not split. When absent, the number that
        /// the requests in flight need.
        credits: u16,
        /// Local addresses to connect from, such as `192.0.2.10-192.0.2.20`.
        source_ip: SourceList,
        /// How long a client that lost its connection tries to come back, 1 ms to 1 h. When
        /// absent, it drops out.
        #[serde(deserialize_with = "duration")]
        #[written(String)]
        reconnect: Duration,
        /// Addresses of the server to try in turn after a lost connection, such as
        /// `192.0.2.11,192.0.2.12`. When absent, those of its name.
        #[serde(deserialize_with = "from_text::<NodeList, _>")]
        #[written(String)]
        nodes: NodeList,
        /// The handles of files held open that outlive a lost connection: `none` (when absent),
        /// `durable` or `persistent`.
        handles: HandleDurability,
        /// How many clients log off and come back, such as `5%/min` or `2/s`. When absent, none.
        #[serde(deserialize_with = "from_text::<ChurnRate, _>")]
        #[written(String)]
        churn: ChurnRate,
        /// The share of these that goes without LOGOFF, by `silence` (when absent) or `reset`, such
        /// as `10%:reset`. When absent, none.
        #[serde(deserialize_with = "from_text::<Vanish, _>")]
        #[written(String)]
        vanish: Vanish,
    }
    never in a file {}
}

impl SessionsSpec {
    /// Fills in the defaults of the options of each session.
    #[must_use]
    pub fn session(&self) -> SessionOptions {
        SessionOptions {
            dialects: self.dialect.unwrap_or_default(),
            signing: self.sign.unwrap_or_default(),
            signing_algorithm: self.signing_algorithm,
            encryption: self.encrypt.unwrap_or_default(),
            ciphers: self.cipher.unwrap_or_default(),
        }
    }

    /// Returns the options that are given, a line each: `oplock = batch`.
    #[must_use]
    pub fn lines(&self) -> Vec<String> {
        fn text(value: &Option<impl ToString>) -> Option<String> {
            value.as_ref().map(ToString::to_string)
        }
        let values: [_; Self::KEYS.len()] = [
            text(&self.oplock),
            text(&self.dialect),
            text(&self.sign),
            text(&self.signing_algorithm),
            text(&self.encrypt),
            text(&self.cipher),
            text(&self.sessions_per_connection),
            text(&self.connections_per_session),
            text(&self.credits),
            text(&self.source_ip),
            self.reconnect.map(format_duration),
            text(&self.nodes),
            text(&self.handles),
            text(&self.churn),
            text(&self.vanish),
        ];
        let options = Self::KEYS.iter().zip(values);
        options
            .filter_map(|(key, value)| Some(format!("{key} = {}", value?)))
            .collect()
    }
}

digested! {
    /// The sessions of a run, and the server that they are with.
    #[derive(Clone, Debug, PartialEq)]
    pub struct Sessions {
        /// The server, share, folder and account.
        pub target: Target => none,
        /// Options of each session.
        pub options: SessionOptions => with(SessionOptions::add_to),
        /// The TCP connections that sessions use.
        pub connections: Connections => with(Connections::add_to),
        /// The caching that opens of files ask for.
        pub caching: Caching
            => given("oplock", (*caching != Caching::None).then(|| caching.name())),
        /// What clients do when they lose their connection.
        pub failover: Failover => with(Failover::add_to),
        /// The clients that log off and come back.
        pub churn: Churn => given("churn", churn.for_digest()),
    }
}

impl Sessions {
    /// Fills in the defaults.
    pub(crate) fn of(written: SessionsSpec, target: Target) -> Self {
        let handles = written.handles.unwrap_or_default();
        Self {
            target,
            options: written.session(),
            connections: Connections {
                sessions_per_connection: written.sessions_per_connection.unwrap_or(1),
                connections_per_session: written.connections_per_session.unwrap_or(1),
                credits: written.credits,
                sources: written.source_ip,
            },
            caching: written.oplock.unwrap_or_else(|| handles.caching()),
            failover: Failover {
                reconnect: written.reconnect,
                nodes: written.nodes.unwrap_or_default(),
                handles,
            },
            churn: Churn {
                rate: written.churn,
                vanish: written.vanish,
            },
        }
    }
}

digested! {
    /// Options of a session, applied during set-up.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub struct SessionOptions {
        /// Dialects to offer.
        pub dialects: DialectRange => always("dialects", dialects.to_string()),
        /// Message signing.
        pub signing: Mode => always("signing", signing),
        /// The only algorithm to sign with; `None` leaves the choice to client and
        /// server.
        pub signing_algorithm: Option<SigningAlgorithm>
            => always("signing_algorithm", signing_algorithm.map(SigningAlgorithm::name)),
        /// Message encryption.
        pub encryption: Mode => always("encryption", encryption),
        /// Ciphers to offer.
        pub ciphers: CipherList => always("ciphers", ciphers.to_string()),
    }
}

smbench_protocol::named! {
    /// Whether the user wants a protocol feature.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
    #[serde(rename_all = "lowercase")]
    pub enum Mode {
        /// On if the server requires it.
        #[default]
        Auto => "auto",
        /// On; otherwise the run does not start.
        Required => "required",
        /// Off; otherwise the run does not start.
        Off => "off",
    }
}
