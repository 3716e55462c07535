//! The order of crates and rooms in ARCHITECTURE.md is the order of the code.
//!
//! A room is a module at the root of a crate. The block `rooms` of ARCHITECTURE.md
//! has a line for the crates, and a line for the rooms of each crate. `<` separates
//! floors, the lowest first. A room uses only rooms on lower floors, and a crate
//! only crates on lower floors. Tests may use everything.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use super::paths::{Named, Purpose, Source, sources_with_paths};
use super::{crates, repository};

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

/// The rooms behind the names that the root of a crate imports and re-exports.
fn faces(sources: &[Source], rooms: &Floors) -> BTreeMap<String, String> {
    let roots = sources.iter().filter(|source| source.module.is_empty());
    let paths = roots.flat_map(|root| &root.paths);
    let named = paths.filter_map(|path| {
        let (Purpose::Import(alias) | Purpose::Export(alias)) = &path.purpose else {
            return None;
        };
        let mut names = path.names.iter();
        let first = names.find(|name| *name != "crate" && *name != "self")?;
        rooms
            .contains_key(first)
            .then(|| (alias.clone(), first.clone()))
    });
    named.collect()
}

/// Returns the rooms of its own crate that a file uses.
fn used_rooms(
    source: &Source,
    rooms: &Floors,
    faces: &BTreeMap<String, String>,
) -> BTreeSet<String> {
    let below_root = |path: &Named| {
        let up = path.names.iter().take_while(|name| *name == "super");
        let root = match up.count() {
            0 if path.names[0] == "crate" => 1,
            up if up > 0 && up == source.module.len() => up,
            _ => return None,
        };
        path.names.get(root).cloned()
    };
    let names = source.paths.iter().filter_map(below_root);
    let room = |name: String| {
        if rooms.contains_key(&name) {
            Some(name)
        } else {
            faces.get(&name).cloned()
        }
    };
    names.filter_map(room).collect()
}

#[test]
fn every_room_uses_only_the_rooms_below_it() {
    let mut wrong = Vec::new();
    for (krate, rooms) in orders().iter().filter(|(name, _)| *name != "crates") {
        let sources = sources_with_paths(krate);
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
        let sources = sources_with_paths(&name);
        let used = floors.iter().filter(|(used, _)| {
            let library = format!("smbench_{used}");
            let mut paths = sources.iter().flat_map(|source| &source.paths);
            paths.any(|path| path.names[0] == library)
        });
        // The program of a crate uses its library.
        let others = used.filter(|(used, _)| **used != name);
        let upwards = others.filter(|(_, used)| *used >= floor);
        wrong.extend(upwards.map(|(used, _)| format!("{name} uses {used}, which is not below it")));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
