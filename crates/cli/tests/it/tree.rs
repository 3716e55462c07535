//! `tree`: a prepared tree against what the disk of a server has.

mod refused;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use nix::sys::signal::Signal;
use smbench_lab::{SambaOptions, ScratchSamba};

use crate::support::{Place, Said, text, wait_until};

fn samba() -> Option<ScratchSamba> {
    ScratchSamba::or_skip(SambaOptions::default())
}

const SHAPE: [&str; 7] = [
    "--directories=10",
    "--files=1000",
    "--sizes=0:10,100B:40,5000B:40,70000B:10",
    "--name-case=mixed",
    "--name-utf8=20",
    "--depth=3",
    "--sessions=4",
];

fn tree(place: &Place, samba: &ScratchSamba, command: &str, more: &[&str]) -> Said {
    let url = samba.url();
    let mut args = vec!["tree", command, &url];
    args.extend(more);
    place.smbench_as(samba.password(), &args)
}

fn root(samba: &ScratchSamba) -> PathBuf {
    samba.data_dir().join("smbench-tree").join("tree")
}

/// Returns the paths and sizes of the files below a folder, and the number of its directories.
fn found(folder: &Path) -> (Vec<(PathBuf, u64)>, usize) {
    let (mut files, mut directories) = (Vec::new(), 0);
    let mut waiting = vec![folder.to_owned()];
    while let Some(path) = waiting.pop() {
        directories += 1;
        for entry in fs::read_dir(path).unwrap() {
            let entry = entry.unwrap();
            if entry.file_type().unwrap().is_dir() {
                waiting.push(entry.path());
            } else {
                files.push((entry.path(), entry.metadata().unwrap().len()));
            }
        }
    }
    files.sort();
    (files, directories)
}

#[test]
fn a_tree_is_made_checked_repaired_and_removed() {
    let Some(samba) = samba() else { return };
    let place = Place::new();
    let said = tree(&place, &samba, "prepare", &SHAPE);
    said.succeeded();
    assert!(
        said.stdout.starts_with("1000 files in 10 directories, "),
        "{said:?}"
    );
    let (files, directories) = found(&root(&samba));
    assert_eq!((files.len(), directories), (1000, 10));
    tree(&place, &samba, "check", &[]).succeeded();

    // Whatever is missing or wrong is named, and made again.
    let (gone, cut) = (
        &files[500].0,
        &files.iter().rfind(|(_, size)| *size > 0).unwrap().0,
    );
    fs::remove_file(gone).unwrap();
    let said = tree(&place, &samba, "check", &[]);
    let name = gone.file_name().unwrap().to_str().unwrap();
    let missing = format!("{name}' is missing; the same `smbench tree prepare` makes");
    said.failed_with(1, &[&missing]);
    fs::write(cut, "").unwrap();
    let said = tree(&place, &samba, "prepare", &SHAPE);
    said.succeeded();
    assert!(
        said.stdout.contains("998 files whole already\n"),
        "{said:?}"
    );
    assert_eq!(found(&root(&samba)).0, files);
    tree(&place, &samba, "check", &["--sessions=1"]).succeeded();

    // Another tree is named, and not touched.
    let said = tree(&place, &samba, "prepare", &["--seed=7"]);
    said.failed_with(2, &["is another one: its seed is 1, and not 7"]);
    assert_eq!(found(&root(&samba)).0, files);

    // Files of others stay.
    let foreign = gone.with_file_name("report.txt");
    fs::write(&foreign, "mine").unwrap();
    for command in ["check", "prepare", "cleanup"] {
        let more: &[&str] = if command == "prepare" { &SHAPE } else { &[] };
        let said = tree(&place, &samba, command, more);
        assert_ne!(said.code(), Some(0), "{command}: {said:?}");
        assert!(
            said.stderr.contains(r"\report.txt' "),
            "{command}: {said:?}"
        );
        assert!(
            said.stderr.contains("move it away first"),
            "{command}: {said:?}"
        );
    }
    assert_eq!(fs::read_to_string(&foreign).unwrap(), "mine");
    fs::remove_file(&foreign).unwrap();
    let said = tree(&place, &samba, "cleanup", &[]);
    said.succeeded();
    assert_eq!(said.stdout, "removed smbench-tree\n");
    assert_eq!(fs::read_dir(samba.data_dir()).unwrap().count(), 0);
    let said = tree(&place, &samba, "cleanup", &[]);
    assert_eq!(said.stdout, "nothing to remove\n");
    tree(&place, &samba, "check", &[]).failed_with(3, &["there is no prepared tree"]);
}

#[test]
fn a_killed_preparation_goes_on_to_the_same_tree() {
    let Some(samba) = samba() else { return };
    let (place, url) = (Place::new(), samba.url());
    let args = [&["tree", "prepare", &url][..], &SHAPE].concat();
    let killed = place.start_as(samba.password(), &args);
    let root = root(&samba);
    wait_until(|| root.is_dir() && found(&root).0.len() > 50);
    killed.signal(Signal::SIGKILL);
    killed.wait();
    tree(&place, &samba, "prepare", &SHAPE).succeeded();
    let (files, directories) = found(&root);
    assert_eq!((files.len(), directories), (1000, 10));
    tree(&place, &samba, "check", &[]).succeeded();
    tree(&place, &samba, "cleanup", &[]).succeeded();
    tree(&place, &samba, "prepare", &SHAPE).succeeded();
    assert_eq!(found(&root), (files, directories));
}

#[test]
fn a_tree_is_made_like_a_local_one() {
    let Some(samba) = samba() else { return };
    let place = Place::new();
    for (path, bytes) in [
        ("a", 10),
        ("b/c/d", 5000),
        ("b/e", 10),
        ("b/c/longer-name", 0),
    ] {
        let path = place.path("like").join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, vec![0; bytes]).unwrap();
    }
    let like = place.path("like");
    let said = place.smbench(&["tree", "shape", text(&like)]);
    said.succeeded();
    assert!(!said.stdout.contains("longer"), "{said:?}");
    let file = place.write("shape.tsv", &said.stdout);
    tree(&place, &samba, "prepare", &["--like-file", text(&file)]).succeeded();
    let (files, directories) = found(&root(&samba));
    assert_eq!((files.len(), directories), (4, 3));
    // The same description from the directory itself, or from a listing of it, is the same tree.
    let find = Command::new("find")
        .arg(&like)
        .args(["-printf", "%y\\t%s\\t%P\\n"])
        .output()
        .unwrap();
    let listing = place.write("listing.tsv", &String::from_utf8(find.stdout).unwrap());
    for of in [&like, &listing] {
        let said = tree(&place, &samba, "prepare", &["--like", text(of)]);
        said.succeeded();
        let expected = "4 files whole already\nno file written\n";
        assert!(said.stdout.contains(expected), "{said:?}");
    }
}

#[test]
fn a_listing_with_other_paths_is_refused_or_named() {
    let place = Place::new();
    let like = place.path("like");
    fs::create_dir_all(like.join("b")).unwrap();
    fs::write(like.join("b/file"), "").unwrap();
    let listed = |of: &str, format: &str| {
        let mut find = Command::new("find");
        let find = find.current_dir(place.path("")).arg(of);
        let printed = find.args(["-printf", format]).output().unwrap().stdout;
        place.write("listing.tsv", &String::from_utf8(printed).unwrap());
        place.smbench(&["tree", "shape", "listing.tsv"])
    };
    let said = listed(text(&like), "%y\\t%s\\t%p\\n");
    let why = "does not begin below the directory of the listing";
    said.failed_with(2, &["listing.tsv: line 1: path `/", why, "\\t%P\\n'`"]);
    let said = listed("like", "%y\\t%s\\t%p\\n");
    assert_eq!(said.code(), Some(0), "{said:?}");
    let note = "one directory has all of the listing: make it with %P";
    assert!(said.stderr.contains(note), "{said:?}");
    listed("like", "%y\\t%s\\t%P\\n").succeeded();
    fs::write(like.join("two\nlines"), "").unwrap();
    let said = listed("like", "%y\\t%s\\t%P\\n");
    let line = "`lines` is neither a line of a shape nor of a listing";
    said.failed_with(2, &[line, "unless a name has a line break"]);
}

#[test]
fn a_shape_says_what_it_leaves_out() {
    let place = Place::new();
    let like = place.path("like");
    let levels = |count: usize| vec!["d"; count].join("/");
    fs::create_dir_all(like.join(levels(34))).unwrap();
    for level in [32, 33] {
        fs::write(like.join(levels(level)).join("file"), "").unwrap();
    }
    fs::write(like.join("n".repeat(100)), "").unwrap();
    let said = place.smbench(&["tree", "shape", text(&like)]);
    assert_eq!(said.code(), Some(0), "{said:?}");
    assert!(said.stdout.contains("level\t32\t1\t1\n"), "{said:?}");
    assert!(said.stdout.contains("name\t89\t1\n"), "{said:?}");
    for lost in [
        ": the shape leaves out 2 directories deeper than 32 levels, with 1 file\n",
        ": the shape shortens 1 name to 89 characters, so that no path is too long\n",
    ] {
        assert!(said.stderr.contains(lost), "{lost}: {said:?}");
    }
}

#[test]
fn runs_use_a_prepared_tree_or_make_their_own() {
    let Some(samba) = samba() else { return };
    let (place, url) = (Place::new(), samba.url());
    let profile = place.write(
        "stat.toml",
        "[tree]\ndirectories = 10\nfiles = 1000\ndepth = 3\n\
         sizes = \"0:10,100B:40,5000B:40,70000B:10\"\npopularity = \"zipf:1.1\"\n\
         names = { case = \"mixed\", utf8 = 20 }\n\
         [[operations]]\nop = \"create_query_close\"\nclass = \"basic\"\nweight = 100\n",
    );
    let run = |profile: &Path, origin: &str| {
        let args = ["--profile", text(profile), "--clients=3"];
        let said = place.run(&url, samba.password(), &args);
        let doc = place.document();
        let of = &doc["load_points"][0]["ops"]["create_query_close"];
        assert!(of["count"].as_u64().unwrap() > 0, "{of}");
        assert_eq!(of["errors"].as_u64().unwrap_or(0), 0, "{of}");
        assert_eq!(doc["server"]["tree"], origin, "{said:?}");
        fs::remove_dir_all(place.path("results")).unwrap();
        said
    };
    run(&profile, "own").succeeded();
    assert_eq!(fs::read_dir(samba.data_dir()).unwrap().count(), 0);
    tree(&place, &samba, "prepare", &SHAPE).succeeded();
    run(&profile, "prepared").succeeded();
    // A tree of another description is named, and not used.
    let other = fs::read_to_string(&profile).unwrap();
    let other = other.replace("files = 1000", "files = 500");
    let said = run(&place.write("other.toml", &other), "own");
    let unused = "the run does not use the tree prepared in 'smbench-tree': its number of files is \
                  1000, and not 500\n";
    assert!(said.stderr.contains(unused), "{said:?}");
    assert!(said.stdout.contains("tree prepared in"), "{said:?}");
    assert_eq!(found(&root(&samba)).0.len(), 1000);
    assert_eq!(fs::read_dir(samba.data_dir()).unwrap().count(), 1);
}

#[test]
fn a_tree_too_large_for_a_run_is_named_with_the_command_that_prepares_it() {
    let Some(samba) = samba() else { return };
    let (place, url) = (Place::new(), samba.url());
    place.write(
        "large.toml",
        "[tree]\ndirectories = 2000\nfiles = 100001\nsizes = \"1KiB\"\n\
         names = { case = \"mixed\" }\npopularity = \"zipf:1.1\"\n\
         [[operations]]\nop = \"walk\"\nweight = 100\n",
    );
    let args = [
        "run",
        &url,
        "-p=./large.toml",
        "-c1",
        "--loops=1",
        "--out=results",
    ];
    let said = place.smbench_as(samba.password(), &args);
    assert_eq!(said.code(), Some(3), "{said:?}");
    let [advice, why] = said.stderr.lines().collect::<Vec<_>>()[..] else {
        panic!("not two lines: {said:?}");
    };
    let expected = format!(
        "smbench: prepare the tree before the run: smbench tree prepare '{url}' --directories 2000 \
         --files 100001 --sizes 1KiB:1 --name-case mixed"
    );
    assert_eq!(advice, expected);
    let limit = "no prepared tree in 'smbench-tree'";
    assert!(why.contains(limit), "{why}");
    let limit = "and a run itself makes at most 100000 files, not 100001";
    assert!(why.ends_with(limit), "{why}");
    assert_eq!(fs::read_dir(samba.data_dir()).unwrap().count(), 0);
}

#[test]
fn wrong_options_are_named() {
    let place = Place::new();
    let url = "smb://ann@127.0.0.1:1/bench";
    for (more, part) in [
        (
            &["--directories=1000", "--depth=2", "--fan-out=3"][..],
            "depth 2 and fan-out 3 hold 13 directories, not 1000: give depth 6 or fan-out 32",
        ),
        (
            &["--directories=10", "--depth=0"],
            "depth 0 holds 1 directory, not 10: give depth 1",
        ),
        (&["--sizes=4KiB:x"], "is no list of sizes"),
        (&["--files=20000000"], "is not from 0 to 10000000"),
        (&["--name-length=0"], "lengths from 0 to 0"),
        (&["--name-length=200", "--name-utf8=5"], "too long"),
        (
            &["--like-file=/missing/shape.tsv"],
            "cannot read /missing/shape.tsv",
        ),
        (&["--like=a", "--files=3"], "--files"),
    ] {
        let args = [&["tree", "prepare", url][..], more].concat();
        let said = place.smbench_as("secret", &args);
        said.failed_with(2, &[part]);
    }
}
