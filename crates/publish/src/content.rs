//! The content of a report on a study.
//!
//! Everything is computed from the study's documents alone. Missing parts of a
//! study are named, never made up. Not here: output formats.

mod comparisons;
mod curves;
mod disclosure;
mod doubt;
mod latency;
mod level;
mod limits;
mod methodology;
mod profile;
mod results;
mod summary;
mod transfers;

use smbench_report::study::Study;

use crate::report::Report;
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
    sections.extend(comparisons::section(study, &profiles));
    sections.push(methodology::section(study, &profiles));
    sections.push(disclosure::section(study));
    Report {
        title: study.doc.title.clone(),
        sections,
    }
}
