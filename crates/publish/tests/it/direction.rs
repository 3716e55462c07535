//! A change has the same sign everywhere: `compare`, `show` and the report print
//! the same change of a study from the same baseline.

use std::fs;
use std::path::Path;

use smbench_publish::{ReportBlock, report};
use smbench_report::block::Block;
use smbench_report::compare::{Input, compare};
use smbench_report::metric::Metric;
use smbench_report::published::tables;
use smbench_report::study::{ComparisonDoc, ComparisonKind, Study};
use smbench_report::table::Table;
use smbench_report::{FactSource, FlushDoc, RunDoc, WriteDoc, WritePolicyDoc};

use crate::samples::{comparison, curve, dropped, point, run, study};

const DEFAULT: &str = "Samba default";
const TUNED: &str = "Samba tuned";

/// Saves a study of servers with these peaks in a folder.
fn saved(folder: &Path, peaks: &[(&str, f64)], compared: ComparisonDoc) {
    let servers: Vec<_> = peaks
        .iter()
        .map(|(name, peak)| (*name, curve(*peak)))
        .collect();
    let mut study = study(&servers);
    study.doc.comparisons = vec![compared];
    study.doc.save(folder).unwrap();
    for result in &study.results {
        let path = folder.join(study.doc.run_path(result.server, result.profile, 1));
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        result.run.save(&path).unwrap();
    }
}

/// Returns the table of peaks in the report.
fn reported(study: &Study) -> Table {
    let page = report(study);
    let mut sections = page.sections.iter();
    let section = sections.find(|section| section.title == "Comparisons");
    let mut blocks = section.unwrap().parts.iter().flat_map(|part| &part.blocks);
    let table = blocks.find_map(|block| match block {
        ReportBlock::Plain(Block::Table(table)) => Some(table.clone()),
        _ => None,
    });
    table.unwrap()
}

/// Returns a server's cell in a table of peaks: the name of the column and the
/// percentage.
fn printed(table: &Table, server: &str) -> (String, f64) {
    let column = table
        .columns
        .iter()
        .position(|column| column.name.starts_with("vs "));
    let column = column.unwrap();
    let row = table.rows.iter().find(|row| Table::cell(row, 0) == server);
    let percent = row.unwrap()[column].exact.unwrap();
    (table.columns[column].name.clone(), percent)
}

#[test]
fn all_commands_print_the_same_change_of_a_study() {
    let of = |kind, baseline: Option<&str>| ComparisonDoc {
        baseline: baseline.map(str::to_owned),
        ..comparison("tuned over default", kind, &[DEFAULT, TUNED])
    };
    for (compared, baseline, changed, percent) in [
        (of(ComparisonKind::Change, None), DEFAULT, TUNED, 100.0),
        (
            of(ComparisonKind::Change, Some(DEFAULT)),
            DEFAULT,
            TUNED,
            100.0,
        ),
        (
            of(ComparisonKind::Change, Some(TUNED)),
            TUNED,
            DEFAULT,
            -50.0,
        ),
        // As in a document of an earlier release, which printed -50 % in the tuned
        // server's row.
        (of(ComparisonKind::Gain, None), DEFAULT, TUNED, 100.0),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let peaks = [(DEFAULT, 500.0), (TUNED, 1000.0)];
        saved(folder.path(), &peaks, compared.clone());
        let study = Study::load(folder.path()).unwrap();
        let shown = tables(&study);
        let shown = shown.iter().find(|table| table.title == compared.title);
        let text = shown.unwrap().notes.iter();
        let text = text.filter(|note| note.contains("an earlier release wrote this study"));
        assert_eq!(
            text.count(),
            usize::from(compared.kind == ComparisonKind::Gain)
        );

        let reported = reported(&study);
        let found = compare(&[Input::load(folder.path()).unwrap()]).unwrap();
        let [pair] = &found.pairs[..] else {
            panic!("one pair: {found:?}");
        };
        let names = [&pair.baseline, &pair.other].map(|side| side.server.as_deref());
        assert_eq!(names, [Some(baseline), Some(changed)]);
        let labels = [&pair.baseline, &pair.other].map(|side| side.label.as_str());
        assert_eq!(labels, ["A", "B"]);
        let peak = pair.peak.as_ref().unwrap().find(None, Metric::Throughput);
        assert_eq!(peak.unwrap().pooled.change_percent, Some(percent));

        let expected = (format!("vs {baseline}"), percent);
        assert_eq!(printed(shown.unwrap(), changed), expected);
        assert_eq!(printed(&reported, changed), expected);
    }
}

/// One server with more and more CPUs: each is compared with the one before.
#[test]
fn all_commands_compare_a_scaled_server_with_the_one_before() {
    let peaks = [("1 CPU", 500.0), ("2 CPUs", 1000.0), ("4 CPUs", 1500.0)];
    let names = peaks.map(|(name, _)| name);
    let compared = comparison("more CPUs", ComparisonKind::Scaling, &names);
    let folder = tempfile::tempdir().unwrap();
    saved(folder.path(), &peaks, compared);
    let study = Study::load(folder.path()).unwrap();
    let shown = tables(&study);
    let shown = shown.iter().find(|table| table.title == "more CPUs");
    let reported = reported(&study);
    let found = compare(&[Input::load(folder.path()).unwrap()]).unwrap();
    assert_eq!(found.pairs.len(), 2);
    for (pair, (before, server, percent)) in found
        .pairs
        .iter()
        .zip([("1 CPU", "2 CPUs", 100.0), ("2 CPUs", "4 CPUs", 50.0)])
    {
        let names = [&pair.baseline, &pair.other].map(|side| side.server.as_deref());
        assert_eq!(names, [Some(before), Some(server)]);
        let peak = pair.peak.as_ref().unwrap().find(None, Metric::Throughput);
        assert_eq!(peak.unwrap().pooled.change_percent, Some(percent));
        let expected = ("vs row above".to_owned(), percent);
        assert_eq!(printed(shown.unwrap(), server), expected);
        assert_eq!(printed(&reported, server), expected);
    }
}

/// Returns the sentences that a report begins with.
fn answer(study: &Study) -> Vec<String> {
    let page = report(study);
    let [first, ..] = &page.sections[..] else {
        panic!("no section");
    };
    assert_eq!(first.title, "Result");
    let ReportBlock::Plain(Block::List(lines)) = &first.blocks[0] else {
        panic!("no list: {:?}", first.blocks[0]);
    };
    // One load point is a table.
    let has_points = study.doc.load_points.len() > 1;
    let is_plot = |block: &ReportBlock| matches!(block, ReportBlock::Plot(_));
    assert_eq!(
        is_plot(&first.blocks[1]),
        has_points,
        "it follows the answer"
    );
    lines.clone()
}

#[test]
fn a_report_begins_with_the_answer() {
    let two = study(&[(DEFAULT, curve(1000.0)), (TUNED, curve(2000.0))]);
    assert_eq!(
        answer(&two),
        [
            "file-server: Samba tuned against Samba default: 2000 Mbit/s against 1000 Mbit/s at 48 \
             clients, +100 %. One pass cannot tell this from noise; repeat with 5 passes."
        ]
    );
    let one = study(&[(DEFAULT, curve(1000.0))]);
    let text = &answer(&one)[0];
    assert!(text.starts_with("file-server: Samba default reaches 1000 Mbit/s at 48 clients, p99 "));
    let names = ["a", "b", "c", "d", "e", "f"];
    let heights = [100.0, 300.0, 200.0, 50.0, 90.0, 80.0];
    let many: Vec<_> = names.into_iter().zip(heights.map(curve)).collect();
    assert_eq!(
        answer(&study(&many)),
        [
            "file-server: b has the highest peak of 6 servers, 300.0 Mbit/s at 48 clients; d the \
             lowest, 50.0 Mbit/s at 48 clients. One pass cannot tell this from noise; repeat with 5 \
             passes."
        ]
    );
}

#[test]
fn several_passes_say_how_certain_the_answer_is() {
    let several = |heights: [f64; 3]| {
        let passes = (1..).zip(heights);
        run(passes
            .map(|(pass, height)| point(8, pass, height, 1_000_000))
            .collect())
    };
    let slow = several([1000.0, 1010.0, 990.0]);
    for (other, expected) in [
        (
            several([2000.0, 2020.0, 1980.0]),
            "b is faster than a: 2000 Mbit/s against 1000 Mbit/s",
        ),
        (
            several([500.0, 510.0, 490.0]),
            "b is slower than a: 500.0 Mbit/s against 1000 Mbit/s",
        ),
        (
            several([1000.0, 1500.0, 600.0]),
            "no difference shown between b and a: 1033 Mbit/s against 1000 Mbit/s",
        ),
    ] {
        let text = answer(&study(&[("a", slow.clone()), ("b", other)]));
        let text = &text[0];
        assert!(
            text.starts_with(&format!("file-server: {expected}")),
            "{text}"
        );
        assert!(text.contains(" % (95 % interval "), "{text}");
    }
}

/// Numbers that do not tell which server is faster get no verdict.
#[test]
fn servers_that_ignore_flushes_are_named() {
    let with = |flush| {
        let mut run = curve(1000.0);
        run.server.flush = flush;
        let whole = &mut run.load_points[0].whole;
        let some = *whole.values().next().unwrap();
        whole.insert("flush".to_owned(), some);
        run
    };
    let servers = |runs: [Option<FlushDoc>; 3]| {
        let [a, b, c] = runs.map(with);
        answer(&study(&[("a", a), ("b", b), ("c", c)])).join("\n")
    };
    let (honours, ignores) = (Some(FlushDoc::Honours), Some(FlushDoc::Ignores));
    // Nothing is said of the server whose policy is unknown.
    let mixed = servers([honours, ignores, Some(FlushDoc::Unknown)]);
    let expected = "flushes are ignored by b, which is faster and may lose data in a power failure, \
                    and honoured by a.";
    assert!(mixed.contains(expected), "{mixed}");
    let alike = servers([honours, honours, None]);
    assert!(!alike.contains("flush"), "{alike}");
}

#[test]
fn servers_whose_writes_wait_are_named() {
    let with = |policy| {
        let mut run = curve(1000.0);
        run.server.write = Some(WriteDoc {
            policy,
            source: FactSource::Known,
        });
        let whole = &mut run.load_points[0].whole;
        let some = *whole.values().next().unwrap();
        whole.insert("write".to_owned(), some);
        run
    };
    let (waits, buffers) = (with(WritePolicyDoc::Waits), with(WritePolicyDoc::Buffers));
    let text = answer(&study(&[("a", buffers), ("b", waits)])).join("\n");
    let expected = "each write waits for stable storage on b; a answers before that, which is \
                    faster and may lose data in a power failure.";
    assert!(text.contains(expected), "{text}");
}

#[test]
fn dialects_are_named_if_they_differ_or_are_old() {
    let text = |dialects: [&str; 2]| {
        let [a, b] = dialects.map(|dialect| {
            let mut run = curve(1000.0);
            dialect.clone_into(&mut run.server.dialect);
            run
        });
        answer(&study(&[("a", a), ("b", b)])).join("\n")
    };
    let differ = text(["cifs", "3.1.1"]);
    let expected = "file-server: the dialects differ: CIFS with a; SMB 3.1.1 with b.";
    assert!(differ.contains(expected), "{differ}");
    let old = text(["cifs", "cifs"]);
    let expected = "file-server: the dialect was CIFS (SMB1).";
    assert!(old.contains(expected), "{old}");
    let usual = text(["3.1.1", "3.1.1"]);
    assert!(!usual.contains("dialect"), "{usual}");
}

#[test]
fn what_is_not_known_is_not_shown() {
    let slow = || curve(1000.0);
    let text = |run: RunDoc| answer(&study(&[("a", run), ("b", curve(2000.0))])).remove(0);

    let mut other_work = slow();
    other_work.plan.workload.read_percent = Some(20.0);
    assert_eq!(
        text(other_work),
        "file-server: b and a are not compared: their work differs."
    );

    let mut limited = slow();
    for point in &mut limited.load_points {
        point.generator_limited = Some(true);
    }
    let expected = "file-server: cannot tell which is faster, b or a: 2000 Mbit/s against 1000 Mbit/s at 48 \
                    clients, +100 %. a was client-limited: its server may be faster. Generate the load \
                    on a machine of its own, or with more CPUs.";
    assert_eq!(text(limited), expected);

    let mut lacking = slow();
    let points = lacking.load_points.into_iter();
    let points = points.map(|point| match point.clients {
        48 => dropped(point),
        _ => point,
    });
    lacking.load_points = points.collect();
    let sentence = text(lacking);
    assert!(
        sentence.starts_with("file-server: cannot tell which is faster, b or a: "),
        "{sentence}"
    );
    assert!(
        sentence.ends_with(" a has no valid result at 48 clients."),
        "{sentence}"
    );
}

#[test]
fn advice_on_several_servers_is_given_once() {
    let all = study(&[
        (DEFAULT, curve(1000.0)),
        (TUNED, curve(2000.0)),
        ("other", curve(1500.0)),
        ("lost", run(vec![dropped(point(1, 1, 5.0, 1000))])),
    ]);
    let sentences = answer(&all);
    let advice = "file-server: One pass cannot tell this from noise; repeat with 5 passes.";
    assert!(sentences.contains(&advice.to_owned()), "{sentences:#?}");
    let given = sentences.iter().filter(|text| text.contains("One pass"));
    assert_eq!(given.count(), 1, "{sentences:#?}");
    let mut none = all.clone();
    for result in &mut none.results[2..] {
        result.run = run(vec![dropped(point(1, 1, 5.0, 1000))]);
    }
    let sentences = answer(&none);
    let text = "file-server: other, lost have no valid load point.";
    assert!(sentences.contains(&text.to_owned()), "{sentences:#?}");
}
