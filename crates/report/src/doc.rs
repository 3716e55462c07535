//! The result document: versioned JSON that other programs read.
//!
//! Invariants:
//!
//! - Keys may be added. No key is renamed or gets another unit while
//!   [`SCHEMA_VERSION`] stays.
//! - Every number is finite.
//! - A value that was not measured is `null`, never zero.
//! - A document never contains a secret.
//!
//! The types define the format, so they mirror the types of the model. Only plain
//! enums with the same names are the model's own. Not here: values derived from
//! several load points (see [`crate::curve`]).

mod caching;
mod calibration;
mod churn;
mod condition;
mod counters;
mod curve;
mod durability;
mod event;
mod file;
mod fileio;
mod find;
mod generator;
mod growing;
mod host;
mod in_blackout;
mod machine;
mod named;
mod offered;
mod operation;
mod pacing;
mod pattern;
mod plan;
mod plan_sessions;
mod point;
mod population;
mod run;
mod server;
mod server_cpu;
mod setup;
mod soak;
mod stage;
mod statistics;
mod stream;
mod tcp;
mod tool;
mod workload;

pub use caching::{CachingDoc, ListingsDoc};
pub use calibration::{CalibrationDoc, CeilingDoc, CeilingTarget, SysbenchDoc, SysbenchTestDoc};
pub use churn::ChurnDoc;
pub use condition::{ConditionDoc, ConditionOutcome};
pub use counters::{CallCountersDoc, CommandCountersDoc, ServerCountersDoc, ServerMemoryDoc};
pub use curve::{CurveDoc, CurvePointDoc};
pub(crate) use durability::{DurabilityRemark, NamedRun};
pub use durability::{FactSource, WriteDoc, WritePolicyDoc};
pub use event::{EventDoc, LinkDoc};
pub use file::{LoadError, SaveError};
pub(crate) use file::{parse, read, save, to_json};
pub use fileio::FileioDoc;
pub use find::{
    ContradictionDoc, FindDoc, FindEnd, FindKind, FindPassDoc, LoadCurveDoc, LoadCurvePointDoc,
    ProbeDoc, ProbeOutcome,
};
pub(crate) use generator::share_of_time;
pub use generator::{ClientDoc, GeneratorDoc, LatenessDoc, WorkerDoc};
pub use growing::GrowingDoc;
pub use host::{HostClockDoc, HostDoc, HostPointDoc};
pub use in_blackout::InBlackoutDoc;
pub use machine::MachineDoc;
pub use named::Named;
pub use offered::OfferedDoc;
pub use operation::{DifferenceDoc, FailureDoc, OpDoc, RefusedDirectoryDoc, ReplayedDoc};
pub(crate) use operation::{is_asked_for, is_of_window};
pub use pacing::LoopDoc;
pub use pattern::PatternDoc;
pub use plan::{ArrivalsDoc, DriverDoc, LimitsDoc, PlanDoc, PlanGeneratorDoc};
pub use plan_sessions::PlanSessionsDoc;
pub use point::LoadPointDoc;
pub(crate) use point::{NOTHING_COMPLETED, OldReason, STALL_NS_MIN};
pub use population::{PopulationDoc, PopulationPointDoc, ReachedDoc, UnitDoc};
pub use run::{OutcomeDoc, PeakDoc, PooledDoc, RepeatsDoc, RunDoc};
pub(crate) use server::BUILT_IN;
pub use server::{
    BUILT_IN_NOTE, BuildDoc, FlushDoc, GroundDoc, ServerDoc, ServerLocation, SessionTermsDoc,
    StorageDoc, TreeOriginDoc,
};
pub use server_cpu::ServerCpuDoc;
pub use setup::{AttemptsAtDoc, AttemptsDoc, SetupDoc, SetupFailureDoc};
pub use soak::{SoakDoc, StageMemoryDoc, TrendDoc};
pub use stage::{StageDoc, StageUnitDoc};
pub use statistics::{BufferedDoc, ColumnsDoc, ConcurrencyDoc, FairnessDoc, SeriesDoc};
pub use stream::{StreamDoc, StreamsDoc};
pub use tcp::{TcpCountersDoc, TcpDoc, TcpRttDoc};
pub use tool::{SCHEMA_VERSION, ToolDoc};
pub use workload::{OperationDoc, RecordedTimesDoc, ReplayDoc, SizeDoc, TreeDoc, WorkloadDoc};
