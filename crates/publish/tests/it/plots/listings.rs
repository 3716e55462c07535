//! The plot of listings by the number of entries.

use std::collections::BTreeMap;

use smbench_publish::plot::Quantity;
use smbench_publish::{report, to_markdown};
use smbench_report::RunDoc;
use smbench_report::doc::{LoadPointDoc, OperationDoc};
use smbench_report::study::Study;

use super::{numbers, plot};
use crate::samples::{dropped, point, result, run, study};

/// Returns a load point of listings of a folder with so many entries.
fn listed(entries: u64, latency_ns: u64) -> LoadPointDoc {
    let mut listed = point(1, 1, 0.0, latency_ns);
    let mut list = listed.ops.remove("read").unwrap();
    list.entries = Some(list.count * entries);
    listed.ops = BTreeMap::from([("list".to_owned(), list)]);
    listed
}

/// Returns a run of such a load point with a `list` of a class.
fn of_class(class: &str, listed: LoadPointDoc) -> RunDoc {
    let mut run = run(vec![listed]);
    let parameters = [("class", class), ("pattern", "*")];
    let parameters = parameters.map(|(key, value)| (key.to_owned(), value.into()));
    run.plan.workload.operations = vec![OperationDoc {
        op: "list".to_owned(),
        weight_percent: 100.0,
        parameters: BTreeMap::from(parameters),
    }];
    run
}

/// Returns listings of two folders on two servers, of which one listed only the smaller.
fn listings() -> Study {
    let mut study = study(&[
        ("old", run(vec![listed(1000, 2_000_000)])),
        ("new", run(vec![listed(1000, 1_000_000)])),
    ]);
    study.doc.profiles = vec!["list-1000".to_owned(), "list-100".to_owned()];
    let small = run(vec![listed(100, 300_000)]);
    study.results.push(result(0, 1, small));
    study
}

#[test]
fn listings_are_plotted_by_their_entries() {
    let study = listings();
    let plot = plot(&study, "00-listings");
    assert_eq!(plot.x.quantity, Quantity::Entries);
    let lines: Vec<Vec<_>> = plot
        .lines
        .iter()
        .map(|line| numbers(line).iter().map(|(x, ..)| *x).collect())
        .collect();
    assert_eq!(lines, [vec![100.0, 1000.0], vec![1000.0]]);
    let [small, large] = &plot.lines[0].points[..] else {
        panic!("two points");
    };
    assert!(small.y < large.y);
    let label = &large.label;
    assert!(label.starts_with("1000 entries, 1 client: "), "{label}");
    let text = to_markdown(&report(&study));
    assert!(text.contains("| entries | old | new |"), "{text}");
}

#[test]
fn one_size_or_other_operations_beside_listings_make_no_plot() {
    let has_plot = |study: &Study| report(study).plots().any(|plot| plot.name == "00-listings");
    let mut study = listings();
    assert!(has_plot(&study));
    let other = point(1, 1, 10.0, 1000).ops.remove("read").unwrap();
    let ops = &mut study.results[2].run.load_points[0].ops;
    ops.insert("read".to_owned(), other);
    assert!(!has_plot(&study));
    study.results.truncate(2);
    assert!(!has_plot(&study));
}

#[test]
fn listings_of_another_class_and_of_another_profile_stand_apart() {
    let of_names = of_class("names", listed(2000, 1_000_000));
    let mut study = study(&[("NAS", of_names)]);
    let profiles = ["./names.toml", "list-2000", "./ours.toml", "list-100"];
    study.doc.profiles = profiles.map(str::to_owned).into();
    let whole = |listed| of_class("directory", listed);
    study.results.extend([
        result(0, 1, whole(listed(2000, 3_000_000))),
        result(0, 2, whole(dropped(listed(2000, 5_000_000)))),
        result(0, 3, whole(listed(100, 200_000))),
    ]);
    let plot = plot(&study, "00-listings");
    let lines = plot.lines.iter().map(|line| {
        let sizes: Vec<_> = numbers(line).iter().map(|(x, ..)| *x).collect();
        (&line.name[..], line.style, sizes)
    });
    let expected = [
        ("NAS (class names)", 0, vec![2000.0]),
        ("NAS (class directory)", 1, vec![100.0, 2000.0]),
        ("NAS (class directory, ./ours.toml)", 2, vec![2000.0]),
    ];
    assert_eq!(lines.collect::<Vec<_>>(), expected);
    let label = &plot.lines[2].points[0].label;
    assert!(
        label.ends_with("; not valid: 1 client dropped out"),
        "{label}"
    );
    let text = to_markdown(&report(&study));
    let rows = text.lines().filter(|line| line.starts_with("| 2000 | "));
    let cells: Vec<_> = rows.flat_map(|row| row.split(" | ")).collect();
    let invalid: Vec<_> = cells.iter().map(|cell| cell.starts_with("\\! ")).collect();
    assert_eq!(invalid, [false, false, false, true], "{cells:?}");
    assert!(text.contains("\n- \\!: not valid\n"), "{text}");
}
