use std::thread;
use std::time::Duration;

use super::*;

fn output(folder: &Path) -> ResultFiles {
    ResultFiles {
        folder: folder.join("a/b/results"),
        ..ResultFiles::default()
    }
}

fn doc() -> RunDoc {
    RunDoc::load(Path::new(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../fixtures/results/v1-curve.json"
    )))
    .unwrap()
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let name = |entry: io::Result<fs::DirEntry>| entry.unwrap().file_name();
    let mut names: Vec<_> = entries
        .map(|entry| name(entry).into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[test]
fn names_tell_time_and_profile_and_are_never_reused() {
    let folder = tempfile::tempdir().unwrap();
    let now = SystemTime::UNIX_EPOCH + Duration::from_secs(1_769_860_800);
    let output = output(folder.path());
    let prepare = || Results::prepare(&output, "my/mix", now).unwrap();
    let (mut first, mut second) = (prepare(), prepare());
    for results in [&mut first, &mut second] {
        results.save(&doc()).unwrap();
        results.save(&doc()).unwrap();
    }
    prepare().save(&doc()).unwrap();
    assert_eq!(
        names(&output.folder),
        [
            "20260131T120000Z-my-mix-2.json",
            "20260131T120000Z-my-mix-3.json",
            "20260131T120000Z-my-mix.json"
        ]
    );
    assert_eq!(
        second.path(),
        Some(&*output.folder.join("20260131T120000Z-my-mix-2.json"))
    );
}

/// A killed run cannot remove any file.
#[test]
fn a_run_without_results_leaves_no_file_and_no_folder() {
    let folder = tempfile::tempdir().unwrap();
    let output = output(folder.path());
    let results = Results::prepare(&output, "x", SystemTime::now()).unwrap();
    assert_eq!(results.path(), None);
    assert_eq!(names(folder.path()), [""; 0]);
    fs::create_dir(folder.path().join("a")).unwrap();
    Results::prepare(&output, "x", SystemTime::now()).unwrap();
    assert_eq!(names(folder.path()), ["a"]);
    assert_eq!(names(&folder.path().join("a")), [""; 0]);
}

#[test]
fn a_folder_in_which_nothing_could_be_saved_goes_again() {
    let folder = tempfile::tempdir().unwrap();
    let output = output(folder.path());
    let mut results = Results::prepare(&output, "x", SystemTime::now()).unwrap();
    fs::write(folder.path().join("a"), "in the way").unwrap();
    results.save(&doc()).unwrap_err();
    fs::remove_file(folder.path().join("a")).unwrap();
    fs::create_dir_all(&output.folder).unwrap();
    drop(results);
    assert_eq!(names(folder.path()), [""; 0]);
}

/// Two runs may start at the same time with the same new folder.
#[test]
fn a_folder_that_another_run_removes_while_it_is_empty_is_made_again() {
    let folder = tempfile::tempdir().unwrap();
    let new = folder.path().join("a/b");
    let mut others = vec![MadeFolders::missing(&new)];
    in_folder(&new, || {
        others.pop();
        try_writing(&new.join("trial"))
    })
    .unwrap();
    assert!(new.exists());
    let mut attempts = 0;
    let missing = in_folder(&new, || {
        attempts += 1;
        Err(io::ErrorKind::NotFound.into())
    });
    assert_eq!(missing.unwrap_err().kind(), io::ErrorKind::NotFound);
    assert_eq!(attempts, FOLDER_ATTEMPTS);
}

#[test]
fn a_folder_that_was_removed_during_the_run_is_made_again() {
    let folder = tempfile::tempdir().unwrap();
    let output = output(folder.path());
    let mut results = Results::prepare(&output, "x", SystemTime::now()).unwrap();
    results.save(&doc()).unwrap();
    fs::remove_dir_all(folder.path().join("a")).unwrap();
    results.save(&doc()).unwrap();
    assert_eq!(RunDoc::load(results.path().unwrap()).unwrap(), doc());
}

#[test]
fn a_long_name_is_cut_between_characters() {
    let stem = file_stem(&format!("x{}", "ß".repeat(300)), SystemTime::UNIX_EPOCH);
    assert_eq!(stem, format!("19700101T000000Z-x{}", "ß".repeat(49)));
}

#[test]
fn places_that_cannot_be_written_are_found_out_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    fs::write(&file, "").unwrap();
    let missing = folder.path().join("missing/x.json");
    let prepare = |output: &ResultFiles| Results::prepare(output, "x", SystemTime::now());
    let good = output(folder.path());
    let bad_folder = ResultFiles {
        folder: file.join("results"),
        ..output(folder.path())
    };
    let error = prepare(&bad_folder).unwrap_err().to_string();
    assert!(error.starts_with("failed to write results to "), "{error}");
    let bad_json = ResultFiles {
        copy: Some(missing.clone()),
        ..output(folder.path())
    };
    let bad_csv = ResultFiles {
        others: vec![missing.clone()],
        ..output(folder.path())
    };
    for output in [bad_json, bad_csv] {
        let error = prepare(&output).unwrap_err().to_string();
        let expected = format!("failed to write {}: ", missing.display());
        assert!(error.starts_with(&expected), "{error}");
        assert!(!good.folder.exists());
    }
}

#[test]
fn a_file_in_the_place_of_the_folder_is_named_as_one() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("x.json");
    fs::write(&file, "").unwrap();
    let output = ResultFiles {
        folder: file.clone(),
        ..output(folder.path())
    };
    let expected = format!(
        "failed to write results to {}: this is a file; out takes a folder: give another name",
        file.display()
    );
    let refused = Results::prepare(&output, "x", SystemTime::now()).unwrap_err();
    assert_eq!(refused.to_string(), expected);
}

#[test]
fn results_of_runs_at_once_do_not_mix() {
    const RUNS: usize = 8;
    let folder = tempfile::tempdir().unwrap();
    let output = output(folder.path());
    let prepare = |_| Results::prepare(&output, "x", SystemTime::UNIX_EPOCH).unwrap();
    let runs: Vec<_> = (0..RUNS).map(prepare).collect();
    thread::scope(|scope| {
        for mut results in runs {
            scope.spawn(move || {
                results.save(&doc()).unwrap();
                assert_eq!(RunDoc::load(results.path().unwrap()).unwrap(), doc());
            });
        }
    });
    assert_eq!(names(&output.folder).len(), RUNS);
}

#[test]
fn a_device_is_not_replaced() {
    assert!(is_special(Path::new("/dev/null")));
    assert!(!is_special(Path::new("/")));
    check_writable(Path::new("/dev/null")).unwrap();
}
