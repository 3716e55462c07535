//! The table of jobs.

use std::collections::BTreeMap;

use smbench_report::doc::OpDoc;
use smbench_report::text;

use crate::samples::{document, point, run};

#[test]
fn listings_from_memory_are_a_part_of_a_job() {
    let mut doc = document(&run(vec![point(1, 1, 4)]));
    doc.plan.count = Some(100);
    let read = doc.load_points[0].ops["read"].clone();
    let listings = |count: u64| OpDoc {
        count,
        bytes: 0,
        entries: Some(count * 2000),
        ..read.clone()
    };
    let ops = [("list", 1), ("list_cached", 99), ("list_open", 1)];
    let ops = ops.map(|(name, count)| (name.to_owned(), listings(count)));
    doc.load_points[0].ops = BTreeMap::from(ops);
    let table = text::jobs(&doc).unwrap();
    let rows = table.rows.iter().map(|row| {
        let cells = row.iter().map(|cell| &cell.text[..]);
        cells.collect::<Vec<_>>()
    });
    assert_eq!(
        rows.collect::<Vec<_>>(),
        [
            ["1", "list", "1", "10.000", "0.10", "200"],
            ["1", "list_cached", "99", "10.000", "9.90", "19800"]
        ]
    );
}
