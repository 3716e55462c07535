//! Files that are prepared once and recognised later.

use std::fs::{self, File};
use std::path::PathBuf;

use nix::sys::signal::Signal;
use smbench_lab::ScratchSamba;

use super::samba;
use crate::support::{Place, Running, Said, wait_until};

const READ: [&str; 2] = ["--file-test-mode=rndrd", "--validate"];

/// A Samba with room for four files of 512 KiB each.
struct Share {
    samba: ScratchSamba,
    place: Place,
}

impl Share {
    /// Starts the server; `None` if Samba or sysbench is missing.
    fn start() -> Option<Self> {
        Some(Self {
            samba: samba()?,
            place: Place::new(),
        })
    }

    fn args(command: &str, url: &str, more: &[&str]) -> Vec<String> {
        let files = ["--out=results", "--file-num=4", "--file-total-size=2M"];
        let all = [&["fileio", command, "--target", url][..], &files, more].concat();
        all.into_iter().map(str::to_owned).collect()
    }

    /// Runs the command, with 50 events unless it says otherwise.
    fn fileio(&self, command: &str, more: &[&str]) -> Said {
        self.begin(command, &[&["--events=50"], more].concat())
            .wait()
    }

    /// Starts the command.
    fn begin(&self, command: &str, more: &[&str]) -> Running {
        let args = Self::args(command, &self.samba.url(), more);
        let args: Vec<_> = args.iter().map(String::as_str).collect();
        self.place.start_as(self.samba.password(), &args)
    }

    /// Runs the command once Samba has noticed that a killed run is gone.
    fn when_unused(&self, command: &str, more: &[&str]) -> Said {
        let mut last = None;
        wait_until(|| {
            let said = last.insert(self.fileio(command, more));
            !said.stderr.contains("another smbench is using")
        });
        last.unwrap()
    }

    /// Returns the path of a file in the prepared directory.
    fn path(&self, name: &str) -> PathBuf {
        self.samba.data_dir().join("smbench-fileio").join(name)
    }

    #[track_caller]
    fn is_empty(&self) {
        assert_eq!(fs::read_dir(self.samba.data_dir()).unwrap().count(), 0);
    }
}

#[test]
fn files_are_prepared_once_and_known_again() {
    let Some(share) = Share::start() else { return };
    let said = share.fileio("run", &READ);
    said.failed_with(
        3,
        &[
            "no prepared files in 'smbench-fileio'",
            "smbench fileio prepare",
        ],
    );
    assert_eq!(share.fileio("cleanup", &[]).stdout, "nothing to remove\n");
    share.is_empty();

    let said = share.fileio("prepare", &[]);
    said.succeeded();
    assert!(
        said.stdout.contains("\n2097152 bytes written in "),
        "{said:?}"
    );
    // Another `prepare` was stopped: one file is short, one is missing.
    let short = File::options()
        .write(true)
        .open(share.path("shared-f002.dat"));
    short.unwrap().set_len(100_000).unwrap();
    fs::remove_file(share.path("shared-f003.dat")).unwrap();
    let said = share.fileio("run", &READ);
    said.failed_with(
        3,
        &[
            r"file 'smbench-fileio\shared-f002.dat'",
            "100000 B, and not 512 KiB",
            "fileio prepare",
        ],
    );
    let said = share.fileio("prepare", &[]);
    said.succeeded();
    let missing = 512 * 1024 - 100_000 / 512 * 512 + 512 * 1024;
    assert!(
        said.stdout
            .contains(&format!("\n2 files whole already\n{missing} bytes written")),
        "{said:?}"
    );
    assert!(
        share
            .fileio("prepare", &[])
            .stdout
            .ends_with("\n4 files whole already\nNo bytes written.\n")
    );
    share.fileio("run", &READ).succeeded();
    // A run with another number of clients overwrites the files before the next read.
    let written = share.fileio("run", &["--file-test-mode=rndwr", "--threads=2"]);
    written.succeeded();
    share.fileio("run", &READ).succeeded();
    // Options that do not match the prepared files.
    let said = share.fileio("run", &["--file-test-mode=rndrd", "--file-total-size=1M"]);
    said.failed_with(
        2,
        &[
            "are 4 of 512 KiB, and not 4 of 256 KiB",
            "--file-num=4 --file-total-size=2097152",
        ],
    );
    assert_eq!(
        share.fileio("cleanup", &[]).stdout,
        "removed smbench-fileio\n"
    );
    share.is_empty();
}

#[test]
fn what_others_do_to_prepared_files_is_noticed() {
    let Some(share) = Share::start() else { return };
    share.fileio("prepare", &[]).succeeded();
    // A foreign byte is found in every read of it.
    let changed = share.path("shared-f002.dat");
    let mut contents = fs::read(&changed).unwrap();
    for block in contents.chunks_mut(512) {
        block[300] ^= 1;
    }
    fs::write(&changed, contents).unwrap();
    let said = share.fileio("run", &[&READ[..], &["--events=200"]].concat());
    assert_eq!(said.code(), Some(4), "{said:?}");
    assert!(
        said.stderr
            .contains("wrong data first at client 0, file 2: byte "),
        "{said:?}"
    );

    // While another run uses the files.
    let endless = ["--time=20", "--report-interval=1", "--json=-"];
    let running = share.begin("run", &[&["--file-test-mode=rndrd"], &endless[..]].concat());
    running.wait_for_stderr("[ 1s ] reads: ");
    let said = share.fileio("cleanup", &[]);
    said.failed_with(3, &["another smbench is using directory 'smbench-fileio'"]);
    running.signal(Signal::SIGINT);
    assert_eq!(running.wait().code(), Some(130));

    fs::write(share.path("mine.txt"), "x").unwrap();
    let foreign = ["holds 'mine.txt', which smbench did not put there"];
    let before = fs::read(&changed).unwrap();
    share.fileio("prepare", &[]).failed_with(3, &foreign);
    share.fileio("cleanup", &[]).failed_with(3, &foreign);
    let said = share.fileio("run", &["--file-test-mode=seqwr", "--events=3"]);
    said.failed_with(3, &foreign);
    assert!(
        fs::read(&changed).unwrap() == before,
        "what is there was touched"
    );
}

#[test]
fn files_that_a_test_did_not_finish_are_found_out() {
    let Some(share) = Share::start() else { return };
    // Files that a test creates are as long as the test got. The next run reports
    // that.
    let anew = ["--file-test-mode=seqwr", "--events=3"];
    share.fileio("run", &anew).succeeded();
    let said = share.fileio("run", &READ);
    said.failed_with(3, &["shared-f000.dat", "48 KiB, and not 512 KiB"]);

    // Kill a run while several clients create files, which may then have holes.
    let writes = ["--file-test-mode=seqwr", "--threads=4"];
    let running = share.begin("run", &[&writes[..], &["--time=60"]].concat());
    wait_until(|| {
        fs::read_to_string(share.path("fileio.json")).is_ok_and(|text| text.contains("holes"))
    });
    running.signal(Signal::SIGKILL);
    assert_eq!(running.wait().code(), None);
    for file in 0..4 {
        let path = share.path(&format!("shared-f00{file}.dat"));
        let file = File::options().append(true).create(true).open(path);
        file.unwrap().set_len(512 * 1024).unwrap();
    }
    let said = share.when_unused("run", &READ);
    said.failed_with(3, &["may have holes", "smbench fileio prepare"]);
    let said = share.when_unused("prepare", &[]);
    said.succeeded();
    assert!(
        said.stdout.contains("\n2097152 bytes written in "),
        "{said:?}"
    );
    share.fileio("run", &READ).succeeded();
    // A run that ends normally leaves no holes.
    let whole = [&writes[..], &["--events=150"]].concat();
    share.fileio("run", &whole).succeeded();
    share.fileio("run", &READ).succeeded();
    share.fileio("cleanup", &[]).succeeded();
    share.fileio("run", &whole).succeeded();
    share.fileio("cleanup", &[]).succeeded();
    share.is_empty();
}
