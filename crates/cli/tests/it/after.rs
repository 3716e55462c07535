//! `run --state` and `verify-after` on a real Samba whose disk is put back, changed or cut off.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};
use std::process::Command;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;
use smbench_lab::{SambaOptions, ScratchSamba};

use crate::support::{Place, Running, Said, run_args, wait_until};

const BLOCK: usize = 512;

/// Writes and flushes. One write in eight asks for write-through.
const PROMISING: &str = "name = \"promising\"\n\
    files = { count = 2, size = \"64KiB\" }\n\
    sizes = [{ size = \"4KiB\", weight = 50 }, { size = \"1KiB\", weight = 50 }]\n\
    operations = [\n\
      { op = \"write\", weight = 70 },\n\
      { op = \"write\", write_through = true, weight = 10 },\n\
      { op = \"flush\", weight = 20 },\n\
    ]\n";

/// Writes only.
const SILENT: &str = "name = \"silent\"\n\
    files = { count = 2, size = \"64KiB\" }\n\
    sizes = [{ size = \"4KiB\", weight = 100 }]\n\
    operations = [{ op = \"write\", weight = 100 }]\n";

/// A block, as the file's name and its first byte.
type BlockPlace = (String, u64);

/// A server, and what a run left on it.
struct Ran {
    samba: ScratchSamba,
    place: Place,
    said: Said,
}

/// Runs a profile in two passes. The share as it was between them is in the folder `older`, and
/// as it was at the end in `newer`.
fn run(profile: &str, more: &[&str]) -> Option<Ran> {
    let samba = ScratchSamba::or_skip(SambaOptions::default())?;
    let place = Place::new();
    place.write("work.toml", profile);
    let copy = format!(
        "test -e older || cp -a {} older",
        samba.data_dir().display()
    );
    let url = samba.url();
    let mut args = run_args(
        &url,
        &[
            "--profile=./work.toml",
            "--clients=2",
            "--repeat=2",
            "--state=crash.state",
            "--after-point",
            &copy,
        ],
    );
    args.extend(more);
    let said = place.smbench_as(samba.password(), &args);
    said.ended();
    copy_all(&samba.data_dir(), &place.path("newer"));
    Some(Ran { samba, place, said })
}

fn copy_all(from: &Path, to: &Path) {
    let copied = Command::new("cp").arg("-a").arg(from).arg(to).status();
    assert!(copied.unwrap().success());
}

impl Ran {
    fn verify(&self) -> Said {
        verify(&self.place, &self.samba, &[])
    }

    /// Puts another copy of the share on a server that has stopped and starts again.
    fn restarted_with(self, copy: &str) -> Self {
        let Self { samba, place, said } = self;
        samba.stop().unwrap();
        let samba = ScratchSamba::start(SambaOptions::default()).unwrap();
        for entry in fs::read_dir(place.path(copy)).unwrap() {
            let entry = entry.unwrap();
            copy_all(&entry.path(), &samba.data_dir().join(entry.file_name()));
        }
        Self { samba, place, said }
    }

    /// Returns the file of a client on the disk of the server.
    fn file(&self, name: &str) -> PathBuf {
        let directories = fs::read_dir(self.samba.data_dir()).unwrap();
        let paths = directories.map(|directory| directory.unwrap().path().join(name));
        let files: Vec<_> = paths.filter(|path| path.exists()).collect();
        let [file] = &files[..] else {
            panic!("{files:?}");
        };
        file.clone()
    }
}

fn verify(place: &Place, samba: &ScratchSamba, more: &[&str]) -> Said {
    let url = samba.url();
    let mut args = vec!["verify-after", &url, "--state", "crash.state"];
    args.extend(more);
    place.smbench_as(samba.password(), &args)
}

/// Returns the answer as JSON, and its exit code.
fn answer(ran: &Ran) -> (Value, Option<i32>) {
    let said = verify(&ran.place, &ran.samba, &["--json=-"]);
    assert_eq!(said.stderr, "");
    (serde_json::from_str(&said.stdout).unwrap(), said.code())
}

fn blocks(answer: &Value, fate: &str) -> u64 {
    let mut fates = answer["fates"].as_array().unwrap().iter();
    let found = fates.find(|found| found["fate"] == fate).unwrap();
    found["blocks"].as_u64().unwrap()
}

/// Returns the blocks that are not kept.
fn reported(answer: &Value) -> BTreeSet<BlockPlace> {
    let first = answer["first"].as_array().unwrap().iter();
    let places = first.map(|block| {
        let path = block["path"].as_str().unwrap();
        let (_, name) = path.rsplit_once('\\').unwrap();
        (name.to_owned(), block["offset"].as_u64().unwrap())
    });
    places.collect()
}

/// Compares two copies of the share byte by byte.
fn differences(place: &Place) -> BTreeSet<BlockPlace> {
    let directory = |copy: &str| {
        let entries: Vec<_> = fs::read_dir(place.path(copy)).unwrap().collect();
        assert_eq!(entries.len(), 1);
        entries[0].as_ref().unwrap().path()
    };
    let (older, newer) = (directory("older"), directory("newer"));
    let mut found = BTreeSet::new();
    for entry in fs::read_dir(&newer).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let one = fs::read(older.join(&name)).unwrap();
        let other = fs::read(newer.join(&name)).unwrap();
        assert_eq!(one.len(), other.len(), "{name}");
        let pairs = one.chunks(BLOCK).zip(other.chunks(BLOCK)).enumerate();
        let differing = pairs.filter(|(_, (one, other))| one != other);
        found.extend(differing.map(|(at, _)| (name.clone(), (at * BLOCK) as u64)));
    }
    found
}

#[test]
fn a_server_that_kept_all_data_has_broken_no_promise() {
    let Some(ran) = run(PROMISING, &["--outstanding=4"]) else {
        return;
    };
    assert!(
        ran.said.stdout.contains("\nstate file: crash.state has "),
        "{:?}",
        ran.said
    );
    assert!(
        ran.said
            .stderr
            .contains("check the files with: smbench verify-after 'smb://")
    );
    let said = ran.verify();
    said.succeeded();
    assert!(
        said.stdout.starts_with("No promise is broken: "),
        "{said:?}"
    );
    let ran = ran.restarted_with("newer");
    let (answer, code) = answer(&ran);
    assert_eq!(code, Some(0));
    assert_eq!(answer["is_whole"], true);
    assert_eq!(answer["notes_lost"], 0);
    assert_eq!(blocks(&answer, "kept"), answer["blocks"].as_u64().unwrap());
    let url = ran.samba.url();
    let said = ran
        .place
        .smbench_as(ran.samba.password(), &["cleanup", &url]);
    said.succeeded();
    assert_eq!(fs::read_dir(ran.samba.data_dir()).unwrap().count(), 0);
}

#[test]
fn an_older_copy_of_the_disk_lacks_exactly_what_differs() {
    let Some(ran) = run(PROMISING, &[]) else {
        return;
    };
    let differing = differences(&ran.place);
    assert!(!differing.is_empty());
    let ran = ran.restarted_with("older");
    let (answer, code) = answer(&ran);
    assert_eq!(code, Some(1), "{answer}");
    assert_eq!(reported(&answer), differing);
    assert_eq!(
        answer["blocks"].as_u64().unwrap() - blocks(&answer, "kept"),
        differing.len() as u64
    );
    assert!(blocks(&answer, "lost_flushed") > 0, "{answer}");
    for fate in ["torn_promised", "torn_unpromised"] {
        assert_eq!(blocks(&answer, fate), 0, "{answer}");
    }
    for block in answer["first"].as_array().unwrap() {
        assert_eq!(block["expected"]["load_point"], 2, "{block}");
        assert_ne!(block["found"]["load_point"], 2, "{block}");
    }
    let said = ran.verify();
    assert_eq!(said.code(), Some(1));
    assert!(said.stdout.starts_with("BROKEN PROMISE: of "), "{said:?}");
}

#[test]
fn nothing_was_promised_without_a_flush_or_a_write_through() {
    let Some(ran) = run(SILENT, &[]) else { return };
    let differing = differences(&ran.place);
    let ran = ran.restarted_with("older");
    let (answer, code) = answer(&ran);
    assert_eq!(code, Some(0), "{answer}");
    assert_eq!(blocks(&answer, "lost_unpromised"), differing.len() as u64);
    assert_eq!(reported(&answer), differing);
    assert_eq!(answer["promised_blocks"], 0);
    let said = ran.verify();
    said.succeeded();
    let first = "Nothing was promised: no FLUSH and no write-through was answered. Of ";
    assert!(said.stdout.starts_with(first), "{said:?}");
}

#[test]
fn half_of_a_block_from_elsewhere_is_torn() {
    let Some(ran) = run(PROMISING, &[]) else {
        return;
    };
    let differing = differences(&ran.place);
    let (name, offset) = differing.first().unwrap();
    let file = ran.file(name);
    let directory = file.parent().unwrap().file_name().unwrap();
    let older = fs::read(ran.place.path("older").join(directory).join(name)).unwrap();
    let from = *offset as usize + BLOCK / 2;
    let mut on_disk = File::options().write(true).open(&file).unwrap();
    on_disk.seek(SeekFrom::Start(from as u64)).unwrap();
    on_disk.write_all(&older[from..][..BLOCK / 2]).unwrap();
    let (found, _) = answer(&ran);
    let torn = |answer: &Value| blocks(answer, "torn_promised") + blocks(answer, "torn_unpromised");
    assert_eq!(torn(&found), 1, "{found}");
    assert_eq!(reported(&found), [(name.clone(), *offset)].into());
    on_disk.seek(SeekFrom::Start(from as u64)).unwrap();
    on_disk.write_all(&[7; BLOCK / 2]).unwrap();
    let (found, _) = answer(&ran);
    assert_eq!(torn(&found), 1, "{found}");
    assert_eq!(found["first"][0]["found_text"], "other data");
    // A file that ends early, or is missing, holds nothing.
    on_disk.set_len(0).unwrap();
    let (cut, code) = answer(&ran);
    assert_eq!(code, Some(1));
    assert_eq!(cut["first"][0]["found_text"], "nothing");
    fs::remove_file(&file).unwrap();
    let (missing, _) = answer(&ran);
    assert_eq!(missing, cut);
}

/// Starts a run of a minute, and waits until its state file has some notes.
fn noting_on(samba: &ScratchSamba) -> (Place, Running) {
    let place = Place::new();
    place.write("work.toml", PROMISING);
    let more = [
        "--profile=./work.toml",
        "--duration=1m",
        "--state=crash.state",
    ];
    let running = place.start_as(samba.password(), &run_args(&samba.url(), &more));
    let state = place.path("crash.state");
    wait_until(|| fs::metadata(&state).is_ok_and(|state| state.len() > 20_000));
    (place, running)
}

#[test]
fn a_killed_smbench_has_noted_all_but_the_last_moments() {
    let Some(samba) = ScratchSamba::or_skip(SambaOptions::default()) else {
        return;
    };
    let (place, running) = noting_on(&samba);
    running.signal(Signal::SIGKILL);
    running.wait();
    let said = verify(&place, &samba, &[]);
    said.succeeded();
    assert!(
        said.stdout.starts_with("No promise is broken: "),
        "{said:?}"
    );
    assert!(
        said.stdout.contains("the run did not end the state file"),
        "{said:?}"
    );
    wait_until(|| {
        let said = place.smbench_as(samba.password(), &["cleanup", &samba.url()]);
        said.stdout.starts_with("removed smbench-")
    });
}

/// The disk keeps what a killed process had written, so nothing is lost.
#[test]
fn a_killed_server_is_judged_when_it_is_back() {
    let Some(samba) = ScratchSamba::or_skip(SambaOptions::default()) else {
        return;
    };
    let (place, running) = noting_on(&samba);
    for process in samba.server_pids() {
        let _ = kill(Pid::from_raw(process as i32), Signal::SIGKILL);
    }
    let said = running.wait();
    assert_eq!(said.code(), Some(4), "{said:?}");
    assert!(said.stderr.contains("check the files with: "), "{said:?}");
    copy_all(&samba.data_dir(), &place.path("newer"));
    let ran = Ran { samba, place, said }.restarted_with("newer");
    let (answer, code) = answer(&ran);
    assert_eq!(code, Some(0), "{answer}");
    assert_eq!(answer["is_whole"], true);
    assert_eq!(blocks(&answer, "kept"), answer["blocks"].as_u64().unwrap());
}

#[test]
fn state_files_that_cannot_be_used_are_named() {
    let Some(ran) = run(SILENT, &[]) else { return };
    let (place, samba) = (&ran.place, &ran.samba);
    let whole = fs::read(place.path("crash.state")).unwrap();
    let url = samba.url();
    let bad = |content: &[u8], more: &str| {
        fs::write(place.path("bad.state"), content).unwrap();
        let url = format!("{url}{more}");
        let args = ["verify-after", &url, "--state", "bad.state"];
        place.smbench_as(samba.password(), &args)
    };
    bad(b"", "").failed_with(2, &["bad.state: it is empty"]);
    bad(b"{\"schema_version\": 1}", "").failed_with(2, &["not a state file of smbench"]);
    bad(&whole[..100], "").failed_with(2, &["bad.state: its head is cut or damaged"]);
    let head = whole
        .windows(8)
        .position(|part| part == b"NOTEPAGE")
        .unwrap();
    bad(&whole[..head], "").failed_with(2, &["bad.state has no answered write"]);
    bad(&whole, "/elsewhere").failed_with(
        2,
        &[
            "bad.state is of smb://",
            "and not of share ",
            "give the URL of that run",
        ],
    );
    let missing = ["verify-after", &url, "--state", "none.state"];
    let said = place.smbench_as(samba.password(), &missing);
    said.failed_with(2, &["none.state: No such file"]);

    // A page that is cut counts as missing. Whole ones before it are as good as a killed run.
    let said = bad(&whole[..head + 12], "");
    said.failed_with(2, &["bad.state has no answered write"]);
    let said = bad(&whole[..whole.len() - 1], "");
    said.succeeded();
    assert!(
        said.stdout.contains("did not end the state file"),
        "{said:?}"
    );

    let again = run_args(&url, &["--profile=./work.toml", "--state=crash.state"]);
    let said = place.smbench_as(samba.password(), &again);
    said.failed_with(2, &["crash.state exists already"]);
    assert_eq!(fs::read(place.path("crash.state")).unwrap(), whole);

    place
        .smbench_as(samba.password(), &["cleanup", &url])
        .succeeded();
    // All blocks are lost, or the directory was deleted on purpose.
    let said = ran.verify();
    let first = "DIRECTORY MISSING: there is no smbench-";
    assert!(said.stdout.starts_with(first), "{said:?}");
    assert_eq!(blocks(&answer(&ran).0, "kept"), 0);
}

#[test]
fn runs_that_cannot_be_noted_are_refused() {
    let place = Place::new();
    let refused = |args: &[&str], why: &str| {
        let url = "smb://ann@192.0.2.1/data";
        let args = [&["run", "--target", url, "--state=s"], args].concat();
        let said = place.smbench_as("x", &args);
        said.failed_with(2, &[why]);
        assert!(!place.path("s").exists());
    };
    refused(
        &["--profile=read-4k"],
        "the clients write to no file that stays",
    );
    refused(
        &["--size=1000"],
        "size 1000 B is not a multiple of 512 bytes",
    );
    refused(
        &["--file-size=8GiB", "--clients=6,7"],
        "and a check after a crash can judge 47 GiB at most: give fewer or smaller files",
    );
    let said = place.smbench(&["run", "--state=s", "--out=results"]);
    said.failed_with(2, &["--state: name a server"]);
}
