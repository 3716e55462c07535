//! A document as rows for spreadsheets: one per load point, pass and operation. The
//! operation `all` is the sum of all operations. Rows of a population follow those of the load
//! point, which contain them.
//!
//! All values are of the window, with two exceptions. `errors` and `differing` are of the whole
//! load point. `final_flush` comes after the window and so has no rates. Numbers
//! have full precision, units are in the column names, and a value that was not
//! measured is an empty field. New columns are only added at the end.

use std::collections::BTreeSet;
use std::io::Write;
use std::iter;

use crate::doc::{
    LoadPointDoc, OpDoc, PopulationPointDoc, ReachedDoc, RunDoc, ServerCpuDoc, StreamsDoc,
    is_asked_for, is_of_window,
};
use crate::latency::LatencyDoc;
use crate::replayed::Replayed;
use crate::statistics::per;
use crate::study::Study;

const HEADER: &str = "clients,repeat,valid,window_s,op,count,bytes,errors,throughput_mbps,ops_per_s,\
    response_mean_ns,response_min_ns,response_max_ns,response_p50_ns,response_p90_ns,\
    response_p95_ns,response_p99_ns,response_p999_ns,client_cpu_us_per_op,\
    client_max_rss_bytes,client_cpu_cores,client_cpu_percent,client_mbps_per_percent,\
    client_ops_per_s_per_percent,server_cpu_scope,server_cpu_cores,server_cpu_percent,\
    server_cpu_us_per_op,server_mbps_per_percent,server_ops_per_s_per_percent,\
    asked_ops_per_s,differing,differing_share,population,population_clients,\
    units,asked_ops_per_s_per_client,reached_mean_percent,reached_slowest_percent,entries,\
    stage,stage_begin_s,frames,late_frames";

/// Cells that differ between the rows of one load point.
struct Cells<'a> {
    /// The population, and the number of its clients; `None` in the rows of all clients.
    population: Option<(&'a str, u32)>,
    op: &'a str,
    count: u64,
    bytes: u64,
    errors: u64,
    /// Names that were listed.
    entries: Option<u64>,
    latency_ns: Option<LatencyDoc>,
    /// Operations that did not go as recorded, and their share of all of this kind.
    differing: (u64, f64),
    /// What the clients of a population reached of their rate, in the row of all its operations.
    reached: Option<&'a ReachedDoc>,
    /// Frames of streams, in the rows of all operations.
    streams: Option<&'a StreamsDoc>,
}

/// Writes a header line and the rows.
///
/// # Errors
///
/// When `output` cannot be written.
pub fn write_csv(doc: &RunDoc, output: impl Write) -> Result<(), ::csv::Error> {
    let mut writer = ::csv::Writer::from_writer(output);
    writer.write_record(HEADER.split(','))?;
    for row in rows(doc) {
        writer.write_record(row)?;
    }
    writer.flush()?;
    Ok(())
}

/// Writes a header line and the rows of all results of a study. Each row begins
/// with the names of server and profile.
///
/// # Errors
///
/// When `output` cannot be written.
pub fn write_study_csv(study: &Study, output: impl Write) -> Result<(), ::csv::Error> {
    let mut writer = ::csv::Writer::from_writer(output);
    writer.write_record(["server", "profile"].into_iter().chain(HEADER.split(',')))?;
    for result in &study.results {
        let server = study.doc.server_name(result.server);
        let profile = study.doc.profile_name(result.profile);
        for row in rows(&result.run) {
            let names = [server, profile].into_iter();
            writer.write_record(names.chain(row.iter().map(String::as_str)))?;
        }
    }
    writer.flush()?;
    Ok(())
}

fn rows(doc: &RunDoc) -> impl Iterator<Item = Vec<String>> {
    doc.load_points.iter().flat_map(|point| {
        let replayed = Replayed::of([point]);
        let names = point.ops.keys().map(String::as_str);
        let names: BTreeSet<_> = names.chain(replayed.kinds()).collect();
        let ops = names.into_iter().map(|name| Cells {
            differing: (replayed.count_of(name), replayed.share_of_kind(name)),
            ..Cells::of(None, name, point.ops.get(name))
        });
        let cells = iter::once(all(point, &replayed)).chain(ops);
        let cells = cells.chain(point.populations.iter().flat_map(of_population));
        let searched = doc
            .find
            .as_ref()
            .and_then(|find| find.population.as_deref());
        let cells = cells.map(|cells| {
            // A search may have changed the rate of one population.
            let of = cells.population.map(|(name, _)| name);
            let rate = point.rate.filter(|_| searched.is_none() || of == searched);
            record(point, &cells, rate, doc.generator_cpus())
        });
        cells.collect::<Vec<_>>()
    })
}

impl<'a> Cells<'a> {
    fn of(population: Option<(&'a str, u32)>, name: &'a str, op: Option<&OpDoc>) -> Self {
        Self {
            population,
            op: name,
            count: op.map_or(0, |op| op.count),
            bytes: op.map_or(0, |op| op.bytes),
            errors: op.map_or(0, |op| op.errors),
            entries: op.and_then(|op| op.entries),
            latency_ns: op.and_then(|op| op.response_ns),
            differing: (0, 0.0),
            reached: None,
            streams: None,
        }
    }
}

/// Returns the rows of a population. Which operations of its replay differed is not known.
fn of_population(part: &PopulationPointDoc) -> Vec<Cells<'_>> {
    let population = Some((&part.name[..], part.clients));
    let asked_for = part.ops.iter().filter(|(name, _)| is_asked_for(name));
    let asked_for = asked_for.map(|(_, op)| op);
    let all = Cells {
        count: crate::curve::total(asked_for.clone().map(|op| op.count)),
        bytes: part.bytes_read.saturating_add(part.bytes_written),
        errors: part.errors,
        entries: entries(asked_for),
        latency_ns: part.latency_ns,
        reached: part.reached.as_ref(),
        streams: part.streams.as_ref(),
        ..Cells::of(population, "all", None)
    };
    let ops = part.ops.iter();
    let ops = ops.map(|(name, op)| Cells::of(population, name, Some(op)));
    iter::once(all).chain(ops).collect()
}

fn all<'a>(point: &'a LoadPointDoc, replayed: &Replayed) -> Cells<'a> {
    Cells {
        population: None,
        op: "all",
        count: crate::curve::total(point.asked_for().map(|op| op.count)),
        bytes: point.bytes_read.saturating_add(point.bytes_written),
        errors: point.errors,
        entries: entries(point.asked_for()),
        latency_ns: point.latency_ns,
        differing: (replayed.count(), replayed.share_of_all()),
        reached: None,
        streams: point.streams.as_ref(),
    }
}

/// Returns the names that all of these operations listed; `None` if none lists any.
fn entries<'a>(ops: impl Iterator<Item = &'a OpDoc>) -> Option<u64> {
    let listed = ops.filter_map(|op| op.entries);
    listed.reduce(u64::saturating_add)
}

fn record(
    point: &LoadPointDoc,
    cells: &Cells<'_>,
    rate: Option<f64>,
    cpus: Option<u32>,
) -> Vec<String> {
    let window_s = Some(point.window_s).filter(|&length| length > 0.0 && is_of_window(cells.op));
    let per_second = |amount: f64| or_empty(window_s.map(|length| amount / length));
    let latency = |of: fn(&LatencyDoc) -> u64| or_empty(cells.latency_ns.as_ref().map(of));
    // CPU and memory belong to the process, not to one kind of operation.
    let whole_point = cells.op == "all" && cells.population.is_none();
    let cores = cpus.filter(|_| whole_point);
    let percent = cores
        .filter(|_| point.window_s > 0.0)
        .map(|cores| point.client.cpu_s() / (point.window_s * f64::from(cores)) * 100.0);
    let for_each = |value: f64| or_empty(percent.map(|percent| per(value, percent)));
    let server = point.server_cpu.as_ref().filter(|_| whole_point);
    let of_server = |of: fn(&ServerCpuDoc) -> Option<f64>| or_empty(server.and_then(of));
    let is_replay = point.replayed.is_some() || !point.differences.is_empty();
    let has_differing = is_replay && cells.population.is_none();
    let differing = has_differing.then_some(cells.differing);
    let stage = point.stage.as_ref();
    vec![
        point.clients.to_string(),
        point.repeat.to_string(),
        point.valid.to_string(),
        point.window_s.to_string(),
        cells.op.to_owned(),
        cells.count.to_string(),
        cells.bytes.to_string(),
        cells.errors.to_string(),
        per_second(cells.bytes as f64 * 8.0 / 1e6),
        per_second(cells.count as f64),
        or_empty(cells.latency_ns.map(|latency| latency.mean)),
        latency(|doc| doc.min),
        latency(|doc| doc.max),
        latency(|doc| doc.p50),
        latency(|doc| doc.p90),
        latency(|doc| doc.p95),
        latency(|doc| doc.p99),
        latency(|doc| doc.p999),
        or_empty(point.client.cpu_us_per_op.filter(|_| whole_point)),
        or_empty(whole_point.then_some(point.client.max_rss_bytes)),
        or_empty(cores),
        or_empty(percent),
        for_each(point.throughput_mbps),
        for_each(point.ops_per_s),
        or_empty(server.and_then(|cpu| cpu.scope.as_ref())),
        or_empty(server.and_then(|cpu| cpu.cores)),
        of_server(|cpu| cpu.percent),
        of_server(|cpu| cpu.us_per_op),
        of_server(|cpu| cpu.mbps_per_percent),
        of_server(|cpu| cpu.ops_per_s_per_percent),
        or_empty(rate),
        or_empty(differing.map(|(count, _)| count)),
        or_empty(differing.map(|(_, share)| share)),
        or_empty(cells.population.map(|(name, _)| name)),
        or_empty(cells.population.map(|(_, clients)| clients)),
        or_empty(point.units),
        or_empty(cells.reached.map(|of| of.requested_ops_per_s)),
        or_empty(cells.reached.map(|of| of.mean_percent)),
        or_empty(cells.reached.map(|of| of.slowest_percent)),
        or_empty(cells.entries),
        or_empty(stage.map(|stage| stage.number)),
        or_empty(stage.map(|stage| stage.begin_s)),
        or_empty(cells.streams.map(|streams| streams.frames)),
        or_empty(cells.streams.map(|streams| streams.late)),
    ]
}

fn or_empty(value: Option<impl ToString>) -> String {
    value.map(|value| value.to_string()).unwrap_or_default()
}
