//! The limits of servers that searches have found, and the probes that led there.

use itertools::Itertools as _;
use smbench_report::Threshold;
use smbench_report::doc::{FindDoc, FindKind, LoadPointDoc, ProbeDoc, ProbeOutcome};
use smbench_report::metric::Metric;
use smbench_report::text::{answer, probe_outcome, probes};
use smbench_report::units;

use super::profile::{MeasuredServer, ProfileContent};
use crate::plot::{Axis, Doubt, Line, Plot, PlotPoint, PointValidity, Quantity};
use crate::report::Section;

/// A response time of each probe.
#[derive(Clone, Copy)]
struct PointLatency {
    /// Last part of the plot's name.
    name: &'static str,
    title: &'static str,
    metric: Metric,
    of: fn(&LoadPointDoc) -> Option<f64>,
}

const MEAN: PointLatency = PointLatency {
    name: "mean",
    title: "mean response time",
    metric: Metric::Mean,
    of: |point| Some(point.latency_ns?.mean),
};
const P99: PointLatency = PointLatency {
    name: "p99",
    title: "99th percentile",
    metric: Metric::P99,
    of: |point| Some(point.latency_ns?.p99 as f64),
};

/// Returns the probes of all searches of a profile, as plots and tables.
pub(super) fn section(profile: &ProfileContent<'_>) -> Section {
    let mut section = Section::new(format!("Limits: {}", profile.name));
    for plot in plots(profile) {
        section.plot(plot);
    }
    for server in &profile.searches {
        let Some(find) = &server.run.find else {
            continue;
        };
        let mut table = probes(find);
        table.title = format!("{}: probes", server.name);
        table.notes.push(format!("found: {}", answer(find).1));
        section.table(table);
    }
    section
}

/// Returns the plots of a profile's searches.
pub(super) fn plots(profile: &ProfileContent<'_>) -> Vec<Plot> {
    let sessions = |server: &&MeasuredServer<'_>| kind(server) == Some(FindKind::Sessions);
    let (over_time, by_load): (Vec<_>, Vec<_>) = profile.searches.iter().partition(sessions);
    let mut all = Vec::new();
    for shown in [MEAN, P99] {
        all.extend(latency(profile, &by_load, shown));
    }
    all.extend(over_time.iter().filter_map(|server| held(profile, server)));
    all
}

fn kind(server: &MeasuredServer<'_>) -> Option<FindKind> {
    server.run.find.as_ref().map(|find| find.kind)
}

/// Returns the response times of all probes by the load.
fn latency(
    profile: &ProfileContent<'_>,
    servers: &[&MeasuredServer<'_>],
    shown: PointLatency,
) -> Option<Plot> {
    let first = servers.first()?;
    let is_rate = kind(first)?.is_rate();
    let (axis, quantity) = match is_rate {
        true => ("achieved rate", Quantity::Rate),
        false => ("clients", Quantity::Clients),
    };
    let alike =
        |server: &&&MeasuredServer<'_>| kind(server).is_some_and(|kind| kind.is_rate() == is_rate);
    let lines: Vec<_> = servers
        .iter()
        .filter(alike)
        .filter_map(|server| {
            let find = server.run.find.as_ref()?;
            let points = find.probes.iter().zip(&server.run.load_points);
            let points = points.filter_map(|(probe, point)| {
                let x = match is_rate {
                    true => probe.ops_per_s,
                    false => probe.load,
                };
                Some(plotted(find, probe, x, (shown.of)(point)?))
            });
            let mut points: Vec<_> = points.collect();
            points.sort_by(|one, other| one.x.total_cmp(&other.x));
            Some(Line {
                name: server.name.to_owned(),
                style: server.number,
                points,
            })
        })
        .collect();
    let limits = servers.iter().filter_map(|server| server.run.find.as_ref());
    let limits: Vec<_> = limits.flat_map(|find| &find.limit).unique().collect();
    let ends = lines.iter().flat_map(|line: &Line| &line.points);
    let last = ends.map(|point| point.x).fold(0.0, f64::max);
    let drawn = limits.iter().enumerate().filter_map(|(number, limit)| {
        let (metric, at) = limit.parse::<Threshold>().ok()?.time_limit()?;
        (metric == shown.metric).then(|| limit_line(limit, servers.len() + number, at, last))
    });
    let lines = lines.iter().cloned().chain(drawn).collect();
    Some(Plot {
        name: format!("{}-limit-{}", profile.stem, shown.name),
        title: format!("{}: {} by {axis}", profile.name, shown.title),
        x: Axis::new(axis, quantity),
        y: Axis::new(shown.title, Quantity::Latency),
        lines,
        notes: match limits.first() {
            Some(limit) => vec![format!("hollow: the limit did not hold ({limit})")],
            None => vec!["hollow: the rate was not reached".to_owned()],
        },
    })
}

/// Returns the line of a limit on response times.
fn limit_line(limit: &str, style: usize, at: f64, last: f64) -> Line {
    let point = |x| PlotPoint {
        x,
        y: at,
        spread: None,
        validity: PointValidity::Valid,
        doubt: Doubt::None,
        label: limit.to_owned(),
    };
    Line {
        name: format!("limit: {limit}"),
        style,
        points: vec![point(0.0), point(last)],
    }
}

fn plotted(find: &FindDoc, probe: &ProbeDoc, x: f64, y: f64) -> PlotPoint {
    let load = find.kind.print(probe.load);
    let (outcome, reason) = (probe_outcome(probe.verdict), &probe.reason);
    PlotPoint {
        x,
        y,
        spread: None,
        validity: match probe.verdict {
            ProbeOutcome::Held => PointValidity::Valid,
            ProbeOutcome::Broke | ProbeOutcome::ClientLimited | ProbeOutcome::Unknown => {
                PointValidity::Invalid
            }
        },
        doubt: match probe.verdict {
            ProbeOutcome::ClientLimited => Doubt::ClientLimited,
            _ => Doubt::None,
        },
        label: format!("{load}, {}: {outcome}: {reason}", units::latency(y)),
    }
}

/// Returns the sessions that stood, and the attempts that had failed, over time.
fn held(profile: &ProfileContent<'_>, server: &MeasuredServer<'_>) -> Option<Plot> {
    let point = server.run.load_points.last()?;
    let over_time = &point.setup.attempts.as_ref()?.over_time;
    let line = |name: &str, style, of: fn((u32, u32)) -> u32| Line {
        name: name.to_owned(),
        style,
        points: over_time
            .iter()
            .map(|at| {
                let y = of((at.stood, at.failed));
                PlotPoint {
                    x: at.s,
                    y: y.into(),
                    spread: None,
                    validity: PointValidity::Valid,
                    doubt: Doubt::None,
                    label: format!("after {}: {y}", units::seconds(at.s)),
                }
            })
            .collect(),
    };
    Some(Plot {
        name: format!("{}-{}-sessions", profile.stem, server.number + 1),
        title: format!("{}: sessions over time", server.name),
        x: Axis::new("time since the first attempt", Quantity::Time),
        y: Axis::new("sessions", Quantity::Index),
        lines: vec![
            line("sessions that stood", 0, |(stood, _)| stood),
            line("failed attempts", 1, |(_, failed)| failed),
        ],
        notes: Vec::new(),
    })
}
