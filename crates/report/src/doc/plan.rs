//! The plan of a run in its document: everything needed to run it again. Key names
//! contain the units. Not here: the target, which is `server.url`, and the
//! password.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use smbench_model::plan::{
    Access, Caching, Limits, LoadModel, Mode, Pinning, Plan, Ramp, RateScope, Replay, Requests,
    Scope, SessionOptions, Timing, Verify, WeightedAction, Workload,
};

use super::FileioDoc;
use super::pattern::PatternDoc;

/// The settings of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PlanDoc {
    /// Name of the profile.
    pub profile: String,
    /// Digest that is equal for plans that measure the same thing.
    pub digest: String,
    /// The workload of each client.
    pub workload: WorkloadDoc,
    /// Clients of each load point, in the order they run.
    pub load_points: Vec<u32>,
    /// Number of passes over the series of load points.
    pub repeat: u32,
    /// Requests that each client keeps in flight.
    pub outstanding: u32,
    /// Operations per second, of all clients together or of each (`rate_scope`).
    /// Absent in a closed loop.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate_per_s: Option<f64>,
    /// Scope of the rate: `total` or `client`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate_scope: Option<String>,
    /// Spacing of operations at a rate: `constant` or `poisson`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arrivals: Option<String>,
    /// Mean seconds between the end of an operation and the next. Absent without a
    /// think time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub think_time_s: Option<f64>,
    /// Distribution of think times: `fixed` or `exponential`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub think_distribution: Option<String>,
    /// Start of clients: `linear` over the ramp-up. Absent if all began at once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ramp: Option<String>,
    /// Seconds under load before the window.
    pub ramp_up_s: f64,
    /// Seconds in the window.
    pub duration_s: f64,
    /// Seconds at full load after the window.
    pub ramp_down_s: f64,
    /// Seed of every random choice.
    pub seed: u64,
    /// Worker threads of the generator.
    pub threads: u32,
    /// Whether each thread was pinned to its own CPU. Absent, like the next key, in
    /// documents of releases without the choice.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pin_threads: Option<bool>,
    /// Highest number of sessions that were set up per second. Absent without a
    /// limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub setup_rate: Option<u32>,
    /// The client that carried out the operations: `native`, `smb-rs`, or `own` for
    /// the driver of an embedding program. Absent in documents of releases without
    /// the choice.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub driver: Option<String>,
    /// `own` if an embedding program supplied the operations. `workload`, `seed`
    /// and `digest` then do not describe them. Absent in other documents.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub operations: Option<String>,
    /// The oplock or lease that opens of files asked for, such as `batch` or
    /// `lease-rh`. Absent if they asked for none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub oplock: Option<String>,
    /// The dialects offered, such as `3.1.1` or `2.1..3.0.2`; `auto` for all.
    pub dialect: String,
    /// Signing as asked for; `server.signing` has the result.
    pub signing: ModeDoc,
    /// The one signing algorithm offered, or `auto`. Absent, like the next two
    /// keys, in documents of releases without the choice.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signing_algorithm: Option<String>,
    /// Encryption as asked for; `server.encryption` has the result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub encryption: Option<ModeDoc>,
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
    /// Whether data read was compared with the data written.
    pub verify: VerifyDoc,
    /// Bounds on every wait.
    pub limits: LimitsDoc,
    /// Size of all files on the share at the largest load point.
    pub bytes_on_share: u64,
}

/// The workload of each client.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WorkloadDoc {
    /// Request sizes and their weights.
    pub sizes: Vec<SizeDoc>,
    /// Share of reads among reads and writes, 0 to 100. `null` if there are
    /// `operations`, a `pattern` or `readers_percent` instead.
    pub read_percent: Option<f64>,
    /// Share of clients that only read, 0 to 100; the others only write. Absent if
    /// each client does both.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub readers_percent: Option<f64>,
    /// Order of offsets. For a `pattern`: random if all its lines are.
    pub access: AccessDoc,
    /// Number of writes of a client after which it sends a FLUSH; `null` means
    /// never.
    pub flush_every_writes: Option<u32>,
    /// A mix of any commands and their weights. Absent if clients only read and
    /// write.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub operations: Vec<OperationDoc>,
    /// The lines of an access pattern. Absent without one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pattern: Vec<PatternDoc>,
    /// The replay. Absent if the workload is something else.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replay: Option<ReplayDoc>,
    /// The test of `sysbench fileio`. Absent if the workload is something else.
    /// `seed` chooses the offsets; `files` and `file_bytes` describe the files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fileio: Option<FileioDoc>,
    /// Whether clients have files of their own.
    pub scope: ScopeDoc,
    /// Number of files per client, or of all files if they are shared.
    pub files: u32,
    /// Bytes in each file.
    pub file_bytes: u64,
}

/// The replay that each client runs separately.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ReplayDoc {
    /// The loadfile, or the name of a generated replay.
    pub source: String,
    /// SHA-256 of the loadfile and of whether lines were left out. For a generated
    /// replay: SHA-256 of its parameters.
    pub sha256: String,
    /// Lines of the file, comments included.
    pub lines: u64,
    /// Number of operations in it, by verb of the loadfile.
    pub operations: BTreeMap<String, u64>,
    /// Number of lines left out, by their first word. Absent without such lines.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub skipped: BTreeMap<String, u64>,
    /// Number of handles that the file leaves open; the replay closes them all the
    /// same.
    #[serde(default)]
    pub closed: u64,
    /// Bytes that its READs ask for.
    pub bytes_read: u64,
    /// Bytes that its WRITEs carry.
    pub bytes_written: u64,
    /// When operations began: `fast`, or `recorded` as in the file.
    pub timing: String,
    /// Number of times that each client ran through it. Absent if it repeated until
    /// the window closed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub loops: Option<u32>,
    /// Seconds from the first operation to the last. Absent if the file has no
    /// times.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub length_s: Option<f64>,
}

/// One request size of a mix.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct SizeDoc {
    /// Bytes per request.
    pub bytes: u32,
    /// Percent of requests that have this size.
    pub weight_percent: f64,
}

/// One operation of a mix.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OperationDoc {
    /// The operation: `read`, `create`, `query_info` and so on, as in a profile.
    pub op: String,
    /// Percent of the operations that are this one.
    pub weight_percent: f64,
    /// Its parameters as in a profile, including defaults. A `create` also has its
    /// `subject`: the kind of file that it opens.
    #[serde(flatten)]
    pub parameters: BTreeMap<String, serde_json::Value>,
}

/// Order of offsets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum AccessDoc {
    /// Uniform over the multiples of the request's size.
    Random,
    /// Each request starts where the client's previous one ended.
    Sequential,
}

/// The clients that use a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ScopeDoc {
    /// Each client has its own files.
    Private,
    /// All clients use the same files.
    Shared,
}

/// A protocol feature as asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ModeDoc {
    /// As the server requires.
    Auto,
    /// On; the run fails if the server does not support it.
    Required,
    /// Off; the run fails if the server requires it.
    Off,
}

/// Whether contents are checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum VerifyDoc {
    /// Payloads are discarded without a check.
    Off,
    /// Every byte read is compared with the data written.
    ReadBack,
}

/// The longest each wait may take, in seconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct LimitsDoc {
    /// Until TCP is connected.
    pub connect_s: f64,
    /// Until one set-up request is answered.
    pub setup_s: f64,
    /// Until one measured operation is answered.
    pub operation_s: f64,
}

impl PlanDoc {
    /// Returns the number of worker threads at this number of clients. Sessions
    /// that share a connection share a thread, and a thread without clients never
    /// starts.
    pub(crate) fn threads_at(&self, clients: u32) -> u32 {
        let sessions = self.sessions_per_connection.unwrap_or(1).max(1);
        self.threads.min(clients.div_ceil(sessions))
    }
}

impl From<&Plan> for PlanDoc {
    fn from(plan: &Plan) -> Self {
        let (rate, think) = match plan.work.load {
            LoadModel::Rate { rate, arrivals } => (Some((rate, arrivals)), None),
            LoadModel::Closed { think } => (None, think),
            LoadModel::Recorded => (None, None),
        };
        Self {
            profile: plan.work.profile.clone(),
            digest: plan.digest(),
            workload: WorkloadDoc::from(&plan.work.workload),
            load_points: plan.work.load_points.clone(),
            repeat: plan.work.repeat,
            outstanding: plan.work.outstanding,
            rate_per_s: rate.map(|(rate, _)| rate.per_second),
            rate_scope: rate.map(|(rate, _)| {
                match rate.scope {
                    RateScope::Total => "total",
                    RateScope::Client => "client",
                }
                .to_owned()
            }),
            arrivals: rate.map(|(_, arrivals)| arrivals.of_arrivals().to_owned()),
            think_time_s: think.map(|think| think.mean.as_secs_f64()),
            think_distribution: think.map(|think| think.spacing.of_think_times().to_owned()),
            ramp: (plan.work.ramp == Ramp::Linear).then(|| "linear".to_owned()),
            ramp_up_s: plan.work.ramp_up.as_secs_f64(),
            duration_s: plan.work.duration.as_secs_f64(),
            ramp_down_s: plan.work.ramp_down.as_secs_f64(),
            seed: plan.work.seed,
            threads: plan.generator.threads,
            pin_threads: Some(plan.generator.pinning == Pinning::Pinned),
            setup_rate: plan.generator.setup_rate,
            driver: Some(plan.generator.driver.name().to_owned()),
            operations: None,
            oplock: (plan.sessions.caching != Caching::None)
                .then(|| plan.sessions.caching.to_string()),
            dialect: match plan.sessions.options.dialects {
                all if all == SessionOptions::default().dialects => "auto".to_owned(),
                dialects => dialects.to_string(),
            },
            signing: ModeDoc::from(plan.sessions.options.signing),
            signing_algorithm: Some(
                plan.sessions
                    .options
                    .signing_algorithm
                    .map_or("auto", |algorithm| algorithm.name())
                    .to_owned(),
            ),
            encryption: Some(ModeDoc::from(plan.sessions.options.encryption)),
            ciphers: Some(
                plan.sessions
                    .options
                    .ciphers
                    .iter()
                    .map(|cipher| cipher.name().to_owned())
                    .collect(),
            ),
            sessions_per_connection: Some(plan.sessions.connections.sessions_per_connection),
            connections_per_session: Some(plan.sessions.connections.connections_per_session),
            credits: plan.sessions.connections.credits,
            source_ip: plan
                .sessions
                .connections
                .sources
                .as_ref()
                .map(ToString::to_string),
            verify: match plan.work.verify {
                Verify::Off => VerifyDoc::Off,
                Verify::ReadBack => VerifyDoc::ReadBack,
            },
            limits: LimitsDoc::from(plan.limits),
            bytes_on_share: plan.bytes_on_share(),
        }
    }
}

impl From<&Workload> for WorkloadDoc {
    fn from(workload: &Workload) -> Self {
        let sizes = workload.sizes.iter().map(|entry| SizeDoc {
            bytes: entry.size,
            weight_percent: entry.weight,
        });
        let (read_percent, operations) = match &workload.requests {
            Requests::Data { read_percent, .. } => (Some(*read_percent), Vec::new()),
            Requests::Mix(mix) => (None, mix.iter().map(OperationDoc::from).collect()),
            Requests::Divided { .. }
            | Requests::Pattern(_)
            | Requests::Replay(_)
            | Requests::Fileio(_) => (None, Vec::new()),
        };
        Self {
            sizes: sizes.collect(),
            read_percent,
            readers_percent: match workload.requests {
                Requests::Divided { readers_percent } => Some(readers_percent),
                _ => None,
            },
            operations,
            pattern: workload
                .pattern()
                .unwrap_or_default()
                .iter()
                .map(PatternDoc::from)
                .collect(),
            replay: workload.replay().map(ReplayDoc::from),
            fileio: workload.fileio().map(FileioDoc::from),
            access: match workload.access {
                Access::Random => AccessDoc::Random,
                Access::Sequential => AccessDoc::Sequential,
            },
            flush_every_writes: workload.flush_every_writes(),
            scope: match workload.files.scope {
                Scope::Private => ScopeDoc::Private,
                Scope::Shared => ScopeDoc::Shared,
            },
            files: workload.files.count,
            file_bytes: workload.files.size,
        }
    }
}

impl From<&Replay> for ReplayDoc {
    fn from(replay: &Replay) -> Self {
        let summary = replay.trace.summary();
        let operations = summary.operations.iter();
        Self {
            source: summary.source.clone(),
            sha256: replay.trace.digest(),
            lines: summary.lines,
            operations: operations
                .map(|(verb, &count)| (verb.name().to_owned(), count))
                .collect(),
            skipped: summary.skipped.clone(),
            closed: summary.closed,
            bytes_read: summary.bytes_read,
            bytes_written: summary.bytes_written,
            timing: match replay.timing {
                Timing::Fast => "fast",
                Timing::Recorded => "recorded",
            }
            .to_owned(),
            loops: replay.loops,
            length_s: summary.length.map(|length| length.as_secs_f64()),
        }
    }
}

impl From<&WeightedAction> for OperationDoc {
    fn from(entry: &WeightedAction) -> Self {
        Self {
            op: entry.action.name().to_owned(),
            weight_percent: entry.weight,
            parameters: entry.action.parameters(),
        }
    }
}

impl From<Mode> for ModeDoc {
    fn from(mode: Mode) -> Self {
        match mode {
            Mode::Auto => Self::Auto,
            Mode::Required => Self::Required,
            Mode::Off => Self::Off,
        }
    }
}

impl From<Limits> for LimitsDoc {
    fn from(limits: Limits) -> Self {
        let [connect_s, setup_s, operation_s] = [limits.connect, limits.setup, limits.operation]
            .map(|limit: Duration| limit.as_secs_f64());
        Self {
            connect_s,
            setup_s,
            operation_s,
        }
    }
}
