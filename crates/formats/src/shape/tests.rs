use super::*;

fn measured() -> MeasuredTree {
    let mut measured = MeasuredTree::default();
    let mut names = [1, 8, 8, 300].map(|length| "n".repeat(length)).into_iter();
    for (level, directories, files) in [(0, 1, 2), (1, 3, 40), (2, 5, 0)] {
        (0..directories).for_each(|_| measured.directory(level, ""));
        (0..files).for_each(|file| {
            let name = names.next().unwrap_or_default();
            measured.file(level, &name, file * 100);
        });
    }
    measured
}

#[test]
fn a_shape_is_read_as_it_was_written() {
    let found = measured().shape().unwrap();
    let text = write(&found.shape);
    assert!(
        text.contains("level\t1\t3\t40\nlevel\t2\t5\t0\nname\t1\t1\nname\t8\t2\nname\t255\t1\n")
    );
    assert_eq!(read(text.as_bytes()), Ok(found));
}

#[test]
fn a_listing_has_the_shape_of_its_tree() {
    let listing = "d\t4096\t\nd\t4096\tphotos\nf\t7\tphotos/one two.jpg\nl\t3\tlink\nf\t9\ta\n";
    let mut same = MeasuredTree::default();
    same.directory(0, "");
    same.directory(1, "photos");
    same.file(1, "one two.jpg", 7);
    same.file(0, "a", 9);
    let same = same.shape();
    assert_eq!(read(listing.as_bytes()), same);
    let without_root = listing.split_once('\n').unwrap().1.replace('\n', "\r\n");
    assert_eq!(read(without_root.as_bytes()), same);
    for wrong in ["\u{0}\u{1}", "f 7 a", "f\tx\ta", "f\t7\t", "photos/one.jpg"] {
        let text = wrong.to_owned();
        assert_eq!(
            read(wrong.as_bytes()),
            Err(ShapeError::Listing { line: 1, text })
        );
    }
}

#[test]
fn paths_of_a_listing_begin_below_its_directory() {
    for (path, text) in [
        ("/srv/a", "d\t0\ta\nf\t7\t/srv/a\n"),
        ("../a", "\nd\t0\t../a\n"),
    ] {
        let refused = read(text.as_bytes()).unwrap_err();
        let path = path.to_owned();
        assert_eq!(refused, ShapeError::Above { line: 2, path });
    }
    let is_in_one = |text: &str| read(text.as_bytes()).unwrap().is_in_one;
    let inner = "d\t0\tprojects\nd\t0\tprojects/a\nf\t7\tprojects/b\n";
    assert!(is_in_one(inner));
    // It has its own directory, or something beside that one.
    for more in ["d\t0\t", "d\t0\t.", "f\t7\tc", "d\t0\tc"] {
        assert!(!is_in_one(&format!("{inner}{more}\n")), "{more}");
    }
    let shape = write(&read(inner.as_bytes()).unwrap().shape);
    assert!(!is_in_one(&shape), "{shape}");
}

#[test]
fn what_is_too_deep_is_counted() {
    let path = |level: usize| vec!["d"; level].join("/");
    let line = |of: &str, level| format!("{of}\t9\t{}\n", path(level));
    let directories: String = (0..=35).map(|level| line("d", level)).collect();
    let files: String = [33, 34, 36].map(|level| line("f", level)).concat();
    let found = read((directories + &files).as_bytes()).unwrap();
    let deeper = LevelShape {
        directories: 3,
        files: 2,
    };
    assert_eq!(found.deeper, deeper);
    let tree = Tree::new(found.shape).unwrap();
    assert_eq!((tree.depth(), tree.files()), (TREE_DEPTH_MAX, 1));
}

#[test]
fn names_are_shortened_where_paths_would_be_too_long() {
    let of = |depth: usize| {
        let mut measured = MeasuredTree::default();
        (0..=depth).for_each(|level| measured.directory(level, "d"));
        for length in [12, 249, 250, 255] {
            measured.file(0, &"n".repeat(length), 0);
        }
        measured.shape().unwrap()
    };
    assert_eq!((of(10).shortened, of(10).longest), (0, 255));
    let found = of(11);
    assert_eq!((found.shortened, found.longest), (2, 249));
    let lengths: Vec<_> = found.shape.names.length.counts().collect();
    assert_eq!(lengths, [(1, 12), (12, 1), (249, 3)]);
}

#[test]
fn many_sizes_are_joined_and_keep_their_bytes() {
    let sizes: BTreeMap<u64, u32> = (0..5000).map(|size| (size * 37, 2)).collect();
    let joined = joined(&sizes);
    assert!(joined.len() <= SIZES_MAX, "{}", joined.len());
    let bytes = |sizes: &[(u64, u32)]| -> f64 {
        sizes
            .iter()
            .map(|&(bytes, count)| bytes as f64 * f64::from(count))
            .sum()
    };
    let exact: Vec<_> = sizes.into_iter().collect();
    let share = bytes(&joined) / bytes(&exact);
    assert!((share - 1.0).abs() < 0.001, "{share}");
}

#[test]
fn what_is_no_shape_is_refused_with_its_line() {
    for (text, line) in [
        ("level\t0\t1", 1),
        ("# a\nlevel 0 1 1\nsize x 1", 3),
        ("name 256 1", 1),
        ("level 33 1 1", 1),
    ] {
        let found = read(text.as_bytes()).unwrap_err();
        assert!(
            matches!(found, ShapeError::Line { line: at, .. } if at == line),
            "{text}: {found}"
        );
    }
    assert_eq!(read(b"").unwrap_err().to_string(), "it is empty");
    for text in ["level 0 2 1", "level 1 1 1", "level 0 1 4294967295"] {
        let found = read(text.as_bytes());
        assert!(
            matches!(found, Err(ShapeError::Tree(_))),
            "{text}: {found:?}"
        );
    }
}
