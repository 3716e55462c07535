//! The table of an adapter study, computed from documents alone.

use smbench_model::cpu::CpuScope;
use smbench_report::RunDoc;
use smbench_report::doc::{LoadPointDoc, Named};
use smbench_report::published::{adapter, tables};
use smbench_report::study::{Study, StudyDoc, TransferMode};

use crate::samples::{
    document, metadata_point, on_a_busy_server, point, result, run, study_doc, transfer,
};

/// Returns a run with this number of reads per second on a server with this CPU
/// utilisation.
fn of(reads: u64, percent: f64) -> RunDoc {
    let mut doc = document(&run(vec![on_a_busy_server(point(20, 1, reads))]));
    let LoadPointDoc {
        throughput_mbps,
        server_cpu,
        ..
    } = &mut doc.load_points[0];
    let cpu = server_cpu.as_mut().unwrap();
    cpu.percent = Some(percent);
    cpu.mbps_per_percent = Some(*throughput_mbps / percent);
    doc.server.max_read_bytes = 1 << 20;
    doc.server.max_write_bytes = 1 << 20;
    doc
}

fn study() -> Study {
    let transfers = vec![
        transfer(TransferMode::Transmit, 4096),
        transfer(TransferMode::Duplex, 8 << 20),
    ];
    let mut profiles: Vec<_> = transfers.iter().map(|made| made.profile.clone()).collect();
    profiles.push("web-server".to_owned());
    let unknown = document(&run(vec![point(20, 1, 800)]));
    Study {
        doc: StudyDoc {
            profiles,
            load_points: vec![20],
            transfers,
            ..study_doc(&["fast", "frugal", "unknown"])
        },
        calibration: None,
        unread: Vec::new(),
        set_aside: None,
        results: vec![
            result(0, 0, of(1000, 50.0)),
            result(1, 0, of(400, 10.0)),
            result(2, 0, unknown),
            result(0, 2, of(100, 50.0)),
            result(1, 2, of(400, 100.0)),
        ],
    }
}

#[test]
fn servers_are_ranked_by_efficiency_in_each_pattern() {
    let study = study();
    let text = adapter(&study).unwrap().to_text();
    let lines: Vec<_> = text.lines().collect();
    let columns = |at: usize| lines[at].split_whitespace().collect::<Vec<_>>();
    assert_eq!(
        columns(1),
        [
            "pattern", "server", "rank", "Mbit/s", "ops/s", "CPU", "P/E", "us/op"
        ]
    );
    // 1250 operations of 4 KiB per second are 40.96 Mbit/s; one operation is a
    // flush.
    let row = |at: usize| columns(at).join(" ");
    assert_eq!(row(2), "transmit, 4 KiB frugal 1 16.4 501 10.0 % 1.64 1996");
    assert!(row(3).starts_with("transmit, 4 KiB fast 2 41.0 1251 50.0 % 0.82 "));
    assert!(row(4).starts_with("transmit, 4 KiB unknown - "), "{text}");
    assert!(row(4).ends_with(" - - -"), "{text}");
    assert_eq!(row(5), "duplex, 8 MiB fast - - - - - -");
    assert!(row(8).starts_with("web-server frugal 1 "), "{text}");
    assert!(row(9).starts_with("web-server fast 2 "), "{text}");
    for note in [
        "transmit is what it sends",
        "20 clients; ",
        "CPU of fast, frugal: all that its machine did, as reported by http://files.example:9100/metrics; 4 cores",
        "CPU of unknown: not measured, so no P/E and no rank: the server is on another machine",
        "fast takes READ up to 1 MiB and WRITE up to 1 MiB: left out duplex, 8 MiB",
    ] {
        assert!(text.contains(note), "{note}: {text}");
    }
}

#[test]
fn servers_whose_cpu_is_not_of_the_same_kind_are_ranked_apart() {
    let mut study = study();
    for result in study.results.iter_mut().filter(|result| result.server == 0) {
        let cpu = result.run.load_points[0].server_cpu.as_mut().unwrap();
        cpu.scope = Some(Named::Known(CpuScope::Processes));
    }
    let text = adapter(&study).unwrap().to_text();
    let rows: Vec<Vec<_>> = text
        .lines()
        .map(|line| line.split_whitespace().collect())
        .collect();
    assert!(rows[1].ends_with(&["us/op", "CPU", "of"]), "{text}");
    // The frugal server has twice the P/E, but its CPU time is of another kind.
    for (at, begin, end) in [
        (2, "transmit, 4 KiB fast 1 41.0", "processes"),
        (3, "transmit, 4 KiB frugal 1 16.4", "machine"),
        (4, "transmit, 4 KiB unknown - ", "-"),
        (5, "duplex, 8 MiB fast - ", "-"),
    ] {
        let row = rows[at].join(" ");
        assert!(row.starts_with(begin) && row.ends_with(end), "{row}");
    }
    for note in [
        "CPU of fast: the processes that serve; 4 cores",
        "the two do not compare, and are ranked apart",
    ] {
        assert!(text.contains(note), "{note}: {text}");
    }
}

#[test]
fn passes_whose_cpu_is_of_two_kinds_are_reported() {
    let mut study = study();
    let points = &mut study.results[0].run.load_points;
    let mut second = points[0].clone();
    second.repeat = 2;
    second.server_cpu.as_mut().unwrap().scope = Some(Named::Known(CpuScope::Processes));
    points.push(second);
    let text = adapter(&study).unwrap().to_text();
    let phrase = "CPU of fast: of two kinds over its passes, so no rank: transmit, 4 KiB\n";
    assert!(text.contains(phrase), "{text}");
}

#[test]
fn one_table_is_all_that_one_load_point_needs() {
    let mut study = study();
    assert_eq!(tables(&study).len(), 1);
    study.doc.load_points.push(40);
    assert!(tables(&study).len() > 1);
    study.doc.transfers.clear();
    assert_eq!(adapter(&study), None);
}

/// Other studies have a table for each profile instead of one for all, if any CPU
/// was measured.
#[test]
fn servers_of_other_studies_are_ranked_by_efficiency_in_each_profile() {
    let mut study = study();
    study.doc.transfers.clear();
    let ranked = |study: &Study| {
        let tables = tables(study).into_iter();
        let ranked = tables.filter(|table| table.title.ends_with(": ranked by P/E at the peak"));
        ranked.map(|table| table.to_text()).collect::<Vec<_>>()
    };
    let found = ranked(&study);
    let [transmit, web] = &found[..] else {
        panic!("{found:?}");
    };
    assert!(transmit.starts_with("transmit-4096: ") && web.starts_with("web-server: "));
    let rows: Vec<_> = transmit.lines().skip(2).take(3).collect();
    for (row, begin) in rows
        .iter()
        .zip(["1 frugal 16.4 501 10.0 % 1.64", "2 fast ", "- unknown "])
    {
        let words: Vec<_> = row.split_whitespace().collect();
        assert!(words.join(" ").starts_with(begin), "{transmit}");
    }
    assert!(
        transmit.contains("CPU of fast, frugal: all that its machine did, as reported by http://"),
        "{transmit}"
    );
    // One server alone has no rank.
    let cpu = study.results[1].run.load_points[0].server_cpu.as_mut();
    cpu.unwrap().percent = None;
    let found = ranked(&study);
    assert!(
        found.len() == 1 && found[0].starts_with("web-server: "),
        "{found:?}"
    );
    for result in &mut study.results {
        let cpu = result.run.load_points[0].server_cpu.as_mut().unwrap();
        cpu.percent = None;
    }
    assert_eq!(ranked(&study), [""; 0]);
}

#[test]
fn one_server_alone_is_not_ranked() {
    let mut study = study();
    study.doc.servers.truncate(1);
    study.results.retain(|result| result.server == 0);
    let text = adapter(&study).unwrap().to_text();
    assert!(!text.contains("rank"), "{text}");
    let row = text.lines().nth(2).unwrap().split_whitespace();
    let row: Vec<_> = row.collect();
    assert_eq!(row[..6], ["transmit,", "4", "KiB", "fast", "41.0", "1251"]);
    study.doc.transfers.clear();
    let tables = tables(&study);
    assert!(
        !tables.iter().any(|table| table.title.contains("ranked")),
        "{tables:?}"
    );
}

/// A pattern of commands that move no data, next to others that do.
#[test]
fn patterns_without_data_are_ranked_by_operations() {
    let mut study = study();
    let metadata = |echos| document(&run(vec![on_a_busy_server(metadata_point(20, echos))]));
    study.results[3].run = metadata(300);
    study.results[4].run = metadata(100);
    let text = adapter(&study).unwrap().to_text();
    let rows = text.lines().filter(|line| line.starts_with("web-server"));
    let rows: Vec<Vec<_>> = rows.map(|row| row.split_whitespace().collect()).collect();
    assert_eq!(
        rows[0][..5],
        ["web-server", "fast", "1", "-", "600"],
        "{text}"
    );
    assert_eq!(rows[0][7], "-", "{text}");
    assert_eq!(
        rows[1][..5],
        ["web-server", "frugal", "2", "-", "200"],
        "{text}"
    );
    let rule =
        "rank: by P/E (by operations per second for each percent where no data is moved), among ";
    assert!(text.contains(rule), "{text}");
}
