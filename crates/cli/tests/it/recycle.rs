//! Shares on which the server moves deleted files to a recycle bin.

use std::fs::{self, File};
use std::path::Path;
use std::time::{Duration, SystemTime};

use nix::sys::signal::Signal;
use smbench_lab::{SambaOptions, ScratchSamba};

use crate::support::{Place, run_args, wait_until};

/// Settings of a bin.
struct Layout {
    lines: &'static [&'static str],
    /// The folder of deleted files, from the root of the share.
    folder: &'static str,
}

const LAYOUTS: [Layout; 4] = [
    Layout {
        lines: &["recycle:keeptree = yes"],
        folder: ".recycle",
    },
    Layout {
        lines: &["recycle:versions = no"],
        folder: ".recycle",
    },
    Layout {
        lines: &["recycle:repository = .recycle/%U", "recycle:versions = yes"],
        folder: ".recycle/@",
    },
    Layout {
        lines: &[
            "recycle:repository = #recycle",
            "recycle:keeptree = yes",
            "recycle:versions = yes",
        ],
        folder: "#recycle",
    },
];

/// A name as of smbench, that no run here uses: the server replaces files of the same name.
const LIKE_OURS: &str = "c00077-f000.dat";
/// The same for an empty file.
const EMPTY_LIKE_OURS: &str = "s00077-000-t.tmp";

impl Layout {
    fn start(&self, options: SambaOptions) -> Option<Bin> {
        let samba = ScratchSamba::with_recycle_bin_or_skip(self.lines, options)?;
        let folder = self.folder.replace('@', samba.user());
        let bin = Bin { samba, folder };
        bin.put_files_of_others();
        Some(bin)
    }
}

/// A server with a bin, and in it files of somebody else.
struct Bin {
    samba: ScratchSamba,
    folder: String,
}

impl Bin {
    fn put_files_of_others(&self) {
        let folder = self.samba.data_dir().join(&self.folder);
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("thesis.doc"), "a thesis").unwrap();
        fs::write(folder.join(LIKE_OURS), vec![7; 1 << 20]).unwrap();
        let empty = File::create(folder.join(EMPTY_LIKE_OURS)).unwrap();
        let yesterday = SystemTime::now() - Duration::from_secs(86_400);
        empty.set_modified(yesterday).unwrap();
        // A directory with a name like ours.
        let ours = folder.join("smbench-0123456789abcdef");
        fs::create_dir(&ours).unwrap();
        fs::write(ours.join("notes.txt"), "notes").unwrap();
    }

    /// Removes the empty files of this recorded name. After a kill, nothing proves in a bin
    /// without paths whose they are.
    fn remove_unproven(&self, name: &str) {
        let folder = self.samba.data_dir().join(&self.folder);
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.to_string_lossy().ends_with(name) {
                assert_eq!(fs::metadata(&path).unwrap().len(), 0, "{}", path.display());
                fs::remove_file(path).unwrap();
            }
        }
    }

    /// Checks that exactly the files of somebody else are on the share.
    fn assert_only_others(&self, after: &str) {
        let mut found = Vec::new();
        files_below(&self.samba.data_dir(), &mut found);
        found.sort();
        let mut expected = [LIKE_OURS, EMPTY_LIKE_OURS, "thesis.doc"]
            .map(str::to_owned)
            .to_vec();
        expected.push("notes.txt".to_owned());
        expected.sort();
        assert_eq!(found, expected, "after {after}, {}", self.folder);
    }
}

/// Adds the names of all files, without their paths.
fn files_below(folder: &Path, found: &mut Vec<String>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files_below(&path, found);
        } else {
            found.push(path.file_name().unwrap().to_string_lossy().into_owned());
        }
    }
}

#[test]
fn runs_and_fileio_leave_nothing_in_a_bin() {
    for layout in &LAYOUTS {
        let Some(bin) = layout.start(SambaOptions::default()) else {
            return;
        };
        let (url, password) = (bin.samba.url(), bin.samba.password());
        for profile in ["--profile=file-server", "--profile=metadata"] {
            let place = Place::new();
            let said = place.run(&url, password, &["--clients=2", profile]);
            assert!(
                said.stdout.contains("deletions: the server moved"),
                "{said:?}"
            );
            let found = &place.document()["recycle_bins"];
            assert_eq!(found.as_array().unwrap().len(), 1, "{found}");
            assert_eq!(found[0]["path"], bin.folder.replace('/', "\\"));
            assert!(found[0]["files_removed"].as_u64().unwrap() > 2, "{found}");
            assert_eq!(found[0]["files_left"], 0);
            bin.assert_only_others(profile);
        }
        let place = Place::new();
        let of_test = ["--file-num=3", "--file-total-size=3M"];
        let fileio = |command| {
            let args = [&["fileio", command, &url][..], &of_test].concat();
            let said = place.smbench_as(password, &args);
            said.succeeded();
            said.stdout
        };
        fileio("prepare");
        let said = fileio("cleanup");
        assert!(
            said.contains("removed 5 files (3.00 MiB) from the recycle bin"),
            "{said}"
        );
        bin.assert_only_others("fileio cleanup");
    }
}

#[test]
fn trees_leave_nothing_in_a_bin() {
    for layout in &LAYOUTS {
        let Some(bin) = layout.start(SambaOptions::default()) else {
            return;
        };
        let (url, password) = (bin.samba.url(), bin.samba.password());
        let place = Place::new();
        let shape = ["--files=30", "--directories=4", "--sizes=100:50,4KiB:50"];
        place
            .smbench_as(password, &[&["tree", "prepare", &url][..], &shape].concat())
            .succeeded();
        let said = place.smbench_as(password, &["tree", "cleanup", &url]);
        said.succeeded();
        let text = "removed 32 files";
        assert!(said.stdout.contains(text), "{said:?}");
        bin.assert_only_others("tree cleanup");

        let profile = "[tree]\nfiles = 20\ndirectories = 3\nsizes = \"100\"\n\
                       [[operations]]\nop = \"walk\"\nweight = 1\n";
        place.write("tree.toml", profile);
        place.run(&url, password, &["--clients=2", "--profile=tree.toml"]);
        bin.assert_only_others("a walk");
    }
}

#[test]
fn an_interrupt_leaves_nothing_in_a_bin_and_a_kill_is_cleaned_up() {
    for layout in &LAYOUTS {
        let Some(bin) = layout.start(SambaOptions::default()) else {
            return;
        };
        let (url, password) = (bin.samba.url(), bin.samba.password());
        let args = run_args(
            &url,
            &["--clients=1,2", "--duration=1s", "--profile=metadata"],
        );
        let place = Place::new();
        let running = place.start_as(password, &args);
        place.wait_for_load_points(1);
        running.signal(Signal::SIGINT);
        let said = running.wait();
        assert_eq!(said.code(), Some(130), "{said:?}");
        bin.assert_only_others("an interrupt");

        let place = Place::new();
        let running = place.start_as(password, &args);
        place.wait_for_load_points(1);
        running.signal(Signal::SIGKILL);
        running.wait();
        wait_until(|| {
            let said = place.smbench_as(password, &["cleanup", &url]);
            said.succeeded();
            said.stdout.contains("removed smbench-")
        });
        bin.assert_only_others("a kill");
        let said = place.smbench_as(password, &["cleanup", &url]);
        let text = "left alone: 2 files in the recycle bin";
        assert!(said.stdout.contains(text), "{said:?}");
    }
}

/// Makes an empty file and one with data, and deletes both.
const RECORDED: &str = r#"
Deltree "\clients\client1" NT_STATUS_OK
NTCreateX "\clients\client1" 0x1 0x2 1 NT_STATUS_OK
Close 1 NT_STATUS_OK
NTCreateX "\clients\client1\~W4230.TMP" 0x40 0x2 1 NT_STATUS_OK
Close 1 NT_STATUS_OK
Unlink "\clients\client1\~W4230.TMP" 0x6 NT_STATUS_OK
NTCreateX "\clients\client1\REPORT.DOC" 0x40 0x2 1 NT_STATUS_OK
WriteX 1 0 4096 4096 NT_STATUS_OK
Close 1 NT_STATUS_OK
Unlink "\clients\client1\REPORT.DOC" 0x6 NT_STATUS_OK
"#;

#[test]
fn files_that_a_replay_deleted_are_removed_from_a_bin() {
    for layout in &LAYOUTS[..3] {
        let Some(bin) = layout.start(SambaOptions::default()) else {
            return;
        };
        let (url, password) = (bin.samba.url(), bin.samba.password());
        let place = Place::new();
        let loadfile = place.write("recorded.txt", RECORDED);
        let profile = format!("--profile=loadfile:{}", loadfile.display());
        let args = run_args(&url, &["--clients=1,2", "--duration=1s", &profile]);
        for signal in [Signal::SIGINT, Signal::SIGKILL] {
            let place = Place::new();
            let running = place.start_as(password, &args);
            place.wait_for_load_points(1);
            running.signal(signal);
            running.wait();
            if signal == Signal::SIGKILL {
                wait_until(|| {
                    let said = place.smbench_as(password, &["cleanup", &url]);
                    said.succeeded();
                    said.stdout.contains("removed smbench-")
                });
                bin.remove_unproven("~W4230.TMP");
            }
            bin.assert_only_others("a replay");
        }
    }
}

#[test]
fn bins_are_emptied_in_cifs_and_for_folders_of_a_share() {
    for layout in &LAYOUTS[1..3] {
        let options = SambaOptions {
            extra_global: vec![ScratchSamba::CIFS.to_owned()],
            ..SambaOptions::default()
        };
        let Some(bin) = layout.start(options) else {
            return;
        };
        fs::create_dir_all(bin.samba.data_dir().join("deep/down")).unwrap();
        let url = format!("{}/deep/down", bin.samba.url());
        let place = Place::new();
        let args = ["--clients=2", "--dialect=cifs"];
        place.run(&url, bin.samba.password(), &args);
        bin.assert_only_others("a run in CIFS");
    }
}

#[test]
fn a_directory_that_an_older_release_left_in_a_bin_is_removed() {
    let Some(bin) = LAYOUTS[0].start(SambaOptions::default()) else {
        return;
    };
    let left = bin
        .samba
        .data_dir()
        .join(".recycle/smbench-fedcba9876543210");
    let deep = left.join("replay/clients/client1");
    fs::create_dir_all(&deep).unwrap();
    for name in [
        "smbench.run",
        "c00000-f000.dat",
        "Copy #1 of s00000-000-t.tmp",
    ] {
        fs::write(left.join(name), "").unwrap();
    }
    fs::write(deep.join("REPORT.DOC"), "x").unwrap();
    let place = Place::new();
    let said = place.smbench_as(bin.samba.password(), &["cleanup", &bin.samba.url()]);
    said.succeeded();
    assert!(said.stdout.contains("removed 4 files"), "{said:?}");
    assert!(!left.exists());
    bin.assert_only_others("a clean-up");
}
