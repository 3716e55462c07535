//! The section with the comparisons that the study asks for.

use smbench_report::published::{asked_for, limit_changes};
use smbench_report::study::{ComparisonDoc, Study, slug};
use smbench_report::table::Table;

use super::curves;
use super::profile::{MeasuredServer, ProfileContent};
use crate::report::Section;

/// Returns the section; `None` if the study has no comparisons.
pub(super) fn section(study: &Study, profiles: &[ProfileContent<'_>]) -> Option<Section> {
    let comparisons = &study.doc.comparisons;
    if comparisons.is_empty() {
        return None;
    }
    let mut section = Section::new("Comparisons");
    for profile in profiles
        .iter()
        .filter(|profile| !profile.servers.is_empty())
    {
        for (at, comparison) in comparisons.iter().enumerate() {
            section.part(part(study, profile, at, comparison));
        }
    }
    for comparison in comparisons {
        if let Some(table) = limit_changes(study, comparison) {
            let mut part = Section::new(table.title.clone());
            part.table(Table {
                title: String::new(),
                ..table
            });
            section.part(part);
        }
    }
    Some(section)
}

fn part(
    study: &Study,
    profile: &ProfileContent<'_>,
    at: usize,
    comparison: &ComparisonDoc,
) -> Section {
    let mut part = Section::new(format!("{}: {}", comparison.title, profile.name));
    let is_in = |server: &MeasuredServer<'_>| comparison.rows().any(|name| name == server.name);
    let stem = format!("{}-{:02}-{}", profile.stem, at + 1, slug(&comparison.title));
    if !profile.has_one_point() {
        let mut plot = curves::height_plot(profile, &stem, is_in);
        plot.title = format!("{}: {}", comparison.title, plot.title);
        part.plot(plot);
    }
    part.table(Table {
        title: "Peaks".to_owned(),
        ..asked_for(study, profile.number, comparison)
    });
    part
}
