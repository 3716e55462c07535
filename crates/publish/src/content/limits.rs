//! The limits of servers that searches have found, and the probes that led there.

use itertools::Itertools as _;
use smbench_report::doc::{FindDoc, FindKind, ProbeDoc, ProbeOutcome};
use smbench_report::find::{answer, curve, probe_outcome, probes};
use smbench_report::metric::Metric;
use smbench_report::units;
use smbench_report::{Threshold, TimeLimit};

use super::profile::{MeasuredServer, ProfileContent};
use crate::plot::{Axis, Doubt, Line, Plot, PlotPoint, PointValidity, Quantity};
use crate::report::Section;

/// A response time of each probe: of a kind of operation, or of all.
type ProbeTime = (Option<String>, Metric);

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
        if let Some(mut table) = curve(find) {
            table.title = format!("{}: load curve", server.name);
            section.table(table);
        }
    }
    section
}

/// Returns the plots of a profile's searches.
pub(super) fn plots(profile: &ProfileContent<'_>) -> Vec<Plot> {
    let sessions = |server: &&MeasuredServer<'_>| kind(server) == Some(FindKind::Sessions);
    let (over_time, by_load): (Vec<_>, Vec<_>) = profile.searches.iter().partition(sessions);
    let of_limits = time_limits(&by_load).map(|(_, limit)| (limit.op, limit.metric));
    let always = [Metric::Mean, Metric::P99].map(|metric| (None, metric));
    let shown: Vec<ProbeTime> = always.into_iter().chain(of_limits).unique().collect();
    let by_load = shown
        .iter()
        .filter_map(|shown| latency(profile, &by_load, shown));
    let over_time = over_time.iter().filter_map(|server| held(profile, server));
    by_load.chain(over_time).collect()
}

/// Returns the limits on response times of all searches, each once and as it is written. In a
/// search for the rate of a population, they are of its response times, which are plotted.
fn time_limits(servers: &[&MeasuredServer<'_>]) -> impl Iterator<Item = (String, TimeLimit)> {
    let finds = servers.iter().filter_map(|server| server.run.find.as_ref());
    let limits = finds.flat_map(|find| {
        let population = find.population.as_deref();
        let limits = find.limit.iter();
        limits.filter_map(move |limit| {
            let time = limit.parse::<Threshold>().ok()?.time_limit(population)?;
            Some((limit.clone(), time))
        })
    });
    limits.unique_by(|(limit, _)| limit.clone())
}

fn kind(server: &MeasuredServer<'_>) -> Option<FindKind> {
    server.run.find.as_ref().map(|find| find.kind)
}

/// Returns the response times of all probes by the load.
fn latency(
    profile: &ProfileContent<'_>,
    servers: &[&MeasuredServer<'_>],
    shown: &ProbeTime,
) -> Option<Plot> {
    let (op, metric) = shown;
    let first = servers.first()?;
    let is_rate = kind(first)?.is_rate();
    let (axis, quantity) = if is_rate {
        ("achieved rate", Quantity::Rate)
    } else {
        ("clients", Quantity::Clients)
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
                let x = if is_rate { probe.ops_per_s } else { probe.load };
                let part = find.searched(point);
                let time = metric.measured(&[&part], op.as_deref())?.value;
                Some(plotted(find, probe, x, time))
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
    let ends = lines.iter().flat_map(|line: &Line| &line.points);
    let last = ends.map(|point| point.x).fold(0.0, f64::max);
    let drawn = time_limits(servers).enumerate();
    let drawn = drawn.filter_map(|(number, (text, limit))| {
        let is_shown = (&limit.op, &limit.metric) == (op, metric);
        is_shown.then(|| limit_line(&text, servers.len() + number, limit.nanoseconds, last))
    });
    let lines = lines.iter().cloned().chain(drawn).collect();
    let of_op = op.as_ref().map(|op| format!("{op} "));
    let time = format!("{}{}", of_op.unwrap_or_default(), metric.name());
    let limits = servers.iter().filter_map(|server| server.run.find.as_ref());
    let limits: Vec<_> = limits.flat_map(|find| &find.limit).unique().collect();
    Some(Plot {
        name: format!("{}-limit-{}", profile.stem, time.replace([' ', '.'], "-")),
        title: format!("{}: {time} response time by {axis}", profile.name),
        x: Axis::new(axis, quantity),
        y: Axis::new(format!("{time} response time"), Quantity::WideLatency),
        lines,
        notes: if limits.is_empty() {
            vec!["limit: the rate is reached".to_owned()]
        } else {
            vec![format!("limit: {}", limits.iter().join(", "))]
        },
        marks: Vec::new(),
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
            ProbeOutcome::Broke => PointValidity::BrokeLimit,
            ProbeOutcome::ClientLimited | ProbeOutcome::Unknown => PointValidity::Invalid,
        },
        doubt: match probe.verdict {
            ProbeOutcome::ClientLimited => Doubt::ClientLimited,
            _ => Doubt::None,
        },
        label: format!("{load}, {}: {outcome}: {reason}", units::latency(y)),
    }
}

/// Returns the open and the failed sessions, from the first attempt to the end of the load.
fn held(profile: &ProfileContent<'_>, server: &MeasuredServer<'_>) -> Option<Plot> {
    let point = server.run.load_points.last()?;
    let attempts = point.setup.attempts.as_ref()?;
    let set_up = attempts.over_time.iter();
    let mut course: Vec<_> = set_up.map(|at| (at.s, at.stood, at.failed)).collect();
    // The load begins when the last attempt has ended.
    let last = attempts.over_time.last().map_or(0.0, |last| last.s);
    let begins = last.max(point.setup.elapsed_s);
    // Clients that were lost before the load, and those whose time is unknown.
    let known = point.dropouts.iter().filter(|lost| lost.after_s.is_some());
    let lost_before = (point.dropouts.len() - known.count()) as u32;
    let mut failed = attempts.failed + lost_before;
    let mut open = attempts.ended.saturating_sub(failed);
    course.push((begins, open, failed));
    let lost = point.dropouts.iter().filter_map(|lost| lost.after_s);
    for after in lost.sorted_by(f64::total_cmp) {
        course.push((begins + after, open, failed));
        (open, failed) = (open.saturating_sub(1), failed + 1);
        course.push((begins + after, open, failed));
    }
    let ends = begins + server.run.plan.ramp_up_s + point.window_s;
    let last = course.last().map_or(ends, |(at, ..)| at.max(ends));
    course.push((last, open, failed));
    let line = |name: &str, style, of: fn(&(f64, u32, u32)) -> u32| Line {
        name: name.to_owned(),
        style,
        points: course
            .iter()
            .map(|at| PlotPoint {
                x: at.0,
                y: of(at).into(),
                spread: None,
                validity: PointValidity::Valid,
                doubt: Doubt::None,
                label: format!("after {}: {}", units::seconds(at.0), of(at)),
            })
            .collect(),
    };
    Some(Plot {
        name: format!("{}-{}-sessions", profile.stem, server.number + 1),
        title: format!("{}: sessions over time", server.name),
        x: Axis::new("time since the first attempt", Quantity::Time),
        y: Axis::new("sessions", Quantity::Index),
        lines: vec![
            line("open", 0, |(_, open, _)| *open),
            line("failed", 1, |(.., failed)| *failed),
        ],
        notes: vec![format!(
            "the sessions are held from {} on",
            units::seconds(begins)
        )],
        marks: Vec::new(),
    })
}
