use std::collections::HashSet;

use super::*;

fn files(scope: Scope) -> FileSet {
    FileSet {
        scope,
        count: 3,
        size: 1 << 20,
        layout: Layout::Flat,
    }
}

#[test]
fn private_files_multiply_by_clients() {
    let set = files(Scope::Private);
    assert_eq!(set.bytes(4), 12 << 20);
    let all: Vec<_> = set.iter(4).collect();
    assert_eq!(all.len(), 12);
    assert_eq!(all[4], WorkFile { client: 1, file: 1 });
    let names: HashSet<_> = all
        .iter()
        .map(|f| set.file_name(f.client, f.file))
        .collect();
    assert_eq!(names.len(), 12);
    assert_eq!(set.file_name(1, 0), "c00001-f000.dat");
}

#[test]
fn names_are_written_into_a_buffer_that_is_used_again() {
    let mut path = String::with_capacity(64);
    let before = path.as_ptr();
    for scope in [Scope::Private, Scope::Shared] {
        let set = files(scope);
        for (client, file) in [(0, 0), (99_999, 999), (7, 1000), (u32::MAX, u32::MAX)] {
            let name = match scope {
                Scope::Private => format!("c{client:05}-f{file:03}.dat"),
                Scope::Shared => format!("shared-f{file:03}.dat"),
            };
            assert_eq!(set.file_name(client, file), name);
            path.clear();
            path.push_str("smbench\\");
            set.append_name(client, file, &mut path).unwrap();
            assert_eq!(path, format!("smbench\\{}", set.file_name(client, file)));
        }
    }
    assert_eq!(path.as_ptr(), before);
}

#[test]
fn shared_files_do_not() {
    let set = files(Scope::Shared);
    assert_eq!(set.bytes(4), 3 << 20);
    assert_eq!(set.iter(4).count(), 3);
    assert_eq!(set.iter(0).count(), 0);
    assert_eq!(set.file_name(7, 2), "shared-f002.dat");
}

#[test]
fn its_own_names_are_recognised_and_no_others() {
    for scope in [Scope::Private, Scope::Shared] {
        let set = files(scope);
        for file in set.iter(2) {
            assert!(FileSet::is_file_name(
                &set.file_name(file.client, file.file)
            ));
        }
    }
    for name in [
        "report.dat",
        "c1-f.dat",
        "c-f1.dat",
        "cx-f1.dat",
        "c1-f1.txt",
        "shared-f1",
    ] {
        assert!(!FileSet::is_file_name(name), "{name}");
    }
}

#[test]
fn scratch_names_are_recognised_and_no_others() {
    assert_eq!(ScratchName::Temporary.of(1, 3), "s00001-003-t.tmp");
    let mut names = HashSet::new();
    for name in ScratchName::ALL {
        for (client, slot) in [(0, 0), (0, 1), (123_456, 1023)] {
            let name = name.of(client, slot);
            assert!(FileSet::is_file_name(&name), "{name}");
            assert!(ScratchName::is_like(&name), "{name}");
            assert!(names.insert(name));
        }
    }
    for name in [
        "s1-1-x.tmp",
        "s1-1-tt.tmp",
        "s1-1.tmp",
        "s-1-t.tmp",
        "s1--t.tmp",
        "x1-1-t.tmp",
        "s1-1-t.dat",
        "s1-1-t",
    ] {
        assert!(!FileSet::is_file_name(name), "{name}");
        assert!(!ScratchName::is_like(name), "{name}");
    }
    assert!(!ScratchName::is_like("c00001-f000.dat"));
}

#[test]
fn files_of_some_clients_are_those_that_earlier_clients_have_not() {
    for scope in [Scope::Private, Scope::Shared] {
        let set = files(scope);
        for (from, to) in [(0, 0), (0, 1), (0, 4), (1, 4), (2, 3), (4, 4), (4, 2)] {
            let skipped = set.iter(to).skip(set.iter(from).count());
            let direct = set.iter_of(from..to);
            assert!(direct.eq(skipped), "{scope:?} {from}..{to}");
        }
    }
}

#[test]
fn files_of_the_last_of_many_clients_are_found_without_a_walk() {
    let set = FileSet {
        count: u32::MAX,
        ..files(Scope::Private)
    };
    // A walk would take 2^64 steps.
    let last = set.iter_of(u32::MAX - 1..u32::MAX).next();
    let (client, file) = (u32::MAX - 1, 0);
    assert_eq!(last, Some(WorkFile { client, file }));
}

#[test]
fn a_sum_beyond_64_bits_saturates() {
    let set = FileSet {
        size: u64::MAX,
        ..files(Scope::Private)
    };
    assert_eq!(set.bytes(2), u64::MAX);
}
