//! Operations on a tree: which directories and files they are about.

use std::collections::BTreeSet;
use std::sync::Arc;

use smbench_protocol::command::query_directory::DirectoryClass;

use super::{take, workload};
use crate::access::Access;
use crate::action::{Action, WeightedAction};
use crate::files::Scope;
use crate::kind::OpKind;
use crate::operations::{Mix, OpStream, RequestResult};
use crate::tree::{Popularity, Tree, TreeShape};
use crate::workload::{Requests, Workload};

const DIRECTORIES: u32 = 12;
const FILES: u32 = 300;

fn on_tree(action: Action, access: Access, popularity: Popularity) -> Workload {
    let tree = Tree::new(TreeShape {
        directories: DIRECTORIES,
        files: FILES,
        sizes: "0:10,100B:40,5000B:50".parse().unwrap(),
        popularity,
        ..TreeShape::default()
    });
    Workload {
        requests: Requests::Mix(vec![WeightedAction {
            action,
            weight: 100.0,
        }]),
        files: Arc::new(tree.unwrap()).into(),
        ..workload(access, Scope::Shared, 1)
    }
}

fn list() -> Action {
    Action::List {
        aapl: false,
        class: DirectoryClass::IdBothDirectory,
        pattern: "*".to_owned(),
        buffer: 65_536,
    }
}

#[test]
fn sequential_listings_take_each_directory_once() {
    let workload = on_tree(list(), Access::Sequential, Popularity::Uniform);
    assert_eq!(workload.actions_of(2), Some(2 * u64::from(DIRECTORIES)));
    for client in 0..5 {
        let mut stream = OpStream::new(&Mix::new(&workload), 3, client);
        let listed = take(&mut stream, DIRECTORIES as usize);
        let listed: BTreeSet<_> = listed.iter().map(|operation| operation.file).collect();
        assert!(listed.into_iter().eq(0..DIRECTORIES), "client {client}");
    }
}

/// The shares themselves are tested by chi-square where they are drawn.
#[test]
fn random_listings_take_directories_by_their_popularity() {
    const DRAWS: u32 = 20_000;
    let most = |popularity| {
        let workload = on_tree(list(), Access::Random, popularity);
        let mut stream = OpStream::new(&Mix::new(&workload), 3, 1);
        let mut counts = vec![0_u32; DIRECTORIES as usize];
        for operation in take(&mut stream, DRAWS as usize) {
            counts[operation.file as usize] += 1;
        }
        assert!(counts.iter().all(|&count| count > 0), "{counts:?}");
        f64::from(counts.into_iter().max().unwrap()) / f64::from(DRAWS)
    };
    assert!(most(Popularity::Uniform) < 0.1);
    // The first of 12 has 1 / (1 + 1/2 + ... + 1/12) of them.
    assert!((most(Popularity::Zipf(1.0)) - 0.322).abs() < 0.02);
}

#[test]
fn a_copy_has_the_size_of_its_number_also_when_the_tree_is_copied_again() {
    let workload = on_tree(Action::CopyIn, Access::Random, Popularity::Uniform);
    let mix = Mix::new(&workload);
    let mut stream = OpStream::new(&mix, 3, 1);
    let mut bytes = 0;
    for (number, create) in (0..).zip(take(&mut stream, 2 * FILES as usize)) {
        assert_eq!((create.kind, create.file), (OpKind::CopyInCreate, number));
        let next = mix.after(&create, RequestResult::Well).unwrap();
        let size = workload.files.size_of(number % FILES);
        let expected = match size {
            0 => (OpKind::CopyInTimes, 0),
            _ => (OpKind::CopyInWrite, size),
        };
        assert_eq!((next.kind, u64::from(next.length)), expected);
        bytes += u64::from(next.length);
    }
    assert_eq!(bytes, workload.files.copied_bytes(2 * u64::from(FILES)));
    assert_eq!(bytes, 2 * workload.files.bytes(1));
}

#[test]
fn a_copied_tree_has_its_own_names_and_those_that_are_missing_are_in_no_tree() {
    let workload = on_tree(Action::CopyIn, Access::Random, Popularity::Uniform);
    let files = &workload.files;
    let (mut seen, mut all) = (BTreeSet::new(), BTreeSet::new());
    for number in 0..3 * FILES {
        let mut path = String::new();
        files.append_copy_name(7, number, &mut path).unwrap();
        let own = path.strip_prefix(r"copies\c00007\").unwrap();
        let name = files.file_name(7, number % FILES);
        let again = match number / FILES {
            0 => String::new(),
            again => format!(".{again}"),
        };
        assert_eq!(own, format!("{name}{again}"));
        assert!(seen.insert(path));
        all.insert(name);
    }
    let mut folders = BTreeSet::new();
    for number in 0..200 {
        let mut path = String::new();
        files.append_missing_name(7, number, &mut path).unwrap();
        assert!(!all.contains(&path), "{path}");
        folders.insert(
            path.rsplit_once('\\')
                .map_or(String::new(), |(folder, _)| folder.to_owned()),
        );
    }
    assert_eq!(folders.len(), DIRECTORIES as usize);
}

#[test]
fn loops_of_a_walk_are_whole_walks() {
    let walk = Action::Walk {
        class: DirectoryClass::IdBothDirectory,
        buffer: 65_536,
        root: crate::action::TreeRoot::Files,
    };
    let workload = on_tree(walk, Access::Random, Popularity::Uniform);
    assert!(workload.walks());
    assert_eq!(workload.actions_of(3), Some(3));
}
