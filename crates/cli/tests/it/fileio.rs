//! `fileio`: files that are prepared once and recognised later. Compared with
//! `sysbench`, whose options it has.

mod options;
mod sysbench;

use std::fs::{self, File};

use nix::sys::signal::Signal;
use serde_json::Value;
use smbench_lab::{SambaOptions, ScratchSamba, Tool, require};

use crate::support::{Place, Said, text, wait_until};

const SYSBENCH: Tool = Tool::new("sysbench", "sysbench");

/// Options for both tools. The file size is not a multiple of the block size.
const FILES: [&str; 3] = [
    "--file-num=3",
    "--file-total-size=1M",
    "--file-block-size=16384",
];

/// Starts a Samba; `None` if Samba or sysbench is missing.
#[expect(clippy::print_stderr, reason = "a test that is skipped says so")]
fn samba() -> Option<ScratchSamba> {
    if let Err(skip) = require(&[Tool::SMBD, Tool::PDBEDIT, SYSBENCH]) {
        eprintln!("{skip}");
        return None;
    }
    Some(ScratchSamba::start(SambaOptions::default()).unwrap())
}

fn fileio(place: &Place, (url, password): (&str, &str), command: &str, more: &[&str]) -> Said {
    let mut args = vec!["fileio", command, "--target", url];
    args.extend(FILES);
    args.extend(more);
    place.smbench_as(password, &args)
}

/// Returns a count of the single load point of a document.
fn counted(doc: &Value, kind: &str, key: &str) -> u64 {
    doc["load_points"][0]["ops"][kind][key]
        .as_u64()
        .unwrap_or(0)
}

#[test]
fn files_are_prepared_once_and_known_again() {
    let Some(samba) = samba() else { return };
    let place = Place::new();
    let (url, password) = (&*samba.url(), samba.password());
    let fileio = |command: &str, more: &[&str]| {
        let mut args = vec!["fileio", command, "--target", url, "--out=results"];
        args.extend(["--file-num=4", "--file-total-size=2M", "--events=50"]);
        args.extend(more);
        place.smbench_as(password, &args)
    };
    let read = ["--file-test-mode=rndrd", "--validate"];
    let said = fileio("run", &read);
    said.failed_with(
        3,
        &[
            "no prepared files in 'smbench-fileio'",
            "smbench fileio prepare",
        ],
    );
    assert_eq!(fileio("cleanup", &[]).stdout, "nothing to remove\n");
    assert_eq!(fs::read_dir(samba.data_dir()).unwrap().count(), 0);

    let said = fileio("prepare", &[]);
    said.succeeded();
    assert!(
        said.stdout.contains("\n2097152 bytes written in "),
        "{said:?}"
    );
    let folder = samba.data_dir().join("smbench-fileio");
    // Another `prepare` was stopped: one file is short, one is missing.
    let short = folder.join("shared-f002.dat");
    File::options()
        .write(true)
        .open(&short)
        .unwrap()
        .set_len(100_000)
        .unwrap();
    fs::remove_file(folder.join("shared-f003.dat")).unwrap();
    let said = fileio("run", &read);
    said.failed_with(
        3,
        &[
            r"file 'smbench-fileio\shared-f002.dat'",
            "100000 B, and not 512 KiB",
            "fileio prepare",
        ],
    );
    let said = fileio("prepare", &[]);
    said.succeeded();
    let missing = 512 * 1024 - 100_000 / 512 * 512 + 512 * 1024;
    assert!(
        said.stdout
            .contains(&format!("\n2 files whole already\n{missing} bytes written")),
        "{said:?}"
    );
    assert!(
        fileio("prepare", &[])
            .stdout
            .ends_with("\n4 files whole already\nNo bytes written.\n")
    );
    fileio("run", &read).succeeded();
    // A run with another number of clients overwrites the files before the next read.
    fileio("run", &["--file-test-mode=rndwr", "--threads=2"]).succeeded();
    fileio("run", &read).succeeded();

    // Options that do not match the prepared files.
    let said = fileio("run", &["--file-test-mode=rndrd", "--file-total-size=1M"]);
    said.failed_with(
        2,
        &[
            "are 4 of 512 KiB, and not 4 of 256 KiB",
            "--file-num=4 --file-total-size=2097152",
        ],
    );
    // A foreign byte is found in every read of it.
    let mut contents = fs::read(&short).unwrap();
    for block in contents.chunks_mut(512) {
        block[300] ^= 1;
    }
    fs::write(&short, contents).unwrap();
    let said = fileio("run", &[&read[..], &["--events=200"]].concat());
    assert_eq!(said.code(), Some(4), "{said:?}");
    assert!(
        said.stderr
            .contains("wrong data first at client 0, file 2: byte "),
        "{said:?}"
    );

    // While another run uses the files.
    let mut args = vec![
        "fileio",
        "run",
        "--target",
        url,
        "--out=results",
        "--time=20",
        "--report-interval=1",
        "--json=-",
    ];
    args.extend([
        "--file-num=4",
        "--file-total-size=2M",
        "--file-test-mode=rndrd",
    ]);
    let running = place.start_as(password, &args);
    running.wait_for_stderr("[ 1s ] reads: ");
    fileio("cleanup", &[]).failed_with(3, &["another smbench is using directory 'smbench-fileio'"]);
    running.signal(Signal::SIGINT);
    assert_eq!(running.wait().code(), Some(130));
    fs::write(folder.join("mine.txt"), "x").unwrap();
    let foreign = ["holds 'mine.txt', which smbench did not put there"];
    let before = fs::read(&short).unwrap();
    fileio("prepare", &[]).failed_with(3, &foreign);
    fileio("cleanup", &[]).failed_with(3, &foreign);
    fileio("run", &["--file-test-mode=seqwr", "--events=3"]).failed_with(3, &foreign);
    assert!(
        fs::read(&short).unwrap() == before,
        "what is there was touched"
    );
    fs::remove_file(folder.join("mine.txt")).unwrap();

    // Files that a test creates are as long as the test got. The next run reports
    // that.
    let anew = ["--file-test-mode=seqwr", "--events=3"];
    fileio("run", &anew).succeeded();
    fileio("run", &read).failed_with(3, &["shared-f000.dat", "48 KiB, and not 512 KiB"]);

    // Kill a run while several clients create files, which may then have holes.
    let mut args = vec![
        "fileio",
        "run",
        "--target",
        url,
        "--out=results",
        "--time=60",
    ];
    args.extend([
        "--file-num=4",
        "--file-total-size=2M",
        "--file-test-mode=seqwr",
        "--threads=4",
    ]);
    let running = place.start_as(password, &args);
    wait_until(|| {
        fs::read_to_string(folder.join("fileio.json"))
            .unwrap()
            .contains("holes")
    });
    running.signal(Signal::SIGKILL);
    assert_eq!(running.wait().code(), None);
    // Samba needs a moment to notice.
    let unused = |command: &str, more: &[&str]| {
        let mut last = None;
        wait_until(|| {
            let said = last.insert(fileio(command, more));
            !said.stderr.contains("another smbench is using")
        });
        last.unwrap()
    };
    for file in 0..4 {
        let path = folder.join(format!("shared-f00{file}.dat"));
        let file = File::options().append(true).create(true).open(path);
        file.unwrap().set_len(512 * 1024).unwrap();
    }
    unused("run", &read).failed_with(3, &["may have holes", "smbench fileio prepare"]);
    let said = unused("prepare", &[]);
    said.succeeded();
    assert!(
        said.stdout.contains("\n2097152 bytes written in "),
        "{said:?}"
    );
    fileio("run", &read).succeeded();
    // A run that ends normally leaves no holes.
    let anew = ["--file-test-mode=seqwr", "--threads=4", "--events=150"];
    fileio("run", &anew).succeeded();
    fileio("run", &read).succeeded();
    assert_eq!(fileio("cleanup", &[]).stdout, "removed smbench-fileio\n");
    fileio("run", &anew).succeeded();
    fileio("cleanup", &[]).succeeded();
    assert_eq!(fs::read_dir(samba.data_dir()).unwrap().count(), 0);
}

#[test]
fn without_a_server_one_is_started_for_the_run() {
    let place = Place::new();
    let said = place.smbench(&[
        "fileio",
        "run",
        "--file-num=2",
        "--file-total-size=1M",
        "--file-test-mode=seqrewr",
        "--file-fsync-all",
        "--events=40",
        "--rate=2000",
        "--out=results",
    ]);
    assert_eq!(said.code(), Some(0), "{said:?}");
    assert!(
        said.stderr
            .contains("no --target: 2 files of 512 KiB are prepared on a server started here")
    );
    assert!(
        said.stdout
            .contains("total number of events:              40\n"),
        "{said:?}"
    );
    let doc = place.document();
    assert_eq!(counted(&doc, "write", "count"), 40);
    assert_eq!(counted(&doc, "flush", "count"), 40);
    assert_eq!(counted(&doc, "final_flush", "count"), 0);
    let test = &doc["plan"]["workload"]["fileio"];
    assert_eq!(
        (&test["fsync_all"], &test["prepared"]),
        (&true.into(), &false.into())
    );
    // The result can be shown again like any other.
    let [path] = &place.results()[..] else {
        panic!()
    };
    let shown = place.smbench(&["show", text(path)]);
    shown.succeeded();
    assert!(
        shown
            .stdout
            .contains("fileio: 16 KiB, sequential, seqrewr, fsync after each write"),
        "{shown:?}"
    );
}
