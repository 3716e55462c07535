//! What populations and their workloads add to a digest. Not here: further fields, which are
//! declared with the parts of a plan.

use serde::Serialize;

use super::Population;
use crate::access::{Access, AccessLine, SizeWeight};
use crate::action::WeightedAction;
use crate::digest::Digest;
use crate::event::PlannedEvent;
use crate::fileio::{Fileio, Flushing, RequestSpread, TestMode};
use crate::files::FileSet;
use crate::load::stream::FrameStream;
use crate::load::{LoadModel, Rate, ThinkTime};
use crate::sessions::SessionOptions;
use crate::stages::Stages;
use crate::workload::{Replay, Requests, Workload};

/// Adds the fields of all populations.
pub(super) fn add_populations(populations: &[Population], digest: &mut Digest) {
    if let [population] = populations {
        // Digests of plans with one population are older than populations. The sessions of the
        // plan are its own, and add these options.
        let population = Population {
            caching: None,
            session: None,
            credits: None,
            ..population.clone()
        };
        return population.add_to(digest);
    }
    let digests = populations.iter().map(|population| {
        let mut digest = Digest::default();
        population.add_to(&mut digest);
        digest.hash()
    });
    digest.add("populations", &digests.collect::<Vec<_>>());
}

/// Returns the hash of the options of a population's sessions.
pub(super) fn hashed(options: &SessionOptions) -> String {
    let mut digest = Digest::default();
    options.add_to(&mut digest);
    digest.hash()
}

/// Returns the stages of a population, after the number of clients that it begins with.
pub(super) fn line(stages: &Stages) -> String {
    format!("{},{stages}", stages.begin)
}

/// Returns events as written, if there are any.
pub(super) fn texts(events: &[PlannedEvent]) -> Option<Vec<String>> {
    let texts = || events.iter().map(PlannedEvent::to_string).collect();
    (!events.is_empty()).then(texts)
}

/// Returns the rates of the load points, if there are several.
pub(super) fn several(rates: &[Rate]) -> Option<Vec<String>> {
    (!rates.is_empty()).then(|| rates.iter().map(Rate::to_string).collect())
}

/// A workload, in the fields that digests have always contained. A field that does
/// not apply to a form of workload is left out, or `null` where it always was.
#[derive(Serialize)]
pub(super) struct Requested<'a> {
    sizes: &'a [SizeWeight],
    #[serde(skip_serializing_if = "Option::is_none")]
    read_percent: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    readers_percent: Option<f64>,
    access: Access,
    flush_every_writes: Option<u32>,
    files: &'a FileSet,
    #[serde(skip_serializing_if = "Option::is_none")]
    operations: Option<&'a [WeightedAction]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pattern: Option<&'a [AccessLine]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    trace: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    loops: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    speed: Option<f64>,
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
    spread: Option<RequestSpread>,
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
            files: &workload.files,
            operations,
            pattern: workload.pattern(),
            trace: workload.replay().map(|replay| replay.recording.digest()),
            loops: workload.replay().and_then(|replay| replay.loops),
            speed: workload.replay().and_then(Replay::changed_speed),
            fileio: workload.fileio().map(Tested::from),
        }
    }
}

/// Describes a load model, unless it is the default.
pub(super) fn describe(model: &LoadModel) -> Option<String> {
    match model {
        LoadModel::Closed { think } => think.map(|ThinkTime { mean, spacing }| {
            let kind = spacing.of_think_times();
            format!("think {kind} {} ns", mean.as_nanos())
        }),
        LoadModel::Rate { rate, arrivals } => {
            Some(format!("rate {} {rate}", arrivals.of_arrivals()))
        }
        LoadModel::Recorded => Some("as recorded".to_owned()),
        LoadModel::Stream(stream) => {
            let FrameStream {
                frame_bytes: _,
                frames_per_s,
                read_ahead,
                layout: _,
                start,
            } = stream;
            Some(format!("stream {frames_per_s} {read_ahead} {start}"))
        }
    }
}
