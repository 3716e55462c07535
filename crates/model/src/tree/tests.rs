use std::collections::HashSet;

use proptest::prelude::*;

use super::*;

fn shape(directories: u32, files: u32) -> TreeShape {
    TreeShape {
        directories,
        files,
        ..TreeShape::default()
    }
}

fn directory_path(tree: &Tree, directory: u32) -> String {
    let mut path = String::new();
    tree.append_directory(directory, &mut path).unwrap();
    path
}

fn file_path(tree: &Tree, file: u32) -> String {
    let mut path = String::new();
    tree.append_file(file, &mut path).unwrap();
    path
}

/// Walks a tree from its root, and checks what children, parents, names and paths say.
fn walk(tree: &Tree) {
    let (mut files, mut directories) = (0, 1);
    let (mut name, mut buffer) = (String::new(), String::new());
    for directory in 0..tree.directories() {
        let children = tree.children(directory);
        // Numbers go on from directory to directory, so each is in one of them.
        assert_eq!(
            (children.files.start, children.directories.start),
            (files, directories)
        );
        (files, directories) = (children.files.end, children.directories.end);
        let above = directory_path(tree, directory);
        let mut names = HashSet::new();
        let mut check = |entry: TreeEntry, path: String, name: &str| {
            assert_eq!(
                path,
                if above.is_empty() {
                    name.to_owned()
                } else {
                    format!(r"{above}\{name}")
                }
            );
            assert!(names.insert(name.to_lowercase()), "{name}");
            assert!(name.len() <= tree.name_bytes_max(), "{name}");
            for spelling in [name.to_owned(), name.to_ascii_uppercase()] {
                assert_eq!(tree.find(directory, &spelling, &mut buffer), Some(entry));
            }
            for other in [
                format!("x{name}"),
                format!("{name}x"),
                name.chars().skip(1).collect(),
            ] {
                assert_eq!(tree.find(directory, &other, &mut buffer), None, "{other}");
            }
        };
        for file in children.files {
            assert_eq!(tree.directory_of(file), directory);
            name.clear();
            tree.append_file_name(file, &mut name).unwrap();
            check(TreeEntry::File(file), file_path(tree, file), &name);
        }
        for child in children.directories {
            assert_eq!(tree.parent(child), Some(directory));
            name.clear();
            tree.append_directory_name(child, &mut name).unwrap();
            check(
                TreeEntry::Directory(child),
                directory_path(tree, child),
                &name,
            );
        }
    }
    assert_eq!((files, directories), (tree.files(), tree.directories()));
    assert_eq!(tree.parent(0), None);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn every_file_and_directory_is_in_one_place(
        seed: u64,
        directories in 1..200_u32,
        files in 0..2000_u32,
        fan_out in 1..40_u32,
        length in 5..20_u8,
        utf8 in 0..=100_u8,
        case in prop::sample::select(&NameCase::ALL),
    ) {
        let fan_out = fan_out.max(directories / 16);
        let length = format!("{length}..{}", length + 8).parse().unwrap();
        let tree = Tree::new(TreeShape {
            seed,
            fan_out: Some(fan_out),
            names: TreeNames { length, utf8, case },
            ..shape(directories, files)
        })
        .unwrap();
        assert_eq!((tree.directories(), tree.files()), (directories, files));
        assert!(tree.fan_out() <= fan_out);
        walk(&tree);
    }
}

#[test]
fn levels_of_a_shape_are_kept() {
    let level = |directories, files| LevelShape { directories, files };
    let tree = Tree::new(TreeShape {
        levels: vec![level(1, 0), level(3, 50), level(1, 0), level(7, 9)],
        ..TreeShape::default()
    })
    .unwrap();
    walk(&tree);
    assert_eq!(
        (tree.directories(), tree.files(), tree.depth()),
        (12, 59, 3)
    );
    for levels in [
        vec![level(2, 0)],
        vec![level(1, 0), level(0, 4)],
        vec![level(0, 0)],
    ] {
        let shape = TreeShape {
            levels,
            ..TreeShape::default()
        };
        assert!(matches!(Tree::new(shape), Err(TreeProblem::Level(_))));
    }
}

/// A change of any of these names or sizes would make trees on shares unusable.
#[test]
fn names_and_sizes_are_those_of_earlier_releases() {
    let tree = Tree::new(TreeShape {
        sizes: "4KiB:60,64KiB:30,1MiB:10".parse().unwrap(),
        ..shape(1000, 1_000_000)
    })
    .unwrap();
    assert_eq!((tree.depth(), tree.fan_out()), (3, 10));
    let found = [0, 1, 499_999, 999_999].map(|file| (file_path(&tree, file), tree.size(file)));
    let expected = [
        ("gssmalwvbs00.pdf", 65_536),
        ("tlxgwgyfzcvecs01.dat", 65_536),
        (
            r"ydemwldhilghvvxjjnhzfzc\mnsmgyxmkniezb\iifqkvnabkze\msqsdziyqzffaz7.jpg",
            4096,
        ),
        (
            r"dihfqxeyvkkaldekhhxzh\vlhbtwmthbjvjcyydyczh\yvvwtksllazg\zfetfbefz7.pdf",
            1_048_576,
        ),
    ];
    assert_eq!(found, expected.map(|(path, size)| (path.to_owned(), size)));
}

#[test]
fn a_tree_that_does_not_fit_is_refused_with_both_numbers_and_the_smallest_fix() {
    let message = |depth, fan_out| {
        let shape = TreeShape {
            depth,
            fan_out,
            ..shape(1000, 10)
        };
        Tree::new(shape)
            .map(|_| ())
            .map_err(|problem| problem.to_string())
    };
    assert_eq!(
        message(Some(2), Some(3)).unwrap_err(),
        "depth 2 and fan-out 3 hold 13 directories, not 1000: give depth 6 or fan-out 32"
    );
    assert_eq!(message(Some(6), Some(3)), Ok(()));
    assert_eq!(message(Some(2), Some(32)), Ok(()));
    assert!(message(Some(2), Some(31)).is_err());
    assert!(message(Some(5), Some(3)).is_err());
    assert_eq!(
        message(Some(0), Some(3)).unwrap_err(),
        "depth 0 and fan-out 3 hold 1 directory, not 1000: give depth 6"
    );
    assert_eq!(message(Some(1), None), Ok(()));
    assert_eq!(
        message(Some(0), None).unwrap_err(),
        "depth 0 holds 1 directory, not 1000: give depth 1"
    );
    assert_eq!(
        message(None, Some(1)).unwrap_err(),
        "depth 32 and fan-out 1 hold 33 directories, not 1000: give fan-out 2"
    );
}

#[test]
fn numbers_beyond_sense_are_refused() {
    let problem = |change: fn(&mut TreeShape)| {
        let mut shape = shape(10, 10);
        change(&mut shape);
        Tree::new(shape).unwrap_err()
    };
    assert_eq!(
        problem(|shape| shape.directories = 0),
        TreeProblem::Directories(0)
    );
    assert_eq!(
        problem(|shape| shape.files = u32::MAX),
        TreeProblem::Files(u32::MAX)
    );
    assert_eq!(
        problem(|shape| shape.depth = Some(33)),
        TreeProblem::Depth(33)
    );
    assert_eq!(
        problem(|shape| shape.fan_out = Some(0)),
        TreeProblem::FanOutZero
    );
    assert!(matches!(
        problem(|shape| shape.names.utf8 = 101),
        TreeProblem::Names(_)
    ));
    assert!(matches!(
        problem(|shape| {
            shape.fan_out = Some(1);
            shape.directories = 33;
            shape.names.length = "200".parse().unwrap();
        }),
        TreeProblem::Path(_)
    ));
}

#[test]
fn the_longest_names_of_a_depth_are_possible() {
    for depth in [0, 10, 11, TREE_DEPTH_MAX] {
        let tree = |length: usize| {
            Tree::new(TreeShape {
                fan_out: Some(1),
                names: TreeNames {
                    length: length.to_string().parse().unwrap(),
                    ..TreeNames::default()
                },
                ..shape(depth + 1, 10)
            })
        };
        let longest = name_bytes_within(depth as usize);
        assert_eq!(tree(longest.min(255)).unwrap().depth(), depth);
        if longest < 255 {
            let problem = tree(longest + 1).unwrap_err();
            assert!(matches!(problem, TreeProblem::Path(_)), "{problem}");
        }
    }
}

#[test]
fn no_name_is_reserved() {
    let tree = Tree::new(TreeShape {
        names: TreeNames {
            length: "3..4".parse().unwrap(),
            ..TreeNames::default()
        },
        ..shape(1, 100_000)
    })
    .unwrap();
    let mut name = String::new();
    for file in 0..tree.files() {
        name.clear();
        tree.append_file_name(file, &mut name).unwrap();
        assert!(!name.contains(['o', 'p', 'r', 'u']), "{name}");
    }
}

#[test]
fn a_description_is_read_as_it_was_written() {
    let shape = TreeShape {
        depth: Some(4),
        sizes: "lognormal:16KiB,2".parse().unwrap(),
        popularity: Popularity::Zipf(1.1),
        ..shape(20, 30)
    };
    let json = serde_json::to_string(&shape).unwrap();
    assert_eq!(serde_json::from_str::<TreeShape>(&json).unwrap(), shape);
}
