//! The content of a report on a study.
//!
//! Everything is computed from the study's documents alone. Missing parts of a
//! study are named, never made up. Not here: output formats.

mod comparisons;
mod curves;
mod disclosure;
mod failover;
mod heading;
mod headline;
mod latency;
mod level;
mod limits;
mod listings;
mod methodology;
mod point_metric;
mod populations;
mod profile;
mod results;
mod stages;
mod summary;
mod transfers;

use smbench_report::study::Study;

use crate::plot::Doubt;
use crate::report::{Report, ReportBlock};
use profile::ProfileContent;

/// Builds the report on a study.
#[must_use]
pub fn report(study: &Study) -> Report {
    let profiles: Vec<_> = (0..study.doc.profiles.len())
        .map(|profile| ProfileContent::of(study, profile))
        .collect();
    let mut sections = vec![summary::section(study, &profiles)];
    // Transfers are lines of one table, which has all of their numbers.
    let is_transfer = |profile: &&ProfileContent<'_>| study.doc.transfer(profile.name).is_some();
    let whole = profiles.iter().filter(|profile| !is_transfer(profile));
    for profile in whole {
        let searches = (!profile.searches.is_empty()).then(|| limits::section(profile));
        let is_searched = searches.is_some() && profile.servers.is_empty();
        sections.extend(searches);
        sections.extend((!is_searched).then(|| results::section(study, profile)));
    }
    let transfers: Vec<_> = profiles.iter().filter(is_transfer).collect();
    sections.extend(transfers::section(study, &transfers));
    sections.extend(listings::section(&profiles));
    sections.extend(comparisons::section(study, &profiles));
    sections.push(methodology::section(study, &profiles));
    sections.push(disclosure::section(study));
    let mut report = Report {
        title: heading::title(study),
        day: heading::day(study),
        lines: heading::lines(study),
        sections,
    };
    explain_surrounds(&mut report);
    report
}

/// Explains rings and squares once in a report: below the first plot that has any.
fn explain_surrounds(report: &mut Report) {
    let points = report.plots().flat_map(|plot| &plot.lines);
    let points = points.flat_map(|line| &line.points);
    let found: Vec<Doubt> = points.map(|point| point.doubt).collect();
    let texts = Doubt::ALL.into_iter().filter(|doubt| found.contains(doubt));
    let texts: Vec<_> = texts.filter_map(surround).collect();
    if texts.is_empty() {
        return;
    }
    let sections = report.sections.iter_mut();
    let blocks = sections.flat_map(|section| {
        let parts = section.parts.iter_mut();
        let parts = parts.flat_map(|part| &mut part.blocks);
        section.blocks.iter_mut().chain(parts)
    });
    let mut plots = blocks.filter_map(|block| match block {
        ReportBlock::Plot(plot) => Some(plot),
        ReportBlock::Plain(_) => None,
    });
    let has_any = |line: &crate::plot::Line| {
        let mut points = line.points.iter();
        points.any(|point| point.doubt != Doubt::None)
    };
    if let Some(plot) = plots.find(|plot| plot.lines.iter().any(has_any)) {
        plot.notes.push(texts.join(" "));
    }
}

/// Returns what a ring or a square says in all plots of a report.
const fn surround(doubt: Doubt) -> Option<&'static str> {
    match doubt {
        Doubt::None => None,
        Doubt::ClientLimited => Some(
            "Ring at a throughput: client-limited. The machine that generated the load was the \
             limit, not the server.",
        ),
        Doubt::LateAnswers => {
            Some("Ring at a response time: it may be too high, because answers were handled late.")
        }
        Doubt::Stalled => {
            Some("Square: the response time misses a stall at the end of the window.")
        }
    }
}
