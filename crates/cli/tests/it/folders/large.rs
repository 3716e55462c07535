//! Listings of a large folder, against a capture.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use smbench_lab::{SambaOptions, ScratchSamba, Tool, require};

use super::{number, run};
use crate::support::{Place, text};

/// Captures the requests of one kind that a port gets.
struct Capture(Child);

impl Capture {
    fn start(samba: &ScratchSamba, file: &Path) -> Self {
        let mut dumpcap = Command::new("dumpcap")
            .args(["-q", "-i", "lo", "-B", "256", "-f"])
            .arg(format!("tcp port {}", samba.port()))
            .arg("-w")
            .arg(file)
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        // It prints the name of the file once it captures.
        let mut messages = BufReader::new(dumpcap.stderr.take().unwrap());
        let mut line = String::new();
        while !line.starts_with("File:") {
            line.clear();
            assert!(messages.read_line(&mut line).unwrap() > 0, "no capture");
        }
        dumpcap.stderr = Some(messages.into_inner());
        Self(dumpcap)
    }

    /// Ends the capture, and returns its report of packets that it missed.
    fn stop(mut self) -> String {
        // Packets pass through the kernel's buffer before they reach the file.
        thread::sleep(Duration::from_millis(500));
        kill(Pid::from_raw(self.0.id() as i32), Signal::SIGINT).unwrap();
        let mut report = String::new();
        let mut messages = self.0.stderr.take().unwrap();
        messages.read_to_string(&mut report).unwrap();
        self.0.wait().unwrap();
        report
    }
}

/// Returns the number of QUERY_DIRECTORY requests of sessions that list with this pattern.
fn captured_listings(file: &Path, samba: &ScratchSamba) -> u64 {
    let printed = Command::new("tshark")
        .arg("-r")
        .arg(file)
        .args(["-d", &format!("tcp.port=={},nbss", samba.port())])
        .args(["-o", "tcp.desegment_tcp_streams:true"])
        .args([
            "-Y",
            "smb2.cmd == 14 && smb2.flags.response == 0 && smb2.find.pattern == \"shared-*\"",
        ])
        .args([
            "-T",
            "fields",
            "-e",
            "smb2.cmd",
            "-e",
            "smb2.flags.response",
        ])
        .output()
        .unwrap();
    let printed = String::from_utf8(printed.stdout).unwrap();
    printed.lines().count() as u64
}

/// Others add and remove files of their own while a large folder is listed, with each class and
/// two sizes of an answer.
#[test]
fn a_large_folder_is_listed_whole_while_others_change_it() {
    const FILES: u64 = 4000;
    if let Err(skip) = require(&[Tool::SMBD, Tool::PDBEDIT, Tool::TSHARK]) {
        return eprintln!("{skip}");
    }
    let samba = ScratchSamba::start(SambaOptions::default()).unwrap();
    let place = Place::new();
    let mut profile =
        format!("name = \"large\"\n[files]\nscope = \"shared\"\ncount = {FILES}\nsize = \"0\"\n");
    let classes = [
        "names",
        "directory",
        "full_directory",
        "both_directory",
        "id_both_directory",
        "id_full_directory",
    ];
    for class in classes {
        for buffer in ["64KiB", "1MiB"] {
            profile += &format!(
                "[[operations]]\nop = \"list\"\nclass = \"{class}\"\nbuffer = \"{buffer}\"\n\
                 pattern = \"shared-*\"\nweight = {}\n",
                100.0 / 12.0
            );
        }
    }
    place.write("folders.toml", &profile);
    let share = samba.data_dir();
    let is_over = Arc::new(AtomicBool::new(false));
    let others = thread::spawn({
        let is_over = Arc::clone(&is_over);
        move || {
            let mut changes = 0_u64;
            while !is_over.load(Ordering::Relaxed) {
                let runs = fs::read_dir(&share).into_iter().flatten().flatten();
                for run in runs.filter(|run| run.path().join("shared-f000.dat").exists()) {
                    let other = run.path().join(format!("other-{}.txt", changes % 100));
                    // The run may end, and remove its folder.
                    if fs::remove_file(&other).is_err() {
                        let _ = fs::write(&other, "");
                    }
                    changes += 1;
                }
                thread::sleep(Duration::from_millis(1));
            }
            changes
        }
    });
    let file = place.path("capture.pcapng");
    let capture = Capture::start(&samba, &file);
    let gone = format!("rm -f {}/smbench-*/other-*", text(&samba.data_dir()));
    let more = [
        "-c1",
        "--loops=12",
        "--sign=off",
        "--encrypt=off",
        &format!("--after-point={gone}"),
    ];
    let (said, point) = run(&place, &samba, &more);
    is_over.store(true, Ordering::Relaxed);
    let report = capture.stop();
    assert!(others.join().unwrap() > 100);
    assert_eq!(number(&point, "list", "count"), 12, "{said:?}");
    assert_eq!(number(&point, "list", "entries"), 12 * FILES);
    let asked = number(&point, "list_first", "count") + number(&point, "list_next", "count");
    // dumpcap prints the packets that it received, and those that it missed: `33362/0 (pcap:`.
    assert!(report.contains("/0 (pcap:"), "{report}");
    assert_eq!(captured_listings(&file, &samba), asked, "{report}");
}
