//! A document as a whole.

use std::path::{Path, PathBuf};
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use smbench_model::part::ClientPart;
use smbench_model::record::{NotedRecord, RecycleBin};

use super::calibration::CalibrationDoc;
use super::condition::ConditionDoc;
use super::curve::CurveDoc;
use super::file::{
    LoadError, SaveError, malformed, parse, read, save, save_under_free_name, to_json,
};
use super::find::FindDoc;
use super::host::HostDoc;
use super::machine::MachineDoc;
use super::pacing::LoopDoc;
use super::plan::PlanDoc;
use super::point::LoadPointDoc;
use super::server::{BUILT_IN_NOTE, ServerDoc, ServerLocation};
use super::soak::SoakDoc;
use super::tool::ToolDoc;
use crate::change::Measured;
use crate::statistics::{Estimate, PassInterval};

/// All results and settings of one run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunDoc {
    /// [`SCHEMA_VERSION`](super::SCHEMA_VERSION) of the program that wrote the document.
    pub schema_version: u32,
    /// The program that wrote the document.
    pub tool: ToolDoc,
    /// Wall-clock time of the start, RFC 3339 in UTC, to the second.
    pub started: String,
    /// The way in which the run ended.
    pub outcome: OutcomeDoc,
    /// Why the run was aborted; `null` unless it was.
    pub outcome_reason: Option<String>,
    /// The user's name for the result. Results with equal labels are passes of one.
    /// Absent if none was given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// The user's remark about the result. Absent if none was given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// The command line: the program, and one argument per element. Passwords and
    /// queries in URLs are left out. Absent in documents of releases that did not
    /// record it, of other programs, and in merged results.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub command: Vec<String>,
    /// The settings of the run: enough to run it again.
    pub plan: PlanDoc,
    /// The event that starts an operation.
    #[serde(rename = "loop")]
    pub pacing: LoopDoc,
    /// The server, as negotiated and as disclosed.
    pub server: ServerDoc,
    /// The machine that generated the load. Absent in documents of releases that
    /// did not record it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub machine: Option<MachineDoc>,
    /// The machines that generated the load, if there were several. `machine` is then the
    /// first. Absent in documents of one machine.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hosts: Vec<HostDoc>,
    /// The highest load that the machine can generate. Absent if it was not
    /// measured, and in merged results.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub calibration: Option<CalibrationDoc>,
    /// One element per load point and pass, in the order they ran.
    pub load_points: Vec<LoadPointDoc>,
    /// Means over passes, if there are several valid ones. Absent in documents of
    /// runs with one pass.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub repeats: Vec<RepeatsDoc>,
    /// The highest valid load point; `null` if there is none.
    pub peak: Option<PeakDoc>,
    /// One number for the curve. Absent with fewer than three load points, in runs at a
    /// rate that count no units, and in documents of releases that did not compute it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub curve: Option<CurveDoc>,
    /// Whether anything drifted in a soak. Absent unless the run is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub soak: Option<SoakDoc>,
    /// The search that chose the load points. Absent if it was no search.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub find: Option<FindDoc>,
    /// The conditions of `--fail-if` and their outcomes. Absent if there were none, and
    /// until the run has ended.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<ConditionDoc>,
    /// The notes for a check after a crash. Absent if the run made none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub noted: Option<NotedRecord>,
    /// Files that could not be removed from the share; `null` if nothing was left.
    pub leftover: Option<String>,
    /// Folders to which the server moved deleted files, so that each deletion was a rename
    /// for the server. Absent if smbench found none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub recycle_bins: Vec<RecycleBin>,
    /// What smbench measured if the space of the deleted files did not come back. Absent if
    /// it came back, and if smbench cannot judge that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub space_kept: Option<String>,
    /// Why smbench could not check whether the space of the deleted files came back. Absent if
    /// it could, and if the files were too small to see.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub space_unchecked: Option<String>,
}

/// Returns whether `run` made this name of a file: the start and the profile.
fn is_automatic(stem: &str) -> bool {
    let (start, profile) = stem.split_at_checked(16).unwrap_or_default();
    let is_like = |(letter, of): (char, char)| match of {
        '0' => letter.is_ascii_digit(),
        of => letter == of,
    };
    profile.starts_with('-') && start.chars().zip("00000000T000000Z".chars()).all(is_like)
}

impl RunDoc {
    /// Returns the name that the user gave to the document that was read from `path`: the
    /// label, else the file's name. `None` if `run` made the file's name.
    #[must_use]
    pub(crate) fn given_name(&self, path: &Path) -> Option<String> {
        let stem = path.file_stem().unwrap_or(path.as_os_str());
        let stem = stem.to_string_lossy();
        let of_file = || (!is_automatic(&stem)).then(|| stem.into_owned());
        self.label.clone().or_else(of_file)
    }

    /// Returns whether the server is smbench's own, with files in memory. Such a result is a
    /// demonstration: it stays out of reports on other servers.
    #[must_use]
    pub fn is_of_built_in_server(&self) -> bool {
        let server = &self.server;
        let mut notes = server.notes.iter();
        server.place == ServerLocation::Embedded || notes.any(|note| note == BUILT_IN_NOTE)
    }

    /// Notes that the document is of this part of up to `clients` clients.
    pub fn set_part(&mut self, part: ClientPart, clients: u32) {
        self.plan.generator.client_range = part.text(clients);
    }

    /// Adds what a search has found. Its probes are no curve.
    pub fn set_find(&mut self, find: FindDoc) {
        self.find = Some(find);
        self.curve = None;
    }

    /// Returns the number of CPUs that could generate the load, over all machines; `None` if it is
    /// not known.
    #[must_use]
    pub fn generator_cpus(&self) -> Option<u32> {
        let of = |machine: Option<&MachineDoc>| machine?.cpus;
        let own = of(self.machine.as_ref())?;
        if self.hosts.is_empty() {
            return Some(own);
        }
        let mut cpus = self.hosts.iter().map(|host| of(host.machine.as_ref()));
        cpus.try_fold(0_u32, |sum, cpus| Some(sum.saturating_add(cpus?)))
    }

    /// Returns whether any load point got as far as its window.
    #[must_use]
    pub fn is_measured(&self) -> bool {
        let is_measured = |point: &LoadPointDoc| {
            // Sessions that stand are a result, too.
            point.window_s > 0.0 || point.setup.attempts.is_some()
        };
        self.load_points.iter().any(is_measured)
    }

    /// Returns the document as indented JSON with a final newline.
    #[must_use]
    pub fn to_json(&self) -> String {
        to_json(self)
    }

    /// Writes the document and replaces an older one atomically.
    ///
    /// # Errors
    ///
    /// When the file, or the temporary file next to it, cannot be written.
    pub fn save(&self, path: &Path) -> Result<(), SaveError> {
        save(self, path)
    }

    /// Writes the document to the first of `paths` that does not exist yet, and
    /// returns that path. Replaces no file. All paths must be in one directory.
    ///
    /// # Errors
    ///
    /// The errors of [`RunDoc::save`]; also when all paths exist.
    pub fn save_under_free_name(
        &self,
        paths: impl IntoIterator<Item = PathBuf>,
    ) -> Result<PathBuf, SaveError> {
        save_under_free_name(self, paths)
    }

    /// Reads a document that this build or an older one wrote.
    ///
    /// # Errors
    ///
    /// One line per [`LoadError`]. No content of a file causes a panic.
    pub fn load(path: &Path) -> Result<Self, LoadError> {
        Self::parse(&read(path)?, path)
    }

    /// Reads the document in `bytes`; messages name `path`.
    ///
    /// # Errors
    ///
    /// The errors of [`RunDoc::load`], except those of reading the file.
    pub fn parse(bytes: &[u8], path: &Path) -> Result<Self, LoadError> {
        let doc = parse::<Self>(bytes, path)?.with_purpose();
        doc.load_points
            .iter()
            .try_for_each(consistent)
            .map_err(|detail| malformed(path, &detail))?;
        let is_grown = doc.peak.is_none() && doc.plan.stages.is_some();
        Ok(if is_grown { doc.completed() } else { doc })
    }

    /// Notes in each stage what the stages of the plan are for.
    pub(crate) fn with_purpose(mut self) -> Self {
        let purpose = self.plan.stages_purpose();
        let stages = self.load_points.iter_mut();
        for stage in stages.filter_map(|point| point.stage.as_mut()) {
            stage.purpose = purpose;
        }
        self
    }
}

/// Reads the JSON of a document, as [`RunDoc::load`] reads a file.
impl FromStr for RunDoc {
    type Err = LoadError;

    fn from_str(json: &str) -> Result<Self, LoadError> {
        Self::parse(json.as_bytes(), Path::new("the text"))
    }
}

/// The way in which a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum OutcomeDoc {
    /// Every planned load point was run.
    Complete,
    /// Interrupted by the user.
    Interrupted,
    /// Stopped because of the server or the network.
    Aborted,
}

/// The valid passes at one number of clients.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct RepeatsDoc {
    /// Clients of each pass.
    pub clients: u32,
    /// Number of passes, 2 or more.
    pub passes: u32,
    /// Throughput in Mbit/s (10^6 bits).
    pub throughput_mbps: Estimate,
    /// Operations per second.
    pub ops_per_s: Estimate,
    /// Mean of the passes' mean response times in nanoseconds; `null` if a pass had
    /// no operation.
    pub latency_mean_ns: Option<Estimate>,
    /// Mean of the passes' 99th percentiles. It is not the percentile over the
    /// operations of all passes, which only pooled histograms give.
    pub latency_p99_ns: Option<Estimate>,
    /// Mean response time in nanoseconds over the operations of all passes: that of the
    /// tables. Absent, like the next key, if a pass had no operation, and in documents of
    /// releases that did not keep it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latency_mean_pooled_ns: Option<PooledDoc>,
    /// 99th percentile of the response time over the operations of all passes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latency_p99_pooled_ns: Option<PooledDoc>,
}

/// A value over the operations of all passes, and how far the passes lie apart.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct PooledDoc {
    /// The value.
    pub value: f64,
    /// Half the width of its 95 % confidence interval over passes, by the jackknife.
    pub ci95: f64,
    /// The lowest value of a pass.
    pub lowest: f64,
    /// The highest value of a pass.
    pub highest: f64,
}

impl PooledDoc {
    /// Converts a quantity of several passes; `None` for others.
    pub(crate) fn of(measured: &Measured) -> Option<Self> {
        let spread = measured.spread?;
        Some(Self {
            value: measured.value,
            ci95: measured.ci95()?,
            lowest: spread.lowest,
            highest: spread.highest,
        })
    }

    /// Returns what is printed beside the value of this many passes.
    pub(crate) fn interval(&self, passes: u32) -> PassInterval {
        let ends = Some((self.lowest, self.highest));
        PassInterval::of(self.value, self.ci95, Some(passes), ends)
    }
}

/// The highest point of the curve averaged over the valid passes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct PeakDoc {
    /// Mean over the valid passes, in Mbit/s. If the load points moved less than 100 bytes per
    /// operation, the peak is that of operations per second.
    pub throughput_mbps: f64,
    /// Operations per second, mean over the valid passes. Absent in documents of
    /// releases that only read and wrote.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ops_per_s: Option<f64>,
    /// Number of clients at the peak.
    pub clients: u32,
    /// Mean response time at the peak, over all operations of the valid passes.
    pub latency_mean_ns: f64,
    /// 99th percentile of the response time at the peak.
    pub latency_p99_ns: u64,
    /// Number of valid passes that were averaged at the peak.
    pub passes: u32,
    /// Clients of the last load point above the peak at which the curve still
    /// reaches 95 % of it, without falling below in between.
    pub within_95_percent_clients: u32,
    /// Clients of the first load point from which the curve stays within 95 % of
    /// the peak, up to the peak.
    pub within_95_percent_from_clients: u32,
}

/// Checks that each histogram has as many values as its count claims, because
/// pooling uses the histograms.
fn consistent(point: &LoadPointDoc) -> Result<(), String> {
    let differs = point.ops.iter().find(|(_, op)| op.hdr.count() != op.count);
    differs.map_or(Ok(()), |(name, op)| {
        Err(format!(
            "load point of {}, pass {}: {name} has count {} but a histogram of {}",
            point.load(),
            point.repeat,
            op.count,
            op.hdr.count()
        ))
    })
}
