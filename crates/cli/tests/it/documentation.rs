//! Every command block of README.md and the manual is run as it is printed. Each chapter has a
//! folder and a scratch Samba of its own; several chapters run at once.
//!
//! What the test changes in a command: see `documentation/changed.rs`.

mod blocks;
mod changed;
mod elsewhere;

use std::collections::BTreeMap;
use std::env;
use std::fs;
use std::iter;
use std::os::unix::fs::symlink;
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::thread;

use smbench_lab::{SambaOptions, SambaShare, ScratchSamba, ShareAccess, Tool};

use self::blocks::{CodeBlock, code_blocks, unaligned};
use self::changed::{Laboratory, at_server, changed, changed_file};
use self::elsewhere::Elsewhere;
use crate::support::{Place, Running, Said, is_machine_busy};

/// Users of the documentation, all of whom are the account of the server.
const USERS: &str = "alice ann ci";
/// The share of the documentation beside `bench`.
const SHARE: &str = "share";
/// A command whose load point a busy machine made invalid is given so many times.
const TRIES: usize = 4;
/// Folders in which commands run at once.
const AT_ONCE: usize = 4;
/// Chapters that use results of each other, and share a folder.
const TOGETHER: [&str; 4] = [
    "README.md",
    "docs/compare.md",
    "docs/suites.md",
    "docs/report.md",
];
/// A loadfile in place of dbench's, which is long.
const LOADFILE: &str = "\
0.1 NTCreateX \"\\clients\\client1\\a.txt\" 0x40 0x5 1 0x00000000\n\
0.2 WriteX 1 0 4096 4096 0x00000000\n\
0.3 ReadX 1 0 4096 4096 0x00000000\n\
0.4 Close 1 0x00000000\n\
0.5 Unlink \"\\clients\\client1\\a.txt\" 0x16 0x00000000\n";
/// A setup with several access specifications, and new names for two of them.
const SETUP: &str = include_str!("../../../../fixtures/iometer/several-1.1.0.icf");
/// A capture in place of one of tcpdump.
const CAPTURE: &[u8] =
    include_bytes!("../../../../fixtures/captures/smbclient-3.1.1-unsigned.pcap");
const SPECIFICATION: &str = "4 KiB; 67% Read; 100% random";

/// The reader's terminal: a folder, and what is set in its environment.
struct Terminal {
    place: Place,
    laboratory: Laboratory,
    password: String,
    exported: BTreeMap<String, String>,
}

/// Starts the server of the documentation; `None` if Samba is missing.
fn samba(place: &Place) -> Option<ScratchSamba> {
    let account = nix::unistd::User::from_uid(nix::unistd::getuid());
    let account = account.unwrap().unwrap().name;
    let users = place.write("users.map", &format!("{account} = {USERS}\n"));
    let share = SambaShare {
        name: SHARE.to_owned(),
        access: ShareAccess::ReadWrite,
        lines: Vec::new(),
    };
    ScratchSamba::or_skip(SambaOptions {
        extra_global: vec![
            format!("username map = {}", users.display()),
            ScratchSamba::CIFS.to_owned(),
        ],
        shares: vec![share],
        ..SambaOptions::default()
    })
}

impl Terminal {
    /// Returns a terminal in a folder with the files that a reader has.
    fn new(place: Place, samba: &ScratchSamba) -> Self {
        let binaries = place.path("bin");
        fs::create_dir(&binaries).unwrap();
        symlink(env!("CARGO_BIN_EXE_smbench"), binaries.join("smbench")).unwrap();
        place.write("client.txt", LOADFILE);
        let setup = SETUP.replace(SPECIFICATION, "Web server");
        place.write("office.icf", &setup);
        for day in ["monday.pcap", "tuesday.pcap"] {
            fs::write(place.path(day), CAPTURE).unwrap();
        }
        fs::create_dir_all(place.path("samba/bin")).unwrap();
        let smbd = Tool::SMBD.find().unwrap();
        symlink(smbd, place.path("samba/bin/smbd")).unwrap();
        Self {
            laboratory: Laboratory {
                address: samba.address(),
                url: samba.url(),
                folder: place.path(""),
            },
            password: samba.password().to_owned(),
            exported: BTreeMap::new(),
            place,
        }
    }

    /// Runs a line of a shell.
    fn start(&self, line: &str) -> Running {
        let path = env::var("PATH").unwrap_or_default();
        let mut command = Command::new("sh");
        if line.contains("--live") {
            // The screen needs a terminal, and its size.
            let sized = format!("stty rows 24 cols 80; {line}");
            let args = ["--quiet", "--return", "--command", &sized, "/dev/null"];
            command = Command::new("script");
            command.args(args).stdin(Stdio::piped());
        } else {
            command.args(["-e", "-c", line]).stdin(Stdio::null());
        }
        command
            .current_dir(self.place.path(""))
            .env_remove("SMBENCH_TARGET")
            .env(
                "PATH",
                format!("{}:{path}", self.place.path("bin").display()),
            )
            .env("HOME", self.place.path(""))
            .env("SHELL", "/bin/sh")
            .env("TERM", "xterm")
            .env("SMBENCH_PASSWORD", &self.password)
            .env("NAS_PASSWORD", &self.password)
            .env("GITHUB_SHA", "0123abcd")
            .env("GITHUB_STEP_SUMMARY", self.place.path("summary.md"))
            .envs(&self.exported);
        Running::spawn(command)
    }

    /// Keeps what a line exports. `...` stands for the password.
    fn exports(&mut self, line: &str) -> bool {
        let variable = line.strip_prefix("export ");
        let Some((name, value)) = variable.and_then(|variable| variable.split_once('=')) else {
            return false;
        };
        let value = value.split_whitespace().next().unwrap_or_default();
        let value = match value {
            "..." => self.password.clone(),
            value => value.to_owned(),
        };
        self.exported.insert(name.to_owned(), value);
        true
    }

    /// Runs lines at the same time, until no load point is invalid. Returns what failed.
    fn run(&self, from: &CodeBlock, lines: &[String]) -> Vec<String> {
        let mut tries = 0;
        loop {
            tries += 1;
            let lines: Vec<_> = lines
                .iter()
                .map(|line| changed(line, &self.laboratory))
                .collect();
            let running: Vec<_> = lines.iter().map(|line| self.start(line)).collect();
            let said: Vec<_> = running.into_iter().map(Running::wait).collect();
            if tries < TRIES && said.iter().any(|said| said.code() == Some(4)) {
                // No run replaces a state file.
                let _ = fs::remove_file(self.place.path("crash.state"));
                continue;
            }
            let failed = lines
                .iter()
                .zip(&said)
                .filter(|(line, said)| !succeeded(line, said) || !prints(from, said));
            let failed = failed.map(|(line, said)| {
                let (chapter, at) = (&from.chapter, from.line);
                format!("{chapter}, block in line {at}: {line}\n{said:#?}")
            });
            return failed.collect();
        }
    }
}

/// Returns whether a command ended as the documentation says. On a busy machine a
/// condition may fail, and a search may find nothing.
fn succeeded(line: &str, said: &Said) -> bool {
    match said.code() {
        Some(0) => true,
        Some(1) => line.contains("--fail-if"),
        Some(125) => line.contains("smbench gate "),
        Some(4) if line.contains("suite curve") => is_machine_busy(),
        Some(4) => ["smbench find ", "searches.toml"]
            .iter()
            .any(|search| line.contains(search)),
        _ => false,
    }
}

/// Returns whether a command printed what a block shows, apart from values.
fn prints(block: &CodeBlock, said: &Said) -> bool {
    let lines: Vec<_> = said.stdout.lines().map(unaligned).collect();
    let is_there = |head: &String| lines.iter().any(|line| line.starts_with(head.as_str()));
    block.heads().iter().all(is_there)
}

/// Runs the commands of chapters in a folder of their own, on a server of their own. Returns how
/// many they are, and what failed.
fn run_chapters(
    blocks: &[CodeBlock],
    chapters: &[&str],
    elsewhere: &Mutex<Elsewhere>,
) -> (usize, Vec<String>) {
    let place = Place::new();
    let Some(samba) = samba(&place) else {
        return (0, Vec::new());
    };
    let mut terminal = Terminal::new(place, &samba);
    for block in blocks {
        if let Some((name, text)) = block.file() {
            let path = terminal.place.path(&name);
            assert!(!path.exists(), "{name} is there twice");
            let text = changed_file(&text, &terminal.laboratory);
            fs::write(path, text.replace("...", &terminal.password)).unwrap();
        }
    }
    let (mut number, mut failures) = (0, Vec::new());
    let is_of_them = |block: &&CodeBlock| chapters.contains(&&*block.chapter);
    for block in blocks.iter().filter(is_of_them) {
        terminal.exported.clear();
        for together in block.commands() {
            let lines = elsewhere.lock().unwrap().without_them(together);
            let mut lines: Vec<_> = lines
                .iter()
                .map(|line| at_server(line, &terminal.laboratory))
                .collect();
            lines.retain(|line| !terminal.exports(line));
            number += lines.len();
            failures.extend(terminal.run(block, &lines));
        }
    }
    (number, failures)
}

#[test]
fn every_command_of_the_documentation_works() {
    if let Err(skip) = smbench_lab::require(&[Tool::SMBD, Tool::PDBEDIT, Tool::new("jq", "jq")]) {
        return eprintln!("{skip}");
    }
    let blocks = code_blocks();
    let mut chapters: Vec<_> = blocks.iter().map(|block| &*block.chapter).collect();
    chapters.dedup();
    chapters.retain(|chapter| !TOGETHER.contains(chapter));
    let mut folders = vec![TOGETHER.to_vec()];
    folders.extend(chapters.into_iter().map(|chapter| vec![chapter]));
    let (folders, elsewhere) = (Mutex::new(folders.into_iter()), Mutex::default());
    let done = thread::scope(|scope| {
        let work = || {
            let next = || folders.lock().unwrap().next();
            let done =
                iter::from_fn(next).map(|chapters| run_chapters(&blocks, &chapters, &elsewhere));
            done.collect::<Vec<_>>()
        };
        let workers: Vec<_> = (0..AT_ONCE).map(|_| scope.spawn(work)).collect();
        let done = workers.into_iter().map(|worker| worker.join().unwrap());
        done.collect::<Vec<_>>().concat()
    });
    let number: usize = done.iter().map(|(number, _)| number).sum();
    let failures: Vec<_> = done.into_iter().flat_map(|(_, failed)| failed).collect();
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    elsewhere.into_inner().unwrap().check_that_all_were_met();
    assert!(number > 50, "{number} commands found");
}
