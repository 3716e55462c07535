//! The order of crates and rooms in ARCHITECTURE.md is the order of the code.
//!
//! A room is a module at the root of a crate. The block `rooms` of ARCHITECTURE.md
//! has a line for the crates, and a line for the rooms of each crate. `<` separates
//! floors, the lowest first. A room uses only rooms on lower floors, and a crate
//! only crates on lower floors. Tests may use everything.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use super::{crates, repository, sources_of, without_tests};

/// The floor of each room, from 0.
type Floors = BTreeMap<String, usize>;

/// Reads the lines of the block `rooms`.
fn orders() -> BTreeMap<String, Floors> {
    let text = fs::read_to_string(repository().join("ARCHITECTURE.md")).unwrap();
    let (_, rest) = text.split_once("```rooms\n").unwrap();
    let (block, _) = rest.split_once("```").unwrap();
    // A line that begins with a space continues the one before.
    let block = block.replace("\n ", " ");
    block.lines().map(order).collect()
}

fn order(line: &str) -> (String, Floors) {
    let (name, floors) = line.split_once(':').unwrap();
    let floors = floors.split('<').enumerate();
    let rooms = floors.flat_map(|(floor, rooms)| {
        let rooms = rooms.split_whitespace();
        rooms.map(move |room| (room.to_owned(), floor))
    });
    (name.to_owned(), rooms.collect())
}

/// The product code of a file: no comments and no tests.
struct Source {
    /// Path of its module below the crate's root; empty for the root.
    module: Vec<String>,
    code: String,
}

fn code_of(krate: &str) -> Vec<Source> {
    let src = repository().join("crates").join(krate).join("src");
    let files = sources_of(krate);
    files.iter().map(|file| source(&src, file)).collect()
}

fn source(src: &Path, path: &Path) -> Source {
    let below = path.strip_prefix(src).unwrap().with_extension("");
    let names = below.iter().map(|name| name.to_str().unwrap().to_owned());
    let code = without_tests(path);
    let code = code
        .lines()
        .map(|line| line.split_once("//").map_or(line, |(code, _)| code));
    Source {
        module: names
            .filter(|name| name != "lib" && name != "main")
            .collect(),
        code: code.collect::<Vec<_>>().join("\n"),
    }
}

/// Returns the paths in the code that begin with this name, in full.
fn paths<'a>(code: &'a str, begin: &'a str) -> impl Iterator<Item = Vec<String>> + 'a {
    code.match_indices(begin).flat_map(move |(at, _)| {
        let is_whole = !code[..at].ends_with(|last: char| last.is_alphanumeric() || last == '_');
        let path = &code[at..];
        let end = match path.find([';', '(', ')', '<', '>', '=']) {
            Some(end) if is_whole => end,
            _ => 0,
        };
        leaves(path[..end].trim())
    })
}

/// Returns the paths of a use tree such as `a::{b, c::d}`.
fn leaves(tree: &str) -> Vec<Vec<String>> {
    let word = |text: &str| {
        text.split_whitespace()
            .next()
            .unwrap_or_default()
            .to_owned()
    };
    let (head, rest) = match tree.split_once("::") {
        _ if tree.starts_with('{') => return elements(tree).into_iter().flat_map(leaves).collect(),
        Some(parts) => parts,
        None => return vec![vec![word(tree)]],
    };
    let mut below = leaves(rest);
    for path in &mut below {
        path.insert(0, head.trim().to_owned());
    }
    below
}

/// Returns the elements of a braced list.
fn elements(list: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let (mut depth, mut from) = (0, 1);
    for (at, letter) in list.char_indices() {
        match letter {
            '{' => depth += 1,
            '}' => depth -= 1,
            _ => {}
        }
        if (letter, depth) == (',', 1) || (letter, depth) == ('}', 0) {
            found.push(list[from..at].trim());
            from = at + 1;
        }
        if depth == 0 {
            break;
        }
    }
    found.retain(|element| !element.is_empty());
    found
}

/// The rooms behind the names that the root of a crate re-exports.
fn faces(sources: &[Source], rooms: &Floors) -> BTreeMap<String, String> {
    let root = sources.iter().find(|source| source.module.is_empty());
    let uses = root.into_iter().flat_map(|root| paths(&root.code, "use "));
    let named = uses.filter_map(|path| {
        let path: Vec<_> = path
            .iter()
            .map(|name| name.trim_start_matches("use "))
            .collect();
        let path = path.strip_prefix(&["crate"]).unwrap_or(&path);
        let (first, last) = (path.first()?, path.last()?);
        rooms
            .contains_key(*first)
            .then(|| ((*last).to_owned(), (*first).to_owned()))
    });
    named.collect()
}

/// Returns the rooms of its own crate that a file uses.
fn used_rooms(
    source: &Source,
    rooms: &Floors,
    faces: &BTreeMap<String, String>,
) -> BTreeSet<String> {
    let mut names: Vec<String> = paths(&source.code, "crate::")
        .filter_map(|path| path.get(1).cloned())
        .collect();
    for path in paths(&source.code, "super::") {
        let up = path.iter().take_while(|name| *name == "super").count();
        if up == source.module.len() {
            names.extend(path.get(up).cloned());
        }
    }
    let room = |name: String| {
        if rooms.contains_key(&name) {
            Some(name)
        } else {
            faces.get(&name).cloned()
        }
    };
    names.into_iter().filter_map(room).collect()
}

#[test]
fn every_room_uses_only_the_rooms_below_it() {
    let mut wrong = Vec::new();
    for (krate, rooms) in orders().iter().filter(|(name, _)| *name != "crates") {
        let sources = code_of(krate);
        let faces = faces(&sources, rooms);
        for source in sources.iter().filter(|source| !source.module.is_empty()) {
            let room = &source.module[0];
            let Some(floor) = rooms.get(room) else {
                wrong.push(format!("{krate}: {room} is not in ARCHITECTURE.md"));
                continue;
            };
            for used in used_rooms(source, rooms, &faces) {
                if used != *room && rooms[&used] >= *floor {
                    let file = source.module.join("/");
                    wrong.push(format!(
                        "{krate}: {file} uses {used}, which is not below {room}"
                    ));
                }
            }
        }
        let there: BTreeSet<_> = sources
            .iter()
            .filter_map(|source| source.module.first())
            .collect();
        let gone = rooms.keys().filter(|room| !there.contains(room));
        wrong.extend(gone.map(|room| format!("{krate}: there is no {room}")));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_crate_uses_only_the_crates_below_it() {
    let floors = &orders()["crates"];
    let mut wrong = Vec::new();
    for name in crates() {
        let Some(floor) = floors.get(&name) else {
            wrong.push(format!("{name} is not in ARCHITECTURE.md"));
            continue;
        };
        let sources = code_of(&name);
        let used = floors.iter().filter(|(used, _)| {
            let path = format!("smbench_{used}");
            sources.iter().any(|source| source.code.contains(&path))
        });
        // The program of a crate uses its library.
        let others = used.filter(|(used, _)| **used != name);
        let upwards = others.filter(|(_, used)| *used >= floor);
        wrong.extend(upwards.map(|(used, _)| format!("{name} uses {used}, which is not below it")));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn use_trees_are_read_to_their_leaves() {
    let code = "use crate::{a, b::{self, c::D}};\npub(in crate::e) fn f() { crate::g::h() }";
    let found: Vec<_> = paths(code, "crate::").map(|path| path.join("::")).collect();
    assert_eq!(
        found,
        [
            "crate::a",
            "crate::b::self",
            "crate::b::c::D",
            "crate::e",
            "crate::g::h"
        ]
    );
}
