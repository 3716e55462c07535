//! CPU time of the server: its source and its amount. The source of its other counters.

use std::fmt::{self, Debug, Display, Formatter};
use std::str::FromStr;
use std::time::Duration;

use http::Uri;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::setting::Advice;

/// Source of a server's CPU time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum CpuSource {
    /// CPU time is not read.
    Off,
    /// This machine's process table, if the server runs here.
    #[default]
    Processes,
    /// The metrics of an exporter on the server: Prometheus's node_exporter, or
    /// windows_exporter.
    Exporter(MetricsUrl),
}

/// Source of the counters that a server has of its own requests.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum CounterSource {
    /// They are not read.
    #[default]
    Off,
    /// The profile of smbd if it runs on this machine, else what smbstatus lists.
    Auto,
    /// The profile of smbd: calls and their time, by `smbstatus --profile --json`.
    Profile,
    /// What is open: sessions, shares and files, by `smbstatus --json`.
    Status,
    /// The metrics of an exporter on the server: smbd's own, or windows_exporter.
    Exporter(MetricsUrl),
}

impl FromStr for CounterSource {
    type Err = MetricsUrlError;

    /// Reads `auto`, `smbd`, `smbstatus`, `off` or a URL.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Ok(match text {
            "auto" => Self::Auto,
            "smbd" => Self::Profile,
            "smbstatus" => Self::Status,
            "off" => Self::Off,
            url => Self::Exporter(url.parse()?),
        })
    }
}

/// Scope of a CPU time, or of memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum CpuScope {
    /// The processes of the server. Work that the kernel does for them outside of
    /// their system calls is not included.
    Processes,
    /// All processes and the kernel of the server's machine.
    Machine,
}

/// Values of a server that cannot be read between the stages of a load.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UnreadServer {
    /// Why its memory cannot be read; `None` if it can.
    pub memory: Option<String>,
    /// Why its open handles cannot be read; `None` if they can.
    pub handles: Option<String>,
}

/// CPU time of a server in the window of a load point.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerCpuRecord {
    /// Short description of the source.
    pub source: String,
    /// The CPU time used, or the reason why it is unknown.
    pub used: Result<ServerCpuUse, String>,
}

/// CPU time that a server used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ServerCpuUse {
    /// Scope of the CPU time.
    pub scope: CpuScope,
    /// Number of CPUs of the server's machine, 1 or more.
    pub cores: u32,
    /// CPU time in the window, summed over all CPUs.
    pub busy: Duration,
}

/// URL of an exporter, such as `http://files.example:9100/metrics`. Its text, also
/// for debugging, leaves out the value of a query, because that may be a token.
#[derive(Clone, PartialEq, Eq)]
pub struct MetricsUrl(Uri);

/// The reason why a text is not a valid URL of an exporter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("give a URL such as http://SERVER:9100/metrics: {}", Advice(.0))]
pub struct MetricsUrlError(&'static str);

impl MetricsUrl {
    /// Returns the whole URL with its query.
    #[must_use]
    pub const fn uri(&self) -> &Uri {
        &self.0
    }
}

impl FromStr for MetricsUrl {
    type Err = MetricsUrlError;

    /// Reads `http://HOST[:PORT][/PATH]`; the default path is `/metrics`.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let uri: Uri = text.parse().map_err(|_| MetricsUrlError("this is none"))?;
        match uri.scheme_str() {
            Some("http") => {}
            Some("https") => {
                return Err(MetricsUrlError(
                    "only http is spoken; see smbench run @help",
                ));
            }
            _ => return Err(MetricsUrlError("it has to begin with http://")),
        }
        let authority = uri.authority().map_or("", |authority| authority.as_str());
        if authority.contains('@') {
            return Err(MetricsUrlError("a user or a password in it would be shown"));
        }
        if uri.host().is_none_or(str::is_empty) {
            return Err(MetricsUrlError("it names no host"));
        }
        if uri.path() != "/" || uri.query().is_some() {
            return Ok(Self(uri));
        }
        let whole = format!("http://{authority}/metrics");
        let whole = whole.parse().map_err(|_| MetricsUrlError("this is none"))?;
        Ok(Self(whole))
    }
}

impl Display for MetricsUrl {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        // The scheme is always http, and the authority never contains a user.
        let authority = self.0.authority();
        let authority = authority.map_or("", |authority| authority.as_str());
        let query = if self.0.query().is_some() { "?..." } else { "" };
        write!(f, "http://{authority}{}{query}", self.0.path())
    }
}

impl Debug for MetricsUrl {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "MetricsUrl({self})")
    }
}
