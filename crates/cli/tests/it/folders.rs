//! Operations about folders on a tree, against what `find` and `smbclient` see on a real server.

mod large;
mod refused;
mod untarred;

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;
use smbench_lab::{SambaOptions, ScratchSamba};

use crate::support::{Place, Said, text};

/// A tree with files of several sizes, one of them empty.
const TREE: &str = "[tree]\ndirectories = 12\nfiles = 300\ndepth = 3\n\
                    sizes = \"0:10,100B:40,5000B:50\"\nnames = { case = \"mixed\", utf8 = 20 }\n";
const SHAPE: [&str; 6] = [
    "--directories=12",
    "--files=300",
    "--depth=3",
    "--sizes=0:10,100B:40,5000B:50",
    "--name-case=mixed",
    "--name-utf8=20",
];

fn samba() -> Option<ScratchSamba> {
    ScratchSamba::or_skip(SambaOptions::default())
}

/// Writes a profile with the tree and these operations, each with parameters.
fn profile(place: &Place, operations: &[&str]) {
    let weight = 100.0 / operations.len() as f64;
    let operations = operations
        .iter()
        .map(|op| format!("[[operations]]\nop = {op}\nweight = {weight}\n"));
    let head = format!("name = \"folders\"\n{TREE}");
    let all: Vec<_> = std::iter::once(head).chain(operations).collect();
    place.write("folders.toml", &all.concat());
}

fn prepare(place: &Place, samba: &ScratchSamba) {
    let url = samba.url();
    let args = [&["tree", "prepare", &url][..], &SHAPE].concat();
    place.smbench_as(samba.password(), &args).succeeded();
}

/// Runs the profile, and returns its only load point.
fn run(place: &Place, samba: &ScratchSamba, more: &[&str]) -> (Said, Value) {
    let _ = fs::remove_dir_all(place.path("results"));
    let url = samba.url();
    let args = [
        &["run", &url, "--out=results", "--threads=2"][..],
        if more.iter().any(|arg| arg.starts_with("-p")) {
            &[]
        } else {
            &["-p=./folders.toml"]
        },
        more,
    ]
    .concat();
    let said = place.smbench_as(samba.password(), &args);
    let document = place.document();
    let [point] = &document["load_points"].as_array().unwrap()[..] else {
        panic!("one load point: {said:?}");
    };
    (said, point.clone())
}

/// Returns what `find` prints for each entry below a folder, without the folder itself.
fn find(folder: &Path, format: &str, only: &[&str]) -> Vec<String> {
    let found = Command::new("find")
        .arg(folder)
        .args(["-mindepth", "1"])
        .args(only)
        .args(["-printf", format])
        .output()
        .unwrap();
    let printed = String::from_utf8(found.stdout).unwrap();
    let mut lines: Vec<_> = printed.lines().map(str::to_owned).collect();
    lines.sort();
    lines
}

/// Runs `smbclient` on the share of a server, and returns what it prints.
fn smbclient(samba: &ScratchSamba, args: &[&str]) -> String {
    let address = samba.url();
    let rest = address.strip_prefix("smb://").unwrap();
    let (user, rest) = rest.split_once('@').unwrap();
    let (host, share) = rest.split_once('/').unwrap();
    let (host, port) = host.rsplit_once(':').unwrap();
    let ended = Command::new("smbclient")
        .arg(format!("//{host}/{share}"))
        .args(["-p", port, "-U", &format!("{user}%{}", samba.password())])
        .args(args)
        .output()
        .unwrap();
    assert!(ended.status.success(), "{ended:?}");
    String::from_utf8_lossy(&ended.stdout).into_owned()
}

/// Returns the number of entries that `smbclient` lists below a folder of the share.
fn smbclient_lists(samba: &ScratchSamba, folder: &str) -> usize {
    let printed = smbclient(samba, &["-c", &format!("recurse on; cd {folder}; ls")]);
    let is_entry = |line: &&str| {
        let mut words = line.split_whitespace();
        line.starts_with("  ") && !matches!(words.next(), Some("." | ".."))
    };
    // The last line has the free blocks.
    let is_size = |line: &&str| !line.contains("blocks available");
    printed.lines().filter(is_entry).filter(is_size).count()
}

fn number(point: &Value, op: &str, key: &str) -> u64 {
    point["ops"][op][key]
        .as_u64()
        .unwrap_or_else(|| panic!("{op}.{key}: {point:#}"))
}

#[test]
fn every_directory_of_a_tree_is_listed_once_with_all_its_entries() {
    let Some(samba) = samba() else { return };
    let place = Place::new();
    let list = "\"list\"";
    place.write("folders.toml", "");
    profile(&place, &[list]);
    let text = fs::read_to_string(place.path("folders.toml")).unwrap();
    place.write(
        "folders.toml",
        &text.replacen("[tree]", "access = \"sequential\"\n[tree]", 1),
    );
    for is_prepared in [false, true] {
        if is_prepared {
            prepare(&place, &samba);
        }
        let (said, point) = run(&place, &samba, &["-c2", "--loops=1"]);
        said.succeeded();
        assert_eq!(number(&point, "list", "count"), 2 * 12);
        assert_eq!(number(&point, "list", "entries"), 2 * (300 + 11));
        let left = fs::read_dir(samba.data_dir()).unwrap().count();
        assert_eq!(left, usize::from(is_prepared), "{said:?}");
    }
    let root = samba.data_dir().join("smbench-tree/tree");
    assert_eq!(find(&root, "%P\\n", &[]).len(), 300 + 11);
}

#[test]
fn a_tree_is_browsed_whether_or_not_it_was_prepared() {
    let Some(samba) = samba() else { return };
    let place = Place::new();
    profile(
        &place,
        &["\"list\"", "\"stat\"", "\"lookup_missing\"", "\"copy_out\""],
    );
    for is_prepared in [false, true] {
        if is_prepared {
            prepare(&place, &samba);
        }
        let short = ["-c2", "--duration=1s", "--ramp-up=0s", "--ramp-down=0s"];
        let (said, point) = run(&place, &samba, &short);
        assert_eq!(point["errors"], 0, "{said:?}");
        for op in ["list", "stat", "lookup_missing", "copy_out"] {
            assert!(number(&point, op, "count") > 0, "{op}: {said:?}");
        }
        let left = fs::read_dir(samba.data_dir()).unwrap().count();
        assert_eq!(left, usize::from(is_prepared), "{said:?}");
    }
    let url = samba.url();
    let check = place.smbench_as(samba.password(), &["tree", "check", &url]);
    check.succeeded();
}

#[test]
fn a_copied_tree_has_the_names_and_sizes_of_its_description() {
    let Some(samba) = samba() else { return };
    let place = Place::new();
    prepare(&place, &samba);
    profile(&place, &["\"copy_in\""]);
    let after = format!(
        "cd {} && for copy in smbench-*/copies/*; do \
         find $copy -mindepth 1 -type f -printf '%P %s %TY-%Tm-%Td\\n' | sort > {}/$(basename $copy); \
         find $copy -mindepth 1 -type d -printf '%P\\n' | sort > {}/$(basename $copy).dirs; done",
        text(&samba.data_dir()),
        text(&place.path("")),
        text(&place.path("")),
    );
    let (said, point) = run(
        &place,
        &samba,
        &[
            "-c2",
            "--loops=1",
            "--outstanding=4",
            &format!("--after-point={after}"),
        ],
    );
    said.succeeded();
    assert_eq!(number(&point, "copy_in", "count"), 600);
    assert!(
        said.stdout
            .contains("each client's work from beginning to end"),
        "{said:?}"
    );
    let root = samba.data_dir().join("smbench-tree/tree");
    let expected = find(&root, "%P %s 2020-01-01\\n", &["-type", "f"]);
    let directories = find(&root, "%P\\n", &["-type", "d"]);
    assert_eq!((expected.len(), directories.len()), (300, 11));
    let bytes: u64 = expected
        .iter()
        .map(|line| line.rsplit(' ').nth(1).unwrap().parse::<u64>().unwrap())
        .sum();
    assert_eq!(number(&point, "copy_in", "bytes"), 2 * bytes);
    for client in ["c00000", "c00001"] {
        let lines = |name: &str| -> Vec<String> {
            let found = fs::read_to_string(place.path(name)).unwrap();
            let mut lines: Vec<_> = found.lines().map(str::to_owned).collect();
            lines.sort();
            lines
        };
        assert_eq!(lines(client), expected);
        assert_eq!(lines(&format!("{client}.dirs")), directories);
    }
    // The copies are gone, and the prepared tree is not.
    assert_eq!(fs::read_dir(samba.data_dir()).unwrap().count(), 1);
}

#[test]
fn a_walk_counts_what_find_and_smbclient_count() {
    let Some(samba) = samba() else { return };
    let place = Place::new();
    prepare(&place, &samba);
    profile(&place, &["\"walk\""]);
    let root = samba.data_dir().join("smbench-tree/tree");
    // Entries of others are counted too.
    fs::create_dir_all(root.join("mine/and mine")).unwrap();
    fs::write(root.join("mine/and mine/report.txt"), "mine").unwrap();
    let all = find(&root, "%P\\n", &[]).len() as u64;
    let directories = find(&root, "%P\\n", &["-type", "d"]).len() as u64 + 1;
    assert_eq!((all, directories), (300 + 11 + 3, 12 + 2));
    assert_eq!(smbclient_lists(&samba, "smbench-tree/tree") as u64, all);
    for outstanding in [1, 8] {
        let more = ["-c2", "--loops=3", &format!("--outstanding={outstanding}")];
        let (said, point) = run(&place, &samba, &more);
        said.succeeded();
        assert_eq!(number(&point, "walk", "count"), 2 * 3 * directories);
        assert_eq!(number(&point, "walk", "entries"), 2 * 3 * all);
        assert!(said.stdout.contains("entries/s"), "{said:?}");
        let totals = [directories, all + 1 - directories, all].map(|one| (6 * one).to_string());
        let rows = said.stdout.lines().map(|line| line.split_whitespace());
        let mut rows = rows.map(Iterator::collect::<Vec<_>>);
        let row = rows.find(|words| words.get(1) == Some(&"walk"));
        assert_eq!(row.unwrap()[2..5], totals, "{said:?}");
    }
}

#[test]
fn a_walk_of_the_target_reads_what_is_there_and_changes_nothing() {
    let Some(samba) = samba() else { return };
    let place = Place::new();
    profile(&place, &["\"walk\"\nroot = \"target\""]);
    let share = samba.data_dir();
    for folder in ["a", "a/b", "a/b/c", "d"] {
        fs::create_dir_all(share.join(folder)).unwrap();
        for number in 0..200 {
            fs::write(share.join(folder).join(format!("report {number}.txt")), "").unwrap();
        }
    }
    let before = find(&share, "%P %s %T@\\n", &["-type", "f"]);
    let more = ["-c1", "--loops=1", "--outstanding=4", "-q"];
    let (said, point) = run(&place, &samba, &more);
    said.succeeded();
    // What a job took is its result.
    let title = "each client's work from beginning to end\nclients ";
    assert!(said.stdout.starts_with(title), "{said:?}");
    assert!(said.stdout.contains("\n\nPeak "), "{said:?}");
    assert_eq!(number(&point, "walk", "count"), 5);
    assert_eq!(number(&point, "walk", "entries"), 4 * 200 + 4);
    assert_eq!(find(&share, "%P %s %T@\\n", &["-type", "f"]), before);
    assert_eq!(fs::read_dir(&share).unwrap().count(), 2);
}

/// A server with few open files refuses directories, and the walk counts each of them.
#[test]
fn a_walk_counts_what_a_server_with_few_open_files_refuses() {
    let few = SambaOptions {
        extra_global: vec!["max open files = 500".to_owned()],
        ..SambaOptions::default()
    };
    let Some(samba) = ScratchSamba::or_skip(few) else {
        return;
    };
    let place = Place::new();
    profile(&place, &["\"walk\"\nroot = \"target\""]);
    let share = samba.data_dir();
    for number in 0..1500 {
        fs::create_dir_all(share.join(format!("folder {number}"))).unwrap();
    }
    let (said, point) = run(&place, &samba, &["-c1", "--loops=1", "--outstanding=1000"]);
    assert_eq!(said.code(), Some(4), "{said:?}");
    let (listed, refused) = (
        number(&point, "walk", "count"),
        number(&point, "walk", "errors"),
    );
    // A directory may be closed before the last one is opened, so a few more may be listed.
    assert!(refused > 900, "{said:?}");
    assert_eq!(listed + refused, 1501);
    let why = "of 1501 operations failed with STATUS_INSUFFICIENT_RESOURCES (walk)";
    assert!(
        said.stderr.contains(&format!("{refused} {why}")),
        "{said:?}"
    );
}

/// In CIFS, the names come by TRANSACTION2 requests, in several answers.
#[test]
fn listings_and_walks_of_cifs_have_the_same_names() {
    let Some(samba) = ScratchSamba::or_skip(SambaOptions {
        extra_global: vec![ScratchSamba::CIFS.to_owned()],
        ..SambaOptions::default()
    }) else {
        return;
    };
    let place = Place::new();
    prepare(&place, &samba);
    let all = 300 + 11;
    for class in ["both_directory", "id_both_directory", "directory"] {
        let walk = format!("\"walk\"\nclass = \"{class}\"\nbuffer = \"1KiB\"");
        profile(&place, &[&walk]);
        let more = ["-c2", "--loops=2", "--outstanding=4", "--dialect=cifs"];
        let (said, point) = run(&place, &samba, &more);
        said.succeeded();
        assert_eq!(number(&point, "walk", "count"), 2 * 2 * 12);
        assert_eq!(number(&point, "walk", "entries"), 2 * 2 * all);
        assert!(number(&point, "walk_next", "count") > 0, "{said:?}");
    }
    profile(&place, &["\"list\"\nclass = \"names\"\nbuffer = \"1KiB\""]);
    let listed = fs::read_to_string(place.path("folders.toml")).unwrap();
    let sequential = listed.replacen("[tree]", "access = \"sequential\"\n[tree]", 1);
    place.write("folders.toml", &sequential);
    let (said, point) = run(&place, &samba, &["-c1", "--loops=1", "--dialect=cifs"]);
    said.succeeded();
    assert_eq!(number(&point, "list", "count"), 12);
    assert_eq!(number(&point, "list", "entries"), all);
    // CIFS refuses the operations that it lacks by name.
    profile(&place, &["\"copy_in\""]);
    let url = samba.url();
    let args = ["run", &url, "-p=./folders.toml", "--dialect=cifs"];
    let said = place.smbench_as(samba.password(), &args);
    said.failed_with(2, &["operation copy_in"]);
}
