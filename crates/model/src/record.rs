//! The measurements of a run, before they are summarised.
//!
//! A [`Recorder`] has a fixed size. A worker records into it during one interval.
//! At the end of the interval the recorders of all workers are merged. The result
//! becomes a line of the [`Series`] and is added to the load point's [`Tally`].
//! Merging histograms is exact. Percentiles over workers and intervals are
//! therefore percentiles over operations, never means of means.

mod caching;
mod churn;
mod counters;
mod events;
mod fairness;
mod frames;
mod health;
mod host;
mod in_flight;
mod incidents;
mod load_point;
mod losses;
mod noted;
mod op;
mod packed;
mod punctuality;
mod recorder;
mod recycle;
mod refused;
mod run;
mod series;
mod stage;
mod tally;
mod tcp;
pub mod transfer;
mod verification;

pub use smbench_protocol::{Logon, NtStatus};

pub use caching::CachingRecord;
pub use churn::ChurnRecord;
pub use counters::{CountersRecord, ServerCalls, ServerCounters, ServerMemory, ServerOpen};
pub use events::{EVENTS_MAX, EventKind, LoadEvent, LoadEvents};
pub use fairness::{Fairness, FairnessFigures};
pub use frames::FrameTally;
pub use health::{GeneratorRecord, LatencyNoise, WorkerRecord, lateness_histogram};
pub use host::{HostClock, HostFacts, HostRecord};
pub use in_flight::ClosingWaits;
pub use load_point::{
    AttemptsAt, ClientUsage, Dropout, LoadPointRecord, PopulationRecord, SETUP_CAUSES_MAX,
    SetupAttempts, SetupPhase, SetupRecord,
};
pub use losses::{DataFaults, EventLosses, Losses, Reclaimed, WrongPlace};
pub use noted::NotedRecord;
pub use op::{HIGHEST_LATENCY_NS, LATENCY_DIGITS, OpRecord, Times, buckets, latency_histogram};
pub use packed::KeptLatencies;
pub use punctuality::Punctuality;
pub use recorder::{OperationFailure, Recorder, ReplayDifference};
pub use recycle::RecycleBin;
pub use refused::RefusedDirectories;
pub use run::{Origin, Outcome, RunRecord, ServerFacts, SplitSizes, add_clause};
pub use series::{IntervalSummary, Series, SeriesDetail};
pub use stage::{PopulationStage, StageMemory, StageRecord};
pub use tally::{OpTotals, Phase, Tally};
pub use tcp::{TcpRecord, TcpRtt, TcpUse};
pub use verification::{FinalRead, Verification};
