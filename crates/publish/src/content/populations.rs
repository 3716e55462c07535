//! The populations of a profile: throughput and response times, with a line for each, and how they
//! disturb one another.
//!
//! Each population of a server stands where other parts of a report have a server, with its part of
//! each load point.

use smbench_report::RunDoc;
use smbench_report::curve::Curve;
use smbench_report::doc::LoadPointDoc;
use smbench_report::study::Study;
use smbench_report::table::Table;
use smbench_report::text;

use super::profile::{MeasuredServer, ProfileContent};
use super::{curves, latency};
use crate::report::{ReportBlock, Section};

/// A population of a server.
struct PlottedPopulation<'a> {
    /// Name of its lines.
    name: String,
    run: &'a RunDoc,
    /// Its part of each load point.
    points: Vec<LoadPointDoc>,
}

/// Returns the section; it is empty unless a run has several populations.
pub(super) fn part(study: &Study, profile: &ProfileContent<'_>) -> Section {
    let of_server = |server| populations(server, profile.servers.len());
    let populations: Vec<_> = profile.servers.iter().flat_map(of_server).collect();
    let name = format!("{} by population", profile.name);
    let numbered = populations.iter().enumerate();
    let servers = numbered.map(|(number, population)| MeasuredServer {
        name: &population.name,
        number,
        run: population.run,
        curve: Curve::of(&population.points),
    });
    let content = ProfileContent {
        name: &name,
        number: profile.number,
        stem: format!("{}-populations", profile.stem),
        servers: servers.collect(),
        searches: Vec::new(),
        missing: Vec::new(),
    };
    let mut part = Section::new("Populations");
    if !content.has_one_point() {
        let plots = curves::plots(&content);
        plots.into_iter().for_each(|plot| part.plot(plot));
    }
    // The tables of load points have these numbers.
    let at_a_load = [latency::percentiles(&content), latency::over_time(&content)];
    let blocks = at_a_load.into_iter().flat_map(|part| part.blocks);
    let is_plot = |block: &ReportBlock| matches!(block, ReportBlock::Plot(_));
    part.blocks.extend(blocks.filter(is_plot));
    let tables = profile.servers.iter();
    let tables = tables.filter_map(|server| interference(study, server));
    tables.for_each(|table| part.table(table));
    part
}

/// Sets each population alone beside all together; `None` unless the study has a run of one alone.
fn interference(study: &Study, server: &MeasuredServer<'_>) -> Option<Table> {
    let all = study.results.iter().map(|result| &result.run);
    let alone = text::runs_alone(server.run, all);
    alone.first()?;
    let table = text::interference(alone, server.run)?;
    Some(Table {
        title: format!("{}: {}", server.name, table.title),
        ..table
    })
}

/// Returns the populations of a server, one of `servers`; none unless it has several.
fn populations<'a>(server: &MeasuredServer<'a>, servers: usize) -> Vec<PlottedPopulation<'a>> {
    let points = &server.run.load_points;
    let first = points.first().map(|point| &point.populations);
    let several = first.filter(|populations| populations.len() > 1);
    let several = several.into_iter().flatten().map(|population| {
        let name = &population.name;
        // The load is that of all populations, so that their points stand one above the other.
        let parts = points.iter().filter_map(|point| {
            Some(LoadPointDoc {
                clients: point.clients,
                ..point.of_population(name)?
            })
        });
        PlottedPopulation {
            name: match servers {
                1 => name.clone(),
                _ => format!("{name} ({})", server.name),
            },
            run: server.run,
            points: parts.collect(),
        }
    });
    several.collect()
}
