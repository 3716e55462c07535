//! What to run of a suite, and what of it otherwise than the suite says.

use std::path::PathBuf;
use std::str::FromStr;

use smbench_model::limits::Limits;
use smbench_model::lists::clients::ClientList;
use smbench_model::spec::RunOptions;
use smbench_report::{FlushDoc, WritePolicyDoc};

/// What to run of a suite, and what of it otherwise than the suite says.
#[derive(Clone, Debug, Default)]
pub struct SuiteOptions {
    /// Servers beside those of the suite.
    pub servers: NamedServers,
    /// How much of the suite.
    pub load: SuiteLoad,
    /// Options of every run: how long a load point is, threads, and sessions.
    pub run: RunOptions,
    /// Time limits of every run.
    pub limits: Limits,
}

/// Servers beside those of a suite.
#[derive(Clone, Debug, Default)]
pub struct NamedServers {
    /// `NAME=URL` of each.
    pub servers: Vec<String>,
    /// What these servers do on a FLUSH.
    pub flush: Vec<NamedPolicy<FlushDoc>>,
    /// What these servers do on a WRITE.
    pub write: Vec<NamedPolicy<WritePolicyDoc>>,
    /// File with the password for these servers.
    pub password_file: Option<PathBuf>,
    /// File with the account for these servers.
    pub authentication_file: Option<PathBuf>,
}

/// How much of a suite runs.
#[derive(Clone, Debug, Default)]
pub struct SuiteLoad {
    /// Whether short windows try out the suite.
    pub quick: bool,
    /// Load points in place of the suite's.
    pub points: Option<PointChoice>,
    /// Passes in place of the suite's.
    pub passes: Option<u32>,
    /// Profiles in place of the suite's.
    pub profiles: Vec<String>,
    /// Whether loadfile lines without a meaning here are left out.
    pub skip_unknown: bool,
}

/// Selection of a suite's load points.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PointChoice {
    /// These load points, independent of the suite.
    These(ClientList),
    /// The first load point of the suite, and every n-th after it.
    Every(usize),
}

impl FromStr for PointChoice {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.trim().strip_prefix('/') {
            None => match text.parse() {
                Ok(list) => Ok(Self::These(list)),
                Err(error) => Err(format!("{error}")),
            },
            Some(step) => match step.parse() {
                Ok(step @ 1..) => Ok(Self::Every(step)),
                _ => Err(format!("`/{step}` is no step: give /2 or more, or clients")),
            },
        }
    }
}

impl PointChoice {
    /// Returns the selected load points of a suite that has `all`.
    pub fn of(&self, all: &[u32]) -> Vec<u32> {
        match self {
            Self::These(list) => list.as_slice().to_vec(),
            Self::Every(step) => all.iter().copied().step_by(*step).collect(),
        }
    }
}

/// The flush policy or the write policy of a named server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedPolicy<P> {
    /// Name of the server.
    pub server: String,
    /// What it does.
    pub policy: P,
}

impl<P: Copy> NamedPolicy<P> {
    /// Parses `NAME=POLICY`; `None` if that is none of `policies`.
    fn parse(text: &str, policies: [(&str, P); 2]) -> Option<Self> {
        let (server, given) = text.rsplit_once('=')?;
        let known = policies.iter().find(|(name, _)| *name == given);
        known.map(|&(_, policy)| Self {
            server: server.to_owned(),
            policy,
        })
    }
}

impl FromStr for NamedPolicy<FlushDoc> {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, &'static str> {
        let policies = [
            ("honours", FlushDoc::Honours),
            ("ignores", FlushDoc::Ignores),
        ];
        Self::parse(text, policies).ok_or("expected NAME=honours or NAME=ignores")
    }
}

impl FromStr for NamedPolicy<WritePolicyDoc> {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, &'static str> {
        let policies = [
            ("waits", WritePolicyDoc::Waits),
            ("buffers", WritePolicyDoc::Buffers),
        ];
        Self::parse(text, policies).ok_or("expected NAME=waits or NAME=buffers")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ramp_is_thinned_by_a_list_or_a_step() {
        let ramp: Vec<u32> = (0..16).map(|at| if at == 0 { 1 } else { at * 4 }).collect();
        let thinned = |text: &str| text.parse::<PointChoice>().unwrap().of(&ramp);
        assert_eq!(thinned("1,8,16"), [1, 8, 16]);
        assert_eq!(thinned("/1"), ramp);
        assert_eq!(thinned("/4"), [1, 16, 32, 48]);
        assert_eq!(thinned("/99"), [1]);
        for text in ["", "/", "/0", "/x", "0", "8..4"] {
            text.parse::<PointChoice>().unwrap_err();
        }
    }

    #[test]
    fn a_policy_goes_with_a_name() {
        let named: NamedPolicy<FlushDoc> = "a=b=ignores".parse().unwrap();
        assert_eq!(
            (named.server.as_str(), named.policy),
            ("a=b", FlushDoc::Ignores)
        );
        for text in ["nas", "nas=", "nas=maybe", "honours"] {
            text.parse::<NamedPolicy<FlushDoc>>().unwrap_err();
            text.parse::<NamedPolicy<WritePolicyDoc>>().unwrap_err();
        }
        let named: NamedPolicy<WritePolicyDoc> = "nas=waits".parse().unwrap();
        assert_eq!(named.policy, WritePolicyDoc::Waits);
    }
}
