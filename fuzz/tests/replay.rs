//! Replays the committed seeds through every target, without a fuzzer. So a
//! fixed defect stays fixed, and a broken target is noticed.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use smbench_fuzz::{PROGRAMS, targets};

fn here() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Returns the names of the entries of a folder, without their extensions.
fn names(folder: &str) -> BTreeSet<String> {
    let entries = fs::read_dir(here().join(folder)).expect(folder);
    entries
        .map(|entry| {
            let path = entry.expect(folder).path();
            let stem = path.file_stem().expect("a name");
            stem.to_string_lossy().into_owned()
        })
        .collect()
}

#[test]
fn every_program_is_there_and_every_target_has_seeds() {
    let programs = PROGRAMS
        .iter()
        .map(|(name, _)| (*name).to_owned())
        .collect();
    assert_eq!(names("fuzz_targets"), programs);
    let expected: BTreeSet<_> = targets().map(|(name, _)| (*name).to_owned()).collect();
    assert_eq!(expected.len(), targets().count());
    assert_eq!(names("seeds"), expected);
    let manifest = fs::read_to_string(here().join("Cargo.toml")).expect("the manifest");
    for name in &programs {
        let path = format!("path = \"fuzz_targets/{name}.rs\"");
        assert!(manifest.contains(&path), "{name} is no [[bin]]");
    }
}

#[test]
fn every_seed_passes() {
    for (name, body) in targets() {
        let mut seeds = 0;
        for entry in fs::read_dir(here().join("seeds").join(name)).expect(name) {
            let path = entry.expect(name).path();
            println!("{}", path.display());
            body(&fs::read(&path).expect(name));
            seeds += 1;
        }
        assert!(seeds > 0, "{name}");
    }
}

#[test]
fn no_target_minds_nothing_or_noise() {
    let noise: Vec<u8> = (0..=u8::MAX).cycle().take(1000).collect();
    for (name, body) in targets() {
        println!("{name}");
        body(&[]);
        body(&noise);
        body(&[0; 300]);
        body(&[0xFF; 300]);
    }
}
