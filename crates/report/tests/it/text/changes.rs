//! How soon clients learn what others change.

use smbench_model::kind::OpKind;
use smbench_report::text::changes;

use crate::samples::{curve, document};

#[test]
fn the_time_until_others_see_a_change_has_a_table() {
    let mut doc = document(&curve());
    assert_eq!(changes(&doc), None);
    let read = doc.load_points[0].ops[OpKind::Read.name()].clone();
    let name = OpKind::Neighbour.name().to_owned();
    doc.load_points[0].ops.insert(name, read.clone());
    let text = changes(&doc).unwrap().to_text();
    let rows = text
        .lines()
        .map(|line| line.split_whitespace().collect::<Vec<_>>());
    let rows: Vec<_> = rows
        .filter(|row| row.get(1) == Some(&"neighbour"))
        .collect();
    // The other load points have no such operation, and so no time.
    assert_eq!(rows.len(), doc.load_points.len(), "{text}");
    let counts: Vec<_> = rows.iter().map(|row| row[2]).collect();
    assert_eq!(
        counts[..2],
        [read.count.to_string().as_str(), "0"],
        "{text}"
    );
    assert_eq!(rows[1].get(3), Some(&"-"), "{text}");
    assert!(
        text.contains("until it shows") && !text.contains("notification"),
        "{text}"
    );
}

#[test]
fn times_of_changes_have_the_marks_of_percentiles() {
    let mut doc = document(&curve());
    let read = doc.load_points[0].ops[OpKind::Read.name()].clone();
    let name = OpKind::Watch.name().to_owned();
    doc.load_points.truncate(1);
    let point = &mut doc.load_points[0];
    point.ops.insert(name, read);
    point.latency_noise_ns.insert("p99".to_owned(), 5000);
    let text = changes(&doc).unwrap().to_text();
    let mut lines = text.lines();
    let row = lines.find(|line| line.contains(" watch ")).unwrap();
    assert_eq!(row.matches('^').count(), 1, "{text}");
    assert!(
        text.contains("^: may be too high, answers were handled late"),
        "{text}"
    );
}
