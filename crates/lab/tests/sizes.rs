//! Files of the product have at most 400 lines, so that a reader has them in view.
//! Tests within a file count, tests in a file of their own do not. Clippy limits the
//! length of functions (`too_many_lines`).

#![expect(clippy::unwrap_used, reason = "what fails in a helper fails the test")]

use std::fs;
use std::path::{Path, PathBuf};

const LINES_MAX: usize = 400;

/// Returns the files below a folder that are part of the product.
fn product_files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        match path.extension().is_some_and(|extension| extension == "rs") {
            _ if path.file_stem().unwrap() == "tests" => {}
            true => found.push(path),
            false if path.is_dir() => found.extend(product_files(&path)),
            false => {}
        }
    }
    found
}

#[test]
fn no_file_of_the_product_has_more_than_400_lines() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let mut long = Vec::new();
    for entry in fs::read_dir(crates).unwrap() {
        for file in product_files(&entry.unwrap().path().join("src")) {
            let lines = fs::read_to_string(&file).unwrap().lines().count();
            if lines > LINES_MAX {
                let name = file.strip_prefix(crates).unwrap().display();
                long.push(format!("crates/{name} has {lines} lines"));
            }
        }
    }
    long.sort();
    assert!(long.is_empty(), "{}", long.join("\n"));
}
