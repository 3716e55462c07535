//! Preparations that a server refuses half-way: what is written stays, and the same command
//! continues.

use std::net::Ipv4Addr;

use smbench_lab::{EmbeddedOptions, EmbeddedServer};
use smbench_model::tree::{Tree, TreeNames, TreeShape};

use super::*;

/// Bytes of a file that takes several requests.
const LARGE: usize = 3 << 20;
/// A file of another program on the share.
const OTHER: &str = "other.bin";
/// Number of files in a tree of one directory.
const FILES: u32 = 60;

/// Checks that a preparation ended with two lines: that it can go on, and why it has ended.
#[track_caller]
fn ended_with(said: &Said, parts: &[&str]) {
    assert_eq!(said.code(), Some(3), "{said:?}");
    assert_eq!(said.stdout, "", "{said:?}");
    let [stays, why] = said.stderr.lines().collect::<Vec<_>>()[..] else {
        panic!("not two lines: {said:?}");
    };
    let expected = "smbench: what was written stays, and the same command continues";
    assert_eq!(stays, expected);
    for part in parts {
        assert!(why.contains(part), "{part:?} is missing: {why}");
    }
}

/// Returns the files of the tree, each with its path on the share and its bytes.
fn files_on(server: &EmbeddedServer) -> Vec<(String, Vec<u8>)> {
    let memory = server.memory();
    let paths = memory.paths().into_iter();
    let in_tree = paths.filter(|path| path.starts_with("smbench-tree/tree/"));
    // A directory has no bytes.
    let files = in_tree.filter_map(|path| memory.contents(&path).map(|bytes| (path, bytes)));
    files.collect()
}

/// The disk has room for the files, but not for their description beside them.
#[test]
fn a_full_disk_keeps_what_was_written_and_the_same_command_continues() {
    let server = EmbeddedServer::start(EmbeddedOptions {
        capacity_bytes: Some((4 * LARGE + (1 << 20)) as u64),
        ..EmbeddedOptions::default()
    })
    .unwrap();
    let (place, url, memory) = (Place::new(), server.url(), server.memory());
    let prepare = || {
        let shape = ["--directories=2", "--files=4", "--sizes=3MiB"];
        let args = [&["tree", "prepare", &url][..], &shape].concat();
        place.smbench_as(server.password(), &args)
    };
    // Nothing is written where it is known that there is too little space.
    memory.put(OTHER, &vec![1_u8; 2 << 20]).unwrap();
    prepare().failed_with(3, &["has 11 MiB free, but the tree needs 12 MiB"]);
    assert_eq!(memory.paths(), [OTHER]);

    memory.put(OTHER, &vec![1_u8; 1 << 20]).unwrap();
    let filled = || {
        let said = prepare();
        let (whole, cut): (Vec<_>, Vec<_>) = files_on(&server)
            .into_iter()
            .partition(|(_, bytes)| bytes.len() == LARGE);
        let [(path, bytes)] = &cut[..] else {
            panic!("{} files are cut: {said:?}", cut.len());
        };
        assert!((1..LARGE).contains(&bytes.len()), "{said:?}");
        let named = format!("failed to write file '{}'", path.replace('/', "\\"));
        let full = "STATUS_DISK_FULL; the share is full: free some space";
        ended_with(&said, &[&named, full]);
        // The server may not know yet that the sessions are gone.
        wait_until(|| memory.counts().open_handles == 0);
        whole
    };
    let kept = filled();
    assert_eq!(kept.len(), 3);
    // The same command loses nothing while the disk is full, and continues after that.
    assert!(filled() == kept, "files of an earlier preparation changed");
    memory.put(OTHER, b"").unwrap();
    let said = prepare();
    said.succeeded();
    let written = "3 files whole already\n1 file and ";
    assert!(said.stdout.contains(written), "{said:?}");
    let all = files_on(&server);
    assert_eq!(all.len(), 4);
    assert!(all.iter().all(|(_, bytes)| bytes.len() == LARGE));
    assert!(kept.iter().all(|file| all.contains(file)));
    let check = place.smbench_as(server.password(), &["tree", "check", &url]);
    check.succeeded();
}

/// Makes the description of a tree of one directory.
fn flat(seed: u64, utf8: u8) -> Tree {
    let names = TreeNames {
        utf8,
        ..TreeNames::default()
    };
    let shape = TreeShape {
        seed,
        directories: 1,
        files: FILES,
        names,
        ..TreeShape::default()
    };
    Tree::new(shape).unwrap()
}

fn name(of: &Tree, file: u32) -> String {
    let mut name = String::new();
    of.append_file_name(file, &mut name).unwrap();
    name
}

/// Checks that a server with a rule about names refuses this file of a tree, that the files
/// before it stay, and that the tree is completed where the rule does not hold.
fn refuses(samba: &ScratchSamba, rule: SambaOptions, of: &Tree, file: u32, status: &str) {
    let beside = samba.beside(Ipv4Addr::new(127, 0, 0, 2), rule).unwrap();
    let strict = ScratchSamba::start(beside).unwrap();
    let place = Place::new();
    let TreeShape { seed, names, .. } = of.shape();
    let shape = [
        "--directories=1".to_owned(),
        format!("--files={FILES}"),
        format!("--seed={seed}"),
        format!("--name-utf8={}", names.utf8),
        // It makes the files in the order of their numbers.
        "--sessions=1".to_owned(),
    ];
    let shape: Vec<_> = shape.iter().map(String::as_str).collect();
    let refused = name(of, file);
    let named = format!(r"failed to write file 'smbench-tree\tree\{refused}'");
    for _ in 0..2 {
        let said = tree(&place, &strict, "prepare", &shape);
        ended_with(&said, &[&named, status]);
        assert_eq!(found(&root(samba)).0.len(), file as usize);
    }
    let missing = format!("{refused}' is missing");
    tree(&place, &strict, "check", &[]).failed_with(1, &[&missing]);
    let said = tree(&place, samba, "prepare", &shape);
    said.succeeded();
    let kept = format!("{file} files whole already\n");
    assert!(said.stdout.contains(&kept), "{said:?}");
    assert_eq!(found(&root(samba)).0.len(), FILES as usize);
    for command in ["check", "cleanup"] {
        tree(&place, samba, command, &[]).succeeded();
    }
    // The rest is removed, although the server can have no such name.
    let said = tree(&place, &strict, "prepare", &shape);
    assert_eq!(said.code(), Some(3), "{said:?}");
    tree(&place, &strict, "cleanup", &[]).succeeded();
    assert_eq!(fs::read_dir(samba.data_dir()).unwrap().count(), 0);
}

#[test]
fn a_name_that_the_server_refuses_is_named_and_the_other_files_stay() {
    let Some(samba) = samba() else { return };
    let of = flat(1, 0);
    let vetoes = SambaOptions {
        extra_share: vec![format!("veto files = /{}/", name(&of, 30))],
        ..SambaOptions::default()
    };
    refuses(&samba, vetoes, &of, 30, "STATUS_OBJECT_NAME_NOT_FOUND");

    // A tree with some names in ASCII before the first other one.
    let is_wide = |of: &Tree, file: u32| !name(of, file).is_ascii();
    let with_wide = (1..).find_map(|seed| {
        let of = flat(seed, 1);
        let wide = (0..FILES).find(|file| is_wide(&of, *file))?;
        (wide > 1).then_some((of, wide))
    });
    let (of, wide) = with_wide.unwrap();
    let knows_ascii = SambaOptions {
        extra_global: vec!["unix charset = ASCII".to_owned()],
        ..SambaOptions::default()
    };
    refuses(&samba, knows_ascii, &of, wide, "STATUS_ILLEGAL_CHARACTER");
}
