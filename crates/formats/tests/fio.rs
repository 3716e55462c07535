//! The chapter on fio, beside fio itself: jobs and the profiles that it gives for them
//! have the same files and the same operations.

#![expect(clippy::unwrap_used, reason = "what fails in a helper fails the test")]

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use smbench_formats::profile;
use smbench_lab::{Tool, require};
use smbench_model::files::Scope;
use smbench_model::kind::OpKind;
use smbench_model::operations::{Mix, OpStream};
use smbench_model::plan::Plan;
use smbench_model::target::Target;
use smbench_model::workload::Workload;

const CHAPTER: &str = include_str!("../../../docs/from/fio.md");
const FIO: Tool = Tool::new("fio", "fio");

/// Operations that are drawn: enough for shares within a few percent.
const DRAWN: usize = 20_000;

/// Returns the first block of the chapter in this language, after a heading.
fn block(heading: &str, language: &str) -> &'static str {
    let (_, text) = CHAPTER.split_once(&format!("\n## {heading}\n")).unwrap();
    let (_, text) = text.split_once(&format!("```{language}\n")).unwrap();
    text.split_once("```").unwrap().0
}

/// Runs fio in a folder, and returns what it prints.
fn fio(folder: &Path, options: &[&str]) -> String {
    let ran = Command::new(FIO.find().unwrap())
        .current_dir(folder)
        .args(options)
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&ran.stdout).into_owned();
    let complaint = String::from_utf8_lossy(&ran.stderr);
    assert!(ran.status.success(), "{options:?}: {text}{complaint}");
    text
}

fn workload(profile: &str) -> Workload {
    let profile = profile::parse("chapter.toml", profile).unwrap();
    let target = Target::with_password("smb://ann@host/share", "secret").unwrap();
    Plan::of(&profile, target).unwrap().only().workload.clone()
}

/// Shares of all operations in percent, and the mean number of bytes, by kind.
type Mixture = BTreeMap<&'static str, (f64, f64)>;

fn mixture(operations: impl Iterator<Item = (&'static str, u64)>) -> Mixture {
    let mut sums: BTreeMap<_, (f64, f64)> = BTreeMap::new();
    for (kind, bytes) in operations {
        let sum = sums.entry(kind).or_default();
        *sum = (sum.0 + 1.0, sum.1 + bytes as f64);
    }
    let all: f64 = sums.values().map(|sum| sum.0).sum();
    for sum in sums.values_mut() {
        *sum = (100.0 * sum.0 / all, sum.1 / sum.0);
    }
    sums
}

/// Returns the operations that fio did, from its own log.
fn done(folder: &Path) -> Mixture {
    let log = fs::read_to_string(folder.join("log")).unwrap();
    mixture(log.lines().filter_map(|line| {
        let words: Vec<_> = line.split(' ').collect();
        let kind = ["read", "write", "sync"]
            .into_iter()
            .find(|kind| words.contains(kind))?;
        let bytes = words.last()?.parse().unwrap_or_default();
        Some((if kind == "sync" { "flush" } else { kind }, bytes))
    }))
}

fn drawn(workload: &Workload) -> Mixture {
    let mut stream = OpStream::new(&Mix::new(workload), 1, 0);
    mixture((0..DRAWN).map(|_| {
        let operation = stream.next();
        (operation.kind.name(), operation.length.into())
    }))
}

fn assert_alike(fio: &Mixture, smbench: &Mixture) {
    let both = format!("fio {fio:?}, smbench {smbench:?}");
    let kinds: Vec<_> = fio.keys().collect();
    assert_eq!(kinds, smbench.keys().collect::<Vec<_>>(), "{both}");
    for (kind, (share, bytes)) in fio {
        let other = smbench[kind];
        // fio draws its fsyncs, and smbench counts the writes before them.
        let apart = if *kind == OpKind::Flush.name() {
            2.5
        } else {
            4.0
        };
        assert!((share - other.0).abs() < apart, "{kind}: {both}");
        assert!((bytes - other.1).abs() <= 0.1 * bytes, "{kind}: {both}");
    }
}

/// Returns the job of the chapter as a small one for this machine, with these lines more.
fn job(folder: &Path, lines: &str) -> String {
    let left_out = [
        "runtime",
        "time_based",
        "ramp_time",
        "direct=",
        "directory=",
    ];
    let kept = block("A job as a profile", "ini").lines();
    let kept = kept.filter(|line| !left_out.iter().any(|part| line.starts_with(part)));
    let text = kept.collect::<Vec<_>>().join("\n");
    let text = text.replace("size=1g", "size=16m");
    fs::write(folder.join("job.fio"), format!("{text}\n{lines}\n")).unwrap();
    "job.fio".to_owned()
}

#[test]
fn the_profile_of_the_chapter_has_the_files_of_the_job() {
    if let Err(skip) = require(&[FIO]) {
        return eprintln!("{skip}");
    }
    let folder = tempfile::tempdir().unwrap();
    let job = job(folder.path(), "numjobs=2\ncreate_only=1");
    fio(folder.path(), &[&job]);
    let found = fs::read_dir(folder.path()).unwrap().map(Result::unwrap);
    let files = found.filter(|entry| entry.file_name().to_string_lossy().starts_with("office."));
    let sizes: Vec<_> = files.map(|entry| entry.metadata().unwrap().len()).collect();
    let profile = block("A job as a profile", "toml");
    // A 64th of 1 GiB, as the job has.
    let files = workload(&profile.replace("256MiB", "4MiB")).files;
    assert_eq!(files.scope, Scope::Private);
    assert_eq!(sizes.len(), files.iter(2).count());
    assert!(sizes.iter().all(|size| *size == files.size), "{sizes:?}");
    assert_eq!(workload(profile).files.size, 256 << 20);
}

#[test]
fn the_profile_of_the_chapter_does_the_operations_of_the_job() {
    if let Err(skip) = require(&[FIO]) {
        return eprintln!("{skip}");
    }
    let folder = tempfile::tempdir().unwrap();
    // Ten times as many fsyncs, because their number is drawn.
    let more = "numjobs=1\nfsync=10\nio_size=96m\nwrite_iolog=log";
    fio(folder.path(), &[&job(folder.path(), more)]);
    let profile = block("A job as a profile", "toml");
    let profile = profile.replace("flush_every_writes = 30 ", "flush_every_writes = 3 ");
    assert_alike(&done(folder.path()), &drawn(&workload(&profile)));
}

#[test]
fn two_block_sizes_of_a_job_are_those_of_reads_and_writes() {
    if let Err(skip) = require(&[FIO]) {
        return eprintln!("{skip}");
    }
    let folder = tempfile::tempdir().unwrap();
    let options = ["--rw=randrw", "--bs=4k,64k", "--size=4m", "--io_size=64m"];
    let log = ["--name=a", "--write_iolog=log", "--norandommap"];
    fio(folder.path(), &[&options[..], &log].concat());
    let profile = block("Different sizes of reads and writes", "toml");
    assert_alike(&done(folder.path()), &drawn(&workload(profile)));
}

#[test]
fn what_the_chapter_says_of_rates_and_queues_is_what_fio_does() {
    if let Err(skip) = require(&[FIO]) {
        return eprintln!("{skip}");
    }
    let folder = tempfile::tempdir().unwrap();
    let log = ["--name=a", "--size=1m", "--io_size=8m", "--write_iolog=log"];
    let mixed = ["--rw=randrw", "--rwmixread=95", "--number_ios=600"];
    let reads = |rate: &str| {
        fio(folder.path(), &[&mixed[..], &log, &[rate]].concat());
        done(folder.path())["read"].0
    };
    // Where the machine is late, fio catches up by its mix. Without rates it reads 95 %.
    let share = reads("--rate_iops=300");
    assert!((share - 50.0).abs() < 20.0, "{share}");
    let share = reads("--rate_iops=180,420");
    assert!((share - 30.0).abs() < 20.0, "{share}");
    let alone = ["--name=a", "--size=1m", "--rw=randread", "--iodepth=4"];
    let said = fio(folder.path(), &alone);
    assert!(said.contains("queue depth will be capped at 1"), "{said}");
}
