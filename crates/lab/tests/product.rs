//! What holds for every file of the product: at most 400 lines, so that a reader has
//! them in view, and one meaning for each name of a type. Clippy limits the length of
//! functions (`too_many_lines`).

#![expect(clippy::unwrap_used, reason = "what fails in a helper fails the test")]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

const LINES_MAX: usize = 400;

fn repository() -> PathBuf {
    let lab = Path::new(env!("CARGO_MANIFEST_DIR"));
    lab.join("../..").canonicalize().unwrap()
}

/// Returns the sources of a folder and the folders in it, without tests.
fn sources(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap();
        match path.extension().is_some_and(|extension| extension == "rs") {
            _ if name == "tests" || name == "target" => {}
            true => found.push(path),
            false if path.is_dir() => found.extend(sources(&path)),
            false => {}
        }
    }
    found.sort();
    found
}

fn name_of(path: &Path) -> String {
    let name = path.strip_prefix(repository()).unwrap();
    name.display().to_string()
}

/// Returns the name of the type that a line at the left margin declares.
fn declared(line: &str) -> Option<&str> {
    let line = match line.strip_prefix("pub") {
        Some(rest) => rest.split_once(' ')?.1,
        None => line,
    };
    let (keyword, rest) = line.split_once(' ')?;
    let is_type = ["struct", "enum", "trait", "union", "type"].contains(&keyword);
    is_type
        .then(|| rest.split(|letter: char| !letter.is_alphanumeric()).next())
        .flatten()
}

#[test]
fn no_file_of_the_product_has_more_than_400_lines() {
    let mut long = Vec::new();
    for entry in fs::read_dir(repository().join("crates")).unwrap() {
        for file in sources(&entry.unwrap().path().join("src")) {
            let lines = fs::read_to_string(&file).unwrap().lines().count();
            if lines > LINES_MAX {
                long.push(format!("{} has {lines} lines", name_of(&file)));
            }
        }
    }
    assert!(long.is_empty(), "{}", long.join("\n"));
}

#[test]
fn the_name_of_a_type_has_one_meaning() {
    let mut places = BTreeMap::<String, Vec<String>>::new();
    for folder in ["crates", "benches", "fuzz"] {
        for file in sources(&repository().join(folder)) {
            for name in fs::read_to_string(&file)
                .unwrap()
                .lines()
                .filter_map(declared)
            {
                let files = places.entry(name.to_owned()).or_default();
                files.push(name_of(&file));
            }
        }
    }
    assert!(places.len() > 500, "{}", places.len());
    places.retain(|_, files| files.len() > 1);
    assert!(places.is_empty(), "{places:#?}");
}
