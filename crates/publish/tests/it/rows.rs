//! Plots as rows for spreadsheets.

use smbench_publish::report;
use smbench_report::study::Study;

use crate::samples::{full, point, run, study};

/// Returns the rows of a plot of the report on a study, the header first.
fn rows(study: &Study, name: &str) -> Vec<String> {
    let report = report(study);
    let plot = report.plots().find(|plot| plot.name == name);
    let plot = plot.unwrap_or_else(|| panic!("no {name}"));
    let csv = String::from_utf8(plot.to_csv().unwrap()).unwrap();
    csv.lines().map(str::to_owned).collect()
}

#[test]
fn the_points_of_a_plot_are_rows() {
    let throughput = rows(&full(), "01-file-server-throughput");
    let header = "line,clients,throughput_mbps,low,high,valid,generator_limited,latency_doubt";
    assert_eq!(throughput[0], header);
    let row = "\"Samba, honours flushes\",8,305,300,310,true,false,";
    assert_eq!(throughput[2], row);
    let row = "\"Samba, ignores them\",16,20,,,false,false,";
    assert_eq!(throughput[6], row);
    assert_eq!(throughput.len(), 1 + 6);
    let percentiles = rows(&full(), "01-file-server-percentiles");
    assert!(percentiles[0].starts_with("line,percentile,response_ns,low,"));
    let median = percentiles.iter().filter(|row| row.contains(",50,"));
    assert_eq!(median.count(), 2, "of each server");
}

#[test]
fn rows_show_where_the_generator_was_the_limit() {
    for is_limited in [false, true] {
        let mut measured = point(8, 1, 300.0, 400_000);
        measured.generator_limited = Some(is_limited);
        let mut other = point(4, 1, 200.0, 400_000);
        other.generator_limited = Some(is_limited);
        let study = study(&[("NAS", run(vec![measured, other]))]);
        let of_throughput = ("throughput", is_limited);
        let of_latency = ["percentiles", "time-median", "time-p99"].map(|name| (name, false));
        for (name, is_marked) in [of_throughput].into_iter().chain(of_latency) {
            let rows = rows(&study, &format!("01-file-server-{name}"));
            assert!(rows.len() > 1, "{name}");
            let end = format!(",true,{is_marked},");
            for row in &rows[1..] {
                assert!(row.ends_with(&end), "{name}: {row}");
            }
        }
    }
}
