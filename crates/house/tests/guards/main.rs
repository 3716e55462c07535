//! The rules that hold for the whole repository. Each module has one group of rules.

#![expect(clippy::unwrap_used, reason = "what fails in a helper fails the test")]

mod circles;
mod commits;
mod manual;
mod paths;
mod product;
mod rooms;

use std::fs;
use std::path::{Path, PathBuf};

fn repository() -> PathBuf {
    let house = Path::new(env!("CARGO_MANIFEST_DIR"));
    house.join("../..").canonicalize().unwrap()
}

/// Returns the sources of the product in a folder and the folders in it, sorted.
fn sources(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        // Cargo marks its build folder with this file.
        if path.file_stem().unwrap() == "tests" || path.join("CACHEDIR.TAG").exists() {
            continue;
        }
        if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        } else if path.is_dir() {
            found.extend(sources(&path));
        }
    }
    found.sort();
    found
}

/// Returns the names of the crates that have product code.
fn crates() -> Vec<String> {
    let folder = repository().join("crates");
    let names = fs::read_dir(&folder).unwrap();
    let names = names.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<_> = names
        .filter(|name| folder.join(name).join("src").is_dir())
        .collect();
    names.sort();
    names
}

/// Returns the sources of the product in a crate.
fn sources_of(krate: &str) -> Vec<PathBuf> {
    sources(&repository().join("crates").join(krate).join("src"))
}

/// Returns the text of a source without its tests.
fn without_tests(file: &Path) -> String {
    let mut text = fs::read_to_string(file).unwrap();
    let mut marks = text.match_indices("#[cfg(test)]\n");
    // Other tests may see the module: `pub(super) mod tests {`.
    let tests = marks.find(|(at, mark)| {
        let next = text[at + mark.len()..].lines().next();
        next.is_some_and(|line| line.ends_with("mod tests {"))
    });
    if let Some((tests, _)) = tests {
        text.truncate(tests);
    }
    text
}
