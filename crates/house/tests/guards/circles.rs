//! Files that use one another in a circle have to be read together, so a circle is small.
//!
//! A file uses the file that defines what it names, also if `pub use` gives that another
//! address. Neither the declaration of a module nor `pub use` is a use. Tests may use
//! everything.

use std::collections::{BTreeMap, BTreeSet};

use super::crates;
use super::paths::{Named, Purpose, paths, sources_with_paths};

/// Most files of a circle.
const CIRCLE_MAX: usize = 4;

/// Most addresses from a name to its definition. A name may lead to itself.
const ADDRESSES_MAX: usize = 8;

/// The path of a module that has a file of its own; empty for the root of the crate.
type Module = Vec<String>;

/// Where a path leads.
#[derive(Debug, PartialEq)]
enum Place {
    Module(Module),
    /// Something in the file of this module.
    ItemOf(Module),
}

/// The files of a crate, and the paths that they name.
struct Files(BTreeMap<Module, Vec<Named>>);

impl Files {
    fn of(krate: &str) -> Self {
        let mut files = BTreeMap::new();
        for source in sources_with_paths(krate) {
            // The program beside a library (`main.rs`) is used by nobody.
            files.entry(source.module).or_insert(source.paths);
        }
        Self(files)
    }

    /// Returns where a path leads that a file names, if it is in this crate.
    fn place(&self, from: &[String], path: &[String], addresses: usize) -> Option<Place> {
        let mut at = from.to_vec();
        for (index, name) in path.iter().enumerate() {
            match name.as_str() {
                "crate" => at.clear(),
                "self" => {}
                "super" => {
                    at.pop();
                }
                _ => {
                    at.push(name.clone());
                    if self.0.contains_key(&at) {
                        continue;
                    }
                    at.pop();
                    let imported = self.imported(&at, &path[index..], addresses);
                    // The first name is one of this file, of another crate or of the language.
                    return imported.or_else(|| (index > 0).then_some(Place::ItemOf(at)));
                }
            }
        }
        Some(Place::Module(at))
    }

    /// Returns where a path leads whose first name a file imports.
    fn imported(&self, file: &[String], path: &[String], addresses: usize) -> Option<Place> {
        let left = addresses.checked_sub(1)?;
        let (name, rest) = path.split_first()?;
        self.0[file].iter().find_map(|named| {
            let (Purpose::Import(alias) | Purpose::Export(alias)) = &named.purpose else {
                return None;
            };
            let whole = [&named.names, rest].concat();
            (alias == name)
                .then(|| self.place(file, &whole, left))
                .flatten()
        })
    }

    /// Returns the files that a file uses.
    fn used(&self, file: &Module) -> BTreeSet<Module> {
        let paths = self.0[file].iter();
        let places = paths.filter_map(|named| {
            let place = self.place(file, &named.names, ADDRESSES_MAX)?;
            match (&named.purpose, place) {
                (Purpose::Export(_), _) => None,
                (_, Place::ItemOf(module)) => Some(module),
                // What is used of a module is seen where it is used, but for `use a::*`.
                (Purpose::Import(alias), Place::Module(module)) if alias == "*" => Some(module),
                (Purpose::Import(_) | Purpose::Use, Place::Module(_)) => None,
            }
        });
        places.filter(|module| module != file).collect()
    }

    /// Returns the circles of two files or more.
    fn circles(&self) -> Vec<BTreeSet<Module>> {
        let used: BTreeMap<_, _> = self.0.keys().map(|file| (file, self.used(file))).collect();
        let reached: BTreeMap<_, _> = self
            .0
            .keys()
            .map(|file| (file, reached_from(file, &used)))
            .collect();
        let circle = |file: &Module| {
            let others = reached[file].iter().copied();
            let back = others.filter(|other| reached[other].contains(file));
            back.cloned().collect()
        };
        let circles: BTreeSet<BTreeSet<_>> = self.0.keys().map(circle).collect();
        circles
            .into_iter()
            .filter(|circle| circle.len() > 1)
            .collect()
    }
}

/// Returns the files that a file uses, those that these use, and so on.
fn reached_from<'a>(
    file: &'a Module,
    used: &'a BTreeMap<&Module, BTreeSet<Module>>,
) -> BTreeSet<&'a Module> {
    let mut reached = BTreeSet::new();
    let mut next = vec![file];
    while let Some(file) = next.pop() {
        next.extend(used[file].iter().filter(|file| reached.insert(*file)));
    }
    reached
}

#[test]
fn no_circle_of_files_has_more_than_four() {
    let mut large = Vec::new();
    let mut circles = 0;
    for krate in crates() {
        let files = Files::of(&krate);
        for circle in files.circles() {
            circles += 1;
            if circle.len() > CIRCLE_MAX {
                let names = circle.iter().map(|module| module.join("/"));
                large.push(format!("{krate}: {}", names.collect::<Vec<_>>().join(", ")));
            }
        }
    }
    assert!(circles > 10, "{circles}");
    assert!(large.is_empty(), "{}", large.join("\n"));
}

#[test]
fn a_name_leads_to_the_file_that_defines_it() {
    let module = |path: &str| -> Module { path.split_terminator('/').map(str::to_owned).collect() };
    let sources = [
        ("", "mod a; mod d; pub use a::b::{Name, other as renamed};"),
        ("a", "pub(crate) mod b; fn f() { self::b::g() }"),
        ("a/b", "use crate::d; fn g() { d::h::<super::Item>() }"),
        (
            "d",
            "use crate::renamed; use std::fs; fn h() { fs::read() }",
        ),
        ("e", "use crate::a::{self, b}; use crate::{Name, e};"),
    ];
    let files = sources.map(|(path, code)| (module(path), paths(code.parse().unwrap())));
    let files = Files(BTreeMap::from(files));
    let used = |file: &str| {
        let used = files.used(&module(file)).into_iter();
        used.map(|module| module.join("/")).collect::<Vec<_>>()
    };
    assert_eq!(used(""), [""; 0]);
    assert_eq!(used("a"), ["a/b"]);
    assert_eq!(used("a/b"), ["a", "d"]);
    assert_eq!(used("d"), ["a/b"]);
    assert_eq!(used("e"), ["a/b"]);
    let circle = ["a", "a/b", "d"].map(module);
    assert_eq!(files.circles(), [BTreeSet::from(circle)]);
}
