//! The digest of a run's work. Equal digests mean that the same operations were
//! asked for in the same order, so that the results can be compared.

use std::fmt::Write as _;

use aws_lc_rs::digest::{SHA256, digest};
use serde::Serialize;
use smbench_protocol::SigningAlgorithm;

use super::Plan;
use crate::access::{Access, AccessLine, SizeWeight};
use crate::action::WeightedAction;
use crate::contents::Verify;
use crate::fileio::{Fileio, Flushing, Spread, TestMode};
use crate::files::FileSet;
use crate::load::{LoadModel, Ramp, ThinkTime};
use crate::sessions::{Caching, Mode};
use crate::workload::{Requests, Workload};

/// The values that determine the work, in the order in which they are digested. Not
/// here: the server and account, the number of threads, the driver, the limits of
/// waits, and the name of the profile.
#[derive(Serialize)]
struct Digested<'a> {
    /// Version of the meaning of the fields. It is raised when the same fields
    /// begin to mean other operations.
    version: u32,
    workload: Requested<'a>,
    load_points: &'a [u32],
    repeat: u32,
    outstanding: u32,
    ramp_up_ns: u128,
    duration_ns: u128,
    ramp_down_ns: u128,
    seed: u64,
    dialects: String,
    signing: Mode,
    signing_algorithm: Option<&'static str>,
    encryption: Mode,
    ciphers: String,
    verify: bool,
    /// Left out when the user does not ask for it. Digests from before the option
    /// existed therefore stay the same.
    #[serde(skip_serializing_if = "Option::is_none")]
    credits: Option<u16>,
    #[serde(skip_serializing_if = "Option::is_none")]
    oplock: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    sessions_per_connection: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    connections_per_session: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    load: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ramp: Option<&'static str>,
}

/// A workload, in the fields that digests have always contained. A field that does
/// not apply to a form of workload is left out, or `null` where it always was.
#[derive(Serialize)]
struct Requested<'a> {
    sizes: &'a [SizeWeight],
    #[serde(skip_serializing_if = "Option::is_none")]
    read_percent: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    readers_percent: Option<f64>,
    access: Access,
    flush_every_writes: Option<u32>,
    files: FileSet,
    #[serde(skip_serializing_if = "Option::is_none")]
    operations: Option<&'a [WeightedAction]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pattern: Option<&'a [AccessLine]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    trace: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    loops: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    fileio: Option<Tested>,
}

/// The parts of a `fileio` test that sizes and files do not show. Whether the files
/// were prepared before is left out, because the operations are the same.
#[derive(Serialize)]
struct Tested {
    mode: TestMode,
    block: u64,
    merged: u32,
    flushing: Flushing,
    rw_ratio: Option<f64>,
    spread: Option<Spread>,
    events: Option<u64>,
}

impl From<&Fileio> for Tested {
    fn from(test: &Fileio) -> Self {
        Self {
            mode: test.mode,
            block: test.block.0,
            merged: test.merged,
            flushing: test.flushing,
            rw_ratio: (test.mode == TestMode::RndRw).then_some(test.rw_ratio),
            spread: (test.mode.access() == Access::Random).then_some(test.spread),
            events: test.events,
        }
    }
}

impl<'a> From<&'a Workload> for Requested<'a> {
    fn from(workload: &'a Workload) -> Self {
        let (read_percent, readers_percent, operations) = match &workload.requests {
            Requests::Data { read_percent, .. } => (Some(*read_percent), None, None),
            Requests::Divided { readers_percent } => (None, Some(*readers_percent), None),
            Requests::Mix(actions) => (None, None, Some(actions.as_slice())),
            Requests::Pattern(_) | Requests::Replay(_) | Requests::Fileio(_) => (None, None, None),
        };
        Self {
            sizes: &workload.sizes,
            read_percent,
            readers_percent,
            access: workload.access,
            flush_every_writes: workload.flush_every_writes(),
            files: workload.files,
            operations,
            pattern: workload.pattern(),
            trace: workload.replay().map(|replay| replay.trace.digest()),
            loops: workload.replay().and_then(|replay| replay.loops),
            fileio: workload.fileio().map(Tested::from),
        }
    }
}

impl Plan {
    /// Returns the SHA-256 of a canonical JSON text of all values that determine
    /// the work, as 64 hexadecimal digits.
    #[must_use]
    pub fn digest(&self) -> String {
        let hash = digest(&SHA256, self.canonical_json().as_bytes());
        let mut hex = String::with_capacity(64);
        for byte in hash.as_ref() {
            // Writing to a String cannot fail.
            let _ = write!(hex, "{byte:02x}");
        }
        hex
    }

    /// Returns one line of JSON with its keys in a fixed order.
    fn canonical_json(&self) -> String {
        let digested = Digested {
            version: 2,
            workload: Requested::from(&self.work.workload),
            load_points: &self.work.load_points,
            repeat: self.work.repeat,
            outstanding: self.work.outstanding,
            ramp_up_ns: self.work.ramp_up.as_nanos(),
            duration_ns: self.work.duration.as_nanos(),
            ramp_down_ns: self.work.ramp_down.as_nanos(),
            seed: self.work.seed,
            dialects: self.sessions.options.dialects.to_string(),
            signing: self.sessions.options.signing,
            signing_algorithm: self
                .sessions
                .options
                .signing_algorithm
                .map(SigningAlgorithm::name),
            encryption: self.sessions.options.encryption,
            ciphers: self.sessions.options.ciphers.to_string(),
            verify: self.work.verify == Verify::ReadBack,
            credits: self.sessions.connections.credits,
            oplock: (self.sessions.caching != Caching::None).then(|| self.sessions.caching.name()),
            sessions_per_connection: several(self.sessions.connections.sessions_per_connection),
            connections_per_session: several(self.sessions.connections.connections_per_session),
            load: load(&self.work.load),
            ramp: (self.work.ramp == Ramp::Linear).then_some("linear"),
        };
        serde_json::to_string(&digested)
            .unwrap_or_else(|error| unreachable!("plain fields always serialise: {error}"))
    }
}

/// Describes a load model, unless it is the default.
fn load(model: &LoadModel) -> Option<String> {
    match model {
        LoadModel::Closed { think } => think.map(|ThinkTime { mean, spacing }| {
            let kind = spacing.of_think_times();
            format!("think {kind} {} ns", mean.as_nanos())
        }),
        LoadModel::Rate { rate, arrivals } => {
            Some(format!("rate {} {rate}", arrivals.of_arrivals()))
        }
        LoadModel::Recorded => Some("as recorded".to_owned()),
    }
}

/// Returns a number, unless it is the default of 1.
fn several(number: u32) -> Option<u32> {
    (number > 1).then_some(number)
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;
    use std::time::Duration;

    use smbench_protocol::{Cipher, CipherList, Dialect};

    use super::*;
    use crate::action::Action;
    use crate::cpu::CpuSource;
    use crate::files::Scope;
    use crate::generator::Pinning;
    use crate::limits::Limits;
    use crate::plan::resolve::tests::plan;
    use crate::secret::Secret;

    #[test]
    fn the_text_is_canonical() {
        assert_eq!(
            plan("read-4k").canonical_json(),
            r#"{"version":2,"workload":{"sizes":[{"size":4096,"weight":100.0}],"#.to_owned()
                + r#""read_percent":100.0,"access":"random","flush_every_writes":null,"#
                + r#""files":{"scope":"shared","count":1,"size":1048576}},"#
                + r#""load_points":[1,4,8,16],"repeat":1,"outstanding":1,"#
                + r#""ramp_up_ns":1000000000,"duration_ns":3000000000,"ramp_down_ns":500000000,"#
                + r#""seed":1,"dialects":"2.0.2..3.1.1","signing":"auto","signing_algorithm":null,"#
                + r#""encryption":"auto","#
                + r#""ciphers":"aes-128-gcm,aes-128-ccm,aes-256-gcm,aes-256-ccm","verify":false}"#
        );
    }

    fn data(read_percent: f64, flush_every_writes: Option<u32>) -> Requests {
        Requests::Data {
            read_percent,
            flush_every_writes,
        }
    }

    fn mix(action: Action) -> Requests {
        let weight = 100.0;
        Requests::Mix(vec![WeightedAction { action, weight }])
    }

    #[test]
    fn whatever_changes_the_work_changes_the_digest() {
        let changes: [fn(&mut Plan); 26] = [
            |_| {},
            |plan| plan.work.workload.sizes[0].size = 8192,
            |plan| plan.work.workload.requests = data(50.0, None),
            |plan| {
                plan.work.workload.requests = Requests::Divided {
                    readers_percent: 50.0,
                };
            },
            |plan| plan.work.workload.requests = mix(Action::Read { unbuffered: false }),
            |plan| plan.work.workload.requests = mix(Action::Read { unbuffered: true }),
            |plan| plan.work.workload.requests = mix(Action::Echo),
            |plan| plan.work.workload.access = Access::Sequential,
            |plan| plan.work.workload.requests = data(100.0, Some(1)),
            |plan| plan.work.workload.files.scope = Scope::Private,
            |plan| plan.work.workload.files.size = 1 << 21,
            |plan| plan.work.load_points = vec![1, 4, 8],
            |plan| plan.work.repeat = 2,
            |plan| plan.work.outstanding = 2,
            |plan| plan.work.duration = Duration::from_millis(3001),
            |plan| plan.work.seed = 2,
            |plan| plan.sessions.options.dialects = Dialect::Smb21.into(),
            |plan| plan.sessions.options.signing = Mode::Required,
            |plan| plan.sessions.options.signing_algorithm = Some(SigningAlgorithm::AesCmac),
            |plan| plan.sessions.options.encryption = Mode::Required,
            |plan| plan.sessions.options.ciphers = CipherList::only(Cipher::Aes256Gcm),
            |plan| plan.work.verify = Verify::ReadBack,
            |plan| plan.sessions.connections.credits = Some(1),
            |plan| plan.sessions.connections.sessions_per_connection = 2,
            |plan| plan.sessions.connections.connections_per_session = 2,
            |plan| plan.work.ramp_up = Duration::ZERO,
        ];
        let digests: HashSet<_> = changes
            .iter()
            .map(|change| {
                let mut plan = plan("read-4k");
                change(&mut plan);
                plan.digest()
            })
            .collect();
        assert_eq!(digests.len(), changes.len());
        assert!(digests.iter().all(|hex| hex.len() == 64));
    }

    #[test]
    fn where_and_as_whom_it_runs_does_not() {
        let plain = plan("file-server");
        let mut other = plain.clone();
        other.sessions.target.host = "elsewhere".into();
        other.sessions.target.user = "bob".into();
        other.sessions.target.password = Secret::new("other");
        other.generator.threads += 1;
        other.generator.pinning = Pinning::Pinned;
        other.generator.setup_rate = Some(7);
        other.generator.server_cpu = CpuSource::Off;
        other.sessions.connections.sources = Some("127.0.0.2".parse().unwrap());
        other.work.profile = "renamed".into();
        other.limits = Limits {
            operation: Duration::from_secs(1),
            ..Limits::default()
        };
        assert_eq!(plain.digest(), other.digest());
    }

    #[test]
    fn the_password_is_in_no_output() {
        let plan = plan("file-server");
        let password = plan.sessions.target.password.expose();
        assert_eq!(password, "hunter2");
        for shown in [
            format!("{plan:?} {plan:#?}"),
            plan.canonical_json(),
            plan.digest(),
        ] {
            assert!(!shown.contains(password), "{shown}");
        }
    }
}
