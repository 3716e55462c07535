//! The table of jobs.

use std::collections::BTreeMap;

use smbench_report::text;

use crate::samples::{document, point, run};

#[test]
fn listings_from_memory_are_a_part_of_a_job() {
    let mut doc = document(&run(vec![point(1, 1, 4)]));
    doc.plan.count = Some(100);
    let read = doc.load_points[0].ops["read"].clone();
    let listings = |count: u64| {
        let mut listings = read.clone();
        listings.count = count;
        listings.bytes = 0;
        listings.entries = Some(count * 2000);
        listings
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
            ["1", "list", "1", "2000", "10.000", "0.10", "200"],
            [
                "1",
                "list_cached",
                "99",
                "198000",
                "10.000",
                "9.90",
                "19800"
            ]
        ]
    );
}

/// Each of two clients has walked a tree of 101 directories and 5,000 files three times.
#[test]
fn a_walk_has_the_directories_files_and_entries_that_were_listed() {
    let mut doc = document(&run(vec![point(2, 1, 4)]));
    doc.plan.count = Some(3);
    let read = doc.load_points[0].ops["read"].clone();
    let walk = |errors: u64| {
        let mut walk = read.clone();
        walk.count = 6 * 101;
        walk.errors = errors;
        walk.bytes = 0;
        walk.entries = Some(6 * (100 + 5000));
        walk
    };
    for (errors, files, files_per_s) in [(0, "30000", "3000"), (1, "-", "-")] {
        doc.load_points[0].ops = BTreeMap::from([("walk".to_owned(), walk(errors))]);
        let table = text::jobs(&doc).unwrap();
        let names: Vec<_> = table
            .columns
            .iter()
            .map(|column| &column.name[..])
            .collect();
        let expected = [
            ("clients", "2"),
            ("op", "walk"),
            ("count", "606"),
            ("files", files),
            ("entries", "30600"),
            ("seconds", "10.000"),
            ("per second", "60.6"),
            ("files/s", files_per_s),
            ("entries/s", "3060"),
        ];
        let cells = table.rows[0].iter().map(|cell| &cell.text[..]);
        let found: Vec<_> = names.into_iter().zip(cells).collect();
        assert_eq!(found, expected);
        assert_eq!((table.rows.len(), table.notes.len()), (1, 1));
    }
}
