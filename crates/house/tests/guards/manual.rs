//! What holds for README.md and the manual: README.md is short, the table of contents
//! has every chapter, every relative link leads somewhere, and recipes are shown as they are.

use std::fs;
use std::path::{Path, PathBuf};

use super::repository;

const README_BYTES_MAX: usize = 8192;

/// Returns the Markdown files of a folder and the folders in it.
fn chapters(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        match path.extension() {
            Some(extension) if extension == "md" => found.push(path),
            None => found.extend(chapters(&path)),
            Some(_) => {}
        }
    }
    found.sort();
    found
}

/// Returns the lines outside of code blocks.
fn prose(text: &str) -> impl Iterator<Item = &str> {
    let mut is_code = false;
    text.lines().filter(move |line| {
        let is_fence = line.trim_start().starts_with("```");
        is_code ^= is_fence;
        !is_code && !is_fence
    })
}

/// Returns the destinations of the links of a text.
fn links(text: &str) -> Vec<&str> {
    let of_line = |line| {
        let ends = str::split(line, "](").skip(1);
        ends.filter_map(|end| Some(end.split_once(')')?.0))
    };
    prose(text).flat_map(of_line).collect()
}

/// Returns the anchors that forges and mdBook make of headings.
fn anchors(text: &str) -> Vec<String> {
    let headings = prose(text).filter(|line| line.starts_with('#'));
    let anchor = |heading: &str| {
        let letters = heading.trim_start_matches('#').trim().to_lowercase();
        let letters = letters.replace(' ', "-");
        letters
            .chars()
            .filter(|&c| c.is_alphanumeric() || matches!(c, '-' | '_'))
            .collect()
    };
    headings.map(anchor).collect()
}

#[test]
fn the_readme_is_an_introduction() {
    let readme = fs::read_to_string(repository().join("README.md")).unwrap();
    assert!(readme.len() <= README_BYTES_MAX, "{} bytes", readme.len());
}

#[test]
fn the_table_of_contents_has_every_chapter_once() {
    let docs = repository().join("docs");
    let summary = docs.join("SUMMARY.md");
    let text = fs::read_to_string(&summary).unwrap();
    let mut listed: Vec<_> = links(&text).iter().map(|link| docs.join(link)).collect();
    listed.push(summary);
    listed.sort();
    assert_eq!(listed, chapters(&docs));
}

#[test]
fn every_relative_link_leads_to_a_heading_or_file() {
    let mut files = chapters(&repository().join("docs"));
    let others = [
        "README.md",
        "ARCHITECTURE.md",
        "CONTRIBUTING.md",
        "SECURITY.md",
        "crates/cli/README.md",
        "packaging/crates.md",
    ];
    files.extend(others.map(|name| repository().join(name)));
    let mut broken = Vec::new();
    for file in &files {
        let text = fs::read_to_string(file).unwrap();
        for link in links(&text) {
            if link.contains("://") {
                continue;
            }
            let (path, anchor) = link.split_once('#').unwrap_or((link, ""));
            let target = match path {
                "" => file.clone(),
                _ => file.parent().unwrap().join(path),
            };
            let has_anchor = |text: String| anchors(&text).iter().any(|found| found == anchor);
            let leads = match anchor {
                "" => target.exists(),
                _ => fs::read_to_string(&target).is_ok_and(has_anchor),
            };
            if !leads {
                broken.push(format!("{}: {link}", file.display()));
            }
        }
    }
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}

#[test]
fn a_package_that_is_not_published_says_why() {
    let root = fs::read_to_string(repository().join("Cargo.toml")).unwrap();
    assert!(root.contains("members = [\"crates/*\", \"benches\", \"fuzz\"]"));
    let crates = fs::read_dir(repository().join("crates")).unwrap();
    let crates = crates.map(|entry| entry.unwrap().path());
    let others = ["benches", "fuzz"].map(|name| repository().join(name));
    let mut private = 0;
    for folder in crates.chain(others) {
        let file = folder.join("Cargo.toml");
        let text = fs::read_to_string(&file).unwrap();
        let lines: Vec<_> = text.lines().collect();
        if let Some(at) = lines.iter().position(|line| *line == "publish = false") {
            assert!(lines[at - 1].starts_with("# "), "{}", file.display());
            private += 1;
        }
    }
    assert!(private > 0);
}

#[test]
fn the_clients_of_a_suite_are_those_of_its_row() {
    let suites = repository().join("crates/runner/suites");
    let manual = fs::read_to_string(repository().join("docs/suites.md")).unwrap();
    let rows = manual.lines();
    let rows = rows.filter_map(|line| line.strip_prefix("| `")?.split_once("` | "));
    let mut compared = 0;
    for (name, cells) in rows {
        let Some((said, rest)) = cells.split_once(" client") else {
            continue;
        };
        let said = said.replace(" and ", ",");
        // The others have words there: their load points are those of a search.
        if said.contains(|letter: char| !letter.is_ascii_digit() && letter != ',') {
            continue;
        }
        let suite = fs::read_to_string(suites.join(format!("{name}.toml"))).unwrap();
        let mut lines = suite.lines();
        let clients = lines.find_map(|line| line.strip_prefix("clients = \"")?.strip_suffix('"'));
        let clients = clients.unwrap();
        let begins = rest.starts_with(", then") && clients.starts_with(&format!("{said},"));
        assert!(begins || clients == said, "{name}: {said}, not {clients}");
        compared += 1;
    }
    assert!(compared > 5, "{compared}");
}

/// `./test.sh --interop` writes the page. This checks that it did so for each server.
#[test]
fn the_page_of_servers_has_a_version_and_a_date_for_each() {
    let page = repository().join("docs/reference/servers.md");
    let text = fs::read_to_string(page).unwrap();
    let (_, tables) = text.split_once("\n## Servers\n").unwrap();
    let rows = tables.lines().skip_while(|line| !line.starts_with("|---"));
    let rows: Vec<_> = rows
        .skip(1)
        .take_while(|line| line.starts_with('|'))
        .collect();
    let is_date = |text: &str| {
        let shape = |letter: char| if letter.is_ascii_digit() { '0' } else { letter };
        text.chars().map(shape).eq("0000-00-00".chars())
    };
    for row in &rows {
        let cells: Vec<_> = row.trim_matches('|').split('|').map(str::trim).collect();
        let [_, version, date, dialects, ..] = cells[..] else {
            panic!("{row}");
        };
        assert!(version.contains(|c: char| c.is_ascii_digit()), "{row}");
        assert!(is_date(date), "{row}");
        assert!(
            !dialects.is_empty() && !dialects.starts_with("not tried"),
            "{row}"
        );
        assert_eq!(cells.len(), 10, "{row}");
    }
    assert_eq!(rows.len(), 7, "{rows:#?}");
}

/// Returns the code of a file without its first lines, which say what it is.
fn shown(path: &Path) -> String {
    let text = fs::read_to_string(path).unwrap();
    let code = text.lines().skip_while(|line| line.starts_with("//!"));
    let code: Vec<_> = code.collect();
    code.join("\n").trim().to_owned()
}

/// The tests of the recipes carry them out.
#[test]
fn the_chapter_on_the_library_shows_the_recipes_as_they_are() {
    let repository = repository();
    let chapter = fs::read_to_string(repository.join("docs/library.md")).unwrap();
    let blocks = chapter.split("```rust\n").skip(1);
    let mut blocks: Vec<_> = blocks
        .map(|block| block.split_once("```").unwrap().0.trim().to_owned())
        .collect();
    let mut recipes = vec![shown(&repository.join("benches/own_server.rs"))];
    for entry in fs::read_dir(repository.join("crates/cli/examples/recipes")).unwrap() {
        let path = entry.unwrap().path();
        if !path.ends_with("main.rs") && !path.ends_with("tests.rs") {
            recipes.push(shown(&path));
        }
    }
    blocks.sort();
    recipes.sort();
    assert_eq!(blocks.len(), recipes.len());
    for (block, recipe) in blocks.iter().zip(&recipes) {
        assert_eq!(block, recipe);
    }
}
