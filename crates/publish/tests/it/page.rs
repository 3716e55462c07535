//! The text of the page, and its references.

use std::collections::BTreeMap;

use smbench_model::plan::{Ramp, Timing};
use smbench_publish::{report, to_html, to_markdown};
use smbench_report::doc::{LoopDoc, MachineDoc, Named, OfferedDoc, ReplayDoc, StorageDoc};
use smbench_report::study::Study;

use crate::samples::{full, point, run, study};

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
    let told = |study: &Study| to_markdown(&report(study));
    let mut study = full();
    let text = told(&study);
    assert!(text.contains(&format!("- The {LEFT_OUT}\n")), "{text}");
    for result in &mut study.results {
        let plan = &mut result.run.plan;
        (plan.ramp, plan.ramp_down_s) = (Some(Named::Known(Ramp::Linear)), 0.0);
    }
    let text = told(&study);
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
    });
    study.results.push(replay);
    let text = told(&study);
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
fn a_rate_that_was_missed_is_told_in_one_line_and_has_no_peak() {
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
    assert!(text.contains("; lower --rate, or raise"), "{text}");
    assert!(!text.contains("peak 300.0 Mbit/s"), "{text}");
    let closed = run(vec![point(8, 1, 300.0, 400_000)]);
    let text = to_markdown(&report(&study(&[("NAS", closed)])));
    assert!(text.contains("peak 300.0 Mbit/s (37.5 MB/s), "), "{text}");
}
