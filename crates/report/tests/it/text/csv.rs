//! Results as rows.

use insta::assert_snapshot;
use smbench_model::Nanos;
use smbench_model::kind::OpKind;
use smbench_model::record::{OperationFailure, Phase};
use smbench_model::stages::StagesPurpose;
use smbench_report::doc::{MachineDoc, Named, StageDoc, StageUnitDoc, StreamsDoc};
use smbench_report::metric::Metric;
use smbench_report::{RunDoc, write_csv};

use crate::samples::{book, document, on_a_busy_server, point, run};

#[test]
fn csv_counts_errors_of_the_ramps() {
    let mut failing = point(1, 1, 4);
    book(&mut failing.ops, Phase::Outside, |ops| {
        ops.failure(OpKind::Flush, OperationFailure::Short);
    });
    let mut written = Vec::new();
    write_csv(&document(&run(vec![failing])), &mut written).unwrap();
    let written = String::from_utf8(written).unwrap();
    let errors: Vec<_> = written
        .lines()
        .map(|line| line.split(',').nth(7).unwrap())
        .collect();
    assert_eq!(errors, ["errors", "1", "1", "0", "0"]);
}

/// Final flushes come after the window, so a rate over the window's length would be
/// wrong.
#[test]
fn flushes_at_the_end_have_latencies_but_no_rate() {
    let mut flushing = point(1, 1, 4);
    book(&mut flushing.ops, Phase::Outside, |ops| {
        ops.success(OpKind::FinalFlush, 0, Nanos(1_000_000));
    });
    let doc = document(&run(vec![flushing]));
    let mut written = Vec::new();
    write_csv(&doc, &mut written).unwrap();
    let written = String::from_utf8(written).unwrap();
    let mut rows = written.lines().map(|line| line.split(',').collect());
    let row: Vec<_> = rows.find(|row: &Vec<_>| row[4] == "final_flush").unwrap();
    assert_eq!((row[5], row[8], row[9]), ("1", "", ""), "{row:?}");
    assert!(!row[10].is_empty(), "{row:?}");
    let measured = |metric: Metric, op| metric.measured(&[&doc.load_points[0]], Some(op));
    assert!(measured(Metric::Operations, "flush").is_some());
    assert!(measured(Metric::Operations, "final_flush").is_none());
    assert!(measured(Metric::Mean, "final_flush").is_some());
}

#[test]
fn csv_has_a_row_per_point_and_operation() {
    let mut written = Vec::new();
    let mut doc = document(&run(vec![on_a_busy_server(point(8, 1, 1600))]));
    doc.machine = Some(MachineDoc {
        cpus: Some(2),
        ..MachineDoc::default()
    });
    write_csv(&doc, &mut written).unwrap();
    assert_snapshot!(String::from_utf8(written).unwrap(), @"
    clients,repeat,valid,window_s,op,count,bytes,errors,throughput_mbps,ops_per_s,response_mean_ns,response_min_ns,response_max_ns,response_p50_ns,response_p90_ns,response_p95_ns,response_p99_ns,response_p999_ns,client_cpu_us_per_op,client_max_rss_bytes,client_cpu_cores,client_cpu_percent,client_mbps_per_percent,client_ops_per_s_per_percent,server_cpu_scope,server_cpu_cores,server_cpu_percent,server_cpu_us_per_op,server_mbps_per_percent,server_ops_per_s_per_percent,asked_ops_per_s,differing,differing_share,population,population_clients,units,asked_ops_per_s_per_client,reached_mean_percent,reached_slowest_percent,entries,stage,stage_begin_s,frames,late_frames
    8,1,true,10,all,20010,81920000,0,65.536,2001,1214626.7346326837,999936,30015487,1000447,2000895,2000895,2000895,2000895,24.987506246876563,50331648,2,2.5,26.2144,800.4,machine,4,25,499.7501249375312,2.62144,80.04,,,,,,,,,,,,,,
    8,1,true,10,flush,10,0,0,0,1,30007296,29999104,30015487,30015487,30015487,30015487,30015487,30015487,,,,,,,,,,,,,,,,,,,,,,,,,,
    8,1,true,10,read,16000,65536000,0,52.4288,1600,1000192,999936,1000447,1000447,1000447,1000447,1000447,1000447,,,,,,,,,,,,,,,,,,,,,,,,,,
    8,1,true,10,write,4000,16384000,0,13.1072,400,2000384,1999872,2000895,2000895,2000895,2000895,2000895,2000895,,,,,,,,,,,,,,,,,,,,,,,,,,
    ");
}

/// Names in listings stand at the operations that have them, and once in their sum.
#[test]
fn listings_have_their_entries() {
    let mut doc = document(&run(vec![point(1, 1, 4)]));
    let ops = &mut doc.load_points[0].ops;
    for (name, entries) in [("list", 2000), ("list_first", 1500), ("list_cached", 4000)] {
        let mut listed = ops["read"].clone();
        listed.entries = Some(entries);
        ops.insert(name.to_owned(), listed);
    }
    assert_eq!(
        columns(&doc, ["op", "entries"]),
        [
            ["op", "entries"],
            ["all", "2000"],
            ["flush", ""],
            ["list", "2000"],
            ["list_cached", "4000"],
            ["list_first", "1500"],
            ["read", ""],
            ["write", ""]
        ]
    );
}

/// The rows of stages differ in their stage. Frames are those of all operations.
#[test]
fn stages_and_frames_have_columns() {
    let mut doc = document(&run(vec![point(1, 1, 4), point(1, 1, 4)]));
    for (point, number) in doc.load_points.iter_mut().zip([1_u32, 2]) {
        point.stage = Some(StageDoc {
            number,
            unit: Named::Known(StageUnitDoc::Clients),
            begin_s: f64::from(number) * 60.0,
            length_s: 60.0,
            from: 1.0,
            to: 1.0,
            clients_at_start: None,
            purpose: StagesPurpose::Lines,
        });
    }
    doc.load_points[1].streams = Some(StreamsDoc {
        frames: 240,
        late: 3,
        late_share: Some(0.0125),
        missing: 1,
        streams_late: 1,
        longest_late_ns: 7,
        longest_gap_ns: 9,
        least_buffered_ns: None,
    });
    let names = ["op", "stage", "stage_begin_s", "frames", "late_frames"];
    assert_eq!(
        columns(&doc, names),
        [
            names,
            ["all", "1", "60", "", ""],
            ["flush", "1", "60", "", ""],
            ["read", "1", "60", "", ""],
            ["write", "1", "60", "", ""],
            ["all", "2", "120", "240", "3"],
            ["flush", "2", "120", "", ""],
            ["read", "2", "120", "", ""],
            ["write", "2", "120", "", ""]
        ]
    );
}

/// Returns these columns of a document's rows, with their names.
fn columns<const N: usize>(doc: &RunDoc, names: [&str; N]) -> Vec<[String; N]> {
    let mut written = Vec::new();
    write_csv(doc, &mut written).unwrap();
    let written = String::from_utf8(written).unwrap();
    let rows = written.lines().map(|line| line.split(',').collect());
    let rows: Vec<Vec<&str>> = rows.collect();
    let at = names.map(|name| rows[0].iter().position(|column| *column == name).unwrap());
    let cells = rows.iter().map(|row| at.map(|at| row[at].to_owned()));
    cells.collect()
}
