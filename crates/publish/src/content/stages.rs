//! Stages of a load over time: the clients or the rate that they ask for, and the rate that was
//! reached.

use itertools::Itertools as _;
use smbench_report::doc::{LoadPointDoc, Named, StageDoc, StageUnitDoc};

use super::curves::rate_plot;
use super::profile::{MeasuredServer, ProfileContent};
use crate::plot::{Axis, Doubt, Line, Plot, PlotPoint, PointValidity, Quantity};

/// Returns the plots of what stages ask for and of the rate that was reached; none without stages.
/// A rate that they ask for is a line of the same plot. Clients whose number does not change have
/// no plot.
pub(super) fn plots(profile: &ProfileContent<'_>) -> Vec<Plot> {
    if !profile.is_staged() {
        return Vec::new();
    }
    let stem = format!("{}-stages", profile.stem);
    let mut reached = rate_plot(profile, &stem);
    let asked = asked(profile);
    let rows = profile.servers.iter().flat_map(|server| &server.curve.rows);
    let mut stages = rows.filter_map(|row| stage(&row.passes));
    if stages.any(|stage| stage.unit == Named::Known(StageUnitDoc::Rate)) {
        reached.lines.extend(asked);
        return vec![reached];
    }
    let levels = asked.iter().flat_map(|line| &line.points);
    let is_even = levels.map(|point| point.y).all_equal();
    let clients = (!is_even).then(|| Plot {
        name: format!("{stem}-clients"),
        title: format!("{}: clients over time", profile.name),
        y: Axis::new("clients", Quantity::Clients),
        lines: asked,
        ..reached.clone()
    });
    clients.into_iter().chain([reached]).collect()
}

/// Returns the stage that these passes are of.
fn stage<'a>(passes: &[&'a LoadPointDoc]) -> Option<&'a StageDoc> {
    passes.first()?.stage.as_ref()
}

/// Returns what stages ask for. Servers with the same stages have one line.
fn asked(profile: &ProfileContent<'_>) -> Vec<Line> {
    let styles = profile.servers.iter().map(|server| server.number + 1);
    let free = styles.max().unwrap_or(0);
    let mut lines: Vec<Line> = Vec::new();
    for server in &profile.servers {
        let points = levels(server);
        if lines.iter().all(|line| line.points != points) {
            lines.push(Line {
                name: format!("asked of {}", server.name),
                style: free + lines.len(),
                points,
            });
        }
    }
    if let [only] = &mut lines[..] {
        only.name = "asked".into();
    }
    lines
}

/// Returns the levels of a server's stages, each at its begin and at its end.
fn levels(server: &MeasuredServer<'_>) -> Vec<PlotPoint> {
    let rows = server.curve.rows.iter();
    let ends = rows.filter_map(|row| {
        let stage = stage(&row.passes)?;
        let point = |x, y| PlotPoint {
            x,
            y,
            spread: None,
            validity: PointValidity::Valid,
            doubt: Doubt::None,
            label: row.load().to_string(),
        };
        let end_s = stage.begin_s + stage.length_s;
        Some([point(stage.begin_s, stage.from), point(end_s, stage.to)])
    });
    ends.flatten().collect()
}
