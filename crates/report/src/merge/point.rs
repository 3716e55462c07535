//! A load point of all parts.

use std::time::Duration;

use hdrhistogram::Histogram;
use smbench_model::load::RateScope;
use smbench_model::record::{Dropout, Fairness, FairnessFigures, Series, SetupRecord};

use super::error::MergeError;
use super::machines::{ClientWaits, client, generator, latency_noise, server_cpu};
use super::operations::{
    caching, differed, failed, faults, ops, refused, replayed, verification, whole, wrong_data,
};
use super::part::Part;
use super::part_point::PartPoint;
use super::window::{WindowEnd, objection};
use super::{hosts, series};
use crate::convert::{concurrency, misses_rate, opened, setup, stall, steady, throughput_mbps};
use crate::curve::total;
use crate::doc::{
    ChurnDoc, EventDoc, FairnessDoc, InBlackoutDoc, LinkDoc, LoadPointDoc, Named, OfferedDoc,
    OpDoc, PlanDoc, SeriesDoc, ServerCountersDoc, StreamDoc, StreamsDoc, TcpDoc,
};
use crate::latency::{LatencyDoc, pool};
use crate::statistics::per;

impl PartPoint<'_> {
    /// Finds a contradiction in what is pooled.
    fn check(&self) -> Result<(), MergeError> {
        let point = self.point;
        let plan = &self.part.doc.plan;
        let whole = plan.load_points.iter().cycle().nth(self.at);
        let whole = whole.copied().unwrap_or(self.part.range.of);
        let carried = self.part.range.clients(whole).len() as u32;
        if point.clients != carried {
            return Err(self.damaged(&format!(
                "it has {} clients, and plan.client_range {carried}",
                point.clients
            )));
        }
        for name in point
            .ops
            .keys()
            .chain(point.whole.keys())
            .chain(self.series.ops.keys())
        {
            self.kind(name)?;
        }
        let other_count = point
            .ops
            .iter()
            .find(|(_, op)| op.response().count() != op.count);
        if let Some((name, op)) = other_count {
            return Err(self.damaged(&format!(
                "{name} has count {} but response times of {}",
                op.count,
                op.response().count()
            )));
        }
        if self.sessions.count() != point.setup.sessions {
            return Err(self.damaged("setup.hdr does not have all of setup.sessions"));
        }
        let jain_index = point.fairness.map_or(1.0, |fairness| fairness.jain_index);
        if jain_index <= 0.0 {
            return Err(self.damaged("fairness.jain_index is not above 0"));
        }
        let contradiction = series::contradiction(self.series);
        contradiction.map_or(Ok(()), |detail| Err(self.damaged(&detail)))
    }

    /// Returns how evenly the clients of the part were served. Without the figures, none of them
    /// completed an operation.
    fn fairness(&self) -> Fairness {
        let clients = self.point.clients;
        let figures = self.point.fairness.map(|of| FairnessFigures {
            min: of.min,
            max: of.max,
            mean: of.mean,
            jain_index: of.jain_index,
            busy_mean_s: of.busy_s_mean.unwrap_or(0.0),
            busy_sd_s: of.busy_s_sd.unwrap_or(0.0),
        });
        Fairness::restored(clients, &figures.unwrap_or_default())
    }
}

/// Returns the load point with this index of all parts.
pub(super) fn measured(parts: &[Part], at: usize) -> Result<Vec<PartPoint<'_>>, MergeError> {
    let of = |part| {
        let point = part_point(part, at)?;
        point.check()?;
        Ok(point)
    };
    parts.iter().map(of).collect()
}

fn part_point(part: &Part, at: usize) -> Result<PartPoint<'_>, MergeError> {
    let damaged = |detail: String| MergeError::damaged(&part.path, detail);
    let missing = |key: &str| damaged(format!("load_points[{at}].{key} is missing"));
    let point = part
        .doc
        .load_points
        .get(at)
        .ok_or_else(|| damaged(format!("load_points[{at}] is missing")))?;
    let opened = point
        .window_opened
        .as_ref()
        .ok_or_else(|| missing("window_opened"))?;
    let opened = humantime::parse_rfc3339(opened)
        .map_err(|_| damaged(format!("load_points[{at}].window_opened is no time")))?;
    Ok(PartPoint {
        name: &part.name,
        path: &part.path,
        at,
        part,
        point,
        opened,
        series: point.series.as_ref().ok_or_else(|| missing("series"))?,
        generator: point
            .generator
            .as_ref()
            .ok_or_else(|| missing("generator"))?,
        concurrency: point.concurrency.ok_or_else(|| missing("concurrency"))?,
        sessions: point
            .setup
            .hdr
            .as_ref()
            .ok_or_else(|| missing("setup.hdr"))?,
    })
}

/// Returns how long the request took that shows a stall of a part, in nanoseconds.
fn stalled(parts: &[PartPoint<'_>], longest_ns: u64) -> Option<u64> {
    let took_ns = parts.iter().filter_map(|part| part.point.stalled_ns).max();
    stall(took_ns.unwrap_or(0), longest_ns)
}

/// Describes a series, with the buffers of streams if the parts have any.
fn with_buffers(parts: &[PartPoint<'_>], series: &Series) -> SeriesDoc {
    let stream = parts[0].part.doc.plan.stream.as_ref();
    SeriesDoc::from(series).with_buffers(stream.map(StreamDoc::full_ns))
}

/// Joins a load point of all parts.
pub(super) fn merged(parts: &[PartPoint<'_>]) -> Result<LoadPointDoc, MergeError> {
    let sum = |of: fn(&LoadPointDoc) -> u64| total(parts.iter().map(|part| of(part.point)));
    let asked_for = || parts.iter().flat_map(|part| part.point.asked_for());
    let service = pool(asked_for().map(|op| &op.hdr));
    let window_s = longest(parts, |point| Some(point.window_s)).unwrap_or(0.0);
    let clients = count(parts, |point| Some(point.clients)).unwrap_or(0);
    let bytes_read = sum(|point| point.bytes_read);
    let bytes_written = sum(|point| point.bytes_written);
    let mbps = throughput_mbps(bytes_read.saturating_add(bytes_written), window_s);
    let ops_per_s = per(service.len() as f64, window_s);
    let stall = stalled(parts, service.max());
    let invalid_reason = invalid_reason(parts, window_end(parts));
    let waits = client_waits(parts, clients, window_s);
    let generator = generator(parts, &waits);
    let series = series::merged(parts, duration(parts, parts[0].series.interval_s)?);
    Ok(LoadPointDoc {
        stage: parts[0].point.stage.clone(),
        memory: None,
        clients,
        rate: rate(parts),
        repeat: parts[0].point.repeat,
        window_opened: parts.iter().map(|part| part.opened).min().map(opened),
        window_s,
        valid: invalid_reason.is_none(),
        invalid_reason,
        stalled: Some(stall.is_some()),
        stalled_ns: stall,
        throughput_mbps: mbps,
        ops_per_s,
        bytes_read,
        bytes_written,
        errors: sum(|point| point.errors),
        latency_ns: LatencyDoc::of(&pool(asked_for().map(OpDoc::response))),
        ops: ops(parts),
        // Parts of several populations cannot be run.
        populations: Vec::new(),
        units: None,
        ops_before: before(parts),
        whole: whole(parts),
        failures: failed(parts)?,
        refused_directories: refused(parts),
        differences: differed(parts)?,
        replayed: replayed(parts),
        clients_served: count(parts, |point| point.clients_served),
        dropouts: dropouts(parts),
        events: EventDoc::merged(parts.iter().map(|part| &part.point.events[..])),
        in_blackout: InBlackoutDoc::merged(&parts.iter().map(|part| part.point)),
        churn: churn(parts),
        links: links(parts),
        links_left_out: links_left_out(parts),
        client: client(parts, service.len()),
        server_cpu: server_cpu(parts, mbps, ops_per_s, window_s),
        server_counters: server_counters(parts),
        tcp: tcp(parts),
        generator_limited: Some(generator.limited),
        latency_noise_ns: latency_noise(parts),
        generator: Some(generator),
        hosts: hosts::of_point(parts, service.len()),
        setup: setup(&set_up(parts)?),
        steady: Some(steady(&series, duration(parts, window_s)?)),
        series: Some(with_buffers(parts, &series)),
        drain_s: longest(parts, |point| point.drain_s),
        final_flush_s: longest(parts, |point| point.final_flush_s),
        fairness: fairness(parts),
        concurrency: Some(concurrency(in_flight_s(parts), &service, window_s)),
        offered: offered(parts, &service, window_s),
        streams: StreamsDoc::of_all(parts.iter().filter_map(|part| part.point.streams)),
        unanswered_ns_max: unanswered_ns_max(parts),
        caching: caching(parts),
        verification: verification(parts),
        verify: faults(parts),
        wrong_data: wrong_data(parts),
        credit_starved_s: waits.credit_starved_s,
        held_back_s: waits.held_back_s,
        // Each part has its own, and its own document.
        before_point: None,
        after_point: None,
        quiet: None,
    })
}

/// Adds up how long clients waited in all parts.
fn client_waits(parts: &[PartPoint<'_>], clients: u32, window_s: f64) -> ClientWaits {
    let seconds =
        |of: fn(&LoadPointDoc) -> f64| parts.iter().map(|part| of(part.point)).sum::<f64>();
    ClientWaits {
        clients,
        window_s,
        credit_starved_s: seconds(|point| point.credit_starved_s),
        held_back_s: seconds(|point| point.held_back_s),
    }
}

/// Returns what ends the windows of the parts.
fn window_end(parts: &[PartPoint<'_>]) -> WindowEnd {
    let mut plans = parts.iter().map(|part| &part.part.doc.plan);
    if plans.all(PlanDoc::is_until_replayed) {
        WindowEnd::Clients
    } else {
        WindowEnd::Clock
    }
}

/// Adds up the time in flight. That of a part is within its own window.
fn in_flight_s(parts: &[PartPoint<'_>]) -> f64 {
    let of_part = |part: &PartPoint<'_>| part.concurrency.in_flight_mean * part.point.window_s;
    parts.iter().map(of_part).sum()
}

/// Joins what TCP did on the connections of all parts.
fn tcp(parts: &[PartPoint<'_>]) -> Option<TcpDoc> {
    let of_parts: Vec<_> = parts.iter().map(|part| part.point.tcp.as_ref()).collect();
    TcpDoc::joined(&of_parts)
}

/// Joins the server's counters that the parts have read.
fn server_counters(parts: &[PartPoint<'_>]) -> Option<ServerCountersDoc> {
    let counters = parts.iter().map(|part| part.point.server_counters.as_ref());
    let clients = parts.iter().map(|part| u64::from(part.point.clients));
    ServerCountersDoc::joined(&counters.collect::<Vec<_>>(), total(clients))
}

fn unanswered_ns_max(parts: &[PartPoint<'_>]) -> Option<u64> {
    let of_part = |part: &PartPoint<'_>| part.point.unanswered_ns_max;
    parts.iter().filter_map(of_part).max()
}

/// Adds up the operations before the window; `None` if a part lacks them.
fn before(parts: &[PartPoint<'_>]) -> Option<u64> {
    let mut counts = parts.iter().map(|part| part.point.ops_before);
    counts.try_fold(0_u64, |sum, count| Some(sum.saturating_add(count?)))
}

/// Adds up a number of clients; `None` if a part lacks it.
fn count(parts: &[PartPoint<'_>], of: fn(&LoadPointDoc) -> Option<u32>) -> Option<u32> {
    let mut counts = parts.iter().map(|part| of(part.point));
    counts.try_fold(0_u32, |sum, count| Some(sum.saturating_add(count?)))
}

/// Returns the longest of the times that parts have.
fn longest(parts: &[PartPoint<'_>], of: fn(&LoadPointDoc) -> Option<f64>) -> Option<f64> {
    let times = parts.iter().filter_map(|part| of(part.point));
    times.max_by(f64::total_cmp)
}

fn duration(parts: &[PartPoint<'_>], seconds: f64) -> Result<Duration, MergeError> {
    // A document has nanoseconds as seconds, which are converted back exactly.
    let wrong = |_| parts[0].damaged(&format!("{seconds} s is no time"));
    Duration::try_from_secs_f64(seconds).map_err(wrong)
}

/// Returns why the numbers may not be quoted: the reasons of all parts, and that their windows
/// were not one.
fn invalid_reason(parts: &[PartPoint<'_>], end: WindowEnd) -> Option<String> {
    let of_part = |part: &PartPoint<'_>| {
        let reason = part.point.invalid_reason.as_deref();
        (!part.point.valid).then(|| part.named(reason.unwrap_or("no reason given")))
    };
    let reasons: Vec<_> = parts
        .iter()
        .filter_map(of_part)
        .chain(objection(parts, end))
        .collect();
    (!reasons.is_empty()).then(|| reasons.join("; "))
}

/// Returns the rate of all clients, where the load points of the run differ in it.
fn rate(parts: &[PartPoint<'_>]) -> Option<f64> {
    let rates = || parts.iter().map(|part| part.point.rate);
    match parts[0].part.doc.plan.rate_scope {
        Some(Named::Known(RateScope::Client)) => rates().sum(),
        _ => parts[0].point.rate,
    }
}

fn links_left_out(parts: &[PartPoint<'_>]) -> Option<u64> {
    let left_out = parts.iter().filter_map(|part| part.point.links_left_out);
    left_out.reduce(u64::saturating_add)
}

/// Returns the lost connections of all parts in the order of their instants.
fn links(parts: &[PartPoint<'_>]) -> Vec<LinkDoc> {
    let links = parts.iter().flat_map(|part| part.point.links.iter());
    let mut links: Vec<_> = links.cloned().collect();
    links.sort_by(|one, other| one.at_s.total_cmp(&other.at_s));
    links
}

/// Adds up the clients that left and came back; `None` if no part says.
fn churn(parts: &[PartPoint<'_>]) -> Option<ChurnDoc> {
    let mut of_parts = parts.iter().filter_map(|part| part.point.churn.as_ref());
    let first = of_parts.next()?.clone();
    Some(of_parts.fold(first, ChurnDoc::add))
}

fn dropouts(parts: &[PartPoint<'_>]) -> Vec<Dropout> {
    let dropouts = parts
        .iter()
        .flat_map(|part| part.point.dropouts.iter().cloned());
    let mut dropouts: Vec<_> = dropouts.collect();
    dropouts.sort_by_key(|dropout| dropout.client);
    dropouts
}

fn fairness(parts: &[PartPoint<'_>]) -> Option<FairnessDoc> {
    let mut all = Fairness::default();
    parts.iter().for_each(|part| all.merge(&part.fairness()));
    FairnessDoc::of(&all)
}

/// Returns the set-up of all sessions. Parts set up their sessions at the same time.
fn set_up(parts: &[PartPoint<'_>]) -> Result<SetupRecord, MergeError> {
    let elapsed_s = longest(parts, |point| Some(point.setup.elapsed_s));
    Ok(SetupRecord {
        session: pool(parts.iter().map(|part| part.sessions)),
        connections: total(parts.iter().filter_map(|part| part.point.setup.connections)),
        elapsed: duration(parts, elapsed_s.unwrap_or(0.0))?,
        attempts: None,
    })
}

/// Adds up what was due by the clock; `None` in closed loops without think times.
fn offered(parts: &[PartPoint<'_>], service: &Histogram<u64>, window_s: f64) -> Option<OfferedDoc> {
    let docs = || parts.iter().filter_map(|part| part.point.offered);
    let first = docs().next()?;
    let sum = |of: fn(&OfferedDoc) -> u64| total(docs().map(|doc| of(&doc)));
    let longest = |of: fn(&OfferedDoc) -> u64| docs().map(|doc| of(&doc)).max().unwrap_or(0);
    let (due, answered) = (
        sum(|doc| doc.operations),
        sum(|doc| doc.answered.unwrap_or(0)),
    );
    let is_at_rate = first.rate_missed.is_some();
    Some(OfferedDoc {
        operations: due,
        ops_per_s: per(due as f64, window_s),
        answered: Some(answered),
        rate_missed: is_at_rate.then(|| misses_rate(due, answered, service, window_s)),
        late: sum(|doc| doc.late),
        dropped: sum(|doc| doc.dropped),
        unanswered: sum(|doc| doc.unanswered),
        unanswered_ns_max: longest(|doc| doc.unanswered_ns_max),
        delay_ns_max: longest(|doc| doc.delay_ns_max),
    })
}
