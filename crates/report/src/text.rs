//! A document as text for a terminal of 100 columns or a plain-text mail, and the
//! parts of it that other reports also show.
//!
//! All output is computed from the document alone, so that `run` and `show` print
//! the same. Not here: the format of numbers ([`crate::units`]).

mod cautions;
mod changes;
mod churn;
mod counters;
mod cpu;
mod failover;
mod header;
mod in_flight;
mod interference;
mod intervals;
mod jobs;
mod load_units;
mod machines;
mod operations;
mod places;
mod points;
mod populations;
mod rate;
mod remarks;
mod scatter;
mod soak;
mod streams;
mod summary;
mod tcp;
mod wrap;

pub use crate::tone::Tone;
pub(crate) use cautions::brief;
pub use cautions::cautions;
pub use changes::changes;
pub use churn::churn;
pub use counters::server_counters;
pub use cpu::{generator_cpu, server_cpu};
pub use failover::{blackouts, failover, failover_in_brief};
pub use header::facts;
pub use in_flight::reason_in_brief;
pub use interference::{interference, runs_alone};
pub use intervals::repeats;
pub use jobs::jobs;
pub use load_units::load_units;
pub use machines::machines;
pub use operations::operations;
pub use points::{load_points, overall, peak_line, setup_lines};
pub use populations::{operations_of_populations, populations};
pub(crate) use rate::rate_lines;
pub use rate::{missed_rate, rate_remarks};
pub use remarks::{footnotes, reached, recycled, remarks};
use streams::stream_lines;
pub use streams::stream_remarks;
pub use summary::{Passage, interrupted, summary, to_markdown, verdict, verdict_of_one};
pub use tcp::tcp;
use wrap::wrapped_lines;
pub use wrap::{wrapped, wrapped_to};

use crate::curve::Curve;
use crate::doc::{LoadPointDoc, RunDoc};
use crate::find::{answer, curve as curve_of_search, probes};
use crate::metric::Metric;
use crate::table::Table;
use crate::units::{self, labelled, plain};

/// Returns the tables that belong to the one of load points.
pub fn tables_of_load_points(doc: &RunDoc, curve: &Curve<'_>) -> impl Iterator<Item = Table> {
    let units = load_units(doc, curve);
    let tables = [
        populations(curve).filter(|_| units.is_none()),
        units,
        jobs(doc),
        changes(doc),
        failover(doc),
        blackouts(doc),
        churn(doc),
    ];
    tables.into_iter().flatten()
}

/// Returns the whole report: the settings, the load points, the peak, the
/// operations at the peak, and all problems. Ends with a newline.
#[must_use]
pub fn render(doc: &RunDoc) -> String {
    let curve = Curve::of(&doc.load_points);
    let mut sections = vec![wrapped_lines(&labelled(facts(doc)), 9)];
    if let Some(find) = &doc.find {
        sections.push(probes(find).to_text());
        sections.extend(curve_of_search(find).map(|curve| curve.to_text()));
        sections.extend(scatter::scatter(doc, find));
        sections.push(wrapped(&format!("found: {}", answer(find).1)));
    }
    if curve.rows.is_empty() {
        sections.push("no load point was measured\n".to_owned());
    } else {
        let is_search = doc.find.is_some();
        let notes = if is_search {
            // The probes tell which rates were missed.
            wrapped_lines(&footnotes(&curve), 2)
        } else {
            wrapped_lines(&footnotes(&curve), 2) + &rate_lines(doc) + &stream_lines(doc)
        };
        let mut table = load_points(&curve);
        let searched = doc.find.as_ref().and_then(|find| find.population.as_ref());
        table
            .notes
            .extend(searched.map(|name| format!("asked ops/s: of population {}", plain(name))));
        sections.push(table.to_text() + &notes);
        sections.extend(tables_of_load_points(doc, &curve).map(|table| table.to_text()));
        sections.extend(repeats(&curve).map(|table| table.to_text()));
        sections.extend(cpu_use(doc, &curve));
        sections.extend(machines(doc).map(|table| table.to_text()));
        let peak = peak_line(doc.pacing, &curve).filter(|_| !is_search);
        let curve_line = doc.curve.as_ref().map(overall);
        let curve_line = curve_line.map(|words| format!("curve: {words}"));
        let lines = peak.into_iter().chain(curve_line);
        let lines: String = lines.map(|line| wrapped(&line)).collect();
        let cautions = lines + &cautions::caution_lines(doc);
        sections.extend((!cautions.is_empty()).then_some(cautions));
        sections.extend(operations(&doc.plan.workload, &curve).map(|table| table.to_text()));
        sections.extend(operations_of_populations(&curve).map(|table| table.to_text()));
        sections.extend(setup_lines(&curve));
    }
    let mut remarks = wrapped_lines(&remarks(doc), 2);
    remarks.extend(reached(doc).map(|line| wrapped(&line)));
    sections.extend((!remarks.is_empty()).then_some(remarks));
    let outcomes = doc.conditions.iter().map(|judged| format!("{judged}\n"));
    sections.extend((!doc.conditions.is_empty()).then(|| outcomes.collect()));
    sections.join("\n")
}

/// Returns the result of a load point with its unit: throughput, or operations per
/// second if the run moved no data.
#[must_use]
pub fn height(doc: &RunDoc, point: &LoadPointDoc) -> String {
    match Curve::of(&doc.load_points).metric() {
        Metric::Operations => format!("{} ops/s", units::rate(point.ops_per_s)),
        _ => format!("{} Mbit/s", units::throughput(point.throughput_mbps)),
    }
}

/// Returns the tables of CPU use, the server's first, that of TCP, and the server's counters.
pub(crate) fn cpu_use(doc: &RunDoc, curve: &Curve<'_>) -> impl Iterator<Item = String> {
    let cpus = doc.generator_cpus();
    let tables = [
        server_cpu(curve),
        Some(generator_cpu(curve, cpus)),
        tcp(curve),
    ];
    let tables = tables.into_iter().flatten().chain(server_counters(curve));
    tables.map(|table| table.to_text())
}
