//! The text of the page, and its references.

use std::collections::BTreeMap;

use smbench_model::load::Ramp;
use smbench_model::workload::Timing;
use smbench_publish::{report, to_html, to_markdown};
use smbench_report::doc::{LoopDoc, MachineDoc, Named, OfferedDoc, ReplayDoc, StorageDoc};
use smbench_report::study::{ComparisonKind, Study};

use crate::samples::{comparison, full, point, run, study};

#[test]
fn the_page_refers_to_nothing_outside_itself() {
    let page = to_html(&report(&full())).unwrap();
    assert!(!page.contains("<script"), "no script");
    for attribute in ["src=", "href=", "url(", "@import", "srcset="] {
        for (at, _) in page.match_indices(attribute) {
            let target = &page[at + attribute.len()..];
            let is_own = target.starts_with("\"#section-") || target.starts_with("\"data:,\"");
            assert!(is_own, "{attribute}{}", &target[..40.min(target.len())]);
        }
    }
    // Names of XML namespaces are not requests, but plots in a page need none.
    assert!(!page.contains("http://") && !page.contains("https://"));
}

#[test]
fn everything_that_must_be_disclosed_is() {
    let mut study = full();
    let run = &mut study.results[0].run;
    run.server.notes.push("a note of the run".to_owned());
    run.server.software = Some("Samba 4.17.12".to_owned());
    run.server.storage = Some(StorageDoc {
        filesystem: "tmpfs".to_owned(),
        source: "tmpfs".to_owned(),
        in_memory: true,
    });
    run.command = ["smbench", "run", "--duration", "3s"]
        .map(str::to_owned)
        .into();
    run.machine = Some(MachineDoc {
        system: Some("Some Linux 12".to_owned()),
        cpus: Some(2),
        memory_bytes: Some(8 << 30),
        ..MachineDoc::default()
    });
    let text = to_markdown(&report(&study));
    for part in [
        "SMB 3.1.1",
        "signed (aes-128-cmac)",
        "not encrypted",
        "strict sync = yes",
        "the note of the study",
        "a note of the run",
        "seed 42",
        "2cc105ebbfd5e154e3e94f483c9b5570465be0c5d113242acb655b89203b64b3",
        "smbench suite 'my suite.toml'",
        "- command: smbench run --duration 3s\n",
        "- software: Samba 4.17.12\n",
        "- storage: tmpfs, in memory\n",
        "smbench 0.1.0",
        "2 threads",
        "Some Linux 12, 2 CPUs, 8 GiB of memory",
        "48 MiB of memory at most",
        "READ 8 MiB, WRITE 8 MiB, transactions 1 MiB",
        "signing as the server requires",
        "2026-01-31T12:00:00Z",
    ] {
        assert!(text.contains(part), "{part}:\n{text}");
    }
}

#[test]
fn ramps_are_described_as_they_were() {
    const LEFT_OUT: &str = "ramps before and after a window run at full load and are left out.";
    const JOINING: &str = "In the ramp before a window clients join one by one; it is left out.";
    const NONE: &str = "There are no ramps: a window begins with the load and ends with the last \
                        client, so all that is done is measured.";
    let words = |study: &Study| to_markdown(&report(study));
    let mut study = full();
    let text = words(&study);
    assert!(text.contains(&format!("- The {LEFT_OUT}\n")), "{text}");
    for result in &mut study.results {
        let plan = &mut result.run.plan;
        (plan.ramp, plan.ramp_down_s) = (Some(Named::Known(Ramp::Linear)), 0.0);
    }
    let text = words(&study);
    assert!(text.contains(&format!("- {JOINING}\n")), "{text}");
    assert!(!text.contains(LEFT_OUT), "{text}");
    // Add another profile, in which each client ends on its own.
    let mut replay = study.results[0].clone();
    study.doc.profiles.push("office".to_owned());
    replay.profile = 1;
    replay.run.plan.workload.replay = Some(ReplayDoc {
        source: "office.txt".to_owned(),
        sha256: String::new(),
        lines: 1,
        operations: BTreeMap::new(),
        skipped: BTreeMap::new(),
        closed: 0,
        bytes_read: 0,
        bytes_written: 0,
        timing: Named::Known(Timing::Fast),
        loops: Some(1),
        length_s: None,
        speed: None,
        clients_per_copy: None,
        recorded_users: None,
        recorded: [].into(),
    });
    study.results.push(replay);
    let text = words(&study);
    assert!(
        text.contains(&format!("- file-server: {JOINING}\n")),
        "{text}"
    );
    assert!(text.contains(&format!("- office: {NONE}\n")), "{text}");
}

#[test]
fn passes_that_are_not_valid_are_in_no_number() {
    let text = to_markdown(&report(&full()));
    let row = |start: &str| text.lines().find(|line| line.starts_with(start)).unwrap();
    assert_eq!(row("| 16 | 285.0"), "| 16 | 285.0 | \\! 20.0 |");
    let peak = row("| Samba, ignores them | 508.0");
    assert!(
        peak.starts_with("| Samba, ignores them | 508.0 | 10.6 | 8 |"),
        "{peak}"
    );
}

/// The peak of a rate would be the load point with the most arrivals.
#[test]
fn a_rate_that_was_missed_is_reported_in_one_line_and_has_no_peak() {
    let mut missed = point(8, 1, 300.0, 400_000);
    missed.offered = Some(OfferedDoc {
        operations: 1_000_000,
        ops_per_s: 100_000.0,
        answered: Some(95_360),
        rate_missed: Some(true),
        late: 0,
        dropped: 904_640,
        unanswered: 904_640,
        unanswered_ns_max: 9_000_000_000,
        delay_ns_max: 0,
    });
    let mut measured = run(vec![missed]);
    measured.pacing = LoopDoc::Rate;
    let text = to_markdown(&report(&study(&[("NAS", measured)])));
    assert!(text.contains("; lower rate, or raise"), "{text}");
    assert!(!text.contains("peak 300.0 Mbit/s"), "{text}");
    let closed = run(vec![point(8, 1, 300.0, 400_000)]);
    let text = to_markdown(&report(&study(&[("NAS", closed)])));
    assert!(text.contains("peak 300.0 Mbit/s (37.5 MB/s), "), "{text}");
}

/// A folder's name says nothing about what is in it.
#[test]
fn a_page_begins_with_what_was_measured_where_and_when() {
    let head = |study: &Study| {
        let (page, text) = (
            to_html(&report(study)).unwrap(),
            to_markdown(&report(study)),
        );
        let title = page.split("<title>").nth(1).unwrap();
        let title = title.split("</title>").next().unwrap().to_owned();
        let (head, _) = text.split_once("\n## ").unwrap();
        let lines = head.lines().filter(|line| !line.is_empty());
        (title, lines.map(str::to_owned).collect::<Vec<_>>())
    };
    let mut study = full();
    study.doc.title = "Our title".to_owned();
    study.doc.name = "folder".to_owned();
    for result in &mut study.results {
        result.run.started = "2026-01-31T12:00:00Z".to_owned();
    }
    let when = "Measured on 2026-01-31, from 12:00 UTC on.";
    let servers = "file-server: Samba, honours flushes; Samba, ignores them";
    let (title, lines) = head(&study);
    assert_eq!(title, "Our title, 2026-01-31");
    assert_eq!(lines, ["# Our title", servers, when]);
    // A suite without a title has the name of its file, which says nothing either.
    study.doc.title = "folder".to_owned();
    assert_eq!(head(&study).1, [&format!("# {servers}"), when]);
    // Documents of a folder: a place once, though the names of its results have times.
    study.doc.command.clear();
    study.doc.title = "folder".to_owned();
    let (title, lines) = head(&study);
    assert_eq!(title, format!("{servers}, 2026-01-31"));
    assert_eq!(lines, [&format!("# {servers}"), when]);
    for (server, time) in study.doc.servers.iter_mut().zip(["12:00", "12:10"]) {
        server.url = Some("smb://ann@nas.example/bench/a".to_owned());
        server.name = format!("nas.example/bench ({time})");
    }
    let (_, lines) = head(&study);
    assert_eq!(lines[0], "# file-server: nas.example/bench");
    let results = "file-server: nas.example/bench (12:00), nas.example/bench (12:10)";
    assert_eq!(lines[1], results);
    study.results[1].run.started = "2026-02-01T00:10:00Z".to_owned();
    let (_, lines) = head(&study);
    let when =
        "Measured from 2026-01-31, 12:00 UTC on. The last result is of 2026-02-01, 00:10 UTC.";
    assert_eq!(lines[2], when);
}

#[test]
fn what_holds_for_all_servers_is_said_once() {
    let measured = || {
        let mut late = point(8, 1, 300.0, 400_000);
        late.latency_noise_ns.insert("p99".to_owned(), 300_000);
        run(vec![point(1, 1, 100.0, 100_000), late])
    };
    let text = to_markdown(&report(&study(&[("one", measured()), ("two", measured())])));
    for once in [
        "- Answers handled late, ^: all servers at 8 clients.\n",
        "- all servers: latency noise at 8 clients: ",
    ] {
        assert_eq!(text.matches(once).count(), 1, "{once}: {text}");
    }
    let load_points = text.split("\n### Load points\n").nth(1).unwrap();
    let note = "- us/op: CPU time of smbench";
    assert_eq!(load_points.matches(note).count(), 1, "{text}");
    // The notes of the servers as well.
    let mut study = study(&[("one", measured()), ("two", measured())]);
    for result in &mut study.results {
        result.run.server.notes = vec!["a note of both".to_owned()];
    }
    let text = to_markdown(&report(&study));
    assert_eq!(text.matches("- a note of both\n").count(), 1, "{text}");
}

#[test]
fn a_mark_stands_at_each_value_that_it_concerns() {
    let mut late = point(8, 1, 300.0, 400_000);
    late.latency_noise_ns.insert("p99".to_owned(), 300_000);
    late.generator_limited = Some(true);
    let mut study = study(&[
        ("NAS", run(vec![point(1, 1, 100.0, 100_000), late])),
        ("other", run(vec![point(8, 1, 200.0, 400_000)])),
    ]);
    study.doc.comparisons = vec![comparison("c", ComparisonKind::Change, &["NAS", "other"])];
    let text = to_markdown(&report(&study));
    for row in [
        // A change from a peak is no better than the peak.
        "| NAS | \\~ 300.0 | 8 | - | \\~ 578 us |",
        "| other | 200.0 | 8 | \\~ -33 % | 578 us |",
        // The peak, percentiles, operations and load points.
        "| NAS | \\~ 300.0 | - | 8 | \\~ 578 us | ^ 2.00 ms | 1 | 8 |",
        "| NAS | 8 | 1000 | \\~ 578 us | \\~ 400 us | \\~ 400 us | \\~ 2.00 ms | ^ 2.00 ms | ^ 2.00 ms | ^ 20.0 ms |",
        "| 8 | \\~ 300.0 | \\~ 9000 | \\~ 578 us | \\~ 400 us | \\~ 2.00 ms | ^ 2.00 ms | ^ 2.00 ms | ^ 20.0 ms |",
    ] {
        assert!(text.contains(row), "{row}: {text}");
    }
    let read = text
        .lines()
        .find(|line| line.starts_with("| read | 1000 |"))
        .unwrap();
    assert!(read.contains("| ^ 2.00 ms | ^ 20.0 ms |"), "{read}");
}

/// The style sheet shows the hint only where the table is wider than the page.
#[test]
fn a_table_that_may_scroll_has_a_hint_and_a_title_that_does_not_scroll() {
    let report = report(&full());
    let page = to_html(&report).unwrap();
    let tables = page.matches("<table>").count();
    assert!(tables > 5);
    assert_eq!(page.matches("<p class=\"more\">").count(), tables);
    assert!(!page.contains("<caption"), "as wide as its table");
    assert!(page.contains("<figcaption>file-server: peaks</figcaption><div class=\"wide\""));
    // The first plot has the width of the page, and is there for narrow screens as well.
    let figure = page.split("<figure class=\"plot").nth(1).unwrap();
    assert!(figure.starts_with(" across\"><svg class=\"page\""));
    let figure = figure.split("</figure>").next().unwrap();
    assert_eq!(figure.matches("<svg class=\"column\"").count(), 1);
    let rings = page.matches("Ring at").count() + page.matches("Square:").count();
    assert_eq!(rings, 0, "nothing to explain");
}
