//! The tables of published studies, and of studies that were run here.

mod remarks;

use std::fs;
use std::path::Path;

use insta::assert_snapshot;
use smbench_report::change::Measured;
use smbench_report::doc::LoadPointDoc;
use smbench_report::doubt::Doubt;
use smbench_report::metric::Metric;
use smbench_report::published::{Contender, CurvePoint, comparison, tables};
use smbench_report::study::{ComparisonDoc, ComparisonKind, Study, StudyDoc};
use smbench_report::table::Table;

use crate::samples::{self, document, point, result, run, study_doc};

/// Builds a contender from a published peak without further data.
fn of_peak(name: &str, clients: u32, throughput_mbps: f64) -> Contender {
    Contender {
        name: name.to_owned(),
        metric: Metric::Throughput,
        points: vec![CurvePoint {
            clients,
            passes: 1,
            height: Measured {
                value: throughput_mbps,
                spread: None,
                resolution: 0.0,
            },
            response_mean_ns: None,
            response_p99_ns: None,
            is_generator_limited: false,
            response_doubts: [Doubt::None; 2],
        }],
        left_out: Vec::new(),
        plateau: None,
        remarks: Vec::new(),
    }
}

/// Returns the percentages that a table of these peaks prints, without the first
/// row.
fn printed(kind: ComparisonKind, peaks: &[f64]) -> Vec<String> {
    let contender = |peak: &f64| of_peak("x", 60, *peak);
    let contenders: Vec<_> = peaks.iter().map(contender).collect();
    let table = comparison("", kind, &contenders);
    assert_eq!(Table::cell(&table.rows[0], 3), "-");
    let cells = table.rows[1..].iter().map(|row| Table::cell(row, 3));
    cells.map(str::to_owned).collect()
}

/// VeriTest, "Windows Server 2003 RC2 vs. Red Hat Linux", 2003: peaks in Mbit/s and
/// the printed gain of Windows over Red Hat.
#[test]
fn gains_of_the_report_of_2003() {
    for (windows, red_hat, gain) in [
        (700.0, 350.0, "+100 %"),
        (453.0, 244.0, "+86 %"),
        (632.0, 365.0, "+73 %"),
        (901.0, 462.0, "+95 %"),
        (1088.0, 657.0, "+66 %"),
        // Red Hat 8.0.
        (700.0, 377.0, "+86 %"),
    ] {
        assert_eq!(printed(ComparisonKind::Change, &[red_hat, windows]), [gain]);
    }
    assert_eq!(
        printed(ComparisonKind::Change, &[350.0, 377.0, 700.0]),
        ["+8 %", "+100 %"]
    );
}

/// From the same report: 1, 2, 4 and 8 CPUs, each with the increase over the row
/// before.
#[test]
fn scaling_of_the_report_of_2003() {
    assert_eq!(
        printed(ComparisonKind::Scaling, &[453.0, 632.0, 901.0, 1088.0]),
        ["+40 %", "+43 %", "+21 %"]
    );
    assert_eq!(
        printed(ComparisonKind::Scaling, &[244.0, 365.0, 462.0, 657.0]),
        ["+50 %", "+27 %", "+42 %"]
    );
}

/// VeriTest, 2004: the effect of flushes, on two machines.
#[test]
fn gains_of_the_report_of_2004() {
    const WINDOWS_IGNORES: [f64; 2] = [935.770, 370.34];
    const WINDOWS_HONOURS: [f64; 2] = [853.966, 288.494];
    const SAMBA_IGNORES: [f64; 2] = [586.389, 232.376];
    const SAMBA_HONOURS: [f64; 2] = [549.465, 178.945];
    for (changed, baseline, gains) in [
        // Both as shipped.
        (WINDOWS_HONOURS, SAMBA_IGNORES, ["+46 %", "+24 %"]),
        (WINDOWS_IGNORES, SAMBA_IGNORES, ["+60 %", "+59 %"]),
        (WINDOWS_HONOURS, SAMBA_HONOURS, ["+55 %", "+61 %"]),
        // Effect of the update on Windows.
        (WINDOWS_IGNORES, WINDOWS_HONOURS, ["+10 %", "+28 %"]),
    ] {
        for machine in 0..2 {
            assert_eq!(
                printed(
                    ComparisonKind::Change,
                    &[baseline[machine], changed[machine]]
                ),
                [gains[machine]]
            );
        }
    }
}

#[test]
fn tuning_is_held_against_the_baseline_with_a_sign() {
    assert_eq!(
        printed(ComparisonKind::Change, &[200.0, 226.0, 199.0, 199.9, 346.0]),
        ["+13 %", "-1 %", "0 %", "+73 %"]
    );
}

/// Returns a study of two settings and one that has not run yet. It has two passes
/// over several load points.
pub(crate) fn study(folder: &Path) -> Study {
    let doc = StudyDoc {
        command: Vec::new(),
        load_points: vec![4, 8, 12, 16],
        passes: 2,
        comparisons: vec![
            ComparisonDoc {
                baseline: Some("honours".to_owned()),
                ..samples::comparison(
                    "flush ignored",
                    ComparisonKind::Change,
                    &["ignores", "honours", "to come"],
                )
            },
            samples::comparison(
                "one change at a time",
                ComparisonKind::Scaling,
                &["honours", "ignores"],
            ),
        ],
        ..study_doc(&["ignores", "honours", "to come"])
    };
    doc.save(folder).unwrap();
    for (server, loads) in [
        (0, [[400, 1600, 1568, 1200], [408, 1584, 1600, 1216]]),
        (1, [[300, 1000, 1040, 1004], [304, 1016, 1024, 1060]]),
    ] {
        for (pass, loads) in (1..).zip(loads) {
            let points = [4, 8, 12, 16].into_iter().zip(loads);
            let points = points.map(|(clients, load)| point(clients, 1, load));
            let path = folder.join(doc.run_path(server, 0, pass));
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            document(&run(points.collect())).save(&path).unwrap();
        }
    }
    Study::load(folder).unwrap()
}

#[test]
fn a_study_has_peaks_dips_and_what_it_compares() {
    let folder = tempfile::tempdir().unwrap();
    let tables = tables(&study(folder.path()));
    let text: Vec<_> = tables.iter().map(Table::to_text).collect();
    assert_snapshot!(text.join("\n"), @"
    peak, and response time there
    server   Mbit/s  std dev  clients  mean response      p99  passes  within 5 %
    ignores    65.2    0.463        8        1.21 ms  2.00 ms       2     8 to 12
    honours    42.3    0.463       12        1.22 ms  2.00 ms       2     8 to 16
    peak: the highest valid load point of the mean over passes
    within 5 %: load points around the peak that reach 95 % of it
    std dev: standard deviation over passes; response times are over the operations of all passes

    dip after the peak
    server   peak at  lowest after it  at clients  threshold  dip
    ignores        8          -24.1 %          16     -5.5 %  from 16 clients on
    honours       12            0.0 %          16     -9.8 %  not significant
    dip: load points after the peak that are significantly below it (95 %, all pairs)
    noise: relative standard deviation over passes, of all load points of a server together

    flush ignored
    server   Mbit/s  clients  vs honours     95 % interval  mean response
    honours    42.3       12           -                 -        1.22 ms
    ignores    65.2        8       +54 %  +47.2 to +61.7 %        1.21 ms
    to come       -        -           -                 -              -
    vs honours: change of the peak from the baseline honours
    95 % interval: Welch's over passes, of the percentage
    to come has no valid load point yet

    one change at a time
    server   Mbit/s  clients  vs row above     95 % interval  mean response
    honours    42.3       12             -                 -        1.22 ms
    ignores    65.2        8         +54 %  +47.2 to +61.7 %        1.21 ms
    vs row above: change of the peak from the row above
    95 % interval: Welch's over passes, of the percentage
    ");
}

#[test]
fn load_points_that_are_not_valid_are_no_end_of_a_curve() {
    let folder = tempfile::tempdir().unwrap();
    let mut study = study(folder.path());
    let broken = |point: &mut LoadPointDoc| {
        point.valid = false;
        point.invalid_reason = Some("every client dropped out".to_owned());
    };
    // The first server fails after its peak, and never reaches the last load point.
    // The second has one invalid load point within the curve.
    let lost = &mut study.results[0].run.load_points;
    lost.retain(|point| point.clients < 16);
    let lost = lost.iter_mut().filter(|point| point.clients == 12);
    lost.for_each(broken);
    let within = study.results[1].run.load_points.iter_mut();
    within.filter(|point| point.clients == 8).for_each(broken);
    let tables = tables(&study);
    let titled = |title: &str| tables.iter().find(|table| table.title == title).unwrap();
    let dips = &titled("dip after the peak").rows;
    assert_eq!(
        [&dips[0], &dips[1]].map(|row| Table::cell(row, 5)),
        [
            "none: the peak is the last valid load point; no valid result at 12, 16 clients",
            "not significant",
        ]
    );
    for title in ["peak, and response time there", "flush ignored"] {
        let notes = &titled(title).notes;
        for remark in [
            "ignores: no valid result at 12, 16 clients",
            "honours: no valid result at 8 clients",
        ] {
            assert!(notes.iter().any(|note| note == remark), "{notes:?}");
        }
    }
    // After the peak it is in the verdict.
    let of_second = study.results[1].run.load_points.iter_mut();
    let of_second = of_second.filter(|point| point.clients > 8);
    of_second.for_each(|point| {
        point.throughput_mbps /= 10.0;
        point.valid = point.clients == 16;
    });
    let again = smbench_report::published::tables(&study);
    let dips = again
        .iter()
        .find(|table| table.title == "dip after the peak");
    let verdict = Table::cell(&dips.unwrap().rows[1], 5);
    assert_eq!(
        verdict,
        "from 16 clients on; no valid result at 8, 12 clients"
    );
}

#[test]
fn several_profiles_have_tables_of_their_own() {
    let folder = tempfile::tempdir().unwrap();
    let mut study = study(folder.path());
    study.doc.profiles.push("web-server".to_owned());
    study.doc.profiles.push("to come".to_owned());
    let alone = document(&run(vec![point(4, 1, 400)]));
    study.results.push(result(0, 1, alone));
    let titles: Vec<_> = tables(&study)
        .into_iter()
        .map(|table| table.title)
        .collect();
    assert_eq!(
        titles,
        [
            "file-server: peak, and response time there",
            "file-server: dip after the peak",
            "file-server: flush ignored",
            "file-server: one change at a time",
            "web-server: peak, and response time there",
            "web-server: flush ignored",
            "web-server: one change at a time",
        ]
    );
}
