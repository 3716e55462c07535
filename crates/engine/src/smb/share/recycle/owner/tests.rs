use super::*;

fn entry(name: &str, end_of_file: u64, created: u64) -> Entry {
    Entry {
        name: name.to_owned(),
        end_of_file,
        is_directory: false,
        created: FileTime(created),
    }
}

/// A run whose marker was created at 100.
fn run() -> RemovedNames {
    let mut seen = RemovedNames::default();
    seen.file(&entry(MARKER, 0, 100));
    seen.file(&entry("c00000-f000.dat", 4096, 101));
    seen
}

#[test]
fn a_file_that_was_just_deleted_is_known_by_name_size_and_time() {
    let seen = run();
    for name in [
        "c00000-f000.dat",
        "Copy #3 of c00000-f000.dat",
        // As a server lists it that changes the case of names.
        "C00000-F000.DAT",
    ] {
        let judged = seen.judge(&entry(name, 4096, 101), Period::OfThisRun);
        assert_eq!(judged, Ownership::Certain, "{name}");
    }
    for other in [
        entry("c00000-f000.dat", 4097, 101),
        entry("c00000-f000.dat", 4096, 102),
    ] {
        let judged = seen.judge(&other, Period::OfThisRun);
        assert_eq!(judged, Ownership::ByContents);
    }
}

#[test]
fn an_empty_file_needs_a_name_of_ours_and_the_time_of_the_run() {
    let seen = run();
    let judge = |name, created| seen.judge(&entry(name, 0, created), Period::Any);
    assert_eq!(
        judge("Copy #12 of s00001-000-t.tmp", 150),
        Ownership::Certain
    );
    assert_eq!(judge("s00001-000-t.tmp", 99), Ownership::ByContents);
    assert_eq!(judge("notes.tmp", 150), Ownership::Foreign);
    assert_eq!(judge("Copy of s00001-000-t.tmp", 150), Ownership::Foreign);
    let nothing = RemovedNames::default();
    let judged = nothing.judge(&entry(MARKER, 0, 150), Period::Any);
    assert_eq!(judged, Ownership::ByContents);
}

#[test]
fn recorded_names_of_a_replay_need_the_time_and_the_contents() {
    let mut seen = run();
    let word = entry("REPORT.DOC", 10, 150);
    assert_eq!(seen.judge(&word, Period::Any), Ownership::Foreign);
    seen.replayed(["REPORT.DOC".to_owned()]);
    assert_eq!(seen.judge(&word, Period::Any), Ownership::ByContents);
    let empty = entry("REPORT.DOC", 0, 150);
    assert_eq!(seen.judge(&empty, Period::OfThisRun), Ownership::Certain);
    // Somebody may have made it since that run was killed.
    assert_eq!(seen.judge(&empty, Period::Any), Ownership::ByContents);
    let older = entry("REPORT.DOC", 0, 50);
    assert_eq!(seen.judge(&older, Period::Any), Ownership::Foreign);
}

#[test]
fn contents_of_others_prove_nothing() {
    assert!(!is_proof("c00000-f000.dat", b"a thesis"));
    assert!(!is_proof("c00000-f000.dat", &[0; 4096]));
    assert!(!is_proof(MANIFEST, b"{\"version\": 1}"));
    assert!(!is_proof(MARKER, b""));
}
