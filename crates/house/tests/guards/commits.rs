//! What holds for commits: a subject fits where git and forges show it.

use std::path::Path;
use std::process::Command;

use super::repository;

/// Most characters of a subject.
const SUBJECT_MAX: usize = 72;

/// Commits from then on. Earlier ones have longer subjects.
const SINCE: &str = "--since=2026-11-29T00:00:00Z";

/// Returns what git prints about the repository; `None` without git or its data.
fn git(arguments: &[&str]) -> Option<String> {
    let mut git = Command::new("git");
    let output = git.arg("-C").arg(repository()).args(arguments).output();
    let output = output.ok().filter(|output| output.status.success())?;
    String::from_utf8(output.stdout).ok()
}

/// Returns the commits that git has of this repository, as lines. There are none in a folder
/// from a tarball, which may lie in the repository of something else.
fn commits() -> Vec<String> {
    let top = git(&["rev-parse", "--show-toplevel"]);
    let is_here = top.is_some_and(|top| Path::new(top.trim_end()) == repository());
    let found = git(&["log", SINCE, "--format=%h %s"]).filter(|_| is_here);
    let found = found.unwrap_or_default();
    found.lines().map(str::to_owned).collect()
}

#[test]
fn the_subject_of_a_commit_has_at_most_72_characters() {
    let mut long = commits();
    long.retain(|commit| {
        let (_, subject) = commit.split_once(' ').unwrap();
        subject.chars().count() > SUBJECT_MAX
    });
    assert!(long.is_empty(), "{}", long.join("\n"));
}
