//! What is done around a load point while no load runs: commands, and a wait for a quiet
//! server. Not here: how they are carried out.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The limit of a command, unless another is given.
const LIMIT: Duration = Duration::from_secs(300);

/// What is done around each load point.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PointHooks {
    /// Shell command that runs before the sessions of the load point are set up.
    pub before: Option<String>,
    /// Shell command that runs after its sessions were logged off.
    pub after: Option<String>,
    /// Limit of each command. One that takes longer is killed with all that it has started.
    pub limit: Duration,
    /// How long a load point waits at most until the server's CPU and disks are quiet.
    /// `None` for no wait.
    pub until_quiet: Option<Duration>,
}

impl Default for PointHooks {
    fn default() -> Self {
        Self {
            before: None,
            after: None,
            limit: LIMIT,
            until_quiet: None,
        }
    }
}

/// What was done around a load point.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HooksRecord {
    /// The command before it.
    pub before: Option<HookRecord>,
    /// The command after it.
    pub after: Option<HookRecord>,
    /// The wait before it.
    pub quiet: Option<QuietRecord>,
}

impl HooksRecord {
    /// Returns why a load point is void, if one of its commands failed.
    #[must_use]
    pub fn failure(&self) -> Option<String> {
        let of = |when: &str, hook: &Option<HookRecord>| {
            let failure = hook.as_ref()?.failure.as_ref()?;
            Some(format!("the command {when} the load point {failure}"))
        };
        of("before", &self.before).or_else(|| of("after", &self.after))
    }
}

/// A shell command that was run before or after a load point.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HookRecord {
    /// The command as given.
    pub command: String,
    /// Seconds from its start to its end.
    pub took_s: f64,
    /// Its exit status; `null` if it was killed or did not start.
    pub exit: Option<i32>,
    /// Why the load point is void; absent if the command succeeded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
    /// What it wrote to standard output and standard error: the first 16 KiB, without the
    /// password of the run.
    pub output: String,
    /// Number of bytes that it wrote.
    pub output_bytes: u64,
}

/// The wait for a quiet server before a load point.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct QuietRecord {
    /// Seconds that the load point waited.
    pub waited_s: f64,
    /// Whether the server was quiet in the end. Otherwise the limit of the wait was reached.
    pub is_quiet: bool,
    /// What was looked at: `smbd (process 12) and its children, on this machine`.
    pub source: String,
    /// CPUs of the server that were busy in the last second of the wait; absent if it is not
    /// known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub busy_cpus: Option<f64>,
    /// Share of the last second in which the busiest disk had work; absent if no disk was
    /// seen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disk_busy: Option<f64>,
    /// Bytes in memory that were not on a disk yet; absent if the server does not tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unwritten_bytes: Option<u64>,
    /// What was not quiet at the end of the wait; absent if all was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

impl QuietRecord {
    /// Describes the end of the wait in a sentence.
    #[must_use]
    pub fn in_words(&self) -> String {
        let waited_s = self.waited_s;
        match &self.reason {
            None => format!("the server was quiet after {waited_s:.0} s"),
            Some(reason) => format!("the server was not quiet after {waited_s:.0} s: {reason}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_command_voids_the_load_point_and_the_first_one_counts() {
        let hook = |failure: Option<&str>| HookRecord {
            command: "x".to_owned(),
            took_s: 0.0,
            exit: Some(0),
            failure: failure.map(str::to_owned),
            output: String::new(),
            output_bytes: 0,
        };
        let mut hooks = HooksRecord::default();
        assert_eq!(hooks.failure(), None);
        hooks.after = Some(hook(Some("ended with exit status 2")));
        hooks.before = Some(hook(None));
        let expected = "the command after the load point ended with exit status 2";
        assert_eq!(hooks.failure().as_deref(), Some(expected));
        hooks.before = Some(hook(Some("did not end within 5s")));
        let expected = "the command before the load point did not end within 5s";
        assert_eq!(hooks.failure().as_deref(), Some(expected));
    }
}
