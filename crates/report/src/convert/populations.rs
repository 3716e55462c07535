//! The populations of a run: the part of each in a load point, and what holds for all of them.

use itertools::Itertools as _;
use smbench_model::contents::Verify;
use smbench_model::kind::Direction;
use smbench_model::load::stream::FrameStream;
use smbench_model::plan::Plan;
use smbench_model::record::{
    Dropout, LoadPointRecord, PopulationRecord, Punctuality, RunRecord, Series, ServerFacts,
    SplitSizes, Tally,
};
use smbench_model::sessions::Caching;

use super::load::{is_at_rate, offered};
use super::operations::{by_kind, caching, op};
use super::{throughput_mbps, units};
use crate::doc::{
    FailureDoc, LoadPointDoc, LoopDoc, OfferedDoc, PopulationPointDoc, ReachedDoc, ReplayedDoc,
    SeriesDoc, SessionTermsDoc, StreamsDoc,
};
use crate::latency::LatencyDoc;
use crate::statistics::per;

/// Returns what the sessions of each population agreed to, unless all agreed to the same and take
/// the same requests where they split operations.
pub(super) fn sessions(record: &RunRecord) -> Vec<SessionTermsDoc> {
    let all = || record.server.populations.iter();
    let terms = |of: &ServerFacts| (of.logon, of.dialect, of.signing, of.encryption);
    let are_split_alike = is_split_alike(record, Direction::Read, |sizes| sizes.read)
        && is_split_alike(record, Direction::Write, |sizes| sizes.write);
    if all().map(terms).all_equal() && are_split_alike {
        return Vec::new();
    }
    let populations = record.plan.work.populations.iter().zip(all());
    let sessions = populations.map(|(population, facts)| {
        let name = population.name.as_deref().unwrap_or_default();
        SessionTermsDoc::of(name, facts)
    });
    sessions.collect()
}

/// Returns whether all populations split operations of this direction into the same requests. One
/// whose operations all fit such a request splits none.
fn is_split_alike(
    record: &RunRecord,
    direction: Direction,
    of: fn(SplitSizes) -> Option<u32>,
) -> bool {
    let populations = record.server.populations.iter();
    let sizes: Vec<_> = populations.map(|facts| facts.split.and_then(of)).collect();
    let Some(least) = sizes.iter().flatten().copied().min() else {
        return true;
    };
    let mut parts = sizes.iter().zip(record.plan.alone());
    parts.all(|(size, plan)| match size {
        Some(size) => *size == least,
        None => plan.largest_of(direction) <= least,
    })
}

/// The plans of the populations of a run, each alone.
pub(super) struct PopulationPlans(Vec<Plan>);

impl PopulationPlans {
    pub(super) fn of(plan: &Plan) -> Self {
        Self(plan.alone().collect())
    }

    /// Returns the event that starts operations. If one population sends as fast as it is
    /// answered, the load as a whole depends on the server.
    pub(super) fn pacing(&self) -> LoopDoc {
        let loops = || self.0.iter().map(|plan| LoopDoc::from(plan.only().load));
        match loops().next() {
            Some(first) if loops().all(|one| one == first) => first,
            _ if loops().any(|one| one == LoopDoc::Closed) => LoopDoc::Closed,
            _ => LoopDoc::Rate,
        }
    }

    /// Returns the caching that opens asked for; that of directories before others.
    pub(super) fn caching(&self) -> Caching {
        let asked = || self.0.iter().map(|plan| plan.sessions.caching);
        let of_directories = |caching: &Caching| matches!(caching, Caching::DirectoryLease(_));
        let any = || asked().find(|caching| *caching != Caching::None);
        asked()
            .find(of_directories)
            .or_else(any)
            .unwrap_or_default()
    }

    pub(super) fn is_verified(&self) -> bool {
        let mut plans = self.0.iter();
        plans.any(|plan| plan.only().verify == Verify::ReadBack)
    }

    /// Returns how many operations of all replays did not go as recorded.
    pub(super) fn replayed(&self, point: &LoadPointRecord) -> Option<ReplayedDoc> {
        let parts = self.parts(point).into_iter();
        let replays = parts.filter_map(|part| part.replayed());
        replays.reduce(|one, other| ReplayedDoc {
            operations: one.operations + other.operations,
            differing: one.differing + other.differing,
        })
    }

    /// Returns whether some operations are due by the clock.
    pub(super) fn is_paced(&self) -> bool {
        self.0.iter().any(|plan| plan.only().load.is_paced())
    }

    /// Returns the frames of all streams; `None` if no population has any.
    pub(super) fn streams(&self, point: &LoadPointRecord) -> Option<StreamsDoc> {
        let mut plans = self.0.iter();
        let has_streams = plans.any(|plan| plan.only().load.stream().is_some());
        frames(point, point.punctuality).filter(|_| has_streams)
    }

    /// Returns the operations over time, with the buffers of streams if all clients are such.
    pub(super) fn series(&self, point: &LoadPointRecord) -> SeriesDoc {
        let full_ns = match &self.0[..] {
            [plan] => full_ns(plan),
            _ => None,
        };
        SeriesDoc::from(&point.series).with_buffers(full_ns)
    }

    /// Returns what was due by the clock. Where populations have a rate, it is theirs: a think
    /// time makes operations due as well, but asks for no number of them.
    pub(super) fn offered(&self, point: &LoadPointRecord) -> Option<OfferedDoc> {
        let parts = self.parts(point);
        if let [part] = &parts[..] {
            return part.offered();
        }
        let has_rate = |part: &PopulationPart<'_>| is_at_rate(part.plan);
        let at_rates = parts.iter().any(has_rate);
        let of = parts.iter().filter(|part| !at_rates || has_rate(part));
        let of = of.filter_map(PopulationPart::offered);
        of.reduce(|one, other| OfferedDoc {
            operations: one.operations + other.operations,
            ops_per_s: one.ops_per_s + other.ops_per_s,
            answered: one
                .answered
                .zip(other.answered)
                .map(|(one, other)| one + other),
            // A rate that is missed is not made up for by another.
            rate_missed: one.rate_missed.max(other.rate_missed),
            late: one.late + other.late,
            dropped: one.dropped + other.dropped,
            unanswered: one.unanswered + other.unanswered,
            unanswered_ns_max: one.unanswered_ns_max.max(other.unanswered_ns_max),
            delay_ns_max: one.delay_ns_max.max(other.delay_ns_max),
        })
    }

    /// Judges a load point by the limits of its units, if it counts units.
    pub(super) fn judged(&self, point: LoadPointDoc) -> LoadPointDoc {
        let unit = self.0.first().and_then(|plan| plan.work.unit.as_ref());
        match unit {
            Some(unit) => units::judged(unit, point),
            None => point,
        }
    }

    /// Returns the parts of the named populations in a load point.
    pub(super) fn of_point(&self, point: &LoadPointRecord) -> Vec<PopulationPointDoc> {
        let parts = self.parts(point).into_iter();
        let named = parts.filter(|part| part.plan.only().name.is_some());
        named.map(|part| part.doc()).collect()
    }

    fn parts<'a>(&'a self, point: &'a LoadPointRecord) -> Vec<PopulationPart<'a>> {
        let window_s = point.window.as_secs_f64();
        if let [plan] = &self.0[..] {
            // The load point is the part.
            return vec![PopulationPart {
                plan,
                window_s,
                clients: point.clients,
                ops: &point.ops,
                series: &point.series,
                served: point.clients_served,
                dropouts: &point.dropouts,
                punctuality: point.punctuality,
                streams: self.streams(point),
            }];
        }
        let parts = self.0.iter().zip(&point.populations);
        let part = |(plan, record): (&'a Plan, &'a PopulationRecord)| PopulationPart {
            plan,
            window_s,
            clients: record.clients,
            ops: &record.ops,
            series: &record.series,
            served: record.clients_served,
            dropouts: &record.dropouts,
            punctuality: record.punctuality,
            streams: plan
                .only()
                .load
                .stream()
                .and_then(|_| frames(point, record.punctuality)),
        };
        parts.map(part).collect()
    }
}

/// Returns the frames of streams. Those of a stage are known when the load has ended.
fn frames(point: &LoadPointRecord, of: Punctuality) -> Option<StreamsDoc> {
    let is_known = point.stage.is_none() || of.frames.frames > 0;
    is_known.then(|| of.frames.into())
}

/// Returns how much is in a full buffer of the only population; `None` unless it has streams.
fn full_ns(plan: &Plan) -> Option<f64> {
    let stream = plan.only().load.stream();
    stream.map(FrameStream::buffered_ns)
}

/// What a population did in a load point.
struct PopulationPart<'a> {
    plan: &'a Plan,
    window_s: f64,
    clients: u32,
    ops: &'a Tally,
    series: &'a Series,
    served: u32,
    dropouts: &'a [Dropout],
    punctuality: Punctuality,
    streams: Option<StreamsDoc>,
}

impl PopulationPart<'_> {
    fn offered(&self) -> Option<OfferedDoc> {
        let is_paced = self.plan.only().load.is_paced();
        is_paced.then(|| {
            let service = self.ops.window_all().service;
            offered(self.plan, self.punctuality, &service, self.window_s)
        })
    }

    /// Returns what its clients reached of their rate, if load points count units.
    fn reached(&self) -> Option<ReachedDoc> {
        self.plan.work.unit.as_ref()?;
        let (rate, _) = self.plan.only().load.rate()?;
        let Punctuality { due, answered, .. } = self.punctuality;
        // A stage has no such figure, so that it is not judged.
        let slowest_ppm = self.punctuality.slowest_ppm?;
        Some(ReachedDoc {
            requested_ops_per_s: rate.of_client(self.clients),
            mean_percent: per(answered as f64 * 100.0, due as f64),
            slowest_percent: f64::from(slowest_ppm) / 1e4,
        })
    }

    fn replayed(&self) -> Option<ReplayedDoc> {
        let replay = self.plan.only().workload.replay();
        replay.map(|_| ReplayedDoc {
            operations: self.ops.carried_out(),
            differing: self.ops.differing(),
        })
    }

    fn doc(&self) -> PopulationPointDoc {
        let ops = self.ops;
        let all = ops.window_all();
        let bytes_read = ops.window_bytes(Direction::Read);
        let bytes_written = ops.window_bytes(Direction::Write);
        let asked = self.plan.sessions.caching;
        let only = self.plan.only();
        PopulationPointDoc {
            name: only.name.clone().unwrap_or_default(),
            clients: self.clients,
            throughput_mbps: throughput_mbps(bytes_read + bytes_written, self.window_s),
            ops_per_s: per(all.count() as f64, self.window_s),
            bytes_read,
            bytes_written,
            errors: ops.errors(),
            latency_ns: LatencyDoc::of(all.latency()),
            ops: by_kind(ops, |kind| {
                op(&ops.window(kind), ops.whole(kind), ops.in_flight(kind))
            }),
            whole: by_kind(ops, |kind| ops.whole(kind)),
            failures: FailureDoc::all(ops.failures()),
            clients_served: self.served,
            dropouts: self.dropouts.to_vec(),
            offered: self.offered(),
            streams: self.streams,
            reached: self.reached(),
            replayed: self.replayed(),
            caching: (asked != Caching::None).then(|| caching(ops.caching(), asked)),
            verification: (only.verify == Verify::ReadBack).then(|| *ops.verification()),
            series: SeriesDoc::from(self.series).with_buffers(full_ns(self.plan)),
        }
    }
}
