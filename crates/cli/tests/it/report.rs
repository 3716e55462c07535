//! `smbench report`: from a run to files, and its error messages.

use std::fs;

use crate::support::{Place, embedded, text};

/// A result of an earlier release.
const KEPT: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../../fixtures/results/v1-curve.json"
);

#[test]
fn a_folder_of_results_becomes_a_report() {
    let server = embedded();
    let place = Place::new();
    for clients in ["--clients=1,2", "--clients=2"] {
        let run = place.run(&server.url(), server.password(), &[clients, "--quiet"]);
        assert_eq!(run.code(), Some(0), "{run:?}");
    }
    let said = place.smbench(&["report", "results"]);
    said.succeeded();
    let lines = [
        "page      results/report/index.html",
        "markdown  results/report/report.md",
        "csv       results/report/report.csv",
        "plots     results/report/plots, 4 as SVG, PNG and CSV",
    ];
    assert_eq!(said.stdout.lines().collect::<Vec<_>>(), lines);
    let read = |name: &str| fs::read_to_string(place.path("results/report").join(name)).unwrap();
    let page = read("index.html");
    assert!(page.starts_with("<!DOCTYPE html>") && page.ends_with("</html>"));
    // Named after what was measured, not after the folder.
    let title = "# file-server: 127.0.0.1/bench\n";
    assert!(read("report.md").starts_with(title));
    // Three load points, each with all, read, write and the other operations.
    let csv = read("report.csv");
    assert_eq!(
        csv.lines().filter(|line| line.contains(",all,")).count(),
        3,
        "{csv}"
    );
    assert!(!page.contains(server.password()), "no secret is in it");

    // Write it again to another folder: reports do not count as results.
    let said = place.smbench(&["report", "results", "--out", "elsewhere/deep"]);
    said.succeeded();
    let again = fs::read_to_string(place.path("elsewhere/deep/index.html")).unwrap();
    assert_eq!(again, page);
}

/// From two labelled runs to a comparison and a report by their names.
#[test]
fn labels_name_results_everywhere() {
    let server = embedded();
    let place = Place::new();
    for (label, file) in [
        ("before", "a.json"),
        ("after", "b.json"),
        ("after", "c.json"),
    ] {
        let label = format!("--label={label}");
        let run = ["--clients=1", &label, "--note=a try", "--json", file];
        let said = place.run(&server.url(), server.password(), &run);
        assert_eq!(said.code(), Some(0), "{said:?}");
        assert!(said.stdout.contains("\nRemark   a try\n"), "{said:?}");
    }
    let said = place.smbench(&["compare", "a.json", "b.json", "c.json"]);
    said.succeeded();
    assert!(said.stdout.contains("A        before: "), "{said:?}");
    assert!(said.stdout.contains("B        after: "), "{said:?}");
    assert!(!said.stdout.contains("c.json"), "{said:?}");
    let said = place.smbench(&["report", "a.json", "b.json", "c.json"]);
    said.succeeded();
    let page = fs::read_to_string(place.path("smbench-report/report.md")).unwrap();
    assert!(
        page.contains("| before |") && page.contains("| after |"),
        "{page}"
    );
    let refused = place.smbench(&["report", "a.json", "results"]);
    assert_eq!(refused.code(), Some(2), "{refused:?}");
    assert!(
        refused.stderr.contains("results is a folder"),
        "{refused:?}"
    );
}

#[test]
fn a_calibration_that_cannot_be_read_costs_a_study_nothing_else() {
    let place = Place::new();
    fs::create_dir(place.path("results")).unwrap();
    fs::copy(KEPT, place.path("results/kept.json")).unwrap();
    place.write("results/calibration.json", "{");
    for args in [&["show", "results"][..], &["report", "results"]] {
        let said = place.smbench(args);
        assert_eq!(said.code(), Some(0), "{said:?}");
        for part in [
            "smbench: failed to read results/calibration.json: not an smbench result: ",
            "; the study is shown without it",
        ] {
            assert!(said.stderr.contains(part), "{said:?}");
        }
        assert_eq!(said.stderr.lines().count(), 1, "{said:?}");
    }
    let page = fs::read_to_string(place.path("results/report/report.md")).unwrap();
    let message = "left out: failed to read results/calibration.json: not an smbench result: ";
    assert!(page.contains(message), "{page}");
}

#[test]
fn what_is_no_study_is_named() {
    let place = Place::new();
    let file = place.write("result.json", "{}");
    place
        .smbench(&["report", text(&file)])
        .failed_with(2, &["result.json: not an smbench result"]);
    place
        .smbench(&["report", "missing"])
        .failed_with(2, &["failed to read missing"]);
    fs::create_dir(place.path("empty")).unwrap();
    place
        .smbench(&["report", "empty"])
        .failed_with(2, &["empty", "the file does not exist"]);
    fs::create_dir(place.path("bad")).unwrap();
    place.write("bad/x.json", "{");
    place
        .smbench(&["report", "bad"])
        .failed_with(2, &["bad/x.json: not an smbench result"]);
    assert!(!place.path("bad/report").exists(), "nothing half done");
}

#[test]
fn a_place_that_cannot_be_written_is_named() {
    let place = Place::new();
    fs::create_dir(place.path("results")).unwrap();
    fs::copy(KEPT, place.path("results/kept.json")).unwrap();
    place.write("file", "");
    place
        .smbench(&["report", "results", "--out", "file/report"])
        .failed_with(3, &["failed to write file/report/plots: "]);
}

#[test]
fn only_files_of_an_earlier_report_are_replaced() {
    let place = Place::new();
    fs::create_dir(place.path("results")).unwrap();
    fs::copy(KEPT, place.path("results/kept.json")).unwrap();
    let report = |out: &str| place.smbench(&["report", "results", "--out", out]);
    for name in ["index.html", "report.md", "report.csv"] {
        let site = name.replace('.', "-");
        fs::create_dir(place.path(&site)).unwrap();
        let mine = place.write(&format!("{site}/{name}"), "<html>mine</html>");
        let file = format!("{site}/{name}: there is such a file");
        report(&site).failed_with(2, &[&file, "use another --out"]);
        assert_eq!(fs::read_to_string(mine).unwrap(), "<html>mine</html>");
        assert_eq!(fs::read_dir(place.path(&site)).unwrap().count(), 1);
    }

    report("out").succeeded();
    let plots = || {
        let entries = fs::read_dir(place.path("out/plots")).unwrap();
        let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        names
    };
    let before = plots();
    // As if the earlier report had contained a plot that this one lacks.
    let page = fs::read_to_string(place.path("out/index.html")).unwrap();
    let other = page.replacen("</body>", "<svg data-plot=\"09-old\"></svg></body>", 1);
    place.write("out/index.html", &other);
    place.write("out/plots/09-old.svg", "");
    place.write("out/plots/1-mine.svg", "");
    report("out").succeeded();
    let mut after = plots();
    after.retain(|name| name != "1-mine.svg");
    assert_eq!(after, before);
    assert!(place.path("out/plots/1-mine.svg").exists());
    assert_eq!(
        fs::read_to_string(place.path("out/index.html")).unwrap(),
        page
    );
}
