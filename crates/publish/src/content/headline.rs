//! The curve that benchmarks of file servers publish: mean response time by achieved operations
//! per second, and its two values for a headline.

use smbench_report::curve::CurveRow;
use smbench_report::names::said_once;
use smbench_report::text;

use super::curves::mean_response;
use super::profile::{MeasuredServer, ProfileContent};
use crate::plot::{Axis, Line, Plot, PlotPoint, Quantity};

/// Returns the plot, if load points count units or differ in their rate.
pub(super) fn plot(profile: &ProfileContent<'_>) -> Option<Plot> {
    let servers = profile.servers.iter().filter(|server| has_curve(server));
    let lines: Vec<_> = servers.map(line).collect();
    (!lines.is_empty()).then(|| Plot {
        name: format!("{}-response-by-rate", profile.stem),
        title: format!("{}: mean response time by rate", profile.name),
        x: Axis::new("achieved rate", Quantity::Rate),
        y: Axis::new("mean response time", Quantity::Latency),
        notes: Vec::new(),
        marks: Vec::new(),
        lines,
    })
}

/// Returns the overall response time and the highest valid load of each server in the plot.
pub(super) fn values(profile: &ProfileContent<'_>) -> Vec<String> {
    let servers = profile.servers.iter().filter(|server| has_curve(server));
    let values = servers.filter_map(|server| {
        let curve = server.run.curve.as_ref()?;
        Some((server.name, text::overall(curve)))
    });
    said_once(values, profile.servers.len())
}

fn has_curve(server: &MeasuredServer<'_>) -> bool {
    let loads = || server.curve.rows.iter().map(CurveRow::load);
    let is_asked_for = server.run.plan.unit.is_some() || loads().any(|load| load.rate.is_some());
    is_asked_for && server.run.curve.is_some()
}

fn line(server: &MeasuredServer<'_>) -> Line {
    let rows = server.curve.rows.iter();
    let points = rows.filter_map(|row| {
        Some(PlotPoint {
            x: row.ops_per_s,
            ..mean_response(row)?
        })
    });
    Line {
        name: server.name.to_owned(),
        style: server.number,
        points: points.collect(),
    }
}
