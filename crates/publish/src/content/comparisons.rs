//! Servers held against each other, as the study asks for it.

use smbench_report::study::{ComparisonDoc, ComparisonKind, Study, slug};
use smbench_report::table::{Cell, Column, Table};
use smbench_report::units;

use super::{Measured, Profile, curves};
use crate::report::Section;

/// `None` where nothing is compared.
pub(super) fn section(study: &Study, profiles: &[Profile<'_>]) -> Option<Section> {
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
            section.part(part(profile, at, comparison));
        }
    }
    Some(section)
}

fn part(profile: &Profile<'_>, at: usize, comparison: &ComparisonDoc) -> Section {
    let mut part = Section::new(format!("{}: {}", comparison.title, profile.name));
    let is_in = |server: &Measured<'_>| comparison.servers.iter().any(|name| name == server.name);
    let stem = format!("{}-{:02}-{}", profile.stem, at + 1, slug(&comparison.title));
    let mut plot = curves::height_plot(profile, &stem, is_in);
    plot.title = format!("{}: {}", comparison.title, plot.title);
    part.plot(plot);
    part.table(table(profile, comparison));
    part
}

fn table(profile: &Profile<'_>, comparison: &ComparisonDoc) -> Table {
    let moves_data = profile.moves_data();
    let peak = |name: &String| {
        let mut servers = profile.servers.iter();
        let server = servers.find(|server| server.name == name)?;
        let peak = server.curve.peak()?;
        let height = match moves_data {
            true => peak.throughput_mbps,
            false => peak.ops_per_s?,
        };
        Some((height, peak.clients))
    };
    let names = &comparison.servers;
    let rows = names.iter().enumerate().map(|(at, name)| {
        let this = peak(name);
        let against = match comparison.kind {
            _ if at == 0 => None,
            ComparisonKind::Gain => this,
            ComparisonKind::Scaling => peak(&names[at - 1]),
            ComparisonKind::Tuning => peak(&names[0]),
        };
        let gains = match comparison.kind {
            ComparisonKind::Gain => peak(&names[0]),
            ComparisonKind::Scaling | ComparisonKind::Tuning => this,
        };
        let percent = gains
            .zip(against)
            .map(|((new, _), (old, _))| (new / old - 1.0) * 100.0);
        vec![
            name.as_str().into(),
            Cell::of(
                this.map(|(height, _)| height),
                match moves_data {
                    true => units::throughput,
                    false => units::rate,
                },
            ),
            Cell::or_dash(this.map(|(_, clients)| Cell::count(clients.into()))),
            Cell::of(percent, |percent| format!("{percent:.0} %")),
        ]
    });
    let first = names.first().map_or("", String::as_str);
    let percent = match comparison.kind {
        ComparisonKind::Gain => format!("gain of {first}"),
        ComparisonKind::Scaling => "increase".to_owned(),
        ComparisonKind::Tuning => format!("against {first}"),
    };
    Table {
        title: "Peaks".to_owned(),
        columns: vec![
            Column::text("server"),
            Column::number(match moves_data {
                true => "Mbit/s",
                false => "operations/s",
            }),
            Column::number("clients"),
            Column::number(percent),
        ],
        rows: rows.collect(),
        notes: Vec::new(),
    }
}
