//! A change has the same sign everywhere: `compare`, `show` and the report print
//! the same change of a study from the same baseline.

use std::fs;
use std::path::Path;

use smbench_publish::{Block, report};
use smbench_report::compare::{Input, compare};
use smbench_report::metric::Metric;
use smbench_report::published::tables;
use smbench_report::study::{ComparisonDoc, ComparisonKind, Study};
use smbench_report::table::Table;

use crate::samples::{comparison, curve, study};

const DEFAULT: &str = "Samba default";
const TUNED: &str = "Samba tuned";

/// Saves a study of two servers in a folder; the second is twice as fast as the
/// first.
fn saved(folder: &Path, compared: ComparisonDoc) {
    let mut study = study(&[(DEFAULT, curve(500.0)), (TUNED, curve(1000.0))]);
    study.doc.comparisons = vec![compared];
    study.doc.save(folder).unwrap();
    for result in &study.results {
        let path = folder.join(study.doc.run_path(result.server, result.profile, 1));
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        result.run.save(&path).unwrap();
    }
}

/// Returns a server's cell in a table of peaks: the name of the column and the
/// percentage.
fn printed(table: &Table, server: &str) -> (String, f64) {
    let column = table
        .columns
        .iter()
        .position(|column| column.name.starts_with("vs "));
    let column = column.unwrap();
    let row = table.rows.iter().find(|row| Table::cell(row, 0) == server);
    let percent = row.unwrap()[column].exact.unwrap();
    (table.columns[column].name.clone(), percent)
}

#[test]
fn all_commands_print_the_same_change_of_a_study() {
    let of = |kind, baseline: Option<&str>| ComparisonDoc {
        baseline: baseline.map(str::to_owned),
        ..comparison("tuned over default", kind, &[DEFAULT, TUNED])
    };
    for (compared, baseline, changed, percent) in [
        (of(ComparisonKind::Change, None), DEFAULT, TUNED, 100.0),
        (
            of(ComparisonKind::Change, Some(DEFAULT)),
            DEFAULT,
            TUNED,
            100.0,
        ),
        (
            of(ComparisonKind::Change, Some(TUNED)),
            TUNED,
            DEFAULT,
            -50.0,
        ),
        // As in a document of an earlier release, which printed -50 % in the tuned
        // server's row.
        (of(ComparisonKind::Gain, None), DEFAULT, TUNED, 100.0),
    ] {
        let folder = tempfile::tempdir().unwrap();
        saved(folder.path(), compared.clone());
        let study = Study::load(folder.path()).unwrap();
        let shown = tables(&study);
        let shown = shown.iter().find(|table| table.title == compared.title);
        let told = shown.unwrap().notes.iter();
        let told = told.filter(|note| note.contains("an earlier release wrote this study"));
        assert_eq!(
            told.count(),
            usize::from(compared.kind == ComparisonKind::Gain)
        );

        let page = report(&study);
        let section = page
            .sections
            .iter()
            .find(|section| section.title == "Comparisons");
        let mut blocks = section.unwrap().parts.iter().flat_map(|part| &part.blocks);
        let reported = blocks.find_map(|block| match block {
            Block::Table(table) => Some(table),
            _ => None,
        });

        let found = compare(&[Input::load(folder.path()).unwrap()]).unwrap();
        let [pair] = &found.pairs[..] else {
            panic!("one pair: {found:?}");
        };
        let names = [&pair.baseline, &pair.other].map(|side| side.server.as_deref());
        assert_eq!(names, [Some(baseline), Some(changed)]);
        let labels = [&pair.baseline, &pair.other].map(|side| side.label.as_str());
        assert_eq!(labels, ["A", "B"]);
        let peak = pair.peak.as_ref().unwrap().find(None, Metric::Throughput);
        assert_eq!(peak.unwrap().change_percent, Some(percent));

        let expected = (format!("vs {baseline}"), percent);
        assert_eq!(printed(shown.unwrap(), changed), expected);
        assert_eq!(printed(reported.unwrap(), changed), expected);
    }
}
